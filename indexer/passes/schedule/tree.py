"""Places in the trace: every node that matters for the schedule, with the nodes round it.

Calls of modules are entered only where something inside matters (events, other module calls of wrapped units), so that a
model of thousands of equal layers costs what its events cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cgx.indexer.interpreter.trace import (
    BranchNode,
    CallNode,
    Event,
    LoopNode,
    ModuleCall,
    Node,
    OpNode,
    ScopeNode,
    Trace,
)
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.fold.place import stands_in
from cgx.model.anchors import Anchor

WORKER = "torch.utils.data.worker"
HEAD_LINES = 4  # a `for` head may be broken over lines
ATTENTION = ("scaled_dot_product_attention", "flex_attention")


@dataclass(frozen=True, eq=False)
class Spot:
    """A node in its place. ``path`` are the nodes round it, outermost first; ``order`` the place in the run."""

    node: Node
    path: tuple[Node, ...]
    order: int
    modules: tuple[str, ...] = ()  # names of the modules whose forward is running, outermost first

    @property
    def anchor(self) -> Anchor:
        """Where it runs; in a stand-in of ours for a layer of torch, the line of real code that led there."""
        if not self.stands_in:
            return self.node.anchor
        lines = (one.called_from if isinstance(one, ModuleCall) else one.anchor for one in reversed(self.path))
        return next((line for line in lines if line is not None and not stands_in(line)), self.node.anchor)

    @property
    def in_module(self) -> bool:
        return any(isinstance(one, ModuleCall) for one in self.path)

    @property
    def in_worker(self) -> bool:
        """Inside a data loader's element: another process's work, or the loader's."""
        return any(isinstance(one, ScopeNode) and one.qname == WORKER for one in self.path)

    @property
    def stands_in(self) -> bool:
        """It lies in a stand-in of ours for a layer of torch."""
        return stands_in(self.node.anchor)

    @property
    def text(self) -> str:
        """Source text of the line of real code that led to a stand-in."""
        return next((one.text for one in reversed(self.path) if not stands_in(one.called_from if isinstance(one, ModuleCall) else one.anchor)), "")

    def loops(self) -> list[LoopNode]:
        return [one for one in self.path if isinstance(one, LoopNode)]

    def outer_loops(self) -> list[LoopNode]:
        """Loops of the job, not those inside a module's forward."""
        found: list[LoopNode] = []
        for one in self.path:
            if isinstance(one, ModuleCall):
                break
            if isinstance(one, LoopNode):
                found.append(one)
        return found

    def branches(self) -> list[BranchNode]:
        return [one for one in self.path if isinstance(one, BranchNode)]

    @property
    def aborted(self) -> bool:
        """In a branch that ends the job: what is said there is said once, if ever."""
        return any(isinstance(one, BranchNode) and one.aborts for one in self.path)

    def below(self, node: Node | None) -> tuple[Node, ...]:
        """The path under ``node`` (all of it for None)."""
        if node is None:
            return self.path
        for index, one in enumerate(self.path):
            if one is node:
                return self.path[index + 1 :]
        return ()

    def holds(self, node: Node) -> bool:
        return any(one is node for one in self.path)

    def call_sites(self) -> list[Anchor]:
        """Sites of the plain calls that lead here, outermost first: of a generator, not those that led to its yield."""
        sites: list[Anchor] = []
        running: list[tuple[CallNode, int]] = []  # with how many sites there were before it
        for one in (*self.path, self.node):
            origin = one.calls[0] if one.calls else one.anchor
            if running and not within(running[-1][0], origin):
                back = next((index for index, (call, _) in enumerate(running) if call.yields and called_in(call, origin)), len(running))
                if back < len(running):
                    del sites[running[back][1] :]
                    del running[back:]
            if isinstance(one, CallNode):
                running.append((one, len(sites)))
            sites += [site for site in one.calls if site not in sites]
            if isinstance(one, CallNode) and one.anchor not in sites:
                sites.append(one.anchor)
        return sites


