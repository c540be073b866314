"""Camera messages that belong together, put together by their stamps. No rclpy here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class FrameAssembler:
    """Collects one message of each of ``kinds`` with the same stamp.

    Messages without a stamp are dropped; with ``stamp_on_arrival`` those that arrive one after the other, up to the
    next of the same kind, make a frame with the arrival time of the first.

    Attributes:
        kinds: what a frame needs. depth: how many incomplete frames are kept.
        dropped: number of messages without a stamp and of frames that stayed incomplete.
    """

    kinds: tuple[str, ...]
    stamp_on_arrival: bool = False
    depth: int = 5
    dropped: int = 0
    _frames: dict[float, dict[str, Any]] = field(default_factory=dict)
    _arrival: float | None = None
    _newest: float = float("-inf")

    def add(self, kind: str, stamp: float, message: Any, now: float) -> tuple[float, dict[str, Any]] | None:
        """Take a message and return stamp and messages of a frame that it completes.

        Args:
            stamp: seconds of ROS time from the message's header; 0: none.
            now: ROS time of arrival [s].
        """
        if stamp <= 0.0:
            if not self.stamp_on_arrival:
                self.dropped += 1
                return None
            if self._arrival is None or kind in self._frames.get(self._arrival, {}):
                self._arrival = now
            stamp = self._arrival
        if stamp <= self._newest:
            return None  # an older frame than one that is complete already
        frame = self._frames.setdefault(stamp, {})
        frame[kind] = message
        if all(name in frame for name in self.kinds):
            self._newest = stamp
            self._arrival = None
            for old in [key for key in self._frames if key <= stamp]:
                del self._frames[old]
            return stamp, frame
        while len(self._frames) > self.depth:
            oldest = min(self._frames)
            del self._frames[oldest]
            self.dropped += 1
        return None

    def clear(self) -> None:
        """Forget everything, for instance because time jumped back."""
        self._frames.clear()
        self._arrival = None
        self._newest = float("-inf")
