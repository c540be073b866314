"""Where things tend to be: counted, kept, and made prices for hypotheses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.planning.memory import PositiveMemory
from graph_planner_ros.planning.prior import Prior, domain_prior, read_prior
from graph_planner_ros.planning.storage import StoredMemoryError

PLACES = {"fridge 1": "Fridge", "cabinet 1": "Cabinet", "cabinet 2": "Cabinet"}
LABELS = {"egg 1": "Egg", "egg 2": "Egg", "mug 1": "Mug", "cup 1": "Cup"}


@pytest.fixture
def prior() -> Prior:
    found = Prior("two homes")
    found.add_home(PLACES, {"egg 1": "fridge 1", "egg 2": "fridge 1", "mug 1": "cabinet 2"}, LABELS)
    found.add_home(PLACES, {"egg 1": "cabinet 1"}, LABELS)
    return found


def test_places_are_counted_in_homes_where_there_is_such_a_thing(prior: Prior) -> None:
    assert prior.homes == 2
    assert prior.counts == {
        "Egg": {"Fridge": (1, 2), "Cabinet": (1, 4)},
        "Mug": {"Fridge": (0, 1), "Cabinet": (1, 2)},
    }
    assert prior.knows("Egg") and not prior.knows("Cup")


def test_chances_follow_the_counts_and_are_never_nought(prior: Prior) -> None:
    assert prior.chance("Egg", "Fridge") > prior.chance("Egg", "Cabinet") > 0.0
    assert prior.chance("Mug", "Cabinet") > prior.chance("Mug", "Fridge") > 0.0
    assert 0.0 <= prior.chance("Egg", "Sofa") <= 1.0, "a place that was never seen"


def test_a_prior_is_kept_in_a_file(prior: Prior, tmp_path: Path) -> None:
    file = tmp_path / "prior.json"
    prior.save(file)
    assert read_prior(file) == prior
    assert file.read_text().count("\n") == 2 + len(prior.counts), "a line for each class"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"kind": "positive memory", "seen": []}',
        '{"kind": "prior of positive memory", "source": "", "homes": 1}',
        '{"kind": "prior of positive memory", "source": "", "homes": 1, "counts": {"Egg": {"Fridge": [3, 2]}}}',
        '{"kind": "prior of positive memory", "source": "", "homes": 1, "counts": {"Egg": {"Fridge": 3}}}',
        '{"kind": "prior of positive memory", "source": "", "homes": 1, "counts": [1]}',
    ],
)
def test_a_file_that_is_none_is_refused_by_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    with pytest.raises(StoredMemoryError, match=r"broken\.json"):
        read_prior(file)


def test_a_domain_that_names_a_missing_file_says_so(tmp_path: Path) -> None:
    source = load_domain("alfworld").folder
    for name in ("domain.pddl", "domain.yaml"):
        shutil.copy(source / name, tmp_path / name)
    with pytest.raises(DomainError, match="prior"):
        domain_prior(load_domain(tmp_path))


def test_prices_are_those_of_the_paper_over_the_learned_chances() -> None:
    domain = load_domain("alfworld")
    prior = domain_prior(domain)
    assert prior is not None and domain_prior(load_domain("household")) is None
    label = max(prior.counts, key=lambda name: len(prior.counts[name]))
    places = {f"{of} 1": of for of in prior.counts[label]}
    costs = PositiveMemory(domain).costs("", label, places)
    chances = {place: prior.chance(label, of) for place, of in places.items()}
    assert min(costs.values()) == 1.0 and max(costs.values()) == 11.0
    assert sorted(costs, key=lambda p: (costs[p], p)) == sorted(chances, key=lambda p: (-chances[p], p))


def test_what_was_never_counted_is_priced_as_without_a_prior() -> None:
    domain = load_domain("alfworld")
    costs = PositiveMemory(domain).costs("", "Poster", {"bed 1": "Bed", "sofa 1": "Sofa"})
    assert set(costs.values()) == {1.0}
