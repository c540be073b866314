"""The symbols that every reader of a planning domain shares: atoms, actions, states, goals.

Names in these objects are always the *original* spelling (instance ids, class names). PDDL names exist only
inside the text that is handed to a planner, and `names.NameMap` maps both ways.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Truth(enum.Enum):
    """Three truth values of the belief; the numbers are those of the messages."""

    FALSE = 0
    TRUE = 1
    UNKNOWN = 2


@dataclass(frozen=True, order=True)
class Atom:
    """A ground predicate or function term, e.g. ``in(mug_1, fridge_1)``."""

    predicate: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(self.arguments)})"


@dataclass(frozen=True, order=True)
class GroundAction:
    """An action of the domain with its arguments, in the order of the schema's parameters."""

    name: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class SymbolicState:
    """A closed-world state: what is not among ``atoms`` is false.

    Attributes:
        objects: instance id -> PDDL type name.
        atoms: all true ground predicates, static ones included.
        functions: numeric terms, e.g. ``distance(start, fridge_1)`` -> metres.
    """

    objects: Mapping[str, str]
    atoms: frozenset[Atom]
    functions: Mapping[Atom, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GoalVariable:
    """Something the goal speaks of: any instance of ``class_name``, or one named instance.

    ``name`` starts with ``?``. ``type_name`` is the PDDL type. ``instance`` is an instance id, if the goal names one.
    """

    name: str
    type_name: str
    class_name: str | None = None
    instance: str | None = None


HERE = "{here}"
"""As the instance of a goal's variable: the place where the robot is when the goal is taken up, see `anchored`."""


@dataclass(frozen=True)
class GoalLiteral:
    """A predicate over goal variables that must hold (``positive``) or must not."""

    predicate: str
    arguments: tuple[str, ...]
    positive: bool = True


@dataclass(frozen=True)
class Goal:
    """A conjunction with existential variables; variables in one ``distinct`` tuple stand for different things.

    ``optional``: when there is no way to it, a task goes on with its next goal.
    """

    variables: tuple[GoalVariable, ...]
    literals: tuple[GoalLiteral, ...]
    distinct: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    optional: bool = False
