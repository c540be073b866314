"""One observation on its way from sentences to facts, by the rules of a language file; see `rules`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.checking import check_fact
from graph_planner_ros.language.interface import Context, ObservedFact, ParsedObservation, ParseError, Refusal
from graph_planner_ros.language.rules_file import HERE
from graph_planner_ros.language.rules_names import Mention, fold
from graph_planner_ros.language.rules_patterns import Match, Page, Pattern, fill, slot_names
from graph_planner_ros.language.rules_schema import AlikeRule, FactTemplate, LanguageRules, SentenceRule

MAX_FACTS = 5_000
MAX_COMMANDS = 1_000
MAX_REFUSED = 100


@dataclass
class Reading:
    """One text on its way to facts.

    Attributes:
        page: the text. context: what is known besides it.
    """

    domain: Domain
    rules: LanguageRules
    page: Page
    context: Context
    location: str = ""
    every_mention: bool = False
    facts: dict[tuple[object, ...], ObservedFact] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    complete: set[str] = field(default_factory=set)
    complete_places: dict[str, None] = field(default_factory=dict)
    admissible: frozenset[str] | None = None

    def read(self, command: Page) -> ParsedObservation:
        """Read the page; ``command`` is the last command as a page."""
        self.location = self.context.location
        failure = self._failure()
        offered = self._offered()  # first of all: what the world says can be handled is there, by its full name
        matches = list(self._matches(command))
        if failure is None and self.context.command:
            self._follow_command(command, bool(matches))
        whole = False
        needs_whole = any(rule.whole for rule in self.rules.observations)
        for rule, match in matches:
            before = len(self.facts)
            self._apply(rule, match, self.page.span(match))
            whole = whole or rule.whole or (not needs_whole and len(self.facts) > before)
        for rule, match in offered:
            self._apply(rule, match, (0, 0))
        for alike in self.rules.alike:
            self._compare(alike)
        if whole:
            self.complete |= self.rules.complete
        self._note_not_understood([match for _, match in matches], failure)
        return ParsedObservation(
            tuple(self._settled()),
            self.objects,
            tuple(self.refused[:MAX_REFUSED]),
            failure is not None,
            self.page.text[failure.start : failure.end].strip() if failure else "",
            frozenset(self.complete),
            frozenset(self.complete_places),
            bool(matches) or failure is not None,
        )

    # -- finding --------------------------------------------------------------------------------------------------

    def _failure(self) -> Match | None:
        return next(
            (match for start in self.page.starts() for p in self.rules.failed if (match := p.match(self.page, start))),
            None,
        )

    def _offered(self) -> list[tuple[SentenceRule, Match]]:
        """Return what the admissible commands match; an earlier rule's names are known to the later ones."""
        found: list[tuple[SentenceRule, Match]] = []
        rules = self.rules.admissible
        left = (
            [Page(text[:1000], self.page.names, False) for text in self.context.commands[:MAX_COMMANDS]]
            if rules
            else []
        )
        pages = tuple(left)
        for rule in rules:
            if rule.also:
                pairs = itertools.product(self._all(rule.patterns, pages), self._all(rule.also, pages))
                found.extend((rule, Match(0, 0, {**one.slots, **other.slots})) for (_, one), (_, other) in pairs)
                continue
            for page, match in self._all(rule.patterns, tuple(left)):
                left.remove(page)
                found.append((rule, match))
                for mention in itertools.chain.from_iterable(match.slots.values()):
                    self._introduce(mention)
        return found

    def _all(self, patterns: tuple[Pattern, ...], pages: tuple[Page, ...]) -> list[tuple[Page, Match]]:
        """Return the pages that a pattern matches as a whole."""
        matches = (
            (page, next((m for p in patterns if (m := p.match_whole(page)) is not None and self._fits(p, m)), None))
            for page in pages
        )
        return [(page, match) for page, match in matches if match is not None]

    def _matches(self, command: Page) -> Iterator[tuple[SentenceRule, Match]]:
        """Yield matches in the order of the text; names that are met are known from then on."""
        starts = set(self.page.starts())
        anywhere = any(rule.anywhere for rule in self.rules.observations)
        allowed = [(rule, after) for rule in self.rules.observations if (after := _after(rule, command)) is not None]
        end = 0
        for position in sorted({*starts, *(self.page.word_starts() if anywhere else ())}):
            best: tuple[SentenceRule, Match] | None = None
            for rule, after in allowed:
                if not (rule.anywhere or (position in starts and position >= end)):
                    continue
                match = self._longest(rule.patterns, position)
                if match is not None and (best is None or match.end > best[1].end):
                    best = rule, Match(match.start, match.end, {**after.slots, **match.slots})
            if best is not None:
                end = max(end, best[1].end)
                yield best

    def _longest(self, patterns: tuple[Pattern, ...], position: int) -> Match | None:
        found = [
            match
            for pattern in patterns
            if (match := pattern.match(self.page, position)) and self._fits(pattern, match)
        ]
        return max(found, key=lambda match: match.end, default=None)

    def _fits(self, pattern: Pattern, match: Match) -> bool:
        """Return whether what was captured is of the types that the slots ask for; the unknown is refused later."""
        for name, slot in pattern.slots.items():
            for mention in match.slots.get(name, ()) if slot.type_name is not None and not slot.many else ():
                if mention.class_name is not None:
                    type_name = self.domain.classes[mention.class_name].type_name
                    if not self.domain.is_a(type_name, slot.type_name or ""):
                        return False
        return True

    # -- facts ----------------------------------------------------------------------------------------------------

    def _follow_command(self, command: Page, answered: bool) -> None:
        for rule in self.rules.on_command:
            match = next((m for pattern in rule.patterns if (m := pattern.match_whole(command)) is not None), None)
            if match is None:
                continue
            if not answered:
                reason = f"no sentence says whether {self.context.command[:80]!r} was carried out"
                self._refuse(ParseError.NOT_UNDERSTOOD, self.page.text[:80], reason)
                return
            self._apply(rule, match, (0, 0))
            return

    def _apply(self, rule: SentenceRule, match: Match, span: tuple[int, int]) -> None:
        for mention in itertools.chain.from_iterable(match.slots.values()):
            self._introduce(mention)
            for template in itertools.chain.from_iterable(self.rules.qualities[q] for q in mention.qualities):
                self._add(
                    template, tuple(mention.name if is_slot else name for name, is_slot in template.arguments), span
                )
        for slot, name, class_name in rule.makes:
            made = fill(
                name, {HERE: self.location, **{key: found[0].name for key, found in match.slots.items() if found}}
            )
            match.slots[slot] = [Mention(made, class_name, match.start, match.end)] if made else []
            for mention in match.slots[slot]:
                self._introduce(mention)
        for template in rule.facts:
            for values in itertools.islice(self._bindings(template, match), MAX_FACTS):
                if self._may_be(template, values):
                    arguments = tuple(values[name] if is_slot else name for name, is_slot in template.arguments)
                    self._add(template, arguments, span)
        self.complete |= rule.complete
        for place in rule.complete_places:
            names = [self.location] if place == HERE else [mention.name for mention in match.slots.get(place, ())]
            self.complete_places.update(dict.fromkeys(name for name in names if name in self.page.names.classes))

    def _compare(self, rule: AlikeRule) -> None:
        """Find pairs of names of which at least one is in this text and that differ in the last word only."""
        stems: dict[str, list[str]] = {}
        known = {**self.context.objects, **self.objects}
        for name, class_name in known.items():
            if self.page.names.is_of(class_name, rule.second) and " " in name:
                stems.setdefault(fold(name).rsplit(" ", 1)[0], []).append(name)
        for name, class_name in known.items():
            if not (self.page.names.is_of(class_name, rule.first) and " " in name):
                continue
            for other in stems.get(fold(name).rsplit(" ", 1)[0], ()):
                if other == name or not {name, other} & self.objects.keys():
                    continue
                values = {"first": name, "second": other}
                for template in rule.facts:
                    self._add(template, tuple(values[n] if is_slot else n for n, is_slot in template.arguments), (0, 0))

    def _introduce(self, mention: Mention) -> None:
        if mention.class_name is None:
            self._refuse(ParseError.UNKNOWN_ENTITY, mention.name, f"no class of the domain is called {mention.name!r}")
        else:
            self.page.names.learn(mention.name, mention.class_name)
            self.objects[mention.name] = self.page.names.classes[mention.name]

    def _bindings(self, template: FactTemplate, match: Match) -> Iterator[dict[str, str]]:
        """Yield slot -> name, for the slots of a literal and of its condition."""
        slots = {name: None for name, is_slot in template.arguments if is_slot}
        slots.update(dict.fromkeys(name for text in template.unless for name in slot_names(text)))
        choices = []
        for name in slots:
            if name == HERE and name not in match.slots:
                choices.append([self.location] if self.location else [])
            else:
                # what has no class was refused when it was introduced
                choices.append(
                    [mention.name for mention in match.slots.get(name, ()) if mention.class_name is not None]
                )
        return (dict(zip(slots, row, strict=True)) for row in itertools.product(*choices))

    def _may_be(self, template: FactTemplate, values: Mapping[str, str]) -> bool:
        """Return whether none of the commands is admissible that speak against a fact."""
        if not template.unless:
            return True
        if self.admissible is None:
            self.admissible = frozenset(fold(" ".join(command.split())) for command in self.context.commands)
        against = (fill(text, values) for text in template.unless)
        return bool(self.admissible) and not any(text is not None and fold(text) in self.admissible for text in against)

    def _add(self, template: FactTemplate, arguments: tuple[str, ...], span: tuple[int, int]) -> None:
        classes = self.page.names.classes
        checked = check_fact(self.domain, classes, template.predicate, arguments, template.positive, span)
        if isinstance(checked, Refusal):
            self.refused.append(checked)
        elif len(self.facts) < MAX_FACTS:
            key = (checked.atom, checked.positive, span if self.every_mention else ())
            self.facts.setdefault(key, checked)
            if checked.positive and checked.atom.predicate == self.domain.location:
                self.location = checked.atom.arguments[0]

    def _settled(self) -> Iterator[ObservedFact]:
        """Yield the facts in the order of the text; of two that deny each other the later one, which is the text's."""
        facts = sorted(self.facts.values(), key=lambda fact: fact.start)
        last = {fact.atom: fact.positive for fact in facts}
        return (fact for fact in facts if last[fact.atom] == fact.positive)

    # -- refusals -------------------------------------------------------------------------------------------------

    def _refuse(self, error: ParseError, text: str, reason: str) -> None:
        if len(self.refused) < MAX_REFUSED:
            self.refused.append(Refusal(error, text, reason))

    def _note_not_understood(self, matches: list[Match], failure: Match | None) -> None:
        """Record sentences that name known things and match nothing."""
        page, taken = self.page, [(m.start, m.end) for m in (*matches, *((failure,) if failure else ()))]
        starts = [*page.starts(), len(page.text)]
        index, last = 0, -1
        for start, end in itertools.pairwise(starts):
            while index < len(taken) and taken[index][0] < end:
                last = max(last, taken[index][1])
                index += 1
            sentence = page.text[start:end].strip()
            if last > start or not sentence:
                continue
            if self._names_known(start, min(end, start + 1000)):
                self._refuse(ParseError.NOT_UNDERSTOOD, sentence[:200], "no sentence of the language file matches")

    def _names_known(self, start: int, end: int) -> bool:
        page = self.page
        for match in re.finditer(r"(?<![^\W_])(?=\w)", page.text[start:end]):
            mention = page.names.instance_at(page.text, page.folded, start + match.start())
            if mention is not None and mention.name in page.names.classes:
                return True
        return False


def _after(rule: SentenceRule, command: Page) -> Match | None:
    """Return the match of the command that a rule asks for, or an empty one if it asks for none."""
    if not rule.after:
        return Match(0, 0)
    return next((m for pattern in rule.after if (m := pattern.match_whole(command)) is not None), None)
