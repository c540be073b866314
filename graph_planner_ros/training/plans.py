"""ALFRED's trajectories and composed tasks as examples of planning: prompt, reference plan, and what rewards need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.domain.description import META_CLASSES
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.models import Prompt
from graph_planner_ros.planning.rewards import edge_reward, find_key_subtasks, node_reward, supporting_steps
from graph_planner_ros.planning.task_graph import Subtask, SubtaskNode, TaskGraph, edge_lines
from graph_planner_ros.training.errors import TrainingError
from graph_planner_ros.training.examples import Example, PlanTask, answer_text


class UnusableError(Exception):
    """A sample that no example can be made of; the message is a kind of reason, to be counted."""


def make_examples(
    samples: Iterable[Sample],
    annotations: AnnotationMap,
    graph: TaskGraph,
    prompt: Prompt,
    thoughts: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[list[Example], Counter[str]]:
    """Return an example for each sample that has a right reference, and how many were left out for which reason.

    Args:
        prompt: with the places that `prompt_values` fills. thoughts: whether reference answers think aloud.
        stop: asked between samples.
    """
    examples: list[Example] = []
    left_out: Counter[str] = Counter()
    static = graph_values(graph)
    for sample in samples:
        if stop():
            break
        try:
            examples.append(_example(sample, annotations, graph, prompt, static, thoughts))
        except UnusableError as error:
            left_out[str(error)] += 1
    return examples, left_out


def _example(
    sample: Sample,
    annotations: AnnotationMap,
    graph: TaskGraph,
    prompt: Prompt,
    static: Mapping[str, str],
    thoughts: bool,
) -> Example:
    environment = environment_of(sample.classes, graph.domain)
    reference = subtask_plan(sample.plan, annotations, graph, sample.classes)
    goal = annotations.goal(sample.requests, sample.instruction)
    supports = supporting_steps(graph, goal, reference)
    possible = _node_effects(graph)
    if any(
        step is None and (literal.predicate, literal.positive) in possible
        for literal, step in zip(goal.literals, supports, strict=True)
    ):
        raise UnusableError("the recorded plan does not bring about what was to be asked for")
    if edge_reward(reference, graph) < 1.0:
        raise UnusableError("the recorded plan is no path of the task graph")
    if node_reward(reference, environment, graph) < 1.0:
        raise UnusableError("the recorded plan names things that are not there")
    keys = find_key_subtasks(graph, goal, reference)
    values = {**static, "instruction": sample.instruction, "objects": objects_text(environment)}
    messages = prompt.render(**{name: value for name, value in values.items() if name in prompt.values})
    return Example(
        sample.name,
        sample.group,
        tuple(part.rsplit("/", 1)[0] for part in sample.parts),
        tuple({"role": message.role, "content": message.content} for message in messages),
        answer_text(reference, thought(keys) if thoughts else ""),
        PlanTask(reference, keys, environment),
    )


def _node_effects(graph: TaskGraph) -> set[tuple[str, bool]]:
    """Return predicates that subtasks make true, and false; the rest is the executor's business."""
    schemas = [graph.domain.action(node.action) for node in graph.nodes]
    added = {(term.predicate, True) for schema in schemas for term in schema.added}
    return added | {(term.predicate, False) for schema in schemas for term in schema.deleted}


# ---- texts


def graph_values(graph: TaskGraph) -> dict[str, str]:
    """Return the task graph as a prompt shows it (GraphThink III-A2): ``nodes`` with labels, and ``edges``."""
    return {"nodes": "\n".join(node.text for node in graph.nodes), "edges": "\n".join(edge_lines(graph))}


def objects_text(environment: Mapping[str, Sequence[str]]) -> str:
    """Return what is there, a line for each meta-class."""
    return "\n".join(f"{name}: {', '.join(environment[name]) or 'none'}" for name in META_CLASSES)


def thought(key_subtasks: Sequence[Subtask]) -> str:
    """Return what a reference answer thinks: what the instruction needs, the key subtasks."""
    parts = [" ".join([subtask.action, *subtask.arguments]) for subtask in key_subtasks]
    return f"What is asked for needs: {'; '.join(parts)}." if parts else ""


