"""Pairs that a trained interface learns from: (observation, facts) and (action, admissible commands -> command).

A teacher that plays a game is watched: `WatchedParser` and `WatchedGrounder` pass everything on and note what was asked
and answered. One line of JSON a pair.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, read_lines, what_is_wrong
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction
from graph_planner_ros.language.interface import (
    CommandGrounder,
    Context,
    GoalLearner,
    Grounding,
    ObservationParser,
    ObservedFact,
    ParsedObservation,
)


@dataclass(frozen=True)
class Origin:
    """Where a pair comes from.

    Attributes:
        world, game, split: as in the benchmark. group: task type or family that the game belongs to.
        explored: it comes from actions that were tried, not from the plan for the goal.
    """

    world: str
    game: str
    group: str
    split: str = ""
    explored: bool = False


@dataclass(frozen=True)
class FactPair:
    """What was said and what it means.

    Attributes:
        origin: the game. text: the observation. context: what the reader knew before it.
        parsed: the reference. source: who gave it, ``rules`` or ``engine``.
    """

    origin: Origin
    text: str
    context: Context
    parsed: ParsedObservation
    source: str = "rules"


@dataclass(frozen=True)
class CommandPair:
    """An action, what was admissible, and the command that carried it out.

    Attributes:
        command: None if the teacher found none; empty if the action needs none.
        observing: the question was for a command that only looks; then ``action`` has no name.
    """

    origin: Origin
    action: GroundAction
    context: Context
    command: str | None
    observing: bool = False


Pair = FactPair | CommandPair


class WatchedParser:
    """Passes texts on to a parser and notes them with its answers."""

    def __init__(self, parser: ObservationParser, origin: Origin, note: Callable[[Pair], None]) -> None:
        self._parser, self._origin, self._note = parser, origin, note

    def parse(self, text: str, context: Context) -> ParsedObservation:
        """Return the parser's answer."""
        parsed = self._parser.parse(text, context)
        self._note(FactPair(self._origin, text, context, parsed))
        return parsed

    def goals(self, text: str, context: Context) -> tuple[Goal, ...]:
        """Return the parser's answer."""
        return self._parser.goals(text, context)

    def learned(self, text: str, context: Context, urgent: bool = False) -> tuple[Goal, ...]:
        """Return the parser's answer, if it is one that learns goals."""
        return self._parser.learned(text, context, urgent) if isinstance(self._parser, GoalLearner) else ()


class WatchedGrounder:
    """Passes actions on to a grounder and notes them with its answers."""

    def __init__(self, grounder: CommandGrounder, origin: Origin, note: Callable[[Pair], None]) -> None:
        self._grounder, self._origin, self._note = grounder, origin, note

    def ground(self, action: GroundAction, context: Context) -> Grounding:
        """Return the grounder's answer."""
        grounding = self._grounder.ground(action, context)
        self._note(CommandPair(self._origin, action, context, grounding.command))
        return grounding

    def observe(self, context: Context) -> Grounding:
        """Return the grounder's answer."""
        grounding = self._grounder.observe(context)
        self._note(CommandPair(self._origin, GroundAction(""), context, grounding.command, observing=True))
        return grounding


# -- files ----------------------------------------------------------------------------------------------------------


@dataclass
class PairFile:
    """Pairs in a file. Texts and lists of commands that repeat are few, so lines are kept plain."""

    facts: list[FactPair] = field(default_factory=list)
    commands: list[CommandPair] = field(default_factory=list)

    @property
    def groups(self) -> tuple[str, ...]:
        """Task types, sorted."""
        return tuple(sorted({origin.group for origin in self._origins()}))

    @property
    def games(self) -> tuple[str, ...]:
        """Names of the games, sorted."""
        return tuple(sorted({origin.game for origin in self._origins()}))

    def _origins(self) -> Iterator[Origin]:
        yield from (pair.origin for pair in self.facts)
        yield from (pair.origin for pair in self.commands)

    def select(self, keep: Callable[[Origin], bool]) -> PairFile:
        """Return the pairs of some games."""
        return PairFile(
            [pair for pair in self.facts if keep(pair.origin)], [pair for pair in self.commands if keep(pair.origin)]
        )


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Append pairs to a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for pair in pairs:
            file.write(json.dumps(to_plain(pair)) + "\n")  # ASCII: a text may hold half a character


def read_pairs(path: Path) -> PairFile:
    """Read a file of pairs.

    Raises:
        ValueError: naming the file, and the line that is no pair.
    """
    content = PairFile()
    for number, pair in _lines(path):
        if isinstance(pair, FactPair):
            content.facts.append(pair)
        elif isinstance(pair, CommandPair):
            content.commands.append(pair)
        else:
            raise ValueError(f"{path}, line {number}: {pair}")
    return content


def _lines(path: Path) -> Iterator[tuple[int, Pair | str]]:
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield number, from_plain(json.loads(line))
        except NO_SUCH_SHAPE as error:
            yield number, what_is_wrong(error, "a pair")


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, the first 16 digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def to_plain(pair: Pair) -> dict[str, Any]:
    """Return a pair as plain values."""
    plain: dict[str, Any] = {"origin": asdict(pair.origin), "context": _plain_context(pair.context)}
    if isinstance(pair, FactPair):
        parsed = pair.parsed
        return plain | {
            "text": pair.text,
            "source": pair.source,
            "facts": [[f.positive, f.atom.predicate, list(f.atom.arguments), f.start, f.end] for f in parsed.facts],
            "objects": dict(parsed.objects),
            "failed": parsed.failed,
            "complete": sorted(parsed.complete),
            "complete_places": sorted(parsed.complete_places),
            "answered": parsed.answered,
        }
    action = [pair.action.name, *pair.action.arguments]
    return plain | {"action": action, "command": pair.command, "observing": pair.observing}


def from_plain(plain: Mapping[str, Any]) -> Pair:
    """Read what `to_plain` made.

    Raises:
        ValueError, KeyError or TypeError: it is no pair.
    """
    origin, context = Origin(**plain["origin"]), _context(plain["context"])
    if "action" in plain:
        name, *arguments = plain["action"]
        return CommandPair(origin, GroundAction(name, tuple(arguments)), context, plain["command"], plain["observing"])
    facts = tuple(
        ObservedFact(Atom(predicate, tuple(arguments)), positive, start, end)
        for positive, predicate, arguments, start, end in plain["facts"]
    )
    parsed = ParsedObservation(
        facts,
        plain["objects"],
        failed=plain["failed"],
        complete=frozenset(plain["complete"]),
        complete_places=frozenset(plain["complete_places"]),
        answered=bool(plain.get("answered", True)),
    )
    return FactPair(origin, plain["text"], context, parsed, plain["source"])


def _plain_context(context: Context) -> dict[str, Any]:
    return {
        "objects": dict(context.objects),
        "location": context.location,
        "command": context.command,
        "commands": list(context.commands),
    }


def _context(plain: Mapping[str, Any]) -> Context:
    return Context(plain["objects"], plain["location"], plain["command"], tuple(plain["commands"]))
