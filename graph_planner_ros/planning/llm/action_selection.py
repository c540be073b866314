"""One action chosen by a model from what can be done now and what it would lead to (GiG).

The choices are P(s) = {(a, T(s, a)) : a applies in s}, without what changes nothing. Where T is not known the prompt
goes without what actions lead to. An answer that is none of the choices never counts: the action that MemPlan would do
takes its place.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal, unmet_literals
from graph_planner_ros.domain.state import applicable_actions, effects, is_applicable
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.language.models import LanguageModel, Message, load_prompt
from graph_planner_ros.memory.lookahead import Projection, lookahead
from graph_planner_ros.memory.state_graph import Loop
from graph_planner_ros.memory.transition_model import TransitionModel
from graph_planner_ros.planning.llm import prompting
from graph_planner_ros.planning.llm.asking import Answer, ask_object, one_line
from graph_planner_ros.planning.problem import is_excluded
from graph_planner_ros.planning.result import ModelRound
from graph_planner_ros.planning.task_graph import KnownThings
from graph_planner_ros.scene.graph import SceneGraph

LIMIT = 40
"""Actions that a model may choose from."""
_LOOKED_AT = 4
"""For so many times as many it is worked out how far they are from the goal."""
_MOST_EFFECTS = 6
_MAX_TOKENS = 512
_MAX_ADVICE = 4000


class SelectionStatus(enum.Enum):
    """CHOSEN: by the model. FELL_BACK: on the given action. CANCELLED. NOTHING: there is nothing that can be done."""

    CHOSEN = "chosen"
    FELL_BACK = "fell_back"
    CANCELLED = "cancelled"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Selection:
    """What came of it.

    Attributes:
        action: applies in the state and is not excluded; None if cancelled or if there is nothing.
        reason: a sentence. rounds: with the model; none if it was not asked.
    """

    status: SelectionStatus
    action: GroundAction | None = None
    reason: str = ""
    rounds: tuple[ModelRound, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether the model said anything when it was asked last."""
        return bool(self.rounds) and self.rounds[-1].status in ("answered", "truncated")


def select_action(
    domain: Domain,
    model: LanguageModel,
    state: SymbolicState,
    goal: Goal,
    *,
    fallback: GroundAction | None = None,
    scene: SceneGraph | None = None,
    advice_text: str = "",
    loop: Loop | None = None,
    excluded: Iterable[GroundAction] = (),
    transitions: TransitionModel | None = None,
    projected: bool = True,
    limit: int = LIMIT,
    timeout: float = 20.0,
    rounds: int = 1,
    refuse: Callable[[GroundAction], str] | None = None,
    cancel: threading.Event | None = None,
) -> Selection:
    """Let a model choose the next action; never raises for what it does.

    Args:
        state: what is believed, hypotheses included (`hypotheses.with_hypotheses`).
        fallback: taken if the model chooses none, e.g. the first step of MemPlan's plan, if it can be done.
        scene: the state as a scene. advice_text: what memory says; from `prompting.describe_advice`.
        loop: the way that the robot has gone round, if it goes in circles.
        excluded: actions that must not be done. transitions: learned effects, for actions whose own are not told.
        projected: the prompt has what each action makes true.
        limit: actions to choose from, at least 1. timeout: seconds for all questions. cancel: ends it within a second.
        rounds: questions; why a choice does not count is told to the model with the next one.
        refuse: says why an action that can be done is not to be done, empty if it is; it counts like any other.

    Raises:
        ValueError: the limit or the rounds are below 1.
    """
    if limit < 1 or rounds < 1:
        raise ValueError(f"there must be at least 1 action to choose from, and 1 round, got {limit} and {rounds}")
    banned = tuple(excluded)
    if fallback is not None and (is_excluded(fallback, banned) or not is_applicable(domain, state, fallback)):
        fallback = None
    possible = [action for action in applicable_actions(domain, state) if not is_excluded(action, banned)]
    if not possible:
        return Selection(SelectionStatus.NOTHING, None, "there is no action that can be done now")
    projections = lookahead(domain, state, scene=scene, model=transitions, actions=possible)
    idle = _idle(domain, state, projections) - {fallback}
    possible = [action for action in possible if action not in idle] or possible
    choices = _labelled(_chosen(domain, state, goal, possible, projections, fallback, limit))
    messages = load_prompt("select_action").render(
        scene=prompting.describe_scene(scene, _spoken(goal)),
        advice=advice_text[:_MAX_ADVICE] or prompting.NOTHING,
        warning=_warning(loop),
        made_true=", and what it makes true" if projections and projected else "",
        actions="\n".join(_lines(domain, state, choices, projections if projected else ())),
        goal=prompting.quoted(describe_goal(goal, domain), prompting.MAX_INSTRUCTION),
    )
    said: list[ModelRound] = []
    deadline = time.monotonic() + timeout
    problem = ""
    for number in range(1, rounds + 1):
        left = deadline - time.monotonic()
        if left <= 0.0 and said:
            break
        answer = ask_object(
            model, messages, _schema(choices), "action", max_tokens=_MAX_TOKENS, timeout=left, cancel=cancel
        )
        action, problem = _judged(domain, state, choices, answer, refuse)
        said.append(replace(answer.round, number=number, problems=(problem,) if problem else ()))
        if answer.cancelled:
            return Selection(SelectionStatus.CANCELLED, None, answer.problem, tuple(said))
        if action is not None and answer.content is not None:
            return Selection(SelectionStatus.CHOSEN, action, one_line(answer.content.get("reason")), tuple(said))
        if said[-1].status not in ("answered", "truncated"):
            break
        more = load_prompt("select_action_feedback").render(problem=prompting.quoted(problem, 400)[1:-1])
        messages = (*messages, Message("assistant", answer.round.text), *more)
    return _fall_back(fallback, problem, tuple(said))


