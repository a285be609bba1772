"""Imports under a name that the code had in a larger repository: ``company.team.net.builder`` of a tree that holds ``net/builder.py``.

Only where nothing else provides the first name, no import is guarded, and at least two names in a row lie in the job's own
tree. The packages above are then empty modules, and what was assumed is said among what is unresolved.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cgx.indexer.interpreter.scopes import Scope, Site
from cgx.indexer.interpreter.values import ModuleObject, Unknown

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp


def tail_of(interp: Interp, dotted: str) -> str | None:
    """The longest end of the name, of two parts or more, that is a module of the job's own tree."""
    top, *rest = dotted.split(".")
    if interp.guarded or top in sys.stdlib_module_names or interp.has_tables(top) or interp.sources.find(top) is not None:
        return None
    for start in range(len(rest) - 1):
        found = interp.sources.find(".".join(rest[start:]))
        if found is not None and not found[3] and found[1].endswith(".py"):
            return ".".join(rest[start:])
    return None


def import_moved(interp: Interp, dotted: str, tail: str, site: Site | None) -> None:
    """Bind the tail's module under its longer name, and the packages that lead there."""
    before = dotted.removesuffix(f".{tail}")
    interp.note_absent(before.partition(".")[0], site)
    parts = before.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if not isinstance(interp.modules.get(name), ModuleObject):
            scope = Scope("module")
            interp.modules[name] = scope.module = ModuleObject(name, "", scope, True, "done")
            scope.globals = scope
        attach(interp, name)
    inner = tail.split(".")
    for end in range(1, len(inner) + 1):
        name = f"{before}.{'.'.join(inner[:end])}"
        interp.modules[name] = interp.import_module(".".join(inner[:end]), site)
        attach(interp, name)


def attach(interp: Interp, name: str) -> None:
    parent, _, last = name.rpartition(".")
    owner, module = interp.modules.get(parent), interp.modules[name]
    if isinstance(owner, ModuleObject) and not isinstance(module, Unknown):
        owner.scope.vars.setdefault(last, module)
