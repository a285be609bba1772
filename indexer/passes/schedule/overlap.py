"""Rows of ``overlap``: work that is meant to go on at the same time, and where it is joined."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import Event, ModuleCall, Node, OpNode, ScopeNode
from cgx.indexer.interpreter.values import Opaque
from cgx.indexer.passes.schedule.collectives import overlaps
from cgx.indexer.passes.schedule.data_path import fetches, loop_after
from cgx.indexer.passes.schedule.merge import merged
from cgx.indexer.passes.schedule.phase_rows import least_repeated
from cgx.indexer.passes.schedule.situation import Run, data_of
from cgx.indexer.passes.schedule.tree import Spot
from cgx.indexer.passes.schedule.wrapped_collectives import SHARDED, backward_places, owned, resharded, roots, unit_data

CURRENT = "current stream"


def overlap_rows(run: Run) -> list[dict[str, Any]]:
    rows: list[tuple[int, dict[str, Any]]] = []
    for spot in fetches(run):
        rows += [(spot.order, row) for row in loader_rows(run, spot)]
    rows += copies(run) + wrappers(run) + handles(run) + side_streams(run) + stated(run)
    return merged([one for _, one in sorted(rows, key=lambda pair: pair[0])])


def loader_rows(run: Run, spot: Spot) -> list[dict[str, Any]]:
    """Workers that prepare later batches, and the thread that pins them."""
    data, rows = data_of(spot), []
    loader, workers = data.get("loader"), data.get("workers")
    if workers == 0 or not isinstance(loader, Opaque):
        return []
    loop = loop_after(spot)
    joined = str(loop.anchor if loop is not None else spot.anchor)
    evaluates = run.phases.of(spot) == "evaluation"
    step = "the evaluation's forwards" if evaluates else "the step"
    anchor = str(data.get("prefetch") or loader.anchor or spot.anchor)
    rows.append({"what": "reading, transforming and collating later batches", "with": step, "mechanism": data.get("mechanism", "worker processes"),
                 "joined_at": joined, "code_anchor": anchor})  # fmt: skip
    if any(hop["hop"] == "pin" for hop in data.get("hops", [])):
        rows.append({"what": "pinning later batches", "with": step, "mechanism": "pin_memory thread", "joined_at": joined, "code_anchor": anchor})
    return rows


def copies(run: Run) -> list[tuple[int, dict[str, Any]]]:
    """Copies that the host does not wait for. On the current stream they overlap host work only; compute joins by stream order."""
    rows: list[tuple[int, dict[str, Any]]] = []
    seen: set[str] = set()
    for spot in run.events("copy"):
        data = data_of(spot)
        if data.get("blocks_host") is not False or not run.phases.in_step(spot) or run.phases.of(spot) == "evaluation":
            continue
        if str(spot.anchor) in seen:
            continue
        seen.add(str(spot.anchor))
        row: dict[str, Any] = {"what": f"{data.get('direction')} copy of {data.get('what')}", "with": "host work",
                               "stream": "side stream" if data.get("stream") is not None else CURRENT, "mechanism": "non_blocking copy"}  # fmt: skip
        joined = next_model_call(run, spot)
        if joined is not None:
            row["joined_at"] = joined
        rows.append((spot.order, {**row, "code_anchor": str(spot.anchor)}))
    return rows


def next_model_call(run: Run, spot: Spot) -> str | None:
    """Where the copied data is used: the next call of the model, round the loop if need be."""
    calls = [one for one in run.step.forwards if isinstance(one.node, ModuleCall)]
    later = [one for one in calls if one.order > spot.order] or calls
    return str(run.forward_site(later[0])) if later else None


def wrappers(run: Run) -> list[tuple[int, dict[str, Any]]]:
    """Gradient buckets behind the backward; gathers and scatters of sharded units."""
    rows: list[tuple[int, dict[str, Any]]] = []
    places = backward_places(run)
    owns, outermost = owned(run), roots(run)
    if run.trace.world_size == 1 or not places:
        return rows
    backward = least_repeated(run, [spot for spot, _ in places])
    for spot in run.events("wrap"):
        data = data_of(spot)
        if data.get("wrapper") == "DistributedDataParallel":
            rows.append((spot.order, {"what": "gradient all_reduce", "with": "backward", "stream": "communication stream",
                                      "mechanism": "bucketed all_reduce", "joined_at": str(backward.anchor), "code_anchor": str(spot.anchor)}))  # fmt: skip
        elif data.get("overlaps"):
            for one in data["overlaps"]:
                joined = {"joined_at": str(backward.anchor)} if "gradients" in one["what"] else {}
                rows.append((spot.order, {**one, **joined, "code_anchor": str(spot.anchor)}))
        elif data.get("wrapper") in SHARDED and owns.get(id(spot.node)):
            root = id(spot.node) in outermost
            if root:  # gathered before the first kernel, scattered after the last: nothing runs beside it
                continue
            rows.append((spot.order, {"what": "all_gather of the next unit's parameters",
                                      "with": "forward and backward of this unit" if resharded(unit_data(run, spot), root) else "forward of the unit before",
                                      "stream": "all-gather stream", "mechanism": "prefetched all_gather", "code_anchor": str(spot.anchor)}))  # fmt: skip
            rows.append((spot.order, {"what": "reduce_scatter of gradients", "with": "backward of earlier units", "stream": "reduce-scatter stream",
                                      "mechanism": "async collective", "joined_at": str(backward.anchor), "code_anchor": str(spot.anchor)}))  # fmt: skip
    return rows


def handles(run: Run) -> list[tuple[int, dict[str, Any]]]:
    """Async collectives with other work before their wait."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for spot in run.events("collective"):
        data = data_of(spot)
        if run.trace.world_size == 1 or not data.get("async_op") or not overlaps(spot, data):
            continue
        if data.get("pass") == "backward" and run.phases.of(spot) != "backward":
            continue
        what = f"{data.get('collective')} of {data.get('what')}" if data.get("pass") else str(data.get("collective"))
        row: dict[str, Any] = {"what": what, "with": "work issued before the wait", "stream": "communication stream",
                               "mechanism": "async collective"}  # fmt: skip
        if data.get("waited_at") is not None:
            row["joined_at"] = str(data["waited_at"])
        rows.append((spot.order, {**row, "code_anchor": str(spot.anchor)}))
    return rows


