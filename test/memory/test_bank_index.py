"""The index of the bank: right answers whatever came and went, and a file that is never believed wrongly."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bank_fakes import Encoder, episode, header, step
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.memory import bank_index
from graph_planner_ros.memory import index as index_module
from graph_planner_ros.memory.bank import ExperienceBank
from graph_planner_ros.memory.bank_errors import BankError, BankFileError
from graph_planner_ros.memory.experience import Embedding, EpisodeStatus
from graph_planner_ros.memory.index import VectorIndex

ENCODER = Encoder()


def vectors(count: int, dimension: int = 16, seed: int = 0) -> Embedding:
    """Return walks of 20 steps each on the unit sphere."""
    generator = np.random.default_rng(seed)
    starts = np.repeat(generator.standard_normal((-(-count // 20), dimension)), 20, axis=0)[:count]
    moved = starts + 0.2 * generator.standard_normal((count, dimension))
    return (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)


def built(data: Embedding) -> VectorIndex:
    def chunks(stride: int):
        ids = np.arange(0, len(data), stride, dtype=np.int64)
        yield ids, data[ids]

    return VectorIndex.build(data.shape[1], len(data), chunks)


@pytest.fixture()
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inverted lists from 500 vectors on, so that tests need not be large."""
    monkeypatch.setattr(index_module, "FLAT_LIMIT", 500)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["add", "remove", "flag", "unflag"]), st.integers(0, 60)), max_size=40),
    st.integers(0, 30),
    st.booleans(),
    st.integers(0, 60),
)
def test_a_flat_index_answers_exactly(changes: list[tuple[str, int]], count: int, flagged: bool, left_out: int) -> None:
    data = vectors(61)
    made, there, flags = VectorIndex(16), set(), set()
    for what, number in changes:
        ids = np.array([number])
        if what == "add" and number not in there:
            made.add(ids, data[ids])
            there.add(number)
        elif what == "remove":
            made.remove(ids)
            there.discard(number)
            flags.discard(number)
        elif what in ("flag", "unflag") and number in there:
            made.flag(ids, what == "flag")
            (flags.add if what == "flag" else flags.discard)(number)
    without = np.array([left_out]) if left_out in there else None
    ids, distances = made.search(data[60], count, flagged=flagged, without=without)
    allowed = (flags if flagged else there) - {left_out}
    expected = sorted(1.0 - float(data[60] @ data[number]) for number in allowed)[:count]
    np.testing.assert_allclose(distances, expected, atol=1e-5)
    assert set(ids.tolist()) <= allowed
    assert len(made) == len(there)


def test_the_kind_goes_by_size_and_lists_answer_well(small_limit: None) -> None:
    assert built(vectors(500)).kind == "flat"
    data = vectors(3000)
    many = built(data)
    assert many.kind == "ivf"
    assert 1 <= many.narrow <= many.wide <= many.lists
    queries = vectors(3000, seed=0)[::15] + 0.01
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    right = 0
    for query in queries:
        _, distances = many.search(query, 1)
        right += distances[0] <= (1.0 - data @ query).min() + 1e-5
    assert right >= 0.99 * len(queries)
    assert len(many.search(data[0], 5000)[0]) == 3000
    many.flag(np.arange(10), True)
    assert len(many.search(data[2999], 7, flagged=True, without=np.arange(5))[0]) == 5
    many.remove(np.arange(1000, 3000))
    assert set(many.search(data[2000], 5000)[0].tolist()) == set(range(1000))


def test_an_index_says_when_it_is_outgrown(small_limit: None) -> None:
    data = vectors(3000)
    grown = built(data[:400])
    grown.add(np.arange(400, 500), data[400:500])
    assert not grown.outgrown
    grown.add(np.arange(500, 2000), data[500:2000])
    assert grown.outgrown
    assert not built(data).outgrown


def test_a_batch_of_another_dimension_is_refused() -> None:
    with pytest.raises(BankError, match="dimension 16"):
        VectorIndex(16).add(np.arange(2), vectors(2, 8))


