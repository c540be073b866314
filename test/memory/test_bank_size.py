"""Which episodes go when the bank is full."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.memory.bank_size import FAILED_SHARE, Candidate, choose

S, F, I = "succeeded", "failed", "interrupted"  # noqa: E741


def candidates(*kinds: tuple[str, str], steps: int = 10) -> list[Candidate]:
    return [Candidate(number, status, (task, ""), steps) for number, (status, task) in enumerate(kinds)]


def test_interrupted_ones_go_first_then_many_failed_ones() -> None:
    all_of_them = candidates((S, "a"), (F, "a"), (I, "a"), (F, "b"), (F, "c"), (I, "b"))
    assert choose(all_of_them, 20, 100) == [2, 5]
    assert choose(all_of_them, 30, 100) == [2, 5, 1]  # 30 of 100 steps had failed: more than a quarter
    assert choose(all_of_them, 40, 100) == [2, 5, 1, 0]  # a is the task with the most episodes that are left, or first


def test_a_task_with_one_episode_outlives_the_many_of_another() -> None:
    all_of_them = candidates((S, "rare"), *[(S, "often")] * 5, (F, "often"))
    assert choose(all_of_them, 50, 1000) == [1, 2, 3, 4, 5]


@given(
    st.lists(st.tuples(st.sampled_from([S, F, I]), st.sampled_from("abc"), st.integers(0, 30))),
    st.integers(0, 300),
    st.integers(1, 500),
)
def test_enough_goes_and_nothing_twice(drawn: list[tuple[str, str, int]], excess: int, limit: int) -> None:
    all_of_them = [Candidate(n, status, (task, ""), steps) for n, (status, task, steps) in enumerate(drawn)]
    gone = choose(all_of_them, excess, limit)
    assert len(set(gone)) == len(gone)
    freed = sum(all_of_them[number].steps for number in gone)
    assert freed >= min(excess, sum(c.steps for c in all_of_them))
    assert not gone or freed - all_of_them[gone[-1]].steps < excess  # and no more than enough
    left = [c for c in all_of_them if c.number not in gone]
    if any(c.status == I for c in left):
        assert all(all_of_them[number].status == I for number in gone)
    if any(all_of_them[number].status == S for number in gone):
        assert sum(c.steps for c in left if c.status == F) <= FAILED_SHARE * limit
