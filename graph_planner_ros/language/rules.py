"""Observation texts read by the rules of ``config/domains/<world>/language.yaml``.

The file (everything in it is optional):

    names:
      pattern: '(?P<class>[a-z]+) \\d+'    # or a list; the match is the instance's name, ``class`` its class word.
                                          # Without patterns a name is words for a class ("fridge"), or was met before
      to_class: {coffeetable: CoffeeTable}  # before labels and `words` of domain.yaml; else the most words at the end
      modifiers: [red, rusty]               # words that may stand before class words and belong to the name
      articles: [a, an, the, some]          # skipped before names; default a, an, the, some, your, my
      nothing: [nothing]                    # what an empty list is called
      qualities: {raw: [], fried: ["fried({x})"]}   # words before names that are no part of them, and what they say
    admissible:                   # what the admissible commands tell, read before the text: full names, what is there;
      - command: "take {x:item=Thing} from {h:holder=Shelf}"   # of a command the first entry that matches counts
        facts: ["in({x}, {h})"]   # also complete, complete_place, make
        also: "drop {y}"          # another command that must be admissible; such entries come last
    alike:                        # of things of these types whose names differ in the last word only
      - {first: key, second: door, facts: ["matches({first}, {second})"]}
    observations:
      - pattern: "On the {place}, you see {items*}."   # or a list of patterns
        facts: ["in({items}, {place})", "observed({place})", "not closed({place})"]
        complete_place: place     # the text lists the whole content of it
        complete: [holding]       # the text lists every true atom of it: what is not listed is false
        after: "open {door}"      # only after such a command; facts may use its slots
        anywhere: true            # also inside a sentence; otherwise only where one starts
        whole: true               # this sentence makes the observation a whole one, see `complete` below
        make: {e: ["{here} {w}", Exit]}   # a thing named after others; facts may use it as {e}
    on_command:                   # what follows from the last command if it did not fail; it needs an answer that
      - command: "go to {place}"  # matches at least one of `observations`: foreign words confirm nothing
        facts: ["at({place})"]
    failed: ["Nothing happens."]
    complete: [in]                # closed world for whole observations; without any `whole: true` all that give facts
    goals:
      - pattern: "put two {x} in {r}."
        goal: "exists x, y like x, r: in(x, r) and in(y, r) and x != y"   # y=Class, y:type; `exists` may be left out
        # in goals {here} is where the agent is when it takes the goal up: "e:exit, r:room: exit_of(e, {here}) and ..."
        join: true                # adds to the goal before it instead of being one more goal; also `anywhere`
    no_goal:                      # what is to be done where the world states no goal, until one is read (see `learned`)
      - {goal: "r=Unexplored: at(r)", optional: true}
    learned:                      # like goals, from observations: goals that come after those that there are (recipes)
      - {pattern: "slice the {x:item=Food}", goal: "sliced(x)"}
      - {command: "examine {n:note=?}", goal: "read(n)", first: true}   # from an admissible command; before all others
                                  # of: {x: Class} only of that class; task: words of the task's goal that it is for;
                                  # optional: true (also in goals) if the task goes on when there is no way to it
    commands:
      go_to: ["go to {to}"]       # parameters of the action, and {here}
      find: []                    # needs no command: it is done when the belief shows its effects
    observe: ["look", "examine {here}"]
    unlisted: ["take {x}"]          # of `commands`, those that the world takes though it does not list them; given only
                                    # after other words for the same action were refused
    irreversible: ["eat {x}"]       # commands that are not given just to see what happens

A fact may have a condition: ``"locked({d}) unless open {d} or close {d}"``: none of these commands is admissible (and
the world lists some).

Slots: ``{x}`` a name; ``{x:type}`` only of that PDDL type; ``{x=Class}`` words of any kind, of that class unless they
say another (of that type, with ``{x:type=Class}``); ``{x:type=?}`` words of any kind that name a class of that type;
``{xs*}`` a list ("a mug 2, a knife 1, and a pen 3", "nothing"), also ``{xs*=Class}``; ``{xs+}`` a list of a line each.
``{here}``, in facts only, is where the agent is, as known so far (`location` of the domain). A sentence starts at the
start, on a new line, or after one of . ! ? : ; ) and a blank. Of several patterns at one place the longest match
counts. Capitals do not matter. A pattern that starts with ``re:`` is a regular expression (capitals matter) in which
slots may be used; repetitions must not be nested. In goals a slot captures an instance or words for a class,
``{x=Class}`` only an instance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.checking import type_of
from graph_planner_ros.language.compositions import load_compositions
from graph_planner_ros.language.interface import (
    CommandGrounder,
    Context,
    ObservationParser,
    ParsedObservation,
    ParseError,
    Refusal,
)
from graph_planner_ros.language.rule_grounder import RuleGrounder
from graph_planner_ros.language.rules_file import LANGUAGE_FILE, read_rules
from graph_planner_ros.language.rules_goals import read_goals, standing_goals
from graph_planner_ros.language.rules_names import Names, class_words, fold
from graph_planner_ros.language.rules_patterns import Page
from graph_planner_ros.language.rules_reading import MAX_COMMANDS, MAX_REFUSED, Reading
from graph_planner_ros.language.rules_schema import LanguageRules

MAX_TEXT = 50_000
"""Characters of an observation; a longer one is refused as a whole."""
_MARKUP = re.compile(r"<(?:[!/?][A-Za-z!-]|[A-Za-z][A-Za-z0-9]*(?:\s[^<>\n]{0,200})?/?>)|&(?:lt|gt|amp|nbsp|quot);")


@dataclass(frozen=True)
class Language:
    """Both directions between a world's words and its domain."""

    domain: Domain
    parser: ObservationParser
    grounder: CommandGrounder


