"""Language models behind one interface: OpenAI-compatible endpoints, transformers and llama.cpp in process.

A model is exchangeable and never trusted: whatever it or its endpoint does becomes a `Reply` with a status and a
sentence. Keys come from the environment and appear in no reply, reason, cache file or log.
"""

from graph_planner_ros.language.models.messages import (
    MAX_TOKENS,
    LanguageModel,
    Message,
    ModelUnavailableError,
    Reply,
    ReplyStatus,
    Request,
)
from graph_planner_ros.language.models.metering import MeteredModel, Usage
from graph_planner_ros.language.models.options import BACKENDS, ModelOptions, check_model, make_language_model
from graph_planner_ros.language.models.prompts import Prompt, PromptError, load_prompt, parse_prompt
from graph_planner_ros.language.models.scripted import ScriptedModel
from graph_planner_ros.language.models.secrets import public_endpoint

__all__ = [
    "BACKENDS",
    "MAX_TOKENS",
    "LanguageModel",
    "Message",
    "MeteredModel",
    "ModelOptions",
    "ModelUnavailableError",
    "Prompt",
    "PromptError",
    "Reply",
    "ReplyStatus",
    "Request",
    "ScriptedModel",
    "Usage",
    "check_model",
    "load_prompt",
    "make_language_model",
    "parse_prompt",
    "public_endpoint",
]
