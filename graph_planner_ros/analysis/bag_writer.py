"""Writes rosbag2 bags (MCAP) that can be read at any moment, also after the writing process was killed.

Every flush writes the new messages together with a complete end of the file (summary and footer) in one call, and the
next flush overwrites that end. ``metadata.yaml`` is replaced atomically. What a kill can cost are the messages since
the last flush; if it strikes within the write itself, `bag_repair` recovers the rest.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Message,
    MessageIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

MAGIC = b"\x89MCAP0\r\n"
LIBRARY = "graph_planner_ros"
METADATA_VERSION = 9
MAX_PENDING = 64 * 2**20
"""Bytes that are kept while the disk refuses to take them; more are lost."""


@dataclass(frozen=True)
class Topic:
    """A recorded topic.

    Attributes:
        type_name: e.g. ``std_msgs/msg/Bool``.
        definition: text of the message definition with all that it depends on.
        type_hash: RIHS01 hash, or empty if unknown.
        qos: offered QoS profiles in the form of rosbag2's metadata, version 9.
    """

    name: str
    type_name: str
    definition: str
    type_hash: str = ""
    qos: tuple[Mapping[str, Any], ...] = ()


@dataclass
class Extent:
    """Number of messages and their first and last time [ns since the epoch]."""

    count: int = 0
    start: int = 0
    end: int = 0

    def add(self, stamp: int) -> None:
        """Count one message."""
        self.start = min(self.start, stamp) if self.count else stamp
        self.end = max(self.end, stamp) if self.count else stamp
        self.count += 1

    def merged(self, other: Extent) -> Extent:
        """Return the extent of both together."""
        if not self.count or not other.count:
            return other if other.count else self
        return Extent(self.count + other.count, min(self.start, other.start), max(self.end, other.end))


@dataclass
class FileInfo:
    """What the metadata says of one file: its extent, and messages by topic."""

    name: str
    extent: Extent = field(default_factory=Extent)
    counts: dict[str, int] = field(default_factory=dict)


class McapFile:
    """One MCAP file that is complete after every flush."""

    def __init__(self, path: Path) -> None:
        self.info = FileInfo(path.name)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self._position = 0  # where the data ends and the summary begins
        self._schemas: dict[str, Schema] = {}
        self._channels: dict[str, Channel] = {}
        self._counts: dict[int, int] = {}
        self._chunk_indexes: list[ChunkIndex] = []
        self._begin_chunk()
        try:
            self._write_out(MAGIC + _encode(Header(profile="ros2", library=LIBRARY)))
        except OSError:
            os.close(self._descriptor)
            path.unlink(missing_ok=True)  # so that it can be tried again
            raise

    @property
    def size(self) -> int:
        """Bytes of data, pending ones included."""
        return self._position + self._records.count

    @property
    def pending(self) -> int:
        """Bytes that are not on disk yet."""
        return int(self._records.count)

    def add_topic(self, topic: Topic) -> None:
        """Make a topic known; one that is known already is left as it is."""
        if topic.name in self._channels:
            return
        schema = self._schemas.get(topic.type_name)
        if schema is None:
            schema = Schema(len(self._schemas) + 1, topic.definition.encode(), "ros2msg", topic.type_name)
            self._schemas[topic.type_name] = schema
            schema.write(self._records)
        qos = yaml.safe_dump([dict(profile) for profile in topic.qos], sort_keys=False).strip()
        channel = Channel(len(self._channels) + 1, topic.name, "cdr", {"offered_qos_profiles": qos}, schema.id)
        self._channels[topic.name] = channel
        self._counts[channel.id] = 0
        self.info.counts[topic.name] = 0
        channel.write(self._records)

    def write(self, name: str, stamp: int, data: bytes) -> bool:
        """Append one serialised message; False if it had to be dropped because the disk takes no more."""
        if self._records.count + len(data) > MAX_PENDING:
            return False
        identity = self._channels[name].id
        self._index.setdefault(identity, []).append((stamp, self._records.count))
        sequence = self._counts[identity] & 0xFFFFFFFF
        Message(identity, stamp, data, stamp, sequence).write(self._records)
        self._pending.add(stamp)
        self._counts[identity] += 1
        self.info.counts[name] += 1
        self.info.extent.add(stamp)
        return True

    def flush(self) -> None:
        """Put everything on disk as a complete file; after an OSError the call may be repeated."""
        if self._records.count:
            self._write_out(self._encode_chunk())

    def close(self) -> None:
        """Flush and close."""
        try:
            self.flush()
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

    def _begin_chunk(self) -> None:
        self._records = RecordBuilder()
        self._pending = Extent()
        self._index: dict[int, list[tuple[int, int]]] = {}

    def _encode_chunk(self) -> bytes:
        data = _take(self._records)
        self._records.write(data)  # kept until it is on disk
        pending = self._pending
        chunk = _encode(Chunk("", data, pending.end, pending.start, 0, len(data)))
        offsets, indexes = {}, b""
        for identity, records in self._index.items():
            offsets[identity] = self._position + len(chunk) + len(indexes)
            indexes += _encode(MessageIndex(identity, records))
        self._next_index = ChunkIndex(
            chunk_length=len(chunk),
            chunk_start_offset=self._position,
            compression="",
            compressed_size=len(data),
            message_end_time=pending.end,
            message_index_length=len(indexes),
            message_index_offsets=offsets,
            message_start_time=pending.start,
            uncompressed_size=len(data),
        )
        return chunk + indexes

    def _write_out(self, body: bytes) -> None:
        new = [self._next_index] if self._records.count else []
        content = body + self._encode_end(self._position + len(body), [*self._chunk_indexes, *new])
        written = 0
        while written < len(content):
            written += os.pwrite(self._descriptor, content[written:], self._position + written)
        os.ftruncate(self._descriptor, self._position + len(content))
        self._position += len(body)
        self._chunk_indexes += new
        self._begin_chunk()

    def _encode_end(self, position: int, chunk_indexes: list[ChunkIndex]) -> bytes:
        extent = self.info.extent
        statistics = Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=len(chunk_indexes),
            message_count=extent.count,
            message_end_time=extent.end,
            message_start_time=extent.start,
            metadata_count=0,
            schema_count=len(self._schemas),
        )
        groups: list[tuple[Opcode, list[McapRecord]]] = [
            (Opcode.SCHEMA, list(self._schemas.values())),
            (Opcode.CHANNEL, list(self._channels.values())),
            (Opcode.STATISTICS, [statistics]),
            (Opcode.CHUNK_INDEX, list(chunk_indexes)),
        ]
        end = _encode(DataEnd(0))
        summary_start = position + len(end)
        offsets = b""
        for opcode, records in groups:
            start = position + len(end)
            encoded = b"".join(_encode(record) for record in records)
            if encoded:
                end += encoded
                offsets += _encode(SummaryOffset(int(opcode), start, len(encoded)))
        return end + offsets + _encode(Footer(summary_start, position + len(end), 0)) + MAGIC


def _encode(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    return _take(builder)


def _take(builder: RecordBuilder) -> bytes:
    return bytes(builder.end())


class BagWriter:
    """A bag: a folder of MCAP files that follow one another, and their metadata.

    Args:
        folder: is created; must not exist.
        split_size: bytes after which the next file is begun; 0: never.
        split_duration: seconds after which the next file is begun; 0: never.
    """

    def __init__(self, folder: Path, split_size: int = 0, split_duration: float = 0.0) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.topics: dict[str, Topic] = {}
        self.dropped = 0
        self._split_size, self._split_duration = split_size, split_duration
        self._finished: list[FileInfo] = []
        self._file = self._next_file(0)
        self.flush()

    @property
    def messages(self) -> int:
        """Number of messages so far."""
        return sum(info.extent.count for info in self._files())

    def add_topic(self, topic: Topic) -> None:
        """Make a topic known."""
        self.topics.setdefault(topic.name, topic)
        self._file.add_topic(self.topics[topic.name])

    def write(self, name: str, stamp: int, data: bytes) -> None:
        """Append one serialised message of a known topic; ``stamp`` in ns since the epoch."""
        extent = self._file.info.extent
        too_long = self._split_duration > 0 and extent.count and stamp - extent.start >= self._split_duration * 1e9
        too_large = self._split_size > 0 and extent.count and self._file.size + len(data) > self._split_size
        if too_long or too_large:
            # a disk that takes nothing now may do so later; until then the file grows, and nothing is lost for that
            with contextlib.suppress(OSError):
                self._split()
        if not self._file.write(name, stamp, data):
            self.dropped += 1

    def flush(self) -> None:
        """Put everything on disk, readable."""
        self._file.flush()
        write_metadata(self.folder, self._files(), self.topics)

    def close(self) -> None:
        """Flush and close."""
        self._file.close()
        write_metadata(self.folder, self._files(), self.topics)

    def _files(self) -> list[FileInfo]:
        return [*self._finished, self._file.info]

    def _next_file(self, number: int) -> McapFile:
        return McapFile(self.folder / f"{self.folder.name}_{number}.mcap")

    def _split(self) -> None:
        self._file.flush()
        following = self._next_file(len(self._finished) + 1)
        finished, self._file = self._file, following
        self._finished.append(finished.info)
        for topic in self.topics.values():
            self._file.add_topic(topic)
        finished.close()


def write_metadata(folder: Path, files: list[FileInfo], topics: Mapping[str, Topic]) -> None:
    """Write ``metadata.yaml`` of rosbag2, version 9, in one step."""
    total = Extent()
    for info in files:
        total = total.merged(info.extent)
    content = {
        "rosbag2_bagfile_information": {
            "version": METADATA_VERSION,
            "storage_identifier": "mcap",
            "duration": {"nanoseconds": total.end - total.start},
            "starting_time": {"nanoseconds_since_epoch": total.start},
            "message_count": total.count,
            "topics_with_message_count": [
                {
                    "topic_metadata": {
                        "name": topic.name,
                        "type": topic.type_name,
                        "serialization_format": "cdr",
                        "offered_qos_profiles": [dict(profile) for profile in topic.qos],
                        "type_description_hash": topic.type_hash,
                    },
                    "message_count": sum(info.counts.get(topic.name, 0) for info in files),
                }
                for topic in topics.values()
            ],
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [info.name for info in files],
            "files": [
                {
                    "path": info.name,
                    "starting_time": {"nanoseconds_since_epoch": info.extent.start},
                    "duration": {"nanoseconds": info.extent.end - info.extent.start},
                    "message_count": info.extent.count,
                }
                for info in files
            ],
            "custom_data": None,
            "ros_distro": "jazzy",
        }
    }
    temporary = folder / ".metadata.yaml.new"
    temporary.write_text(yaml.safe_dump(content, sort_keys=False))
    temporary.replace(folder / "metadata.yaml")
