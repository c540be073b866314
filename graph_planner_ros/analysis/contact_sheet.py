"""A picture of a recorded run: what the robot's camera saw after each subtask, with the subtask written below."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

TILE = (400, 300)
CAPTION = 34
COLUMNS = 4


@dataclass(frozen=True)
class Moment:
    """The end of a subtask: ``image`` is (H, W, 3) uint8, or None if the bag has no colour image before it."""

    text: str
    succeeded: bool
    image: np.ndarray[Any, np.dtype[np.uint8]] | None


def read_moments(bag: Path) -> list[Moment]:
    """Return the ends of all subtasks in a bag, in order, each with the newest colour image before it.

    Raises:
        FileNotFoundError: if there is no such bag. ValueError: if it cannot be read.
    """
    if not bag.is_dir():
        raise FileNotFoundError(f"there is no bag {bag}")
    moments: list[Moment] = []
    newest: np.ndarray[Any, np.dtype[np.uint8]] | None = None
    try:
        with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            wanted = ("rgb/image", "events/subtask_completed", "events/action_failure")
            connections = [c for c in reader.connections if c.topic.endswith(wanted)]
            for connection, _, data in reader.messages(connections=connections):
                message: Any = reader.deserialize(data, connection.msgtype)
                if connection.topic.endswith("rgb/image"):
                    newest = np.frombuffer(message.data, np.uint8).reshape(message.height, message.width, 3)
                else:
                    done = connection.topic.endswith("subtask_completed")
                    moments.append(Moment(message.subtask.text, done, newest))
    except Exception as error:
        raise ValueError(f"{bag} cannot be read: {error}; graph-planner bag repair may help") from error
    return moments


def save_contact_sheet(bag: Path, path: Path) -> int:
    """Write the picture and return how many subtasks are in it; ValueError if the bag has none."""
    moments = read_moments(bag)
    if not moments:
        raise ValueError(f"{bag}: no subtask ended in this run")
    rows = -(-len(moments) // COLUMNS)
    width, height = TILE
    sheet = Image.new("RGB", (COLUMNS * width, rows * (height + CAPTION)), "white")
    draw = ImageDraw.Draw(sheet)
    for number, moment in enumerate(moments):
        left, top = number % COLUMNS * width, number // COLUMNS * (height + CAPTION)
        if moment.image is not None:
            sheet.paste(Image.fromarray(moment.image).resize(TILE), (left, top))
        caption = f"{number + 1}. {moment.text}" + ("" if moment.succeeded else " (failed)")
        color = "black" if moment.succeeded else "red"
        draw.text((left + 6, top + height + 8), textwrap.shorten(caption, 52), fill=color, font_size=16)
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    return len(moments)
