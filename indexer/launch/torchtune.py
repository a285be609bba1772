"""``tune run``: torchtune's recipes by the names of its registry, with torchrun's options in front."""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.launch.draft import Draft, take_options
from cgx.indexer.launch.launchers import TORCHRUN_FLAGS, torch_ranks

REGISTRY = "torchtune/_recipe_registry.py"


def tune(draft: Draft) -> None:
    """Names of recipes and configs become their paths; without torchrun's options the recipe is one plain process."""
    draft.words.pop(0)
    options, words = take_options(draft.words, TORCHRUN_FLAGS)
    if options:
        torch_ranks(draft, options)
    recipes, configs = registry(draft.tree)
    if words and words[0] in recipes:
        words[0] = f"recipes/{recipes[words[0]]}"
    elif words and "/" not in words[0] and not words[0].endswith(".py"):
        draft.module = True
    for place, word in enumerate(words[:-1]):
        if word == "--config" and words[place + 1] in configs:
            words[place + 1] = f"recipes/configs/{configs[words[place + 1]]}"
    draft.words = words if draft.module else ["python", *words]


def registry(tree: Any) -> tuple[dict[str, str], dict[str, str]]:
    """(recipes, configs) by name: the literal ``Recipe(...)`` and ``Config(...)`` calls of the registry module."""
    data = tree.read(REGISTRY)
    found: dict[str, dict[str, str]] = {"Recipe": {}, "Config": {}}
    if data is not None:
        for call in ast.walk(ast.parse(data)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in found:
                values = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
                if isinstance(values.get("name"), str) and isinstance(values.get("file_path"), str):
                    found[call.func.id][str(values["name"])] = str(values["file_path"])
    return found["Recipe"], found["Config"]
