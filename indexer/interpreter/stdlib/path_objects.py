"""``pathlib``: a path is an Opaque ``pathlib.Path`` whose text stands under ``__text__``."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from cgx.indexer.interpreter.stdlib import paths
from cgx.indexer.interpreter.stdlib.files import open_path
from cgx.indexer.interpreter.stdlib.files_in_tree import candidates, missing, read_bytes, start_folder
from cgx.indexer.interpreter.stdlib.support import (
    PATH_CLASS,
    Args,
    Handler,
    Kwargs,
    derived,
    lift,
    nothing,
    text_of,
    unknown,
)
from cgx.indexer.interpreter.values import ListValue, Opaque, Unknown, Value

ALIASES = ("pathlib.Path", "pathlib.PosixPath", "pathlib.PurePath", "pathlib.PurePosixPath", "pathlib.WindowsPath")


def make_path(text: str) -> Opaque:
    return Opaque(PATH_CLASS, {"__text__": str(PurePosixPath(text))})


def _path(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    def once(*values: Value) -> Value:
        texts = [text_of(value) for value in values]
        if any(text is None for text in texts):
            return derived(site, list(values), "path")
        return make_path(posixpath.join(*[text for text in texts if text is not None]) if texts else ".")

    return lift(once, list(args))


def _attribute(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    reader = _ATTRIBUTES.get(args[1])
    return NotImplemented if reader is None else reader(PurePosixPath(args[0].attrs["__text__"]))


_ATTRIBUTES: dict[str, Callable[[PurePosixPath], Value]] = {
    "name": lambda path: path.name,
    "stem": lambda path: path.stem,
    "suffix": lambda path: path.suffix,
    "suffixes": lambda path: ListValue(list(path.suffixes)),
    "parent": lambda path: make_path(str(path.parent)),
    "parents": lambda path: tuple(make_path(str(parent)) for parent in path.parents),
    "parts": lambda path: tuple(path.parts),
    "anchor": lambda path: path.anchor,
    "root": lambda path: path.root,
    "drive": lambda path: "",
}


def _edit(function: Callable[..., Any], hint: str = "path") -> Handler:
    """A method that makes a text or another path from the path's text and more texts."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        def once(*values: Value) -> Value:
            texts = [text_of(value) for value in values]
            if any(text is None for text in texts):
                return derived(site, list(values), hint)
            try:
                result = function(*texts)
            except (ValueError, TypeError) as error:
                return interp.raise_(type(error).__name__, str(error), site)
            return make_path(str(result)) if isinstance(result, PurePosixPath) else result

        return lift(once, [*args, *kwargs.values()])

    return call


def _delegate(name: str) -> Handler:
    """The function of ``os.path`` with this path."""
    return lambda interp, site, args, kwargs: paths.ENTRIES[name](interp, site, args, kwargs)


def _open(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return open_path(interp, site, args, kwargs)


def _read_text(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    data = read_bytes(interp, args[0])
    return missing(site, args[0], "str") if data is None else data.decode("utf-8", "replace")


def _read_bytes(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    data = read_bytes(interp, args[0])
    return missing(site, args[0], "bytes") if data is None else data


def _children(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    text = text_of(args[0]) or ""
    for folder in candidates(interp, text):
        if interp.tree.isdir(folder):
            return ListValue([make_path(posixpath.join(text, name)) for name in interp.tree.listdir(folder)])
    return derived(site, [args[0]], "list", "missing-file")


def _glob(prefix: str) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        pattern = text_of(args[1]) if len(args) > 1 else None
        if pattern is None:
            return derived(site, args, "list")
        found = paths.matches(interp, posixpath.join(text_of(args[0]) or ".", prefix + pattern))
        return (
            ListValue([make_path(path) for path in found])
            if found
            else Unknown(site.text, "missing-file", site.anchor, "list")
        )

    return call


def _equal(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    other = args[1]
    if isinstance(other, Opaque) and other.qname == PATH_CLASS:
        return text_of(args[0]) == text_of(other)
    return NotImplemented if isinstance(other, Unknown) else False


def _divide(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return _path(interp, site, args, {})


def _divide_from(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return _path(interp, site, [args[1], args[0]], {})


METHODS: dict[str, Handler] = {
    "__getattr__": _attribute,
    "__truediv__": _divide,
    "__rtruediv__": _divide_from,
    "__str__": _edit(lambda text: text, "str"),
    "__repr__": _edit(lambda text: f"PosixPath({text!r})", "str"),
    "__format__": _edit(lambda text, spec="": format(text, spec), "str"),
    "__fspath__": _edit(lambda text: text, "str"),
    "__eq__": _equal,
    "__hash__": _edit(lambda text: text, "str"),
    "as_posix": _edit(lambda text: text, "str"),
    "joinpath": _divide,
    "with_suffix": _edit(lambda text, suffix: PurePosixPath(text).with_suffix(suffix)),
    "with_name": _edit(lambda text, name: PurePosixPath(text).with_name(name)),
    "with_stem": _edit(lambda text, stem: PurePosixPath(text).with_stem(stem)),
    "relative_to": _edit(lambda text, other: PurePosixPath(text).relative_to(other)),
    "is_relative_to": _edit(lambda text, other: PurePosixPath(text).is_relative_to(other), "bool"),
    "match": _edit(lambda text, pattern: PurePosixPath(text).match(pattern), "bool"),
    "is_absolute": _edit(lambda text: text.startswith("/"), "bool"),
    "resolve": lambda interp, site, args, kwargs: make_path(paths.absolute(text_of(args[0]) or ".")),
    "absolute": lambda interp, site, args, kwargs: args[0],
    "expanduser": lambda interp, site, args, kwargs: args[0],
    "exists": _delegate("os.path.exists"),
    "is_file": _delegate("os.path.isfile"),
    "is_dir": _delegate("os.path.isdir"),
    "is_symlink": lambda interp, site, args, kwargs: False,
    "stat": unknown("missing-file"),
    "open": _open,
    "read_text": _read_text,
    "read_bytes": _read_bytes,
    "iterdir": _children,
    "glob": _glob(""),
    "rglob": _glob("**/"),
    "mkdir": nothing,
    "touch": nothing,
    "unlink": nothing,
    "rmdir": nothing,
    "rename": nothing,
    "replace": nothing,
    "write_text": nothing,
    "write_bytes": nothing,
    "symlink_to": nothing,
    "chmod": nothing,
}

ENTRIES: dict[str, Handler] = {
    **dict.fromkeys(ALIASES, _path),
    **{f"{PATH_CLASS}.{name}": handler for name, handler in METHODS.items()},
    "pathlib.Path.cwd": lambda interp, site, args, kwargs: make_path(start_folder(interp) or "."),
    "pathlib.Path.home": unknown("environment", "path"),
}

BASES: dict[str, tuple[str, ...]] = {PATH_CLASS: ("pathlib.PosixPath", "pathlib.PurePath", "os.PathLike")}
