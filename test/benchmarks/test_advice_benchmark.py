"""The measure of advice: banks apart from what is tested, paired figures, and lies that are lies."""

from __future__ import annotations

import pytest

from graph_planner_ros.benchmarks.advice import (
    ADVICE,
    MISLED,
    NO_ADVICE,
    AdviceReport,
    Played,
    Setting,
    SkippedError,
    Variant,
    check_apart,
    choose_bank,
    compare_pairs,
    run_settings,
    variants,
)
from graph_planner_ros.benchmarks.experience import collect_from_kitchens
from graph_planner_ros.benchmarks.misleading import mislead
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus
from graph_planner_ros.memory.place_counts import episode_places

DOMAIN: Domain = load_domain("household")


def episode(number: int, layout: str, status: EpisodeStatus = EpisodeStatus.SUCCEEDED) -> Episode:
    return Episode(EpisodeHeader(f"id{number}", "household", "", layout=layout, origin=f"o{number}", status=status))


@pytest.fixture(scope="module")
def played() -> list[Episode]:
    return list(collect_from_kitchens(DOMAIN, ["galley"], [1], 3))


def test_a_bank_has_solved_episodes_of_other_homes_only() -> None:
    episodes = [
        episode(n, "ab"[n % 2], EpisodeStatus.FAILED if n % 5 == 0 else EpisodeStatus.SUCCEEDED) for n in range(40)
    ]
    bank = choose_bank(episodes, {"a"}, 10)
    assert len(bank) == len({e.header.episode_id for e in bank}) == 10
    assert check_apart(bank, {"a"}) == ("b",)
    assert all(e.header.status is EpisodeStatus.SUCCEEDED for e in bank)
    assert choose_bank(list(reversed(episodes)), {"a"}, 10) == bank, "the order of the file decides nothing"
    with pytest.raises(ValueError, match="needs 30 solved episodes"):
        choose_bank(episodes, {"a"}, 30)
    with pytest.raises(ValueError, match="tested as well: b"):
        check_apart(bank, {"b", "c"})


def test_pairs_are_compared_by_the_change_of_their_means() -> None:
    pairs = [
        (Played(20, True), Played(15, True)),
        (Played(10, True), Played(9, True)),
        (Played(50, False), Played(30, True)),
    ]
    found = compare_pairs("it", pairs)
    assert found.change.estimate == pytest.approx(54 / 80 - 1)
    assert found.change.low <= found.change.estimate <= found.change.high < 0
    assert (found.only_base, found.only_this, found.count) == (0, 1, 3)
    same = compare_pairs("it", [(Played(7, True), Played(7, True))] * 4)
    assert (same.change.low, same.change.high) == (0.0, 0.0)
    with pytest.raises(ValueError, match="nothing to compare"):
        compare_pairs("it", [])


def test_a_report_has_every_task_and_says_what_was_left_out() -> None:
    def play(name: str, variant: Variant) -> Played:
        if name == "broken":
            raise SkippedError("it has no solution")
        return Played({NO_ADVICE: 10, ADVICE: 8, MISLED: 12}[variant.bank], True)

    report = AdviceReport("a world", 1)
    setting = Setting([episode(1, "b")], frozenset("a"), ["one", "broken", "two"], play)
    done = [task for task, _ in run_settings(report, [setting], variants([True]))]
    assert done == ["one", "two"]
    assert report.left_out == {"broken": "it has no solution"}
    assert report.banks == [(("b",), ("a",))]
    assert {item.name: round(item.change.estimate, 3) for item in report.comparisons} == {
        "with prior, advice": -0.2,
        "with prior, misled": 0.2,
    }
    assert report.as_json()["comparisons"][0]["change"]["estimate"] == pytest.approx(-0.2)
    with pytest.raises(ValueError, match="tested as well"):
        list(run_settings(AdviceReport("w", 1), [Setting([episode(1, "a")], frozenset("a"), [], play)], ()))


def test_misleading_episodes_lie_about_every_place_and_about_the_order_of_actions(played: list[Episode]) -> None:
    wrong = mislead(DOMAIN, played)
    for true, false in zip(played, wrong, strict=True):
        right, lie = episode_places(DOMAIN, true), episode_places(DOMAIN, false)
        assert right.found and lie.found.keys() == right.found.keys()
        labels = {name: node.label for step in true.steps for name, node in step.scene.nodes.items()}
        for label, places in right.found.items():
            assert {labels[p] for p in places}.isdisjoint(labels[p] for p in lie.found[label]), label
        assert sorted(str(step.action) for step in true.steps) == sorted(str(step.action) for step in false.steps)
        assert false.header.episode_id != true.header.episode_id
    assert any(
        [step.action for step in a.steps] != [step.action for step in b.steps]
        for a, b in zip(played, wrong, strict=True)
    )


def test_variants_are_compared_with_the_one_of_the_same_prior() -> None:
    names = [variant.name for variant in variants([False, True], ablations=True)]
    assert names[:5] == [
        "without prior, no advice",
        "without prior, advice",
        "without prior, misled",
        "without prior, places only",
        "without prior, actions only",
    ]
    assert len(names) == len(set(names)) == 10
