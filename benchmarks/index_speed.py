"""How fast and how complete ``cgx index`` is, against ``ast.parse`` over the same files measured in the same run.

Seconds are given as wall / CPU (of all processes): on a machine that does other work, only the ratio of CPU means much.

    python benchmarks/index_speed.py FOLDER... [--edit PATH]

Each FOLDER is a source tree (an unzipped wheel, a clone). Every figure is of the whole command in its own process, start of
Python included, with an empty cache and store of its own. Prints one line a figure, with the ratio and the limit where the
project states one.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple


class Seconds(NamedTuple):
    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} / {self.cpu:.2f} s"


def parse_seconds(folder: Path) -> tuple[Seconds, int]:
    """``ast.parse`` over all files in this process, best of three, and the number of lines."""
    sources = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    lines = sum(source.count(b"\n") for source in sources)
    best = Seconds(float("inf"), float("inf"))
    for _ in range(3):
        begin, cpu = time.perf_counter(), time.process_time()
        for source in sources:
            try:
                ast.parse(source)
            except (SyntaxError, ValueError):
                continue
        best = Seconds(min(best.wall, time.perf_counter() - begin), min(best.cpu, time.process_time() - cpu))
    return best, lines


def index(folder: Path, work: Path) -> tuple[Seconds, dict[str, Any], float]:
    """Seconds, summary and peak memory in MB of one ``cgx index``."""
    env = {**os.environ, "CGX_CACHE_DIR": str(work / "cache")}
    command = [
        sys.executable,
        "-m",
        "cgx",
        "index",
        str(folder),
        "--deep",
        "0",
        "--store",
        str(work / "store"),
        "--json",
        "--quiet",
    ]
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = Seconds(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"cgx index {folder} failed")
    return seconds, json.loads(output), usage.ru_maxrss / 1024


def show(what: str, value: str, limit: str = "") -> None:
    print(f"  {what:34} {value:>32}   {limit}")


def measure(folder: Path, edit: str | None) -> None:
    work = Path(tempfile.mkdtemp(prefix="cgx-bench-"))
    try:
        copy = work / folder.name
        shutil.copytree(folder, copy, symlinks=True)
        parsing, lines = parse_seconds(copy)
        print(f"{folder.name}: {lines} lines, ast.parse {parsing}")
        cold, summary, memory = index(copy, work)
        sites = summary["sites"]
        usable = 100 * (summary["resolved"] + summary["external"]) / sites
        show("call sites with a target", f"{usable:.1f} % of {sites}", "at least 92 % (torchtitan, timm)")
        show(
            "cold index",
            f"{cold} = {cold.wall / parsing.wall:.1f} / {cold.cpu / parsing.cpu:.1f} x",
            "at most 6 x ast.parse; 90 s for 1.2 M lines",
        )
        show("memory", f"{memory:.0f} MB", "at most 2,000 MB for 1.2 M lines")
        again, _, _ = index(copy, work)
        show("again, nothing changed", str(again), "under 0.5 s at 120k lines")
        target = copy / edit if edit else sorted(copy.rglob("*.py"), key=lambda path: path.stat().st_size)[-1]
        target.write_text(target.read_text() + "\n\ndef added_by_the_benchmark(x):\n    return print(x)\n")
        edited, summary, _ = index(copy, work)
        show(
            f"after an edit of {target.name[:20]}", f"{edited}, {summary['written']} written", "under 1 s at 120k lines"
        )
        size = sum(path.stat().st_size for path in (work / "store").rglob("*") if path.is_file())
        show("store", f"{size / 1e6:.1f} MB")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--edit", help="file to edit, relative to the folder (default: the largest)")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    for folder in options.folders:
        measure(folder, options.edit)
    print(f"memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
