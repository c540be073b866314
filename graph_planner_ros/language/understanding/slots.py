"""What a trained reader chooses between: structures of goals, and the classes that may fill their slots.

The structures come from annotated data (their literals are in the model's header), the classes from the domain.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable

SEVERAL = "several"
"""Structure of a text that asks for more than one goal: it is read in parts."""
OTHER = "other"
"""Structure of a text that asks for something of another kind, or for nothing."""
NONE = ""
"""In a slot: nothing."""


@dataclass(frozen=True)
class Structure:
    """A kind of goal.

    Attributes:
        name: as in the data. things: variable -> slot whose class it has. literals: over the variables.
        distinct: variables that stand for different things.
    """

    name: str
    things: Mapping[str, str]
    literals: tuple[GoalLiteral, ...]
    distinct: tuple[tuple[str, ...], ...] = ()

    @property
    def slots(self) -> frozenset[str]:
        """The slots that have to be filled."""
        return frozenset(self.things.values())

    def count(self, slot: str) -> int:
        """Return how many different things of the class of a slot it needs."""
        return sum(filled == slot for filled in self.things.values())


@dataclass(frozen=True)
class Meaning:
    """What a sentence was taken to ask for: structure, class of each slot, and whether the first slot is sliced."""

    structure: str
    classes: tuple[str, ...]
    changed: bool = False


@dataclass(frozen=True)
class Inventory:
    """All that a model can choose between.

    Attributes:
        structures: by name. slots: in the order of the model's outputs; the first is what the task is about.
        candidates: slot -> classes that may fill it. extra: literals for each thing of the first slot that is changed.
    """

    structures: Mapping[str, Structure]
    slots: tuple[str, ...]
    candidates: Mapping[str, tuple[str, ...]]
    extra: tuple[GoalLiteral, ...]

    @staticmethod
    def of(
        domain: Domain,
        tasks: Mapping[str, Mapping[str, Any]],
        extra: Sequence[str],
        candidates: Mapping[str, Sequence[str]],
    ) -> Inventory:
        """Read the structures of a file of annotations, or of a model's header.

        Args:
            tasks: name -> ``things`` (variable -> slot), ``literals`` and ``distinct``.
            extra: literals over ``i`` that a change adds, e.g. ``sliced(i)``.
            candidates: slot -> classes, see `fitting_classes`.

        Raises:
            DomainError: a literal or a class is none of the domain.
        """
        structures = {
            name: Structure(
                name,
                dict(task["things"]),
                tuple(read_literal(domain, text) for text in task["literals"]),
                tuple(tuple(group) for group in task.get("distinct", ())),
            )
            for name, task in tasks.items()
        }
        slots = tuple(dict.fromkeys(slot for item in structures.values() for slot in item.things.values()))
        chosen = {slot: tuple(domain.class_of(name).name for name in candidates[slot]) for slot in slots}
        return Inventory(structures, slots, chosen, tuple(read_literal(domain, text) for text in extra))

    def goal(self, domain: Domain, meaning: Meaning, text: str = "") -> Goal:
        """Return the goal of a meaning."""
        structure = self.structures[meaning.structure]
        classes = dict(zip(self.slots, meaning.classes, strict=True))
        variables = tuple(
            GoalVariable(f"?{name}", domain.class_of(classes[slot]).type_name, classes[slot])
            for name, slot in structure.things.items()
        )
        literals = [_over(literal, {name: f"?{name}" for name in structure.things}) for literal in structure.literals]
        if meaning.changed:
            about = [name for name, slot in structure.things.items() if slot == self.slots[0]]
            literals += [_over(literal, {"i": f"?{name}"}) for name in about for literal in self.extra]
        distinct = tuple(tuple(f"?{name}" for name in group) for group in structure.distinct)
        return Goal(variables, tuple(literals), distinct, text)


def read_literal(domain: Domain, text: str) -> GoalLiteral:
    """Return a literal written as ``in(i, r)`` or ``not closed(f)``.

    Raises:
        DomainError: it is none of the domain.
    """
    positive = not text.startswith("not ")
    predicate, _, rest = text.removeprefix("not ").partition("(")
    arguments = tuple(part.strip() for part in rest.rstrip(") ").split(",") if part.strip())
    schema = domain.predicates.get(predicate)
    if schema is None or schema.arity != len(arguments) or not rest.endswith(")"):
        raise DomainError(f"{text!r} is no literal of the domain {domain.name!r}")
    return GoalLiteral(predicate, arguments, positive)


def _over(literal: GoalLiteral, called: Mapping[str, str]) -> GoalLiteral:
    return GoalLiteral(literal.predicate, tuple(called[name] for name in literal.arguments), literal.positive)


def fitting_classes(domain: Domain, fillers: Collection[str]) -> tuple[str, ...]:
    """Return the classes that share type and static facts with all classes that fill a slot in the data.

    So a slot is open to classes of the domain that the data never put there.

    Raises:
        DomainError: a filler is no class of the domain, or there is none.
    """
    if not fillers:
        raise DomainError("a slot that nothing fills in the data cannot be learned")
    entries = [domain.class_of(name) for name in sorted(fillers)]
    types = frozenset.intersection(*(domain.ancestors[entry.type_name] for entry in entries))
    facts = frozenset.intersection(*(frozenset(entry.facts) for entry in entries))
    return tuple(
        sorted(
            entry.name
            for entry in domain.classes.values()
            if types <= domain.ancestors[entry.type_name] and facts <= set(entry.facts)
        )
    )


def fixed_classes(domain: Domain) -> frozenset[str]:
    """Return the classes of things that stay where they are: those that are no items."""
    item = domain.hypotheses.item_type if domain.hypotheses is not None else ""
    return frozenset(entry.name for entry in domain.classes.values() if not domain.is_a(entry.type_name, item))
