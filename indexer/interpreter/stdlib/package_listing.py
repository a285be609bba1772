"""``pkgutil``: the modules of a package whose folder lies in the source."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from cgx.indexer.interpreter.stdlib.files_in_tree import candidates
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, derived, text_of
from cgx.indexer.interpreter.values import ListValue, Unknown, Value


def modules(deep: bool) -> Handler:
    """``iter_modules(path, prefix)`` and ``walk_packages``, which goes on in packages: (finder, name, is package), in order of names."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        path = args[0] if args else kwargs.get("path")
        prefix = text_of(args[1] if len(args) > 1 else kwargs.get("prefix", ""))
        folders = [folder_of(interp, one) for one in path.items] if isinstance(path, ListValue) and not path.open else [None]
        if prefix is None or not folders or any(folder is None for folder in folders):
            return derived(site, [path], "list", "environment")
        finder = Unknown("module finder", "environment", site.anchor)
        names = [one for folder in folders if folder is not None for one in found_in(interp.tree, folder, prefix, deep)]
        return ListValue([(finder, name, package) for name, package in names])

    return call


def folder_of(interp: Any, path: Value) -> str | None:
    text = text_of(path)
    return next((one for one in candidates(interp, text) if interp.tree.isdir(one)), None) if text is not None else None


def found_in(tree: Any, folder: str, prefix: str, deep: bool) -> Iterator[tuple[str, bool]]:
    """Modules and packages of one folder. A folder without ``__init__.py`` is none to pkgutil."""
    names = sorted(tree.listdir(folder))
    for name in names:
        inner = posixpath.join(folder, name)
        if name.endswith(".py") and name != "__init__.py":
            yield prefix + name.removesuffix(".py"), False
        elif name.isidentifier() and tree.exists(posixpath.join(inner, "__init__.py")):
            yield prefix + name, True
            if deep:
                yield from found_in(tree, inner, f"{prefix}{name}.", deep)


ENTRIES: dict[str, Handler] = {"pkgutil.iter_modules": modules(deep=False), "pkgutil.walk_packages": modules(deep=True)}
