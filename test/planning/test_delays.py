"""Things that go on by themselves, need doing several times or come into being, in a world that is no kitchen."""

from __future__ import annotations

import pytest
from pottery import Pottery, goal, play, pottery

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState
from graph_planner_ros.planning.delays import PATIENCE, Processes, outcome, settle, with_unmade
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlannedStep, PlanningStatus
from graph_planner_ros.planning.session import DecisionKind, TaskSession

FIRE = GroundAction("fire", ("vase_1", "kiln_1"))
FIRE_END = GroundAction("fire_end", ("vase_1", "kiln_1"))
NOTHING = goal()
FIRING = Atom("firing", ("vase_1", "kiln_1"))


@pytest.fixture(scope="module")
def domain() -> Domain:
    return pottery()


def session(domain: Domain, *goals: object) -> TaskSession:
    return TaskSession(domain, MemPlan(domain, make_engine("mimir"), timeout=60.0), "pots", goals)  # type: ignore[arg-type]


# ---- the domain's description


@pytest.mark.parametrize(
    ("old", "new", "entry"),
    [
        ("done: fire_end, steps: 6", "done: polish, steps: 6", "delays.fire.done"),
        ("done: fire_end, steps: 6", "done: fire_end, steps: 0", "delays.fire.steps"),
        ("done: fire_end, steps: 6", "done: fire_end, steps: true", "delays.fire.steps"),
        ("fire: {done: fire_end", "burn: {done: fire_end", "delays"),
        ("{polish: 4}", "{polish: often}", "repetitions.polish"),
        ("{polish: 4}", "{polsh: 4}", "repetitions"),
        ("thing: g, class: Glaze", "thing: x, class: Glaze", "creations.mix_end.thing"),
        ("thing: g, class: Glaze", "thing: g, class: Varnish", "creations.mix_end.class"),
    ],
)
def test_entries_about_time_that_do_not_fit_are_refused(
    domain: Domain, tmp_path, old: str, new: str, entry: str
) -> None:  # type: ignore[no-untyped-def]
    for name in ("domain.pddl", "domain.yaml"):
        (tmp_path / name).write_text((domain.folder / name).read_text().replace(old, new))
    with pytest.raises(DomainError, match=entry):
        load_domain(tmp_path)


# ---- processes


def test_a_process_is_believed_until_its_effect_is_seen(domain: Domain) -> None:
    processes, world = Processes(domain), Pottery(domain)
    processes.acted(FIRE)
    assert FIRING in processes.believe(world.state(), NOTHING).atoms
    assert processes.remaining() == {FIRING: 5}
    for _ in range(5):
        processes.acted(GroundAction("go", ("kiln_1", "shelf_1")))
    assert processes.remaining() == {FIRING: 0}
    assert FIRING in processes.believe(world.state(), NOTHING).atoms  # it takes longer than expected
    world.atoms.add(Atom("fired", ("vase_1",)))
    assert FIRING not in processes.believe(world.state(), NOTHING).atoms


def test_a_process_that_never_ends_is_given_up(domain: Domain) -> None:
    processes, world = Processes(domain), Pottery(domain)
    processes.acted(FIRE)
    for _ in range(6 * PATIENCE):
        assert processes.lasts(FIRE_END, processes.believe(world.state(), NOTHING))
        processes.acted(FIRE_END)
    state = processes.believe(world.state(), NOTHING)
    assert FIRING not in state.atoms and not processes.lasts(FIRE_END, state)


def test_an_effect_from_before_does_not_end_a_process_at_once(domain: Domain) -> None:
    world = Pottery(domain)
    world.atoms.add(Atom("fired", ("vase_1",)))
    processes = Processes(domain)
    processes.acted(FIRE)
    assert FIRING in processes.believe(world.state(), NOTHING).atoms


def test_what_was_made_is_found_by_its_effects(domain: Domain) -> None:
    world = Pottery(domain)
    state = with_unmade(domain, world.state(), goal("glazed(v)", v="Vase"))
    end = GroundAction("mix_end", ("unmade_Glaze_1", "basin_1"))
    assert outcome(domain, state, end) is None
    there = SymbolicState(
        {**state.objects, "glaze_7": "glaze"}, state.atoms | {Atom("in", ("glaze_7", "basin_1"))}, state.functions
    )
    assert outcome(domain, there, end) == {"unmade_Glaze_1": "glaze_7"}
    dip = PlannedStep(GroundAction("dip", ("vase_1", "unmade_Glaze_1", "basin_1")))
    (left,) = settle(domain, there, [PlannedStep(end), dip])
    assert left.action == GroundAction("dip", ("vase_1", "glaze_7", "basin_1")) and "glaze_7" in left.text


