"""What a language file says, as data; see `rules` for how it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from graph_planner_ros.language.rules_names import NameRules
from graph_planner_ros.language.rules_patterns import Pattern


@dataclass(frozen=True)
class FactTemplate:
    """A literal over slots; an argument is (name of a slot, True) or (name of a thing, False).

    ``unless``: commands of which none may be admissible, and the world must list some.
    """

    predicate: str
    arguments: tuple[tuple[str, bool], ...]
    positive: bool = True
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class SentenceRule:
    """An entry of ``observations``, ``on_command`` or ``admissible``; see `rules`.

    Attributes:
        makes: (slot, template of the name, class) of things that are named after others.
        also: another admissible command that the entry asks for.
    """

    patterns: tuple[Pattern, ...]
    facts: tuple[FactTemplate, ...] = ()
    complete: frozenset[str] = frozenset()
    complete_places: tuple[str, ...] = ()
    after: tuple[Pattern, ...] = ()
    anywhere: bool = False
    whole: bool = False
    makes: tuple[tuple[str, str, str], ...] = ()
    also: tuple[Pattern, ...] = ()


@dataclass(frozen=True)
class DeclaredVariable:
    """A variable of a goal template: its type, its class, or another variable whose class it shares."""

    name: str
    type_name: str | None = None
    class_name: str | None = None
    like: str | None = None


@dataclass(frozen=True)
class GoalRule:
    """An entry of ``goals`` or ``learned``; see `rules`.

    Attributes:
        first: the goal comes before all others. offered: it is read from the admissible commands.
        optional: see `Goal`. of: (slot, class) that its thing must have. task: folded words of the task's goal.
    """

    patterns: tuple[Pattern, ...]
    variables: tuple[DeclaredVariable, ...]
    literals: tuple[FactTemplate, ...]
    distinct: tuple[tuple[str, str], ...] = ()
    join: bool = False
    anywhere: bool = False
    first: bool = False
    offered: bool = False
    optional: bool = False
    of: tuple[tuple[str, str], ...] = ()
    task: str = ""


@dataclass(frozen=True)
class AlikeRule:
    """An entry of ``alike``: what is so of two things of these types whose names differ in the last word only."""

    first: str
    second: str
    facts: tuple[FactTemplate, ...]


@dataclass(frozen=True)
class LanguageRules:
    """What a language file says."""

    path: Path
    names: NameRules = field(default_factory=NameRules)
    observations: tuple[SentenceRule, ...] = ()
    on_command: tuple[SentenceRule, ...] = ()
    failed: tuple[Pattern, ...] = ()
    complete: frozenset[str] = frozenset()
    goals: tuple[GoalRule, ...] = ()
    no_goal: tuple[GoalRule, ...] = ()
    learned: tuple[GoalRule, ...] = ()
    admissible: tuple[SentenceRule, ...] = ()
    qualities: dict[str, tuple[FactTemplate, ...]] = field(default_factory=dict)
    alike: tuple[AlikeRule, ...] = ()
    commands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    observe: tuple[str, ...] = ()
    irreversible: tuple[re.Pattern[str], ...] = ()
    unlisted: tuple[re.Pattern[str], ...] = ()