def within(call: CallNode, origin: Anchor) -> bool:
    """The place lies in what is called."""
    return call.target is None or (call.target.path, call.target.symbol) == (origin.path, origin.symbol)


def called_in(call: CallNode, origin: Anchor) -> bool:
    """The call stands in the function of the place: what runs there now runs at a yield."""
    return (call.anchor.path, call.anchor.symbol) == (origin.path, origin.symbol)


def child_lists(node: Node) -> list[list[Node]]:
    """What runs inside a node: one list, or one for each evaluated iteration."""
    if isinstance(node, LoopNode) and node.iterations:
        return node.iterations
    return [node.children]


def matters(node: Node, known: dict[int, bool]) -> bool:
    """Whether an event or a marked op lies in the subtree. Remembered by list, since equal calls share theirs."""
    if isinstance(node, Event) or is_marked_op(node):
        return True
    for children in child_lists(node):
        key = id(children)
        if key not in known:
            known[key] = False  # a cycle is not expected; this ends one
            known[key] = any(matters(child, known) for child in children)
        if known[key]:
            return True
    return False


def is_marked_op(node: Node) -> bool:
    """Ops that the schedule lists: attention and custom kernels."""
    return isinstance(node, OpNode) and (node.opaque or node.qname.endswith(ATTENTION))


def trains(node: Node) -> bool:
    """A backward runs in the job's own code."""
    if isinstance(node, Event):
        return node.data.get("key") == "backward"
    return not isinstance(node, ModuleCall) and any(trains(child) for child in node.children)


def runs_as_model(node: CallNode, every: bool) -> bool:
    """A method called on a module that runs it: ``forward`` itself or, with ``every``, one that calls its parts.

    A method that calls the module, or goes round a loop of steps, is the job's own code: its inner calls are looked at.
    """
    if node.symbol.rpartition(".")[2] == "forward":
        return True
    return every and runs_parts(node.children, node.owner) is True


def runs_parts(nodes: list[Node], owner: ModuleInstance | None) -> bool | None:
    """Calls of other modules are among the nodes; None where the owner itself is called, or a loop holds such calls."""
    found = False
    for node in nodes:
        if isinstance(node, ModuleCall):
            if node.module is owner:
                return None
            found = True
            continue
        if isinstance(node, CallNode) and node.owner is owner and node.symbol.rpartition(".")[2] == "forward":
            return None
        inner = [runs_parts(one, owner) for one in child_lists(node)]
        if None in inner or (any(inner) and isinstance(node, LoopNode) and (node.carries or node.over == "while")):
            return None
        found = found or any(inner)
    return found


def model_call(node: CallNode, stands: dict[int, Node]) -> ModuleCall:
    """The call of a module's method, as a call of the module."""
    assert node.owner is not None and node.target is not None
    call = ModuleCall(
        node.target, node.text, node.children, node.calls, module=node.owner, called_from=node.anchor,
        method=node.symbol.rpartition(".")[2], training=node.training, grad=node.grad,
    )  # fmt: skip
    stands[id(call)] = node
    return call


class Naming:
    """Dotted names of module instances below their roots. ``stands``: calls made of a method's call -> that node."""

    def __init__(self, trace: Trace) -> None:
        self.names: dict[int, str] = {}
        self.stands: dict[int, Node] = {}
        roots = list(trace.model_roots) or [one for one in trace.modules if one.serial == 0]
        held = {id(child) for one in trace.modules for child in one.children.values()}
        for root in [*roots, *(one for one in trace.modules if id(one) not in held)]:
            self.walk(root, "")

    def walk(self, module: ModuleInstance, name: str) -> None:
        stack = [(module, name)]
        while stack:
            one, path = stack.pop()
            if id(one) in self.names:
                continue
            self.names[id(one)] = path
            for key, child in one.children.items():
                if isinstance(child, ModuleInstance):
                    stack.append((child, f"{path}.{key}" if path else str(key)))

    def of(self, module: ModuleInstance) -> str:
        return self.names.get(id(module), "")


