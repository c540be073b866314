"""The planner less one of its parts, by name (MemPlan 4.5): each is a change of the text agent's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from graph_planner_ros.benchmarks.worlds.options import AgentOptions

NONE = "none"


@dataclass(frozen=True)
class Ablation:
    """What is taken away: changed options, and a few words for the table."""

    changes: Mapping[str, Any]
    text: str


ABLATIONS: Mapping[str, Ablation] = {
    NONE: Ablation({}, "nothing is left out"),
    "no_placeholders": Ablation({"placeholders": False}, "nothing is supposed about what nobody has seen"),
    "no_negative_memory": Ablation({"negative_memory": False}, "where a thing was not found is forgotten"),
    "uniform_costs": Ablation({"uniform_costs": True}, "all places cost the same to look in"),
    "no_parser": Ablation({"parser": False}, "observations are not read"),
    "no_grounder": Ablation({"grounder": False}, "actions are said as the domain writes them"),
    "no_prior": Ablation({"prior": False}, "the prior that was learned from training games is not used"),
    "no_place_advice": Ablation({"place_advice": False}, "experience does not say where things are"),
    "no_action_advice": Ablation({"action_advice": False}, "experience does not say what to do"),
    "no_interface": Ablation({"parser": False, "grounder": False}, "neither parser nor grounder"),
}


def ablated(name: str, options: AgentOptions | None = None) -> AgentOptions:
    """Return the options of an ablation.

    Raises:
        ValueError: there is none of that name; the message names all.
    """
    if name not in ABLATIONS:
        raise ValueError(f"there is no ablation {name!r}; there are: {', '.join(ABLATIONS)}")
    return replace(options or AgentOptions(), **ABLATIONS[name].changes)
