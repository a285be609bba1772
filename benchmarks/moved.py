"""Anchors traced over a real history, beside `git blame --reverse`.

    python benchmarks/moved.py REPOSITORY FROM TO [--anchors 300] [--seed 0] [--list]

Anchors are drawn from the statements of the Python files that differ between the two commits. Git says for each line which
line of TO it is, where it still is one; what git loses (edited lines, reformatted ones) is counted apart, to be judged by hand
with --list. Prints one row: agree, disagree, only cgx, only git, neither, and CPU seconds.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

from cgx.indexer.across.follow import Follower
from cgx.indexer.across.renames import git_renames
from cgx.indexer.source import open_tree


def blamed(folder: Path, path: str, line: int, old: str, new: str) -> tuple[str, int] | None:
    """(path, line) at ``new`` of a line at ``old``, or None where git says it did not live that long."""
    words = ["git", "blame", "--reverse", "--porcelain", "-w", "-M", "-L", f"{line},{line}", f"{old}..{new}", "--", path]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    rows = done.stdout.splitlines()
    commit, number = rows[0].split()[:2]
    name = next((row.partition(" ")[2] for row in rows if row.startswith("filename ")), path)
    return (name, int(number)) if commit == new else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("start")
    parser.add_argument("end")
    parser.add_argument("--anchors", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    counts: Counter[str] = Counter()
    with open_tree(args.repository, args.start) as old, open_tree(args.repository, args.end) as new:
        begin = time.process_time()
        follower = Follower(old, new, git_renames(old, new))
        paths = [path for path in [*follower.changed, *follower.gone] if path.endswith(".py")]
        units = [unit for path in paths for unit in follower.old_file(path).units.values()]
        spots = [(unit, statement) for unit in units for statement in unit.statements]
        drawn = rng.sample(spots, min(args.anchors, len(spots)))
        answers = [follower.follow(f"{unit.path}:{unit.symbol}:{statement.line}") for unit, statement in drawn]
        seconds = time.process_time() - begin
        for (unit, statement), answer in zip(drawn, answers):
            git = blamed(args.repository, unit.path, statement.line, str(old.commit), str(new.commit))
            mine = None
            if answer.to is not None:
                path, _, line = answer.to.rsplit(":", 2)
                mine = (path, int(line))
            verdict = "agree" if mine == git and mine else "neither" if mine is None and git is None else "only cgx" if git is None else "only git" if mine is None else "disagree"
            counts[verdict] += 1
            counts[f"status {answer.status}"] += 1
            if args.list and verdict not in ("agree", "neither"):
                print(verdict, answer.row(), git)
    print(", ".join(f"{counts[name]} {name}" for name in ("agree", "disagree", "only cgx", "only git", "neither")), f"{seconds:.1f} CPU s")
    print(", ".join(f"{count} {name.removeprefix('status ')}" for name, count in sorted(counts.items()) if name.startswith("status")))


if __name__ == "__main__":
    main()
