"""The only file that imports Jedi. Runs as a child process that its parent may kill at any time.

Reads one JSON object a line: ``{"file": path, "sites": [[line, column], ...]}``, and answers one line a site. Jedi sees the
source as a zip of its ``.py`` files, so nothing of the analysed code can be imported as an extension; an audit hook ends the
process if anything of it were ever executed, or a process or connection started.

Jedi's known faults are guarded here: parso throws modules out of its cache while they are in use (the trigger is raised,
and a Script is made anew on KeyError), half-written cache files (the parent wipes the folder after a kill), recursion.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any, TextIO

_FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "socket.connect",
    "socket.bind",
    "ctypes.dlopen",
)


def serve(archive: str, roots: list[str], cache: str, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until the input ends."""
    sys.setrecursionlimit(6000)
    import jedi
    import parso.cache

    _guard(archive)
    jedi.settings.cache_directory = cache
    jedi.settings.dynamic_params_for_other_modules = False  # a search over the whole project for each parameter
    parso.cache._CACHED_SIZE_TRIGGER = 10**9
    environment = jedi.InterpreterEnvironment()
    paths = [f"{archive}/{root}" if root else archive for root in roots]
    project = jedi.Project(
        str(Path(archive).parent), sys_path=paths, smart_sys_path=False, load_unsafe_extensions=False
    )
    with zipfile.ZipFile(archive) as sources:
        for line in requests:
            request = json.loads(line)
            asked = _File(request["file"], sources, archive, project, environment)
            for row, column in request["sites"]:
                answers.write(json.dumps({"line": row, "column": column, "found": asked.ask(row, column)}) + "\n")
                answers.flush()


class _File:
    """One Script for all sites of a file: making one for each costs three times as much."""

    def __init__(self, path: str, sources: zipfile.ZipFile, archive: str, project: Any, environment: Any) -> None:
        self._code = sources.read(path).decode("utf-8", "replace")
        self._path = Path(archive) / path
        self._archive, self._project, self._environment = archive, project, environment
        self._script: Any = None

    def ask(self, line: int, column: int) -> list[dict[str, Any]]:
        """What Jedi says of the name at a place: inferred, and where that is only a wrapper, followed."""
        for attempt in range(2):
            try:
                if self._script is None:
                    self._script = self._open()
                found = [self._row(name) for name in self._script.infer(line, column)]
                if not any(_says_something(row) for row in found):
                    found = [
                        self._row(name)
                        for name in self._script.goto(line, column, follow_imports=True)
                        if name.type in ("function", "class")
                    ]
                return [row for row in found if _says_something(row)]
            except KeyError:  # parso dropped a module that is in use
                self._script = None
                if attempt:
                    return []
            except Exception:  # Jedi fails on odd code in many ways; no answer is an honest answer
                return []
        return []

    def _open(self) -> Any:
        import jedi

        return jedi.Script(self._code, path=self._path, project=self._project, environment=self._environment)

    def _row(self, name: Any) -> dict[str, Any]:
        inside = ""
        if name.module_path is not None:
            path = str(name.module_path)
            if path.startswith(self._archive + os.sep):
                inside = path[len(self._archive) + 1 :].replace(os.sep, "/")
        return {"kind": name.type, "qname": name.full_name or "", "path": inside, "line": name.line or 0}


def _says_something(row: dict[str, Any]) -> bool:
    return row["kind"] in ("function", "class", "instance") and row["qname"] not in _EMPTY


_EMPTY = frozenset(
    {
        "", "typing.Callable", "builtins.NoneType", "types.NoneType", "types.FunctionType", "builtins.function", "builtins.object",
        "functools.partial", "typing.Any", "types.ModuleType", "collections.abc.Callable", "types.MethodType",
        "functools._lru_cache_wrapper", "builtins.staticmethod", "builtins.classmethod", "builtins.property",
    }
)  # fmt: skip


def _guard(archive: str) -> None:
    """End the process if code of the archive is executed, or anything outside is started."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "exec" and str(getattr(args[0], "co_filename", "")).startswith(archive):
            os._exit(99)
        if event in _FORBIDDEN:
            os._exit(98)

    sys.addaudithook(hook)


def main() -> None:
    """Child's entry: archive, cache folder and roots are arguments."""
    archive, cache, *roots = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what Jedi prints must not get between the answers
    serve(archive, roots, cache, sys.stdin, answers)


if __name__ == "__main__":
    main()
