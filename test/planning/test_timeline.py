"""How long plans take, and that their order is improved without changing what they reach."""

from __future__ import annotations

import pytest
from pottery import Pottery, goal, pottery

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.scheduling import Scheduler
from graph_planner_ros.planning.timeline import Timeline
from graph_planner_ros.planning.travel import find_way
from graph_planner_ros.planning.verifier import verify


def actions(text: str) -> list[GroundAction]:
    """Read ``go shelf_1 kiln_1; fire vase_1 kiln_1``."""
    rows = [row.split() for row in text.split(";") if row.strip()]
    return [GroundAction(row[0], tuple(row[1:])) for row in rows]


SLOW = actions(
    "lift vase_1 shelf_1; go shelf_1 kiln_1; put vase_1 kiln_1; fire vase_1 kiln_1; fire_end vase_1 kiln_1;"
    "go kiln_1 shelf_2; lift jug_1 shelf_2; go shelf_2 bench_1; put jug_1 bench_1; polish jug_1 bench_1"
)


@pytest.fixture(scope="module")
def domain() -> Domain:
    return pottery()


def bound(wanted: Goal, **instances: str) -> Goal:
    variables = tuple(
        type(v)(v.name, v.type_name, v.class_name, instances.get(v.name.lstrip("?"))) for v in wanted.variables
    )
    return Goal(variables, wanted.literals, wanted.distinct)


def time_of(domain: Domain, state: SymbolicState, plan: list[GroundAction], wanted: Goal) -> int | None:
    timeline = Timeline(domain, state, {})
    masks = timeline.goal_masks(wanted, {v.name: v.instance for v in wanted.variables if v.instance})
    assert masks is not None
    timed = timeline.time(timeline.work_of(plan), masks)
    return timed.time if timed is not None else None


def test_the_way_is_found_by_its_form(domain: Domain) -> None:
    way = find_way(domain)
    assert way is not None and (way.action, way.start, way.end, way.fixed) == ("go", "from", "to", ())
    household, robotouille = (find_way(load_domain(name)) for name in ("household", "robotouille"))
    assert household is not None and household.action == "go_to"
    assert robotouille is not None and (robotouille.action, robotouille.fixed) == ("move", ("p1",))


def test_ways_repetitions_and_waiting_are_counted(domain: Domain) -> None:
    wanted = bound(goal("fired(v)", "polished(j)", v="Vase", j="Jug"), v="vase_1", j="jug_1")
    state = Pottery(domain).state()
    # 4 until it burns, then 4 to fetch the jug and 4 to polish it, while the kiln burns; nothing is waited for
    assert time_of(domain, state, SLOW, wanted) == 12
    only = bound(goal("fired(v)", v="Vase"), v="vase_1")
    assert time_of(domain, state, SLOW[:5], only) == 3 + 6


def test_work_that_would_break_a_process_off_waits_for_it(domain: Domain) -> None:
    wanted = bound(goal("fired(v)", "carried(v)", v="Vase"), v="vase_1")
    plan = [*SLOW[:5], *actions("lift vase_1 kiln_1")]
    assert time_of(domain, Pottery(domain).state(), plan, wanted) == 3 + 6 + 1


@pytest.mark.parametrize(
    "text",
    ["put vase_1 kiln_1", "fire vase_1 kiln_1", "lift vase_1 bench_1", "polish jug_1 bench_1", "lift kiln_1 kiln_1"],
)
def test_what_does_not_apply_has_no_duration(domain: Domain, text: str) -> None:
    assert (
        time_of(domain, Pottery(domain).state(), actions(text), bound(goal("fired(v)", v="Vase"), v="vase_1")) is None
    )


def test_a_detour_is_left_out_and_the_plan_still_holds(domain: Domain) -> None:
    state = Pottery(domain).state()
    wanted = bound(goal("fired(v)", v="Vase"), v="vase_1")
    detour = actions(
        "lift vase_1 shelf_1; go shelf_1 bench_1; put vase_1 bench_1; lift vase_1 bench_1; go bench_1 kiln_1;"
        "put vase_1 kiln_1; fire vase_1 kiln_1; fire_end vase_1 kiln_1"
    )
    better = Scheduler(domain, state, wanted, {}).improve(detour)
    assert better is not None
    plan = [action for action, _ in better]
    assert sum(cost for _, cost in better) == 9 and verify(domain, state, wanted, plan).valid


def test_work_is_moved_into_waiting_time(domain: Domain) -> None:
    state = Pottery(domain).state()
    wanted = bound(goal("fired(v)", "polished(j)", v="Vase", j="Jug"), v="vase_1", j="jug_1")
    late = [
        *SLOW[5:7],
        GroundAction("go", ("shelf_2", "bench_1")),
        *SLOW[8:],
        GroundAction("go", ("bench_1", "shelf_1")),
    ]
    plan = [GroundAction("go", ("shelf_1", "shelf_2")), *late[1:], *SLOW[:5]]
    before = time_of(domain, state, plan, wanted)
    better = Scheduler(domain, state, wanted, {}).improve(plan)
    assert before is not None and better is not None
    assert sum(cost for _, cost in better) == 12 < before
    assert verify(domain, state, wanted, [action for action, _ in better]).valid


def test_a_process_that_goes_on_already_is_waited_for_as_long_as_it_lasts(domain: Domain) -> None:
    firing = Atom("firing", ("vase_1", "kiln_1"))
    world = Pottery(domain)
    world.atoms -= {Atom("stands", ("vase_1", "shelf_1")), Atom("occupied", ("shelf_1",))}
    world.atoms |= {Atom("stands", ("vase_1", "kiln_1")), Atom("occupied", ("kiln_1",)), firing}
    wanted = bound(goal("fired(v)", v="Vase"), v="vase_1")
    for left in (0, 4):
        plan = Scheduler(domain, world.state(), wanted, {firing: left}).improve(actions("fire_end vase_1 kiln_1"))
        assert plan == [(GroundAction("fire_end", ("vase_1", "kiln_1")), left)]


def test_no_effort_changes_nothing(domain: Domain) -> None:
    state = Pottery(domain).state()
    wanted = bound(goal("fired(v)", "polished(j)", v="Vase", j="Jug"), v="vase_1", j="jug_1")
    same = Scheduler(domain, state, wanted, {}, effort=0).improve(SLOW)
    assert same is not None and [a for a, _ in same if a.name != "fire_end"] == [
        a for a in SLOW if a.name != "fire_end"
    ]
    assert not goal_holds(wanted, state, domain)
