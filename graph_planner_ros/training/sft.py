"""Supervised fine-tuning with trl: reference answers to prompts; only the answers are learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from graph_planner_ros.planning.task_graph import TaskGraph
from graph_planner_ros.training import report
from graph_planner_ros.training.examples import PLANS, Example, ExampleSet, split
from graph_planner_ros.training.runs import FINISHED, Run
from graph_planner_ros.training.settings import Settings
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


def run_sft(
    run: Run, settings: Settings, data: ExampleSet, graph: TaskGraph | None, say: Say, stop: Stop, resume: bool
) -> bool:
    """Train, judge by what was held out, and write the model; return whether the end was reached.

    Args:
        graph: for the rewards of answers to held-out prompts; None where the set has no plans.

    Raises:
        TrainingError: settings or data that do not fit this machine or each other.
    """
    prepare(settings)
    learned, held_out = split(data.examples, settings.data.held_out, settings.data.limit, settings.seed)
    model, tokenizer = load_model(settings, run.content["model"], learned)
    learned, held_out = (fitting(part, tokenizer, settings.data.max_prompt_tokens) for part in (learned, held_out))
    say(f"seed {settings.seed}; {len(learned)} examples to learn from, {len(held_out)} held out")
    run.write(versions=versions(), learned=len(learned), held_out=len(held_out))
    trainer = SFTTrainer(
        model=model,
        args=_arguments(run, settings),
        train_dataset=_dataset(learned),
        eval_dataset=_dataset(held_out),
        processing_class=tokenizer,
        peft_config=adapters(settings.model.lora),
        callbacks=[RunCallback(run, say, stop, ("loss", "mean_token_accuracy"))],
    )
    if not train(trainer, run, say, resume, ("loss", "mean_token_accuracy"), "supervised fine-tuning"):
        return False
    results: dict[str, Any] = {"held_out_loss": round(float(trainer.evaluate()["eval_loss"]), 4)}
    say(f"held-out loss {results['held_out_loss']}")
    if graph is not None and data.name == PLANS:
        texts = answers(trainer.model, tokenizer, held_out, settings.grpo.max_completion_length)
        results["held_out"] = report.reward_figures(rewards_of(texts, held_out, graph, settings))
        say(f"held-out reward {report.text(results['held_out']['total'])}")
    save_model(trainer, tokenizer, run.model)
    run.write(state=FINISHED, results=results)
    return True


def _dataset(examples: Sequence[Example]) -> Dataset:
    return Dataset.from_list(
        [
            {
                "prompt": [dict(turn) for turn in example.prompt],
                "completion": [{"role": "assistant", "content": example.answer}],
            }
            for example in examples
        ]
    )


def _arguments(run: Run, settings: Settings) -> SFTConfig:
    sft = settings.sft
    return SFTConfig(
        output_dir=str(run.checkpoints),
        max_steps=sft.max_steps,
        learning_rate=sft.learning_rate,
        lr_scheduler_type=sft.lr_scheduler_type,
        warmup_steps=sft.warmup_steps,
        weight_decay=sft.weight_decay,
        per_device_train_batch_size=sft.per_device_train_batch_size,
        per_device_eval_batch_size=sft.per_device_train_batch_size,
        gradient_accumulation_steps=sft.gradient_accumulation_steps,
        gradient_checkpointing=sft.gradient_checkpointing,
        max_length=sft.max_length,
        completion_only_loss=True,
        bf16=settings.model.bf16,
        use_cpu=not torch.cuda.is_available(),
        seed=settings.seed,
        data_seed=settings.seed,
        logging_steps=sft.logging_steps,
        save_steps=sft.save_steps,
        save_total_limit=2,
        eval_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
