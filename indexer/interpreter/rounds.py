"""How often a loop over something of unknown length runs: by the length that ``--set`` gives it, else by a name that it takes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cgx.indexer.interpreter.values import Unknown, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp
    from cgx.indexer.interpreter.scopes import Frame

PASSED_ON = frozenset({"enumerate", "tqdm", "trange", "track", "prefetch", "list", "iter"})  # calls that give as many rounds as what they take


def gone_through(node: ast.expr) -> ast.expr:
    """What a loop goes through, without the calls that only count or show it: ``loader`` of ``enumerate(tqdm(loader))``."""
    while isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in PASSED_ON:
            break
        node = node.args[0]
    return node


def rounds(interp: Interp, node: ast.expr, count: Value, frame: Frame) -> Value:
    """The count of a loop over ``node``; one that is not known is named by what would settle it."""
    inner = gone_through(node)
    if not isinstance(count, Unknown) or isinstance(inner, ast.Call):
        return count
    asked = ast.parse(f"len({ast.unparse(inner)})", mode="eval").body
    given = interp.settings.match(asked, frame) if interp.settings.active else None
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if not count.name.startswith("len(") or count.settle is not None:
        return count
    named = Unknown(ast.unparse(asked), count.reason, count.anchor, count.hint, guard=count.guard)
    named.least = count.least
    return named
