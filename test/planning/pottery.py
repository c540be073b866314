"""A pottery that goes on by itself: the world of `fixtures/domains/pottery`, with time, for tests of delays."""

from __future__ import annotations

from pathlib import Path

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.state import effects, unmet_preconditions
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, GroundAction, SymbolicState
from graph_planner_ros.planning.session import Decision, DecisionKind, TaskSession
from graph_planner_ros.scene.graph import SceneGraph

FOLDER = Path(__file__).parents[1] / "fixtures" / "domains" / "pottery"
THINGS = {
    "kiln_1": "Kiln", "bench_1": "Bench", "basin_1": "Basin", "shelf_1": "Shelf", "shelf_2": "Shelf",
    "vase_1": "Vase", "jug_1": "Jug",
}  # fmt: skip


def pottery() -> Domain:
    return load_domain(FOLDER)


class Pottery:
    """The world: actions take effect, processes and repetitions as long as ``steps`` and ``times`` say."""

    def __init__(self, domain: Domain, steps: dict[str, int] | None = None, times: int | None = None) -> None:
        self.domain = domain
        self.steps = {delay.start: delay.steps for delay in domain.delays.values()} | (steps or {})
        self.times = times or domain.repetitions["polish"]
        self.objects = {name: domain.classes[label].type_name for name, label in THINGS.items()}
        self.objects |= dict.fromkeys(domain.classes, "class")
        self.atoms = {Atom("instance_of", item) for item in THINGS.items()}
        self.atoms |= {Atom(fact, (name,)) for name, label in THINGS.items() for fact in domain.classes[label].facts}
        self.atoms |= {Atom("at", ("shelf_1",)), Atom("free_hands"), Atom("stands", ("vase_1", "shelf_1"))}
        self.atoms |= {Atom("stands", ("jug_1", "shelf_2"))}
        self.atoms |= {Atom("occupied", (place,)) for place in ("shelf_1", "shelf_2")}
        self.processes: list[tuple[int, str, GroundAction]] = []
        self.done: list[GroundAction] = []
        self.polished: dict[str, int] = {}
        self.goes_out = False

    def state(self) -> SymbolicState:
        return SymbolicState(dict(self.objects), frozenset(self.atoms))

    def act(self, action: GroundAction) -> None:
        """Carry out an action; the end of a process is waiting for it."""
        self.done.append(action)
        now = len(self.done)
        delay = next((item for item in self.domain.delays.values() if item.start == action.name), None)
        if action.name not in self.domain.delays:
            hidden = {delay.marker for delay in self.domain.delays.values()}
            unmet = unmet_preconditions(self.domain, self.state(), action)
            assert not [text for text in unmet if text.split("(")[0] not in hidden], f"{action}: {unmet}"
            if action.name == "polish":
                self.polished[action.arguments[0]] = self.polished.get(action.arguments[0], 0) + 1
                if self.polished[action.arguments[0]] < self.times:
                    return self._tick(now)
            if delay is None:
                added, deleted = effects(self.domain, action)
                self.atoms = (self.atoms - deleted) | added
            elif not self.goes_out:
                self.processes.append((now - 1 + self.steps[action.name], action.name, action))
        return self._tick(now)

    def _tick(self, now: int) -> None:
        for end, kind, action in list(self.processes):
            if end > now:
                continue
            self.processes.remove((end, kind, action))
            if kind == "fire":
                self.atoms.add(Atom("fired", action.arguments[:1]))
            else:
                self.objects["glaze_7"] = "glaze"
                self.atoms |= {Atom("instance_of", ("glaze_7", "Glaze")), Atom("in", ("glaze_7", *action.arguments))}


def goal(*literals: str, **variables: str) -> Goal:
    """Return a goal: ``goal("fired(v)", v="Vase")``."""
    domain = pottery()
    found = tuple(GoalVariable(f"?{n}", domain.classes[label].type_name, label) for n, label in variables.items())
    read = []
    for text in literals:
        predicate, _, rest = text.partition("(")
        read.append(GoalLiteral(predicate, tuple(f"?{name.strip()}" for name in rest.rstrip(")").split(","))))
    return Goal(found, tuple(read))


def play(session: TaskSession, world: Pottery, limit: int = 80) -> Decision:
    """Let a session act in a world until it is done, fails or has used up its actions."""
    graph = SceneGraph(domain=world.domain.name)
    decision = session.start(graph, world.state())
    while decision.kind in (DecisionKind.KEEP, DecisionKind.REPLACE) and len(world.done) < limit:
        graph.stamp += 1.0
        action = decision.steps[decision.next].action
        world.act(action)
        decision = session.after_success(action, graph, world.state())
    return decision
