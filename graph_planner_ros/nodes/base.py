"""What all nodes share: life cycle, parameters with descriptors, diagnostics, clean ends.

Callbacks of a node run on one executor thread and never block. Whatever takes time (planning, perception, physics)
runs on a thread of the node's own; `ManagedNode.on_executor` brings a result back to the executor thread.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidParameterException, InvalidParameterTypeException, InvalidParameterValueException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""State that a late subscriber must get: scene graph, plan, goal status."""
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)
"""Events, of which none may be lost."""
KEPT = QoSProfile(depth=20, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Events that a node which was restarted must hear of afterwards; who subscribes with `RELIABLE` hears the new ones."""
IMAGES = QoSProfile(depth=2, reliability=ReliabilityPolicy.RELIABLE)
"""Images of a camera that offers them reliably; who subscribes with `SENSOR` gets them too."""
SENSOR = qos_profile_sensor_data
"""Streams in which only the newest counts."""
TRANSFORMS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For readers of ``/tf``: whatever its writers offer is taken. A lost pose matters less than those after it, which a
reliable reader gets only once the lost one was sent again; in between it is interpolated."""

ALWAYS_ALLOWED = ("use_sim_time", "start_type_description_service", "qos_overrides.")
"""Parameters that rclpy itself declares, or whose names begin so."""

MOST_WARNINGS = 500
"""So many different warnings a node logs; who sends it nonsense that is always new must not fill the disk."""


def take_all(subscription: Any, most: int) -> Iterator[Any]:
    """Yield the messages, at most ``most``, that wait behind the one in whose callback this is called."""
    for _ in range(most):
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if taken is None:
            return
        yield taken[0]


class ParameterError(ValueError):
    """Parameters that were given and cannot be used; the message names each of them."""


@dataclass(frozen=True)
class Param:
    """A parameter: its default gives the type; numbers may have bounds, strings may have choices.

    A parameter that is not ``dynamic`` is read when the node is configured and can only be changed before that.
    """

    name: str
    default: Any
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    dynamic: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Return the ROS descriptor with the description and the range."""
        descriptor = ParameterDescriptor(description=self.description)
        if self.choices:
            descriptor.additional_constraints = "one of: " + ", ".join(self.choices)
        if self.minimum is None and self.maximum is None:
            return descriptor
        low = self.minimum if self.minimum is not None else -1e9
        high = self.maximum if self.maximum is not None else 1e9
        if isinstance(self.default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=0)]
        else:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)
            ]
        return descriptor

    def problem(self, value: Any) -> str:
        """Return why ``value`` is not acceptable, or an empty string."""
        if isinstance(value, float) and not math.isfinite(value):
            return f"parameter '{self.name}' is {value}; expected a finite number"
        if self.choices and value not in self.choices:
            return f"parameter '{self.name}' is '{value}'; expected one of: {', '.join(self.choices)}"
        return ""


class ManagedNode(LifecycleNode):
    """A lifecycle node whose subclasses say what to do at each transition.

    Subclasses override ``configure``, ``activate``, ``deactivate``, ``release`` and ``diagnose``. An exception in
    ``configure`` or ``activate`` refuses the transition and is logged with its message. After a release the node can be
    configured again.
    """

    def __init__(self, name: str, parameters: Sequence[Param], **options: Any) -> None:
        super().__init__(name, **options)
        self._params = {
            p.name: p
            for p in (
                Param("autostart", True, "configure and activate at start, without a lifecycle manager"),
                Param("diagnostics_period", 1.0, "seconds of wall time between diagnostics", 0.05, 60.0),
                *parameters,
            )
        }
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.active = False
        self.fault = ""
        self.errors = 0
        self._warned: set[str] = set()
        self._declare_all()
        self.add_on_set_parameters_callback(self._check_parameters)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._diagnostics_timer = self.create_timer(
            self.value("diagnostics_period"), self._publish_diagnostics, clock=self.steady_clock
        )

    # ---- for subclasses

    def configure(self) -> None:
        """Read parameters, load models, create interfaces."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Stop working and end whatever runs; called before a release too."""

    def release(self) -> None:
        """Destroy what `configure` created; must also do after a `configure` that failed half-way."""

    def busy(self) -> bool:
        """Return whether somebody still waits for an answer; the end of the process waits a moment for it."""
        return False

    def diagnose(self) -> tuple[Any, str, dict[str, Any]]:
        """Return level (a constant of DiagnosticStatus), a sentence and values."""
        return DiagnosticStatus.OK, "ready" if self.active else "not active", {}

    # ---- helpers

    def value(self, name: str) -> Any:
        """Return the present value of a parameter."""
        return self.get_parameter(name).value

    def now(self) -> float:
        """Return ROS time in seconds; simulated time if `use_sim_time` is set."""
        return float(self.get_clock().now().nanoseconds) * 1e-9

    def warn_once(self, key: str, text: str) -> None:
        """Log a warning, but only the first time for this ``key``."""
        if key in self._warned or len(self._warned) > MOST_WARNINGS:
            return
        self._warned.add(key)
        self.get_logger().warning(text if len(self._warned) <= MOST_WARNINGS else "further warnings are left out")

    def on_executor(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call ``function`` on the executor thread; may be called from any thread."""
        executor = self.executor
        if executor is not None:
            executor.create_task(function, *arguments)

    def destroy_all(self, entities: Iterable[Any]) -> None:
        """Destroy publishers, subscriptions, timers, clients, services, action clients and servers."""
        for entity in entities:
            kind = type(entity).__name__
            if kind in ("ActionServer", "ActionClient"):
                entity.destroy()
            elif kind in ("Publisher", "LifecyclePublisher"):
                self.destroy_publisher(entity)
            elif kind == "Subscription":
                self.destroy_subscription(entity)
            elif kind == "Timer":
                self.destroy_timer(entity)
            elif kind == "Client":
                self.destroy_client(entity)
            else:
                self.destroy_service(entity)

    # ---- parameters

    def _declare_all(self) -> None:
        problems = []
        for param in self._params.values():
            try:
                given = self.declare_parameter(param.name, param.default, param.descriptor()).value
            except (InvalidParameterException, InvalidParameterTypeException, InvalidParameterValueException) as error:
                problems.append(f"parameter '{param.name}': {error}")
                continue
            problem = param.problem(given)
            if problem:
                problems.append(problem)
        for name in getattr(self, "_parameter_overrides", {}):
            if name not in self._params and not name.startswith(ALWAYS_ALLOWED):
                problems.append(f"parameter '{name}' is not known here; known: {', '.join(sorted(self._params))}")
        if problems:
            raise ParameterError("; ".join(problems))

    def _check_parameters(self, parameters: list[RosParameter]) -> SetParametersResult:
        for parameter in parameters:
            known = self._params.get(parameter.name)
            if known is None:
                continue
            problem = known.problem(parameter.value)
            if not problem and not known.dynamic and self._state_label() not in ("unconfigured", "unknown"):
                problem = (
                    f"parameter '{known.name}' can only be changed while the node is unconfigured "
                    f"(it is {self._state_label()})"
                )
            if problem:
                return SetParametersResult(successful=False, reason=problem)
        return SetParametersResult(successful=True)

    def _state_label(self) -> str:
        return str(self._state_machine.current_state[1])

    # ---- life cycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure; a failure leaves the node unconfigured with its reason in the log and the diagnostics."""
        try:
            self.configure()
        except Exception as error:
            self._refuse("configure", error)
            self._quietly(self.release)
            return TransitionCallbackReturn.FAILURE
        self.fault = ""
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate; a failure leaves the node inactive."""
        outcome = super().on_activate(state)
        try:
            self.activate()
        except Exception as error:
            self._refuse("activate", error)
            return TransitionCallbackReturn.FAILURE
        self.fault = ""
        self.active = True
        return outcome

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate: whatever runs is ended."""
        self.active = False
        self._quietly(self.deactivate)
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything, so that the node can be configured anew."""
        self._quietly(self.release)
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End for good."""
        self.close()
        return super().on_shutdown(state)

    def end_work(self) -> None:
        """End whatever runs, if the node is active; interfaces stay, so that results can still be sent."""
        if self.active:
            self.active = False
            self._quietly(self.deactivate)

    def close(self) -> None:
        """End whatever runs and release everything, whatever state the node is in."""
        self.end_work()
        self._quietly(self.release)

    def _refuse(self, transition: str, error: Exception) -> None:
        self.fault = f"cannot {transition}: {error or type(error).__name__}"
        self.get_logger().error(self.fault)
        self.get_logger().debug(traceback.format_exc())

    def _quietly(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:
            self.errors += 1
            self.get_logger().error(f"while ending: {error}\n{traceback.format_exc()}")

    # ---- diagnostics

    def _publish_diagnostics(self) -> None:
        level, message, values = self.diagnose()
        if self.fault:
            level, message = DiagnosticStatus.ERROR, self.fault
        values = {"state": self._state_label(), "errors": self.errors, **values}
        status = DiagnosticStatus(
            level=level,
            name=self.get_fully_qualified_name(),
            message=message,
            hardware_id="",
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
