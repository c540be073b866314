"""What is kept of a game: every step, as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

ACT = "act"
OBSERVE = "observe"
EXPLORE = "explore"
"""Why a command was given: a step of the plan, to see more, or because there was no plan."""


@dataclass
class StepRecord:
    """One command, what led to it and what came of it.

    Attributes:
        index: 0 for what the game said at its start (no command), then counted from 1.
        command: as given to the world. kind: ``act``, ``observe``, ``explore``, empty at the start.
        action: the symbolic action that it carries out. score: of its grounding, 0..1.
        observation: the world's answer, unchanged. goal_score: the world's score after it, 0..1.
        facts: accepted facts, as text; denied ones begin with ``not``. refused: (category, text, reason).
        failed: the answer says that the command had no effect; ``reason`` are its words.
        silent: actions that were done before this command and needed none.
        decision: what became of the plan before this command. plan_length: steps left, this one included.
        planning_seconds: of all planning since the last command, wall time. planning_cpu_seconds: the same, of the
            processor; it says more where other programs run beside. parsing_seconds, grounding_seconds: wall time.
        repeated_check: it carries out a look for something where it had been looked for in vain.
        planner_failure: the planner found no plan before this command; why.
        by_clock: a search before this command was ended by the wall clock; the same game may go on otherwise next time.
    """

    index: int
    command: str = ""
    kind: str = ""
    action: str = ""
    score: float = 0.0
    observation: str = ""
    goal_score: float = 0.0
    facts: list[str] = field(default_factory=list)
    refused: list[list[str]] = field(default_factory=list)
    failed: bool = False
    reason: str = ""
    silent: list[str] = field(default_factory=list)
    decision: str = ""
    plan_length: int = 0
    planning_seconds: float = 0.0
    planning_cpu_seconds: float = 0.0
    parsing_seconds: float = 0.0
    grounding_seconds: float = 0.0
    repeated_check: bool = False
    planner_failure: str = ""
    by_clock: bool = False


@dataclass
class EpisodeRecord:
    """One game.

    Attributes:
        world, name, group, split, seed, limit: see `GameSpec`. agent: who played, with its options.
        goal: in the world's words. goals: as understood.
        status: of `GameStatus`, as text: how the game stood at the end (``running``: the limit was reached or the
            agent gave up). reason: a sentence. score: the world's, 0..1.
        steps_taken: commands given. tokens: of language models, prompt and completion.
        invalid: commands that the world refused. repeated_checks, planner_failures: see `StepRecord`.
        by_clock: steps before which a search was ended by the wall clock, see `StepRecord`.
        seconds: wall time of the whole game, the engine's included.
    """

    world: str
    name: str
    group: str
    split: str
    seed: int
    limit: int
    agent: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    goal: str = ""
    goals: list[str] = field(default_factory=list)
    status: str = "running"
    reason: str = ""
    score: float = 0.0
    steps_taken: int = 0
    tokens: int = 0
    invalid: int = 0
    repeated_checks: int = 0
    planner_failures: int = 0
    by_clock: int = 0
    seconds: float = 0.0
    steps: list[StepRecord] = field(default_factory=list)

    @property
    def won(self) -> bool:
        """Whether the world said that the game is won."""
        return self.status == "won"

    @property
    def planning_seconds(self) -> list[float]:
        """Seconds of planning for each command of the agent."""
        return [step.planning_seconds for step in self.steps if step.index > 0]

    def to_json(self) -> str:
        """Return the record as one line."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> EpisodeRecord:
        """Read a line that `to_json` made; entries of other versions are left out.

        Raises:
            ValueError: it is no such line.
        """
        content = json.loads(text)
        if not isinstance(content, Mapping):
            raise ValueError(f"expected a record of an episode, found {text[:80]!r}")
        try:
            steps = [StepRecord(**_known(StepRecord, entry)) for entry in content.get("steps", ())]
            return EpisodeRecord(**{**_known(EpisodeRecord, content), "steps": steps})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"expected a record of an episode: {error}") from error


def _known(kind: type, content: Mapping[str, Any]) -> dict[str, Any]:
    names = {item.name for item in fields(kind)}
    return {name: value for name, value in content.items() if name in names}


def write_records(path: Path, records: Iterable[EpisodeRecord]) -> None:
    """Append records to a file of JSON lines; each is on disk before the next is asked for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for record in records:
            file.write(record.to_json() + "\n")
            file.flush()


def read_records(path: Path) -> Iterator[EpisodeRecord]:
    """Yield the records of a file; a last line that was cut off is left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: naming the line, if one is no record.
    """
    with path.open(encoding="utf-8") as file:
        lines = file.readlines()
    for number, line in enumerate(lines, 1):
        try:
            yield EpisodeRecord.from_json(line)
        except ValueError as error:
            if number == len(lines) and not line.endswith("\n"):
                return
            raise ValueError(f"{path}:{number}: {error}") from error
