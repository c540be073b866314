"""Group relative policy optimization (Shao et al. 2024) with trl and the task graph's rewards (GraphThink III-A3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from graph_planner_ros.planning.rewards import Rewards
from graph_planner_ros.planning.task_graph import TaskGraph
from graph_planner_ros.training import report
from graph_planner_ros.training.errors import TrainingError
from graph_planner_ros.training.examples import PLANS, Example, ExampleSet, example_of, split
from graph_planner_ros.training.runs import FINISHED, Run
from graph_planner_ros.training.settings import REWARDS, Settings
from graph_planner_ros.training.trainers import (
    RunCallback,
    Say,
    Stop,
    adapters,
    answers,
    fitting,
    load_model,
    prepare,
    rewards_of,
    save_model,
    train,
    versions,
)

LIKELIEST, SAMPLED = "held_out_likeliest", "held_out_sampled"
"""Answers to held-out prompts: the likeliest, and one that is drawn as in training, which is what training betters."""
Judged = dict[str, list[Rewards]]
SHOWN = ("reward", *(f"rewards/{name}/mean" for name in REWARDS), "completions/mean_length", "kl")


def run_grpo(
    run: Run, settings: Settings, data: ExampleSet, graph: TaskGraph, say: Say, stop: Stop, resume: bool
) -> bool:
    """Train, judge by held-out prompts before and after, and write the model; return whether the end was reached.

    Raises:
        TrainingError: settings or data that do not fit this machine or each other.
    """
    if data.name != PLANS:
        raise TrainingError(f"GRPO needs a set of plans, found one of {data.name}")
    prepare(settings)
    learned, held_out = split(data.examples, settings.data.held_out, settings.data.limit, settings.seed)
    model, tokenizer = load_model(settings, run.content["model"], learned)
    learned, held_out = (fitting(part, tokenizer, settings.data.max_prompt_tokens) for part in (learned, held_out))
    say(f"seed {settings.seed}; {len(learned)} prompts to learn from, {len(held_out)} held out")
    run.write(versions=versions(), learned=len(learned), held_out=len(held_out))

    def judge() -> Judged:
        most, found = settings.grpo.max_completion_length, {}
        for how, temperature in ((LIKELIEST, 0.0), (SAMPLED, settings.grpo.temperature)):
            torch.manual_seed(settings.seed)
            texts = answers(trainer.model, tokenizer, held_out, most, temperature)
            found[how] = rewards_of(texts, held_out, graph, settings)
        return found

    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward_functions(graph, settings),
        args=_arguments(run, settings),
        train_dataset=_dataset(learned),
        processing_class=tokenizer,
        peft_config=adapters(settings.model.lora),
        callbacks=[RunCallback(run, say, stop, SHOWN)],
    )
    if not resume or "before" not in run.content:
        state = torch.get_rng_state()
        run.write(before=_plain(judge()))
        torch.set_rng_state(state)
    if not train(trainer, run, say, resume, SHOWN, "GRPO"):
        return False
    before, after = _read(run.content["before"]), judge()
    results = {"training_reward": report.first_and_last(run.rows(), "reward")} | {
        how: {
            "before": report.reward_figures(before[how]),
            "after": report.reward_figures(after[how]),
            "difference": report.difference(before[how], after[how]),
        }
        for how in (LIKELIEST, SAMPLED)
    }
    _tell(results, say)
    save_model(trainer, tokenizer, run.model)
    run.write(state=FINISHED, results=results, after=_plain(after))
    return True


def _tell(results: dict[str, Any], say: Say) -> None:
    if steps := results["training_reward"]:
        for name in ("first", "last"):
            say(f"mean reward of the {name} {steps['steps']} steps: {report.text(steps[name])}")
    for how in (LIKELIEST, SAMPLED):
        for name in ("before", "after"):
            say(f"{how.replace('_', ' ')}, reward {name}: {report.text(results[how][name]['total'])}")
        say(f"{how.replace('_', ' ')}, difference: {report.text(results[how]['difference'])}")


def _plain(judged: Judged) -> dict[str, list[list[float]]]:
    return {how: [[getattr(item, name) for name in REWARDS] for item in found] for how, found in judged.items()}


def _read(judged: Mapping[str, Sequence[Sequence[float]]]) -> Judged:
    return {how: [Rewards(*row) for row in rows] for how, rows in judged.items()}


def reward_functions(graph: TaskGraph, settings: Settings) -> list[Callable[..., list[float]]]:
    """Return the four rewards as trl takes them, one function each, so that each is in the figures.

    They get the completions and the dataset's column ``case``: an example as JSON, so that its shape is its own.
    """

    def function(name: str) -> Callable[..., list[float]]:
        def compute(completions: Sequence[Any], case: Sequence[str], **_: Any) -> list[float]:
            examples = [example_of(json.loads(item), "the dataset") for item in case]
            texts = [item if isinstance(item, str) else item[-1]["content"] for item in completions]
            return [getattr(item, name) for item in rewards_of(texts, examples, graph, settings)]

        compute.__name__ = name
        return compute

    return [function(name) for name in REWARDS]


def _dataset(examples: Sequence[Example]) -> Dataset:
    return Dataset.from_list(
        [
            {"prompt": [dict(turn) for turn in example.prompt], "case": json.dumps(example.as_json())}
            for example in examples
        ]
    )


def _arguments(run: Run, settings: Settings) -> GRPOConfig:
    grpo = settings.grpo
    same = (
        *("max_steps", "learning_rate", "num_generations", "per_device_train_batch_size", "max_completion_length"),
        *("gradient_accumulation_steps", "beta", "epsilon", "temperature", "num_iterations", "loss_type"),
        *("scale_rewards", "warmup_steps", "lr_scheduler_type", "weight_decay", "max_grad_norm"),
        *("gradient_checkpointing", "use_vllm", "vllm_gpu_memory_utilization", "vllm_max_model_length"),
        *("logging_steps", "save_steps"),
    )
    return GRPOConfig(
        output_dir=str(run.checkpoints),
        **{name: getattr(grpo, name) for name in same},
        reward_weights=[grpo.reward_weights[name] for name in REWARDS],
        bf16=settings.model.bf16,
        use_cpu=not torch.cuda.is_available(),
        seed=settings.seed,
        data_seed=settings.seed,
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
    )
