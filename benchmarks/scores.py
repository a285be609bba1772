"""Score the records of real jobs and models against their ground truth, and print the tables.

    python benchmarks/scores.py [--corpus DIR] [--only GLOB]... [--first] [--kind graph|schedule] [--truth-inputs] [--fetch] [--strict]

Sources are looked for in DIR (default: `corpus` in the user's cache folder for cgx): `<package>-<version>` for wheels from PyPI,
`<owner>+<name>` for git repositories. --fetch downloads the wheels; repositories are put there by hand. Cases whose source is
not there are listed as not run. --strict exits 1 where the figures asked for (GOALS) are not reached by what ran.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "score"))

from truths import CASES, SCORERS, unpack  # noqa: E402

FIRST = (
    "nanogpt-*", "mingpt-*", "examples-mnist", "examples-vae", "examples-imagenet-*", "timm-vit-*", "timm-resnet50",
    "torchvision-resnet50", "hf-gpt2-lm",
)  # fmt: skip
"""The cases that the first milestone is judged on."""

GOALS: dict[str, dict[str, tuple[str, float]]] = {
    "graph": {
        "modules": ("recall", 0.98), "parameters": ("recall", 0.97), "order": ("ratio", 0.97), "calls": ("recall", 0.97),
        "op_sites": ("recall", 0.93), "op_counts": ("recall", 0.9), "layer_calls": ("recall", 0.95), "shares": ("recall", 0.95),
        "runs": ("recall", 0.95),
    },
    "schedule": {"all": ("recall", 0.92), "all_fields": ("agreement", 0.92)},
}  # fmt: skip
WRONG: dict[str, dict[str, float]] = {
    "graph": {
        "modules": 0.001, "repeats": 0, "parameters": 0, "op_sites": 0.02, "op_counts": 0.01, "layer_calls": 0.01, "shares": 0.01,
        "runs": 0.01, "anchors": 0, "module_shapes": 0.01, "op_shapes": 0.01,
    },
    "schedule": {"all": 0, "anchors": 0},
}  # fmt: skip
"""The part of what a record states that may be wrong, by measure."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=user_cache_path("cgx") / "corpus")
    parser.add_argument("--only", action="append", metavar="GLOB")
    parser.add_argument("--first", action="store_true", help="only the cases of the first milestone")
    parser.add_argument("--kind", choices=("graph", "schedule"))
    parser.add_argument("--truth-inputs", action="store_true", help="give launched cases the inputs of the truth")
    parser.add_argument("--fetch", action="store_true", help="download what PyPI offers")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="keep records and summary.json here")
    parser.add_argument("--strict", action="store_true", help="exit 1 where a figure is not reached")
    args = parser.parse_args(argv)
    if args.fetch:
        fetch = [sys.executable, SCORERS / "get_corpus.py", "--cases", CASES, "--corpus", args.corpus]
        subprocess.run(fetch, check=False)
    with tempfile.TemporaryDirectory() as scratch:
        out = args.out or Path(scratch) / "out"
        code = subprocess.run(command(args, unpack(Path(scratch) / "truth"), out), check=False).returncode
        if not args.strict or code == 2:
            return 0 if code != 2 else 2
        short = list(shortfalls(json.loads((out / "summary.json").read_text(encoding="utf-8"))))
    for line in short:
        print(f"short: {line}")
    return int(bool(short))


def command(args: argparse.Namespace, truth: Path, out: Path) -> list[str]:
    """The command line of the driver that runs and scores every case."""
    words: list[object] = [
        sys.executable,
        SCORERS / "run_cases.py",
        "--cases",
        CASES,
        "--corpus",
        args.corpus,
        "--truth",
        truth / "graph",
    ]
    words += ["--labels", truth / "schedule", "--out", out, "--cgx", f"{sys.executable} -m cgx", "--jobs", args.jobs]
    for glob in [*(args.only or ()), *(FIRST if args.first else ())]:
        words += ["--only", glob]
    words += ["--kind", args.kind] if args.kind else []
    words += ["--truth-inputs"] if args.truth_inputs else []
    return [str(word) for word in words]


def shortfalls(summary: dict[str, Any]) -> Iterator[str]:
    """What is below the figures asked for, over all cases that ran. A case that failed falls short by itself."""
    yield from (
        f"{case['case']} {case['status']}: {case.get('error', '')}"
        for case in summary["cases"]
        if case["status"] == "failed"
    )
    for kind, scores in summary["scores"].items():
        total = scores["total"]
        for measure, (figure, least) in GOALS[kind].items():
            if total[measure][figure] < least:
                yield f"{kind} {measure}.{figure} is {total[measure][figure]:.3f}, {least} is asked"
        for measure, most in WRONG[kind].items():
            if 1 - total[measure]["precision"] > most + 1e-12:
                yield f"{kind} {measure}: {total[measure]['wrong']:g} wrong, {1 - total[measure]['precision']:.4f} of what is stated"


if __name__ == "__main__":
    sys.exit(main())
