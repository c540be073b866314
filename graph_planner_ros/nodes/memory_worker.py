"""What the graph memory does, on a thread of its own: writes the running episode, looks things up. No rclpy here."""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GroundAction
from graph_planner_ros.memory.bank import LIMIT_STEPS, ExperienceBank
from graph_planner_ros.memory.bank_files import export_episodes, import_episodes
from graph_planner_ros.memory.bank_reports import BankStats
from graph_planner_ros.memory.episode_files import domain_hash
from graph_planner_ros.memory.episode_writer import EpisodeWriter
from graph_planner_ros.memory.experience import EpisodeHeader, EpisodeStatus, ExperienceStep, SceneEncoder
from graph_planner_ros.memory.retrieval import TAU, RetrievedAction, Retriever
from graph_planner_ros.memory.state_graph import Loop, StateGraph
from graph_planner_ros.planning.hypotheses import candidate_places
from graph_planner_ros.planning.looks import name_what_was_found
from graph_planner_ros.planning.supposing import Evidence, missing_things
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph

T = TypeVar("T")
FILES = (".jsonl", ".jsonl.gz")
"""Ends of the names of files of episodes."""


@dataclass(frozen=True)
class Recollection:
    """What memory says about a scene.

    Attributes:
        stamp: of the scene, seconds of ROS time. task_id: for which task it was asked; empty: for none.
        actions: remembered ones, best first. places: class of things -> place -> relevance 0..1.
        loop: the circle that the running episode goes in, if it does.
    """

    stamp: float
    task_id: str = ""
    actions: tuple[RetrievedAction, ...] = ()
    places: dict[str, dict[str, float]] = field(default_factory=dict)
    loop: Loop | None = None


@dataclass
class _Running:
    """The episode that is being written; ``last`` is the name of the action that ended last."""

    task_id: str
    goals: tuple[Goal, ...]
    header: EpisodeHeader
    writer: EpisodeWriter | None = None
    steps: int = 0
    before: SceneGraph | None = None
    action: GroundAction | None = None
    outcome: bool | None = None
    revision: int = -1
    last: str = ""


