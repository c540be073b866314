"""What supervised fine-tuning and GRPO share: the model, what is said on the way, stopping, checkpoints, answers."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback, set_seed

from graph_planner_ros.planning.rewards import Rewards, total_reward
from graph_planner_ros.planning.task_graph import TaskGraph
from graph_planner_ros.training.errors import TrainingError
from graph_planner_ros.training.examples import Example
from graph_planner_ros.training.runs import Run
from graph_planner_ros.training.settings import Lora, Settings
from graph_planner_ros.training.tiny import make_model, make_tokenizer

PACKAGES = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")
Say = Callable[[str], None]
Stop = Callable[[], bool]


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    return {name: importlib.metadata.version(name) for name in PACKAGES if importlib.util.find_spec(name)}


def prepare(settings: Settings) -> None:
    """Set seeds and threads, and refuse what this machine cannot do.

    Raises:
        TrainingError: naming the setting.
    """
    if settings.model.bf16 and not torch.cuda.is_available():
        raise TrainingError("model.bf16: expected false on a machine without a GPU that torch can use")
    if settings.grpo.use_vllm and importlib.util.find_spec("vllm") is None:
        raise TrainingError("grpo.use_vllm: vllm is not installed: install it beside the extra, or set it to false")
    if settings.threads:
        torch.set_num_threads(settings.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # of trl's use of it, not ours
    set_seed(settings.seed)


def load_model(settings: Settings, name: str, examples: Sequence[Example]) -> tuple[Any, Any]:
    """Return model and tokenizer.

    Args:
        name: of a model or a folder; empty: a tiny one is made, its tokenizer from the examples.

    Raises:
        TrainingError: if it cannot be loaded.
    """
    if not name:
        assert settings.model.tiny is not None
        texts = [text for example in examples for text in (*(t["content"] for t in example.prompt), example.answer)]
        tokenizer = make_tokenizer(texts, settings.model.tiny)
        return make_model(settings.model.tiny, tokenizer), tokenizer
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left")
        dtype = torch.bfloat16 if settings.model.bf16 else torch.float32
        model = AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
    except (OSError, ValueError) as error:
        raise TrainingError(f"the model {name!r} cannot be loaded: {str(error).splitlines()[0]}") from None
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer.chat_template is None:
        raise TrainingError(f"the tokenizer of {name!r} has no chat template: expected a model made for conversations")
    return model, tokenizer


def adapters(lora: Lora | None) -> Any:
    """Return peft's configuration of adapters, None without them."""
    if lora is None:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.targets,
        task_type="CAUSAL_LM",
    )


def save_model(trainer: Any, tokenizer: Any, folder: Path) -> None:
    """Write the trained model, adapters merged into it, and its tokenizer; the folder appears when it is whole."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    if hasattr(model, "merge_and_unload"):
        model = model.merge_and_unload()
    temporary = folder.with_name(f".{folder.name}")
    model.save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    temporary.rename(folder)


def fitting(examples: Sequence[Example], tokenizer: Any, most: int) -> list[Example]:
    """Return the examples whose prompts have at most so many tokens."""
    kept = []
    for example in examples:
        tokens = tokenizer.apply_chat_template(list(example.prompt), add_generation_prompt=True, tokenize=False)
        if len(tokenizer(tokens, add_special_tokens=False)["input_ids"]) <= most:
            kept.append(example)
    return kept


class RunCallback(TrainerCallback):
    """Writes figures, says how it goes, notes whole checkpoints, and stops after the step in which it is asked to."""

    def __init__(self, run: Run, say: Say, stop: Stop, shown: Sequence[str]) -> None:
        self._run, self._say, self._stop, self._shown = run, say, stop, shown

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Ask for a checkpoint and the end, if somebody wants to stop."""
        if self._stop():
            control.should_save = control.should_training_stop = True
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note that the checkpoint is whole: this comes after all its files."""
        self._run.mark_complete(state.global_step)
        self._run.write(step=state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Write figures and say the chief ones."""
        row = {name: value for name, value in (logs or {}).items() if isinstance(value, int | float)}
        if not any(name in row for name in self._shown):
            return
        self._run.append({"step": state.global_step, **row})
        figures = ", ".join(f"{name} {row[name]:.4g}" for name in self._shown if name in row)
        self._say(f"step {state.global_step} of {state.max_steps}: {figures}")


def train(trainer: Any, run: Run, say: Say, resume: bool, curves: Sequence[str], title: str) -> bool:
    """Train to the end, or to the step in which it was asked to stop; return whether the end was reached.

    Errors leave the run with its last checkpoint and the state ``failed``.
    """
    checkpoint = run.last_checkpoint() if resume else None
    step = int(checkpoint.name.rsplit("-", 1)[1]) if checkpoint else 0
    run.forget_after(step)
    if resume:
        say(f"going on after step {step}" if checkpoint else "there is no whole checkpoint: from the beginning")
    trainer.remove_callback(PrinterCallback)  # what it prints is said already
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except BaseException as error:
        run.write(state="failed", reason=f"{type(error).__name__}: {error}")
        raise
    run.draw(curves, title)
    done: bool = trainer.state.global_step >= trainer.args.max_steps
    if not done:
        run.write(state="stopped", step=trainer.state.global_step)
        say(f"stopped: step {trainer.state.global_step} is saved in {run.checkpoints}; --resume goes on from there")
    return done


# ---- answers


def answers(
    model: Any, tokenizer: Any, examples: Sequence[Example], tokens: int, temperature: float = 0.0, batch: int = 32
) -> list[str]:
    """Return an answer to each prompt.

    Args:
        tokens: at most so many in an answer. temperature: of sampling, with torch's generator; 0: the likeliest.
        batch: prompts at a time.
    """
    sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
    model.eval()
    found: list[str] = []
    for start in range(0, len(examples), batch):
        texts = [
            tokenizer.apply_chat_template(list(example.prompt), add_generation_prompt=True, tokenize=False)
            for example in examples[start : start + batch]
        ]
        inputs = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False).to(
            model.device
        )
        with torch.no_grad():
            made = model.generate(
                **{name: inputs[name] for name in ("input_ids", "attention_mask")},
                max_new_tokens=tokens,
                **sampling,
                pad_token_id=tokenizer.pad_token_id,
            )
        found += tokenizer.batch_decode(made[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    model.train()
    return found


def rewards_of(
    texts: Sequence[str], examples: Sequence[Example], graph: TaskGraph, settings: Settings
) -> list[Rewards]:
    """Return the rewards of answers, unweighted."""
    found = []
    for text, example in zip(texts, examples, strict=True):
        assert example.task is not None
        task, weights = example.task, settings.grpo.meta_class_weights
        found.append(total_reward(text, graph, task.environment, task.reference, task.key_subtasks, weights=weights))
    return found
