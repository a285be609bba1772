"""Facts of the standard library, from the typeshed stubs that Jedi ships. Read as data; Jedi is not imported for it."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.modules import Module
from cgx.indexer.names.values import External, ExternalInstance, Values
from cgx.indexer.source.base import blob_id

# Modules whose names are published elsewhere.
PUBLISHED = {
    "posixpath": "os.path", "ntpath": "os.path", "genericpath": "os.path", "posix": "os", "_collections_abc": "collections.abc",
    "_typeshed": "_typeshed", "__future__": "__future__", "__main__": "__main__",
}  # fmt: skip


@cache
def stub_folder() -> Path | None:
    """Where the stubs are, or None where Jedi is not installed."""
    spec = importlib.util.find_spec("jedi")  # finds, does not import
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "third_party" / "typeshed" / "stdlib"
        if folder.is_dir():
            return folder
    return None


# Modules that nearly every job imports: their facts are made beside those of the source, in its processes.
COMMON = (
    "builtins", "typing", "types", "_typeshed", "typing_extensions", "collections", "_collections_abc", "abc", "os", "posixpath",
    "sys", "re", "functools", "dataclasses", "logging", "pathlib", "json", "enum", "contextlib", "math", "random", "time",
    "itertools", "copy", "argparse", "subprocess", "io", "_io", "threading", "datetime", "inspect", "warnings", "shutil",
    "unittest", "unittest.case", "unittest.mock", "tempfile", "asyncio", "pickle", "string", "ast", "codecs", "genericpath",
)  # fmt: skip


def common_stubs() -> list[tuple[str, bytes]]:
    """Path and bytes of the common stubs."""
    folder = stub_folder()
    found = []
    if folder is None:
        return []
    for name in COMMON:
        place = _place(folder, name)
        if place is not None:
            found.append((place.name, place.read_bytes()))
    return found


def _place(folder: Path, name: str) -> Path | None:
    base = folder.joinpath(*name.split("."))
    for place in (base / "__init__.pyi", base.with_name(base.name + ".pyi")):
        if place.is_file():
            return place
    return None


class StandardLibrary:
    """Loads stub modules when they are first asked for; their facts are cached by content like any file's.

    What is found out about them holds for every program, so one library serves many; hence it also keeps the one object
    that stands for each name outside.
    """

    def __init__(self, cache: FactsCache) -> None:
        self._cache = cache
        self._folder = stub_folder()
        self._modules: dict[str, Module | None] = {}
        self.externals: dict[str, External] = {}
        self.external_instances: dict[str, ExternalInstance] = {}
        self.builtin_instances: dict[str, Values] = {}

    def __call__(self, name: str) -> Module | None:
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name: str) -> Module | None:
        if self._folder is None or not name or not name.replace(".", "").replace("_", "").isalnum():
            return None
        place = _place(self._folder, name)
        if place is None:
            return None
        data = place.read_bytes()
        facts = self._cache.facts(blob_id(data), data, place.name)
        return Module(name, place.relative_to(self._folder).as_posix(), facts, True, self.published(name))

    def published(self, name: str) -> str:
        if name in PUBLISHED:
            return PUBLISHED[name]
        if name.startswith("_") and self._folder is not None:
            public = name.lstrip("_")
            if (self._folder / f"{public}.pyi").is_file() or (self._folder / public).is_dir():
                return public
        return name
