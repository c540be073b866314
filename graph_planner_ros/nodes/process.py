"""A node as a process: spinning it, its start, and its end in good order."""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable

import rclpy
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import TransitionCallbackReturn

from graph_planner_ros.nodes.base import ManagedNode, ParameterError

DELIVERY = 1.0
"""Longest wait at the end of a process for what it published to arrive [s of wall time]."""
ANSWER_DELIVERY = 0.5
"""Wait at the end of a process for an answer of an action to arrive [s of wall time]."""

BAD_PARAMETERS = (
    ParameterError,
    rclpy.exceptions.ParameterAlreadyDeclaredException,
    rclpy_implementation.RCLError,  # a file of parameters that cannot be read; the message names it
    rclpy_implementation.UnknownROSArgsError,
)
"""What goes wrong at the start of a node because of its arguments; a restart cannot help."""


class Spinner:
    """Spins one node on a thread; an exception in a callback is logged and counted, and the node goes on."""

    def __init__(self, node: ManagedNode) -> None:
        self.node = node
        self.executor = SingleThreadedExecutor(context=node.context)
        self.executor.add_node(node)
        self._stop = False
        self._thread = threading.Thread(target=self._spin, name="ros", daemon=True)

    def start(self) -> None:
        """Begin to spin."""
        self._thread.start()

    def stop(self) -> None:
        """Stop spinning and wait for the thread."""
        self.executor.create_task(self._set_stop)
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)
        self.executor.remove_node(self.node)
        self.executor.shutdown(timeout_sec=1.0)

    def _set_stop(self) -> None:
        self._stop = True

    def _spin(self) -> None:
        while not self._stop:
            try:
                self.executor.spin_once()
            except (ExternalShutdownException, ShutdownException):
                return
            except rclpy_implementation.InvalidHandle:
                continue  # something was destroyed between becoming ready and being taken
            except Exception:
                self.node.errors += 1
                self.node.get_logger().error(f"a callback failed:\n{traceback.format_exc()}")


def run_node(factory: Callable[[], ManagedNode], arguments: list[str] | None = None) -> int:
    """Run one node until SIGINT or SIGTERM and return the exit code of its process.

    0: ended on request. 1: could not be configured or activated at start. 2: bad parameters, named on stderr.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        rclpy.init(args=arguments, signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
        node = factory()
    except BAD_PARAMETERS as error:
        print(f"bad parameters: {' '.join(str(error).split())}", file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    spinner = Spinner(node)
    spinner.start()
    code = 0
    if node.value("autostart"):
        started = threading.Event()
        spinner.executor.create_task(_autostart, node, started)
        while not started.wait(0.2) and not stop.is_set():
            pass
        if node.fault:
            print(node.fault, file=sys.stderr)
            code = 1
            stop.set()
    stop.wait()
    _end(node, spinner)
    rclpy.try_shutdown()
    return code


def _end(node: ManagedNode, spinner: Spinner) -> None:
    """End what runs, let its last words arrive, then destroy everything."""
    owed = node.busy()
    _on_thread(spinner, node.end_work)
    limit = time.monotonic() + 5.0
    while node.busy() and time.monotonic() < limit:
        time.sleep(0.01)
    _deliver(node, owed)
    _on_thread(spinner, node.close)
    spinner.stop()
    node.destroy_node()


def _deliver(node: ManagedNode, owed: bool) -> None:
    """Wait until what was published has arrived: the middleware drops what is under way when its writer goes.

    Args:
        owed: whether an answer of an action or a service went out just now. Answers have no receipt that could be
            waited for, so these get a fixed time.
    """
    limit = time.monotonic() + DELIVERY
    for publisher in list(node.publishers):
        rest = max(0.01, limit - time.monotonic())
        try:
            publisher.wait_for_all_acked(Duration(seconds=rest))
        except (RuntimeError, rclpy_implementation.InvalidHandle):
            continue  # the middleware cannot say, or the publisher is gone
    if owed:
        time.sleep(ANSWER_DELIVERY)


def _on_thread(spinner: Spinner, function: Callable[[], None]) -> None:
    done = threading.Event()
    spinner.executor.create_task(_then_set, function, done)
    done.wait(10.0)


def _autostart(node: ManagedNode, started: threading.Event) -> None:
    try:
        if node.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            node.trigger_activate()
    finally:
        started.set()


def _then_set(function: Callable[[], None], done: threading.Event) -> None:
    try:
        function()
    finally:
        done.set()
