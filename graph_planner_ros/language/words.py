"""Splitting text into words, and the regular forms of English nouns and verbs. Irregular forms come from the YAML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

Phrase = tuple[str, ...]
"""Words of a phrase in lower case."""

_TOKEN = re.compile(r"(?<!\S)-\d+|[^\W_]+(?:['’_][^\W]+)*|[,.;!?&]")
_VOWELS = "aeiou"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def tokenize(text: str) -> Phrase:
    """Return the words and punctuation marks of a text: lower case, hyphens in words as spaces, ``mug_1`` whole."""
    normal = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("−", "-")
    return tuple(_TOKEN.findall(normal))


def split_label(label: str) -> Phrase:
    """Return the words of a class label, e.g. ``CounterTop`` -> counter, top."""
    return tokenize(_CAMEL.sub(" ", label))


def plurals(noun: str) -> Iterator[str]:
    """Yield the plurals that people write for a singular noun; more than one where usage differs."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        yield noun + "es"
    elif noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        yield noun[:-1] + "ies"
    elif noun.endswith("o"):
        yield noun + "es"
        yield noun + "s"
    else:
        yield noun + "s"


def gerund_forms(verb: str) -> Iterator[str]:
    """Yield a verb and its -ing forms, e.g. put, putting."""
    yield verb
    if verb.endswith("e") and not verb.endswith("ee"):
        yield verb[:-1] + "ing"
        return
    yield verb + "ing"
    if len(verb) > 2 and verb[-1] not in _VOWELS + "wxy" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS:
        yield verb + verb[-1] + "ing"


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article, told by its first letter."""
    return f"{'an' if noun[:1].casefold() in tuple(_VOWELS) else 'a'} {noun}"