def _judged(
    domain: Domain,
    state: SymbolicState,
    choices: Mapping[str, GroundAction],
    answer: Answer,
    refuse: Callable[[GroundAction], str] | None,
) -> tuple[GroundAction | None, str]:
    """Return the action of an answer, or why there is none."""
    if answer.content is None:
        return None, answer.problem
    said = answer.content["action"]
    action = choices.get(said.strip()) if isinstance(said, str) else None
    if action is None or not is_applicable(domain, state, action):
        return None, f"{one_line(str(said)[:200], 60)!r} is none of the actions"
    problem = refuse(action) if refuse is not None else ""
    return (None, problem) if problem else (action, "")


def _fall_back(fallback: GroundAction | None, problem: str, entries: tuple[ModelRound, ...]) -> Selection:
    if fallback is None:
        reason = f"the model chose nothing ({problem}), and there is nothing to fall back on"
        return Selection(SelectionStatus.NOTHING, None, reason, entries)
    reason = f"as planned without the model, which chose nothing: {problem}"
    return Selection(SelectionStatus.FELL_BACK, fallback, reason, entries)


def _idle(domain: Domain, state: SymbolicState, projections: tuple[Projection, ...]) -> set[GroundAction | None]:
    """Return the actions that change nothing that is known, such as going where one is: small models like them."""
    return {
        item.action
        for item in projections
        if item.known and item.state.atoms == state.atoms and item.action.name not in domain.repetitions
    }


def _spoken(goal: Goal) -> set[str]:
    return {name for item in goal.variables for name in (item.class_name, item.instance) if name is not None}


def _chosen(
    domain: Domain,
    state: SymbolicState,
    goal: Goal,
    possible: list[GroundAction],
    projections: tuple[Projection, ...],
    fallback: GroundAction | None,
    limit: int,
) -> list[GroundAction]:
    """Return the actions to choose from: the fallback, those nearest to the goal, those about what it speaks of."""
    wanted, labels = _spoken(goal), KnownThings.of(domain, state).labels
    successors = {projection.action: projection.state for projection in projections}

    def strangers(action: GroundAction) -> int:
        return -sum(name in wanted or labels.get(name) in wanted for name in action.arguments)

    ranked = sorted(possible, key=strangers)[: _LOOKED_AT * limit]
    here = len(unmet_literals(goal, state, domain))
    distances = {
        action: len(unmet_literals(goal, successors[action], domain)) if action in successors else here
        for action in ranked
    }
    ranked.sort(key=lambda action: (action != fallback, distances[action], strangers(action)))
    if fallback is not None and fallback not in distances:
        ranked.insert(0, fallback)
    return ranked[:limit]


def _labelled(actions: list[GroundAction]) -> dict[str, GroundAction]:
    """Return label -> action; names from the world that are printed alike get a number."""
    found: dict[str, GroundAction] = {}
    for action in actions:
        label, number = prompting.named_action(action), 1
        while label in found:
            number += 1
            label = f"{prompting.named_action(action)} #{number}"
        found[label] = action
    return found


def _lines(
    domain: Domain, state: SymbolicState, choices: Mapping[str, GroundAction], projections: tuple[Projection, ...]
) -> list[str]:
    projected = {projection.action: projection for projection in projections}
    lines = []
    for label, action in choices.items():
        projection = projected.get(action)
        if projection is None:
            lines.append(label)
            continue
        if projection.known:
            added, deleted = effects(domain, action)
        else:
            added, deleted = projection.state.atoms - state.atoms, state.atoms - projection.state.atoms
        texts = [_atom(atom) for atom in sorted(added)] + [f"not {_atom(atom)}" for atom in sorted(deleted)]
        sure = "" if projection.known else f" (learned, {projection.confidence:.0%} sure)"
        lines.append(f"{label} makes true: {', '.join(texts[:_MOST_EFFECTS]) or prompting.NOTHING}{sure}")
    return lines


def _atom(atom: Atom) -> str:
    return f"{atom.predicate}({', '.join(map(prompting.named, atom.arguments))})"


def _warning(loop: Loop | None) -> str:
    if loop is None or not loop.actions:
        return "The robot does not go in circles."
    way = ", ".join(map(prompting.named_action, loop.actions[:10]))
    turns = f"{loop.turns} times" if loop.turns > 1 else "once"
    return f"Warning: these actions led back to where they began, {turns}: {way}. Do something else."


def _schema(choices: Mapping[str, GroundAction]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(choices)},
            "reason": {"type": "string", "maxLength": 400},
        },
        "required": ["action", "reason"],
        "additionalProperties": False,
    }
