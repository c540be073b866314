"""A text that asks for several things, in parts that ask for one thing each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

MAX_PARTS = 6
MAX_PLACES = 12
"""Places in a text where it is tried to be split."""
Cut = tuple[int, int]
"""Where one part ends, and where the next begins."""


def places(text: str, then: Collection[str], conjunctions: Collection[str], verbs: Collection[str]) -> list[Cut]:
    """Return (end of the first part, begin of the rest) where a text may be split, in its order.

    Args:
        then: words that begin a new step. conjunctions: words that may begin one, if a verb follows.
        verbs: first words of what may be asked.
    """
    found: set[tuple[int, int]] = set()
    later = "|".join(re.escape(word) for word in sorted(then, key=len, reverse=True))
    joined = "|".join(re.escape(word) for word in sorted(conjunctions, key=len, reverse=True))
    patterns = [rf"[.;]\s*(?:(?:{later})\b[,\s]*)*", rf",?\s*\b(?:(?:{joined})\s+)?(?:{later})\b[,\s]*"]
    for pattern in patterns:
        found.update((match.start(), match.end()) for match in re.finditer(pattern, text, re.IGNORECASE))
    for match in re.finditer(rf",\s*(?:(?:{joined})\s+)?|\s(?:{joined})\s+", text, re.IGNORECASE):
        following = re.match(r"\w+", text[match.end() :])
        if following is not None and following[0].casefold() in verbs:
            found.add((match.start(), match.end()))
    kept = [(start, end) for start, end in sorted(found) if text[:start].strip() and text[end:].strip()]
    # of places that overlap the longest
    return [p for p in kept if not any(o != p and o[0] <= p[0] and p[1] <= o[1] for o in kept)][:MAX_PLACES]


def split(
    text: str,
    cuts: Sequence[Cut],
    single: Callable[[Sequence[str]], Sequence[tuple[float, float]]],
) -> list[str]:
    """Split a text at the places where both sides are most like a request.

    Args:
        cuts: see `places`.
        single: for texts the log probabilities that each asks for one thing, and that it asks for several.
    """
    parts: list[str] = []
    begin = 0
    while len(parts) < MAX_PARTS - 1:
        open_cuts = [cut for cut in cuts if cut[0] > begin]
        if not open_cuts:
            break
        lefts = [text[begin : cut[0]] for cut in open_cuts]
        rights = [text[cut[1] :] for cut in open_cuts]
        judged = single([*lefts, *rights, text[begin:]])
        count = len(open_cuts)
        scores = [judged[i][0] + max(judged[count + i]) for i in range(count)]
        best = max(range(count), key=lambda index: scores[index])
        one, several = judged[-1]
        if parts and one >= several:
            break
        parts.append(lefts[best].strip())
        begin = open_cuts[best][1]
    parts.append(text[begin:].strip())
    return parts
