"""Whatever is in the memory, advice applies at present and speaks of things of known classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from episodes import act, scene_of
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.state import is_applicable, successor
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction, Truth
from graph_planner_ros.memory.advice import describe_advice
from graph_planner_ros.memory.exact_bank import ExactBank
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.memory.lookahead import lookahead
from graph_planner_ros.memory.retrieval import Retriever
from graph_planner_ros.memory.transition_model import TransitionModel
from graph_planner_ros.memory.triple_encoder import TripleBagEncoder
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import Attribute, Relation, SceneGraph

HOUSEHOLD = load_domain("household")
ENCODER = TripleBagEncoder(64)
CLASSES = ("CounterTop", "Fridge", "SinkBasin", "Tomato", "Knife", "Mug")
NAMES = tuple(f"{label.lower()}_{n}" for label in CLASSES for n in (1, 2))
LABELS = dict(zip(NAMES, (label for label in CLASSES for _ in (1, 2)), strict=True))
STRANGE = ("", "robot", "start", "Tomato", "?i", "no such thing", "mug_1 ")

names = st.sampled_from(NAMES)
any_name = st.one_of(names, st.sampled_from(STRANGE))
actions = st.one_of(
    st.sampled_from(sorted(HOUSEHOLD.actions)).flatmap(
        lambda name: st.tuples(*[names for _ in HOUSEHOLD.actions[name].parameters]).map(lambda row: act(name, *row))
    ),
    st.builds(
        GroundAction, st.sampled_from([*HOUSEHOLD.actions, "explode", ""]), st.lists(any_name, max_size=4).map(tuple)
    ),
)


@st.composite
def scenes(draw: Any, poisoned: bool = False) -> SceneGraph:
    """Scenes of the household; poisoned ones have classes that it does not have, rings, strangers and double facts."""
    things = draw(st.lists(names, min_size=1, max_size=8, unique=True))
    labels = {name: LABELS[name] for name in things}
    if poisoned:
        labels |= draw(st.dictionaries(any_name, st.sampled_from([*CLASSES, "Bomb", "", "object"]), max_size=3))
    scene = scene_of(labels)
    ends = any_name if poisoned else st.sampled_from(things)
    relation = st.builds(
        Relation,
        st.one_of(ends, st.just("robot")),
        st.sampled_from(["in", "on", "holding", "at", *(["flies", ""] if poisoned else [])]),
        ends,
        st.sampled_from(Truth),
    )
    scene.relations = draw(st.lists(relation, max_size=8))
    for node in scene.nodes.values():
        for name in draw(st.lists(st.sampled_from([*HOUSEHOLD.attributes, "angry"]), max_size=2, unique=True)):
            node.attributes[name] = Attribute(name, draw(st.sampled_from(Truth)))
    return scene


@st.composite
def goals(draw: Any) -> Goal:
    variables = (
        GoalVariable("?i", "item", draw(st.sampled_from([*CLASSES, None, "Bomb"]))),
        GoalVariable("?r", draw(st.sampled_from(["fixture", "thing", "nothing"])), instance=draw(st.none() | any_name)),
    )
    predicate = draw(st.sampled_from(["in", "hot", "no such predicate"]))
    return Goal(variables, (GoalLiteral(predicate, ("?i", "?r"), draw(st.booleans())),))


@st.composite
def episodes(draw: Any) -> list[Episode]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        header = EpisodeHeader(
            f"e{number}",
            draw(st.sampled_from(["household", "household", "another"])),
            "hash",
            goals=tuple(draw(st.lists(goals(), max_size=2))),
            started=draw(st.floats(-1e9, 1e12)),
            status=draw(st.sampled_from([EpisodeStatus.SUCCEEDED] * 3 + list(EpisodeStatus))),
        )
        steps = tuple(
            ExperienceStep(
                k,
                float(k),
                draw(scenes(poisoned=True)),
                draw(st.none() | actions),
                draw(st.sampled_from([True, False, None])),
            )
            for k in range(draw(st.integers(0, 4)))
        )
        found.append(Episode(header, steps))
    return found


def check(domain: Domain, scene: SceneGraph, action: GroundAction) -> None:
    assert is_applicable(domain, symbolic_state(scene, domain), action)
    for name in action.arguments:
        assert name not in scene.nodes or scene.nodes[name].label in domain.classes
        assert name in scene.nodes or name in domain.constants or name == domain.start_place.id  # type: ignore[union-attr]


@settings(max_examples=100, deadline=None)
@given(scenes(), episodes(), st.lists(goals(), max_size=2), st.booleans())
def test_advice_applies_and_names_known_things(
    scene: SceneGraph, remembered: list[Episode], wanted: list[Goal], by_success: bool
) -> None:
    state = symbolic_state(scene, HOUSEHOLD)
    retriever = Retriever(HOUSEHOLD, ExactBank(remembered, ENCODER), ENCODER, 2.0, rank_by_success=by_success)
    found = retriever.retrieve(scene, state, wanted, count=5)
    assert len({item.action for item in found}) == len(found)
    for item in found:
        check(HOUSEHOLD, scene, item.action)
        after = successor(HOUSEHOLD, state, item.action)
        for action in item.following:
            after = successor(HOUSEHOLD, after, action)  # raises if it does not apply
        assert item.age >= 0.0 and 0.0 <= item.agreement <= 1.0 and 0.0 < item.success_rate < 1.0
    describe_advice(HOUSEHOLD, found)
    candidates = {name: node.label for name, node in scene.nodes.items()}
    chances = retriever.places(scene, wanted, "Tomato", candidates)
    assert not chances or (set(chances) == set(candidates) and all(0.0 <= value <= 1.0 for value in chances.values()))


@settings(max_examples=50, deadline=None)
@given(scenes(), episodes(), actions)
def test_learned_transitions_add_no_strangers(
    scene: SceneGraph, remembered: list[Episode], action: GroundAction
) -> None:
    model = TransitionModel.learn([e for e in remembered if e.header.domain == "household"])
    prediction = model.predict(scene, action)
    assert 0.0 <= prediction.confidence <= 1.0
    after = prediction.apply(scene)
    assert set(after.nodes) == set(scene.nodes)
    state = symbolic_state(scene, HOUSEHOLD)
    for projection in lookahead(
        HOUSEHOLD, state, scene=scene, model=model, untold={"go_to", "put"}, least_confidence=0.0
    ):
        check(HOUSEHOLD, scene, projection.action)


@settings(max_examples=50, deadline=None)
@given(scenes(), st.lists(goals(), max_size=1))
def test_damaged_episodes_are_left_out_and_counted(scene: SceneGraph, wanted: list[Goal]) -> None:
    good = Episode(
        EpisodeHeader("good", "household", "hash", status=EpisodeStatus.SUCCEEDED),
        (ExperienceStep(0, 0.0, scene, act("look", "countertop_1"), True), ExperienceStep(1, 1.0, scene)),
    )
    bank = ExactBank([good], ENCODER)
    damaged = replace(good, steps=(replace(good.steps[0], scene=None),))
    bank._episodes["good"] = damaged
    retriever = Retriever(HOUSEHOLD, bank, ENCODER, 2.0)
    assert retriever.retrieve(scene, symbolic_state(scene, HOUSEHOLD), wanted) == []
    assert retriever.skipped == 1
