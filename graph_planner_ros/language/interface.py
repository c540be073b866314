"""The schema-conditioned interface between a world's words and the domain's symbols (MemPlan 3.1).

Two directions: observation text to facts, symbolic action to one of the admissible commands. Implementations are rules
written per world in its YAML, and a model trained offline; both are checked here against the planning domain, so
that nothing that the domain does not know ever enters a belief.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction


@dataclass(frozen=True)
class ObservedFact:
    """A literal that an observation states, checked against the types and predicates of the domain.

    Attributes:
        atom: over instance names as the world writes them. positive: false if the text denies it.
        start, end: the span of the observation it came from, as indices of characters.
        score: confidence, 0 to 1; rules give 1.
    """

    atom: Atom
    positive: bool = True
    start: int = 0
    end: int = 0
    score: float = 1.0


class ParseError(enum.Enum):
    """Why something in a text became no fact (categories of MemPlan B.7)."""

    UNKNOWN_ENTITY = "unknown_entity"
    UNKNOWN_PREDICATE = "unknown_predicate"
    TYPE_MISMATCH = "type_mismatch"
    UNSUPPORTED = "unsupported"
    """No words of the text support it: a hallucination of a model."""
    NOT_UNDERSTOOD = "not_understood"


@dataclass(frozen=True)
class Refusal:
    """Something that was read and refused."""

    error: ParseError
    text: str
    reason: str


@dataclass(frozen=True)
class ParsedObservation:
    """What an observation says.

    Attributes:
        facts: accepted literals in the order of the text. objects: instance name -> class of the domain.
        refused: what was read and not accepted, by category.
        failed: whether the text says that the last command had no effect; ``reason`` are its words.
        complete: predicates of which the text lists every true atom (closed world): what it does not list is false.
        complete_places: places of which the text lists the whole content.
        answered: whether a sentence of the text was understood; False if all that is here comes from commands.
    """

    facts: tuple[ObservedFact, ...] = ()
    objects: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    failed: bool = False
    reason: str = ""
    complete: frozenset[str] = frozenset()
    complete_places: frozenset[str] = frozenset()
    answered: bool = True

    @property
    def understood(self) -> bool:
        """Whether the text says anything that can be believed."""
        return self.answered and bool(self.facts or self.complete or self.complete_places)


@dataclass(frozen=True)
class Context:
    """What a reader may know besides the text: what has been read before, never ground truth.

    Attributes:
        objects: instance -> class, of everything known. location: where the agent is; empty if unknown.
        command: the last command. commands: the admissible ones now. goal: of the task, in the world's words.
        refused: the last command, if the world refused it: other words may do.
    """

    objects: Mapping[str, str] = field(default_factory=dict)
    location: str = ""
    command: str = ""
    commands: Sequence[str] = ()
    goal: str = ""
    refused: str = ""


@dataclass(frozen=True)
class Grounding:
    """A command for an action.

    Attributes:
        command: one of the admissible commands; None if none is safe, and then ``reason`` says why; empty if the action
            needs no command in this world, because what it does happens by itself (looking at where one has arrived).
        score: 0 to 1.
    """

    command: str | None
    score: float = 0.0
    reason: str = ""


class ObservationParser(Protocol):
    """Observation text to facts."""

    def parse(self, text: str, context: Context) -> ParsedObservation:
        """Read a text. Never raises for what the text is: empty, very long, foreign or hostile text gives no facts."""

    def goals(self, text: str, context: Context) -> tuple[Goal, ...]:
        """Read a goal in the world's words; empty if it is not understood."""


@runtime_checkable
class GoalLearner(Protocol):
    """A parser that also finds goals in observations, such as the steps of a recipe."""

    def learned(self, text: str, context: Context, urgent: bool = False) -> tuple[Goal, ...]:
        """Return the goals that an observation adds to those of the task; mostly none.

        Args:
            urgent: those that come before all others, instead of those that come after them.
        """


@runtime_checkable
class Cautious(Protocol):
    """A grounder that knows what cannot be undone."""

    def is_irreversible(self, command: str) -> bool:
        """Return whether a command is not to be given just to see what happens."""


class CommandGrounder(Protocol):
    """Symbolic action to command."""

    def ground(self, action: GroundAction, context: Context) -> Grounding:
        """Choose the admissible command that carries out the action."""

    def observe(self, context: Context) -> Grounding:
        """Choose a command that only looks, for when no action can be grounded safely."""
