"""Goal texts to goals, by the entries ``goals`` of a language file."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import HERE, Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.rules_names import Mention
from graph_planner_ros.language.rules_patterns import Match, Page
from graph_planner_ros.language.rules_schema import DeclaredVariable, FactTemplate, GoalRule

PLACE_SLOT = HERE.strip("{}")
"""Name of the variable for where the robot is."""


@dataclass
class _Draft:
    """A goal in the making; slots that name the same thing, or the same class, share a variable."""

    text: str
    variables: dict[str, GoalVariable] = field(default_factory=dict)
    literals: dict[GoalLiteral, None] = field(default_factory=dict)
    distinct: dict[tuple[str, ...], None] = field(default_factory=dict)
    optional: bool = False

    def variable(self, name: str, mention: Mention | None, class_name: str | None, type_name: str) -> str:
        """Return the variable for a mention, a new one if there is none yet."""
        instance = mention.name if mention is not None and not mention.is_class else None
        shared = mention is not None
        for known in self.variables.values():
            same = known.instance == instance if instance is not None else known.class_name == class_name
            if shared and same and known.name.split("_")[0] == f"?{name}":
                return known.name
        free = next(
            n
            for n in itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
            if f"?{n}" not in self.variables
        )
        self.variables[f"?{free}"] = GoalVariable(f"?{free}", type_name, class_name, instance)
        return f"?{free}"

    def goal(self) -> Goal:
        return Goal(
            tuple(self.variables.values()), tuple(self.literals), tuple(self.distinct), self.text, self.optional
        )


def read_goals(domain: Domain, rules: tuple[GoalRule, ...], page: Page) -> tuple[Goal, ...]:
    """Return the goals that a text names, in its order; entries with ``join`` add to the goal before them."""
    drafts: list[_Draft] = []
    for rule, match in _matches(rules, page):
        text = page.text[match.start : match.end].strip()
        if rule.join and drafts:
            draft = drafts[-1]
            draft.text = f"{draft.text} {text}"
        else:
            draft = _Draft(text, optional=rule.optional)
            drafts.append(draft)
        try:
            _instantiate(domain, rule, match, draft)
            check_goal(draft.goal(), domain)
        except DomainError:
            return ()  # a goal that the domain does not have is not half understood
    return tuple(draft.goal() for draft in drafts)


def standing_goals(domain: Domain, rules: tuple[GoalRule, ...]) -> tuple[Goal, ...]:
    """Return the goals of entries that no text has to ask for."""
    drafts = [_Draft("no goal was stated", optional=rule.optional) for rule in rules]
    for rule, draft in zip(rules, drafts, strict=True):
        _instantiate(domain, rule, Match(0, 0), draft)
    return tuple(draft.goal() for draft in drafts)


def _matches(rules: tuple[GoalRule, ...], page: Page) -> list[tuple[GoalRule, Match]]:
    """Return the matches of a text from its start to its end; of those at one place the longest."""
    starts = page.starts()
    anywhere = any(rule.anywhere for rule in rules)
    positions = sorted({*starts, *(page.word_starts() if anywhere else ())})
    at_start, found, end = set(starts), [], 0
    for position in positions:
        if position < end:
            continue
        best: tuple[GoalRule, Match] | None = None
        for rule in rules:
            if position not in at_start and not rule.anywhere:
                continue
            for pattern in rule.patterns:
                match = pattern.match(page, position)
                if match is not None and (best is None or match.end > best[1].end) and _is_of(rule, match):
                    best = (rule, match)
        if best is not None:
            found.append(best)
            end = best[1].end
    return found


def _is_of(rule: GoalRule, match: Match) -> bool:
    return all(mention.class_name == label for slot, label in rule.of for mention in match.slots.get(slot, ()))


def _instantiate(domain: Domain, rule: GoalRule, match: Match, draft: _Draft) -> None:
    names: dict[str, list[str]] = {}
    later = [variable for variable in rule.variables if variable.like is not None]
    for variable in [*(v for v in rule.variables if v.like is None), *later]:
        if variable.name in match.slots:
            mentions: list[Mention | None] = list(match.slots[variable.name])
        else:
            mentions = [None]
        names[variable.name] = [_variable(domain, rule, variable, item, names, draft) for item in mentions]
    for template in rule.literals:
        choices = [names[name] if is_variable else [name] for name, is_variable in template.arguments]
        for arguments in itertools.product(*choices):
            draft.literals[GoalLiteral(template.predicate, arguments, template.positive)] = None
    for left, right in rule.distinct:
        for pair in itertools.product(names[left], names[right]):
            draft.distinct[pair] = None
    _narrow(domain, draft)


def _variable(
    domain: Domain,
    rule: GoalRule,
    variable: DeclaredVariable,
    mention: Mention | None,
    names: dict[str, list[str]],
    draft: _Draft,
) -> str:
    if mention is None and variable.name == PLACE_SLOT and variable == DeclaredVariable(PLACE_SLOT):
        where = GoalVariable(f"?{PLACE_SLOT}", _type(domain, rule.literals, PLACE_SLOT), None, HERE)
        draft.variables[where.name] = where
        return where.name
    class_name = mention.class_name if mention is not None else variable.class_name
    if variable.like is not None:
        class_name = draft.variables[names[variable.like][0]].class_name
    if mention is not None and class_name is None:
        raise DomainError(f"there is no class for {mention.name!r}")
    type_name = variable.type_name or (
        domain.class_of(class_name).type_name if class_name else _type(domain, rule.literals, variable.name)
    )
    return draft.variable(variable.name, mention, class_name, type_name)


def _type(domain: Domain, literals: tuple[FactTemplate, ...], name: str) -> str:
    """Return the narrowest type that the literals ask of a variable."""
    types = [
        parameter.type_name
        for literal in literals
        for (argument, _), parameter in zip(
            literal.arguments, domain.predicates[literal.predicate].parameters, strict=True
        )
        if argument == name
    ]
    return max(types, key=lambda type_name: len(domain.ancestors.get(type_name, ())), default="object")


def _narrow(domain: Domain, draft: _Draft) -> None:
    """Refuse a goal whose literals are not about such things.

    Raises:
        DomainError: naming literal and type.
    """
    for literal in draft.literals:
        for name, parameter in zip(literal.arguments, domain.predicates[literal.predicate].parameters, strict=True):
            variable = draft.variables.get(name)
            if variable is None or domain.is_a(variable.type_name, parameter.type_name):
                continue
            if not domain.is_a(parameter.type_name, variable.type_name):
                raise DomainError(
                    f"{literal.predicate} is about the type {parameter.type_name}, not {variable.type_name}"
                )
            draft.variables[name] = replace(variable, type_name=parameter.type_name)
