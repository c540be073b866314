"""Settings of a training: a YAML file of ``config/training``, read and checked without any heavy library.

The entries of ``sft`` and ``grpo`` have the names that trl's `SFTConfig` and `GRPOConfig` give them. Only what is
listed here can be set; what is unknown, missing or of the wrong kind is named.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from graph_planner_ros.domain.description import META_CLASSES
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.domain.yaml_files import read_yaml
from graph_planner_ros.training.errors import TrainingError

FOLDER = Path("training")
REWARDS = ("format", "node", "edge", "instruction")


@dataclass(frozen=True)
class TinyModel:
    """A Llama of random weights, made in code, with a tokenizer made from the data: for trying the whole way out.

    Attributes:
        hidden: width. layers, heads: numbers. vocabulary: most tokens. context: most tokens of prompt and answer.
    """

    hidden: int
    layers: int
    heads: int
    vocabulary: int
    context: int


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters (Hu et al. 2021) instead of all weights; ``targets`` as in peft's ``target_modules``."""

    r: int
    alpha: int
    dropout: float = 0.0
    targets: str = "all-linear"


@dataclass(frozen=True)
class Model:
    """What is trained.

    Attributes:
        name: of a model on a hub, or a folder with one; empty if ``tiny`` is given. ``--model`` replaces it.
        tiny: what to make instead. lora: train adapters. bf16: compute in bfloat16.
    """

    name: str = ""
    tiny: TinyModel | None = None
    lora: Lora | None = None
    bf16: bool = False


@dataclass(frozen=True)
class DataUse:
    """What of the data is used.

    Attributes:
        held_out: examples that are never trained on, of trajectories and instructions that no other example has.
        limit: at most so many examples to train on; 0: all. max_prompt_tokens: longer prompts are left out.
    """

    held_out: int
    limit: int = 0
    max_prompt_tokens: int = 4096


@dataclass(frozen=True)
class Sft:
    """Supervised fine-tuning; names and meanings of trl's `SFTConfig`."""

    max_steps: int
    learning_rate: float
    per_device_train_batch_size: int
    max_length: int
    gradient_accumulation_steps: int = 1
    warmup_steps: int = 0
    lr_scheduler_type: str = "cosine"
    weight_decay: float = 0.0
    gradient_checkpointing: bool = False
    logging_steps: int = 10
    save_steps: int = 100


@dataclass(frozen=True)
class Grpo:
    """Group relative policy optimization; names and meanings of trl's `GRPOConfig`.

    Attributes:
        reward_weights: of format, node, edge, instruction in the sum; the paper's sum has 1 for each.
        meta_class_weights: of the node reward before they are scaled; without them all weigh the same.
    """

    max_steps: int
    learning_rate: float
    num_generations: int
    per_device_train_batch_size: int
    max_completion_length: int
    gradient_accumulation_steps: int = 1
    beta: float = 0.0
    epsilon: float = 0.2
    temperature: float = 1.0
    num_iterations: int = 1
    loss_type: str = "dapo"
    scale_rewards: str = "group"
    warmup_steps: int = 0
    lr_scheduler_type: str = "constant_with_warmup"
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    gradient_checkpointing: bool = False
    use_vllm: bool = False
    vllm_gpu_memory_utilization: float = 0.3
    vllm_max_model_length: int | None = None
    logging_steps: int = 1
    save_steps: int = 50
    reward_weights: dict[str, float] = field(default_factory=lambda: dict.fromkeys(REWARDS, 1.0))
    meta_class_weights: dict[str, float] = field(default_factory=lambda: dict.fromkeys(META_CLASSES, 1.0))


@dataclass(frozen=True)
class Settings:
    """All of a training's settings.

    Attributes:
        seed: of weights, of what is held out, of the order of examples, and of what is sampled.
        threads: processor threads of torch; 0: torch's choice.
    """

    model: Model
    data: DataUse
    sft: Sft
    grpo: Grpo
    seed: int = 0
    threads: int = 0

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that change with every setting."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def load_settings(name_or_path: str | Path) -> Settings:
    """Read settings by the name of a file of ``config/training`` or by path.

    Raises:
        TrainingError: naming the file, the entry and what was expected.
    """
    path = _find(name_or_path)
    return settings_of(read_yaml(path, TrainingError), str(path))


