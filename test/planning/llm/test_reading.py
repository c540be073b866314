"""Plans are read from whatever a model says, and nothing that it says is an error of the program."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.planning.llm.reading import MAX_READ, Names, read_plan
from graph_planner_ros.planning.task_graph import Subtask

NAMES = Names(("pick_up", "put", "slice"), ("Mug", "mug_1", "Fridge", "fridge_1", "CounterTop", "Knife"))
WANTED = (Subtask("pick_up", ("Mug",)), Subtask("put", ("Mug", "Fridge")))
FORMS = {
    "plain": '{"high_level": [["pick_up", "Mug"], ["put", "Mug", "Fridge"]]}',
    "fenced": 'Sure!\n```json\n{"high_level": [["pick_up", "Mug"], ["put", "Mug", "Fridge"]]}\n```\nGood luck.',
    "thought": "<think>{'high_level': []}</think><answer>"
    '{"high_level": [["pick_up","Mug"],["put","Mug","Fridge"]]}</answer>',
    "objects": '{"high_level": [{"action": "pick_up", "arguments": ["Mug"]}, '
    '{"action": "put", "arguments": ["Mug", "Fridge"]}]}',
    "calls": '{"high_level": ["pick_up(Mug)", "put(Mug, Fridge)"]}',
    "words": '{"high_level": ["pick_up Mug", "put Mug Fridge"]}',
    "capitals": '{"high_level": [["PICK UP", "mug"], ["Put", "MUG", "fridge"]]}',
    "nested": '{"high_level": [["pick_up", "Mug"], ["put", ["Mug", "Fridge"]]]}',
    "comments": '{"high_level": [ // first\n["pick_up", "Mug"], /* then */ ["put", "Mug", "Fridge"],]}',
    "python": "{'high_level': [('pick_up', 'Mug'), ('put', ('Mug', 'Fridge'))]}",
    "bare tuples": "{high_level: [(pick_up, Mug), (put, (Mug, Fridge))]}",
    "chatty": 'Now {x} and [y]. {"high_level": [["pick_up", "Mug"], ["put", "Mug", "Fridge"]]} or {"high_level": []}',
}


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_plan_is_read_in_every_form(form: str) -> None:
    parsed = read_plan(FORMS[form], NAMES)
    assert parsed.subtasks == WANTED and parsed.problems == ()


def test_what_broke_off_is_read_as_far_as_it_goes_and_it_is_said() -> None:
    for text in (
        '{"high_level": [["pick_up", "Mug"], ["put", "Mug", "Frid',
        '{"high_level": [["pick_up", "Mug"], ["pu',
    ):
        parsed = read_plan(text, NAMES)
        assert parsed.subtasks == WANTED[:1] and "broke off" in parsed.problems[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"high_level": [["fly", "Mug"]]}', "there is no subtask 'fly'"),
        ('{"high_level": [["pickup_", "Mug"], ["puts", "Mug"]]}', "did you mean put"),
        ('{"high_level": [["pick_up", "Unicorn"]]}', "there is no 'Unicorn' here"),
        ('{"high_level": [["pick_up", "Mugs"]]}', "did you mean Mug"),
        ('{"high_level": [7]}', "subtask 1"),
        ("I cannot help with that.", "expected a JSON object"),
        ("", "expected a JSON object"),
        ('[["pick_up", "Mug"]]', "expected an object with the key"),
        ('{"plan": [["pick_up", "Mug"]]}', "expected the key"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    assert any(said in problem for problem in read_plan(text, NAMES).problems)


def test_a_name_that_could_be_two_things_is_none() -> None:
    names = Names(("pick_up",), ("CounterTop", "counter_top"))
    assert read_plan('{"high_level": [["pick_up", "countertop"]]}', names).subtasks == ()


@given(
    st.one_of(st.text(max_size=400), st.sampled_from(list(FORMS.values()))), st.integers(0, 300), st.text(max_size=5)
)
def test_nothing_that_is_said_raises(text: str, cut: int, more: str) -> None:
    for mutated in (text, text[:cut], text[cut:], text[:cut] + more + text[cut:]):
        parsed = read_plan(mutated, NAMES)
        assert all(subtask.action in ("pick_up", "put", "slice") for subtask in parsed.subtasks)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["Mug", "pick_up", "put"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["high_level", "plan", "action"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    read_plan(json.dumps(value), NAMES)
    read_plan(json.dumps({"high_level": value}), NAMES)


@pytest.mark.parametrize(
    "text",
    ["[" * 10**6, '{"' * 10**6, "{[(" * 10**5, '"' * 10**6, "x" * 10**7, '{"high_level": [' + '["put","Mug"],' * 10**5],
)
def test_megabytes_are_looked_at_only_in_part(text: str) -> None:
    parsed = read_plan(text, NAMES)
    assert len(parsed.subtasks) <= 100 and len(str(parsed.problems)) < MAX_READ
