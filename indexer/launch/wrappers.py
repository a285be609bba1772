"""Programs that stand in front of another and change nothing that matters here: env, nohup, uv run, nsys profile, ..."""

from __future__ import annotations

import re
from typing import NamedTuple

from cgx.indexer.launch.draft import Draft, take_options


class Wrapper(NamedTuple):
    """``verbs``: words that may follow its name. ``flags`` take no value. ``positional``: own words before the program."""

    verbs: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    positional: int = 0


def _flags(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(flags=_flags("i ignore_environment")),
    "nohup": Wrapper(),
    "time": Wrapper(flags=_flags("p v verbose")),
    "sudo": Wrapper(flags=_flags("E H n b k S")),
    "nice": Wrapper(),
    "ionice": Wrapper(flags=_flags("t")),
    "stdbuf": Wrapper(),
    "setsid": Wrapper(flags=_flags("w f c")),
    "timeout": Wrapper(flags=_flags("foreground preserve_status v"), positional=1),
    "taskset": Wrapper(flags=_flags("a"), positional=1),
    "numactl": Wrapper(),
    "exec": Wrapper(),
    "command": Wrapper(),
    "xvfb-run": Wrapper(flags=_flags("a")),
    "nsys": Wrapper(("profile", "launch"), _flags("f")),
    "ncu": Wrapper(flags=_flags("f")),
    "uv": Wrapper(("run",), _flags("no_sync frozen locked isolated active no_project all_extras dev no_dev exact q v all_groups script s")),
    "poetry": Wrapper(("run",)),
    "pdm": Wrapper(("run",)),
    "pixi": Wrapper(("run",), _flags("frozen locked")),
    "rye": Wrapper(("run",)),
    "hatch": Wrapper(("run",)),
    "pipenv": Wrapper(("run",)),
    "conda": Wrapper(("run",), _flags("no_capture_output live_stream v")),
    "mamba": Wrapper(("run",), _flags("no_capture_output live_stream v")),
    "micromamba": Wrapper(("run",)),
    "singularity": Wrapper(("exec", "run"), _flags("nv rocm cleanenv e c contain"), positional=1),
    "apptainer": Wrapper(("exec", "run"), _flags("nv rocm cleanenv e c contain"), positional=1),
    "coverage": Wrapper(("run",), _flags("p a branch parallel_mode append m")),
    "py-spy": Wrapper(("record", "top"), _flags("native s subprocesses gil idle")),
    "scalene": Wrapper(flags=_flags("cpu gpu memory html json")),
    "ipython": Wrapper(flags=_flags("i pdb")),
}  # fmt: skip


def unwrap(draft: Draft) -> bool:
    """Take one wrapper off the front of the words. False where none stands there."""
    name = draft.words[0].rpartition("/")[2]
    row = WRAPPERS.get(name)
    if row is None:
        return False
    words = draft.words[1:]
    if row.verbs:
        if not words or words[0] not in row.verbs:
            return False
        words = words[1:]
    options, words = take_options(words, row.flags)
    if name == "uv" and ("module" in options or "m" in options):
        module = (options.get("module") or options.get("m") or [""])[-1]
        words = ["python", "-m", module, *words]
    if name == "coverage" and "m" in options:
        words = ["-m", *words]
    words = words[row.positional :]
    while words and (match := re.match(r"([A-Za-z_]\w*)=(.*)", words[0], re.S)):
        draft.plan.env[match.group(1)] = match.group(2)
        words = words[1:]
    if words and name in ("coverage", "scalene", "ipython") and words[0] != "python":
        words = ["python", *words]
    draft.words = words
    return True
