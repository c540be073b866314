"""The same parser in a domain without kitchens: everything comes from the YAML and the PDDL."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.language.instruction import InstructionParser

GREENHOUSE = Path(__file__).parents[1] / "fixtures" / "domains" / "greenhouse"
Helper = Callable[..., Any]

MEANINGS = [
    ("stand the fern upon a bench", [{"stands(Fern, Bench)"}]),
    (
        "water two cacti and stand them on the shady bench",
        [{"watered(Cactus1)", "watered(Cactus2)", "stands(Cactus1, Shade)", "stands(Cactus2, Shade)"}],
    ),
    ("lift the fern and stand it on the bench", [{"stands(Fern, Bench)"}]),
    ("tilt the vent then seal it", [{"ajar(Skylight)"}, {"not ajar(Skylight)"}]),
    ("water the thirsty fern", [{"watered(Fern)"}]),
]


@pytest.mark.parametrize(("text", "goals"), MEANINGS)
def test_meaning(greenhouse: InstructionParser, text: str, goals: list[set[str]], read: Helper) -> None:
    assert read(greenhouse, text) == goals


def test_kitchen_words_mean_nothing_here(greenhouse: InstructionParser, refuse: Helper) -> None:
    parsed = refuse(greenhouse, "put the mug in the fridge")
    assert set(parsed.not_understood) == {"mug", "in", "fridge"}
    assert "water the fern" in parsed.suggestions


def test_what_no_action_brings_about_is_refused(greenhouse: InstructionParser, refuse: Helper) -> None:
    assert "plant" in refuse(greenhouse, "water the bench").reason


WRONG = [
    ("commands.0.goal", ["stood(p, b)"], "no predicate 'stood'"),
    ("commands.0.goal", ["stands(p)"], "takes 2 arguments"),
    ("commands.0.goal", ["stands(p, q)"], "'q' is not a role"),
    ("commands.0.goal", ["stands p b"], "expected a literal"),
    ("commands.0.patterns", ["PUT <p> UPON <b>"], "no set of phrases 'PUT'"),
    ("commands.0.patterns", ["<p> UPON <b>"], "starts with a set of phrases"),
    ("commands.0.patterns", [], "at least one pattern"),
    ("phrases.UPON", [True], "quote on"),
    ("grammar.then", "then", "expected a list"),
    ("grammar.colours", ["red"], "unknown entry"),
    ("states.0.literal", "dry(x)", "no predicate 'dry'"),
    ("max_count", 0, "whole number"),
    ("comands", [], "unknown entry"),
]


@pytest.mark.parametrize(("key", "value", "expected"), WRONG)
def test_mistakes_in_the_wording_are_named(tmp_path: Path, key: str, value: object, expected: str) -> None:
    folder = shutil.copytree(GREENHOUSE, tmp_path / "greenhouse")
    document = yaml.safe_load((folder / "domain.yaml").read_text())
    *path, last = key.split(".")
    place = document["wording"]
    for name in path:
        place = place[int(name)] if name.isdigit() else place[name]
    place[last] = value
    (folder / "domain.yaml").write_text(yaml.safe_dump(document))
    domain = load_domain(folder)
    with pytest.raises(DomainError, match="wording") as error:
        InstructionParser(domain)
    assert expected in str(error.value)
    assert "domain.yaml" in str(error.value)
