"""From ALFRED's data to a trained reader: the work of ``graph-planner instruction train``."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap, load_map
from graph_planner_ros.benchmarks.alfred.data import Trajectory, data_file, file_hash, read_trajectories
from graph_planner_ros.benchmarks.statistics import wilson
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.understanding.examples import Example, hold_out
from graph_planner_ros.language.understanding.model_file import TrainedReader
from graph_planner_ros.language.understanding.others import OtherSentences
from graph_planner_ros.language.understanding.reader import InstructionUnderstanding
from graph_planner_ros.language.understanding.slots import (
    NONE,
    Inventory,
    Meaning,
    fitting_classes,
    fixed_classes,
)

OTHERS = 4000
"""Different sentences that ask for other things."""


def examples_of(trajectories: Sequence[Trajectory], annotations: AnnotationMap, slots: Sequence[str]) -> list[Example]:
    """Return a sentence with its meaning for each annotation; those of classes that the domain lacks are left out."""
    found = []
    known = annotations.domain.classes
    for trajectory in trajectories:
        used = set(annotations.task(trajectory.task).things.values())
        classes = tuple(trajectory.params.get(slot, "") if slot in used else NONE for slot in slots)
        # classes that the domain lacks tell rooms apart all the same
        present = {**trajectory.objects, **dict.fromkeys(trajectory.fixtures, 1)}
        if any(name not in known for name in classes if name != NONE):
            continue
        meaning = Meaning(trajectory.task, classes, trajectory.sliced)
        found += [
            Example(annotation.goal, meaning, present, trajectory.room, trajectory.name)
            for annotation in trajectory.annotations
        ]
    return found


def raw_structures(annotations: AnnotationMap) -> dict[str, Any]:
    """Return the structures of goals as a model's header has them."""

    def text(predicate: str, arguments: Sequence[str], positive: bool) -> str:
        return f"{'' if positive else 'not '}{predicate}({', '.join(arguments)})"

    return {
        "tasks": {
            name: {
                "things": dict(task.things),
                "literals": [text(item.predicate, item.arguments, item.positive) for item in task.literals],
                "distinct": [list(group) for group in task.distinct],
            }
            for name, task in annotations.tasks.items()
        },
        "extra": [text(item.predicate, item.arguments, item.positive) for item in annotations.sliced],
    }


def make_inventory(annotations: AnnotationMap, trajectories: Sequence[Trajectory]) -> tuple[Inventory, frozenset[str]]:
    """Return what can be meant, with the classes that fit each slot, and the classes that can be changed."""
    raw = raw_structures(annotations)
    slots = tuple(dict.fromkeys(slot for task in annotations.tasks.values() for slot in task.things.values()))
    fillers: dict[str, set[str]] = {slot: set() for slot in slots}
    changed = set()
    for trajectory in trajectories:
        for slot in set(annotations.task(trajectory.task).things.values()):
            fillers[slot].add(trajectory.params[slot])
        if trajectory.sliced:
            changed.add(trajectory.params[slots[0]])
    domain = annotations.domain
    candidates = {slot: fitting_classes(domain, names) for slot, names in fillers.items()}
    inventory = Inventory.of(domain, raw["tasks"], raw["extra"], candidates)
    return inventory, frozenset(fitting_classes(domain, changed))


def fixture_names(domain: Domain, trajectories: Sequence[Trajectory]) -> frozenset[str]:
    """Return the classes of fixtures: those of the domain, and the data's own names of others."""
    named = {name for trajectory in trajectories for name in trajectory.fixtures if name not in domain.classes}
    return fixed_classes(domain) | named


def load_data(data: Path, split: str) -> tuple[AnnotationMap, list[Trajectory], str]:
    """Return the map of annotations, the trajectories of a split, and the hash of their file."""
    path = data_file(data, split)
    return load_map(), read_trajectories(path), file_hash(path)


def own_vocabulary(tokenizer_file: Path) -> list[str]:
    """Return the word pieces of an encoder in the order of their rows, from its ``tokenizer.json``."""
    rows = json.loads(tokenizer_file.read_text(encoding="utf-8"))["model"]["vocab"]
    return sorted(rows, key=rows.__getitem__)


def other_sentences(annotations: AnnotationMap, inventory: Inventory, seed: int) -> list[str]:
    """Return sentences that ask for other things than ALFRED's do."""
    known = [frozenset(item.predicate for item in task.literals) for task in inventory.structures.values()]
    return OtherSentences(annotations.domain, known).write(random.Random(seed), OTHERS)


