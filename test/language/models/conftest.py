"""Lets the tests of this folder import the endpoint that they ask, and keeps the machine's own keys out of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fake_endpoint import FakeEndpoint

from graph_planner_ros.language.models import openai_model, retrying

KEY = "sk-secret-of-the-test-4711"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, key: str) -> Iterator[FakeEndpoint]:
    """An endpoint that nothing is known of; pauses between tries take no time unless it asks for them."""
    pytest.importorskip("openai", reason="the package openai is not installed (requirements/llm.txt)")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(openai_model, "_ABILITIES", {})
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.0)
    with FakeEndpoint() as made:
        yield made
