"""What more commits cost: time and storage of consecutive commits of one repository, against one commit.

    python benchmarks/commits.py REPOSITORY [--commits 100]

Indexes the commit that lies N first parents back, then the next one, then the whole range to HEAD, each as a command in a
process of its own, into one store. Also asks one commit for its callers before and after, which must not get slower.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def git(repository: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", repository, *args], check=True, capture_output=True, text=True).stdout.strip()


def index(repository: Path, rev: str, work: Path) -> tuple[str, list[dict[str, Any]]]:
    env = {**os.environ, "CGX_CACHE_DIR": str(work / "cache")}
    words = ["index", str(repository), "--rev", rev, "--deep", "0", "--store", str(work / "store"), "--json", "--quiet"]
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "cgx", *words], env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    rows = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"cgx index --rev {rev} failed")
    seconds = f"{time.perf_counter() - begin:.1f} / {usage.ru_utime + usage.ru_stime:.1f} s"
    return seconds, rows if isinstance(rows, list) else [rows]


def size(work: Path) -> float:
    return sum(path.stat().st_size for path in (work / "store").rglob("*") if path.is_file()) / 1e6


def ask(work: Path, commit: str) -> float:
    """Milliseconds of one simple question about one commit, best of five."""
    from cgx.store import open_store

    text = (
        "MATCH (:Commit {id: $c})-[:HAS]->(:File)-[:DEFINES]->(f)-[e:CALLS]->(t:External {qname: 'torch.cat'}) "
        "RETURN f.anchor AS anchor, e.line AS line ORDER BY anchor, line"
    )
    with open_store(str(work / "store"), "bench", read_only=True) as store:
        return min(store.run(text, {"c": commit}).seconds for _ in range(5)) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=100)
    options = parser.parse_args()
    commits = git(options.repository, "rev-list", "--first-parent", f"-{options.commits + 1}", "HEAD").split()[::-1]
    work = Path(tempfile.mkdtemp(prefix="cgx-bench-"))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; seconds are wall / CPU")
    try:
        seconds, rows = index(options.repository, commits[0], work)
        one, milliseconds = size(work), ask(work, commits[0])
        print(
            f"first commit       {seconds}, {rows[0]['lines']} lines, store {one:.2f} MB, one question {milliseconds:.1f} ms"
        )
        seconds, rows = index(options.repository, commits[1], work)
        print(
            f"second commit      {seconds}, {rows[0]['written']} versions of files written   (limit 2 s at 120k lines)"
        )
        seconds, rows = index(options.repository, f"{commits[1]}..{commits[-1]}", work)
        written = sum(row["written"] for row in rows)
        print(f"{len(rows) + 2:4} commits       {seconds}, {written} versions written   (limit 120 s for 100)")
        print(f"store              {size(work):.2f} MB = {size(work) / one:.2f} x one commit   (limit 3)")
        print(
            f"one question       {ask(work, commits[0]):.1f} ms at the first commit, {ask(work, commits[-1]):.1f} ms at the last"
        )
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
