"""Actions in words for people, and the skills that carry them out; both come from the domain's YAML."""

from __future__ import annotations

from collections.abc import Mapping

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import GroundAction


def describe_action(domain: Domain, action: GroundAction, names: Mapping[str, str] | None = None) -> str:
    """Return the sentence for an action, e.g. ``pick up mug_1 from cabinet_2``.

    Args:
        domain: its skills carry the sentences; an action without one is written as ``name(arguments)``.
        action: in the original spelling.
        names: what to call things, by instance id; others are called by their id.
    """
    skill = domain.skills.get(action.name)
    if skill is None or len(action.arguments) != len(domain.actions[action.name].parameters):
        return str(action)
    called = names or {}
    return skill.text.format_map({name: called.get(value, value) for name, value in _arguments(domain, action).items()})


def skill_call(domain: Domain, action: GroundAction) -> tuple[str, tuple[str, ...]]:
    """Return the name of the skill that carries out an action, and the instance ids that it gets.

    Raises:
        DomainError: if no skill carries out the action, or the number of arguments is wrong.
    """
    schema, skill = domain.action(action.name), domain.skills.get(action.name)
    if skill is None:
        raise DomainError(f"no skill of the domain {domain.name!r} carries out {action.name!r}")
    if len(action.arguments) != len(schema.parameters):
        raise DomainError(f"{action.name} takes {len(schema.parameters)} arguments, not {len(action.arguments)}")
    values = _arguments(domain, action)
    return skill.skill, tuple(values[name] for name in skill.arguments)


def _arguments(domain: Domain, action: GroundAction) -> dict[str, str]:
    parameters = domain.actions[action.name].parameters
    return {parameter.name: value for parameter, value in zip(parameters, action.arguments, strict=True)}
