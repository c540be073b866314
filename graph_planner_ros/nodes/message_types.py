"""Message classes and definitions by type name, found in whatever ROS is installed."""

from __future__ import annotations

import importlib
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

SEPARATOR = "=" * 80
PRIMITIVE = {
    "bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
    "uint64", "string", "wstring",
}  # fmt: skip


def message_class(type_name: str) -> Any:
    """Return the Python class of a type such as ``std_msgs/msg/Bool``.

    Raises:
        LookupError: naming the type, if it is not installed.
    """
    package, kind, name = type_name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError) as error:
        raise LookupError(f"message type {type_name} is not installed: {error}") from error


@lru_cache(maxsize=512)
def message_definition(type_name: str) -> str:
    """Return the definition of a type followed by those of all types that it uses, as bags hold them.

    Raises:
        LookupError: naming the type whose ``.msg`` file is not found.
    """
    parts = [_text(type_name)]
    seen = {type_name}
    waiting = _used_types(type_name)
    while waiting:
        used = waiting.pop(0)
        if used in seen:
            continue
        seen.add(used)
        package, _, name = used.split("/")
        parts.append(f"MSG: {package}/{name}\n{_text(used)}")
        waiting += _used_types(used)
    return f"\n{SEPARATOR}\n".join(parts)


def _text(type_name: str) -> str:
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        package, kind, name = type_name.split("/")
        path = Path(prefix) / "share" / package / kind / f"{name}.msg"
        if prefix and path.is_file():
            return path.read_text().rstrip("\n") + "\n"
    raise LookupError(f"the definition of message type {type_name} is not found below AMENT_PREFIX_PATH")


def _used_types(type_name: str) -> list[str]:
    package = type_name.split("/")[0]
    used = []
    for line in _text(type_name).splitlines():
        field = re.match(r"([A-Za-z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]", line.split("#")[0].strip())
        if field is None or field[1] in PRIMITIVE:
            continue
        *prefix, name = field[1].split("/")
        used.append(f"{prefix[0] if prefix else package}/msg/{name}")
    return used
