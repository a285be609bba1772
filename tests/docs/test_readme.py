"""The README and the guide show only what really runs: every console block is run and compared with what it shows.

``python tests/docs/test_readme.py`` writes the blocks anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, ROOT / "docs" / "guide.md")
BLOCK = re.compile(r"```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)```", re.DOTALL)
SETUP = 'cgx export examples/char_gpt --launch "torchrun --nproc_per_node=8 train.py" --workspace demo --quiet'
TIMES = re.compile(r"\b\d+(\.\d+)? (ms|s)\b")


def run(command: str, folder: Path) -> str:
    """Run a `cgx` command as a reader would, from the repository's root; records and stores go to ``folder``."""
    words = shlex.split(command)
    assert words[0] == "cgx"
    words = [str(folder / word) if previous in ("--workspace", "-o") else word for previous, word in zip(["", *words], words)]
    env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run([sys.executable, "-m", "cgx", *words[1:]], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(f"{folder}/", "")


def plain(text: str) -> str:
    """Text without what differs between two runs: times, and white space at line ends."""
    return "\n".join(line.rstrip() for line in TIMES.sub("N", text).strip().splitlines())


@pytest.fixture(scope="module")
def folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="cgx-readme-"))
    run(SETUP, made)
    return made


BLOCKS = [block for page in PAGES for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block["command"][:40])
def test_shows_what_the_command_prints(block: re.Match[str], folder: Path) -> None:
    assert plain(run(block["command"], folder)) == plain(block["output"])


def test_main_command_is_the_one_that_is_set_up() -> None:
    first = re.search(r"```sh\n(.+?)\n```", README.read_text(encoding="utf-8"))
    assert first is not None
    assert SETUP.removesuffix(" --quiet") in first[1].replace(".venv/bin/", "")


def write() -> None:
    made = Path(tempfile.mkdtemp(prefix="cgx-readme-"))
    run(SETUP, made)

    def fill(block: re.Match[str]) -> str:
        return f"```console\n$ {block['command']}\n{run(block['command'], made).rstrip()}\n```"

    for page in PAGES:
        page.write_text(BLOCK.sub(fill, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