def load_language(domain_or_folder: Domain | str | Path, every_mention: bool = False) -> Language:
    """Load the rules of a world: a domain, its name under ``config/domains``, or its folder.

    Args:
        every_mention: see `RuleParser`.

    Raises:
        FileNotFoundError: if there is no such domain or it has no language file. DomainError: if a file is wrong.
    """
    domain = domain_or_folder if isinstance(domain_or_folder, Domain) else load_domain(domain_or_folder)
    rules = read_rules(domain.folder / LANGUAGE_FILE, domain)
    return Language(domain, RuleParser(domain, rules, every_mention), RuleGrounder(domain, rules))


class RuleParser:
    """Reads observations and goals by rules. Holds no state of a game.

    Args:
        every_mention: a fact that a text states twice is there twice, with both spans; for learning from.
    """

    def __init__(self, domain: Domain, rules: LanguageRules, every_mention: bool = False) -> None:
        self._domain = domain
        self.rules = rules
        self.every_mention = every_mention
        self._words = class_words(domain, rules.names.to_class)
        self._compositions = load_compositions(domain)

    def parse(self, text: str, context: Context) -> ParsedObservation:
        """Read a text; see `ObservationParser`."""
        problem = unreadable(text)
        if problem is not None:
            return ParsedObservation(refused=(problem,))
        names = self.names(context)
        reading = Reading(self._domain, self.rules, Page(text, names), context, every_mention=self.every_mention)
        return reading.read(Page(context.command[:1000], names))

    def goals(self, text: str, context: Context) -> tuple[Goal, ...]:
        """Read a goal; see `ObservationParser`."""
        if unreadable(text) is not None:
            return ()
        if not text.strip():
            return standing_goals(self._domain, self.rules.no_goal)
        found = read_goals(self._domain, self.rules.goals, Page(text, self.names(context)))
        if found or self._compositions is None:
            return found
        goal = self._compositions.goal(text, context.objects)
        return () if goal is None else (goal,)

    def learned(self, text: str, context: Context, urgent: bool = False) -> tuple[Goal, ...]:
        """Read what an observation adds to the goals, such as a recipe; see `GoalLearner`."""
        task = fold(context.goal)
        rules = [rule for rule in self.rules.learned if rule.first == urgent and rule.task in task]
        if not rules or unreadable(text) is not None:
            return ()
        names = self.names(context)
        read = tuple(rule for rule in rules if not rule.offered)
        goals = list(read_goals(self._domain, read, Page(text, names))) if read else []
        if offered := tuple(rule for rule in rules if rule.offered):
            for command in context.commands[:MAX_COMMANDS]:
                goals.extend(read_goals(self._domain, offered, Page(command[:1000], names, False)))
        return tuple(goals)

    def names(self, context: Context) -> Names:
        """Return the names that are known in a context."""
        return Names(self._domain, self.rules.names, self._words, context.objects)


def unreadable(text: str) -> Refusal | None:
    """Return why a text cannot be a world's words: too long, or markup; None if it can."""
    if len(text) > MAX_TEXT:
        return Refusal(ParseError.NOT_UNDERSTOOD, text[:80], f"{len(text)} characters, at most {MAX_TEXT} are read")
    if (found := _MARKUP.search(text)) is not None:
        return Refusal(ParseError.NOT_UNDERSTOOD, found.group()[:80], "markup is not a world's words")
    return None


__all__ = ["MAX_REFUSED", "Language", "RuleGrounder", "RuleParser", "load_language", "type_of", "unreadable"]
