"""The agent that plays text worlds with MemPlan: it reads, believes, plans, says a command, and reads again.

It knows no world: what a world's words mean is in the domain's folder. No language model is asked.
"""

from __future__ import annotations

import copy
import random
import time
from dataclasses import asdict, replace
from pathlib import Path

from graph_planner_ros.benchmarks.worlds.banks import open_experience
from graph_planner_ros.benchmarks.worlds.believing import TextBelief
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus, Observation
from graph_planner_ros.benchmarks.worlds.hands import Ending, Hands
from graph_planner_ros.benchmarks.worlds.options import AgentOptions, NoGrounder, NoParser, make_planner
from graph_planner_ros.benchmarks.worlds.recording import Observer
from graph_planner_ros.benchmarks.worlds.records import EXPLORE, EpisodeRecord, StepRecord
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal, is_relative
from graph_planner_ros.domain.symbols import Atom, GroundAction
from graph_planner_ros.language.interface import (
    Cautious,
    CommandGrounder,
    Context,
    Grounding,
    ObservationParser,
    ParsedObservation,
)
from graph_planner_ros.language.learning import LearnedGoals
from graph_planner_ros.planning.advice import Experience
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import find_arguments
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.prior import Prior, domain_prior
from graph_planner_ros.planning.result import PlannedStep, TaskStatus
from graph_planner_ros.planning.session import Decision, DecisionKind, TaskSession
from graph_planner_ros.skills.result import SkillResult, SkillStatus

MAX_EXPLORED = 8
"""Commands for exploring without news, after which planning is tried again."""
MAX_IDLE = 40
"""Turns in a row without a command, after which the agent explores; a loop without end is a fault of the domain."""


