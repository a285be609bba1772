"""Hops that a job's own data function takes on the host: drawing indices, converting, stacking.

A data function is a plain call that reads from storage, pins, or copies a batch to the device; host ops inside it are hops.
"""

from __future__ import annotations

from cgx.indexer.interpreter.trace import CallNode, Node, OpNode
from cgx.indexer.interpreter.values import TensorValue
from cgx.indexer.passes.schedule.situation import Run, data_of
from cgx.indexer.passes.schedule.tree import Spot

HOPS: dict[str, tuple[str, ...]] = {
    "sample": ("randint", "randperm", "multinomial", "random_", "choice", "permutation", "integers"),
    "transform": ("from_numpy", "astype", "frombuffer", "one_hot", "normalize"),
    "collate": ("stack", "cat", "pad_sequence", "concatenate"),
}
BY_NAME = {name: hop for hop, names in HOPS.items() for name in names}
LATE = ("backward", "optimizer", "logging")  # parts of the step in which no batch is made
SOURCES = frozenset({"read", "pin"})


def hop_of(spot: Spot) -> str | None:
    """The hop that a host op stands for."""
    node = spot.node
    if not isinstance(node, OpNode) or spot.in_module or spot.in_worker:
        return None
    hop = BY_NAME.get(node.qname.rpartition(".")[2])
    outputs = [one for one in node.outputs if isinstance(one, TensorValue)]
    return hop if hop and all(one.device in ("cpu", None) for one in outputs) else None


def on_host(spot: Spot) -> bool:
    """What it makes surely lies there."""
    node = spot.node
    return isinstance(node, OpNode) and all(one.device == "cpu" for one in node.outputs if isinstance(one, TensorValue))


def data_functions(run: Run) -> list[Node]:
    """Calls that hold a read, a pin or the copy of a batch."""
    found: list[Node] = []
    for kind in ("data", "copy"):
        for spot in run.events(kind):
            data = data_of(spot)
            if kind == "data" and data.get("hop") not in SOURCES:
                continue
            if kind == "copy" and (data.get("direction") != "H2D" or data.get("carrier") or data.get("factory")):
                continue
            if run.step.kind == "training" and run.phases.of(spot) not in ("data", "evaluation", "startup"):
                continue
            calls = [one for one in spot.path if isinstance(one, CallNode)]
            if kind == "copy" and run.step.kind == "training" and run.phases.of(spot) == "startup" and any(one.owner is not None for one in calls):
                continue  # a module fills its buffers
            found += [one for one in calls[-1:] if not any(one is known for known in found)]
    return found


def host_hops(run: Run) -> list[tuple[Spot, str, str]]:
    """(place, hop, qualified name of the op)."""
    holders = {id(one) for one in data_functions(run)}
    training = run.step.kind == "training"
    learning = {id(node) for spot in run.step.backwards for node in spot.path}  # frames that train: not all in them is data
    found = []
    for spot in run.spots:
        hop = hop_of(spot)
        if not hop or (training and (run.step.optimizers or run.step.backwards) and run.phases.by_place(spot) in LATE):
            continue
        inner = [one for one in spot.path if id(one) in holders]
        if inner and (on_host(spot) or not all(id(one) in learning for one in inner)):
            assert isinstance(spot.node, OpNode)
            found.append((spot, hop, spot.node.qname))
    return found
