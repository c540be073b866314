"""What can be taken away from the text agent, one part at a time (ablations of MemPlan 4.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.language.interface import (
    CommandGrounder,
    Context,
    Grounding,
    ObservationParser,
    ParsedObservation,
)
from graph_planner_ros.planning.advice import Advice, Experience
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import Hypotheses
from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.prior import Prior
from graph_planner_ros.planning.supposing import Evidence, Missing, Supposer

STATES = 20_000
"""States that a search of the planner may visit: what ends it is counted and not timed, so that a game ends in the same
way on any machine. The time-out is for what cannot be counted."""
BEAM = 3
"""Candidate places in a planning problem: in text worlds ways are alike, so the best three are as good as more."""


@dataclass(frozen=True)
class AgentOptions:
    """How the text agent plays.

    Attributes:
        placeholders: suppose places for what nobody has seen.
        negative_memory: remember where things were looked for in vain.
        uniform_costs: all hypotheses cost the same. parser: read observations. grounder: match actions with commands;
            without it an action is written out with its arguments as they are.
        replan_every_step: plan anew after every command, as MemPlan does, instead of keeping what still holds.
        keep_memory: learn from game to game where things tend to be; not allowed in comparisons.
        engine: of planning, see `make_engine`. timeout: seconds for one planning call.
        states: that one search may visit.
        max_failures: failures of an action in a row after which it is not planned any more.
        stop_when_done: stop when the goal is believed to be reached, whatever the world says.
        prior: use the prior that the domain has learned, if it has one; else only its own plausibility.
        bank: file of experience that advises the planner, see `banks.open_experience`; empty: none.
        place_advice, action_advice: what of that advice is used.
    """

    placeholders: bool = True
    negative_memory: bool = True
    uniform_costs: bool = False
    parser: bool = True
    grounder: bool = True
    replan_every_step: bool = False
    keep_memory: bool = False
    engine: str = "auto"
    timeout: float = 60.0
    states: int = STATES
    max_failures: int = 2
    stop_when_done: bool = False
    prior: bool = True
    bank: str = ""
    place_advice: bool = True
    action_advice: bool = True


def make_planner(
    domain: Domain,
    options: AgentOptions,
    engine: Engine | None = None,
    prior: Prior | None = None,
    experience: Experience | None = None,
) -> MemPlan:
    """Return a planner with memories of its own.

    Args:
        prior: of its positive memory, instead of the domain's. experience: that advises it; none if left out.

    Raises:
        EngineMissingError: the engine is not installed.
    """
    positive = (UniformCosts if options.uniform_costs else PositiveMemory)(
        domain, use_prior=options.prior, learned=prior
    )
    negative = NegativeMemory() if options.negative_memory else NoNegativeMemory()
    engine = engine or make_engine(options.engine)
    advice = None
    if experience is not None and (options.place_advice or options.action_advice):
        advice = Advice(domain, experience, options.place_advice, options.action_advice)
    planner = MemPlan(domain, engine, positive, negative, options.timeout, BEAM, options.states, advice)
    if not options.placeholders:
        planner.supposer = NoPlaceholders(domain, positive, negative)
    return planner


class UniformCosts(PositiveMemory):
    """A positive memory that prices every hypothesis alike."""

    def costs(
        self,
        goal_text: str,
        label: str,
        places: Mapping[str, str],
        hints: Mapping[str, float] | None = None,
    ) -> dict[str, float]:
        """Return the middle of the possible costs for every place."""
        return dict.fromkeys(places, self.kappa_base + 0.5 * self.scale)


class NoNegativeMemory(NegativeMemory):
    """A negative memory that remembers nothing."""

    def refute(self, what: str, place: str, confidence: float, stamp: float, known: Iterable[str] = ()) -> None:
        """Remember nothing."""


class NoPlaceholders(Supposer):
    """Supposes nothing: what was not seen is not there."""

    def suppose(self, state: SymbolicState, goal: Goal, missing: Iterable[Missing], evidence: Evidence) -> Hypotheses:
        """Return no hypotheses."""
        return Hypotheses()


class NoParser:
    """Reads the goal and nothing else."""

    def __init__(self, parser: ObservationParser) -> None:
        self._parser = parser

    def parse(self, text: str, context: Context) -> ParsedObservation:
        """Return nothing."""
        return ParsedObservation()

    def goals(self, text: str, context: Context) -> tuple[Goal, ...]:
        """Return what the real parser reads."""
        return self._parser.goals(text, context)


class NoGrounder:
    """Writes an action out with its arguments, whatever the world calls it."""

    def __init__(self, grounder: CommandGrounder) -> None:
        self._grounder = grounder

    def ground(self, action: GroundAction, context: Context) -> Grounding:
        """Return the action's own words if the world offers just them, or offers nothing."""
        command = " ".join((action.name, *action.arguments))
        if context.commands and command not in context.commands:
            return Grounding(None, 0.0, f"{command!r} is no admissible command")
        return Grounding(command, 1.0)

    def observe(self, context: Context) -> Grounding:
        """Return what the real grounder chooses."""
        return self._grounder.observe(context)
