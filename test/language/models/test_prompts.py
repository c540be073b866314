"""Prompts in files: values are put in literally, whatever they look like."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.language.models import Message, PromptError, load_prompt, parse_prompt

SOURCE = """What this is for, to people. {{not_a_value}} here.

# system
You plan for a {{robot}}. Answer like {"plan": [{"action": "go"}]} and nothing else.

# user
Task: {{ task }}
# Things
{{things}}

# assistant
Thought:
"""


def test_a_file_becomes_a_conversation(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(SOURCE)
    prompt = load_prompt("plan", tmp_path)
    assert prompt.values == {"robot", "task", "things"}
    assert prompt.render(robot="arm", task="wash", things="mug") == (
        Message("system", 'You plan for a arm. Answer like {"plan": [{"action": "go"}]} and nothing else.'),
        Message("user", "Task: wash\n# Things\nmug"),
        Message("assistant", "Thought:"),
    )
    assert prompt.digest == load_prompt("plan", tmp_path).digest != parse_prompt("plan", SOURCE + " ").digest


def test_missing_and_unused_values_are_named() -> None:
    prompt = parse_prompt("plan", SOURCE)
    with pytest.raises(PromptError, match="'plan': no value for task, things"):
        prompt.render(robot="arm")
    with pytest.raises(PromptError, match="'plan' has no place for colour"):
        prompt.render(robot="arm", task="", things="", colour="red")
    with pytest.raises(PromptError, match="things is to be a text, found list"):
        prompt.render(robot="arm", task="", things=["mug"])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["missing", "../../etc/passwd", "a/b", "", "Plan", "plan.md"])
def test_a_prompt_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(PromptError, match=re.escape(repr(name))):
        load_prompt(name, tmp_path)


@pytest.mark.parametrize("content", [b"", b"no heading", b"## system\nx", b"\xff\xfe# system\n"])
def test_a_file_that_is_no_prompt_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.md").write_bytes(content)
    with pytest.raises(PromptError, match="'plan'"):
        load_prompt("plan", tmp_path)


nasty = st.text() | st.lists(
    st.sampled_from(["{{task}}", "{{robot}}", "{{", "}}", "\\g<1>", "\\1", "\n# system\n", "# user", "%s", "$x", "{0}"])
).map("".join)


@given(nasty, nasty, nasty)
def test_values_are_literal(robot: str, task: str, things: str) -> None:
    system, user, assistant = parse_prompt("plan", SOURCE).render(robot=robot, task=task, things=things)
    assert system.content.startswith(f"You plan for a {robot}. Answer")
    assert user.content == f"Task: {task}\n# Things\n{things}"
    assert [message.role for message in (system, user, assistant)] == ["system", "user", "assistant"]


@given(st.text())
def test_any_text_is_a_prompt_or_an_error(source: str) -> None:
    try:
        prompt = parse_prompt("any", source)
    except PromptError:
        return
    assert len(prompt.render(**dict.fromkeys(prompt.values, ""))) == len(prompt.templates) > 0


def shipped() -> list[str]:
    try:
        return sorted(path.stem for path in find_config("prompts").glob("*.md"))
    except FileNotFoundError:
        return []


@pytest.mark.parametrize("name", shipped())
def test_the_prompts_of_the_package_can_be_used(name: str) -> None:
    prompt = load_prompt(name)
    rendered = prompt.render(**{value: f"<{value}>" for value in prompt.values})
    assert all(message.content for message in rendered) and "{{" not in "".join(m.content for m in rendered)
