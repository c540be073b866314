"""Parameters of the planner node, and what is made of those that say how it plans and with which model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.interface import ObservationParser
from graph_planner_ros.language.models import LanguageModel, ModelOptions, make_language_model
from graph_planner_ros.language.understanding import READERS, make_reader
from graph_planner_ros.language.world_goals import InstructionReader, instruction_reader
from graph_planner_ros.nodes.base import Param
from graph_planner_ros.planning.llm import ModelPlanning
from graph_planner_ros.planning.memplan import BEAM
from graph_planner_ros.planning.session import MAX_FAILURES

MEMPLAN, LLM, LLM_ACTIONS = "memplan", "llm", "llm_actions"
METHODS = (MEMPLAN, LLM, LLM_ACTIONS)

PARAMETERS = (
    Param("domain", "household", "planning domain: a folder under config/domains, or a path"),
    Param(
        "planner",
        "memplan",
        "planning method: memplan; llm: a language model proposes plans and the task graph decides; llm_actions: it "
        "chooses one action at a time, and the verifier decides",
        choices=METHODS,
    ),
    Param("reader", "auto", "how instructions are read: auto, rules or trained", choices=READERS),
    Param("model", "", "language model of llm, llm_actions and model_places: its server's name for it, or a file"),
    Param(
        "model_backend",
        "openai",
        "where the model runs: openai (any server with that protocol), transformers or llama_cpp",
        choices=("openai", "transformers", "llama_cpp"),
    ),
    Param("model_endpoint", "", "base URL of the model's server; empty: OPENAI_BASE_URL"),
    Param(
        "model_timeout",
        20.0,
        "seconds of wall time for all questions to the model about one plan or action; then memplan plans",
        0.1,
        600.0,
    ),
    Param("model_rounds", 3, "questions to the model about one plan, action or revision, with what was wrong", 1, 10),
    Param("model_replanning", True, "planner llm: ask the model after each subtask or failure whether the plan stays"),
    Param("model_places", False, "any planner: ask the model where things are likely to be that nobody has seen"),
    Param(
        "model_key_objects", False, "llm, llm_actions: ask first which classes matter; show it only what is about them"
    ),
    Param("model_cache", "", "folder of the model's answers that are not asked for again; empty: none"),
    Param("engine", "auto", "auto, mimir or fast_downward; or module:function that makes an engine"),
    Param("planning_timeout", 30.0, "seconds of wall time that one planner call may take", 0.05, 3600.0),
    Param("max_replans", 30, "plans that may be replaced in one task before it fails", 0, 1000),
    Param("max_failures", MAX_FAILURES, "failures of an action in a row after which it is left out", 1, 100),
    Param("beam", BEAM, "candidate places for a thing that one planning problem has", 1, 100),
    Param("max_states", 0, "states that one search of the engine may visit; 0: only the time ends it", 0, 10**9),
    Param("settle", 0.4, "seconds of ROS time for the belief to catch up after a skill", 0.0, 30.0),
    Param("confirm", 1.5, "the same after the last step of a plan: what is reported as done is looked at", 0.0, 30.0),
    Param("scene_timeout", 30.0, "longest wait for a scene graph, wall seconds", 0.1, 300.0),
    Param("executor_timeout", 10.0, "silence of the executor after which it counts as lost, wall seconds", 0.5, 300.0),
    Param("restart_timeout", 30.0, "how long a lost node may take to come back, wall seconds", 0.5, 600.0),
    Param("memory_timeout", 1.0, "wait for the graph memory's advice before a first plan, wall seconds", 0.0, 60.0),
    Param("memory_file", "", "file of the negative memory (JSON); empty: not kept"),
)


@dataclass(frozen=True)
class ModelUse:
    """A language model and what it is used for.

    Attributes:
        method: planning method, one of `METHODS`. planning: how the model is asked for plans and actions.
        revises: it is asked whether plans stay. guesses: it is asked where things are that nobody has seen.
    """

    model: LanguageModel
    method: str
    planning: ModelPlanning
    revises: bool
    guesses: bool


def open_reader(domain: Domain, kind: str) -> tuple[InstructionReader, ObservationParser | None]:
    """Return what reads instructions, and the parser of texts in a text world, which has its own way of talking.

    Raises:
        ReaderFileError, ReaderMissingError: the trained reader cannot be used. DomainError: a language file is wrong.
    """
    reader, text_parser = instruction_reader(domain)
    return (reader, text_parser) if text_parser is not None else (make_reader(domain, kind), None)


def open_model(value: Callable[[str], Any]) -> ModelUse | None:
    """Return the language model and what it is used for; None if nothing asks it.

    Args:
        value: returns the value of a parameter.

    Raises:
        ModelUnavailableError: with one sentence that says what is missing.
    """
    method, guesses = str(value("planner")), bool(value("model_places"))
    if method == MEMPLAN and not guesses:
        return None
    cache = str(value("model_cache"))
    timeout = float(value("model_timeout"))
    options = ModelOptions(
        backend=str(value("model_backend")),
        model=str(value("model")),
        endpoint=str(value("model_endpoint")),
        timeout=timeout,
        cache=Path(cache).expanduser() if cache else None,
    )
    key_objects = bool(value("model_key_objects"))
    planning = ModelPlanning(timeout=timeout, rounds=int(value("model_rounds")), key_objects=key_objects)
    revises = method == LLM and bool(value("model_replanning"))
    return ModelUse(make_language_model(options), method, planning, revises, guesses)
