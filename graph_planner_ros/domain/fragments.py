"""Fragments: more skills for a domain, in two files beside it, and no change of the domain's own files.

``fragments/<name>.pddl`` in a domain's folder holds ``(define (fragment <name>) ...)`` with types, constants,
predicates, functions and actions; ``fragments/<name>.yaml`` holds what is said about them, in the shape of the domain's
YAML: mappings are merged and lists are made longer. A fragment may add and may not change; only words can be taken
away, under ``remove``, e.g. where "cook" is to mean the new skill and not the old one. A domain with fragments is
called ``household+ai2thor_skills``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.yaml_files import read_yaml

FOLDER = "fragments"
SEPARATOR = "+"
REMOVE = "remove"
_DECLARING = (":types", ":constants", ":predicates", ":functions")
_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r"[()]|[^\s()]+")
_Expression = str | list[Any]


def split_name(name_or_path: str | Path) -> tuple[str, tuple[str, ...]]:
    """Return the domain's own name or path, and the names of the fragments after it."""
    path = Path(name_or_path)
    base, *fragments = path.name.split(SEPARATOR)
    if not fragments or path.exists():
        return str(name_or_path), ()
    return str(path.with_name(base)) if base else str(name_or_path), tuple(fragments)


def available_fragments(folder: Path) -> tuple[str, ...]:
    """Return the names of the fragments in a domain's folder."""
    return tuple(sorted(path.stem for path in (folder / FOLDER).glob("*.pddl")))