def test_the_end_of_a_process_that_is_yet_to_be_started_stays_in_the_plan(domain: Domain) -> None:
    world = Pottery(domain)
    world.atoms.add(Atom("fired", ("vase_1",)))
    steps = [PlannedStep(FIRE), PlannedStep(FIRE_END)]
    assert [step.action for step in settle(domain, world.state(), steps)] == [FIRE, FIRE_END]


# ---- plans


def test_waiting_time_is_used_for_something_else(domain: Domain) -> None:
    world = Pottery(domain)
    decision = play(session(domain, goal("fired(v)", "polished(j)", v="Vase", j="Jug")), world)
    assert decision.kind is DecisionKind.DONE
    names = [action.name for action in world.done]
    assert names.index("fire") < names.index("polish")
    # lift, go, put, fire: 4; the jug is fetched (go, lift, go, put) and polished four times, while the kiln burns
    assert len(world.done) == 12 and "fire_end" not in names


def test_with_nothing_else_to_do_one_waits_and_looks(domain: Domain) -> None:
    world = Pottery(domain, steps={"fire": 9})
    decision = play(session(domain, goal("fired(v)", "stands(v, s)", v="Vase", s="Bench")), world)
    assert decision.kind is DecisionKind.DONE
    assert [action.name for action in world.done].count("fire_end") == 8
    assert len(world.done) == 4 + 8 + 3


def test_what_is_done_earlier_than_expected_is_not_waited_for(domain: Domain) -> None:
    world = Pottery(domain, steps={"fire": 2}, times=1)
    assert play(session(domain, goal("fired(v)", v="Vase")), world).kind is DecisionKind.DONE
    assert len(world.done) == 5


def test_an_action_is_repeated_until_its_effect_is_seen(domain: Domain) -> None:
    for times in (1, 4, 6):
        world = Pottery(domain, times=times)
        assert play(session(domain, goal("polished(j)", j="Jug")), world).kind is DecisionKind.DONE
        assert [action.name for action in world.done].count("polish") == times


def test_a_kiln_that_goes_out_is_lit_again_in_the_end(domain: Domain) -> None:
    world = Pottery(domain)
    world.goes_out = True
    task = session(domain, goal("fired(v)", v="Vase"))
    decision = play(task, world, limit=4 + 6 * PATIENCE + 2)
    assert decision.kind in (DecisionKind.KEEP, DecisionKind.REPLACE)
    assert [action.name for action in world.done].count("fire") == 2


def test_what_comes_into_being_gets_its_name_when_it_is_seen(domain: Domain) -> None:
    world = Pottery(domain)
    decision = play(session(domain, goal("glazed(v)", "fired(v)", v="Vase")), world)
    assert decision.kind is DecisionKind.DONE
    (dip,) = [action for action in world.done if action.name == "dip"]
    assert dip.arguments == ("vase_1", "glaze_7", "basin_1")


def test_goals_about_what_does_not_exist_yet_can_be_planned_for(domain: Domain) -> None:
    planner = MemPlan(domain, make_engine("mimir"), timeout=60.0)
    result = planner.plan(Pottery(domain).state(), goal("in(g, b)", g="Glaze", b="Basin"))
    assert result.status is PlanningStatus.SOLVED
    assert [step.action.name for step in result.steps] == ["go", "mix", "mix_end"]
    assert result.cost == 4.0 and [step.cost for step in result.steps] == [1.0, 1.0, 2.0]


def test_waiting_costs_less_the_longer_it_has_been_going_on(domain: Domain) -> None:
    world = Pottery(domain)
    for action in (
        GroundAction("lift", ("vase_1", "shelf_1")),
        GroundAction("go", ("shelf_1", "kiln_1")),
        GroundAction("put", ("vase_1", "kiln_1")),
    ):
        world.act(action)
    state = SymbolicState(world.objects, frozenset(world.atoms | {FIRING}))
    planner = MemPlan(domain, make_engine("mimir"), timeout=60.0)
    costs = [planner.plan(state, goal("fired(v)", v="Vase"), remaining={FIRING: left}).cost for left in (5, 2, 0)]
    assert costs == [5.0, 2.0, 0.0]


def test_the_same_problem_gets_the_same_plan(domain: Domain) -> None:
    wanted = goal("fired(v)", "polished(v)", "glazed(j)", v="Vase", j="Jug")
    plans = {
        tuple(
            s.action
            for s in MemPlan(domain, make_engine("mimir"), timeout=60.0).plan(Pottery(domain).state(), wanted).steps
        )
        for _ in range(3)
    }
    assert len(plans) == 1
