"""JSON that people hand to the program: read line by line, and refused in words that name what was expected."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

NO_SUCH_SHAPE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
"""What code that takes plain JSON apart raises when the JSON has another shape; `what_is_wrong` says it in words."""

_KINDS: dict[type[Any], str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def kind_of(value: Any) -> str:
    """Return what a JSON value is, in words: ``a list``, ``a number``."""
    return _KINDS.get(type(value), type(value).__name__)


def read_lines(path: Path, wrong: type[ValueError] = ValueError) -> Iterator[bytes]:
    """Yield the lines of a file, unpacked if it is compressed (by what it holds, not by its name).

    Raises:
        wrong: naming the file, if it cannot be read or unpacked.
    """
    try:
        with path.open("rb") as plain:  # once: what was read of a pipe does not come again
            packed = plain.peek(2)[:2] == b"\x1f\x8b"
            with gzip.open(plain, "rb") if packed else plain as file:
                yield from file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise wrong(f"{path} cannot be read: it is cut off or damaged ({error})") from None
    except OSError as error:
        raise wrong(f"{path} cannot be read: {_said(error)}") from None


def read_text(path: Path, wrong: type[ValueError] = ValueError) -> str:
    """Return the text of a file.

    Raises:
        wrong: naming the file, if it cannot be read or is no text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise wrong(f"{path} is no text (UTF-8)") from None
    except OSError as error:
        raise wrong(f"{path} cannot be read: {_said(error)}") from None


def parse_object(text: str | bytes, where: str, wrong: type[ValueError] = ValueError) -> dict[str, Any]:
    """Return the JSON object that a text is.

    Args:
        text: one JSON value, UTF-8. where: file and line, for the message. wrong: what to raise.

    Raises:
        wrong: if it is no JSON, or another value than an object.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise wrong(f"{where}: {what_is_wrong(error, 'a JSON object')}") from None
    if not isinstance(content, dict):
        raise wrong(f"{where}: expected a JSON object, found {kind_of(content)}")
    return content


def check_fields(kind: type[Any], content: Any, name: str) -> dict[str, Any]:
    """Return ``content`` if it is an object with the fields of a dataclass: all that have no default, no others.

    Raises:
        ValueError: naming the field that is missing or not known.
    """
    if not isinstance(content, dict):
        raise ValueError(f"{name}: expected an object, found {kind_of(content)}")
    known = {field.name: field for field in fields(kind)}
    if unknown := sorted(set(content) - set(known)):
        raise ValueError(f"{name}: there is no field {unknown[0]!r}; there are: {', '.join(sorted(known))}")
    needed = [key for key, field in known.items() if field.default is MISSING and field.default_factory is MISSING]
    if missing := [key for key in needed if key not in content]:
        raise ValueError(f"{name}: the field {missing[0]!r} is missing")
    return content


def what_is_wrong(error: Exception, expected: str) -> str:
    """Return in words why a JSON text is not what it should be.

    Args:
        error: what reading it raised, one of `NO_SUCH_SHAPE`. Python's own words for a wrong type say nothing to people
            and are left out. expected: what it should be, such as ``an episode``.
    """
    if isinstance(error, json.JSONDecodeError):
        if not error.doc.strip():
            return f"expected {expected}, found nothing"
        return f"expected {expected}, found no JSON ({error.msg}, line {error.lineno}, column {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return f"expected {expected}, found bytes that are no UTF-8"
    if isinstance(error, RecursionError):
        return f"expected {expected}, found brackets within brackets too deep to read"
    if isinstance(error, KeyError):
        return f"expected {expected}, found no {error.args[0]!r} in it" if error.args else f"expected {expected}"
    if isinstance(error, ValueError):
        return f"expected {expected}, found something else ({error})"
    return f"expected {expected}, found JSON of another shape"


def _said(error: OSError) -> str:
    return error.strerror[0].lower() + error.strerror[1:] if error.strerror else str(error)
