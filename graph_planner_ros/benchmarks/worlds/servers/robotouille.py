"""Runs Robotouille's own engine for `benchmarks/worlds/robotouille.py`; see `channel` for the pipe.

Arguments: the checkout of portal-cornell/robotouille. Only its state machine and its words are used, so neither a
screen nor pygame is needed. What goes out is what the benchmark's agents get: the description of the state with the
valid actions and the goal's sentence, never a predicate.

The engine is slow in two places, and quicker here with the same results. It finds valid actions by trying every
combination of things for every action: the combinations whose conditions about what things *are* fail, which no
action changes, are left out beforehand, and the others are tried in the engine's order. It writes the goal as tens of
thousands of conjunctions, each with objects of its own: equal ones are shared.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

from channel import serve  # before the engine, which is loaded later: from here on, prints go to stderr

REFUSED = "That command cannot be carried out now."


class Handler:
    """One game at a time.

    Args:
        checkout: folder of the engine.
    """

    def __init__(self, checkout: Path) -> None:
        self._engine = load_engine(checkout)
        with open(checkout / "domain" / "robotouille.json", encoding="utf-8") as file:
            self._domain = json.load(file)
        self._environment: dict[str, Any] = {}
        self._state: Any = None
        self._valid: tuple[list[Any], list[str]] = ([], [])

    def do_load(self, environment: dict[str, Any]) -> dict[str, Any]:
        """Choose the environment; its names get the numbers that the engine gives them."""
        self._environment = environment
        return {}

    def do_reset(self) -> dict[str, Any]:
        """Start the game anew."""
        _, numbered = self._engine.builder.build_objects(copy.deepcopy(self._environment))
        self._state = self._engine.build_state(self._domain, numbered)
        # the engine copies its states; without that, all states of a process share the list that is a default argument
        self._state.special_effects = []
        self._state.get_valid_actions_and_str = ActionFinder(self._state).find
        return self._answer(bool(self._state.is_goal_reached()))

    def do_step(self, command: str) -> dict[str, Any]:
        """Carry out a command, if it is one of the valid actions."""
        actions, texts = self._valid
        wanted = " ".join(command.split()).lower()
        chosen = next(
            (a for a, text in zip(actions, texts, strict=True) if " ".join(text.split()).lower() == wanted), None
        )
        if chosen is None:
            answer = self._answer(bool(self._state.is_goal_reached()))
            return {**answer, "text": f"{REFUSED}\n\n{answer['text']}", "refused": True}
        return self._answer(bool(self._state.step([chosen])))

    def _answer(self, done: bool) -> dict[str, Any]:
        text = self._engine.LanguageSpace.state_to_language_description(self._state)
        self._valid = self._state.get_valid_actions_and_str()
        return {"text": text, "commands": self._valid[1], "goal": self._state.goal_description, "done": done}


class ActionFinder:
    """The engine's ``State.get_valid_actions_and_str``, quicker and with the same result."""

    def __init__(self, state: Any) -> None:
        self._state = state
        self._known: Any = None
        self._rows: list[tuple[Any, dict[str, Any], list[tuple[Any, bool]]]] = []
        changed = {effect.name for action in state.domain.actions for effect in _effects(action)}
        self._static = {predicate.name for predicate in state.domain.predicates} - changed

    def find(self) -> tuple[list[Any], list[str]]:
        """Return the valid actions with their arguments, and their texts."""
        state = self._state
        if self._known is not state.actions:  # the engine makes a new table when an object comes or goes
            self._known = state.actions
            self._rows = list(self._candidates())
        values = state.predicates
        actions, texts = [], []
        for action, arguments, conditions in self._rows:
            if all(values.get(predicate, False) is wanted for predicate, wanted in conditions):
                actions.append((action, arguments))
                texts.append(action.get_language_description(arguments))
        return actions, texts

    def _candidates(self) -> Any:
        state = self._state
        shared: dict[Any, Any] = {}
        for action, rows in state.actions.items():
            static = [(item, wanted) for item, wanted in action.precons.items() if item.name in self._static]
            others = [(item, wanted) for item, wanted in action.precons.items() if item.name not in self._static]
            for arguments in rows:
                if all(
                    state.get_predicate_value(_ground(item, arguments, shared)) is wanted for item, wanted in static
                ):
                    yield action, arguments, [(_ground(item, arguments, shared), wanted) for item, wanted in others]


def _ground(predicate: Any, arguments: dict[str, Any], shared: dict[Any, Any]) -> Any:
    """Return a condition about certain things; one object for all that ask for it, which remembers its hash."""
    things = tuple(arguments[parameter.name] for parameter in predicate.params)
    key = (predicate.name, things)
    if key not in shared:
        found = _Quick().initialize(predicate.name, predicate.types, list(things))
        found.code = _Quick.__base__.__hash__(found)
        shared[key] = found
    return shared[key]


def _effects(owner: Any) -> Any:
    """Yield what an action or a special effect changes at any depth."""
    yield from getattr(owner, "immediate_effects", ())
    yield from getattr(owner, "effects", ())
    for inner in owner.special_effects:
        yield from _effects(inner)


def load_engine(checkout: Path) -> Any:
    """Return the engine's module ``robotouille/env.py``, without the package around it, which opens a window."""
    global _Quick
    path = checkout / "robotouille" / "env.py"
    if not path.is_file():
        raise FileNotFoundError(f"there is no Robotouille in {checkout}: {path} is missing")
    sys.path.insert(0, str(checkout))
    # needed by the interactive tools beside what is used here, and by nothing else
    sys.modules["utils.pddlgym_interface"] = types.ModuleType("utils.pddlgym_interface")
    spec = importlib.util.spec_from_file_location("robotouille_env", path)
    engine: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(engine)  # type: ignore[union-attr]
    engine.builder = importlib.import_module("environments.env_generator.builder")

    class Quick(engine.Predicate):
        """A predicate that has counted its hash once."""

        def __hash__(self) -> int:
            return self.code

    _Quick = Quick
    _share_goals(engine)
    return engine


def _share_goals(engine: Any) -> None:
    """Let equal literals of the goal's conjunctions be one object."""
    make, known = engine.create_conjunction, {}

    def create_conjunction(domain: dict[str, Any], predicates: list[list[str]]) -> list[Any]:
        literals = []
        for row in predicates:
            key = tuple(row)
            if key not in known:
                plain = make(domain, [row])[0]
                known[key] = _Quick().initialize(plain.name, plain.types, plain.params, plain.language_descriptors)
                known[key].code = hash(plain)
            literals.append(known[key])
        return literals

    def copied(value: Any) -> Any:
        if isinstance(value, list) and all(isinstance(row, list) and all(map(_is_text, row)) for row in value):
            return [list(row) for row in value]
        return copy.deepcopy(value)

    engine.create_conjunction = create_conjunction
    engine.copy = types.SimpleNamespace(deepcopy=copied)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_Quick: Any = None

if __name__ == "__main__":
    serve(lambda: Handler(Path(sys.argv[1]).resolve()))
