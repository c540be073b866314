"""The executor's policy: what is checked before and after a skill, what a skill gets, and when it is tried again.

Pre- and postconditions are those of the planning domain (DESIGN section 2); nothing here knows a single action.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import RelationSchema
from graph_planner_ros.domain.state import effects, unmet_preconditions
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState, Truth
from graph_planner_ros.domain.wording import skill_call
from graph_planner_ros.scene.graph import PERCEPTION, ROBOT_ID, Presence, Relation, SceneGraph, SceneNode
from graph_planner_ros.skills.memory import Sighting, remembered_node
from graph_planner_ros.skills.result import SkillResult, SkillStatus

PRECONDITION_UNMET = "precondition_unmet"
POSTCONDITION_UNMET = "postcondition_unmet"
OBJECT_NOT_FOUND = "object_not_found"
HOLDING = "holding"
"""The scene graph's relation between the robot and what is in its gripper."""

Recall = Callable[[str], Sighting | None]
"""Gives the last sighting of a thing by its instance id."""

_RETRIED = (SkillStatus.EXECUTION_FAILED, SkillStatus.POSTCONDITION_FAILED)


class ArgumentError(ValueError):
    """A skill cannot be called because something that it needs is not known; ``result`` says it as an outcome."""

    def __init__(self, reason: str, code: str = OBJECT_NOT_FOUND) -> None:
        super().__init__(reason)
        self.result = SkillResult(SkillStatus.PRECONDITION_FAILED, code, reason)


def check_preconditions(domain: Domain, state: SymbolicState, action: GroundAction) -> SkillResult | None:
    """Return why an action does not apply in the believed state, or None if it does.

    The action that carries a hypothesis (looking for something that nobody has seen) speaks of a thing that is not
    among the objects; for that action the thing is taken to exist, with the place as a candidate. What only the
    planner keeps count of is taken to be as the action needs it.
    """
    supposed = _with_processes(domain, _with_hypothesis(domain, state, action), action)
    unmet = unmet_preconditions(domain, supposed, action)
    if not unmet:
        return None
    reason = f"{action} cannot start: it needs {', '.join(unmet)}"
    return SkillResult(SkillStatus.PRECONDITION_FAILED, PRECONDITION_UNMET, reason)


def check_postconditions(
    domain: Domain, state: SymbolicState, action: GroundAction, graph: SceneGraph | None = None, since: float = 0.0
) -> SkillResult | None:
    """Return what the camera says against the effects of an action that reported success, or None.

    Only visible evidence that is newer than ``since`` counts: what nobody has looked at is unknown, which is no
    failure. A state alone cannot tell "seen to be false" from "not seen yet", so without a graph nothing is held
    against the action. Relations that should have ended are not held against it either: what the robot lifts may
    look to the camera as if it still lay there, and the robot's touch knows better.

    Args:
        state: believed state; not used without ``graph``, and kept so that all checks are called alike.
        graph: the belief, taken after the skill ended. since: ROS time [s] at which the skill ended.
    """
    if graph is None:
        return None
    added, deleted = effects(domain, action)
    deleted = frozenset(atom for atom in deleted if atom.predicate in domain.attributes)
    for wanted, atoms in ((True, added), (False, deleted)):
        for atom in sorted(atoms):
            if _seen(domain, graph, atom, since) is (not wanted):
                expected = str(atom) if wanted else f"not {atom}"
                reason = f"after {action} the camera does not see what was expected: {expected}"
                return SkillResult(SkillStatus.POSTCONDITION_FAILED, POSTCONDITION_UNMET, reason, recoverable=True)
    return None


def should_retry(result: SkillResult, attempts: int, max_attempts: int = 3) -> bool:
    """Return whether to try again without asking the planner.

    Args:
        result: outcome of the last attempt. attempts: how many have been made. max_attempts: most that are made.
    """
    return result.recoverable and result.status in _RETRIED and attempts < max_attempts


def skill_arguments(
    domain: Domain, graph: SceneGraph, action: GroundAction, recall: Recall | None = None
) -> tuple[str, list[SceneNode]]:
    """Return the skill that carries out an action and the believed things that it gets.

    A thing of which the belief has no position gets the one where it was seen last, if ``recall`` gives one that the
    belief does not contradict (GraphThink III-B: to the noted place first); its source is then `memory.MEMORY`.
    Where the belief has no frame nothing has a position, and a thing's name is all that a skill gets; a thing that is
    to be made has nothing else either.

    Raises:
        ArgumentError: naming the thing that is not in the scene graph, is gone, or has no known place.
        DomainError: if no skill carries out the action.
    """
    skill, names = skill_call(domain, action)
    held = {relation.object for relation in graph.relations if _is_held(relation)}
    return skill, [_argument(graph, name, skill, held, recall) for name in names]


def _is_held(relation: Relation) -> bool:
    return relation.subject == ROBOT_ID and relation.predicate == HOLDING and relation.value is Truth.TRUE


