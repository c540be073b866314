"""A text that asks for several things, in parts that ask for one thing each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

MAX_PARTS = 6
MAX_PLACES = 12
"""Places in a text where it is tried to be split."""
Cut = tuple[int, int]
"""Where one part ends, and where the next begins."""
Span = tuple[int, int]
"""The first and the last of the pieces between cuts that a part consists of."""


def places(text: str, then: Collection[str], conjunctions: Collection[str], verbs: Collection[str]) -> list[Cut]:
    """Return (end of the first part, begin of the rest) where a text may be split, in its order.

    A full stop may part, and what begins a new step behind a comma or an "and"; elsewhere a verb has to follow, else
    "next to" would be taken for a next step.

    Args:
        then: words that begin a new step. conjunctions: words that may begin one.
        verbs: first words of what may be asked.
    """
    later = "|".join(re.escape(word) for word in sorted(then, key=len, reverse=True))
    joined = "|".join(re.escape(word) for word in sorted(conjunctions, key=len, reverse=True))
    comma = rf",\s*(?:(?:{joined})\s+)?"
    steps = rf"(?:(?:{later})\b[,\s]*)"
    always = (rf"[.;]\s*{steps}*", rf"(?:{comma}|\b(?:{joined})\s+){steps}+")
    before_verbs = (rf"\b{steps}+", rf"{comma}|\s(?:{joined})\s+")
    found = {match.span() for pattern in always for match in re.finditer(pattern, text, re.IGNORECASE)}
    for pattern in before_verbs:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            following = re.match(r"\w+", text[match.end() :])
            if following is not None and following[0].casefold() in verbs:
                found.add(match.span())
    kept = [(start, end) for start, end in sorted(found) if text[:start].strip() and text[end:].strip()]
    # of places that overlap the longest, and of those with nothing between them the first
    longest = [p for p in kept if not any(o != p and o[0] <= p[0] and p[1] <= o[1] for o in kept)]
    apart: list[Cut] = []
    for start, end in longest:
        if not apart or text[apart[-1][1] : start].strip():
            apart.append((start, end))
    return apart[:MAX_PLACES]


def spans(text: str, cuts: Sequence[Cut]) -> dict[Span, str]:
    """Return all parts that a text may have when it is split at some of the cuts."""
    begins = [0, *(cut[1] for cut in cuts)]
    ends = [*(cut[0] for cut in cuts), len(text)]
    return {
        (first, last): text[begins[first] : ends[last]].strip()
        for first in range(len(begins))
        for last in range(first, len(ends))
    }


def likeliest(values: Mapping[Span, float]) -> list[Span]:
    """Return the spans that cover a text, at most `MAX_PARTS`, whose values have the largest sum.

    Args:
        values: of every span of the text, e.g. the log probability that it asks for one thing and that this is clear.
    """
    count = 1 + max(last for _, last in values)
    # best[parts][end]: the best way to cover the first pieces by so many parts
    best: list[list[tuple[float, list[Span]] | None]] = [[(0.0, []), *[None] * count]]
    for _ in range(MAX_PARTS):
        row: list[tuple[float, list[Span]] | None] = [None] * (count + 1)
        for last in range(count):
            ways = [
                (before[0] + values[first, last], [*before[1], (first, last)])
                for first in range(last + 1)
                if (before := best[-1][first]) is not None
            ]
            row[last + 1] = max(ways, key=lambda way: way[0], default=None)
        best.append(row)
    whole = [row[count] for row in best[1:]]
    return max((way for way in whole if way is not None), key=lambda way: way[0])[1]


def clearest(values: Mapping[Span, float], clarity: Callable[[Span], float]) -> list[Span]:
    """Return the `likeliest` spans when each is worth its value and its clarity.

    Clarity is asked for only where it can matter: what was not asked for counts as wholly clear, which changes nothing.

    Args:
        values: of every span, see `likeliest`. clarity: 0 for what is wholly clear, else less; asked once a span.
    """
    known = dict(values)
    asked: set[Span] = set()
    while missing := [span for span in likeliest(known) if span not in asked]:
        for span in missing:
            known[span] += clarity(span)
        asked.update(missing)
    return likeliest(known)
