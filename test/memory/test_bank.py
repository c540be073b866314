"""The experience bank: what it keeps, finds, refuses and forgets."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bank_fakes import DIMENSION, Encoder, episode, header, scene, step
from encoder_scenes import scenes
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction
from graph_planner_ros.memory.bank import ExperienceBank
from graph_planner_ros.memory.bank_errors import (
    BankError,
    BankFullError,
    BankMismatchError,
    EmbeddingError,
    UnknownEpisodeError,
)
from graph_planner_ros.memory.experience import Episode, EpisodeStatus, ExperienceStep
from graph_planner_ros.scene.graph import SceneGraph

ENCODER = Encoder()


@pytest.fixture()
def bank(tmp_path: Path) -> ExperienceBank:
    return ExperienceBank.open(tmp_path / "bank.sqlite", None, ENCODER)


def reopened(bank: ExperienceBank, **options: object) -> ExperienceBank:
    bank.close()
    return ExperienceBank.open(bank.path, None, ENCODER, **options)


def test_an_episode_comes_back_as_it_was(bank: ExperienceBank) -> None:
    goal = Goal(
        (GoalVariable("?x", "pot", "Pot"),), (GoalLiteral("on", ("?x", "shelf"), False),), (("?x",),), "a pot", True
    )
    whole = episode(1, instruction="fetch “a pot”", goals=(goal,), origin="robot 7", seed=3, reason="done")
    assert bank.add_episode(whole)
    found = reopened(bank).episode("episode 1")
    assert found.header == whole.header
    for ours, theirs in zip(found.steps, whole.steps, strict=True):
        assert ours.embedding is not None
        np.testing.assert_array_equal(ours.embedding, ENCODER.vector(theirs.scene.stamp))
        assert replace(ours, embedding=None) == theirs


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([], [""], "", None, -0.0)
@given(
    st.lists(scenes(), max_size=3),
    st.lists(st.text(), min_size=1, max_size=4),
    st.text(),
    st.sampled_from([None, True, False]),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_whatever_names_and_scenes_hold_comes_back(
    tmp_path: Path, drawn: list[SceneGraph], words: list[str], text: str, succeeded: bool | None, stamp: float
) -> None:
    action = GroundAction(words[0], tuple(words[1:]))
    taken = tuple(ExperienceStep(n, stamp, graph, action, succeeded) for n, graph in enumerate(drawn))
    place = header(1, EpisodeStatus.FAILED, instruction=text, origin=text, layout=text, reason=text, started=stamp)
    whole = Episode(replace(place, episode_id=text or "none"), taken)
    with ExperienceBank.open(tmp_path / "bank.sqlite", None, ENCODER) as bank:
        bank.delete([h.episode_id for h in bank.headers()])
        assert bank.add_episode(whole)
        assert not bank.add_episode(whole)
        found = bank.episode(text or "none")
    assert found.header == whole.header
    assert [replace(ours, embedding=None) for ours in found.steps] == list(taken)


def test_characters_that_no_file_can_hold(bank: ExperienceBank) -> None:
    with pytest.raises(BankError, match="instruction of the episode 'episode 1'"):
        bank.begin(header(1, instruction="a \udc00 pot"))
    writer = bank.begin(header(1))
    writer.finish(EpisodeStatus.FAILED, "no \udc00 pot")
    assert bank.headers()[0].reason == "no ? pot"


def test_the_nearest_steps_come_first_and_only_of_successes(bank: ExperienceBank) -> None:
    bank.add_episodes([episode(1), episode(2, status=EpisodeStatus.FAILED), episode(3)])
    query = ENCODER.vector(2001.0)
    everything = bank.nearest(query, 100, successful_only=False)
    assert (everything[0].episode_id, everything[0].index) == ("episode 2", 1)
    assert everything[0].distance == pytest.approx(0.0, abs=1e-6)
    assert [n.distance for n in everything] == sorted(n.distance for n in everything)
    assert {n.episode_id for n in bank.nearest(query, 100)} == {"episode 1", "episode 3"}
    assert {n.episode_id for n in bank.nearest(query, 100, exclude_episode="episode 1")} == {"episode 3"}


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 1000])
def test_fewer_come_back_only_if_there_are_fewer(bank: ExperienceBank, count: int) -> None:
    assert bank.nearest(ENCODER.vector(0.0), count) == []
    bank.add_episodes([episode(1), episode(2)])  # three steps with an action each
    found = bank.nearest(ENCODER.vector(0.0), count)
    assert len(found) == min(count, 6)
    assert len(set(found)) == len(found)
    assert all(0 <= n.index < 3 for n in found)
    assert bank.nearest(ENCODER.vector(0.0), count, exclude_episode="nobody knows it") == found


def test_an_episode_is_found_once_it_has_succeeded(bank: ExperienceBank) -> None:
    writer = bank.begin(header(1))
    writer.add(step(1, 0))
    query = ENCODER.vector(1000.0)
    assert bank.nearest(query, 5) == []
    assert len(bank.nearest(query, 5, successful_only=False)) == 1
    writer.finish(EpisodeStatus.SUCCEEDED, "it was done")
    assert len(bank.nearest(query, 5)) == 1
    assert bank.headers()[0].reason == "it was done"


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (np.full(DIMENSION, np.nan), "not finite"),
        (np.full(DIMENSION, np.inf), "not finite"),
        (np.zeros(DIMENSION), "length 0"),
        (np.full(DIMENSION, 1.0), "length"),
        (np.eye(1, DIMENSION + 1)[0], "shape"),
        (np.eye(1, DIMENSION - 1)[0], "shape"),
        (np.eye(1, DIMENSION), "shape"),
        (["no", "numbers"], "no array of numbers"),
    ],
)
def test_a_vector_that_is_none_is_refused_by_name(bank: ExperienceBank, embedding: object, message: str) -> None:
    writer = bank.begin(header(1))
    with pytest.raises(EmbeddingError, match=f"step 0 of the episode 'episode 1'.*{message}"):
        writer.add(replace(step(1, 0), embedding=embedding))
    with pytest.raises(EmbeddingError, match=f"step 1 of the episode 'episode 2'.*{message}"):
        whole = episode(2)
        bank.add_episode(replace(whole, steps=(whole.steps[0], replace(whole.steps[1], embedding=embedding))))
    with pytest.raises(EmbeddingError, match=message):
        bank.nearest(embedding, 1)  # type: ignore[arg-type]
    writer.add(step(1, 0))  # nothing of it is there, and it goes on
    assert [(h.episode_id) for h in bank.headers()] == ["episode 1"]
    assert len(bank.nearest(ENCODER.vector(1000.0), 9, successful_only=False)) == 1


def test_an_encoder_that_makes_nonsense_is_refused(tmp_path: Path) -> None:
    class Broken(Encoder):
        def encode(self, scenes):
            return super().encode(scenes)[:-1]

    bank = ExperienceBank.open(tmp_path / "bank.sqlite", None, Broken())
    with pytest.raises(BankError, match="made 3 embeddings of 4 scenes"):
        bank.add_episode(episode(1))
    assert bank.headers() == []


@pytest.mark.parametrize(
    ("encoder", "what"),
    [(Encoder(dimension=4), "dimension"), (Encoder(model_hash="second model"), "model hash")],
)
def test_another_encoder_is_refused_by_name_with_a_way(bank: ExperienceBank, encoder: Encoder, what: str) -> None:
    bank.add_episode(episode(1))
    bank.close()
    with pytest.raises(BankMismatchError, match=f"{what}.*graph-planner memory rebuild") as caught:
        ExperienceBank.open(bank.path, None, encoder)
    assert caught.value.what == what
    assert len(reopened(bank).headers()) == 1


def test_another_domain_is_refused_by_name(tmp_path: Path, bank: ExperienceBank) -> None:
    household = load_domain("household")
    bank.add_episode(episode(1))
    with pytest.raises(BankMismatchError, match="domain hash"):
        bank.add_episode(replace(episode(2), header=replace(header(2), domain_hash="another")))
    with pytest.raises(BankMismatchError, match="the domain 'attic'"):
        bank.begin(replace(header(2), domain="attic"))
    assert len(bank.headers()) == 1
    bank.close()
    with pytest.raises(BankMismatchError, match=r"the domain 'garden'.*bank of its own"):
        ExperienceBank.open(bank.path, household, ENCODER)
    made = ExperienceBank.open(tmp_path / "other.sqlite", household, ENCODER)
    with pytest.raises(BankMismatchError, match="the domain 'garden'"):
        made.begin(header(1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (replace(step(1, 1)), "expected step 0"),
        (replace(step(1, 0), stamp=float("nan")), "finite stamp"),
        (ExperienceStep(0, 0.0, scene(float("inf"))), "not finite"),
    ],
)
def test_a_step_that_does_not_fit_is_refused_and_the_episode_goes_on(
    bank: ExperienceBank, wrong: ExperienceStep, message: str
) -> None:
    writer = bank.begin(header(1))
    with pytest.raises(BankError, match=message):
        writer.add(wrong)
    with pytest.raises(BankError, match=message):
        bank.add_episode(replace(episode(2), steps=(wrong,)))
    writer.add(step(1, 0))
    assert len(bank.episode("episode 1").steps) == 1


def test_what_is_over_takes_no_more(bank: ExperienceBank) -> None:
    writer = bank.begin(header(1))
    with pytest.raises(BankError, match="cannot finish as running"):
        writer.finish(EpisodeStatus.RUNNING)
    with pytest.raises(BankError, match="being written"):
        bank.delete(["episode 1"])
    with pytest.raises(BankError, match="already"):
        bank.begin(header(1))
    writer.finish(EpisodeStatus.FAILED, "no pot")
    with pytest.raises(BankError, match="over"):
        writer.add(step(1, 0))
    with pytest.raises(BankError, match="over"):
        writer.finish(EpisodeStatus.SUCCEEDED)
    with pytest.raises(BankError, match="begins as running"):
        bank.begin(header(2, EpisodeStatus.SUCCEEDED))
    bank.close()
    bank.close()
    with pytest.raises(BankError, match="closed"):
        bank.headers()


def test_the_same_episode_is_not_doubled_and_another_one_not_overwritten(bank: ExperienceBank) -> None:
    assert bank.add_episode(episode(1))
    assert not bank.add_episode(episode(1))
    other = replace(episode(1), header=replace(episode(1).header, reason="another one"))
    with pytest.raises(BankError, match="another episode with the id 'episode 1'"):
        bank.add_episode(other)
    report = bank.add_episodes([episode(2), episode(2), other])
    assert (report.added, report.duplicates, report.conflicts) == (1, 1, ["episode 1"])
    assert bank.episode("episode 1").header.reason == ""


def test_deleting_is_all_or_nothing_and_seen_by_the_search(bank: ExperienceBank) -> None:
    bank.add_episodes(episode(number) for number in range(5))
    assert len(bank.nearest(ENCODER.vector(0.0), 100)) == 15
    with pytest.raises(UnknownEpisodeError, match="nobody"):
        bank.delete(["episode 1", "nobody"])
    assert len(bank.headers()) == 5
    assert bank.delete(["episode 1", "episode 3", "episode 1"]) == 8
    assert {n.episode_id for n in bank.nearest(ENCODER.vector(0.0), 100)} == {"episode 0", "episode 2", "episode 4"}
    with pytest.raises(KeyError):
        bank.episode("episode 1")
    assert len(reopened(bank).nearest(ENCODER.vector(0.0), 100)) == 9


def test_parts_of_an_episode(bank: ExperienceBank) -> None:
    bank.add_episode(episode(1, steps=6))
    assert [s.index for s in bank.steps("episode 1", 2, 4)] == [2, 3, 4]
    assert [s.index for s in bank.steps("episode 1", 4)] == [4, 5]
    assert bank.step("episode 1", 5).action is None
    with pytest.raises(UnknownEpisodeError, match="no step 6"):
        bank.step("episode 1", 6)


def test_merging_banks_of_several_robots(tmp_path: Path, bank: ExperienceBank) -> None:
    encoder = Encoder()
    other = ExperienceBank.open(tmp_path / "other.sqlite", None, encoder)
    bank.add_episodes([episode(1), episode(2)])
    other.add_episodes([episode(2), episode(3)])
    other.begin(header(4)).add(step(4, 0))
    calls = encoder.calls
    report = bank.merge(other)
    assert (report.added, report.duplicates, report.running) == (1, 1, 1)
    assert sorted(h.episode_id for h in bank.headers()) == ["episode 1", "episode 2", "episode 3"]
    again = bank.merge(other)
    assert (again.added, again.duplicates) == (0, 2)
    assert encoder.calls == calls
    second = ExperienceBank.open(tmp_path / "second.sqlite", None, Encoder(model_hash="second model"))
    second.merge(bank)  # of another model: the scenes are embedded anew
    vector = second.episode("episode 3").steps[0].embedding
    np.testing.assert_array_equal(vector, Encoder(model_hash="second model").vector(3000.0))


def test_the_limit_is_kept_and_what_runs_stays(tmp_path: Path) -> None:
    bank = ExperienceBank.open(tmp_path / "bank.sqlite", None, ENCODER, limit_steps=10)
    writer = bank.begin(header(0))
    writer.add(step(0, 0))
    report = bank.add_episodes(episode(number) for number in range(1, 5))
    assert report.forgotten == 2
    for index in range(1, 10):
        writer.add(step(0, index))
    assert [h.episode_id for h in bank.headers()] == ["episode 0"]
    with pytest.raises(BankFullError, match="limit of 10 steps"):
        writer.add(step(0, 10))
    with pytest.raises(BankFullError, match="has 11 steps"):
        bank.add_episode(episode(9, steps=11))
    writer.finish(EpisodeStatus.SUCCEEDED)
    assert len(bank.nearest(ENCODER.vector(0.0), 99)) == 10
    assert bank.stats().steps == 10


def test_threads_write_and_search_at_once(bank: ExperienceBank) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            writer = bank.begin(header(number))
            for index in range(10):
                writer.add(step(number, index))
                found = bank.nearest(ENCODER.vector(1000.0 * number + index), 1, successful_only=False)
                assert (found[0].episode_id, found[0].index) == (f"episode {number}", index)
            writer.finish(EpisodeStatus.SUCCEEDED)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(bank.nearest(ENCODER.vector(0.0), 100)) == 40
