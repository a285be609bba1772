"""CUDA graphs: capture (a scope, see :mod:`scopes`), replay, graphed callables."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import ScopeNode
from cgx.indexer.interpreter.values import Opaque, Value
from cgx.indexer.overlays import scopes
from cgx.indexer.overlays.arguments import receiver_text

AUTHOR = "overlays.graphs"
GRAPH = "torch.cuda.CUDAGraph"


def graph(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(GRAPH, {}, site.anchor)


def capture(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``with torch.cuda.graph(g):`` waits for the device, then records what is issued inside."""
    interp.event("compute", site, author=AUTHOR, key="cuda_graphs", value="capture")
    interp.event(
        "sync",
        site,
        author=AUTHOR,
        sync="synchronize",
        what="entering torch.cuda.graph synchronises the device",
        internal=True,
        captures=True,
    )
    return scopes.enter(interp, site, args, kwargs)


def replay(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("compute", site, author=AUTHOR, key="cuda_graphs", value="replay", graph=args[0] if args else None)
    interp.event("overlap", site, author=AUTHOR, what="host work", with_="device work of the replayed graph", mechanism="CUDA graph replay",
                 stream="current stream")  # fmt: skip
    return None


def capture_begin(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("compute", site, author=AUTHOR, key="cuda_graphs", value="capture")
    interp.push(ScopeNode(anchor=site.anchor, text=site.text, qname="torch.cuda.graph", data={}))
    return None


def capture_end(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.pop()
    return None


def graphed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``make_graphed_callables``: the same callables; they replay from now on."""
    interp.event("compute", site, author=AUTHOR, key="cuda_graphs", value=f"graphed callables {receiver_text(site)}")
    return args[0] if args else kwargs.get("callables")


def pool(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("torch.cuda.graph_pool_handle", {}, site.anchor)


ENTRIES: dict[str, Any] = {
    GRAPH: graph,
    "torch.cuda.graphs.CUDAGraph": graph,
    "torch.cuda.graph.__enter__": capture,
    f"{GRAPH}.replay": replay,
    f"{GRAPH}.capture_begin": capture_begin,
    f"{GRAPH}.capture_end": capture_end,
    f"{GRAPH}.pool": pool,
    f"{GRAPH}.reset": nothing,
    f"{GRAPH}.enable_debug_mode": nothing,
    "torch.cuda.graph_pool_handle": pool,
    "torch.cuda.graphs.graph_pool_handle": pool,
    "torch.cuda.make_graphed_callables": graphed,
}
BASES: dict[str, tuple[str, ...]] = {}
