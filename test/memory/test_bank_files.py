"""Files that are missing, damaged, foreign, full or read-only, and banks that several processes have open."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bank_fakes import DIMENSION, Encoder, episode, header, step
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.memory.bank import ExperienceBank
from graph_planner_ros.memory.bank_errors import BankError, BankFileError, BankMismatchError
from graph_planner_ros.memory.bank_files import (
    check_bank,
    check_files,
    export_damaged,
    export_episodes,
    import_episodes,
)
from graph_planner_ros.memory.bank_rebuild import rebuild_bank
from graph_planner_ros.memory.bank_rows import rising
from graph_planner_ros.memory.episode_files import EpisodeFileError, domain_hash, read_episodes, write_episodes
from graph_planner_ros.memory.experience import EpisodeStatus

ENCODER = Encoder()
NOBODY = 65534


def opened(path: Path, **options: object) -> ExperienceBank:
    return ExperienceBank.open(path, None, ENCODER, **options)


def made(path: Path, episodes: int = 3, steps: int = 4) -> Path:
    with opened(path) as bank:
        bank.add_episodes(episode(number, steps) for number in range(episodes))
    return path


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Let file permissions count, for root too."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture()
def read_only_folder() -> Iterator[Path]:
    """A folder that everybody may read and nobody may write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"these are the notes of last Tuesday, and no bank\n" * 100, "not an experience bank"),
        (b"\0" * 5000, "not an experience bank"),
        (b'{"format": 1}', "not an experience bank"),
    ],
)
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bank.sqlite"
    path.write_bytes(content)
    for read_only in (True, False):
        with pytest.raises(BankFileError, match=message):
            opened(path, read_only=read_only)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["bank.sqlite"]


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bank.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(BankFileError, match="something else"):
        opened(path)
    assert path.read_bytes() == before


