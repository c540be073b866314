"""What a planning domain consists of: lifted actions, object classes, and how the scene graph maps to predicates.

In all schemas a variable is written without its question mark; an argument is either a parameter of the
schema or a constant of the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class DomainError(ValueError):
    """A domain file is wrong; the message names the file, the entry and what was expected."""


class UnknownClassError(DomainError, KeyError):
    """A label that the domain does not know."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class Parameter(NamedTuple):
    """A typed parameter of an action, a predicate or a function."""

    name: str
    type_name: str


class Term(NamedTuple):
    """A predicate or function applied to parameters and constants."""

    predicate: str
    arguments: tuple[str, ...]


class Literal(NamedTuple):
    """A term that must hold (``positive``) or must not."""

    predicate: str
    arguments: tuple[str, ...]
    positive: bool = True


class Equality(NamedTuple):
    """Two arguments that must be the same thing (``positive``) or two different things."""

    left: str
    right: str
    positive: bool = True


@dataclass(frozen=True)
class PredicateSchema:
    """A predicate or a numeric function with its typed parameters."""

    name: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.parameters)


@dataclass(frozen=True)
class ActionSchema:
    """A lifted action.

    Attributes:
        parameters: (name, type) in the order of the PDDL file.
        preconditions: literals that must all hold.
        equalities: arguments that must be equal or different.
        added, deleted: terms that become true / false; a term that is both becomes true.
        cost: constant part of the action's cost.
        cost_terms: functions of the arguments that are added to the cost.
    """

    name: str
    parameters: tuple[Parameter, ...]
    preconditions: tuple[Literal, ...] = ()
    equalities: tuple[Equality, ...] = ()
    added: tuple[Term, ...] = ()
    deleted: tuple[Term, ...] = ()
    cost: float = 0.0
    cost_terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class ObjectClass:
    """A class of things.

    Attributes:
        name: the label, original spelling. type_name: its PDDL type.
        facts: unary predicates that hold of every instance.
        meta: meta-class (GraphThink III-A): obj, rec, mov or spec.
        words: what people call it. encloses: whether it hides its content while closed.
        likely_in: classes of places where it is likely to be, most likely first.
    """

    name: str
    type_name: str
    facts: tuple[str, ...] = ()
    meta: str = "obj"
    words: tuple[str, ...] = ()
    encloses: bool = False
    likely_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class RelationSchema:
    """How a relation of the scene graph reads as a predicate; ``arguments`` picks from ``subject`` and ``object``."""

    name: str
    predicate: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class AttributeSchema:
    """An attribute of scene-graph nodes, a unary predicate.

    Attributes:
        visible: a camera can tell its value.
        assume: its value while unknown; None if the domain assumes nothing (then it is false, as in PDDL).
        when: the assumption is made only for things that have this fact; None for all.
    """

    name: str
    visible: bool = False
    assume: bool | None = None
    when: str | None = None


@dataclass(frozen=True)
class SkillSchema:
    """The skill that carries out an action, the action's parameters that it gets, and the sentence for people."""

    action: str
    skill: str
    arguments: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class HypothesisSchema:
    """The parts of the domain that carry hypotheses about unseen things (MemPlan, section 3.3)."""

    action: str
    candidate: str
    refuted: str
    found: str
    cost: str
    item_type: str
    place_type: str
    place_fact: str | None = None


@dataclass(frozen=True)
class StartPlace:
    """Where the robot is before it has gone anywhere."""

    id: str
    type_name: str


@dataclass(frozen=True)
class DelaySchema:
    """Something that goes on by itself once it was started, such as cooking.

    Attributes:
        start: the action that starts it. done: the action that stands for its end; nobody carries it out.
        steps: actions from the start until the end, the starting one included.
        marker: the predicate that is true in between; ``start`` adds it, ``done`` needs and deletes it.
    """

    start: str
    done: str
    steps: int
    marker: str


@dataclass(frozen=True)
class CreationSchema:
    """An action that makes a thing which is not there before, such as water in a pot.

    Attributes:
        action: with the parameter ``thing`` for what it makes, of the class ``class_name``.
        unmade: unary predicate of things that wait to be made; the action needs and deletes it.
    """

    action: str
    thing: str
    class_name: str
    unmade: str