def side_streams(run: Run) -> list[tuple[int, dict[str, Any]]]:
    """``with torch.cuda.stream(s):`` with device work beside it before the streams are joined."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for spot in run.spots:
        node = spot.node
        if not isinstance(node, ScopeNode) or node.qname != "torch.cuda.StreamContext" or spot.in_worker or not has_work(node):
            continue
        stream = node.data.get("stream")
        if not (isinstance(stream, Opaque) and stream.attrs.get("side")) or not beside(spot):
            continue
        rows.append((spot.order, {"what": "work on the side stream", "with": "the current stream", "stream": node.text,
                                  "mechanism": "side stream", "code_anchor": str(spot.anchor)}))  # fmt: skip
    return rows


def has_work(node: Node) -> bool:
    return any(isinstance(one, OpNode | ModuleCall) or (isinstance(one, Event) and one.kind in ("copy", "collective", "compute")) for one in node.walk())


def beside(spot: Spot) -> bool:
    """Work after the region and before the current stream waits for the side stream."""
    siblings = spot.path[-1].children if spot.path else []
    seen = False
    for node in siblings:
        if node is spot.node:
            seen = True
        elif seen:
            if isinstance(node, Event) and node.kind == "stream" and node.data.get("what") in ("wait_stream", "wait_event", "wait"):
                return False
            if isinstance(node, Event) and node.kind == "sync":
                return False
            if has_work(node):
                return True
    return True


def stated(run: Run) -> list[tuple[int, dict[str, Any]]]:
    """What a table says overlaps: graph replays, async checkpoints, prefetch threads."""
    rows = []
    for spot in run.events("overlap"):
        data = data_of(spot)
        row = {"what": data.get("what"), "with": data.get("with_"), "stream": data.get("stream"), "mechanism": data.get("mechanism")}
        rows.append((spot.order, {**{key: value for key, value in row.items() if value}, "code_anchor": str(spot.anchor)}))
    return rows
