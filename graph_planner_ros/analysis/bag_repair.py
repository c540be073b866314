"""Makes bags readable again whose recorder was killed, and says what is in a bag."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from mcap.exceptions import McapError
from mcap.records import Channel, McapRecord, Message, Schema, Statistics
from mcap.stream_reader import StreamReader

from graph_planner_ros.analysis.bag_writer import MAGIC, FileInfo, McapFile, Topic, write_metadata


@dataclass(frozen=True)
class RepairReport:
    """What a repair did: ``files`` are those that were rewritten; ``changed`` is False if the bag was in order."""

    changed: bool
    messages: int
    files: tuple[str, ...] = ()
    reason: str = ""


@dataclass
class BagSummary:
    """What is in a bag: seconds, messages by topic, and the files."""

    path: Path
    duration: float
    messages: int
    topics: dict[str, tuple[str, int]] = field(default_factory=dict)
    files: tuple[str, ...] = ()


def is_complete(path: Path) -> bool:
    """Return whether an MCAP file has its end."""
    if path.stat().st_size < 2 * len(MAGIC):
        return False
    with open(path, "rb") as file:
        file.seek(-len(MAGIC), 2)
        return file.read() == MAGIC


def repair_bag(folder: Path) -> RepairReport:
    """Recover every message that is on disk, rewrite the files that have no end, and write the metadata.

    Raises:
        FileNotFoundError: if there is no such bag. ValueError: if a file in it is no MCAP file.
    """
    paths = _mcap_files(folder)
    metadata = folder / "metadata.yaml"
    hashes = _type_hashes(metadata)
    listed = _listed_files(metadata)
    broken = [path for path in paths if not is_complete(path)]
    if not broken and listed == [path.name for path in paths] and _counts_agree(metadata, paths):
        return RepairReport(False, sum(_scan(path)[0].extent.count for path in paths), reason="the bag is in order")
    topics: dict[str, Topic] = {}
    infos = []
    for path in paths:
        if path in broken:
            _rewrite(path)
        info, found = _scan(path)
        infos.append(info)
        for name, topic in found.items():
            topics[name] = Topic(name, topic.type_name, topic.definition, hashes.get(name, ""), topic.qos)
    write_metadata(folder, infos, topics)
    names = tuple(path.name for path in broken)
    what = f"rewrote {', '.join(names)}" if names else "wrote the metadata anew"
    return RepairReport(True, sum(info.extent.count for info in infos), names, what)


def summarize_bag(folder: Path) -> BagSummary:
    """Return what is in a bag, from its metadata.

    Raises:
        FileNotFoundError: if there is no such bag. ValueError: if it must be repaired first.
    """
    paths = _mcap_files(folder)
    broken = [path.name for path in paths if not is_complete(path)]
    information = _information(folder / "metadata.yaml")
    if broken or not information:
        what = f"{', '.join(broken)} has no end" if broken else "it has no readable metadata.yaml"
        raise ValueError(f"the bag {folder} must be repaired first: {what}")
    topics = {
        entry["topic_metadata"]["name"]: (entry["topic_metadata"]["type"], entry["message_count"])
        for entry in information["topics_with_message_count"]
    }
    return BagSummary(
        path=folder,
        duration=information["duration"]["nanoseconds"] * 1e-9,
        messages=information["message_count"],
        topics=topics,
        files=tuple(information["relative_file_paths"]),
    )


def _mcap_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no bag {folder}")
    paths = sorted(folder.glob("*.mcap"), key=lambda path: [int(n) for n in re.findall(r"\d+", path.stem)] or [0])
    if not paths:
        raise FileNotFoundError(f"{folder} is no bag: there is no .mcap file in it")
    return paths


def _records(path: Path) -> Iterator[McapRecord]:
    """Yield the records of a file up to where it breaks off."""
    with open(path, "rb") as file:
        start = file.read(len(MAGIC))
        if start != MAGIC[: len(start)]:
            raise ValueError(f"{path} is no MCAP file")
        if len(start) < len(MAGIC):
            return
        file.seek(0)
        try:
            yield from StreamReader(file).records
        except (McapError, struct.error, UnicodeDecodeError, EOFError):
            return


def _scan(path: Path) -> tuple[FileInfo, dict[str, Topic]]:
    info = FileInfo(path.name)
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    topics: dict[str, Topic] = {}
    for record in _records(path):
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
            topics.setdefault(record.topic, _topic(record, schemas))
            info.counts.setdefault(record.topic, 0)
        elif isinstance(record, Message):
            info.extent.add(record.log_time)
            info.counts[channels[record.channel_id].topic] += 1
    return info, topics


def _topic(channel: Channel, schemas: dict[int, Schema]) -> Topic:
    schema = schemas[channel.schema_id]
    qos = yaml.safe_load(channel.metadata.get("offered_qos_profiles", "") or "[]") or []
    return Topic(channel.topic, schema.name, schema.data.decode(), qos=tuple(qos))


def _rewrite(path: Path) -> None:
    temporary = path.with_suffix(".mcap.new")
    temporary.unlink(missing_ok=True)
    target = McapFile(temporary)
    schemas: dict[int, Schema] = {}
    channels: dict[int, str] = {}
    try:
        for record in _records(path):
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel) and (record.schema_id in schemas or not record.schema_id):
                channels[record.id] = record.topic
                target.add_topic(_topic(record, schemas))
            elif isinstance(record, Message) and record.channel_id in channels:
                target.write(channels[record.channel_id], record.log_time, record.data)
                if target.pending > 2**20:
                    target.flush()
        target.close()
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _information(metadata: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(metadata.read_text())
        return dict(content["rosbag2_bagfile_information"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return {}


def _listed_files(metadata: Path) -> list[str]:
    return list(_information(metadata).get("relative_file_paths", []))


def _type_hashes(metadata: Path) -> dict[str, str]:
    entries = _information(metadata).get("topics_with_message_count", [])
    return {e["topic_metadata"]["name"]: e["topic_metadata"].get("type_description_hash", "") for e in entries}


def _counts_agree(metadata: Path, paths: list[Path]) -> bool:
    """Return whether the files hold as many messages as the metadata says."""
    counted = 0
    for path in paths:
        statistics = [record for record in _records(path) if isinstance(record, Statistics)]
        counted += statistics[-1].message_count if statistics else 0
    return bool(counted == _information(metadata).get("message_count"))