def rebased(name: str, old: str, new: str) -> str:
    """The name of the module that stands for ``name`` when the call of ``old`` is read as one of ``new``."""
    if old == new or not (name == old or name.startswith(f"{old}." if old else "")):
        return name
    rest = name[len(old) :].lstrip(".") if old else name
    return f"{new}.{rest}".strip(".") if rest else new


def spots(trace: Trace, naming: Naming | None = None) -> list[Spot]:
    """Events, ops outside modules, marked ops, loops, scopes and calls of root modules, in the order of the run.

    The fetch of a loader is opened before its loop but runs once a round: it stands inside the loop here.
    """
    naming = naming or Naming(trace)
    known: dict[int, bool] = {}
    found: list[Spot] = []
    counter = 0
    every = not trains(trace.root)

    def visit(node: Node, path: tuple[Node, ...], modules: tuple[str, ...], moved: tuple[tuple[str, str], ...]) -> None:
        nonlocal counter
        counter += 1
        in_module = bool(modules)
        if not in_module and isinstance(node, CallNode) and node.owner is not None and runs_as_model(node, every):
            node = model_call(node, naming.stands)
        if isinstance(node, ModuleCall):
            name = naming.of(node.module)
            for old, new in moved:
                name = rebased(name, old, new)
            inner = (*modules, name)
            if not in_module:
                found.append(Spot(node, path, counter, modules))
            if node.same_as is not None and node.same_as.module is not node.module:
                moved = (*moved, (naming.of(node.same_as.module), name))
        else:
            inner = modules
            if isinstance(node, Event | OpNode) or (isinstance(node, LoopNode) and not in_module) or isinstance(node, ScopeNode):
                found.append(Spot(node, path, counter, modules))
        if in_module and not matters(node, known):
            return
        hidden = isinstance(node, BranchNode) and stands_in(node.anchor) and node.ranks is None  # a condition of ours is none of the job's, but its ranks are
        below = path if hidden else (*path, node)
        for children in child_lists(node):
            visit_all(children, below, inner, moved)

    def visit_all(children: list[Node], path: tuple[Node, ...], modules: tuple[str, ...], moved: tuple[tuple[str, str], ...]) -> None:
        nonlocal counter
        waiting: list[Node] = []
        for index, child in enumerate(children):
            if modules and isinstance(child, OpNode) and not is_marked_op(child):
                counter += 1
            elif is_fetch(child) and loop_of_fetch(child, children[index + 1 :]) is not None:
                waiting.append(child)
            else:
                if isinstance(child, LoopNode):
                    for one in waiting:
                        visit(one, (*path, child), modules, moved)
                    waiting = []
                visit(child, path, modules, moved)

    visit_all(trace.root.children, (trace.root,), (), ())
    return found


def is_fetch(node: Node) -> bool:
    return isinstance(node, Event) and node.kind == "fetch"


def heads(loop: LoopNode, anchor: Anchor) -> bool:
    """The anchor lies in the head of the loop."""
    return loop.over != "while" and loop.anchor.path == anchor.path and loop.anchor.line <= anchor.line <= loop.anchor.line + HEAD_LINES


def loop_of_fetch(fetch: Node, later: list[Node]) -> LoopNode | None:
    """The loop whose head opens the loader: it stands on the same line, and nothing runs in between."""
    for node in later:
        if isinstance(node, LoopNode):
            return node if heads(node, fetch.anchor) else None
        if not isinstance(node, Event | ScopeNode):
            return None
    return None


def events(all_spots: list[Spot], kind: str, key: str = "") -> Iterator[Spot]:
    """Spots of events of one kind; for ``compute`` also of one key."""
    for spot in all_spots:
        node = spot.node
        if isinstance(node, Event) and node.kind == kind and (not key or node.data.get("key") == key):
            yield spot
