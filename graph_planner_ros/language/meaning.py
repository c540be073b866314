"""From the structure of a sentence to literals: who is meant, what must be true at the end, and in which order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GoalLiteral
from graph_planner_ros.language.consistency import LiteralRules
from graph_planner_ros.language.draft import (
    GUESS_PENALTY,
    LINK_PENALTY,
    RESOLVED_PENALTY,
    UNRESOLVED_PENALTY,
    Draft,
    Thing,
    matching_instances,
)
from graph_planner_ros.language.grammar import AND, Clause, Sentence
from graph_planner_ros.language.lexicon import HEAD, OTHER, THING, Lexicon, Template
from graph_planner_ros.language.phrases import NONE, Mention
from graph_planner_ros.scene.graph import SceneGraph

Group = tuple[str, ...]
"""Names of the variables that a mention stands for."""


class Interpreter:
    """Works out what one structure of a sentence asks for."""

    def __init__(self, domain: Domain, lexicon: Lexicon, rules: LiteralRules, graph: SceneGraph | None) -> None:
        self._domain = domain
        self._lexicon = lexicon
        self._rules = rules
        self._graph = graph

    def interpret(self, sentence: Sentence) -> Draft:
        """Return the most likely reading; its ``errors`` say why it cannot be carried out, if so."""
        draft = Draft()
        for clause in sentence:
            # a pronoun may stand for several things: the one that makes sense is meant
            choices = self._pronoun_choices(draft, clause)
            drafts = [_Reader(self, draft.copy(), clause, choice).read() for choice in choices]
            draft = min(drafts, key=lambda item: item.penalty)
            if draft.errors:
                break
        return draft

    def _pronoun_choices(self, draft: Draft, clause: Clause) -> list[Group | None]:
        for mentions in clause.roles.values():
            for mention in mentions:
                if mention.pronoun:
                    return list(pronoun_groups(draft, mention)) or [None]
        return [None]

    # -- used by the reader of a clause ---------------------------------------------------------------------------

    def types(self, draft: Draft) -> dict[str, str]:
        """Return variable -> PDDL type."""
        return {name: self._domain.class_of(thing.senses[0]).type_name for name, thing in draft.things.items()}

    def narrow(self, draft: Draft, literal: GoalLiteral, *, by_type_only: bool = False) -> None:
        """Drop the meanings of words that do not fit a literal; fail if none is left."""
        parameters = self._domain.predicates[literal.predicate].parameters
        for index, name in enumerate(literal.arguments):
            thing = draft.things[name]
            problems = {}
            for sense in thing.senses:
                fits = self._domain.is_a(self._domain.class_of(sense).type_name, parameters[index].type_name)
                if by_type_only:
                    problems[sense] = None if fits else f"{sense} is no {parameters[index].type_name}"
                else:
                    problems[sense] = self._rules.objection(literal.predicate, literal.positive, index, sense)
            left = tuple(sense for sense in thing.senses if problems[sense] is None)
            if left:
                draft.things[name] = replace(thing, senses=left)
            else:
                draft.fail(f"{thing.text!r} does not fit here: {next(iter(problems.values()))}")

    def conflicts(self, draft: Draft, literal: GoalLiteral, others: Iterable[GoalLiteral]) -> list[GoalLiteral]:
        """Return those that cannot be made true together with a literal."""
        types = self.types(draft)
        return [other for other in others if self._rules.conflict(other, literal, types)]

    def means(self, draft: Draft, literal: GoalLiteral, ends: Iterable[GoalLiteral]) -> bool:
        """Return whether a literal is only a step towards one of ``ends``."""
        types = self.types(draft)
        return any(self._rules.is_means(literal, end, types) for end in ends)

    def choose_instance(self, draft: Draft, literal: GoalLiteral) -> None:
        """Choose a thing by what was said about the present, if the robot knows it; else note that it was not used."""
        name = literal.arguments[0]
        thing = draft.things[name]
        if thing.instance is not None:
            return
        used = {other.instance for other in draft.things.values()}
        for instance in matching_instances(self._graph, self._domain, literal, draft.things):
            if instance not in used:
                label = self._graph.nodes[instance].label if self._graph else thing.senses[0]
                draft.things[name] = replace(thing, senses=(label,), instance=instance)
                draft.note(f"took {thing.text!r} to be {instance}", RESOLVED_PENALTY)
                return
        self.note_unused(draft, name)

    def note_unused(self, draft: Draft, name: str) -> None:
        """Say that a description of the present did not help to choose a thing."""
        thing = draft.things[name]
        words = self._domain.class_of(thing.senses[0]).words or (thing.senses[0],)
        draft.note(f"cannot tell which one {thing.text!r} is: any {words[0]} will do", UNRESOLVED_PENALTY)

    def fits_types(self, draft: Draft, literal: GoalLiteral) -> bool:
        """Return whether some meaning of each word has the type that the predicate is about."""
        parameters = self._domain.predicates[literal.predicate].parameters

        def fits(class_name: str, type_name: str) -> bool:
            return self._domain.is_a(self._domain.class_of(class_name).type_name, type_name)

        return all(
            any(fits(sense, parameter.type_name) for sense in draft.things[name].senses)
            for parameter, name in zip(parameters, literal.arguments, strict=True)
        )

    @property
    def max_count(self) -> int:
        """Most things of a kind that an instruction may ask for."""
        return self._lexicon.max_count


def pronoun_groups(draft: Draft, mention: Mention) -> Iterable[Group]:
    """Yield what a pronoun may stand for, the likeliest first."""
    if mention.pronoun == "same":
        yield from draft.recent[-1][:1] if draft.recent else []
        return
    several = mention.pronoun == "many"
    for groups in reversed(draft.recent):
        for group in groups:
            if (len(group) > 1) is several:
                yield group
    if several:
        objects = tuple(dict.fromkeys(name for groups in draft.recent for name in groups[0]))
        if len(objects) > 1:
            yield objects
        if draft.recent:  # "the scissors ... them", "a knife in a glass ... them"
            yield from draft.recent[-1]


class _Reader:
    """Reads one clause into a draft."""

    def __init__(self, parent: Interpreter, draft: Draft, clause: Clause, pronoun: Group | None) -> None:
        self._parent = parent
        self._draft = draft
        self._clause = clause
        self._pronoun = pronoun
        self._earlier = frozenset(draft.things)
        self._said: list[GoalLiteral] = []
        self._present: list[GoalLiteral] = []
        self._groups: list[Group] = []
        self._loose: list[tuple[int, int]] = []

    def read(self) -> Draft:
        """Return the draft with this clause in it."""
        command, draft = self._clause.command, self._draft
        roles = {role: self._role(role, mentions) for role, mentions in self._clause.roles.items()}
        if draft.errors:
            return draft
        wanted = self._instantiate(command.goal, roles)
        for state in self._clause.states:
            wanted += self._instantiate((state.literal,), roles)
        now = self._instantiate(command.now, roles)
        for literal in [*wanted, *self._instantiate(command.requires, roles)]:
            self._parent.narrow(draft, literal)
        for literal in now:
            self._parent.narrow(draft, literal, by_type_only=True)
        self._check(wanted)
        if not draft.errors:
            kept = self._split_descriptions(wanted, now)
            if not draft.errors:
                self._advance([*wanted, *kept])
                # what the clause is about stands first: "it" is more often the egg than the fridge
                draft.recent.append([*roles.values(), *(g for g in self._groups if g not in roles.values())])
        return draft

    # -- things ---------------------------------------------------------------------------------------------------

    def _role(self, role: str, mentions: tuple[Mention, ...]) -> Group:
        about = role == next(iter(self._clause.roles))
        names = tuple(dict.fromkeys(name for mention in mentions for name in self._resolve(mention, about)))
        many = any(e.many for p in self._clause.command.patterns for e in p if e.name == role)
        if len(names) > 1 and not many:
            self._draft.fail(f"{mentions[0].text!r} must be one thing here, not {len(names)}")
        return names

    def _resolve(self, mention: Mention, about: bool = False) -> Group:
        names = self._names(mention)
        self._groups.append(names)
        for state in mention.states:
            for name in names:
                self._describe(_literal(state.literal, {THING: name}), self._said)
        for link in mention.links:
            self._draft.penalty += LINK_PENALTY
            others = self._resolve(link.other)
            for name, other in itertools.product(names, others):
                literal = _literal(link.modifier.literal, {HEAD: name, OTHER: other})
                if link.modifier.present and not self._parent.fits_types(self._draft, literal):
                    self._parent.note_unused(self._draft, name)  # where a fixture stands
                    continue
                self._describe(literal, self._present if about and link.modifier.present else self._said)
        return names

    def _describe(self, literal: GoalLiteral, among: list[GoalLiteral]) -> None:
        self._parent.narrow(self._draft, literal)
        among.append(literal)

    def _names(self, mention: Mention) -> Group:
        draft = self._draft
        if mention.pronoun:
            if self._pronoun is None:
                draft.fail(f"it is not clear what {mention.text!r} stands for")
                return ()
            return self._pronoun
        if mention.instance is not None:
            known = [thing.name for thing in draft.things.values() if thing.instance == mention.instance]
            return (known[0],) if known else (draft.add(mention.senses, mention.text, mention.instance),)
        if mention.count == NONE:
            draft.fail(f"{mention.text!r} is nothing that something could be done with")
            return ()
        if mention.count > self._parent.max_count:
            draft.fail(f"{mention.text!r}: at most {self._parent.max_count} of a kind can be asked for")
            return ()
        if mention.parts and mention.count > 1:
            draft.fail(f"{mention.text!r}: the parts of a thing that was cut are not told apart; ask for one")
            return ()
        before = self._mentioned_before(mention)
        if before:
            return before
        if mention.count == 0:
            draft.note(f"took {mention.text!r} to mean two", GUESS_PENALTY)
        return tuple(draft.add(mention.senses, mention.text) for _ in range(mention.count or 2))

    def _mentioned_before(self, mention: Mention) -> Group:
        """Return the things that an earlier clause spoke of and that a definite mention takes up again."""
        if mention.article in ("indefinite", "other"):
            return ()
        things = [self._draft.things[name] for name in self._earlier]
        alike = [thing for thing in things if set(thing.senses) & set(mention.senses)]
        if mention.count == 1:
            alike = [thing for thing in alike if not self._contradicts(mention, thing)]
            order = list(self._draft.things)
            alike.sort(key=lambda thing: -order.index(thing.name))
            return tuple(thing.name for thing in alike[:1])
        if len(alike) > 1 and mention.count in (0, len(alike)):
            return tuple(sorted(thing.name for thing in alike))
        return ()

    def _contradicts(self, mention: Mention, thing: Thing) -> bool:
        last = self._draft.stages[-1] if self._draft.stages else []
        return any(
            self._parent.conflicts(self._draft, _literal(state.literal, {THING: thing.name}), last)
            for state in mention.states
        )

    # -- literals -------------------------------------------------------------------------------------------------

    def _instantiate(self, templates: Iterable[Template], roles: dict[str, Group]) -> list[GoalLiteral]:
        found = []
        for template in templates:
            if all(role in roles for role in template.roles):
                for names in itertools.product(*(roles[role] for role in template.roles)):
                    found.append(GoalLiteral(template.predicate, names, template.positive))
        return found

    def _check(self, wanted: list[GoalLiteral]) -> None:
        if self._draft.errors:
            return
        if not wanted:
            self._draft.fail("it says nothing that must become true")
        for literal in wanted:
            if len(set(literal.arguments)) < len(literal.arguments):
                self._draft.fail(f"{self._text(literal)}: a thing cannot be in itself")
        for first, second in itertools.combinations(wanted, 2):
            if not self._draft.errors and self._parent.conflicts(self._draft, second, [first]):
                self._draft.fail(f"{self._text(first)} and {self._text(second)} cannot both be true at the end")

    def _split_descriptions(self, wanted: list[GoalLiteral], now: list[GoalLiteral]) -> list[GoalLiteral]:
        """Return the descriptions that are part of the goal; the others speak of the present and choose things."""
        kept: list[GoalLiteral] = []
        present = [*now, *self._present]
        for literal in self._said:
            if self._parent.conflicts(self._draft, literal, wanted):
                present.append(literal)
            elif self._parent.conflicts(self._draft, literal, kept):
                self._draft.fail(f"{self._text(literal)} contradicts something else that is said of it")
            else:
                kept.append(literal)
        for literal in present:
            self._parent.choose_instance(self._draft, literal)
        return kept

    def _advance(self, new: list[GoalLiteral]) -> None:
        """Add literals to the last stage, or begin a new one that keeps what still holds of the last."""
        draft, new = self._draft, list(dict.fromkeys(new))
        span = (self._clause.start, self._clause.end)
        self._drop_means(new)
        last = draft.stages[-1] if draft.stages else []
        clash = {other for literal in new for other in self._parent.conflicts(draft, literal, last)}
        merged = list(dict.fromkeys([*(literal for literal in last if literal not in clash), *new]))
        if draft.stages and self._clause.connector == AND and not clash:
            draft.stages[-1] = merged
            draft.clauses[-1].append(span)
            return
        if clash and self._clause.connector == AND:
            draft.penalty += GUESS_PENALTY
        draft.stages.append(merged)
        draft.clauses.append([*self._loose, span])

    def _drop_means(self, new: list[GoalLiteral]) -> None:
        """Forget what was only a step towards something new: "pick up the mug and put it in the sink"."""
        draft = self._draft
        stages: list[list[GoalLiteral]] = []
        clauses: list[list[tuple[int, int]]] = []
        self._loose = []
        for stage, ranges in zip(draft.stages, draft.clauses, strict=True):
            kept = [literal for literal in stage if not self._parent.means(draft, literal, new)]
            if kept and not (stages and set(kept) <= set(stages[-1])):
                stages.append(kept)
                clauses.append([*self._loose, *ranges])
                self._loose = []
            else:
                self._loose += ranges  # the words stay with the goal that they lead to
        draft.stages, draft.clauses = stages, clauses

    def _text(self, literal: GoalLiteral) -> str:
        things = ", ".join(self._draft.things[name].text for name in literal.arguments)
        return f"{'' if literal.positive else 'not '}{literal.predicate}({things})"


def _literal(template: Template, names: dict[str, str]) -> GoalLiteral:
    return GoalLiteral(template.predicate, tuple(names[role] for role in template.roles), template.positive)
