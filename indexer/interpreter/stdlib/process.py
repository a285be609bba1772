"""The process a job runs in: ``sys`` and what it holds."""

from __future__ import annotations

import sys
from typing import Any

from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.stdlib.files_in_tree import candidates
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    Maker,
    constant,
    derived,
    first,
    lift,
    nothing,
    text_of,
    unknown,
)
from cgx.indexer.interpreter.values import MISSING, External, ListValue, Opaque, Unknown, Value
from cgx.indexer.ops.results import NamedResult

PATH_LIST = "sys.path"
MODULES = "sys.modules"

IMPORTED = frozenset({"torch", "numpy"})  # what a PyTorch job has surely imported
ASSUMED_PYTHON = NamedResult(
    ("major", "minor", "micro", "releaselevel", "serial"), (3, 12, 0, "final", 0)
)  # the version that a version check sees


# -- sys.path ----------------------------------------------------------------------------------------------------------


def _add_root(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``sys.path.append`` and its kind: another folder to import from."""
    folder = text_of(args[-1])
    sources = getattr(interp, "sources", None)
    if folder is not None and sources is not None:
        for path in candidates(interp, folder):
            if path == "." or interp.tree.isdir(path):
                sources.add_root("" if path == "." else path, first="insert" in site.text)
                break
    return None


def _add_roots(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    for item in args[-1].items if isinstance(args[-1], ListValue) else []:
        _add_root(interp, site, [item], {})
    return args[0]


# -- sys.modules -------------------------------------------------------------------------------------------------------


def _module(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A module that the run has imported; others are taken as not imported."""
    default = args[2] if len(args) > 2 else kwargs.get("default")

    def once(name: Value) -> Value:
        text = text_of(name)
        if text is None:
            return derived(site, [name], "module")
        found = getattr(interp, "modules", {}).get(text, MISSING)
        if found is MISSING and (text.partition(".")[0] in sys.stdlib_module_names or text in IMPORTED):
            return External(text)
        return default if found is MISSING else found

    return lift(once, [args[1]])


def _module_item(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = _module(interp, site, [*args[:2], MISSING], {})
    return interp.raise_("KeyError", repr(args[1]), site) if found is MISSING else found


def _has_module(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = _module(interp, site, [*args[:2], MISSING], {})
    return found if isinstance(found, Unknown) else found is not MISSING


def _set_module(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = text_of(args[1])
    if name is not None:
        interp.trail.set_item(interp.modules, name, args[2])
    return None


# -- sys ---------------------------------------------------------------------------------------------------------------


def _sys_exit(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    message = args[0] if args and isinstance(args[0], str) else ""
    raise Raised(Opaque("SystemExit", {"args": tuple(args)}), site.anchor if site is not None else None, message)


def _argv(interp: Any) -> Value:
    return ListValue(list(interp.argv))


def _stream(name: str) -> Opaque:
    return Opaque("io.TextIOWrapper", {"name": name, "mode": "w"})


ENTRIES: dict[str, Handler] = {
    "sys.exit": _sys_exit,
    "os._exit": _sys_exit,
    "os.abort": _sys_exit,
    "sys.path.append": _add_root,
    "sys.path.insert": _add_root,
    "sys.path.extend": _add_roots,
    "sys.path.__iadd__": _add_roots,
    "sys.path.remove": nothing,
    "sys.path.pop": unknown("environment", "str"),
    "sys.path.__contains__": constant(False),
    "sys.path.__getitem__": unknown("environment", "str"),
    "sys.path.__setitem__": _add_root,
    "sys.path.__iter__": lambda interp, site, args, kwargs: ListValue([], open=True),
    "sys.path.copy": lambda interp, site, args, kwargs: ListValue([], open=True),
    "site.addsitedir": _add_root,
    "sys.modules.get": _module,
    "sys.modules.__getitem__": _module_item,
    "sys.modules.__contains__": _has_module,
    "sys.modules.__setitem__": _set_module,
    "sys.modules.pop": _module,
    "sys.modules.setdefault": _module,
    "sys.modules.keys": lambda interp, site, args, kwargs: ListValue(list(interp.modules), open=True),
    "sys.modules.items": lambda interp, site, args, kwargs: ListValue(list(interp.modules.items()), open=True),
    "sys.modules.values": lambda interp, site, args, kwargs: ListValue(list(interp.modules.values()), open=True),
    "sys.setrecursionlimit": nothing,
    "sys.getrecursionlimit": constant(1000),
    "sys.gettrace": constant(None),
    "sys.settrace": nothing,
    "sys.getdefaultencoding": constant("utf-8"),
    "sys.getsizeof": unknown("environment", "int"),
    "sys.getrefcount": unknown("environment", "int"),
    "sys.exc_info": unknown("unsupported"),
    "sys._getframe": unknown("unsupported"),
    "sys.intern": first,
    "sys.is_finalizing": constant(False),
}

BASES: dict[str, tuple[str, ...]] = {PATH_LIST: ("list",)}

CONSTANTS: dict[str, Value] = {
    "os.name": "posix",
    "os.sep": "/",
    "os.pathsep": ":",
    "os.linesep": "\n",
    "os.devnull": "/dev/null",
    "os.curdir": ".",
    "os.pardir": "..",
    "sys.path": Opaque(PATH_LIST),
    "sys.modules": Opaque(MODULES),
    "sys.platform": "linux",
    "sys.byteorder": "little",
    "sys.maxsize": sys.maxsize,
    "sys.version_info": ASSUMED_PYTHON,
    "sys.hexversion": 0x030C00F0,
    "sys.float_info.max": sys.float_info.max,
    "sys.float_info.min": sys.float_info.min,
    "sys.float_info.epsilon": sys.float_info.epsilon,
    "sys.executable": Unknown("sys.executable", "environment", hint="str"),
    "sys.version": Unknown("sys.version", "environment", hint="str"),
    "sys.prefix": Unknown("sys.prefix", "environment", hint="str"),
    "sys.base_prefix": Unknown("sys.base_prefix", "environment", hint="str"),
    "sys.stdout": _stream("<stdout>"),
    "sys.stderr": _stream("<stderr>"),
    "sys.stdin": _stream("<stdin>"),
    "sys.__stdout__": _stream("<stdout>"),
    "sys.__stderr__": _stream("<stderr>"),
    "sys.implementation.name": "cpython",
    "sys.builtin_module_names": Unknown("sys.builtin_module_names", "environment"),
    "sys.excepthook": External("sys.__excepthook__"),
}

MAKERS: dict[str, Maker] = {
    "sys.argv": _argv,
    "sys.orig_argv": _argv,
}
