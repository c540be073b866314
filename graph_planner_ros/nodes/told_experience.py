"""Experience as the graph memory tells the planner: by topic during a task, by service before its first plan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from graph_planner_ros import msg as messages
from graph_planner_ros import srv as services
from graph_planner_ros.conversions import goal_to_msg, graph_to_msg, places_from_msg, remembered_from_msg
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import is_applicable
from graph_planner_ros.domain.symbols import Goal, SymbolicState
from graph_planner_ros.memory.retrieval import RetrievedAction
from graph_planner_ros.nodes.base import LATCHED, ManagedNode
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.scene.graph import SceneGraph


class ToldExperience:
    """The newest advice of the graph memory; `planning.advice.Experience` for any thread.

    Without a memory there is no advice, and planning goes on as ever.

    Args:
        node: whose interfaces are used. domain: of its plans.
        timeout: longest wait for the memory before the first plan of a task, seconds of wall time; 0: no wait.

    Attributes:
        entities: subscription and client, which the node destroys.
    """

    def __init__(self, node: ManagedNode, domain: Domain, timeout: float) -> None:
        self._domain, self._timeout = domain, timeout
        self._lock = threading.Lock()
        self._actions: tuple[RetrievedAction, ...] = ()
        self._places: dict[str, dict[str, float]] = {}
        self._client = node.create_client(services.RetrieveExperience, "retrieve_experience")
        self.entities = (
            node.create_subscription(messages.MemoryAdvice, "memory/advice", self._take, LATCHED),
            self._client,
        )

    def advice(self) -> Advice:
        """Return a new task's advice."""
        return Advice(self._domain, self)

    def ask(self, scene: SceneGraph, goals: Sequence[Goal], cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Ask the memory about a task that begins, on the task's thread; return whether it answered in time.

        What was told for the task before is forgotten.
        """
        with self._lock:
            self._actions, self._places = (), {}
        if self._timeout <= 0.0 or not self._client.service_is_ready():
            return False
        request = services.RetrieveExperience.Request(
            scene_graph=graph_to_msg(scene), goals=[goal_to_msg(goal) for goal in goals]
        )
        answered = threading.Event()
        future = self._client.call_async(request)
        future.add_done_callback(lambda _: answered.set())
        left = self._timeout
        while not answered.wait(min(0.05, left)) and not cancelled():
            left -= 0.05
            if left <= 0.0:
                break
        if not answered.is_set():
            self._client.remove_pending_request(future)
            return False
        response = future.result()
        if response is None or not response.success:
            return False
        self._take(response.advice)
        return True

    def places(
        self, scene: SceneGraph, goals: Sequence[Goal], class_name: str, candidates: Mapping[str, str]
    ) -> dict[str, float]:
        """Return candidate place -> relevance; see `planning.advice.Experience`."""
        with self._lock:
            known = self._places.get(class_name, {})
            return {place: known[place] for place in candidates if place in known}

    def retrieve(
        self,
        scene: SceneGraph,
        state: SymbolicState,
        goals: Sequence[Goal],
        *,
        count: int,
        before: str | None = None,
    ) -> list[RetrievedAction]:
        """Return what was told and applies; see `planning.advice.Experience`. The memory knows itself what was done."""
        with self._lock:
            actions = self._actions
        return [item for item in actions if is_applicable(self._domain, state, item.action)][:count]

    def _take(self, message: messages.MemoryAdvice) -> None:
        known = [item for item in message.actions if item.action.action in self._domain.actions]
        places = {
            label: found for label, found in places_from_msg(message.places).items() if label in self._domain.classes
        }
        with self._lock:
            self._actions = tuple(remembered_from_msg(item) for item in known)
            self._places = places
