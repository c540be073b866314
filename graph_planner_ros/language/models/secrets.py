"""Keys and credentials: where they come from, and how they are kept out of every text."""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

ENDPOINT_VARIABLE = "OPENAI_BASE_URL"
HIDDEN = "***"
NO_ADDRESS = "an address that is none"
_LOGGERS = (
    *("openai", "openai._base_client", "openai._response", "openai._legacy_response"),
    *("httpx", "httpcore", "httpcore.connection", "httpcore.http11", "httpcore.proxy"),
    *("httpx2", "httpcore2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy"),
)
"""A filter works on the records of its own logger only, not on those of the loggers below."""
_SHORTEST = 4
"""Shorter ones are hidden nowhere: they would tear holes into words, and are no secrets."""
_SHORTEST_IN_ANSWERS = 8
"""Placeholders like EMPTY or ollama are words that an answer may contain."""


def public_endpoint(endpoint: str) -> str:
    """Return an address without user, password, query and fragment; that of the environment if it is empty."""
    text = endpoint or os.environ.get(ENDPOINT_VARIABLE, "")
    try:
        parts = urlsplit(text)
    except ValueError:
        return NO_ADDRESS
    if text and not (parts.scheme in ("http", "https") and parts.netloc):
        return NO_ADDRESS  # without a scheme, nobody can say which part of it is a password
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class Secrets:
    """The secrets of one endpoint; its own texts show none of them.

    Args:
        key: empty for none. endpoint: address that may hold a user, a password, and keys in its query.
    """

    def __init__(self, key: str, endpoint: str) -> None:
        self._texts = tuple(sorted(set(_spellings(key, endpoint)), key=len, reverse=True))

    def __repr__(self) -> str:
        return f"Secrets({len(self._texts)})"

    def hide(self, text: str, shortest: int = _SHORTEST) -> str:
        """Return a text with every secret of at least ``shortest`` characters replaced by stars."""
        for secret in self._texts:
            if len(secret) >= shortest:
                text = text.replace(secret, HIDDEN)
        return text

    def hide_in_answer(self, text: str) -> str:
        """Return what a model said; an endpoint that gives the key back does not get it into a bag."""
        return self.hide(text, _SHORTEST_IN_ANSWERS)

    def sentence(self, text: object, longest: int = 400) -> str:
        """Return a short line without secrets; hidden before it is cut, so that no half of one stays."""
        return " ".join(self.hide(str(text)).split())[:longest]

    def guard_logs(self) -> None:
        """Keep the secrets out of what the client libraries log, whichever level somebody switches on."""
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            found = next((each for each in logger.filters if isinstance(each, _HidingFilter)), None)
            if found is None:
                found = _HidingFilter()
                logger.addFilter(found)
            found.add(self)


class _HidingFilter(logging.Filter):
    """Rewrites records that contain a secret."""

    def __init__(self) -> None:
        super().__init__()
        self._secrets: dict[tuple[str, ...], Secrets] = {}

    def add(self, secrets: Secrets) -> None:
        """Hide these as well."""
        self._secrets[secrets._texts] = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Hide; nothing is dropped."""
        message = record.getMessage()
        hidden = message
        for secrets in tuple(self._secrets.values()):
            hidden = secrets.hide(hidden)
        if hidden != message:
            record.msg, record.args = hidden, None
        return True


def _spellings(key: str, endpoint: str) -> Iterable[str]:
    plain = [key] if key else []
    try:
        parts = urlsplit(endpoint)
        userinfo = parts.netloc.rpartition("@")[0]
        values = [value for _, value in parse_qsl(parts.query)]
    except ValueError:  # not an address; the client will say so
        userinfo, values, parts = "", [], None
    if userinfo:
        user, _, password = userinfo.partition(":")
        both = f"{unquote(user)}:{unquote(password)}"
        plain += [userinfo, password or user, base64.b64encode(both.encode()).decode()]
    plain += values
    if parts is not None and parts.fragment:
        plain.append(parts.fragment)
    for text in plain:
        yield from {text, unquote(text), quote(text, safe=""), quote(text)} - {""}
