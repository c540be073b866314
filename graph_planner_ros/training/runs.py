"""The folder of a training run: what it was started with, its figures, its checkpoints, and how to go on with it.

run.json        settings, data, versions, state, results; always whole
metrics.jsonl   a line for each log
curve.png       the same as a picture
checkpoints/    the last two; one without the file `complete` was interrupted while it was written
model/          the trained model with its tokenizer
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.json_files import parse_object, read_text
from graph_planner_ros.training.errors import TrainingError
from graph_planner_ros.training.examples import ExampleSet
from graph_planner_ros.training.settings import Settings

COMPLETE = "complete"
RUNNING, STOPPED, FINISHED, FAILED = "running", "stopped", "finished", "failed"


class Run:
    """A run's folder.

    Attributes:
        folder: where it is. content: what run.json holds.
    """

    def __init__(self, folder: Path, content: dict[str, Any]) -> None:
        self.folder = folder
        self.content = content
        self._started = time.monotonic()
        self._before = float(content.get("seconds", 0.0))

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        """Folder of the trained model."""
        return self.folder / "model"

    @property
    def metrics(self) -> Path:
        """File of the figures."""
        return self.folder / "metrics.jsonl"

    @staticmethod
    def open(folder: Path, kind: str, settings: Settings, data: ExampleSet, model: str, resume: bool) -> Run:
        """Begin a run, or go on with one that was started with the same settings, data and model.

        Raises:
            TrainingError: the folder holds a run and is not to be resumed, holds none, or one of something else.
        """
        content = {
            "kind": kind,
            "seed": settings.seed,
            "model": model,
            "settings_digest": settings.digest,
            "data_digest": data.digest,
            "settings": asdict(settings),
            "data": {"set": data.name, "examples": len(data.examples), **data.about},
        }
        file = folder / "run.json"
        if not resume:
            if folder.exists() and any(folder.iterdir()):
                raise TrainingError(
                    f"{folder} is not empty: --resume goes on with the run in it, or name another folder"
                )
            run = Run(folder, content)
            run.write(state=RUNNING, command=sys.argv[1:], started=_now())
            return run
        try:
            found = parse_object(read_text(file), str(file))
        except ValueError as error:
            raise TrainingError(f"{folder} holds no run to go on with: {error}") from None
        for name in ("kind", "model", "settings_digest", "data_digest"):
            if found.get(name) != content[name]:
                raise TrainingError(
                    f"{folder} was started with {name.replace('_', ' ')} {found.get(name)!r}, not {content[name]!r}"
                )
        if found.get("state") == FINISHED:
            raise TrainingError(f"{folder} is finished")
        run = Run(folder, found)
        run.write(state=RUNNING)
        return run

    def write(self, **entries: Any) -> None:
        """Set entries of run.json and write it."""
        self.content.update(entries)
        self.content["seconds"] = round(self._before + time.monotonic() - self._started, 1)
        self.content["written"] = _now()
        write_atomically(self.folder / "run.json", json.dumps(self.content, indent=2) + "\n")

    # ---- checkpoints

    def mark_complete(self, step: int) -> None:
        """Note that a checkpoint is whole."""
        write_atomically(self.checkpoints / f"checkpoint-{step}" / COMPLETE, "")

    def last_checkpoint(self) -> Path | None:
        """Return the newest whole checkpoint, and delete those that are not."""
        found: dict[int, Path] = {}
        for folder in self.checkpoints.glob("checkpoint-*"):
            if (folder / COMPLETE).exists():
                found[int(folder.name.rsplit("-", 1)[1])] = folder
            else:
                shutil.rmtree(folder)
        return found[max(found)] if found else None

    # ---- figures

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a line of figures."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(row)) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """Return the lines of figures; one that was cut off is left out."""
        if not self.metrics.exists():
            return []
        rows = []
        for line in self.metrics.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
        return rows

    def forget_after(self, step: int) -> None:
        """Drop figures of steps that are done again."""
        kept = [row for row in self.rows() if row["step"] <= step]
        write_atomically(self.metrics, "".join(json.dumps(row) + "\n" for row in kept))

    def draw(self, names: Sequence[str], title: str) -> None:
        """Draw figures by step, each with its mean over a tenth of the steps."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        rows = self.rows()
        drawn = [name for name in names if any(name in row for row in rows)]
        if not drawn:
            return
        figure, axes = pyplot.subplots(len(drawn), 1, figsize=(7, 2.2 * len(drawn)), sharex=True, squeeze=False)
        for axis, name in zip(axes[:, 0], drawn, strict=True):
            points = [(row["step"], row[name]) for row in rows if isinstance(row.get(name), int | float)]
            steps, values = [step for step, _ in points], [value for _, value in points]
            width = max(1, len(values) // 10)
            means = [sum(values[max(0, i - width + 1) : i + 1]) / min(width, i + 1) for i in range(len(values))]
            axis.plot(steps, values, color="0.75")
            axis.plot(steps, means)
            axis.set_ylabel(name.removeprefix("rewards/").removesuffix("/mean").replace("_", " "))
        axes[-1, 0].set_xlabel("step")
        axes[0, 0].set_title(title)
        figure.tight_layout()
        temporary = self.folder / ".curve.png"
        figure.savefig(temporary, dpi=110, format="png")
        pyplot.close(figure)
        os.replace(temporary, self.folder / "curve.png")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
