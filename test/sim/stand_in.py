"""A robot for tests of the world alone."""

from __future__ import annotations


class StandIn:
    """Stands for the robot: the world asks it what it holds."""

    def __init__(self) -> None:
        self.held_body: str | None = None
        self.slip_next = False
        self.pose = (0.0, 0.0, 0.0)

    def release(self) -> None:
        self.held_body = None
