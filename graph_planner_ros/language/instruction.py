"""Natural-language instructions to goals, by rules that all come from the domain's YAML."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Container
from dataclasses import dataclass, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.consistency import LiteralRules, find_ring
from graph_planner_ros.language.contradictions import Contradictions
from graph_planner_ros.language.draft import Draft, finish
from graph_planner_ros.language.grammar import Grammar
from graph_planner_ros.language.lexicon import read_lexicon
from graph_planner_ros.language.meaning import Interpreter
from graph_planner_ros.language.phrases import TooComplex
from graph_planner_ros.language.suggestions import Suggester
from graph_planner_ros.language.words import Phrase, tokenize
from graph_planner_ros.scene.graph import SceneGraph

MAX_WORDS = 80
MAX_CHARACTERS = 2000
MAX_THINGS = 10
"""Most things that one goal may speak of: the time for planning grows fast with their number."""
MAX_READINGS = 200
MAX_SUGGESTIONS = 4


class ParseStatus(enum.Enum):
    """Whether an instruction became a goal.

    ``NOT_UNDERSTOOD``: words or sentence are unknown. ``NOT_EXPRESSIBLE``: the words are known, and what they ask for
    is nothing that the planning domain can say or bring about. ``CONTRADICTORY``: what is asked for excludes itself.
    """

    UNDERSTOOD = "understood"
    NOT_UNDERSTOOD = "not_understood"
    NOT_EXPRESSIBLE = "not_expressible"
    CONTRADICTORY = "contradictory"


@dataclass(frozen=True)
class ParsedInstruction:
    """Outcome of reading an instruction.

    Attributes:
        goals: to be reached one after the other; each holds all that must be true at its end, so the last one is the
            condition by which the whole instruction is judged.
        not_understood: words of the instruction that mean nothing here.
        suggestions: instructions that can be read. reason: a sentence, empty if understood.
        notes: readings that the person should know of, e.g. which of two meanings was taken.
        confidence: how likely this is what was meant, from 0 to 1; rules are always sure.
        question: what to ask back where that is in doubt; empty if nothing.
    """

    status: ParseStatus
    goals: tuple[Goal, ...] = ()
    not_understood: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    confidence: float = 1.0
    question: str = ""

    @property
    def understood(self) -> bool:
        """True if there are goals to be reached."""
        return self.status is ParseStatus.UNDERSTOOD


class InstructionParser:
    """Reads instructions by the words and rules of a domain's YAML. Immutable, so it may be shared between threads."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._lexicon = read_lexicon(domain)
        self._rules = LiteralRules(domain)
        self._contradictions = Contradictions(domain, self._lexicon, self._rules)
        self._suggester = Suggester(domain, self._lexicon, self._rules)

    def parse(self, text: str, graph: SceneGraph | None = None, *, suggest: bool = True) -> ParsedInstruction:
        """Read an instruction.

        Args:
            text: what a person said.
            graph: the belief, if there is one: it decides what a word with several meanings stands for, which thing is
                meant by "the mug from the table", lets instance ids be named, and what is suggested.
            suggest: whether to look for what could be said instead, which takes longer than reading.
        """
        parsed = self._parse(text, graph)
        return parsed if parsed.understood or not suggest else self.suggested(parsed, text, graph)

    def suggested(self, parsed: ParsedInstruction, text: str, graph: SceneGraph | None = None) -> ParsedInstruction:
        """Return what was read with suggestions behind those that it has."""
        said = text if len(text) <= MAX_CHARACTERS and len(tokenize(text)) <= MAX_WORDS else ""
        found = (*parsed.suggestions, *self._suggestions(said, graph, parsed))
        return replace(parsed, suggestions=tuple(dict.fromkeys(found))[:MAX_SUGGESTIONS])

    def _parse(self, text: str, graph: SceneGraph | None) -> ParsedInstruction:
        if len(text) > MAX_CHARACTERS:  # nothing that long is looked into, so that no text takes long
            return _refusal(f"the instruction has {len(text)} characters, and at most {MAX_CHARACTERS} are read")
        words = len(tokenize(text))
        if words > MAX_WORDS:
            return _refusal(f"the instruction has {words} words, and at most {MAX_WORDS} are read")
        return self._contradiction(text, graph) or self._read(text, graph)

    def _contradiction(self, text: str, graph: SceneGraph | None) -> ParsedInstruction | None:
        words = self._contradictions.find(tokenize(text), _known_instances(self._domain, graph))
        if not words:
            return None
        return ParsedInstruction(
            ParseStatus.CONTRADICTORY,
            not_understood=(words,),
            reason=f"{words!r} contradicts itself: it cannot all be so at once",
            question=f"Which part of {words!r} do you mean, since it cannot all be so at once?",
        )

    def _read(self, text: str, graph: SceneGraph | None) -> ParsedInstruction:
        tokens = tokenize(text)
        if not any(token[0].isalnum() for token in tokens):
            return _refusal("the instruction is empty")
        instances = _known_instances(self._domain, graph)
        unknown = self._unknown_words(tokens, instances)
        if unknown:
            return _refusal(self._unknown_reason(unknown, graph), unknown)
        grammar = Grammar(self._lexicon, tokens, instances)
        best = self._best_reading(grammar, graph)
        if best is None:
            return self._no_structure(tokens, grammar)
        if best.errors:
            return ParsedInstruction(ParseStatus.NOT_EXPRESSIBLE, reason=best.errors[0])
        goals = finish(best, self._domain, graph, text.strip(), tokens)
        largest = max(len(goal.variables) for goal in goals)
        if largest > MAX_THINGS:
            reason = f"it speaks of {largest} things, and at most {MAX_THINGS} can be: say it in several instructions"
            return ParsedInstruction(ParseStatus.NOT_EXPRESSIBLE, reason=reason)
        for goal in goals:
            ring = find_ring(self._domain, goal)
            if ring:
                things = " in ".join(best.things[name].text for name in ring)
                return ParsedInstruction(ParseStatus.NOT_EXPRESSIBLE, reason=f"nothing can be so: {things}")
        return ParsedInstruction(ParseStatus.UNDERSTOOD, goals, notes=tuple(best.notes))

    def _best_reading(self, grammar: Grammar, graph: SceneGraph | None) -> Draft | None:
        interpreter = Interpreter(self._domain, self._lexicon, self._rules, graph)
        best: Draft | None = None
        try:
            for sentence in itertools.islice(grammar.sentences(), MAX_READINGS):
                draft = interpreter.interpret(sentence)
                if best is None or draft.penalty < best.penalty:
                    best = draft
                if best.penalty == 0:
                    break
        except TooComplex:
            pass  # what was found so far counts
        return best

    def _unknown_words(self, tokens: Phrase, instances: Container[str]) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                token
                for token in tokens
                if token[0].isalnum()
                and token not in self._lexicon.vocabulary
                and token not in instances
                and not token.isdecimal()
            )
        )

    def _unknown_reason(self, unknown: tuple[str, ...], graph: SceneGraph | None) -> str:
        ids = [word for word in unknown if "_" in word]
        if ids:
            where = "the scene" if graph is not None else "what is known here (no scene was given)"
            return f"there is no {' and no '.join(ids)} in {where}"
        words = ", ".join(map(repr, unknown))
        return f"I do not know the word{'s' if len(unknown) > 1 else ''} {words}"

    def _no_structure(self, tokens: Phrase, grammar: Grammar) -> ParsedInstruction:
        """Say which words could not be fitted in."""
        for start, end in itertools.combinations(range(len(tokens) + 1), 2):
            reason = self._lexicon.refused.get(tokens[start:end])
            if reason is not None:
                words = " ".join(tokens[start:end])
                return ParsedInstruction(
                    ParseStatus.NOT_EXPRESSIBLE, not_understood=(words,), reason=f"I cannot use {words!r}: {reason}"
                )
        done, rest = tokens[: grammar.farthest], tokens[grammar.farthest :]
        words = " ".join(token for token in rest if token[0].isalnum())
        if words:
            after = f" after {' '.join(done)!r}" if done else ""
            return _refusal(f"I do not understand {words!r}{after}", (words,))
        if grammar.incomplete is not None:
            return _refusal(f"something is missing after {' '.join(done)!r}")
        return _refusal(f"I know the words of {' '.join(done)!r} and cannot make out what is to be done")

    def _suggestions(self, text: str, graph: SceneGraph | None, parsed: ParsedInstruction) -> tuple[str, ...]:
        found: list[str] = []
        for candidate in self._suggester.candidates(tokenize(text), parsed.not_understood, graph):
            if candidate in found or self._contradiction(candidate, graph) is not None:
                continue
            if self._read(candidate, graph).understood:
                found.append(candidate)
            if len(found) == MAX_SUGGESTIONS:
                break
        return tuple(found)


def _refusal(reason: str, words: tuple[str, ...] = ()) -> ParsedInstruction:
    return ParsedInstruction(ParseStatus.NOT_UNDERSTOOD, not_understood=words, reason=reason)


def _known_instances(domain: Domain, graph: SceneGraph | None) -> dict[str, str]:
    if graph is None:
        return {}
    return {node.instance_id.casefold(): node.label for node in graph.nodes.values() if node.label in domain.classes}
