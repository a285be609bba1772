"""``dora run``: the ``train`` module of a package, with Hydra's words behind it."""

from __future__ import annotations

from cgx.indexer.launch.draft import Draft, last, take_options
from cgx.indexer.launch.launchers import set_ranks

FLAGS = frozenset({"d", "ddp", "f", "clear", "no_git_save", "v", "verbose"})


def dora(draft: Draft) -> None:
    """``dora [-P package] run [-d] words``; ``-d`` is one process for each device, whose number the line does not say."""
    options, words = take_options(draft.words, FLAGS)
    if words[:1] == ["run"]:
        words.pop(0)
    inner, words = take_options(words, FLAGS)
    package = last(options, "P", "package") or draft.env.get("DORA_PACKAGE") or package_of(draft)
    if "d" in inner or "ddp" in inner:
        draft.plan.nproc_per_node = draft.size(last(inner, "ddp_workers") or "gpu", "ddp_workers")
        set_ranks(draft, None, None)
    draft.module = True
    draft.words = [f"{package}.{last(options, 'main_module') or 'train'}", *words]


def package_of(draft: Draft) -> str:
    """The one package at the root that has a ``train`` module of Dora's."""
    for path in draft.tree.paths():
        if path.count("/") == 1 and path.endswith("/train.py"):
            data = draft.tree.read(path) or b""
            if b"dora" in data:
                return str(path.partition("/")[0])
    return "train"
