"""What one abstract run of the job did, as a tree. Written by the interpreter, read by the job passes.

The tree has one node for each call of an ``nn.Module``, op, loop, undecided branch and schedule event, in execution order.
Passes over the tree fold, name phases and give frequencies; nothing here decides what goes into a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.values import ModuleInstance, Unknown
from cgx.model.anchors import Anchor

if TYPE_CHECKING:
    from cgx.indexer.interpreter.signals import Raised


@dataclass(eq=False, slots=True)
class Node:
    """``calls`` is the stack of call sites (outermost first) of plain functions between the enclosing node and this."""

    anchor: Anchor
    text: str = ""
    children: list[Node] = field(default_factory=list)
    calls: tuple[Anchor, ...] = ()

    def walk(self) -> Iterator[Node]:
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(eq=False, slots=True)
class JobNode(Node):
    """The root: the script from its top to its end, or the evaluated build expression and its forward."""


@dataclass(eq=False, slots=True)
class ModuleCall(Node):
    """One call of a module. ``anchor`` is its forward (def line) or, without source, the call; ``called_from`` the call.

    ``inputs``/``outputs``: (name, TensorValue) on the boundary. ``same_as``: an earlier call with equal structure and equal
    arguments whose children stand for this one's (then ``children`` is that call's list, to be read relative to ``module``).
    """

    module: ModuleInstance = None  # type: ignore[assignment]
    called_from: Anchor = None  # type: ignore[assignment]
    inputs: list[tuple[str, Any]] = field(default_factory=list)
    outputs: list[tuple[str, Any]] = field(default_factory=list)
    method: str = "forward"
    same_as: ModuleCall | None = None
    recompute: Anchor | None = None  # the checkpoint(...) call round it
    training: Any = True
    grad: bool = True  # False under no_grad or inference_mode
    autocast: str | None = None
    complete: bool = True  # False where an exception or a fault of ours ended it early: what it did not call is not known


@dataclass(eq=False, slots=True)
class OpNode(Node):
    """An op on tensors. ``qname``: torch.nn.functional.linear, torch.Tensor.view, operator.add. ``text``: source, short."""

    qname: str = ""
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    layer: bool = False  # the functional op inside a torch layer, at the line that called the layer
    inherited: bool = False  # of a torch layer under a class of the source that has no forward of its own: the entry says it all
    opaque: bool = False  # custom kernel, extension or library function without source


SEARCH = "search"  # what a LoopNode is over where an optimizer calls its closure again and again


@dataclass(eq=False, slots=True)
class LoopNode(Node):
    """A loop whose body stands once for all iterations (``summary``), or was evaluated per index (one child list).

    ``count`` is an int, a Dim, a ByRank or an Unknown. ``target`` is the loop variable's text, ``expr`` the bound's text.
    ``over`` says what is iterated: range, while, loader, container, list, generator, comprehension.
    ``counters``: names that grow by a constant each iteration -> the constant.
    """

    count: Any = None
    expr: str = ""
    target: str = ""
    over: str = ""
    bound: Anchor | None = None
    iterations: list[list[Node]] = field(default_factory=list)  # where evaluated per index
    counters: dict[str, int] = field(default_factory=dict)
    symbol: str = ""
    early_exit: bool = False  # a break or return may end it before ``count``
    carries: tuple[str, ...] = ()  # tensors that one round hands to the next
    named: bool = False  # over the entries of a dict
    entered: bool = False  # a ``while`` of one call that surely holds at first; whether it does again only the run knows


@dataclass(eq=False, slots=True)
class BranchNode(Node):
    """Entries that run only under ``text`` (source of the condition, negated with ``not (...)`` for an else).

    ``decided``: True where the condition was known to hold but is kept because it is a period or a rank guard.
    ``period``: (counter text, every) where the condition is ``counter % every == rest``. ``ranks``: indexes of the modelled
    ranks that take it, where it depends on the rank, else None. ``first``/``later``: the loop (its anchor) in whose first
    iteration, or in all but the first, the condition holds: what is made when it is needed first.
    """

    decided: bool = False
    period: tuple[str, Any] | None = None
    ranks: tuple[int, ...] | None = None
    first: Anchor | None = None
    later: Anchor | None = None
    once: str = ""  # the loop (its anchor's text) in one round of which it holds: ``step == last``
    test: Any = None  # the value that was not known, where it decides the branch
    aborts: bool = False  # it ends in an exception, and the job goes on where the condition does not hold


# calls that say what a data set does with its samples, even where they leave nothing in the trace
PREPARES = re.compile(r"^(?!_?(build|get|make|create|load|init|set|from)[A-Z_]).*(transform|augment|pre_?process|tokeni[sz]e)|^encode(_\w+)?$", re.IGNORECASE)


@dataclass(eq=False, slots=True)
class CallNode(Node):
    """A call of a plain function that holds entries: ``symbol`` its qualified name, ``target`` the anchor of its def.

    ``owner``: the module whose method it is, where nothing of a module was running; ``grad``, ``training`` as in ModuleCall.
    """

    symbol: str = ""
    target: Anchor | None = None
    owner: ModuleInstance | None = None
    grad: bool = True
    training: Any = True
    yields: bool = False  # of a generator: what runs at its yield is the caller's
    outside: bool = False  # the call stands in source that is read through --env

    @property
    def prepares(self) -> bool:
        """Its name says that it makes something of a sample: no constructor of such a thing."""
        return bool(PREPARES.search(self.text.partition("(")[0].rpartition(".")[2])) and not self.symbol.endswith("__init__")


@dataclass(eq=False, slots=True)
class ScopeNode(Node):
    """A ``with`` region that matters: ``qname`` such as torch.autocast, torch.no_grad, no_sync, torch.cuda.stream."""

    qname: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Event(Node):
    """A schedule event: ``kind`` in copy, sync, collective, compute, data, overlap, checkpoint, log, launch.

    ``data`` holds the fields of the record contract that are known (direction, what, source, non_blocking, ...).
    ``author``: the table row or overlay that says so. ``basis``: exact, modelled, likely.
    """

    kind: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    author: str = ""
    basis: str = "exact"
    module: ModuleInstance | None = None


@dataclass(eq=False, slots=True)
class Trace:
    """The run: its tree, every module instance in order of construction, and what was not known."""

    root: JobNode
    modules: list[ModuleInstance] = field(default_factory=list)
    unknowns: list[Any] = field(default_factory=list)  # Unknown values that decided something, in order, distinct
    stated: list[Any] = field(default_factory=list)  # those of them that are no conditions
    faults: list[tuple[str, str]] = field(default_factory=list)  # (where, message): internal faults
    assumed: dict[str, Any] = field(default_factory=dict)  # values from --set that were used
    unused: list[str] = field(default_factory=list)  # --set names nothing asked for
    files: list[tuple[str, str]] = field(default_factory=list)  # (name, digest) of files read through --file
    world_size: int | Unknown = 1
    model_roots: list[ModuleInstance] = field(default_factory=list)
    plan: Any = None  # the launch plan, for jobs
    conditions: dict[str, Any] = field(default_factory=dict)  # text of an undecided condition -> the value that was tested
    exit: Raised | None = None  # the SystemExit that said what is wrong, where one ended the job
    incomplete: bool = False  # an abstract exception ended the run or a forward: what did not run is not known