def _argument(graph: SceneGraph, name: str, skill: str, held: set[str], recall: Recall | None) -> SceneNode:
    node = graph.nodes.get(name)
    if not graph.frame_id:
        return node if node is not None else SceneNode(name, "")
    if node is not None and name in held:
        return node  # where it is follows from the gripper
    if node is not None and node.presence is Presence.ABSENT:
        raise ArgumentError(f"{skill} needs {name}, which is no longer where it was seen last")
    if node is not None and node.box is not None:
        return node
    seen = recall(name) if recall is not None else None
    remembered = remembered_node(graph, seen) if seen is not None else None
    if remembered is not None:
        return remembered
    if node is None:
        raise ArgumentError(f"{skill} needs {name}, which is not in the scene graph")
    raise ArgumentError(f"{skill} needs {name}, and nobody has seen yet where it is")


def _with_hypothesis(domain: Domain, state: SymbolicState, action: GroundAction) -> SymbolicState:
    """Return the state with the assumption that a hypothesis action makes about the thing it looks for."""
    hypotheses, schema = domain.hypotheses, domain.actions.get(action.name)
    if hypotheses is None or schema is None or action.name != hypotheses.action:
        return state
    if len(action.arguments) != len(schema.parameters):
        return state
    binding = {parameter.name: value for parameter, value in zip(schema.parameters, action.arguments, strict=True)}
    objects = dict(state.objects)
    for parameter in schema.parameters:
        if domain.is_a(parameter.type_name, hypotheses.item_type):
            objects.setdefault(binding[parameter.name], parameter.type_name)
    carried = (hypotheses.candidate, hypotheses.refuted, hypotheses.found)
    atoms = {atom for atom in state.atoms if atom.predicate not in carried}
    for literal in schema.preconditions:
        if literal.predicate in carried and literal.positive:
            atoms.add(Atom(literal.predicate, tuple(binding.get(name, name) for name in literal.arguments)))
    return SymbolicState(objects, frozenset(atoms), state.functions)


def kept_by_the_planner(domain: Domain) -> frozenset[str]:
    """Return the predicates that no belief has: marks of what goes on by itself, and of what waits to be made."""
    marks = {delay.marker for delay in domain.delays.values()}
    return frozenset(marks | {creation.unmade for creation in domain.creations.values()})


def _with_processes(domain: Domain, state: SymbolicState, action: GroundAction) -> SymbolicState:
    """Return the state with what an action needs of what only the planner keeps count of."""
    kept, schema = kept_by_the_planner(domain), domain.actions.get(action.name)
    if not kept or schema is None or len(action.arguments) != len(schema.parameters):
        return state
    binding = {parameter.name: value for parameter, value in zip(schema.parameters, action.arguments, strict=True)}
    objects, atoms = dict(state.objects), {atom for atom in state.atoms if atom.predicate not in kept}
    creation = domain.creations.get(action.name)
    if creation is not None:
        thing, made = binding[creation.thing], domain.class_of(creation.class_name)
        objects.setdefault(thing, made.type_name)
        atoms |= {Atom(fact, (thing,)) for fact in made.facts}
    for literal in schema.preconditions:
        if literal.predicate in kept and literal.positive:
            atoms.add(Atom(literal.predicate, tuple(binding.get(name, name) for name in literal.arguments)))
    return SymbolicState(objects, frozenset(atoms), state.functions)


def _seen(domain: Domain, graph: SceneGraph, atom: Atom, since: float) -> bool | None:
    """Return what the camera says about an atom since then; None if it says nothing."""
    schema = domain.attributes.get(atom.predicate)
    if schema is not None and schema.visible and len(atom.arguments) == 1:
        node = graph.nodes.get(atom.arguments[0])
        attribute = node.attributes.get(atom.predicate) if node else None
        if attribute is None or attribute.source != PERCEPTION or attribute.stamp <= since:
            return None
        return {Truth.TRUE: True, Truth.FALSE: False}.get(attribute.value)
    for relation in graph.relations:
        meaning = domain.relations.get(relation.predicate)
        if meaning is None or relation.source != PERCEPTION or relation.stamp <= since:
            continue
        if _atom(meaning, relation.subject, relation.object) == atom and relation.value is not Truth.UNKNOWN:
            return relation.value is Truth.TRUE
    return None


def _atom(meaning: RelationSchema, subject: str, object_: str) -> Atom:
    ends = {"subject": subject, "object": object_}
    return Atom(meaning.predicate, tuple(ends[name] for name in meaning.arguments))


@dataclass(frozen=True)
class ExecutionPolicy:
    """The checks above with their parameters in one place.

    Attributes:
        max_attempts: most attempts at one step before the planner hears of it.
    """

    max_attempts: int = 3

    def check_preconditions(self, domain: Domain, state: SymbolicState, action: GroundAction) -> SkillResult | None:
        """See `check_preconditions`."""
        return check_preconditions(domain, state, action)

    def check_postconditions(
        self,
        domain: Domain,
        state: SymbolicState,
        action: GroundAction,
        graph: SceneGraph | None = None,
        since: float = 0.0,
    ) -> SkillResult | None:
        """See `check_postconditions`."""
        return check_postconditions(domain, state, action, graph, since)

    def should_retry(self, result: SkillResult, attempts: int) -> bool:
        """See `should_retry`."""
        return should_retry(result, attempts, self.max_attempts)

    def skill_arguments(
        self, domain: Domain, graph: SceneGraph, action: GroundAction, recall: Recall | None = None
    ) -> tuple[str, list[SceneNode]]:
        """See `skill_arguments`."""
        return skill_arguments(domain, graph, action, recall)
