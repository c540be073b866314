"""Planning in domains without kitchens and without hypotheses: nothing about either is in the planner."""

from __future__ import annotations

from pathlib import Path

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.state import successor
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlanningStatus, TaskStatus
from graph_planner_ros.planning.session import DecisionKind, TaskSession
from graph_planner_ros.scene.graph import SceneGraph

FOLDER = Path(__file__).parents[1] / "fixtures" / "domains"
GREENHOUSE = load_domain(FOLDER / "greenhouse")
WAREHOUSE = load_domain(FOLDER / "warehouse")
ENGINE = make_engine("auto")


def greenhouse() -> SymbolicState:
    labels = {"Bench A": "Bench", "shade-1": "Shade", "skylight": "Skylight", "fern_1": "Fern", "fern_10": "Fern"}
    atoms = {Atom("kind_of", pair) for pair in labels.items()}
    atoms |= {Atom("near", ("skylight",)), Atom("stands", ("fern_1", "shade-1")), Atom("free_hands")}
    atoms |= {Atom("stands", ("fern_10", "Bench A")), Atom("sunny", ("Bench A",))}
    objects = {name: GREENHOUSE.class_of(label).type_name for name, label in labels.items()}
    return SymbolicState({**objects, **dict.fromkeys(GREENHOUSE.classes, "kind")}, frozenset(atoms))


def fern_goal(*literals: GoalLiteral, label: str = "Fern") -> Goal:
    variables = (GoalVariable("?f", "plant", label), GoalVariable("?b", "bench", "Bench"))
    return Goal(variables, literals, (), "move it")


def test_a_task_runs_to_its_end_in_a_domain_without_hypotheses() -> None:
    goal = fern_goal(GoalLiteral("watered", ("?f",)), GoalLiteral("stands", ("?f", "?b")))
    task = TaskSession(GREENHOUSE, MemPlan(GREENHOUSE, ENGINE), "water a fern", [goal])
    graph, state = SceneGraph(stamp=1.0, domain="greenhouse"), greenhouse()
    decision = task.start(graph, state)
    while decision.kind not in (DecisionKind.DONE, DecisionKind.FAILED):
        step = decision.steps[decision.next]
        state = successor(GREENHOUSE, state, step.action)  # raises if it does not apply
        decision = task.after_success(step, graph, state)
    assert decision.status is TaskStatus.SUCCEEDED, decision.reason


def test_a_class_of_which_nothing_is_known_is_goal_unknown_where_nothing_can_be_looked_for() -> None:
    goal = fern_goal(GoalLiteral("watered", ("?f",)), label="Cactus")
    result = MemPlan(GREENHOUSE, ENGINE).plan(greenhouse(), goal)
    assert result.status is PlanningStatus.GOAL_UNKNOWN
    assert "Cactus" in result.reason


def test_names_and_symbols_in_mixed_case_come_back_in_their_own_spelling() -> None:
    objects = {"Robot": "Robot", "robot": "Robot", "Crate 1": "Crate", "Crate 10": "Crate", "Dock": "Dock"}
    ways = [("Home", "Dock"), ("Dock", "Home")]
    state = SymbolicState(
        {**objects, "Crate": "kind"},
        frozenset(
            {Atom("standsAt", (name, "Home")) for name in ("Robot", "robot")}
            | {Atom("notFilling", (name,)) for name in ("Robot", "robot")}
            | {Atom("stored", (name, "Home")) for name in ("Crate 1", "Crate 10")}
            | {Atom("kindOf", (name, "Crate")) for name in ("Crate 1", "Crate 10")}
            | {Atom("fragile", ("Crate 1",)), Atom("padded", ("robot",))}
        ),
        {Atom("metres", way): 3.0 for way in ways},
    )
    goal = Goal(
        (GoalVariable("?a", "Crate", "Crate"), GoalVariable("?b", "Crate", "Crate")),
        (GoalLiteral("stored", ("?a", "Dock")), GoalLiteral("stored", ("?b", "Dock"))),
        (("?a", "?b"),),
    )
    result = MemPlan(WAREHOUSE, ENGINE).plan(state, goal)
    assert result.status is PlanningStatus.SOLVED, result.reason
    used = {name for step in result.steps for name in step.action.arguments}
    assert {"Crate 1", "Crate 10", "Home", "Dock"} <= used
    assert {step.action.name for step in result.steps} >= {"Drive", "load-fragile", "unload"}
