"""``cgx index``: the static graph of a commit, and with a launch line the job graph over it.

The work is done by :func:`cgx.workflow.indexing.run_index`.
"""

from __future__ import annotations

import gc

from cgx.commands.options import Deep, Env, Jobs, Json, Launch, Quiet, Rev, Source, Store, Strict, Worktree


def index(
    source: Source = ".",
    rev: Rev = None,
    worktree: Worktree = False,
    launch: Launch = None,
    env: Env = None,
    store: Store = None,
    jobs: Jobs = 0,
    deep: Deep = 10.0,
    strict: Strict = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Index a commit (or `A..B`) into a store; with --launch also the job that the line starts.

    Example:  cgx index . --rev HEAD --launch "torchrun --nproc_per_node=8 train.py"
    """
    gc.disable()  # the imports below too; run_index switches it on again
    from cgx.workflow.indexing import run_index

    return run_index(
        source=source, rev=rev, worktree=worktree, launch=launch, env=env or [], store=store, jobs=jobs, deep=deep,
        strict=strict, quiet=quiet, json=json,
    )  # fmt: skip
