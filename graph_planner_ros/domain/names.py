"""Injective names: any string <-> a legal PDDL name.

PDDL is case-insensitive, forbids most characters and has reserved words; labels of real objects do not care
(`Mug (Red)`, `café-1`, `2nd_shelf`, `and`). Only whole names are ever mapped, never parts of a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from graph_planner_ros.domain.symbols import Atom, GroundAction

if TYPE_CHECKING:
    from graph_planner_ros.domain.domain import Domain

_WORDS = (
    "define domain problem requirements types constants predicates functions action durative-action derived "
    "parameters precondition effect condition duration init goal objects metric constraints preferences "
    "and or not imply forall exists when either assign increase decrease scale-up scale-down "
    "at over start end all minimize maximize total-time total-cost number object true false undefined "
    "always sometime within at-most-once sometime-after sometime-before always-within hold-during hold-after "
    "preference is-violated"
)
RESERVED_WORDS = frozenset(_WORDS.split(" "))
"""Words that a planner could misread as part of the language."""

_ILLEGAL = re.compile(r"[^a-z0-9_]+")


def legal_name(text: str) -> str:
    """Return the nearest legal, lower-case PDDL name: a letter, then letters, digits and underscores.

    Different texts may give the same name: use `NameMap` where they must stay apart.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = _ILLEGAL.sub("_", plain).strip("_")
    if not name:
        return "x"
    return name if name[0].isalpha() else f"x_{name}"


class NameMap:
    """A one-to-one map between original names of things and legal PDDL names.

    The same original always gets the same PDDL name. Names that would collide with each other, with reserved
    words or with the symbols of the domain are numbered. A map must be used for one problem at a time or longer;
    names once given never change.

    Args:
        domain: its symbols (types, predicates, functions, actions, constants) are kept free, and are mapped
            by `symbol` and `original_symbol`.
        reserved: more PDDL names to keep free.
    """

    def __init__(self, domain: Domain | None = None, reserved: Iterable[str] = ()) -> None:
        self.domain = domain
        self._to_pddl: dict[str, str] = {}
        self._from_pddl: dict[str, str] = {}
        self._symbols: dict[str, str] = dict(domain.pddl_names) if domain else {}
        self._original_symbols = {pddl: original for original, pddl in self._symbols.items()}
        self._taken = set(RESERVED_WORDS) | {name.lower() for name in reserved} | set(self._original_symbols)
        for constant in domain.constants if domain else ():
            pddl = self._symbols.get(constant, constant)
            self._to_pddl[constant] = pddl
            self._from_pddl[pddl] = constant

    def to_pddl(self, original: str) -> str:
        """Return the PDDL name of a thing, giving it one if it has none."""
        known = self._to_pddl.get(original)
        if known is not None:
            return known
        stem = legal_name(original)
        name, number = stem, 1
        while name in self._taken or name in self._from_pddl:
            number += 1
            name = f"{stem}__{number}"
        self._to_pddl[original] = name
        self._from_pddl[name] = original
        return name

    def from_pddl(self, name: str) -> str:
        """Return the original of a PDDL name.

        Raises:
            KeyError: naming it, if this map never gave that name.
        """
        try:
            return self._from_pddl[name.lower()]
        except KeyError:
            raise KeyError(f"the PDDL name {name!r} was never given to anything by this name map") from None

    def symbol(self, original: str) -> str:
        """Return the PDDL name of a type, predicate, function, action or constant of the domain."""
        return self._symbols.get(original, original.lower())

    def original_symbol(self, name: str) -> str:
        """Return the domain's spelling of a type, predicate, function, action or constant."""
        return self._original_symbols.get(name.lower(), name)

    def atom_to_pddl(self, atom: Atom) -> str:
        """Return e.g. ``(in mug_1 fridge_1)``."""
        return f"({' '.join((self.symbol(atom.predicate), *map(self.to_pddl, atom.arguments)))})"

    def action_from_pddl(self, action: GroundAction) -> GroundAction:
        """Map an action of a planner's plan back to the original spelling."""
        return GroundAction(self.original_symbol(action.name), tuple(map(self.from_pddl, action.arguments)))

    def __contains__(self, original: str) -> bool:
        return original in self._to_pddl

    def __len__(self) -> int:
        return len(self._to_pddl)
