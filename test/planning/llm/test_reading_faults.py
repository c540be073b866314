"""Faults that were found in reading answers, each with its whole kind."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.planning.llm.reading import KEY, MAX_READ, Names, read_plan
from graph_planner_ros.planning.task_graph import Subtask

NAMES = Names(("pick_up", "put"), ("Mug", "Shelf"))
WANTED = (Subtask("pick_up", ("Mug",)), Subtask("put", ("Mug", "Shelf")))
PLAN = json.dumps({KEY: [["pick_up", "Mug"], ["put", "Mug", "Shelf"]]})
UNITS = (
    *("/*x", "/* ", "/*/", "//", "#", " #", ",", ", ", "'", '"', "\\", "(", ")", "{", "[", "}", "]", "{[(", "{'", '{"'),
    *("[1,", "-", "not ", "1+", "1<", "a.", "f'", "<think>", "</think>", "<answer>", "</answer>", KEY, f'{{"{KEY}": '),
    *("\n", "\x00", "\u00e9"),
)
MOST = 5.0
"""Seconds of the processor for which the square of the length is far too much, and a busy machine is not."""


def _cost(text: str) -> float:
    started = time.thread_time()
    read_plan(text, NAMES)
    return time.thread_time() - started


@pytest.mark.parametrize("unit", UNITS, ids=repr)
@pytest.mark.parametrize("ends", [("", ""), ("{", "}"), ("[", "]"), ('{"high_level": [', "]}")], ids=str)
def test_no_text_costs_the_square_of_its_length(unit: str, ends: tuple[str, str]) -> None:
    size = MAX_READ - len(ends[0]) - len(ends[1])
    assert _cost(ends[0] + unit * (size // len(unit)) + ends[1]) < MOST


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(UNITS), min_size=1, max_size=4), st.sampled_from(["{}", "[]", "()", "  "]))
def test_no_mixture_costs_the_square_of_its_length(units: list[str], ends: str) -> None:
    text = "".join(units)
    assert _cost(ends[0] + text * (MAX_READ // len(text) - 1) + ends[1]) < MOST


@pytest.mark.parametrize(
    "value", ["0x" + "f" * 6000, "9" * 6000, "0b" + "1" * 50000, "1e999", "-Infinity", "NaN", "1_0", "1j"]
)
@pytest.mark.parametrize(
    "where", ["{%r: [%s]}", "{%r: [['put', %s]]}", "{%r: [{'action': %s}]}", "{%r: %s}", "{%r: [], 'a': %s}"]
)
def test_numbers_that_nobody_can_write_are_no_names(value: str, where: str) -> None:
    parsed = read_plan(where % (KEY, value), NAMES)
    assert parsed.subtasks == () and len(str(parsed.problems)) < 1000


@pytest.mark.parametrize(
    "chatter", ["[A] pick_up(obj) -> [B]. ", "{this} ", "[[1], [2]] ", "(see [1]) ", "- [ ] a\n"], ids=repr
)
@pytest.mark.parametrize("count", [1, 40, 500])
def test_brackets_before_a_plan_do_not_hide_it(chatter: str, count: int) -> None:
    assert read_plan(chatter * count + PLAN, NAMES).subtasks == WANTED
    assert read_plan(chatter * count + PLAN + chatter * count, NAMES).subtasks == WANTED


@pytest.mark.parametrize("before", ["", "Well. ", "[A] -> [B] " * 40])
def test_a_plan_in_a_thought_counts_only_if_the_thought_is_never_closed(before: str) -> None:
    assert read_plan(f"<think>{before}{PLAN}", NAMES).subtasks == WANTED
    assert read_plan(f"<think>{before}{PLAN}</think> I do not know.", NAMES).subtasks == ()
    assert read_plan(f"<think>{before}</think>{PLAN}", NAMES).subtasks == WANTED