class MemoryWorker:
    """Keeps the bank. All methods return at once, and what they promise comes as a `Future`, in the order of the calls.

    Args:
        domain: of the episodes. encoder: of scenes. path: of the bank. origin: the robot's name.
        tau: cosine distance up to which experience fits. count: remembered actions in an advice.
        limit_steps: steps that the bank keeps at most. on_error: is told what went wrong.
    """

    def __init__(
        self,
        domain: Domain,
        encoder: SceneEncoder,
        path: Path,
        *,
        origin: str = "",
        tau: float = TAU,
        count: int = 3,
        limit_steps: int = LIMIT_STEPS,
        on_error: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.domain = domain
        self.path = path
        self._origin = origin
        self._count = count
        self._on_error = on_error
        self._encoder = encoder
        self.bank = ExperienceBank.open(path, domain, encoder, limit_steps=limit_steps)
        self._retriever = Retriever(domain, self.bank, encoder, tau)
        self._graph = StateGraph(domain)
        self._running: _Running | None = None
        self._loop: Loop | None = None
        self._ahead: Iterator[None] | None = self._read_ahead()
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="graph memory", daemon=True)
        self._thread.start()

    # ---- from any thread

    def begin(self, task_id: str, instruction: str, goals: Sequence[Goal]) -> Future[None]:
        """A task began; the one before it, if it has not ended, was interrupted."""
        return self._do(lambda: self._begin(task_id, instruction, tuple(goals)))

    def next_step(self, task_id: str, revision: int, action: GroundAction, scene: SceneGraph) -> Future[Recollection]:
        """An action of a plan is about to be carried out in a scene; return what memory says."""
        return self._do(lambda: self._next_step(task_id, revision, action, scene))

    def ended_step(self, task_id: str, revision: int, succeeded: bool) -> Future[None]:
        """That action ended."""
        return self._do(lambda: self._ended_step(task_id, revision, succeeded))

    def finish(self, task_id: str, status: EpisodeStatus, reason: str, scene: SceneGraph | None) -> Future[None]:
        """The task ended; ``scene`` is what is believed then."""
        return self._do(lambda: self._finish(task_id, status, reason, scene))

    def recall(
        self, scene: SceneGraph, goals: Sequence[Goal] = (), count: int = 0, task_id: str = ""
    ) -> Future[Recollection]:
        """Look up what past episodes say about a scene; without goals, about those of the running task."""
        return self._do(lambda: self._recall(scene, tuple(goals), count, task_id))

    def save(self, path: Path) -> Future[int]:
        """Write all ended episodes to a file; return how many."""
        return self._do(lambda: self._save(path))

    def load(self, path: Path) -> Future[int]:
        """Take over episodes from a file or another bank; return how many are new."""
        return self._do(lambda: self._load(path))

    def statistics(self) -> Future[BankStats]:
        """Return what the bank holds."""
        return self._do(self.bank.stats)

    def state_graph(self) -> Future[StateGraph]:
        """Return a copy of the running episode's graph."""
        return self._do(lambda: copy.copy(self._graph))

    def close(self, timeout: float = 5.0) -> None:
        """Do what was asked for so far, interrupt the running episode, and close the bank."""
        self._do(self._interrupt)
        self._do(self.bank.close)
        self._jobs.put(None)
        self._thread.join(timeout)

    # ---- on the worker's thread

    def _do(self, job: Callable[[], T]) -> Future[T]:
        promise: Future[T] = Future()
        self._jobs.put((promise, job))
        return promise

    def _work(self) -> None:
        while (item := self._next_job()) is not None:
            promise, job = item
            try:
                promise.set_result(job())
            except Exception as error:  # whoever asked is told, and the next job is done all the same
                self._on_error(f"{type(error).__name__}: {error}")
                promise.set_exception(error)

    def _next_job(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        """Wait for the next job; as long as there is none, read what later ones will need."""
        while self._ahead is not None:
            with contextlib.suppress(queue.Empty):
                return self._jobs.get_nowait()
            try:
                next(self._ahead)
            except StopIteration:
                self._ahead = None
            except Exception as error:
                self._ahead = None
                self._on_error(f"reading ahead: {type(error).__name__}: {error}")
        return self._jobs.get()

    def _read_ahead(self) -> Iterator[None]:
        self.bank.warm_up()
        yield
        yield from self._retriever.warm_up()

    def _begin(self, task_id: str, instruction: str, goals: tuple[Goal, ...]) -> None:
        running = self._running
        if running is not None and running.task_id == task_id:
            if goals:  # they may become known after the first plan, or become more
                running.goals, running.header = goals, replace(running.header, goals=goals)
            return
        self._interrupt()
        header = EpisodeHeader(
            uuid.uuid4().hex,
            self.domain.name,
            domain_hash(self.domain),
            instruction,
            goals,
            self._origin,
            started=time.time(),
        )
        self._running = _Running(task_id, goals, header)
        self._graph.reset()
        self._loop = None

    def _interrupt(self) -> None:
        if self._running is not None:
            self._finish(self._running.task_id, EpisodeStatus.INTERRUPTED, "another task or the end came first", None)

    def _next_step(self, task_id: str, revision: int, action: GroundAction, scene: SceneGraph) -> Recollection:
        running = self._running
        if running is not None and running.task_id == task_id and revision > running.revision:
            self._write_step(running, scene)
            running.before, running.action = copy.deepcopy(scene), action
            running.outcome, running.revision = None, revision
            embedding = self._encoder.encode([scene])[0]
            self._loop = self._graph.observe(embedding, scene)
        return self._recall(scene, (), 0, task_id)

    def _ended_step(self, task_id: str, revision: int, succeeded: bool) -> None:
        running = self._running
        if running is None or running.task_id != task_id or running.revision != revision or running.action is None:
            return
        running.outcome, running.last = succeeded, running.action.name
        self._graph.acted(running.action)

    def _write_step(self, running: _Running, after: SceneGraph | None) -> None:
        """Write the step before, now that it shows what came of it; one without an end was given up."""
        if running.before is None or running.action is None or running.outcome is None:
            return
        action, succeeded = running.action, running.outcome
        if after is not None and succeeded:
            action, succeeded = name_what_was_found(self.domain, running.before, after, action)
        step = ExperienceStep(running.steps, running.before.stamp, running.before, action, succeeded)
        self._writer(running).add(step)
        running.steps += 1
        running.before = running.action = None

    def _writer(self, running: _Running) -> EpisodeWriter:
        if running.writer is None:
            running.writer = self.bank.begin(running.header)
        return running.writer

    def _finish(self, task_id: str, status: EpisodeStatus, reason: str, scene: SceneGraph | None) -> None:
        running = self._running
        if running is None or running.task_id != task_id:
            return
        self._running = None
        self._write_step(running, scene)
        if running.writer is None:  # nothing was done, so there is nothing to remember
            return
        if scene is not None:
            running.writer.add(ExperienceStep(running.steps, scene.stamp, copy.deepcopy(scene)))
        running.writer.finish(status, reason)

    def _recall(self, scene: SceneGraph, goals: tuple[Goal, ...], count: int, task_id: str) -> Recollection:
        running = self._running
        if not goals and running is not None:
            goals = running.goals
        state = symbolic_state(scene, self.domain)
        here = running.header.episode_id if running is not None else None
        last = running.last if running is not None else None
        actions = self._retriever.retrieve(
            scene, state, goals, count=count or self._count, exclude_episode=here, before=last
        )
        labels = {name: node.label for name, node in scene.nodes.items()}
        evidence = Evidence(now=scene.stamp, labels=labels)
        candidates = {place: labels[place] for place in candidate_places(self.domain, state) if place in labels}
        missing = {item.class_name for goal in goals for item in missing_things(self.domain, state, goal, evidence)}
        places = {label: dict(self._retriever.places(scene, goals, label, candidates)) for label in sorted(missing)}
        return Recollection(
            scene.stamp,
            task_id or (running.task_id if running is not None else ""),
            tuple(actions),
            {label: found for label, found in places.items() if found},
            self._loop,
        )

    def _save(self, path: Path) -> int:
        if not path.name.endswith(FILES):
            raise ValueError(f"{path}: expected a name that ends in {' or '.join(FILES)}")
        if path.exists():
            raise FileExistsError(f"{path} exists already and is not overwritten")
        return export_episodes(self.bank, path)

    def _load(self, path: Path) -> int:
        if path.name.endswith(FILES):
            return import_episodes(self.bank, [path]).added
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        with ExperienceBank.open(path, None, None, read_only=True) as other:
            return self.bank.merge(other).added
