"""Hand-built traces: jobs as the interpreter would leave them."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import (
    BranchNode,
    CallNode,
    Event,
    JobNode,
    LoopNode,
    ModuleCall,
    Node,
    ScopeNode,
    Trace,
)
from cgx.indexer.interpreter.values import ClassValue, DType, ModuleInstance, Opaque, TensorValue, Unknown
from cgx.model.anchors import Anchor


def at(line: int, symbol: str = "<module>", path: str = "train.py") -> Anchor:
    return Anchor(path, symbol, line)


def model(name: str = "Net", serial: int = 0, line: int = 10) -> ModuleInstance:
    cls = ClassValue(name, f"train.{name}", name, "train.py", None, [], [], {})
    return ModuleInstance(
        cls, parameters={"weight": TensorValue((2, 2), "float32", "cuda")}, serial=serial, constructed_at=at(line)
    )


def event(kind: str, line: int, text: str = "", symbol: str = "<module>", **data: Any) -> Event:
    return Event(at(line, symbol), text, kind=kind, data=data, author="test")


def call(
    module: ModuleInstance, line: int, *, grad: bool = True, training: bool = True, symbol: str = "<module>"
) -> ModuleCall:
    return ModuleCall(
        at(3, "Net.forward"), "model(x)", module=module, called_from=at(line, symbol), grad=grad, training=training
    )


def copy(line: int, what: str, blocking: bool = False, **data: Any) -> Event:
    return event("copy", line, f"{what}.to(device)", direction="H2D", what=what, source="pinned", non_blocking=not blocking,
                 blocks_host=blocking, **data)  # fmt: skip


def node(cls: type, line: int, children: list[Node], text: str = "", **data: Any) -> Any:
    return cls(at(line), text, children=children, **data)


def trace(
    children: list[Node], modules: list[ModuleInstance], world: int = 1, unknowns: list[Unknown] | None = None
) -> Trace:
    return Trace(JobNode(at(1), children=children), modules, unknowns or [], stated=list(unknowns or []), world_size=world, model_roots=modules[:1])


def accumulation_job(world: int = 8) -> Trace:
    """A loop of steps with micro-steps, a periodic evaluation that also saves, a prefetch, logging by rank 0."""
    net = model()

    def batch(line: int) -> CallNode:
        return CallNode(at(line), "get_batch()", symbol="get_batch", target=at(20, "get_batch"), children=[
            event("data", 21, "np.memmap(...)", "get_batch", hop="read", by="numpy.memmap"),
            event("data", 22, "x.pin_memory()", "get_batch", hop="pin", by="torch.Tensor.pin_memory"),
            Event(at(22, "get_batch"), "x.to(device, non_blocking=True)", kind="copy", data=copy(22, "x").data),
        ])  # fmt: skip

    evaluate = CallNode(at(52), "estimate_loss()", symbol="estimate_loss", target=at(30, "estimate_loss"), children=[
        node(LoopNode, 31, [node(LoopNode, 32, [
            batch(33), call(net, 34, grad=False, symbol="estimate_loss"),
            event("sync", 35, "loss.item()", "estimate_loss", sync="item", what="loss.item()", reads=True),
        ], count=200, expr="eval_iters", target="k")], count=2, expr="['train', 'val']", target="split"),
    ])  # fmt: skip
    save = node(BranchNode, 55, [
        event("checkpoint", 56, "torch.save(c)", action="save", what="c"),
        event("copy", 56, "torch.save(c)", direction="D2H", what="c", source="pageable", non_blocking=False, blocks_host=True, carrier="checkpoint", sync_kind="other"),
    ], "step > 0")  # fmt: skip
    body: list[Node] = [
        node(BranchNode, 51, [evaluate, save], "step % 2000 == 0 and rank == 0", period=("step", 2000), ranks=(0,)),
        node(LoopNode, 60, [
            event("compute", 61, key="grad_sync", value="only where micro == 4", guard="micro == 4"),
            ScopeNode(at(62), "ctx", qname="torch.amp.autocast", data={"dtype": DType("bfloat16")}, children=[call(net, 63)]),
            batch(64),
            event("compute", 65, "loss.backward()", key="backward", value="loss.backward()"),
        ], count=5, expr="accum", target="micro"),
        event("compute", 70, "clip", key="grad_clip", value=1.0),
        event("compute", 71, "optimizer.step()", key="optimizer_step", value="torch.optim.AdamW"),
        event("compute", 72, "optimizer.zero_grad()", key="zero_grad", value={"set_to_none": True}),
        node(BranchNode, 75, [
            event("sync", 76, "loss.item()", sync="item", what="loss.item()", reads=True),
            event("log", 77, "print(f'...')"),
        ], "step % 1 == 0 and rank == 0", period=("step", 1), ranks=(0,)),
    ]  # fmt: skip
    start: list[Node] = [
        event("launch", 5, "init_process_group()", what="init_process_group"),
        event("copy", 11, "model.to(device)", direction="H2D", what="model", source="pageable", non_blocking=False, blocks_host=True, carrier="module", sync_kind="other"),
        event("collective", 12, "DDP(model)", collective="broadcast", issued_by="DistributedDataParallel", blocking=True, parallelism="data"),
        event("wrap", 12, "DDP(model)", wrapper="DistributedDataParallel", module=net, broadcast_buffers=False),
        batch(40),
        node(LoopNode, 50, body, count=Unknown("step > max_steps", "loop-carried"), expr="True", over="while"),
        event("launch", 90, "destroy_process_group()", what="destroy_process_group"),
    ]  # fmt: skip
    return trace(start, [net], world, [Unknown("os.path.exists(meta)", "missing-file", at(7), settle=("--file", "meta"))])


def epoch_job(workers: int = 1) -> Trace:
    """Epochs over a loader in functions of their own: train, then validate, then save."""
    net = model()
    loader = Opaque("torch.utils.data.DataLoader", {}, at(8))

    def fetch(line: int, symbol: str) -> Event:
        runs = {"workers": workers, "asynchronous": workers > 0, "blocks_step": workers == 0}
        return event("fetch", line, "enumerate(loader)", symbol, loader=loader, workers=workers,
                     hops=[{"hop": "read", "by": "ImageFolder", "anchor": at(6), **runs}, {"hop": "pin", "by": "thread", "anchor": at(8), "workers": 1}])  # fmt: skip

    train = CallNode(at(51), "train()", symbol="train", target=at(20, "train"), children=[
        fetch(21, "train"),
        LoopNode(at(21, "train"), "", over="loader", count=Unknown("len(loader)", "data"), expr="enumerate(loader)", children=[
            Event(at(22, "train"), "x.to(device)", kind="copy", data=copy(22, "x").data),
            call(net, 23, symbol="train"),
            event("sync", 24, "loss.item()", "train", sync="item", what="loss.item()", reads=True),
            event("compute", 25, "optimizer.zero_grad()", "train", key="zero_grad", value="called"),
            event("compute", 26, "loss.backward()", "train", key="backward", value="loss.backward()"),
            event("compute", 27, "optimizer.step()", "train", key="optimizer_step", value="torch.optim.SGD"),
            BranchNode(at(28, "train"), "i % 10 == 0", period=("i", 10), children=[
                CallNode(at(29, "train"), "show()", symbol="show", target=at(60, "show"), children=[
                    event("sync", 61, "fmt.format()", "show", sync="print", what="fmt.format()", reads=True),
                    event("sync", 61, "fmt.format()", "show", sync="print", what="fmt.format()", reads=True),
                    event("log", 62, "print(x)", "show"),
                ]),
            ]),
        ]),
    ])  # fmt: skip
    validate = CallNode(at(52), "validate()", symbol="validate", target=at(30, "validate"), children=[
        ScopeNode(at(31, "validate"), "torch.no_grad()", qname="torch.no_grad", children=[
            fetch(32, "validate"),
            LoopNode(at(32, "validate"), "", over="loader", count=Unknown("len(loader)", "data"), expr="enumerate(loader)", children=[
                call(net, 33, grad=False, training=False, symbol="validate"),
                event("sync", 34, "loss.item()", "validate", sync="item", what="loss.item()", reads=True),
            ]),
        ]),
    ])  # fmt: skip
    save = CallNode(at(54), "save()", symbol="save", target=at(40, "save"), children=[
        event("checkpoint", 41, "torch.save(c)", "save", action="save", what="c"),
    ])  # fmt: skip
    epochs = node(LoopNode, 50, [train, validate, event("compute", 53, "scheduler.step()", key="lr_schedule", value="step"), save], count=90,
                  expr="range(90)", target="epoch")  # fmt: skip
    return trace([epochs], [net])


def generation_job() -> Trace:
    """Requests, each a prefill and a loop of decode steps; the text is printed at the end of each."""
    net = model()
    generate = CallNode(at(52), "generate()", symbol="generate", target=at(20, "generate"), children=[
        CallNode(at(21, "generate"), "prefill()", symbol="prefill", target=at(5, "prefill"), children=[call(net, 6, grad=False, symbol="prefill")]),
        event("copy", 22, "torch.tensor([T], device=d)", "generate", direction="H2D", what="torch.tensor([T], device=d)", source="pageable",
              non_blocking=False, blocks_host=True),
        LoopNode(at(23, "generate"), count=199, expr="max_new_tokens - 1", target="i", over="range", symbol="generate", children=[
            CallNode(at(24, "generate"), "decode()", symbol="decode", target=at(8, "decode"), children=[call(net, 9, grad=False, symbol="decode")]),
        ]),
    ])  # fmt: skip
    requests = node(LoopNode, 50, [
        event("sync", 51, "torch.cuda.synchronize()", sync="synchronize", what="torch.cuda.synchronize()"),
        generate,
        event("sync", 53, "y.tolist()", sync="tolist", what="y.tolist()", reads=True),
        event("log", 53, "print(...)"),
    ], count=6, expr="range(-1, num_samples)", target="i", over="range")  # fmt: skip
    return trace(
        [event("copy", 11, "model.to(d)", direction="H2D", what="model", blocks_host=True, carrier="module"), requests],
        [net],
    )
