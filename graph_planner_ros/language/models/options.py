"""Which model is asked, and how."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.language.models.messages import LanguageModel, ModelUnavailableError
from graph_planner_ros.language.models.secrets import public_endpoint

KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True)
class ModelOptions:
    """How a model is made and asked.

    Attributes:
        backend: one of `BACKENDS`. model: as the endpoint calls it; a folder or name for transformers; a GGUF file for
            llama.cpp, empty for the small model of the extra.
        endpoint: base URL; empty for ``OPENAI_BASE_URL`` or the client's own. It may hold credentials, so it is not
            shown; `described` shows what may be seen.
        timeout: seconds for everything. attempt_timeout: seconds for one try; 0: no limit of its own.
        retries: tries after the first one. cache: folder of the replies that are kept; None: none.
        key_variable: environment variable with the key.
        threads: of a model in process; 0: one for two cores. context: tokens of prompt and answer in llama.cpp.
        device: of transformers, such as ``cpu`` or ``cuda``; empty: the first GPU if there is one.
    """

    backend: str = "openai"
    model: str = ""
    endpoint: str = field(default="", repr=False)
    timeout: float = 30.0
    attempt_timeout: float = 0.0
    retries: int = 2
    cache: Path | None = None
    key_variable: str = KEY_VARIABLE
    threads: int = 0
    context: int = 8192
    device: str = ""

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise ValueError(f"there is no model backend {self.backend!r}; there are: {', '.join(BACKENDS)}")
        if not self.timeout > 0:
            raise ValueError(f"timeout of a model: expected seconds above 0, found {self.timeout}")
        for name, value in (("retries", self.retries), ("threads", self.threads), ("context", self.context)):
            if value < 0:
                raise ValueError(f"{name} of a model: expected 0 or more, found {value}")

    def described(self) -> dict[str, Any]:
        """Return what may be written down: everything but the credentials that an address may carry."""
        plain = {**vars(self), "endpoint": public_endpoint(self.endpoint)}
        return {name: str(value) if isinstance(value, Path) else value for name, value in plain.items()}


def _openai(options: ModelOptions) -> LanguageModel:
    from graph_planner_ros.language.models.openai_model import OpenAiModel

    return OpenAiModel(options)


def _transformers(options: ModelOptions) -> LanguageModel:
    from graph_planner_ros.language.models.transformers_model import TransformersModel

    return TransformersModel(options)


def _llama_cpp(options: ModelOptions) -> LanguageModel:
    from graph_planner_ros.language.models.llama_cpp_model import LlamaCppModel

    return LlamaCppModel(options)


_MAKERS: dict[str, Callable[[ModelOptions], LanguageModel]] = {
    "openai": _openai,
    "transformers": _transformers,
    "llama_cpp": _llama_cpp,
}
BACKENDS = tuple(_MAKERS)


def _check_named(options: ModelOptions) -> None:
    if options.backend != "llama_cpp" and not options.model:
        raise ModelUnavailableError(f"the backend {options.backend} needs the name of a model")


def check_model(options: ModelOptions) -> None:
    """Look whether a model could be made, as far as that is known without loading or asking one.

    Raises:
        ModelUnavailableError: with one sentence that names the extra or what is missing.
    """
    from graph_planner_ros.language.models import llama_cpp_model, transformers_model

    _check_named(options)
    needed, install = {
        "openai": ((), ""),
        "transformers": (("torch", "transformers"), transformers_model.INSTALL),
        "llama_cpp": (("xllamacpp",), llama_cpp_model.INSTALL),
    }[options.backend]
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise ModelUnavailableError(install)
    if options.backend == "openai":
        _openai(options)  # it is only a client, and knows a wrong address


def make_language_model(options: ModelOptions) -> LanguageModel:
    """Make the model; one in process is loaded now, which takes seconds.

    Raises:
        ModelUnavailableError: with one sentence that names the extra or what is missing.
    """
    _check_named(options)
    model = _MAKERS[options.backend](options)
    if options.cache is None:
        return model
    from graph_planner_ros.language.models.cache import CachedModel, source_of

    return CachedModel(model, options.cache, source_of(options, model))
