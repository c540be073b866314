"""Bags can be read at any moment, whatever happens to who writes them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from graph_planner_ros.analysis.bag_repair import is_complete, repair_bag, summarize_bag
from graph_planner_ros.analysis.bag_writer import BagWriter, Topic

BOOL = Topic("/holding", "std_msgs/msg/Bool", "bool data\n")
STRING_HASH = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
STRING = Topic("/words", "std_msgs/msg/String", "string data\n", STRING_HASH)
TRUE = b"\x00\x01\x00\x00\x01"
START = 1_700_000_000_000_000_000


def read(folder: Path) -> list[tuple[str, int, bytes]]:
    with AnyReader([folder]) as reader:
        return [(connection.topic, stamp, bytes(data)) for connection, stamp, data in reader.messages()]


def fill(writer: BagWriter, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        writer.write("/holding", START + number * 10**7, TRUE)


def test_a_closed_bag_is_read_by_others(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic(BOOL)
    writer.add_topic(STRING)
    fill(writer, 5)
    writer.close()
    found = read(tmp_path / "bag")
    assert found == [("/holding", START + n * 10**7, TRUE) for n in range(5)]
    with AnyReader([tmp_path / "bag"]) as reader:
        assert {c.topic: c.msgcount for c in reader.connections} == {"/holding": 5, "/words": 0}
        holding = next(c for c in reader.connections if c.topic == "/holding")
        assert reader.deserialize(found[0][2], holding.msgtype).data is True


def test_a_bag_is_readable_after_every_flush_without_being_closed(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag")
    assert read(tmp_path / "bag") == []
    writer.add_topic(BOOL)
    for round_number in range(4):
        fill(writer, 3, 3 * round_number)
        writer.flush()
        assert len(read(tmp_path / "bag")) == 3 * (round_number + 1)
        assert summarize_bag(tmp_path / "bag").messages == 3 * (round_number + 1)


def test_a_topic_that_appears_late_is_recorded(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic(BOOL)
    fill(writer, 2)
    writer.flush()
    writer.add_topic(STRING)
    writer.write("/words", START + 10**9, b"\x00\x01\x00\x00\x02\x00\x00\x00a\x00")
    writer.close()
    assert [topic for topic, _, _ in read(tmp_path / "bag")] == ["/holding", "/holding", "/words"]


@pytest.mark.parametrize(("size", "duration"), [(900, 0.0), (0, 0.1)], ids=["by size", "by duration"])
def test_bags_are_split_and_read_as_one(tmp_path: Path, size: int, duration: float) -> None:
    writer = BagWriter(tmp_path / "bag", size, duration)
    writer.add_topic(BOOL)
    fill(writer, 60)
    writer.close()
    summary = summarize_bag(tmp_path / "bag")
    assert len(summary.files) > 2
    assert len(read(tmp_path / "bag")) == summary.messages == 60
    assert summary.duration == pytest.approx(0.59)


def test_an_existing_bag_is_never_overwritten(tmp_path: Path) -> None:
    BagWriter(tmp_path / "bag").close()
    with pytest.raises(FileExistsError):
        BagWriter(tmp_path / "bag")


def test_a_bag_in_order_is_left_alone(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic(BOOL)
    fill(writer, 5)
    writer.close()
    before = {path.name: path.read_bytes() for path in (tmp_path / "bag").iterdir()}
    assert not repair_bag(tmp_path / "bag").changed
    assert {path.name: path.read_bytes() for path in (tmp_path / "bag").iterdir()} == before


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1), keep_metadata=st.booleans())
def test_a_bag_cut_off_anywhere_is_recovered(tmp_path: Path, share: float, keep_metadata: bool) -> None:
    folder = tmp_path / "bag"
    shutil.rmtree(folder, ignore_errors=True)
    writer = BagWriter(folder)
    writer.add_topic(BOOL)
    for round_number in range(3):
        fill(writer, 2, 2 * round_number)
        writer.flush()
    writer.close()
    path = folder / "bag_0.mcap"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    if not keep_metadata:
        (folder / "metadata.yaml").unlink()
    report = repair_bag(folder)
    messages = read(folder)
    assert len(messages) == report.messages == summarize_bag(folder).messages
    assert messages == [("/holding", START + n * 10**7, TRUE) for n in range(len(messages))]
    assert len(messages) % 2 == 0  # whatever was flushed together is there together
    assert not repair_bag(folder).changed


def test_a_bag_of_another_writer_that_was_killed_is_recovered(tmp_path: Path) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    writer = Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP)
    writer.open()
    connection = writer.add_connection("/words", "std_msgs/msg/String", typestore=store)
    message = store.types["std_msgs/msg/String"]("x" * 10_000)
    data = bytes(store.serialize_cdr(message, "std_msgs/msg/String"))
    for number in range(300):  # three chunks of 1 MB, of which two are on disk
        writer.write(connection, START + number, data)
    writer.storage.bio.flush()  # type: ignore[union-attr]
    path = tmp_path / "bag" / "bag.mcap"
    killed = path.read_bytes()
    writer.close()
    path.write_bytes(killed)
    (tmp_path / "bag" / "metadata.yaml").unlink()
    assert not is_complete(path)
    report = repair_bag(tmp_path / "bag")
    assert report.changed and report.files == ("bag.mcap",)
    assert 200 <= len(read(tmp_path / "bag")) == report.messages


def test_messages_that_the_metadata_misses_are_found(tmp_path: Path) -> None:
    """A kill between the write of the file and that of the metadata leaves them at odds."""
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic(BOOL)
    fill(writer, 2)
    writer.flush()
    old = (tmp_path / "bag" / "metadata.yaml").read_text()
    fill(writer, 2, 2)
    writer.close()
    (tmp_path / "bag" / "metadata.yaml").write_text(old)
    assert repair_bag(tmp_path / "bag").changed
    assert summarize_bag(tmp_path / "bag").messages == 4


def test_type_hashes_and_qos_survive_a_repair(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag")
    qos = {"history": "keep_last", "depth": 1}
    topic = Topic("/plan", STRING.type_name, STRING.definition, STRING.type_hash, (qos,))
    writer.add_topic(topic)
    writer.close()
    metadata = tmp_path / "bag" / "metadata.yaml"
    content = yaml.safe_load(metadata.read_text())
    content["rosbag2_bagfile_information"]["message_count"] = 9
    metadata.write_text(yaml.safe_dump(content))
    assert repair_bag(tmp_path / "bag").changed
    entry = yaml.safe_load(metadata.read_text())["rosbag2_bagfile_information"]["topics_with_message_count"][0]
    assert entry["topic_metadata"]["type_description_hash"] == STRING.type_hash
    assert entry["topic_metadata"]["offered_qos_profiles"] == [{"history": "keep_last", "depth": 1}]


def test_what_is_no_bag_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no bag"):
        repair_bag(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="mcap"):
        repair_bag(tmp_path)
    (tmp_path / "x.mcap").write_text("this is no such file at all")
    with pytest.raises(ValueError, match="no MCAP file"):
        repair_bag(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["x.mcap"]  # nothing is left beside it


def test_a_full_disk_loses_nothing_that_it_takes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic(BOOL)
    fill(writer, 3)

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.pwrite", refuse)
        with pytest.raises(OSError, match="No space"):
            writer.flush()
        fill(writer, 3, 3)
    writer.flush()
    assert len(read(tmp_path / "bag")) == 6
