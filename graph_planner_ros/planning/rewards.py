"""The four rewards that train a language model to plan with a task graph (GraphThink III-A3, equations 1 to 5).

All are plain functions of what was written and of what is true of the task; none looks at a model. What the paper
leaves open is decided here and said at each function; docs/training.md has it in one table.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.domain.description import META_CLASSES
from graph_planner_ros.domain.schema import Term
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.planning.task_graph import Subtask, SubtaskNode, TaskGraph

KEY = "high_level"
"""The entry of the answer's JSON object that holds the plan, as in the paper."""
_ANSWER = re.compile(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", re.DOTALL)
_TAG = re.compile(r"</?(?:think|answer)>")

Environment = Mapping[str, Collection[str]]
"""Meta-class -> names of what is there (the paper's O_env^c); a meta-class that is left out has nothing."""


@dataclass(frozen=True)
class Rewards:
    """The four rewards of one answer; ``total`` is their sum (equation 5), from 0 to 4."""

    format: float
    node: float
    edge: float
    instruction: float

    @property
    def total(self) -> float:
        """Sum of the four."""
        return self.format + self.node + self.edge + self.instruction


# ---- format


def format_reward(text: str, key: str = KEY) -> float:
    """Return 1 for tags and JSON as asked for, 0.5 for the tags alone, 0 otherwise (equation 1).

    The whole text has to be ``<think>..</think><answer>..</answer>``, with each tag once and nothing but white space
    around and between them. 1 needs a JSON object between the answer's tags that has the key, whatever its value.
    """
    content = _answer(text)
    if content is None:
        return 0.0
    return 1.0 if _object_with(content, key) is not None else 0.5


def answer_plan(text: str, key: str = KEY) -> tuple[Subtask, ...]:
    """Return the plan that an answer with the full format reward holds; nothing if it has not the full reward.

    A subtask is a list: the action, then its arguments; ``["put", ["Apple", "Fridge"]]``, the paper's nesting, is the
    same. Whatever else stands in the plan becomes a subtask without a name, which is no node of any task graph.
    """
    content = _answer(text)
    found = None if content is None else _object_with(content, key)
    plan = None if found is None else found[key]
    return tuple(_subtask(item) for item in plan) if isinstance(plan, list) else ()


def _answer(text: str) -> str | None:
    match = _ANSWER.fullmatch(text)
    return match[2] if match and len(_TAG.findall(text)) == 4 else None


def _object_with(content: str, key: str) -> dict[str, Any] | None:
    try:
        found = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and key in found else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")  # Python would read NaN and Infinity


def _subtask(item: Any) -> Subtask:
    if isinstance(item, list) and item:
        name, arguments = item[0], item[1:]
        if len(arguments) == 1 and isinstance(arguments[0], list):
            arguments = arguments[0]
        if isinstance(name, str) and all(isinstance(argument, str) for argument in arguments):
            return Subtask(name, tuple(arguments))
    return Subtask("", ())


# ---- nodes


def node_reward(
    plan: Sequence[Subtask],
    environment: Environment,
    graph: TaskGraph,
    weights: Mapping[str, float] | None = None,
) -> float:
    """Return how much of what the plan names is there, by meta-class (equations 2 and 3), from 0 to 1.

    In each meta-class that the plan uses: the share of its objects that the environment lists under that meta-class,
    every object counted once however often it is named. The weights of the meta-classes that are used are scaled to
    the sum 1. A plan that uses none (an empty one, or one of unknown subtasks alone) gets 0.

    Args:
        plan: subtasks. environment: names of what is there. graph: says which meta-classes an argument may be of.
        weights: of the meta-classes before scaling; without them all weigh the same.

    Raises:
        ValueError: a weight is negative or no meta-class's.
    """
    weights = dict.fromkeys(META_CLASSES, 1.0) if weights is None else weights
    for name, weight in weights.items():
        if name not in META_CLASSES or not 0.0 <= weight < math.inf:
            raise ValueError(f"weights: expected numbers from 0 for {', '.join(META_CLASSES)}, found {name}: {weight}")
    used = objects_by_meta_class(plan, environment, graph)
    reward = scale = 0.0
    for name, objects in used.items():
        present = sum(item in environment.get(name, ()) for item in objects)
        reward += weights.get(name, 0.0) * (present / len(objects))
        scale += weights.get(name, 0.0)
    return reward / scale if scale else 0.0


def objects_by_meta_class(
    plan: Sequence[Subtask], environment: Environment, graph: TaskGraph
) -> dict[str, frozenset[str]]:
    """Return the meta-classes that a plan uses -> names that it uses them with (the paper's O_S^c).

    The place of an argument in its subtask says which meta-classes it may be of. Where that are several, an object is
    of those under which the environment lists it; if there is none, of its own by the domain; if the domain does not
    know it or its meta-class does not fit, of all of them: it is right in none. Subtasks that are no nodes of the
    graph have no such places: their objects do not count here, and the edge reward is 0.
    """
    nodes = _nodes(graph)
    found: dict[str, set[str]] = {}
    for subtask in plan:
        if _is_node(nodes, subtask):
            for name, parameter in zip(subtask.arguments, nodes[subtask.action].parameters, strict=True):
                for meta_class in _meta_classes(name, parameter.meta_classes, environment, graph):
                    found.setdefault(meta_class, set()).add(name)
    return {name: frozenset(found[name]) for name in META_CLASSES if name in found}


def _meta_classes(name: str, allowed: Sequence[str], environment: Environment, graph: TaskGraph) -> Sequence[str]:
    if listed := [item for item in allowed if name in environment.get(item, ())]:
        return listed
    known = graph.domain.classes.get(name)
    return (known.meta,) if known is not None and known.meta in allowed else allowed


def _nodes(graph: TaskGraph) -> dict[str, SubtaskNode]:
    return {node.action: node for node in graph.nodes}


def _is_node(nodes: Mapping[str, SubtaskNode], subtask: Subtask) -> bool:
    return subtask.action in nodes and len(subtask.arguments) == len(nodes[subtask.action].parameters)


# ---- edges


def edge_reward(plan: Sequence[Subtask], graph: TaskGraph) -> float:
    """Return 1 if the plan is a path of the task graph, else 0 (equation 4).

    A subtask is a node if the graph has its action and it has as many arguments as the node. One subtask is a path if
    it is a node. The empty plan, for which the paper's product is empty, is none: it must not pay to say nothing.
    """
    nodes = _nodes(graph)
    if not plan or not all(_is_node(nodes, subtask) for subtask in plan):
        return 0.0
    return float(all((left.action, right.action) in graph.edges for left, right in itertools.pairwise(plan)))


# ---- instruction


def instruction_reward(
    plan: Sequence[Subtask], reference: Sequence[Subtask], key_subtasks: Collection[Subtask]
) -> float:
    """Return 1 if the plan is the reference, 0.5 if it has all key subtasks, else 0.

    Covering asks for no order, and for each key subtask as often as it is among them (two mugs are put twice). Without
    key subtasks there is nothing to cover: then only the reference itself is rewarded.

    Raises:
        ValueError: the reference is empty: no instruction asks for nothing.
    """
    if not reference:
        raise ValueError("expected a reference plan of at least one subtask")
    if tuple(plan) == tuple(reference):
        return 1.0
    missing = Counter(key_subtasks) - Counter(plan)
    return 0.5 if key_subtasks and not missing else 0.0


def find_key_subtasks(
    graph: TaskGraph, goal: Goal, reference: Sequence[Subtask], labels: Mapping[str, str] | None = None
) -> tuple[Subtask, ...]:
    """Return the subtasks of a reference plan whose effects the goal's literals need, in the order of the plan.

    What is only done on the way (to pick up a knife) is not among them; see `supporting_steps`.
    """
    found = {index for index in supporting_steps(graph, goal, reference, labels) if index is not None}
    return tuple(reference[index] for index in sorted(found))


def supporting_steps(
    graph: TaskGraph, goal: Goal, plan: Sequence[Subtask], labels: Mapping[str, str] | None = None
) -> tuple[int | None, ...]:
    """Return for each literal of a goal the index of the subtask that brings it about, None if there is none.

    That is the last subtask that has the literal among its effects, with arguments that the literal's variables may
    stand for. Two literals of one predicate need two subtasks (two mugs on one shelf). None is for what is true at the
    start, for what the executor does between subtasks (going there), and for what a plan lacks.

    Args:
        graph: with the domain that says what subtasks change. goal: of the instruction. plan: one that reaches it.
        labels: instance id -> class, if the plan has instance ids and the goal classes.
    """
    variables = {variable.name: variable for variable in goal.variables}
    nodes = _nodes(graph)
    taken: set[tuple[int, Term]] = set()
    found: list[int | None] = []
    for literal in goal.literals:
        found.append(None)
        for index in reversed(range(len(plan))):
            term = _bringing_about(graph, nodes, plan[index], literal, variables, labels or {})
            if term is not None and (index, term) not in taken:
                taken.add((index, term))
                found[-1] = index
                break
    return tuple(found)


def _bringing_about(
    graph: TaskGraph,
    nodes: Mapping[str, SubtaskNode],
    subtask: Subtask,
    literal: GoalLiteral,
    variables: Mapping[str, GoalVariable],
    labels: Mapping[str, str],
) -> Term | None:
    """Return the effect of a subtask that is the literal, if there is one."""
    if not _is_node(nodes, subtask):
        return None
    schema = graph.domain.action(subtask.action)
    names = [parameter.name for parameter in nodes[subtask.action].parameters]
    bound = dict(zip(names, subtask.arguments, strict=True))
    for term in schema.added if literal.positive else schema.deleted:
        if term.predicate == literal.predicate and all(
            name not in bound or _may_be(variables.get(wanted), wanted, bound[name], labels)
            for name, wanted in zip(term.arguments, literal.arguments, strict=True)
        ):
            return term
    return None


def _may_be(variable: GoalVariable | None, wanted: str, name: str, labels: Mapping[str, str]) -> bool:
    """Return whether a goal's argument may stand for what a plan names; one that is no variable is that very thing."""
    if variable is None:
        return wanted == name
    called = {variable.instance, variable.class_name} - {None}
    return not called or name in called or labels.get(name) in called


# ---- all


def total_reward(
    text: str,
    graph: TaskGraph,
    environment: Environment,
    reference: Sequence[Subtask],
    key_subtasks: Collection[Subtask],
    *,
    key: str = KEY,
    weights: Mapping[str, float] | None = None,
) -> Rewards:
    """Return the four rewards of an answer; `Rewards.total` is their sum (equation 5).

    An answer without the full format reward holds no plan: its other rewards are 0.
    """
    plan = answer_plan(text, key)
    return Rewards(
        format_reward(text, key),
        node_reward(plan, environment, graph, weights),
        edge_reward(plan, graph),
        instruction_reward(plan, reference, key_subtasks),
    )