def train(
    data: Path,
    encoder: Path,
    checkpoint: Path,
    *,
    seed: int,
    epochs: int,
    threads: int,
    hold_out_parts: bool,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train and save the weights, after every epoch; return how often whole meanings of held-out parts are right."""
    import torch

    from graph_planner_ros.language.understanding import training

    annotations, trajectories, _ = load_data(data, "train")
    inventory, changeable = make_inventory(annotations, trajectories)
    examples = examples_of(trajectories, annotations, inventory.slots)
    parts = hold_out(examples, seed) if hold_out_parts else hold_out(examples, seed, 0, 0)
    others = other_sentences(annotations, inventory, seed)
    texts = [example.text for example in examples] + others
    texts += [word for entry in annotations.domain.classes.values() for word in entry.words]
    vocabulary, kept = training.choose_vocabulary(own_vocabulary(encoder / "tokenizer.json"), texts)
    setting = training.Setting(annotations.domain, inventory, vocabulary, kept)
    say(f"{len(parts.fit)} sentences to learn from, {len(vocabulary)} word pieces, seed {seed}")
    torch.manual_seed(seed)
    reader = training.make_reader(setting, _weights(encoder))
    options = training.TrainingOptions(epochs=epochs, seed=seed, threads=threads)
    trainer = training.Trainer(setting, options, parts.fit, others, annotations.connectives, say)
    decoder = training.make_decoder(setting, parts.fit, changeable, fixture_names(annotations.domain, trajectories))

    measured: dict[str, Any] = {}

    def report(epoch: int) -> None:
        for name, held in (("seen rooms", parts.seen_rooms), ("unseen rooms", parts.unseen_rooms)):
            if held:
                right = training.whole_right(decoder, training.scores_of(reader, setting, held), held)
                hits = sum(hit for hit, _ in right)
                measured[name] = {"n": len(right), "wholly_right": hits}
                say(f"epoch {epoch}, {name}: {hits} of {len(right)} wholly right")
        torch.save({"weights": reader.state_dict(), "vocabulary": vocabulary, "kept": kept}, checkpoint)

    trainer.train(reader, report)
    return measured


def export(
    data: Path,
    checkpoint: Path,
    folder: Path,
    *,
    command: str,
    seed: int,
    temperature: float,
    report: dict[str, Any],
    hold_out_parts: bool = False,
) -> int:
    """Write a trained reader from saved weights: int8, with prior and words of the data; return its size in bytes.

    Args:
        command: that trained it. temperature: of its probabilities. report: what was measured on held-out data.
        hold_out_parts: as it was trained; prior and words are then of what it learned from as well.
    """
    import torch

    from graph_planner_ros.language.understanding import model_file, training
    from graph_planner_ros.language.understanding.decoding import RoomPrior
    from graph_planner_ros.language.understanding.evidence import Evidence, TokenReader
    from graph_planner_ros.language.understanding.export import write_network

    annotations, trajectories, digest = load_data(data, "train")
    inventory, changeable = make_inventory(annotations, trajectories)
    saved = torch.load(checkpoint, weights_only=True)
    setting = training.Setting(annotations.domain, inventory, tuple(saved["vocabulary"]), tuple(saved["kept"]))
    reader = training.empty_reader(setting)
    reader.load_state_dict(saved["weights"])
    folder.mkdir(parents=True, exist_ok=True)
    write_network(reader, folder / model_file.MODEL, len(setting.inventory.slots))
    fixed = fixture_names(annotations.domain, trajectories)
    examples: Sequence[Example] = examples_of(trajectories, annotations, inventory.slots)
    if hold_out_parts:
        examples = hold_out(examples, seed).fit
    raw = raw_structures(annotations)
    decoder = training.make_decoder(setting, (), changeable, fixed)
    header = {
        "command": command,
        "data": digest,
        "seed": seed,
        "sentences": len(examples),
        "held_out": report,
        "prior_weight": decoder.weight,
        "temperature": temperature,
        "structures": raw["tasks"],
        "extra": raw["extra"],
        "candidates": {slot: list(names) for slot, names in inventory.candidates.items()},
        "names": list(setting.names),
        "changeable": sorted(changeable),
        "fixed": sorted(fixed),
        "classes": list(setting.classes),
    }
    model_file.write_evidence(folder, Evidence.of(TokenReader(annotations.domain), examples))
    model_file.write_header(folder, header, setting.vocabulary, RoomPrior.of(examples, fixed))
    return (folder / model_file.MODEL).stat().st_size


def judge(reader: TrainedReader, data: Path, split: str, held_out: str = "") -> list[str]:
    """Return lines that say how good a trained reader is on a split: by slot, wholly, its certainty, and its time.

    Args:
        held_out: ``seen rooms`` or ``unseen rooms``: only what a reader trained with ``--hold-out`` has not learned.

    Raises:
        ValueError: something else is held out, or the reader has learned from all of the split.
    """
    annotations, trajectories, digest = load_data(data, split)
    inventory, decoder = reader.decoder.inventory, reader.decoder
    examples = examples_of(trajectories, annotations, inventory.slots)
    if held_out:
        if int(reader.header["sentences"]) >= len(examples):
            raise ValueError(
                f"nothing of the split {split} is held out from this reader: expected the split train, and a reader "
                "that was trained with --hold-out"
            )
        examples = list(_held_out(examples, int(reader.header["seed"]), held_out))
    right: dict[str, int] = dict.fromkeys(("structure", "changed", *inventory.slots, "whole"), 0)
    bins: dict[int, list[bool]] = {}
    seconds = []
    for example in examples:
        started = time.perf_counter()
        scores = reader.scores([example.text], example.present)[0]
        readings = decoder.readings(scores, example.present, True)
        seconds.append(time.perf_counter() - started)
        if not readings:
            continue
        found, wanted = readings[0].meaning, example.meaning
        right["structure"] += found.structure == wanted.structure
        right["changed"] += found.changed == wanted.changed
        for slot, mine, theirs in zip(inventory.slots, found.classes, wanted.classes, strict=True):
            right[slot] += mine == theirs
        right["whole"] += found == wanted
        bins.setdefault(min(9, int(readings[0].probability * 10)), []).append(found == wanted)
    n = len(examples)
    lines = [f"{split}, data {digest}, {n} sentences, reader {reader.header['model']}"]
    for name, hits in right.items():
        interval = wilson(hits, n)
        lines.append(f"{name}: {hits / n:.1%} [{interval.low:.1%}, {interval.high:.1%}]")
    for row in sorted(bins):
        share = sum(bins[row]) / len(bins[row])
        lines.append(f"certainty {row / 10:.1f} to {(row + 1) / 10:.1f}: {len(bins[row])} sentences, {share:.0%} right")
    for kind, cautious in (("auto", True), ("trained", False)):
        understanding = InstructionUnderstanding(annotations.domain, reader, cautious)
        lines.append(f"{kind}: {_whole_reader(annotations.domain, inventory, understanding, examples)}")
    seconds.sort()
    lines.append(f"time of a sentence: median {seconds[n // 2] * 1e3:.1f} ms, at most {seconds[-1] * 1e3:.1f} ms")
    return lines


def _held_out(examples: Sequence[Example], seed: int, name: str) -> Sequence[Example]:
    parts = hold_out(examples, seed)
    found = {"seen rooms": parts.seen_rooms, "unseen rooms": parts.unseen_rooms}
    if name not in found:
        raise ValueError(f"expected one of: {', '.join(found)}; found {name!r}")
    return found[name]


def _whole_reader(
    domain: Domain, inventory: Inventory, reader: InstructionUnderstanding, examples: Sequence[Example]
) -> str:
    """Return how often a reader with its rules and questions is right, acts on something else, and asks.

    Goals are compared by their literals over classes, but for where the robot is: the rules leave it to the planner.
    """
    right = wrong = 0
    for example in examples:
        parsed = reader.parse(example.text, present=example.present)
        hit = parsed.understood and _literals(parsed.goals[-1], domain) == _literals(
            inventory.goal(domain, example.meaning), domain
        )
        right += hit
        wrong += parsed.understood and not hit
    n = max(1, len(examples))
    return f"right {right / n:.1%}, wrong {wrong / n:.1%}, asked {1 - (right + wrong) / n:.1%}, n {len(examples)}"


def _literals(goal: Goal, domain: Domain) -> Counter[tuple[str, bool, tuple[str, ...]]]:
    classes = {variable.name: variable.class_name or "" for variable in goal.variables}
    return Counter(
        (literal.predicate, literal.positive, tuple(classes[name] for name in literal.arguments))
        for literal in goal.literals
        if literal.predicate != domain.location
    )


def _weights(encoder: Path) -> Any:
    """Return the weights of a BERT from its ``model.safetensors``."""
    from safetensors.torch import load_file

    return load_file(encoder / "model.safetensors")