def test_another_format_is_refused_by_number(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(BankFileError, match="expected a bank of format 1, found format 7"):
        opened(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BankFileError, match="no such bank"):
        opened(tmp_path / "bank.sqlite", read_only=True)
    with pytest.raises(BankFileError, match="an encoder is needed"):
        ExperienceBank.open(tmp_path / "bank.sqlite", None, None)
    with pytest.raises(BankFileError, match="is a folder"):
        opened(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BankFileError, match="folder cannot be made"):
        opened(tmp_path / "file" / "bank.sqlite")
    with pytest.raises(BankFileError, match="empty"):
        opened(tmp_path / "file", read_only=True)
    opened(tmp_path / "file").close()  # what a process leaves that was killed before its first transaction
    opened(tmp_path / "new" / "folder" / "bank.sqlite").close()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_damaged_bank_says_so_and_gives_what_it_has(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = made(Path(folder) / "bank.sqlite", episodes=20, steps=6)
        content = bytearray(path.read_bytes())
        if data.draw(st.booleans(), "cut off"):
            del content[data.draw(st.integers(1, len(content) - 1), "length") :]
        else:
            first = data.draw(st.integers(0, len(content) - 1), "first")
            content[first : first + 3000] = os.urandom(len(content[first : first + 3000]))
        path.write_bytes(content)
        whole = {number: episode(number, 6) for number in range(20)}
        with contextlib.suppress(BankError), opened(path) as bank:
            bank.nearest(ENCODER.vector(0.0), 5)
        with contextlib.suppress(BankError), opened(path) as bank:
            bank.add_episode(episode(99))
            bank.episode("episode 99")
        assert path.exists()
        with contextlib.suppress(BankError):
            assert isinstance(check_bank(path), list)
        out = Path(folder) / "out.jsonl"
        with contextlib.suppress(BankError):
            salvage = export_damaged(path, out)
            assert len(list(read_episodes(out))) == salvage.written
            for found in read_episodes(out):
                number = int(found.header.episode_id.split()[1])
                assert number == 99 or len(found.steps) <= len(whole[number].steps)


def test_steps_of_no_episode_are_damage_and_are_not_looked_for_for_ever(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE step SET episode = episode + 900")
        connection.commit()
    with opened(path) as bank, pytest.raises(BankFileError, match="damaged"):
        bank.nearest(ENCODER.vector(0.0), 5, successful_only=False)


def test_rows_that_come_round_again_are_damage() -> None:
    assert list(rising([(1, "a"), (3, "b")])) == [(1, "a"), (3, "b")]
    for numbers in ([1, 2, 1], [0, 0], [None], ["1"]):
        with pytest.raises(sqlite3.DatabaseError, match="malformed"):
            list(rising([(number,) for number in numbers]))


@pytest.mark.parametrize(("kept", "least"), [(0.3, 0), (0.6, 50), (0.9, 100)])
def test_of_a_bank_that_is_cut_off_what_can_be_found_is_saved(tmp_path: Path, kept: float, least: int) -> None:
    path = made(tmp_path / "bank.sqlite", episodes=200, steps=6)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(BankFileError, match="damaged"):
        opened(path, read_only=True)
    salvage = export_damaged(path, tmp_path / "saved.jsonl")
    saved = list(read_episodes(tmp_path / "saved.jsonl"))
    whole = {f"episode {number}": episode(number, 6) for number in range(200)}
    assert len(saved) == salvage.written >= least
    assert salvage.lost
    for found in saved:
        assert found == whole[found.header.episode_id]


def test_a_bank_that_says_nothing_any_more_is_told_so_in_a_sentence(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)
    with pytest.raises(BankFileError, match=r"bank\.sqlite"):
        export_damaged(path, tmp_path / "saved.jsonl")
    assert not (tmp_path / "saved.jsonl").exists()


def test_a_file_that_a_killed_process_left_is_not_written_on(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    write_episodes(tmp_path / f".{os.getpid()}-out.jsonl", [episode(77)])  # numbers of processes come again
    with opened(path) as bank:
        assert export_episodes(bank, tmp_path / "out.jsonl") == 3
    assert len(list(read_episodes(tmp_path / "out.jsonl"))) == 3


def test_merging_goes_past_a_damaged_episode_and_names_it(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE step SET scene = x'00' WHERE episode = 2 AND position = 1")
        connection.commit()
    with opened(path, read_only=True) as source, opened(tmp_path / "other.sqlite") as target:
        report = target.merge(source)
        assert [h.episode_id for h in target.headers()] == ["episode 0", "episode 2"]
    assert report.added == 2
    assert len(report.unreadable) == 1 and "episode 1" in report.unreadable[0]


def test_a_bank_of_another_domain_is_not_merged_at_all(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    foreign = replace(episode(9), header=replace(episode(9).header, domain="warehouse", domain_hash="other"))
    with opened(tmp_path / "foreign.sqlite") as other, opened(path) as bank:
        other.add_episode(foreign)
        with pytest.raises(BankMismatchError, match=r"foreign\.sqlite.*warehouse.*garden"):
            bank.merge(other)
        assert len(bank.headers()) == 3


def test_one_damaged_episode_does_not_take_the_others_along(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE step SET scene = x'00' WHERE episode = 2 AND position = 1")
        connection.commit()
    assert any("episode 1" in line for line in check_bank(path))
    with opened(path) as bank, pytest.raises(BankFileError, match="step 1"):
        bank.episode("episode 1")
    salvage = export_damaged(path, tmp_path / "saved.jsonl")
    assert salvage.written == 2
    assert len(salvage.lost) == 1
    assert "episode 1" in salvage.lost[0]


def test_a_read_only_folder(read_only_folder: Path, tmp_path: Path) -> None:
    source = made(tmp_path / "bank.sqlite")
    read_only_folder.chmod(0o755)
    path = shutil.copy(source, read_only_folder / "bank.sqlite")
    path.chmod(0o444)
    read_only_folder.chmod(0o555)
    with without_privileges():
        with pytest.raises(BankFileError, match=r"read-only|cannot be opened|cannot be made"):
            opened(path)
        with pytest.raises(BankFileError, match=r"cannot be opened|read-only"):
            opened(read_only_folder / "new.sqlite")
        with opened(path, read_only=True) as bank:
            assert len(bank.nearest(ENCODER.vector(0.0), 100)) == 9
            assert len(bank.headers()) == 3
            for change in (lambda: bank.add_episode(episode(9)), lambda: bank.delete(["episode 1"])):
                with pytest.raises(BankError, match="reading only"):
                    change()
            with pytest.raises(BankError, match="cannot be written"):
                export_episodes(bank, read_only_folder / "out.jsonl")
    assert os.listdir(read_only_folder) == ["bank.sqlite"]


@pytest.mark.parametrize("way", ["sqlite says full", "the system refuses to write"])
def test_a_full_disk_loses_nothing_that_was_there(tmp_path: Path, way: str) -> None:
    path = made(tmp_path / "bank.sqlite")
    size = path.stat().st_size
    bank = opened(path)
    writer = bank.begin(header(50))
    writer.add(step(50, 0))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    connection = bank._connection
    written = 1
    try:
        if way == "sqlite says full":
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, limits[1]))
        with pytest.raises(BankFileError, match="disk"):
            for index in range(1, 2000):
                writer.add(step(50, index))
                written += 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    connection.execute("PRAGMA max_page_count = 1000000")
    assert len(bank.episode("episode 50").steps) == written
    assert len(bank.nearest(ENCODER.vector(0.0), 5000, successful_only=False)) == 9 + written
    writer.add(step(50, written))  # there is room again: it goes on where it was
    writer.finish(EpisodeStatus.SUCCEEDED)
    bank.close()
    with opened(path) as again:
        assert len(again.episode("episode 50").steps) == written + 1
    assert check_bank(path) == []


def test_an_episode_of_a_closed_bank_is_interrupted_and_that_of_a_living_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "bank.sqlite"
    first, second = opened(path), opened(path)
    first.begin(header(1)).add(step(1, 0))
    running = second.begin(header(2))
    first.close()
    with opened(path) as third:
        states = {h.episode_id: h.status for h in third.headers()}
        assert states == {"episode 1": EpisodeStatus.INTERRUPTED, "episode 2": EpisodeStatus.RUNNING}
        with pytest.raises(BankError, match="being written"):
            third.delete(["episode 2"])
    running.add(step(2, 0))
    running.finish(EpisodeStatus.SUCCEEDED)
    second.close()


def test_several_readers_see_what_a_writer_commits(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite", 1)
    readers = [opened(path, read_only=True) for _ in range(3)]
    query = ENCODER.vector(0.0)
    assert [len(reader.nearest(query, 99)) for reader in readers] == [3, 3, 3]
    with opened(path) as bank:
        bank.add_episode(episode(1))
        assert [len(reader.nearest(query, 99)) for reader in readers] == [6, 6, 6]
        writer = bank.begin(header(2))
        writer.add(step(2, 0))
        assert [len(reader.nearest(query, 99)) for reader in readers] == [6, 6, 6]
        writer.finish(EpisodeStatus.SUCCEEDED)
        assert [len(reader.nearest(query, 99)) for reader in readers] == [7, 7, 7]
        bank.delete(["episode 0"])
        assert [len(reader.nearest(query, 99)) for reader in readers] == [4, 4, 4]
    for reader in readers:
        reader.close()


def test_export_and_import_bring_the_same_episodes(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    with opened(path) as bank, opened(tmp_path / "new.sqlite") as new:
        bank.begin(header(9))  # not over: it stays behind
        for name in ("out.jsonl", "out.jsonl.gz"):
            assert export_episodes(bank, tmp_path / name) == 3
        with pytest.raises(BankError, match="exists already"):
            export_episodes(bank, tmp_path / "out.jsonl")
        assert all(s.embedding is None for e in read_episodes(tmp_path / "out.jsonl") for s in e.steps)
        report = import_episodes(new, [tmp_path / "out.jsonl", tmp_path / "out.jsonl.gz"])
        assert (report.added, report.duplicates, report.conflicts) == (3, 3, [])
        for number in range(3):
            ours, theirs = bank.episode(f"episode {number}"), new.episode(f"episode {number}")
            assert ours.header == theirs.header
            for mine, other in zip(ours.steps, theirs.steps, strict=True):
                np.testing.assert_array_equal(mine.embedding, other.embedding)


def test_a_file_with_one_bad_line_adds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    write_episodes(file, [episode(1), episode(2)])
    with file.open("a") as end:
        end.write('{"format": 1, "steps"')
    with opened(tmp_path / "bank.sqlite") as bank:
        with pytest.raises(EpisodeFileError, match="line 3"):
            import_episodes(bank, [file])
        foreign = tmp_path / "foreign.jsonl"
        write_episodes(foreign, [episode(1), replace(episode(2), header=replace(episode(2).header, domain_hash="x"))])
        with pytest.raises(BankMismatchError, match="nothing was added"):
            import_episodes(bank, [foreign])
        assert bank.headers() == []
        assert bank.header.domain_hash == ""


def test_running_episodes_of_a_file_come_in_as_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    write_episodes(file, [episode(1, status=EpisodeStatus.RUNNING)])
    with opened(tmp_path / "bank.sqlite") as bank:
        assert import_episodes(bank, [file]).added == 1
        assert import_episodes(bank, [file]).duplicates == 1
        assert bank.headers()[0].status is EpisodeStatus.INTERRUPTED


def test_rebuilding_with_another_encoder(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    reader = opened(path, read_only=True)
    reader.warm_up()
    second = Encoder(dimension=5, model_hash="second model")
    seen: list[tuple[int, int]] = []
    rebuilt = rebuild_bank(path, None, second, lambda done, total: seen.append((done, total)))
    assert (rebuilt.steps, rebuilt.before.dimension, rebuilt.after.dimension) == (12, DIMENSION, 5)
    assert seen[-1] == (12, 12)
    with ExperienceBank.open(path, None, second) as bank:
        found = bank.nearest(second.vector(1001.0), 1)
        assert (found[0].episode_id, found[0].index) == ("episode 1", 1)
        assert len(bank.nearest(second.vector(0.0), 99)) == 9
    with pytest.raises(BankMismatchError):
        reader.nearest(ENCODER.vector(0.0), 1)
    reader.close()
    with pytest.raises(BankMismatchError):
        opened(path)


def test_a_rebuilding_that_fails_leaves_the_bank_as_it_was(tmp_path: Path) -> None:
    class Broken(Encoder):
        def encode(self, scenes):
            return np.full((len(scenes), self.dimension), np.nan)

    path = made(tmp_path / "bank.sqlite")
    with pytest.raises(BankError, match="not finite"):
        rebuild_bank(path, None, Broken(model_hash="second model"))
    with opened(path) as bank:
        assert len(bank.nearest(ENCODER.vector(0.0), 99)) == 9
        with pytest.raises(BankError, match=f"open for writing in process {os.getpid()}"):
            rebuild_bank(path, None, ENCODER)
    with pytest.raises(BankFileError, match="no such bank"):
        rebuild_bank(tmp_path / "none.sqlite", None, ENCODER)
    assert check_bank(path) == []


def test_of_two_that_rebuild_the_first_goes_on(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite", episodes=100, steps=6)
    second, third = Encoder(model_hash="second model"), Encoder(model_hash="third model")
    refused: list[str] = []

    def between(done: int, total: int) -> None:
        with pytest.raises(BankError, match="open for writing") as error:
            rebuild_bank(path, None, third)
        refused.append(str(error.value))

    rebuild_bank(path, None, second, between)
    assert len(refused) >= 2
    with ExperienceBank.open(path, None, second) as bank:
        assert bank.nearest(second.vector(1001.0), 1)[0].distance < 1e-6
    assert check_bank(path) == []


def test_what_a_killed_rebuilding_left_is_cleared_by_the_next_writer_alone(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite", episodes=100, steps=6)

    def tables() -> set[str]:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}

    seen: list[bool] = []

    def between(done: int, total: int) -> None:
        opened(path).close()  # another process that comes in between leaves the new vectors alone
        seen.append("embedding_new" in tables())

    rebuild_bank(path, None, Encoder(model_hash="second model"), between)
    assert seen and all(seen)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE embedding_new (step INTEGER)")
    ExperienceBank.open(path, None, None).close()
    assert "embedding_new" not in tables()


def test_rebuilding_takes_over_changed_files_of_the_domain_if_the_actions_fit(tmp_path: Path) -> None:
    household = load_domain("household")
    path = tmp_path / "bank.sqlite"
    action = next(iter(household.actions.values()))
    fitting = replace(step(1, 0).action, name=action.name, arguments=("x",) * len(action.parameters))
    for name, steps in (("fits", (replace(step(1, 0), action=fitting),)), ("does not", (step(2, 0),))):
        place = replace(header(1, EpisodeStatus.FAILED), episode_id=name, domain=household.name, domain_hash="old")
        with opened(path) as bank:
            bank.add_episode(replace(episode(1), header=place, steps=steps))
    with pytest.raises(BankMismatchError, match=r"domain hash.*rebuild.*--domain household"):
        ExperienceBank.open(path, household, ENCODER)
    with pytest.raises(BankMismatchError, match=r"no such actions.*\(go shelf\)"):
        rebuild_bank(path, household, ENCODER)
    with opened(path) as bank:
        bank.delete(["does not"])
    rebuild_bank(path, household, ENCODER)
    with ExperienceBank.open(path, household, ENCODER) as bank:
        assert bank.headers()[0].domain_hash == domain_hash(household) == bank.header.domain_hash


def test_damaged_vectors_are_named_and_mended(tmp_path: Path) -> None:
    path = made(tmp_path / "bank.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE embedding SET vector = x'00' WHERE step = 2")
        connection.commit()
    with opened(path) as bank, pytest.raises(BankFileError, match="graph-planner memory rebuild"):
        bank.nearest(ENCODER.vector(0.0), 1)
    rebuild_bank(path, None, ENCODER)
    with opened(path) as bank:
        assert len(bank.nearest(ENCODER.vector(0.0), 99)) == 9


def test_statistics_are_plain_data(tmp_path: Path) -> None:
    with opened(made(tmp_path / "bank.sqlite")) as bank:
        stats = bank.stats()
    assert (stats.episodes, stats.steps, stats.layouts, stats.dimension) == ({"succeeded": 3}, 12, 3, DIMENSION)
    json.dumps(stats.as_json())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("random.jsonl.gz", b"\x00\x01rubbish", r"random\.jsonl\.gz, line 1: expected an episode, found no JSON|UTF-8"),
        ("cut.jsonl.gz", gzip.compress(b"{}\n" * 4000, mtime=0)[:-20], r"cut\.jsonl\.gz"),
        ("other.jsonl", b'{"a": 1}\n', r"other\.jsonl, line 1: expected an episode, found no 'format'"),
        ("list.jsonl", b"[]\n", r"list\.jsonl, line 1: expected an episode"),
        ("words.jsonl", b"a shopping list\n", r"words\.jsonl, line 1: expected an episode, found no JSON"),
        ("empty.jsonl", b"", r"empty\.jsonl has no episodes"),
        ("blank.jsonl", b"\n\n", r"blank\.jsonl has no episodes"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.count(".") == 1 else "",
)
def test_a_file_without_episodes_is_named_with_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EpisodeFileError, match=words):
        check_files([tmp_path / name])
