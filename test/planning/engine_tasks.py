"""What the tests of the engines plan for: a small kitchen with its goals, and a domain of another kind."""

from __future__ import annotations

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState

TOMATO = GoalVariable("?t", "item", "Tomato")
TABLE = GoalVariable("?d", "fixture", "DiningTable")

CHAIN_DOMAIN = """
(define (domain chain) (:requirements :strips :typing) (:types peg disc)
 (:predicates (on ?d - disc ?x - object) (clear ?x - object) (smaller ?d - disc ?x - object))
 (:action move :parameters (?d - disc ?from - object ?to - object)
  :precondition (and (on ?d ?from) (clear ?d) (clear ?to) (smaller ?d ?to))
  :effect (and (on ?d ?to) (clear ?from) (not (on ?d ?from)) (not (clear ?to)))))
"""


def hanoi(discs: int) -> str:
    """The towers of Hanoi: 2^discs - 1 moves, too many for any engine if there are enough discs."""
    names = [f"d{number}" for number in range(1, discs + 1)]
    below = [*names[1:], "p1"]
    facts = [f"(on {name} {under})" for name, under in zip(names, below, strict=True)]
    facts += ["(clear d1)", "(clear p2)", "(clear p3)"]
    facts += [f"(smaller {name} {peg})" for name in names for peg in ("p1", "p2", "p3")]
    facts += [f"(smaller {a} {b})" for index, a in enumerate(names) for b in names[index + 1 :]]
    goal = " ".join(f"(on {name} {under})" for name, under in zip(names, [*names[1:], "p3"], strict=True))
    return (
        f"(define (problem hanoi) (:domain chain) (:objects {' '.join(names)} - disc p1 p2 p3 - peg) "
        f"(:init {' '.join(facts)}) (:goal (and {goal})))"
    )


GOALS = {
    "move": Goal((TOMATO, TABLE), (GoalLiteral("in", ("?t", "?d")),)),
    "change": Goal((TOMATO, TABLE), (GoalLiteral("in", ("?t", "?d")), GoalLiteral("cold", ("?t",)))),
    "tool": Goal((TOMATO, TABLE), (GoalLiteral("sliced", ("?t",)), GoalLiteral("in", ("?t", "?d")))),
    "two": Goal(
        (GoalVariable("?a", "item", "Mug"), GoalVariable("?b", "item", "Mug"), TABLE),
        (GoalLiteral("in", ("?a", "?d")), GoalLiteral("in", ("?b", "?d"))),
        (("?a", "?b"),),
    ),
    "inside": Goal(
        (TOMATO, GoalVariable("?m", "movable_receptacle", "Mug"), TABLE),
        (GoalLiteral("in", ("?t", "?m")), GoalLiteral("in", ("?m", "?d"))),
    ),
    "negative": Goal((GoalVariable("?f", "fixture", "Fridge"),), (GoalLiteral("closed", ("?f",), False),)),
    "named": Goal((GoalVariable("?x", "item", instance="mug_2"),), (GoalLiteral("holding", ("?x",)),)),
    "place": Goal((TABLE,), (GoalLiteral("at", ("?d",)),)),
}


def small_kitchen(household: Domain) -> SymbolicState:
    """Two tomatoes, the near one in a closed fridge; two mugs; a knife in a closed drawer; a sink and a table."""
    things = {
        "counter_1": "CounterTop",
        "table_1": "DiningTable",
        "fridge_1": "Fridge",
        "drawer_1": "Drawer",
        "sink_1": "SinkBasin",
        "tomato_1": "Tomato",
        "tomato_2": "Tomato",
        "mug_1": "Mug",
        "mug_2": "Mug",
        "knife_1": "Knife",
    }
    where = {"tomato_1": "fridge_1", "tomato_2": "counter_1", "mug_1": "counter_1", "mug_2": "sink_1"}
    where["knife_1"] = "drawer_1"
    at = {"start": 0.0, "fridge_1": 1.0, "counter_1": 2.0, "drawer_1": 3.0, "sink_1": 4.0, "table_1": 6.0}
    atoms = {Atom("at", ("start",)), Atom("hand_empty"), Atom("closed", ("fridge_1",)), Atom("closed", ("drawer_1",))}
    atoms |= {Atom("in", pair) for pair in where.items()}
    objects = {"start": "place"}
    for name, label in things.items():
        objects[name] = household.classes[label].type_name
        objects[label] = "class"
        atoms |= {Atom("instance_of", (name, label)), *(Atom(fact, (name,)) for fact in household.classes[label].facts)}
    ways = {
        Atom("distance", (a, b)): abs(at[a] - at[b]) + (0.25 if a != b else 0.0) for a in at for b in at if b != "start"
    }
    return SymbolicState(objects, frozenset(atoms), ways)
