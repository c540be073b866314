"""What goes on by itself while a task runs: cooking that was started, things that will come into being.

No observation says for how long something has been cooking, so the task itself keeps count. In the symbolic state a
process is the marker that its action added (`DelaySchema.marker`); it ends when its effects are observed, or when it
has been waited for so much longer than the domain says that it cannot be going on any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.matching import bindings, index_of
from graph_planner_ros.domain.schema import DelaySchema, Literal
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.planning.result import PlannedStep

UNMADE_PREFIX = "unmade_"
PATIENCE = 3
"""A process or a repeated action is given up after this many times as long as the domain says."""


def with_unmade(domain: Domain, state: SymbolicState, goal: Goal) -> SymbolicState:
    """Return the state with things that wait to be made: one of a class for each that the goal speaks of.

    Things that exist already are not counted: what there is may be the wrong one, or in the wrong place.
    """
    if not domain.creations:
        return state
    objects, atoms = dict(state.objects), set(state.atoms)
    for creation in domain.creations.values():
        wanted = sum(variable.class_name == creation.class_name for variable in goal.variables)
        for number in range(1, max(1, wanted) + 1):
            name = f"{UNMADE_PREFIX}{creation.class_name}_{number}"
            entry = domain.class_of(creation.class_name)
            objects[name] = entry.type_name
            atoms |= {Atom(creation.unmade, (name,)), *(Atom(fact, (name,)) for fact in entry.facts)}
            if domain.class_predicate is not None:
                atoms.add(Atom(domain.class_predicate, (name, creation.class_name)))
    return SymbolicState(objects, frozenset(atoms), state.functions)


@dataclass
class Processes:
    """The processes of a running task.

    Attributes:
        running: marker -> actions since its start, the starting one included.
    """

    domain: Domain
    running: dict[Atom, int] = field(default_factory=dict)
    _repeated: dict[GroundAction, int] = field(default_factory=dict)

    def acted(self, action: GroundAction) -> None:
        """Count an action that was carried out; every process is one step older then."""
        for marker in self.running:
            self.running[marker] += 1
        starts = [delay for delay in self.domain.delays.values() if delay.start == action.name]
        added, _ = effects(self.domain, action)
        for delay in starts:
            self.running.update({atom: 1 for atom in added if atom.predicate == delay.marker})
        self._repeated = {action: self._repeated.get(action, 0) + 1}

    def believe(self, state: SymbolicState, goal: Goal) -> SymbolicState:
        """Return the state with the markers of what goes on and with what waits to be made for a goal.

        What is over by now is forgotten. Where nothing takes time, the state is returned as it is.
        """
        if not self.domain.takes_time and not self.domain.creations:
            return state
        for marker, age in list(self.running.items()):
            delay = self._delay(marker)
            if age > PATIENCE * delay.steps or (age >= delay.steps and self._ended(delay, marker, state)):
                del self.running[marker]
        marked = SymbolicState(state.objects, state.atoms | frozenset(self.running), state.functions)
        return with_unmade(self.domain, marked, goal)

    def remaining(self) -> dict[Atom, int]:
        """Return marker -> actions until its end, by what the domain says; at least 0."""
        return {marker: max(0, self._delay(marker).steps - age) for marker, age in self.running.items()}

    def lasts(self, action: GroundAction, state: SymbolicState) -> bool:
        """Return whether an action that was carried out has to be carried on: its effects are not there yet."""
        name = action.name
        if name not in self.domain.delays and name not in self.domain.repetitions:
            return False
        if outcome(self.domain, state, action) is not None:
            return False
        if name in self.domain.delays:
            return marker_of(self.domain, action) in self.running
        return self._repeated.get(action, 0) < PATIENCE * self.domain.repetitions[name]

    def _delay(self, marker: Atom) -> DelaySchema:
        return next(delay for delay in self.domain.delays.values() if delay.marker == marker.predicate)

    def _ended(self, delay: DelaySchema, marker: Atom, state: SymbolicState) -> bool:
        """Return whether the effects of a process's end are observed."""
        schema = self.domain.actions[delay.done]
        arguments = next(literal.arguments for literal in schema.preconditions if literal.predicate == delay.marker)
        fixed = dict(zip(arguments, marker.arguments, strict=True))
        wanted = [Literal(*term) for term in schema.added]
        names = {name for literal in wanted for name in literal.arguments}
        types = {name: of for name, of in schema.parameters if name in names}
        index = index_of(self.domain, state)
        return (
            next(bindings(index, types, wanted, (), {n: v for n, v in fixed.items() if n in names}), None) is not None
        )


def marker_of(domain: Domain, action: GroundAction) -> Atom:
    """Return the marker of the process whose end an action stands for."""
    marker = domain.delays[action.name].marker
    _, deleted = effects(domain, action)
    return next(atom for atom in deleted if atom.predicate == marker)


def outcome(domain: Domain, state: SymbolicState, action: GroundAction) -> dict[str, str] | None:
    """Return what came of an action whose effects are there: the thing that it made -> what that is called now.

    None if the effects are not there.
    """
    added, _ = effects(domain, action)
    creation = domain.creations.get(action.name)
    if creation is None:
        return {} if added <= state.atoms else None
    names = [parameter.name for parameter in domain.action(action.name).parameters]
    unmade = action.arguments[names.index(creation.thing)]
    for thing in sorted(state.objects):
        if Atom(creation.unmade, (thing,)) in state.atoms:
            continue
        renamed = {replace(a, arguments=tuple(thing if n == unmade else n for n in a.arguments)) for a in added}
        if renamed <= state.atoms:
            return {unmade: thing}
    return None


def settle(domain: Domain, state: SymbolicState, steps: Sequence[PlannedStep]) -> tuple[PlannedStep, ...]:
    """Return the rest of a plan without the ends of processes that have come; what was made gets its name.

    Args:
        state: with the markers of what goes on. steps: the rest of the plan.
    """
    if not domain.delays:
        return tuple(steps)
    left: list[PlannedStep] = []
    names: dict[str, str] = {}
    started: set[Atom] = set()
    for step in steps:
        action = _renamed(step.action, names)
        if action.name in domain.delays:
            marker = marker_of(domain, action)
            made = outcome(domain, state, action)
            if marker not in state.atoms and marker not in started and made is not None:
                names.update(made)
                continue
        started |= effects(domain, action)[0]
        left.append(step if action == step.action else _described(domain, step, action))
    return tuple(left)


def _renamed(action: GroundAction, names: Mapping[str, str]) -> GroundAction:
    return GroundAction(action.name, tuple(names.get(name, name) for name in action.arguments))


def _described(domain: Domain, step: PlannedStep, action: GroundAction) -> PlannedStep:
    return replace(step, action=action, text=describe_action(domain, action))


def counted(domain: Domain, actions: Iterable[GroundAction]) -> int:
    """Return how many actions a plan takes if nothing has to be waited for."""
    return sum(domain.repetitions.get(action.name, 1) for action in actions if action.name not in domain.delays)
