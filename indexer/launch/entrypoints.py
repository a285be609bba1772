"""The jobs of a source tree: launchable scripts, console scripts, launch lines in scripts and documents, ranked."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Any

from cgx.indexer.launch.console import console_scripts
from cgx.indexer.launch.tries import Memory
from cgx.indexer.source import find_module
from cgx.model.anchors import MODULE, Anchor

SHELL_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch")
DOCUMENT_SUFFIXES = (".md", ".rst", ".txt")
MAX_LINES_PER_FILE = 40  # launch lines taken from one document
MAX_BYTES = 1_000_000  # larger documents are not searched

_LINE = re.compile(
    r"^[\s$>#]*((?:[A-Z_][A-Z0-9_]*=\S+\s+)*(?:torchrun|accelerate launch|deepspeed|python3?(?:\.\d+)?|srun|mpirun|uv run|bash|sh|\./)\S*\s.*)$"
)
_ASIDE = re.compile(r"(^|/)(tests?|testing|docs?|third_party|vendor|benchmarks?|setup\.py|conftest\.py|\.)", re.I)
_JOBLIKE = re.compile(r"train|pretrain|finetune|generate|sample|serve|infer|main|run", re.I)


@dataclass(frozen=True, slots=True)
class Entry:
    """One job. ``line`` is what a person would type; ``kind``: script, console script, launch script, documented line."""

    line: str
    kind: str
    anchor: Anchor
    why: str
    score: int

    def as_dict(self) -> dict[str, Any]:
        return {"line": self.line, "kind": self.kind, "anchor": str(self.anchor), "why": self.why, "score": self.score}


def find_entrypoints(tree: Any, memory: Memory | None = None) -> list[Entry]:
    """All entries, the likeliest job first; stable for the same tree. ``memory`` is what trees like it were found to start."""
    memory = memory or Memory()
    memory.begin()
    scripts = _scripts(tree, memory)
    weights = {posixpath.basename(entry.anchor.path): entry.score for entry in scripts}
    found = scripts + _console(tree) + _launch_scripts(tree, memory) + _documented(tree, memory, weights)
    best: dict[str, Entry] = {}
    for entry in sorted(found, key=lambda entry: (-entry.score, str(entry.anchor))):
        best.setdefault(entry.line, entry)
    return list(best.values())


def _place(path: str) -> int:
    """What the place of a file says: near the root and named like a job, or aside."""
    score = -path.count("/")
    if _JOBLIKE.search(posixpath.basename(path)):
        score += 4
    return score - 8 if _ASIDE.search(path) else score


def _scripts(tree: Any, memory: Memory) -> list[Entry]:
    paths = [path for path in tree.paths() if path.endswith(".py")]
    packages = {posixpath.dirname(path) for path in paths if posixpath.basename(path) == "__init__.py"}
    found = []
    for path, script in memory.scripts(paths, tree):
        inside = posixpath.dirname(path) in packages
        if inside and not script.guarded:  # code at the top of a package's module is no script
            continue
        command = (
            f"python -m {path.removesuffix('.py').removesuffix('/__main__').replace('/', '.')}"
            if inside
            else f"python {path}"
        )
        anchor = Anchor(path, MODULE, script.line)
        found.append(Entry(command, "script", anchor, script.why or "can be run", _place(path) + script.points))
    return found


def _console(tree: Any) -> list[Entry]:
    found = []
    for script in console_scripts(tree):
        module = script.target.partition(":")[0]
        path = find_module(tree, module)
        data = tree.read(path) if path else None
        score = 6 + (3 if data and b"torch" in data else 0) + (4 if _JOBLIKE.search(script.name) else 0)
        found.append(
            Entry(
                script.name, "console script", Anchor(script.path, MODULE, script.line), f"calls {script.target}", score
            )
        )
    return found


def _launch_scripts(tree: Any, memory: Memory) -> list[Entry]:
    found = []
    for path in tree.paths():
        if not path.endswith(SHELL_SUFFIXES):
            continue
        plan = memory.start(f"bash {path}", tree)
        if plan is None:
            continue
        distributed = plan.launcher not in ("python", "console script")
        score = 9 + _place(path) + (3 if distributed else 0)
        why = f"{plan.launcher} starts {plan.starts or None}"
        found.append(Entry(f"bash {path}", "launch script", Anchor(path, MODULE, plan.line), why, score))
    return found


def _documented(tree: Any, memory: Memory, weights: dict[str, int]) -> list[Entry]:
    found = []
    documents = [p for p in tree.paths() if p.lower().endswith(DOCUMENT_SUFFIXES) and "requirements" not in p]
    for path, data in tree.read_many(documents):
        if data is None or len(data) > MAX_BYTES:
            continue
        for number, text in _lines(data.decode("utf-8", "replace"))[:MAX_LINES_PER_FILE]:
            plan = memory.start(text, tree)
            if plan is None:
                continue
            score = 8 + _place(path) + max(0, weights.get(posixpath.basename(plan.starts), 0)) // 2
            why = f"{plan.launcher} starts {plan.starts}"
            found.append(Entry(text, "documented line", Anchor(path, MODULE, number), why, score))
    return found


def _lines(text: str) -> list[tuple[int, str]]:
    """Launch lines of a document with their numbers; continued lines are joined."""
    found: list[tuple[int, str]] = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        while line.rstrip().endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line.rstrip()[:-1].rstrip() + " " + lines[number].strip()
        number += 1
        match = _LINE.match(line.replace("`", ""))
        if match is not None and len(match.group(1)) < 2000:
            found.append((start + 1, " ".join(match.group(1).split())))
    return found