def settings_of(raw: Any, where: str) -> Settings:
    """Return settings from plain values, such as a run's copy of them.

    Raises:
        TrainingError: naming the entry and what was expected.
    """
    settings = _read(Settings, raw, where, "")
    for name, known, given in (
        ("grpo.reward_weights", REWARDS, settings.grpo.reward_weights),
        ("grpo.meta_class_weights", META_CLASSES, settings.grpo.meta_class_weights),
    ):
        if set(given) != set(known) or any(weight < 0 for weight in given.values()):
            raise TrainingError(f"{where}: {name}: expected a weight from 0 for each of {', '.join(known)}")
    if bool(settings.model.name) == (settings.model.tiny is not None):
        raise TrainingError(f"{where}: model: expected either a name or an entry tiny")
    batch = settings.grpo.per_device_train_batch_size * settings.grpo.gradient_accumulation_steps
    if settings.grpo.num_generations < 2 or batch % settings.grpo.num_generations:
        raise TrainingError(
            f"{where}: grpo.num_generations: expected at least 2 and a divisor of the batch of {batch} answers "
            f"(per_device_train_batch_size times gradient_accumulation_steps), found {settings.grpo.num_generations}"
        )
    return settings


def _find(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.is_file():
        return path
    folder = find_config(FOLDER)
    if len(path.parts) == 1 and (folder / f"{path}.yaml").is_file():
        return folder / f"{path}.yaml"
    known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
    raise TrainingError(f"there is no training configuration {str(name_or_path)!r}; there are: {known}, or a path")


# ---- reading dataclasses

_Kind = TypeVar("_Kind")
_AT_LEAST_ONE = frozenset({"hidden", "layers", "heads", "vocabulary", "context", "r", "alpha", "max_steps"}) | {
    *("per_device_train_batch_size", "gradient_accumulation_steps", "num_generations", "num_iterations"),
    *("max_length", "max_completion_length", "max_prompt_tokens", "logging_steps", "save_steps"),
}
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}


def _read(kind: type[_Kind], raw: Any, where: str, key: str) -> _Kind:
    if not isinstance(raw, Mapping):
        raise TrainingError(f"{where}: {key or 'the file'}: expected entries, found {raw!r}")
    expected = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    for name in raw:
        if name not in expected:
            near = difflib.get_close_matches(str(name), expected, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(expected)}"
            raise TrainingError(f"{where}: {_joined(key, name)}: unknown entry; {hint}")
    hints = typing.get_type_hints(kind)
    values = {}
    for name, item in expected.items():
        if name in raw:
            values[name] = _value(hints[name], raw[name], where, _joined(key, name))
        elif item.default is MISSING and item.default_factory is MISSING:
            raise TrainingError(f"{where}: {_joined(key, name)}: the entry is missing")
    return kind(**values)


def _joined(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)


def _value(hint: Any, raw: Any, where: str, key: str) -> Any:
    if isinstance(hint, types.UnionType):
        if raw is None:
            return None
        hint = next(item for item in typing.get_args(hint) if item is not type(None))
    if is_dataclass(hint):
        return _read(typing.cast(type, hint), raw, where, key)
    if typing.get_origin(hint) is dict:
        if not isinstance(raw, Mapping):
            raise TrainingError(f"{where}: {key}: expected entries, found {raw!r}")
        return {str(name): _value(float, value, where, _joined(key, name)) for name, value in raw.items()}
    if hint is float and isinstance(raw, int) and not isinstance(raw, bool):
        raw = float(raw)
    if not isinstance(raw, hint) or (hint is int and isinstance(raw, bool)):
        # YAML 1.1 reads 1e-5 as a word
        text = "a number (with a point: 1.0e-5)" if hint is float else _KINDS[hint]
        raise TrainingError(f"{where}: {key}: expected {text}, found {raw!r}")
    name = key.rsplit(".", 1)[-1]
    if name in _AT_LEAST_ONE and raw < 1:
        raise TrainingError(f"{where}: {key}: expected at least 1, found {raw}")
    if hint in (int, float) and not 0 <= raw < float("inf"):
        raise TrainingError(f"{where}: {key}: expected a number from 0, found {raw}")
    return raw
