"""Versions of packages: ``packaging.version`` and what an environment's ``*.dist-info`` folders say is installed."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from packaging.version import InvalidVersion, Version

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, derived, text_of
from cgx.indexer.interpreter.values import DictValue, ListValue, Opaque, Unknown, Value

VERSION = "packaging.version.Version"
COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
REQUIRED = re.compile(r"^Requires-Dist: *([A-Za-z0-9._-]+).*$", re.M)
IMPORT_NAMES = {"pyyaml": "yaml", "pillow": "pil", "scikit-learn": "sklearn", "opencv-python": "cv2"}  # in lower case
INSTALLED = "torch"  # what a PyTorch job surely has; its version is the one the tables describe


@cache
def parsed(text: str) -> Version | None:
    """The version that a text names, or None where it names none."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def make(text: str, site: Any) -> Value:
    """A ``Version`` object with its parts as attributes."""
    version = parsed(text)
    assert version is not None
    attrs: dict[str, Value] = {
        "__text__": str(version),
        "major": version.major,
        "minor": version.minor,
        "micro": version.micro,
        "release": tuple(version.release),
        "base_version": version.base_version,
        "public": version.public,
        "local": version.local,
        "is_prerelease": version.is_prerelease,
        "is_devrelease": version.is_devrelease,
    }
    return Opaque(VERSION, attrs, site.anchor)


def _parse(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    given = args[0] if args else kwargs.get("version")
    text = text_of(given)
    if text is None:
        return derived(site, [given])
    if parsed(text) is None:
        return interp.raise_("ValueError", f"Invalid version: {text!r}", site)
    return make(text, site)


def _compare(name: str) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        one, other = (
            parsed(value.attrs["__text__"]) if isinstance(value, Opaque) and value.qname == VERSION else None
            for value in args[:2]
        )
        if one is None or other is None:
            return derived(site, args, "bool")
        return bool(COMPARE[name](one, other))

    return call


def _text(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[0].attrs["__text__"]


def distribution_version(interp: Any, name: str) -> str | None:
    """The version of an installed distribution: its ``NAME-VERSION.dist-info`` folder stands in a source or ``--env`` tree."""
    if name == INSTALLED:
        from cgx.indexer.ops.names import TORCH_VERSION

        return TORCH_VERSION
    wanted = _normal(name)
    for tree in (interp.tree, *interp.sources.env):
        for folder in _metadata_folders(tree):
            project, _, version = folder.removesuffix(".dist-info").partition("-")
            if _normal(project) == wanted and version:
                return version
    return None


def _metadata_folders(tree: Any) -> list[str]:
    return [name for name in tree.listdir("") if name.endswith(".dist-info")]


def requirements(interp: Any) -> frozenset[str]:
    """Modules that the installed distributions need without an extra: they are there too."""
    found: frozenset[str] | None = interp.required
    if found is None:
        names: set[str] = set()
        for tree in (interp.tree, *interp.sources.env):
            for folder in _metadata_folders(tree):
                text = (tree.read(f"{folder}/METADATA") or b"").decode("utf-8", "replace").partition("\n\n")[0]
                names.update(match[1] for match in REQUIRED.finditer(text) if "extra ==" not in match[0])
        found = interp.required = frozenset(
            IMPORT_NAMES.get(_normal(name), _normal(name).replace("-", "_")) for name in names
        )
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _version(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = text_of(args[0] if args else kwargs.get("distribution_name"))
    if name is None:
        return derived(site, args, "str")
    found = distribution_version(interp, name)
    if found is not None:
        return found
    if interp.guarded and not interp.provided(name.replace("-", "_")):
        interp.note_absent(name, site)
        return interp.raise_("ModuleNotFoundError", f"No package metadata was found for {name}", site)
    return Unknown(site.text, "environment", site.anchor, "str")


def _find_spec(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A module that the source or an ``--env`` folder holds is there; another is taken as not installed, and said so."""
    name = text_of(args[0] if args else kwargs.get("name"))
    if name is None:
        return derived(site, args)
    if interp.provided(name):
        return Opaque("importlib.machinery.ModuleSpec", {"name": name, "origin": name}, site.anchor)
    interp.note_absent(name.partition(".")[0], site)
    return None


def _distributions(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = {}
    for tree in (interp.tree, *interp.sources.env):
        for folder in _metadata_folders(tree):
            project = folder.partition("-")[0]
            found[project] = ListValue([project])
    return DictValue(dict(found), open=True)


ENTRIES: dict[str, Handler] = {
    "packaging.version.parse": _parse,
    VERSION: _parse,
    f"{VERSION}.__str__": _text,
    f"{VERSION}.__repr__": _text,
    **{f"{VERSION}.__{name}__": _compare(name) for name in COMPARE},
    "importlib.util.find_spec": _find_spec,
    "importlib.metadata.version": _version,
    "importlib_metadata.version": _version,
    "importlib.metadata.packages_distributions": _distributions,
    "pkg_resources.parse_version": _parse,
}