class TextAgent:
    """Plays games; one after the other, each with a new belief and new memories.

    Args:
        domain: of the world. parser, grounder: between its words and the domain's symbols.
        options: what to leave out. engine: of planning; made after the options if left out.

    Attributes:
        observer: is told what is done in the next games.
        experience: advises the planner; opened from the options' bank when first needed.
    """

    def __init__(
        self,
        domain: Domain,
        parser: ObservationParser,
        grounder: CommandGrounder,
        options: AgentOptions | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.domain = domain
        self.observer: Observer | None = None
        self.experience: Experience | None = None
        self.options = options or AgentOptions()
        self._parser = parser if self.options.parser else NoParser(parser)
        self._grounder = grounder if self.options.grounder else NoGrounder(grounder)
        self._engine = engine
        self._habits: Prior | None = None

    def play(self, game: Game, spec: GameSpec) -> EpisodeRecord:
        """Play a game to its end or to the limit of steps; the game is not closed.

        Raises:
            WorldUnavailableError, EngineMissingError: something is not installed.
        """
        return self.play_and_tell(game, spec)[0]

    def play_and_tell(self, game: Game, spec: GameSpec) -> tuple[EpisodeRecord, TextBelief]:
        """Play like `play`, and return what is believed at the end as well."""
        if self.options.keep_memory and self._habits is None:
            self._habits = copy.deepcopy(domain_prior(self.domain)) or Prior()
        if self.options.bank and self.experience is None:
            self.experience = open_experience(self.domain, Path(self.options.bank))
        planner = make_planner(self.domain, self.options, self._engine, self._habits, self.experience)
        self._engine = planner.engine
        episode = _Episode(self.domain, self._parser, self._grounder, self.options, planner, game, spec)
        episode.observer = self.observer
        record = episode.run()
        if self._habits is not None:
            episode.belief.count_places(self._habits)
        return record, episode.belief


class _Clock:
    """Measures from when it is made: seconds of wall time, and of this process on the processor."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        return time.perf_counter() - self._started[0]

    @property
    def cpu(self) -> float:
        return time.process_time() - self._started[1]


class _Episode:
    """One game being played."""

    def __init__(
        self,
        domain: Domain,
        parser: ObservationParser,
        grounder: CommandGrounder,
        options: AgentOptions,
        planner: MemPlan,
        game: Game,
        spec: GameSpec,
    ) -> None:
        self._domain = domain
        self._parser = parser
        self._grounder = grounder
        self._options = options
        self._planner = planner
        self._game = game
        self._limit = spec.limit
        self._random = random.Random(spec.seed)
        self.belief = TextBelief(domain)
        self.observer: Observer | None = None
        self._observation = Observation("")
        self._session: TaskSession | None = None
        self._decision: Decision | None = None
        self._tried: dict[str, int] = {}
        self._idle = 0
        self._explored = 0
        self._learned = LearnedGoals(domain, parser)
        self._hands = Hands(self.belief, self)
        self._gave_up = ""
        self._look_around = False
        self._refused = ""
        self._checks: set[tuple[str, str]] = set()
        self._next = StepRecord(0)
        self.record = EpisodeRecord(
            spec.world, spec.name, spec.group, spec.split, spec.seed, spec.limit, "memplan", asdict(options)
        )

    # ---- the loop

    def run(self) -> EpisodeRecord:
        """Play to the end."""
        started = time.monotonic()
        self._take(self._game.reset())
        while self._running():
            self._turn()
        record, last = self.record, self._observation
        record.status, record.score = last.status.value, last.score
        record.reason = last.reason or self._gave_up or self._why_not_solved()
        record.steps_taken = sum(step.index > 0 for step in record.steps)
        record.invalid = sum(step.failed for step in record.steps)
        record.repeated_checks = sum(step.repeated_check for step in record.steps)
        record.planner_failures = sum(bool(step.planner_failure) for step in record.steps)
        record.by_clock = sum(step.by_clock for step in record.steps)
        record.seconds = time.monotonic() - started
        if self.observer is not None:
            self.observer.ended(self.belief.graph, self._session.goals if self._session is not None else (), record)
        return record

    def _running(self) -> bool:
        if self._observation.status is not GameStatus.RUNNING or self._gave_up:
            return False
        return len(self.record.steps) - 1 < self._limit

    def _why_not_solved(self) -> str:
        if self._observation.status is GameStatus.WON:
            return ""
        why = f"not solved within {self._limit} steps"
        if self._decision is not None and self._decision.kind is DecisionKind.FAILED:
            why += f"; {self._decision.reason}"
        return why

    def _turn(self) -> None:
        if self._decision is None:
            self._start()
        decision = self._decision
        self._idle += 1
        if decision is None or decision.kind in (DecisionKind.DONE, DecisionKind.FAILED) or self._idle > MAX_IDLE:
            self._explore(decision)
            return
        step = decision.steps[decision.next]
        self._note_check(step.action)
        outcome = self._hands.carry_out(step.action)
        if not self._running():
            return
        if outcome.ending is Ending.FAILED:
            self._failed(step, outcome.reason)
        elif outcome.ending is Ending.PROGRESS:
            self._progressed(step)
        else:
            self._succeeded(step)

    # ---- what a turn can be

    def _start(self) -> None:
        """Make a plan from the present belief, if the goal is understood."""
        goals = (*self._parser.goals(self._observation.goal, self._context()), *self._learned.goals)
        if self._session is not None:  # it went astray, so nobody knows any more where a step from here would lead
            goals = tuple(goal for goal in goals if not is_relative(goal))
        if self._look_around:
            goals = (*self._parser.goals("", self._context()), *goals)
        self.record.goal = self._observation.goal
        self.record.goals = [describe_goal(goal, self._domain) for goal in goals]
        self.belief.introduce(goals)
        if not goals:
            self._next.planner_failure = f"the goal is not understood: {self._observation.goal[:200]!r}"
            return
        self._session = TaskSession(
            self._domain,
            self._planner,
            self._observation.goal,
            goals,
            max_replans=self._limit,  # what is new at every step may change the plan
            max_failures=self._options.max_failures,
            replan_every_step=self._options.replan_every_step,
        )
        started = _Clock()
        self._decide(self._session.start(self.belief.graph, self.belief.state()), started)

    def _explore(self, decision: Decision | None) -> None:
        """Without a plan, give the command that was given least often so far, and start anew from what it shows."""
        done = decision is not None and decision.kind is DecisionKind.DONE
        if done and self._options.stop_when_done:
            self._gave_up = "the goal is believed to be reached"
            return
        if not self._look_around and self._is_lost(decision):
            self._look_around, self._decision = True, None
            return
        if done:
            why = "the goal is believed to be reached, and the world does not say so"
        elif self._idle > MAX_IDLE:
            why = f"{MAX_IDLE} decisions without a command"
        else:
            why = decision.reason if decision is not None else self._next.planner_failure
        commands = list(self._observation.commands)
        if not commands:
            grounding = self._grounder.observe(self._context())
            commands = [grounding.command] if grounding.command else []
        if not commands:
            self._gave_up = f"there is no plan and nothing to try: {why}"
            return
        if isinstance(self._grounder, Cautious):
            commands = [c for c in commands if not self._grounder.is_irreversible(c)] or commands
        self._next.planner_failure = why
        before = self._news()
        fewest = min(self._tried.get(command, 0) for command in commands)
        self.say(self._random.choice([c for c in commands if self._tried.get(c, 0) == fewest]), EXPLORE)
        self._explored += 1
        # a plan from the same belief would fail as before
        if decision is None or self._news() != before or self._explored >= MAX_EXPLORED:
            self._decision, self._explored = None, 0

    def _is_lost(self, decision: Decision | None) -> bool:
        """Return whether what is wanted is not known, and doing as one does without a goal may show it."""
        unknown = (TaskStatus.GOAL_UNKNOWN, TaskStatus.GOAL_UNREACHABLE)
        lost = decision is None or decision.kind is DecisionKind.DONE or decision.status in unknown
        return lost and bool(self._parser.goals("", self._context()))

    def _news(self) -> tuple[frozenset[str], frozenset[Atom]]:
        """Return what a new plan could be made from: what there is, and what of it is true apart from where one is."""
        state = self.belief.state()
        atoms = (atom for atom in state.atoms if atom.predicate != self._domain.location)
        return frozenset(state.objects), frozenset(atoms)

    # ---- the voice of the hands

    def ground(self, action: GroundAction) -> Grounding:
        """Choose the command for an action; see `Voice`."""
        started = time.perf_counter()
        grounding = self._grounder.ground(action, replace(self._context(), refused=self._refused))
        self._next.grounding_seconds += time.perf_counter() - started
        return grounding

    def observe(self) -> Grounding:
        """Choose a command that only looks; see `Voice`."""
        return self._grounder.observe(self._context())

    def acting(self, action: GroundAction, score: float, silent: bool) -> None:
        """Note what is about to be done; see `Voice`."""
        if silent:
            self._next.silent.append(str(action))
        else:
            self._next.action, self._next.score = str(action), score
        if self.observer is not None:
            self.observer.acting(self.belief.graph, action)

    def acted(self, succeeded: bool) -> None:
        """Note that it was done; see `Voice`."""
        if self.observer is not None:
            self.observer.acted(self.belief.graph, succeeded)

    def because(self, reason: str) -> None:
        """Note why only a look follows; see `Voice`."""
        self._next.reason = reason

    def running(self) -> bool:
        """Return whether more commands may be given; see `Voice`."""
        return self._running()

    # ---- what comes of it

    def say(self, command: str, kind: str, action: GroundAction | None = None) -> ParsedObservation:
        """Give a command and take in the answer; see `Voice`."""
        self._tried[command] = self._tried.get(command, 0) + 1
        self._hands.silent.clear()
        self._idle = 0
        self._next.command, self._next.kind = command, kind
        return self._take(self._game.step(command), command, action)

    def _take(
        self, observation: Observation, command: str = "", action: GroundAction | None = None
    ) -> ParsedObservation:
        """Read an observation, believe it, and close the record of the step that led to it."""
        self._observation = observation
        started = time.perf_counter()
        parsed = self._parser.parse(observation.text, self._context(command))
        step = self._next
        step.parsing_seconds += time.perf_counter() - started
        untold = self.belief.take_in(parsed, action)
        self._learn(observation.text)
        step.observation, step.goal_score, step.failed = observation.text, observation.score, parsed.failed
        step.facts = [f"{'' if fact.positive else 'not '}{fact.atom}" for fact in parsed.facts]
        step.refused = [[item.error.value, item.text, item.reason] for item in parsed.refused]
        step.refused += [["untold", item.what, item.reason] for item in untold]
        step.reason = parsed.reason or step.reason
        self._refused = command if parsed.failed else ""
        self.record.steps.append(step)
        self._next = StepRecord(step.index + 1)
        return parsed

    def _learn(self, text: str) -> None:
        """Take over goals that an observation brings, once."""
        for goals, urgent in self._learned.read(text, self._context, self.belief.state):
            self.belief.introduce(goals)
            self.record.goals += [describe_goal(goal, self._domain) for goal in goals]
            if self._session is not None:
                self._session.extend(goals, urgent)

    def _succeeded(self, step: PlannedStep) -> None:
        assert self._session is not None
        started = _Clock()
        self._note_vain(step.action)
        self._decide(self._session.after_success(step, self.belief.graph, self.belief.state()), started)

    def _progressed(self, step: PlannedStep) -> None:
        assert self._session is not None
        started = _Clock()
        self._decide(self._session.after_progress(step, self.belief.graph, self.belief.state()), started)

    def _failed(self, step: PlannedStep, reason: str) -> None:
        assert self._session is not None
        started = _Clock()
        result = SkillResult(SkillStatus.EXECUTION_FAILED, reason=reason)
        self._decide(self._session.after_failure(step, result, self.belief.graph, self.belief.state()), started)

    def _decide(self, decision: Decision, started: _Clock) -> None:
        self._decision = decision
        self._next.planning_seconds += started.wall
        self._next.planning_cpu_seconds += started.cpu
        self._next.decision = f"{decision.kind.value}: {decision.reason}"
        self._next.plan_length = len(decision.steps) - decision.next
        if decision.kind in (DecisionKind.REPLACE, DecisionKind.FAILED) and decision.result is not None:
            self._next.by_clock |= decision.result.by_clock
        if decision.kind is DecisionKind.FAILED:
            self._next.planner_failure = decision.reason

    # ---- between words and symbols

    def _context(self, command: str = "") -> Context:
        return Context(
            self.belief.objects(), self.belief.location(), command, self._observation.commands, self._observation.goal
        )

    # ---- repeated checks

    def _check(self, action: GroundAction) -> tuple[str, str] | None:
        """Return class and place of a look for something that nobody has seen; None for other actions."""
        hypotheses, decision = self._domain.hypotheses, self._decision
        if hypotheses is None or action.name != hypotheses.action or decision is None or decision.result is None:
            return None
        thing, place = find_arguments(self._domain, action.arguments)
        class_name = decision.result.placeholders.get(thing)
        return (class_name, place) if class_name is not None else None

    def _note_check(self, action: GroundAction) -> None:
        check = self._check(action)
        if check is not None and check in self._checks:
            self._next.repeated_check = True

    def _note_vain(self, action: GroundAction) -> None:
        check = self._check(action)
        if check is not None and not self.belief.holds_one(*check):
            self._checks.add(check)
