"""Which things a plan is about: what the executor's memory has to watch for (GraphThink III-B)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.names import NameMap, legal_name
from graph_planner_ros.domain.schema import Parameter
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.hypotheses import PLACEHOLDER_PREFIX

_ATOM = re.compile(r"\(\s*([^()\s][^()]*)\)")
_COLLISION = re.compile(r"__\d+$")
_NUMBER = re.compile(r"_+\d+$")


@dataclass(frozen=True)
class TaskObjects:
    """Classes (labels of the domain) and instances (ids of the scene graph) that a task names."""

    labels: frozenset[str] = frozenset()
    instances: frozenset[str] = frozenset()

    def __or__(self, other: TaskObjects) -> TaskObjects:
        return TaskObjects(self.labels | other.labels, self.instances | other.instances)


def task_objects(domain: Domain, goal: str, actions: Iterable[GroundAction]) -> TaskObjects:
    """Return the things that a plan names and that can be elsewhere than thought: fixtures are on the robot's map.

    Classes come from the goal's class facts and from placeholders, instances from everything else. An instance whose
    type the domain leaves open may be a fixture all the same, see `is_movable`. Words that the domain does not know,
    such as an unknown action, name nothing: whoever runs the plan reports them.

    Args:
        goal: PDDL text as in the plan message. actions: in the original spelling.
    """
    labels: set[str] = set()
    instances: set[str] = set()
    for parameter, name in [*_goal_arguments(domain, goal), *_action_arguments(domain, actions)]:
        if parameter.type_name == domain.class_type:
            labels |= _labels(domain, name)
        elif name.startswith(PLACEHOLDER_PREFIX):
            labels |= _labels(domain, _NUMBER.sub("", name.removeprefix(PLACEHOLDER_PREFIX)))
        elif _may_be_item(domain, parameter.type_name):
            instances.add(name)
    return TaskObjects(frozenset(label for label in labels if is_movable(domain, label)), frozenset(instances))


def is_movable(domain: Domain, label: str) -> bool:
    """Return whether things of a class are items; unknown classes are, and all in a domain without hypotheses."""
    entry = domain.classes.get(label)
    return entry is None or domain.hypotheses is None or domain.is_a(entry.type_name, domain.hypotheses.item_type)


def _goal_arguments(domain: Domain, goal: str) -> Iterator[tuple[Parameter, str]]:
    """Parameters and values of the goal's atoms; its variables are left out."""
    names = NameMap(domain)
    for text in _ATOM.findall(goal):
        predicate, *values = text.split()
        schema = domain.predicates.get(names.original_symbol(predicate))
        if schema is not None and schema.arity == len(values):
            yield from ((p, v) for p, v in zip(schema.parameters, values, strict=True) if not v.startswith("?"))


def _action_arguments(domain: Domain, actions: Iterable[GroundAction]) -> Iterator[tuple[Parameter, str]]:
    for action in actions:
        schema = domain.actions.get(action.name)
        if schema is not None and len(schema.parameters) == len(action.arguments):
            yield from zip(schema.parameters, action.arguments, strict=True)


def _may_be_item(domain: Domain, type_name: str) -> bool:
    if domain.hypotheses is None:
        return True
    item = domain.hypotheses.item_type
    return domain.is_a(type_name, item) or domain.is_a(item, type_name)


def _labels(domain: Domain, name: str) -> set[str]:
    """Labels of the domain that are written like this in PDDL or in a placeholder; name maps number what collides."""
    stem = _COLLISION.sub("", name)
    return {label for label in domain.classes if name == label.lower() or legal_name(label) in (name, stem)}