def fragment_files(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the PDDL and the YAML file of a fragment.

    Raises:
        FileNotFoundError: naming the fragment and those that there are, or the file that it lacks.
    """
    known = available_fragments(folder)
    if name not in known:
        there = f"it has: {', '.join(known)}" if known else "it has none"
        raise FileNotFoundError(f"the planning domain {folder.name!r} has no fragment {name!r}; {there}")
    files = (folder / FOLDER / f"{name}.pddl", folder / FOLDER / f"{name}.yaml")
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"the fragment {name!r} of the planning domain {folder.name!r} has no file {file}")
    return files


# ---- PDDL


def merge_pddl(text: str, fragment: Path) -> str:
    """Return a PDDL domain with what a fragment adds.

    Raises:
        DomainError: naming the fragment's file and what is wrong with it: no fragment, or something that there is.
    """
    domain = _parse(text, "the domain")
    added = _parse(fragment.read_text(encoding="utf-8"), str(fragment))
    head = added[1] if len(added) > 1 else None
    if not isinstance(head, list) or [str(word).lower() for word in head[:1]] != ["fragment"]:
        raise DomainError(f"{fragment}: expected (define (fragment {fragment.stem}) ...)")
    for section in added[2:]:
        kind = str(section[0]).lower() if isinstance(section, list) and section else ""
        if kind == ":action":
            _refuse_known(domain, section, kind, fragment)
            domain.append(section)
        elif kind in _DECLARING:
            _refuse_known(domain, section, kind, fragment)
            _section(domain, kind).extend(section[1:])
        elif kind == ":requirements":
            wanted = _section(domain, kind)
            wanted.extend(word for word in section[1:] if word not in wanted)
        else:
            expected = ", ".join((":requirements", *_DECLARING, ":action"))
            raise DomainError(f"{fragment}: expected sections out of {expected}, found {_text(section)[:60]!r}")
    return _text(domain)


def _refuse_known(domain: list[Any], section: list[Any], kind: str, fragment: Path) -> None:
    there = {name.lower() for part in domain[2:] if part[0].lower() == kind for name in _declared(part, kind)}
    for name in _declared(section, kind):
        if name.lower() in there:
            what = "action" if kind == ":action" else kind.strip(":").removesuffix("s")
            raise DomainError(f"{fragment}: the {what} {name!r} is in the domain already; a fragment may only add")
        there.add(name.lower())


def _declared(section: list[Any], kind: str) -> list[str]:
    if kind == ":action":
        return [str(section[1])] if len(section) > 1 else []
    if kind in (":predicates", ":functions"):
        return [str(entry[0]) for entry in section[1:] if isinstance(entry, list) and entry]
    words = section[1:]
    return [str(word) for before, word in zip(["", *words], words, strict=False) if word != "-" and before != "-"]


def _section(domain: list[Any], kind: str) -> list[Any]:
    for part in domain[2:]:
        if part[0].lower() == kind:
            return part
    made: list[Any] = [kind]
    place = next((i for i, part in enumerate(domain) if isinstance(part, list) and part[0] == ":action"), len(domain))
    domain.insert(place, made)
    return made


def _parse(text: str, name: str) -> list[Any]:
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(_COMMENT.sub("", text)):
        if token == "(":
            stack.append([])
        elif token == ")" and len(stack) > 1:
            done = stack.pop()
            stack[-1].append(done)
        elif token == ")":
            raise DomainError(f"{name}: there is a ) too many")
        else:
            stack[-1].append(token)
    if len(stack) > 1:
        raise DomainError(f"{name}: {len(stack) - 1} ( are never closed")
    if len(stack[0]) != 1 or not isinstance(stack[0][0], list) or str(stack[0][0][:1]).lower() != "['define']":
        raise DomainError(f"{name}: expected one (define ...)")
    return stack[0][0]


def _text(expression: _Expression) -> str:
    return expression if isinstance(expression, str) else f"({' '.join(map(_text, expression))})"


# ---- YAML


def merge_description(content: Any, fragment: Path) -> Any:
    """Return the content of a domain's YAML with what a fragment adds to it.

    Raises:
        DomainError: naming the fragment's file, the entry and what is wrong with it.
    """
    added = read_yaml(fragment, DomainError)
    if not isinstance(added, dict) or not isinstance(content, dict):
        raise DomainError(f"{fragment}: expected a mapping like that of the domain's YAML")
    less = _without(content, added.pop(REMOVE, None) or {}, fragment, REMOVE)
    return _merged(less, added, fragment, "")


def _merged(content: Any, added: Any, fragment: Path, key: str) -> Any:
    if isinstance(content, dict) and isinstance(added, dict):
        result = dict(content)
        for name, value in added.items():
            here = f"{key}.{name}" if key else str(name)
            result[name] = _merged(content[name], value, fragment, here) if name in content else value
        return result
    if isinstance(content, list) and isinstance(added, list):
        return [*content, *(item for item in added if item not in content)]
    if content is None or content == added:
        return added
    raise DomainError(f"{fragment}: {key}: the domain says {_short(content)} already; a fragment may only add")


def _without(content: Any, removed: Any, fragment: Path, key: str) -> Any:
    """Return the content without the listed words. A mapping in a list stands for the entry that says the same."""
    if isinstance(content, dict) and isinstance(removed, dict):
        unknown = [name for name in removed if name not in content]
        if unknown:
            raise DomainError(f"{fragment}: {key}.{unknown[0]}: the domain has no such entry, so nothing is removed")
        return {
            name: _without(value, removed[name], fragment, f"{key}.{name}") if name in removed else value
            for name, value in content.items()
        }
    if isinstance(content, list) and isinstance(removed, list):
        result = list(content)
        for item in removed:
            if not isinstance(item, dict):
                if item not in result:
                    raise DomainError(f"{fragment}: {key}: the domain does not have {_short(item)} there")
                result.remove(item)
                continue
            place = next((i for i, entry in enumerate(result) if _same(entry, item)), None)
            if place is None:
                raise DomainError(f"{fragment}: {key}: the domain has no entry like {_short(item)}")
            lists = {name: value for name, value in item.items() if isinstance(value, list)}
            result[place] = _without(result[place], lists, fragment, key)
        return result
    raise DomainError(f"{fragment}: {key}: expected the shape of the domain's entry, {_short(content)}")


def _same(entry: Any, item: dict[str, Any]) -> bool:
    plain = {name: value for name, value in item.items() if not isinstance(value, list)}
    return isinstance(entry, dict) and all(entry.get(name) == value for name, value in plain.items())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