# ---- what is there, what was done


def environment_of(classes: Iterable[str], domain: Domain) -> dict[str, tuple[str, ...]]:
    """Return meta-class -> classes that are there, sorted; what the domain does not know is left out."""
    known = sorted({label for label in classes if label in domain.classes})
    return {name: tuple(label for label in known if domain.class_of(label).meta == name) for name in META_CLASSES}


def subtask_plan(
    plan: Iterable[Sequence[str]], annotations: AnnotationMap, graph: TaskGraph, present: Sequence[str]
) -> tuple[Subtask, ...]:
    """Return recorded subtasks as subtasks of the task graph.

    Arguments that recorded subtasks leave open (with what a thing is heated) are found by what the action needs: the
    thing that is held, or the first class that is there and has the facts.

    Raises:
        UnusableError: if a recorded subtask has no counterpart.
    """
    binder = _Binder(annotations, graph, present)
    return tuple(binder.bind(step[0], tuple(step[1:])) for step in plan)


class _Binder:
    """Finds the subtask for each recorded one; knows what is in the hand."""

    def __init__(self, annotations: AnnotationMap, graph: TaskGraph, present: Sequence[str]) -> None:
        self._annotations, self._domain = annotations, graph.domain
        self._nodes = {node.action: node for node in graph.nodes}
        self._present = [label for label in present if label in graph.domain.classes]
        self._held_by = {self._domain.relations[name].predicate for name in self._domain.none_of.values()}
        self._held: str | None = None

    def bind(self, name: str, classes: tuple[str, ...]) -> Subtask:
        for action, (recorded, listed) in self._annotations.subtasks.items():
            if recorded == name and action in self._nodes and len(classes) <= len(listed):
                arguments = self._arguments(self._nodes[action], dict(zip(listed, classes, strict=False)))
                if arguments is not None:
                    self._follow(action, arguments)
                    return Subtask(action, tuple(arguments.values()))
        raise UnusableError(f"the recorded subtask {name} fits no subtask of the domain")

    def _arguments(self, node: SubtaskNode, given: Mapping[str, str]) -> dict[str, str] | None:
        """Return the classes for a node's parameters, None if one is missing or of a wrong type."""
        types = {parameter.name: parameter.type_name for parameter in self._domain.action(node.action).parameters}
        found = {}
        for parameter in node.parameters:
            label = given.get(parameter.name) or self._open(node.action, parameter.name, types[parameter.name])
            if label is None or not self._is(label, types[parameter.name]):
                return None
            found[parameter.name] = label
        unfit = [name for name, label in given.items() if not self._is(label, types[name])]
        return None if unfit else found

    def _is(self, label: str, type_name: str) -> bool:
        known = self._domain.classes.get(label)
        return known is not None and self._domain.is_a(known.type_name, type_name)

    def _open(self, action: str, name: str, type_name: str) -> str | None:
        needed = [item for item in self._domain.action(action).preconditions if item.arguments == (name,)]
        if any(item.positive and item.predicate in self._held_by for item in needed):
            return self._held
        facts = {item.predicate for item in needed if item.positive} & self._domain.static_predicates
        fitting = (
            label
            for label in self._present
            if self._is(label, type_name) and facts <= set(self._domain.class_of(label).facts)
        )
        return next(fitting, None) if facts else None

    def _follow(self, action: str, arguments: Mapping[str, str]) -> None:
        schema = self._domain.action(action)
        for term in schema.deleted:
            if term.predicate in self._held_by:
                self._held = None
        for term in schema.added:
            if term.predicate in self._held_by:
                self._held = arguments.get(term.arguments[0])


def check_prompt(prompt: Prompt) -> None:
    """Refuse a prompt that asks for what examples do not have.

    Raises:
        TrainingError: naming the places.
    """
    known = {"nodes", "edges", "objects", "instruction"}
    if wrong := sorted(prompt.values - known):
        raise TrainingError(
            f"prompt {prompt.name!r} asks for {', '.join(wrong)}; training has only {', '.join(sorted(known))}"
        )
