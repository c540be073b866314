"""Learned transitions, what their confidence means, and the lookahead that uses them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from episodes import act, episode_of, later, put_goal, scene_of
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.benchmarks.memory_loops import measure_loops
from graph_planner_ros.benchmarks.memory_retrieval import (
    NEAREST,
    Outcomes,
    Way,
    flattened,
    measure_retrieval,
    question,
)
from graph_planner_ros.benchmarks.memory_transitions import measure_transitions
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import applicable_actions, successor
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.advice import describe_advice
from graph_planner_ros.memory.calibration import Calibration, expected_calibration_error, fit_calibration
from graph_planner_ros.memory.experience import Episode, EpisodeStatus
from graph_planner_ros.memory.lookahead import lookahead
from graph_planner_ros.memory.retrieval import RetrievedAction
from graph_planner_ros.memory.scene_facts import scene_facts
from graph_planner_ros.memory.state_graph import Loop
from graph_planner_ros.memory.transition_model import TransitionModel
from graph_planner_ros.memory.triple_encoder import TripleBagEncoder
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph

ENCODER = TripleBagEncoder()
HOME = scene_of(
    {"counter_1": "CounterTop", "fridge_1": "Fridge", "shelf_1": "Shelf", "tomato_1": "Tomato", "mug_1": "Mug"},
    {"tomato_1": "counter_1", "mug_1": "shelf_1"},
    at="counter_1",
)


def wander(domain: Domain, seed: int, steps: int = 30, scene: SceneGraph = HOME) -> Episode:
    """An episode of random actions that apply."""
    source, actions, current = random.Random(seed), list[GroundAction](), scene
    for _ in range(steps):
        actions.append(source.choice(applicable_actions(domain, symbolic_state(current, domain))))
        current = later(domain, current, actions[-1])
    return episode_of(domain, scene, actions, [put_goal("Tomato", "Fridge")], f"walk {seed}")


@pytest.fixture(scope="module")
def model(household: Domain) -> TransitionModel:
    return TransitionModel.learn([wander(household, seed) for seed in range(12)], household)


def test_effects_are_learned_and_hold_in_another_home(household: Domain, model: TransitionModel) -> None:
    scene = scene_of({"s": "Shelf", "t": "Tomato", "c": "CounterTop"}, {"t": "s"}, at="s")
    said = model.predict(scene, act("pick_up", "t", "s"))
    assert said.added == {("holding", "robot", "t")} and said.removed == {("in", "t", "s")}
    assert said.confidence > 0.7 and said.support > 0
    true = later(household, scene, act("pick_up", "t", "s"))
    assert scene_facts(said.apply(scene), household) == scene_facts(true, household)
    predicted, actual = ENCODER.encode([said.apply(scene), true])
    assert np.allclose(predicted, actual)


def test_without_experience_nothing_is_claimed(model: TransitionModel) -> None:
    said = model.predict(HOME, act("juggle", "tomato_1"))
    assert (said.confidence, said.votes, said.added, said.removed) == (0.0, 0, frozenset(), frozenset())
    assert TransitionModel.learn([]).predict(HOME, act("go_to", "counter_1", "shelf_1")).confidence == 0.0


def test_effects_that_depend_on_the_circumstances_are_told_apart(household: Domain) -> None:
    """An unknown action switches its thing on if it is off, and off if it is on."""
    off, on = scene_of({"m": "Microwave"}, at="m"), scene_of({"m": "Microwave"}, at="m", true=[("switched_on", "m")])
    press = act("press", "m")
    base = episode_of(household, off, [])
    steps = []
    for number in range(40):
        steps.append(replace(base.steps[0], index=number, scene=(off, on)[number % 2], action=press))
    episodes = [replace(base, header=replace(base.header, episode_id=str(n)), steps=tuple(steps[n:])) for n in range(3)]
    learned = TransitionModel.learn(episodes, household)
    assert learned.predict(off, press, [press]).added == {("switched_on", "m")}
    assert learned.predict(on, press, [press]).removed == {("switched_on", "m")}


def test_an_effect_that_takes_repetition_is_learned_from_the_history(household: Domain) -> None:
    raw, done = scene_of({"t": "Tomato"}), scene_of({"t": "Tomato"}, true=[("sliced", "t")])
    cut, base = act("saw", "t"), episode_of(household, raw, [])
    steps = [replace(base.steps[0], index=k, scene=raw, action=cut) for k in range(3)] + [
        replace(base.steps[0], scene=done)
    ]
    episodes = [replace(base, header=replace(base.header, episode_id=str(n)), steps=tuple(steps)) for n in range(12)]
    learned = TransitionModel.learn(episodes, household)
    assert learned.predict(raw, cut).added == frozenset()
    assert learned.predict(raw, cut, [cut, cut]).added == {("sliced", "t")}


def test_lookahead_takes_the_domains_effects_where_they_are_told(household: Domain) -> None:
    state = symbolic_state(HOME, household)
    found = lookahead(household, state)
    assert {p.action for p in found} == set(applicable_actions(household, state))
    assert all(p.known and p.state == successor(household, state, p.action) for p in found)


def test_lookahead_uses_what_was_learned_only_if_it_is_sure(household: Domain, model: TransitionModel) -> None:
    state = symbolic_state(HOME, household)
    pick = act("pick_up", "tomato_1", "counter_1")
    sure = lookahead(
        household, state, scene=HOME, model=model, actions=[pick], untold={"pick_up"}, least_confidence=0.5
    )
    assert [p.known for p in sure] == [False]
    assert sure[0].state.atoms == successor(household, state, pick).atoms
    for options in ({"least_confidence": 1.0}, {"model": None}, {"scene": None}):
        given = {"scene": HOME, "model": model, "least_confidence": 0.5, **options}
        assert lookahead(household, state, actions=[pick], untold={"pick_up"}, **given) == ()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="between 0 and 1"):
        lookahead(household, state, least_confidence=2.0)


def test_lookahead_leaves_out_what_does_not_apply(household: Domain) -> None:
    state = symbolic_state(HOME, household)
    assert lookahead(household, state, actions=[act("pick_up", "mug_1", "shelf_1"), act("dance")]) == ()


confidences = st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=200, deadline=None)
@given(confidences)
def test_calibration_rises_and_is_a_share_of_what_was_right(pairs: list[tuple[float, bool]]) -> None:
    raw, correct = zip(*pairs, strict=True)
    fitted = fit_calibration(raw, correct)
    values = [fitted(value / 20) for value in range(21)]
    assert values == sorted(values) and all(0.0 < value < 1.0 for value in values)
    for value in set(raw):
        outcomes = [right for own, right in pairs if own == value]
        if len(set(raw)) == 1:
            assert fitted(value) == pytest.approx((sum(outcomes) + 1) / (len(outcomes) + 2))


def test_calibration_refuses_what_is_none() -> None:
    assert Calibration()(0.3) == 0.3
    with pytest.raises(ValueError, match="outcomes"):
        fit_calibration([0.5], [])
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit_calibration([1.5], [True])


def test_the_calibration_error_is_that_of_the_definition() -> None:
    assert expected_calibration_error([0.95] * 10, [True] * 9 + [False]) == pytest.approx(0.05)
    assert expected_calibration_error([0.05, 0.95], [True, False]) == pytest.approx(0.95)
    assert np.isnan(expected_calibration_error([], []))


def test_loops_are_measured(household: Domain) -> None:
    walks = [
        wander(household, 0, 4),
        replace(wander(household, 1, 4), header=replace(wander(household, 1, 4).header, status=EpisodeStatus.FAILED)),
    ]
    report = measure_loops(walks, lambda name: household, ENCODER)
    assert (report.episodes, report.skipped, report.steps) == (1, 1, 5)
    for length, counts in report.planted.items():
        assert counts.planted + counts.impossible == 1, length
        assert counts.at_once == counts.within_turn == counts.planted


def test_retrieval_is_measured_and_the_same_episode_on_both_sides_refused(household: Domain) -> None:
    walks = [wander(household, seed, 8) for seed in range(3)]
    twin = replace(walks[0], header=replace(walks[0].header, episode_id="twin"))
    ways = {"triples": Way(ENCODER), "near": Way(ENCODER, 0.0), "nearest": Way(ENCODER, weights=NEAREST)}
    report = measure_retrieval(walks, [twin], lambda name: household, ways)["household"]
    assert report["triples"].rate(report["triples"].correct).count == 8
    assert report["triples"].gain(report["triples"]).estimate == 0.0
    assert sum(report["near"].advised) <= sum(report["triples"].advised)
    assert report["triples"].rate(report["triples"].correct).estimate > 0.5
    assert report["nearest"].rate(report["nearest"].correct).estimate > 0.5
    with pytest.raises(ValueError, match="'walk 0' is in the bank"):
        measure_retrieval(walks, walks[:1], lambda name: household, ways)
    assert np.isnan(Outcomes().rate([]).estimate)


def test_a_look_for_what_nobody_has_seen_is_asked_about_with_a_placeholder(household: Domain) -> None:
    scene = scene_of({"counter_1": "CounterTop", "fridge_1": "Fridge"}, at="counter_1")
    labels = {"counter_1": "CounterTop", "fridge_1": "Fridge", "tomato_5": "Tomato"}
    state, taken = question(
        household, scene, [put_goal("Tomato", "Fridge")], act("find", "tomato_5", "counter_1"), labels
    )
    assert taken == act("find", "unseen_Tomato_1", "counter_1")
    assert taken in applicable_actions(household, state)


def test_flattened_scenes_say_the_same_in_the_same_order() -> None:
    assert flattened(HOME) == flattened(replace(HOME, relations=HOME.relations[::-1]))
    assert "tomato in counter top" in flattened(HOME)


def test_transitions_are_measured(household: Domain) -> None:
    bank, held_out = [wander(household, seed) for seed in range(6)], [wander(household, 99)]
    report = measure_transitions(bank, held_out, lambda name: household, ENCODER)["household"]
    assert report.accuracy.count == 30 and report.accuracy.estimate > 0.6
    assert 0.0 <= report.calibration_error[0].estimate <= 1.0 and report.change_f1 > 0.6
    assert sum(report.told) == 30


def test_advice_is_told_in_the_domains_words(household: Domain) -> None:
    item = RetrievedAction(
        act("pick_up", "tomato_1", "counter_1"),
        (act("go_to", "counter_1", "fridge_1"),),
        0.04,
        60.0,
        "robot a",
        "e1",
        3,
        {},
    )
    loop = Loop((act("open", "fridge_1"), act("close", "fridge_1")), 0, 2)
    assert describe_advice(household, [item], loop) == (
        "You went in a circle, 2 times in a row: open fridge_1 -> close fridge_1.\n"
        "In a similar situation (distance 0.04): pick up tomato_1 from counter_1, then go to fridge_1."
    )
    assert describe_advice(household, []) == ""
