"""What a trained reader learns from: sentences with what people meant, and what was there."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from graph_planner_ros.language.understanding.slots import Meaning

UNSEEN_ROOMS = 8
HELD_EPISODES = 400


@dataclass(frozen=True)
class Example:
    """A sentence.

    Attributes:
        text: as somebody wrote it. meaning: what it asks for.
        present: class -> how many of it are there. room: where it was said. episode: sentences of one episode
            belong together.
    """

    text: str
    meaning: Meaning
    present: Mapping[str, int]
    room: str
    episode: str


@dataclass(frozen=True)
class Parts:
    """Examples to learn from, and two parts that are held out: new episodes of known rooms, and unknown rooms."""

    fit: tuple[Example, ...]
    seen_rooms: tuple[Example, ...]
    unseen_rooms: tuple[Example, ...]


def hold_out(examples: Sequence[Example], seed: int, rooms: int = UNSEEN_ROOMS, episodes: int = HELD_EPISODES) -> Parts:
    """Split examples by room and by episode; with 0 rooms and 0 episodes all of them are learned from."""
    rng = random.Random(seed)
    names = sorted({example.room for example in examples})
    unseen = set(rng.sample(names, min(rooms, max(0, len(names) - 1))))
    groups = sorted({example.episode for example in examples if example.room not in unseen})
    held = set(rng.sample(groups, min(episodes, max(0, len(groups) - 1))))
    return Parts(
        tuple(item for item in examples if item.room not in unseen and item.episode not in held),
        tuple(item for item in examples if item.room not in unseen and item.episode in held),
        tuple(item for item in examples if item.room in unseen),
    )


def composed(
    rng: random.Random, by_room: Mapping[str, Sequence[Example]], rooms: Collection[str], connectives: Sequence[str]
) -> tuple[str, Mapping[str, int]]:
    """Return a text that asks for two to four things in one room, and what is there."""
    chosen = by_room[rng.choice(sorted(rooms))]
    first = rng.choice(chosen)
    text = first.text
    for _ in range(rng.choice((1, 1, 2, 3))):
        following = rng.choice(chosen).text
        rest = following[:1].lower() + following[1:]
        text = rng.choice(connectives).format(first=text.rstrip(" .!"), rest=rest)
    return text, first.present
