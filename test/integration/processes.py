"""Nodes as processes of their own, all of which end with the test."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent


class Processes:
    """Starts node modules, each in a process group of its own; `close` ends whatever is left.

    Args:
        check_fields: have rclpy check every field of every message; it takes 0.1 s for an image.
    """

    def __init__(self, domain_id: int, folder: Path, namespace: str = "", check_fields: bool = True) -> None:
        self.check_fields = check_fields
        self.domain_id, self.folder, self.namespace = domain_id, folder, namespace
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._count = 0

    def start(self, module: str, name: str, **parameters: Any) -> subprocess.Popen[bytes]:
        """Start a node of the package with parameters; its output goes to a file in the folder."""
        self._count += 1
        file = self.folder / f"{name}_{self._count}.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}) if parameters else "")
        command = [sys.executable, "-m", f"graph_planner_ros.{module}", "--ros-args"]
        command += ["--params-file", str(file)] if parameters else []
        command += ["-r", f"__ns:=/{self.namespace}"] if self.namespace else []
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        with (self.folder / f"{name}_{self._count}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                command,
                env={
                    **os.environ,
                    "ROS_DOMAIN_ID": str(self.domain_id),
                    "PYTHONPATH": path,
                    "ROS_PYTHON_CHECK_FIELDS": "1" if self.check_fields else "",
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.running[name]

    def kill(self, name: str) -> None:
        """End a node's whole group at once, as ``kill -9`` does."""
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, name: str, number: int = signal.SIGINT, timeout: float = 30.0) -> int:
        """End a node in good order and return its exit code."""
        process = self.running.pop(name)
        process.send_signal(number)
        try:
            return process.wait(timeout)
        finally:
            _kill_group(process)

    def output(self) -> str:
        """Everything that the nodes have said, for messages of failed tests."""
        return "\n".join(f"== {f.name}\n{f.read_text(errors='replace')}" for f in sorted(self.folder.glob("*.log")))

    def close(self) -> None:
        """End everything that still runs: first in good order, then for certain."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15.0)
            _kill_group(process)
        self.running.clear()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