@pytest.fixture()
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank with an index file."""
    monkeypatch.setattr(bank_index, "_WORTH_A_FILE", 1)
    place = tmp_path / "bank.sqlite"
    with ExperienceBank.open(place, None, ENCODER) as bank:
        bank.add_episodes(episode(number) for number in range(10))
        bank.warm_up()
    assert index_file(place).exists()
    return place


def index_file(path: Path) -> Path:
    return path.with_name(path.name + ".index")


def answers(path: Path) -> tuple[int, bool, str]:
    """Return how many steps are found, whether the index came from its file, and what is nearest to a scene."""
    with ExperienceBank.open(path, None, ENCODER, read_only=True) as bank:
        found = bank.nearest(ENCODER.vector(3001.0), 1000)
        return len(found), bank._index.from_file, found[0].episode_id


def test_the_file_is_used_and_what_came_since_is_added(path: Path) -> None:
    assert answers(path) == (30, True, "episode 3")
    with ExperienceBank.open(path, None, None) as bank:  # nobody searches: the file stays as it is
        bank.delete(["episode 3", "episode 4"])
    with ExperienceBank.open(path, None, ENCODER) as bank:
        bank.add_episodes([episode(20), episode(21, status=EpisodeStatus.FAILED)])
    assert answers(path)[:2] == (27, True)
    with ExperienceBank.open(path, None, ENCODER) as bank:
        bank.add_episode(episode(3))
    assert answers(path) == (30, True, "episode 3")


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [
        damage,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-10]),
        lambda file: file.write_bytes(os.urandom(2000)),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), file.mkdir()),
    ],
)
def test_a_spoiled_file_is_made_anew(path: Path, spoil) -> None:
    spoil(index_file(path))
    assert answers(path) == (30, False, "episode 3")


def test_the_file_of_another_state_or_bank_is_not_believed(path: Path, tmp_path: Path) -> None:
    older = tmp_path / "older.sqlite"
    shutil.copy(path, older)
    with ExperienceBank.open(path, None, ENCODER) as bank:
        bank.delete([f"episode {number}" for number in range(9)])
        bank.warm_up()
        bank.add_episodes(episode(number) for number in range(30, 33))
        bank.warm_up()
    assert answers(path)[:2] == (12, True)
    # somebody brings back the database of yesterday and leaves the index file of today
    shutil.copy(older, path)
    for rest in ("-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)
    assert answers(path) == (30, False, "episode 3")


def test_changes_that_are_no_longer_listed_make_it_anew(path: Path) -> None:
    with ExperienceBank.open(path, None, None) as bank:
        bank.delete(["episode 5"])
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM change")
    assert answers(path) == (27, False, "episode 3")


def test_what_a_killed_process_left_is_removed(path: Path) -> None:
    left = path.with_name(f".{index_file(path).name}.abcdef")
    left.write_bytes(b"half an index")
    other = path.with_name(".another.sqlite.index.abcdef")
    other.touch()
    ExperienceBank.open(path, None, ENCODER).close()
    assert not left.exists()
    assert other.exists()


def test_a_file_that_cannot_be_written_is_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(bank_index, "_WORTH_A_FILE", 1)
    monkeypatch.setattr(VectorIndex, "save", refuse)
    place = tmp_path / "bank.sqlite"
    with ExperienceBank.open(place, None, ENCODER) as bank:
        bank.add_episode(episode(3))
        bank.warm_up()
    assert answers(place) == (3, False, "episode 3")
    assert not [name for name in os.listdir(tmp_path) if "index" in name]


def test_a_bank_that_grows_gets_another_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "FLAT_LIMIT", 500)
    with ExperienceBank.open(tmp_path / "bank.sqlite", None, ENCODER) as bank:
        bank.add_episodes(episode(number, 20) for number in range(10))
        bank.warm_up()
        assert bank.stats().index_kind == "flat"
        bank.add_episodes(episode(number, 20) for number in range(10, 100))
        stats = bank.stats()
        assert (stats.index_kind, stats.index_vectors) == ("ivf", 1900)
        found = bank.nearest(ENCODER.vector(50_007.0), 1)
        assert (found[0].episode_id, found[0].index) == ("episode 50", 7)
    with ExperienceBank.open(tmp_path / "bank.sqlite", None, replace(ENCODER), read_only=True) as bank:
        assert bank.nearest(ENCODER.vector(50_007.0), 1) == found


def test_a_robot_at_work_never_waits_for_another_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "FLAT_LIMIT", 20)
    monkeypatch.setattr(bank_index, "_WORTH_A_FILE", 1)
    with ExperienceBank.open(tmp_path / "bank.sqlite", None, ENCODER) as bank:
        bank.warm_up()
        for number in range(4):
            writer = bank.begin(header(number))
            for index in range(50):
                writer.add(step(number, index))
            writer.finish(EpisodeStatus.SUCCEEDED)
        assert len(bank.nearest(ENCODER.vector(0.0), 500)) == 200
        assert bank.stats().index_kind == "flat"
    with ExperienceBank.open(tmp_path / "bank.sqlite", None, ENCODER) as bank:
        assert len(bank.nearest(ENCODER.vector(0.0), 500)) == 200
        assert bank.stats().index_kind == "ivf"  # the file had the flat one


def test_an_index_that_failed_to_catch_up_does_not_answer(tmp_path: Path) -> None:
    path = tmp_path / "bank.sqlite"
    with ExperienceBank.open(path, None, ENCODER) as bank:
        bank.add_episode(episode(1))
        assert len(bank.nearest(ENCODER.vector(0.0), 9)) == 3
        bank.begin(header(2)).add(step(2, 0))
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE embedding SET vector = x'00' WHERE step = 5")
            connection.commit()
        for _ in range(2):
            with pytest.raises(BankFileError, match="damaged"):
                bank.nearest(ENCODER.vector(0.0), 9)
