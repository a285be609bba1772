"""What is known of torch's names without torch: the table of names, and the few rows that were set by hand."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from cgx.indexer.names.collect import annotation_expr
from cgx.indexer.names.facts import Expr

TABLE = Path(__file__).parent / "tables" / "torch_names.tsv"

# Rows that torch's own annotations leave out or that the linker wants otherwise: name -> (kind, gives).
BY_HAND: dict[str, tuple[str, str]] = {
    "torch.nn.Module.state_dict": ("m", "dict[str, torch.Tensor]"),
    "torch.nn.Module.forward": ("m", ""),
    "torch.nn.Module.named_children": ("m", "Iterator[tuple[str, torch.nn.Module]]"),
    "torch.nn.Module.named_modules": ("m", "Iterator[tuple[str, torch.nn.Module]]"),
    "torch.nn.Module.get_submodule": ("m", "torch.nn.Module"),
    "torch.nn.LSTM.forward": ("m", "tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]"),
    "torch.nn.GRU.forward": ("m", "tuple[torch.Tensor, torch.Tensor]"),
    "torch.nn.RNN.forward": ("m", "tuple[torch.Tensor, torch.Tensor]"),
    "torch.nn.MultiheadAttention.forward": ("m", "tuple[torch.Tensor, torch.Tensor]"),
    "torch.Tensor.tolist": ("m", "list"),
    "torch.Tensor.split": ("m", "tuple[torch.Tensor, ...]"),
    "torch.Tensor.__iter__": ("m", "Iterator[torch.Tensor]"),
    "torch.Tensor.numpy": ("m", "numpy.ndarray"),
    "torch.Tensor.grad": ("p", "torch.Tensor"),
    "torch.Tensor.data": ("p", "torch.Tensor"),
    "torch.Tensor.T": ("p", "torch.Tensor"),
    "torch.Tensor.mT": ("p", "torch.Tensor"),
    "torch.Tensor.type": ("m", "torch.Tensor"),
    "torch.Tensor.requires_grad_": ("m", "torch.Tensor"),
    "torch.from_numpy": ("f", "torch.Tensor"),
    "torch.norm": ("f", "torch.Tensor"),
    "torch.einsum": ("f", "torch.Tensor"),
    "torch.meshgrid": ("f", "tuple[torch.Tensor, ...]"),
    "torch.atleast_2d": ("f", "torch.Tensor"),
    "torch.broadcast_tensors": ("f", "tuple[torch.Tensor, ...]"),
    "torch.stft": ("f", "torch.Tensor"),
    "torch.cdist": ("f", "torch.Tensor"),
    "torch.unique": ("f", "torch.Tensor"),
    "torch.tensor_split": ("f", "tuple[torch.Tensor, ...]"),
    "torch.topk": ("f", "tuple[torch.Tensor, torch.Tensor]"),
    "torch.no_grad": ("c", ""),
    "torch.device": ("c", ""),
    "torch.dtype": ("c", ""),
    "torch.Generator.manual_seed": ("m", "torch.Generator"),
    "torch.cuda.Event.elapsed_time": ("m", "float"),
    "torch.distributed.all_reduce": ("f", "torch.distributed.Work"),
    "torch.distributed.new_group": ("f", "torch.distributed.ProcessGroup"),
    "torch.optim.Optimizer.state_dict": ("m", "dict"),
    "torch.optim.Optimizer.param_groups": ("p", "list[dict]"),
    "torch.utils.data.DataLoader.dataset": ("p", "torch.utils.data.Dataset"),
    "torch.amp.GradScaler.scale": ("m", "torch.Tensor"),
    "torch.cuda.amp.GradScaler.scale": ("m", "torch.Tensor"),
    "torch.profiler.profile.__enter__": ("m", "torch.profiler.profile"),
    "torch.fx.Node.meta": ("p", "dict"),
    "torch.fx.Graph.nodes": ("p", "list[torch.fx.Node]"),
    "torch.fx.Node.args": ("p", "tuple"),
    "torch.fx.Node.kwargs": ("p", "dict"),
    "torch.fx.Node.users": ("p", "dict[torch.fx.Node, None]"),
    "torch.fx.GraphModule.graph": ("p", "torch.fx.Graph"),
}

# Members that every class of torch has, listed or not.
DUNDERS = frozenset({"__init__", "__setattr__", "__getattr__", "__repr__", "__new__", "__dir__", "__delattr__"})


class Library:
    """Names of torch: kinds, aliases, members, what a call gives."""

    def __init__(self, rows: dict[str, tuple[str, str]]) -> None:
        self._rows = rows
        self._gives: dict[str, Expr | None] = {}
        self._members: dict[tuple[str, str], str | None] = {}
        self._mro: dict[str, tuple[str, ...]] = {}

    def canonical(self, qname: str) -> str:
        """The name that torch publishes, for any of the names a thing can be reached by."""
        row = self._rows.get(qname)
        if row is not None:
            return row[1] if row[0] == "a" else qname
        head, _, tail = qname.rpartition(".")
        if head:
            base = self._rows.get(head)
            if base is not None and base[0] == "a":
                return self.canonical(f"{base[1]}.{tail}")
        return qname

    def kind(self, qname: str) -> str:
        """``M``, ``c``, ``f``, ``m``, ``p``, ``v``, or ``""`` where the table has no row."""
        row = self._rows.get(qname)
        return row[0] if row is not None else ""

    def gives(self, qname: str) -> Expr | None:
        """The annotation of what a call of a function or method gives, or of a field's type; None where not known."""
        if qname not in self._gives:
            row = self._rows.get(qname)
            text = row[1] if row is not None and row[0] in "fmpv" else ""
            self._gives[qname] = annotation_expr(ast.parse(text, mode="eval").body) if text else None
        return self._gives[qname]

    def mro(self, qname: str) -> tuple[str, ...]:
        """A class and its bases, nearest first (depth first, which is enough for torch's own)."""
        if qname not in self._mro:
            row = self._rows.get(qname)
            names = [qname]
            if row is not None and row[0] == "c" and row[1]:
                for base in row[1].split(", "):
                    names += [name for name in self.mro(base) if name not in names]
            self._mro[qname] = tuple(names)
        return self._mro[qname]

    def member(self, cls: str, name: str) -> str | None:
        """Qualified name of a member where its class defines it, or None."""
        if name in DUNDERS:
            return f"{cls}.{name}"
        key = (cls, name)
        if key not in self._members:
            found = (f"{base}.{name}" for base in self.mro(cls) if f"{base}.{name}" in self._rows)
            self._members[key] = next(found, None)
        return self._members[key]

    def knows(self, cls: str) -> bool:
        """Whether the table has the class, so that a member it does not list is none."""
        return self.kind(cls) == "c"

    def derives(self, cls: str, base: str) -> bool:
        return base in self.mro(cls)


@cache
def library() -> Library:
    """The table, read once."""
    rows: dict[str, tuple[str, str]] = {}
    for line in TABLE.read_text(encoding="utf-8").split("\n"):
        if line and line[0] != "#":
            name, kind, gives = line.split("\t")
            rows[name] = (kind, gives)
    rows.update(BY_HAND)
    return Library(rows)
