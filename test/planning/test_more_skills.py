"""New skills and a new household from files alone: planner, verifier, task graph, prompts and rules know them."""

from __future__ import annotations

import pytest
from symbolic_world import FIXTURES, kitchen

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import successor
from graph_planner_ros.domain.symbols import Atom, SymbolicState
from graph_planner_ros.language.instruction import InstructionParser
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.task_graph import Refiner, TaskGraph, check_edges, edge_lines, subtasks_of
from graph_planner_ros.planning.verifier import verify

ENGINE = make_engine("auto")
SKILLS = "household+ai2thor_skills"
PLACES = (*FIXTURES, "Sofa", "Cart", "CoffeeMachine")
THINGS = ["Mug", "Vase", "Plate", "Potato", "SoapBottle", "Egg", "Knife", "ToiletPaper"]


def solved(domain: Domain, state: SymbolicState, instruction: str) -> list[str]:
    """Read, plan, verify, execute, and check that the task graph has what the plan does; the subtasks' names."""
    parsed = InstructionParser(domain).parse(instruction)
    assert parsed.understood, f"{instruction}: {parsed.reason}"
    for goal in parsed.goals:
        found = MemPlan(domain, ENGINE).plan(state, goal)
        assert found.status is PlanningStatus.SOLVED, f"{instruction}: {found.reason}"
        assert verify(domain, state, goal, found.steps).valid
        labels = {a.arguments[0]: a.arguments[1] for a in state.atoms if a.predicate == domain.class_predicate}
        subtasks = subtasks_of(domain, found.steps, labels)
        graph = TaskGraph.of(domain)
        assert check_edges(graph, subtasks) == []
        assert Refiner(domain, graph, ENGINE).refine(state, goal, subtasks).valid
        for step in found.steps:
            state = successor(domain, state, step.action)
        assert goal_holds(goal, state, domain)
    return [subtask.action for subtask in subtasks]


@pytest.mark.parametrize(
    ("instruction", "skill"),
    [
        ("smash the vase", "break"),
        ("fill the mug with water", "fill"),
        ("throw the egg", "throw"),
        ("push the sofa", "push"),
        ("drag the cart", "pull"),
        ("make the plate dirty", "dirty_up"),
        ("use up the soap bottle", "use_up"),
        ("fry the potato", "cook"),
        ("put a broken vase in the garbage can", "break"),
        ("wash the mug, fill it, heat it and put it on the dining table", "fill"),
    ],
)
def test_a_skill_of_a_fragment_is_understood_planned_and_verified(instruction: str, skill: str) -> None:
    domain = load_domain(SKILLS)
    state = kitchen(domain, 3, THINGS, 0, (*PLACES, "GarbageCan")).truth
    atoms = frozenset(atom for atom in state.atoms if atom.predicate != "dirty")
    assert skill in solved(domain, SymbolicState(state.objects, atoms, state.functions), instruction)


def test_what_is_full_can_be_emptied() -> None:
    domain = load_domain(SKILLS)
    state = kitchen(domain, 4, ["Mug"], 0, PLACES).truth
    full = SymbolicState(state.objects, state.atoms | {Atom("filled", ("mug_1",))}, state.functions)
    assert "empty" in solved(domain, full, "empty the mug")


@pytest.mark.parametrize("instruction", ["put a sliced apple in the fridge", "put a clean plate on the table"])
def test_nothing_is_thrown_or_broken_unless_somebody_asks(instruction: str) -> None:
    domain = load_domain(SKILLS)
    state = kitchen(domain, 5, ["Apple", "Knife", "Plate", "Mug"], 0, PLACES).truth
    assert not {"throw", "break", "dirty_up", "use_up"} & set(solved(domain, state, instruction))


def test_prompts_show_the_skills_of_a_fragment() -> None:
    graph = TaskGraph.of(load_domain(SKILLS))
    assert "[M] break(obj|mov)" in [node.text for node in graph.nodes]
    assert any(line.startswith("N -> ") for line in edge_lines(graph))
    assert "broken" not in load_domain("household").predicates


def home(domain: Domain) -> SymbolicState:
    """A home of VirtualHome in which everything is known."""
    where = {
        "plate": "kitchencabinet", "waterglass": "sink", "milk": "fridge", "salmon": "kitchentable",
        "apple": "kitchencounter", "cutleryknife": "drawer", "book": "bookshelf", "cupcake": "kitchencounter",
        "juice": "fridge", "clothesshirt": "closet", "sponge": "sink", "toothbrush": "bathroomcabinet",
    }  # fmt: skip
    places = {*where.values(), "microwave", "stove", "dishwasher", "sofa", "bed", "tv", "coffeetable", "kitchen"}
    objects, atoms = {"start": "place"}, {Atom("at", ("start",)), Atom("hand_empty"), Atom("standing")}
    for label in sorted({*places, *where}):
        entry = domain.class_of(label)
        objects[f"{label}_1"], objects[label] = entry.type_name, "class"
        atoms |= {Atom(fact, (f"{label}_1",)) for fact in entry.facts}
        atoms.add(Atom("instance_of", (f"{label}_1", label)))
        if "can_open" in entry.facts:
            atoms.add(Atom("closed", (f"{label}_1",)))
    atoms |= {Atom("in", (f"{thing}_1", f"{place}_1")) for thing, place in where.items()}
    return SymbolicState(objects, frozenset(atoms))


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("put the plate on the kitchen table", ["grab", "put_back"]),
        ("put the salmon in the fridge and close the fridge", ["grab", "put_in", "close"]),
        ("wash the plate and put it in the dishwasher", ["grab", "wash", "put_in"]),
        ("sit on the sofa and watch the tv", ["switch_on", "watch", "sit"]),
        ("read a book", ["grab", "read"]),
        ("drink the juice", ["grab", "drink"]),
        ("cut the apple and eat it", ["grab", "cut", "put_back", "grab", "eat"]),
        ("fill the water glass with water", ["grab", "fill"]),
        ("heat the salmon in the microwave", None),
        ("lie on the bed", ["lie"]),
        ("put on the shirt", ["grab", "put_on"]),
        ("wipe the kitchen table", None),
        ("go to the kitchen", []),
    ],
)
def test_virtualhomes_tasks_are_understood_planned_and_verified(instruction: str, expected: list[str] | None) -> None:
    domain = load_domain("virtualhome")
    done = solved(domain, home(domain), instruction)
    assert expected is None or sorted(done) == sorted(expected)


@pytest.mark.parametrize(
    ("source", "target", "edge"),
    [
        ("grab", "put_in", True),
        ("grab", "grab", False),
        ("sit", "lie", False),
        ("sit", "stand_up", True),
        ("sit", "read", True),
        ("sleep", "stand_up", False),
        ("wake_up", "stand_up", True),
        ("eat", "drink", False),
        ("switch_on", "watch", True),
        ("put_on", "drink", False),
    ],
)
def test_the_task_graph_of_virtualhome_makes_sense(source: str, target: str, edge: bool) -> None:
    graph = TaskGraph.of(load_domain("virtualhome"))
    assert ((source, target) in graph.edges) == edge, graph.why_not(source, target)
