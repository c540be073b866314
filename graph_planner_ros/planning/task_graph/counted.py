"""The planning problem in which subtasks are carried out in their order, with implied actions in between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.schema import ActionSchema, Literal, Parameter, PredicateSchema, Term
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, GroundAction, SymbolicState
from graph_planner_ros.planning.problem import Selection, expand_excluded, problem_text, project
from graph_planner_ros.planning.relevance import Relevance, relevance, relevant_things
from graph_planner_ros.planning.task_graph.subtasks import implied_parameters

_PREFIX = "stage-"


@dataclass(frozen=True)
class Stage:
    """A subtask to be carried out, with the things that each said parameter may be; others may be anything."""

    action: str
    allowed: Mapping[str, tuple[str, ...]]


class CountedProblem:
    """PDDL texts in which a counter says which subtask is next.

    Args:
        domain: fixed. state: what is believed and supposed, every way with its length.
        stages: in their order. goal: that must hold at the end as well; None: only the stages are wanted.
        excluded: actions that must not be used.
        completed: after the last stage every action of the domain may follow, so that the goal is reached anyhow.

    Attributes:
        domain_pddl, problem_pddl: for an engine.
    """

    def __init__(
        self,
        domain: Domain,
        state: SymbolicState,
        stages: Sequence[Stage],
        goal: Goal | None,
        excluded: Iterable[GroundAction] = (),
        completed: bool = False,
    ) -> None:
        banned: dict[str, set[tuple[str, ...]]] = {}
        for action in excluded:
            if action.name in domain.actions:
                banned.setdefault(action.name, set()).update(expand_excluded(domain, state, action))
        counted = _counted_domain(domain, stages, frozenset(banned), completed)
        facts = {Atom(_reached(0))}
        facts |= {Atom(_banned(name), row) for name, rows in banned.items() for row in rows}
        for index, stage in enumerate(stages):
            for name, things in stage.allowed.items():
                facts.update(Atom(_said(index, name), (thing,)) for thing in things)
        whole = SymbolicState(state.objects, state.atoms | facts, state.functions)
        wanted = goal or Goal((), ())
        ended = Goal(
            wanted.variables, (*wanted.literals, GoalLiteral(_reached(len(stages)), ())), wanted.distinct, wanted.text
        )
        self._names = NameMap(counted)
        actions = frozenset(counted.actions)
        functions = frozenset(t.predicate for schema in counted.actions.values() for t in schema.cost_terms)
        needed = {literal.predicate for schema in counted.actions.values() for literal in schema.preconditions}
        needed |= {literal.predicate for literal in ended.literals}
        needed |= {domain.class_predicate} if domain.class_predicate is not None else set()
        kept = _things(domain, state, stages, wanted, frozenset(needed), completed)
        chosen = Selection(kept, frozenset(needed), functions)
        true = {atom.predicate for atom in whole.atoms}
        true |= {term.predicate for schema in counted.actions.values() for term in schema.added}
        # the cache of `project` is for domains that stay
        self.domain_pddl = project.__wrapped__(
            counted, actions, frozenset(needed), functions, void=frozenset(needed) - true
        )
        self.problem_pddl = problem_text(counted, whole, ended, chosen, self._names)

    def action(self, planned: GroundAction) -> GroundAction:
        """Return an action of an engine's plan as one of the domain."""
        action = self._names.action_from_pddl(planned)
        return replace(action, name=_original(action.name))


def _reached(count: int) -> str:
    return f"{_PREFIX}{count}"


def _said(index: int, parameter: str) -> str:
    return f"{_PREFIX}{index}-said-{parameter}"


def _banned(action: str) -> str:
    return f"{_PREFIX}not-{action}"


def _original(name: str) -> str:
    return name.split("-does-", 1)[1] if name.startswith(_PREFIX) else name


def _counted_domain(domain: Domain, stages: Sequence[Stage], banned: frozenset[str], completed: bool) -> Domain:
    """Return the domain with the implied actions, and an action for each stage that only the counter's turn allows."""
    used = {*implied_parameters(domain), *(stage.action for stage in stages)}
    schemas = {name: domain.action(name) for name in (used | set(domain.planned_actions) if completed else used)}
    predicates = dict(domain.predicates)
    for name in banned & set(schemas):
        schema = schemas[name]
        predicates[_banned(name)] = PredicateSchema(_banned(name), schema.parameters)
        never = Literal(_banned(name), tuple(parameter.name for parameter in schema.parameters), False)
        schemas[name] = replace(schema, preconditions=(*schema.preconditions, never))
    actions: dict[str, ActionSchema] = {name: schemas[name] for name in implied_parameters(domain)}
    for count in range(len(stages) + 1):
        predicates[_reached(count)] = PredicateSchema(_reached(count))
    for index, stage in enumerate(stages):
        schema = schemas[stage.action]
        types = dict(schema.parameters)
        said = tuple(Literal(_said(index, name), (name,)) for name in stage.allowed)
        for name in stage.allowed:
            predicate = _said(index, name)
            predicates[predicate] = PredicateSchema(predicate, (Parameter(name, types[name]),))
        name = f"{_PREFIX}{index}-does-{stage.action}"
        actions[name] = replace(
            schema,
            name=name,
            preconditions=(Literal(_reached(index), ()), *said, *schema.preconditions),
            added=(*schema.added, Term(_reached(index + 1), ())),
            deleted=(*schema.deleted, Term(_reached(index), ())),
        )
    if completed:
        last = Literal(_reached(len(stages)), ())
        for name in domain.planned_actions:
            if name not in actions:
                actions[name] = replace(schemas[name], preconditions=(last, *schemas[name].preconditions))
    symbols = dict(domain.pddl_names)
    symbols.update({name: name for name in (*actions, *predicates) if name not in symbols})
    return replace(domain, actions=actions, predicates=predicates, pddl_names=symbols)


def _things(
    domain: Domain,
    state: SymbolicState,
    stages: Sequence[Stage],
    goal: Goal,
    predicates: frozenset[str],
    completed: bool,
) -> frozenset[str]:
    """Return what the problem speaks of: everything that is no item, and items that stages or goal may be about.

    With ``completed`` also the tools that the goal needs.
    """
    named = sorted({thing for stage in stages for things in stage.allowed.values() for thing in things})
    spoken = tuple(
        GoalVariable(f"?stage{index}", state.objects[thing], None, thing) for index, thing in enumerate(named)
    )
    spoken_of = Goal((*goal.variables, *spoken), goal.literals)
    names = frozenset(implied_parameters(domain)) | {stage.action for stage in stages}
    tools = relevance(domain, state, goal).capabilities if completed else ()
    return relevant_things(domain, state, spoken_of, Relevance(names, predicates, tools))
