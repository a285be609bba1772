"""A small hand-made graph: one repository at two commits, a training job, and what queries must not mix up."""

from __future__ import annotations

from typing import Any

from cgx.indexer.passes.answers import tally_answers
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.job_entries import job_delta

REPO = "toy"
OLD, NEW = "a" * 40, "b" * 40
JOB, OLD_JOB = "job-new", "job-old"


def _version(path: str, digest: str, module: str, symbol: str, line: int, end: int) -> dict[str, Any]:
    return {
        "name": symbol.rpartition(".")[2],
        "symbol": symbol,
        "qname": module if symbol == "<module>" else f"{module}.{symbol}",
        "path": path,
        "line": line,
        "end_line": end,
        "anchor": f"{path}:{symbol}:{line}",
    }


class _Source:
    """Writes the versions of one file."""

    def __init__(self, delta: GraphDelta, commits: tuple[str, ...], path: str, digest: str) -> None:
        self.delta, self.path, self.digest = delta, path, digest
        self.module = path.removesuffix(".py").replace("/", ".")
        self.id = f"{path}@{digest}"
        properties = {
            "name": path.rpartition("/")[2],
            "path": path,
            "blob": digest * 8,
            "module": self.module,
            "repository": REPO,
        }
        broken = path in ("extra.py", "old.py")
        state = {"parsed": "partial", "error": "line 14: expected ':'"} if broken else {"parsed": "whole"}
        delta.nodes.append(Node("File", self.id, {**properties, "lines": 100, **state}))
        delta.edges.extend(Edge("HAS", commit, self.id) for commit in commits)
        symbol(delta, self.module, "module")
        delta.edges.append(Edge("DEFINED_BY", f"{REPO}:{self.module}", self.id))
        self.function("<module>", 1, 100, "module")

    def ref(self, name: str) -> str:
        return f"{self.id}:{name}"

    def function(self, name: str, line: int, end: int, kind: str = "function", **more: Any) -> str:
        properties = {**_version(self.path, self.digest, self.module, name, line, end), "kind": kind, **more}
        return self._define("Function", name, properties, kind)

    def class_(self, name: str, line: int, end: int, **more: Any) -> str:
        return self._define(
            "Class", name, {**_version(self.path, self.digest, self.module, name, line, end), **more}, "class"
        )

    def _define(self, label: str, name: str, properties: dict[str, Any], kind: str) -> str:
        node = self.ref(name)
        self.delta.nodes.append(Node(label, node, properties))
        self.delta.edges.append(Edge("DEFINES", self.id, node))
        outer = name.rpartition(".")[0]
        if outer:
            self.delta.edges.append(Edge("CONTAINS", self.ref(outer), node))
        if kind != "module":
            symbol(self.delta, f"{self.module}.{name}", kind)
            self.delta.edges.append(Edge("DEFINED_BY", f"{REPO}:{self.module}.{name}", node))
        return node

    def call(
        self, caller: str, target: str, line: int, text: str, kind: str = "CALLS", basis: str = "exact", **more: Any
    ) -> None:
        properties = {"line": line, "col": 4, "text": text, "basis": basis, "author": "link_calls", **more}
        self.delta.edges.append(Edge(kind, self.ref(caller), target, properties, key=f"{line}:4"))

    def unresolved(self, caller: str, line: int, text: str, reason: str, prefix: str = "") -> None:
        properties = {"line": line, "col": 4, "text": text, "author": "link_calls"}
        if prefix:
            properties["prefix"] = prefix
        self.delta.nodes.append(Node("Reason", reason, {"name": reason, "doc": f"what {reason} means"}))
        self.delta.edges.append(Edge("UNRESOLVED_CALL", self.ref(caller), reason, properties, key=f"{line}:4"))

    def inherits(self, name: str, target: str, text: str) -> None:
        self.delta.edges.append(Edge("INHERITS", self.ref(name), target, {"order": 0, "text": text, "basis": "exact"}))

    def imports(self, target: str, line: int) -> None:
        self.delta.edges.append(Edge("IMPORTS", self.id, target, {"line": line}, key=f"{line}"))


def symbol(delta: GraphDelta, qname: str, kind: str) -> str:
    properties = {"name": qname.rpartition(".")[2], "qname": qname, "kind": kind, "repository": REPO}
    delta.nodes.append(Node("Symbol", f"{REPO}:{qname}", properties))
    return f"{REPO}:{qname}"


def external(delta: GraphDelta, qname: str, role: str = "") -> str:
    properties = {"name": qname.rpartition(".")[2], "qname": qname, "package": qname.partition(".")[0]}
    if role:
        properties["role"] = role
    delta.nodes.append(Node("External", qname, properties))
    return qname


def static_delta() -> GraphDelta:
    """Both commits: model.py is shared, train.py was edited, old.py is gone, extra.py is new."""
    delta = GraphDelta()
    delta.nodes.append(Node("Repository", REPO, {"name": REPO}))
    for sha, time in ((OLD, 1_000), (NEW, 2_000)):
        counts = {"files": 3, "lines": 300, "sites": 12, "resolved": 6, "external": 4, "unresolved": 2}
        properties = {
            "name": sha[:10],
            "sha": sha,
            "repository": REPO,
            "complete": True,
            "time": time,
            **counts,
        }
        delta.nodes.append(Node("Commit", sha, properties))
        delta.edges.append(Edge("OF_REPOSITORY", sha, REPO))
    delta.edges.append(Edge("PARENT", NEW, OLD))
    _model(delta)
    _train(delta)
    _others(delta)
    tally_answers(delta)
    return delta


def _model(delta: GraphDelta) -> None:
    nn_module = external(delta, "torch.nn.Module", "layer")
    linear = external(delta, "torch.nn.Linear", "layer")
    sdpa = external(delta, "torch.nn.functional.scaled_dot_product_attention", "op")
    model = _Source(delta, (OLD, NEW), "model.py", "m1")
    model.imports(external(delta, "torch"), 1)
    model.class_("Config", 5, 9, decorators=["dataclass"], fields=["n_layer", "width"])
    for name, line in (("Base", 11), ("Attention", 20), ("Block", 40), ("GPT", 60)):
        model.class_(name, line, line + 15)
        model.function(f"{name}.__init__", line + 1, line + 6, "method", parameters=["self", "config"])
        model.function(f"{name}.forward", line + 8, line + 14, "method", parameters=["self", "x"])
    model.inherits("Base", nn_module, "nn.Module")
    model.inherits("Attention", f"{REPO}:model.Base", "Base")
    model.inherits("Block", f"{REPO}:model.Base", "Base")
    model.inherits("GPT", nn_module, "nn.Module")
    model.call(
        "Attention.__init__", linear, 22, "nn.Linear", "CONSTRUCTS", arguments=["width", "width"], bound_to="self.proj"
    )
    model.call(
        "Block.__init__",
        f"{REPO}:model.Attention",
        42,
        "Attention",
        "CONSTRUCTS",
        arguments=["config"],
        bound_to="self.attn",
    )
    model.call("GPT.__init__", f"{REPO}:model.Block", 63, "Block", "CONSTRUCTS", arguments=["config"])
    model.call("Attention.forward", sdpa, 30, "F.scaled_dot_product_attention")
    model.call(
        "Attention.forward", symbol(delta, "extra.sync_metrics", "function"), 31, "sync_metrics"
    )  # only the new commit has it
    model.call("Block.forward", f"{REPO}:model.Attention.forward", 50, "self.attn", implied=True, basis="modelled")
    model.call("GPT.forward", f"{REPO}:model.Block.forward", 70, "block", implied=True, basis="several")
    symbol(delta, "model.Config.n_layer", "attribute")
    model.call("GPT.__init__", f"{REPO}:model.Config.n_layer", 62, "config.n_layer", "READS")
    model.function("build", 90, 95, parameters=["name"])
    model.call("build", f"{REPO}:model.Base.forward", 94, "Base.forward", "REFERS")
    model.call("build", f"{REPO}:model.build", 93, "build")  # recursion
    model.unresolved("build", 92, "registry[name]", "unresolved-name")
    model.unresolved("GPT.forward", 72, "self.hook", "unmodelled", prefix="self.hook")


def _train(delta: GraphDelta) -> None:
    all_reduce = external(delta, "torch.distributed.all_reduce", "collective")
    item = external(delta, "torch.Tensor.item", "sync")
    to = external(delta, "torch.Tensor.to", "copy")
    for commits, digest, shift in (((OLD,), "t1", 0), ((NEW,), "t2", 3)):
        train = _Source(delta, commits, "train.py", digest)
        train.imports(f"{REPO}:model", 2)
        train.function("main", 10 + shift, 60 + shift, exact=f"main-{digest}", normal=f"main-{digest}")
        train.function("step", 70 + shift, 90 + shift, exact="step", normal="step", shape="step")
        train.function("unused", 92 + shift, 95 + shift)
        train.call("<module>", f"{REPO}:train.main", 100, "main")
        train.call(
            "main",
            f"{REPO}:model.GPT",
            12 + shift,
            "GPT",
            "CONSTRUCTS",
            arguments=["Config(n_layer=12)"],
            bound_to="model",
        )
        train.call("main", f"{REPO}:train.step", 30 + shift, "step")
        train.call("step", f"{REPO}:model.GPT.forward", 72 + shift, "model", implied=True, basis="likely")
        train.call("step", to, 71 + shift, "x.to")
        train.call("step", item, 80 + shift, "loss.item")
        if digest == "t2":
            train.call("step", all_reduce, 85, "dist.all_reduce")
            train.unresolved("main", 55, "config.callback", "parameter", prefix="config")
    moved = {"old_commit": OLD, "new_commit": NEW, "evidence": "qualified name; equal body"}
    delta.edges.append(Edge("MOVED_TO", "train.py@t1:step", "train.py@t2:step", {"status": "shifted", **moved}))
    delta.edges.append(Edge("MOVED_TO", "train.py@t1:main", "train.py@t2:main", {"status": "edited", **moved}))


def _others(delta: GraphDelta) -> None:
    old = _Source(delta, (OLD,), "old.py", "o1")
    old.function("legacy", 3, 9)
    old.call("legacy", f"{REPO}:model.build", 5, "build")
    extra = _Source(delta, (NEW,), "extra.py", "e1")
    extra.function("sync_metrics", 3, 12, parameters=["x"])
    extra.call("sync_metrics", "torch.distributed.all_reduce", 6, "dist.all_reduce")
    script = {"kind": "script", "anchor": "train.py:<module>:100", "why": "main guard, optimizer"}
    older = {"kind": "console script", "anchor": "setup.cfg:<module>:4", "why": "calls old:legacy"}
    for name, properties in (("python train.py", script), ("legacy", older)):
        delta.nodes.append(Node("EntryPoint", f"{REPO}:entry:{name}", {"name": name, "command": name, **properties}))
    delta.edges.append(Edge("STARTS", f"{REPO}:entry:python train.py", f"{REPO}:train"))
    delta.edges.append(Edge("OFFERS", OLD, f"{REPO}:entry:legacy", {"rank": 1}))
    for commit in (OLD, NEW):  # both offer the same
        delta.edges.append(Edge("OFFERS", commit, f"{REPO}:entry:python train.py", {"rank": 0}))


def graph_record(layers: int) -> dict[str, Any]:
    """A computation graph: GPT with folded blocks, an MLP that never runs, an op with an unknown count."""
    repeat = {
        "unit": "model.Block",
        "count": layers,
        "by": "instances",
        "expr": "config.n_layer",
        "code_anchor": "model.py:GPT.__init__:62",
    }
    linear = {"level": "layer", "type": "torch.nn.Linear", "code_anchor": "model.py:Attention.forward:28"}
    modules = [
        {"id": "m0", "level": "model", "name": "model", "path": "", "type": "model.GPT", "parent": None, "order": 0,
         "code_anchor": "model.py:GPT.forward:68", "constructed_at": "train.py:main:15", "multiplicity": 1,
         "called_from": "train.py:step:75", "wrapped_by": ["torch.nn.parallel.DistributedDataParallel"]},
        {"id": "m1", "level": "layer", "name": "wte", "path": "wte", "type": "torch.nn.Embedding", "parent": "m0", "order": 0,
         "code_anchor": "model.py:GPT.forward:69", "multiplicity": 1, "parameters": {"weight": [1000, 64]}},
        {"id": "m2", "level": "module", "name": "h", "path": f"h.[0-{layers - 1}]", "type": "model.Block", "parent": "m0", "order": 1,
         "code_anchor": "model.py:Block.forward:48", "constructed_at": "model.py:GPT.__init__:63", "repeat": repeat,
         "multiplicity": layers, "recomputed": 1},
        {"id": "m3", "level": "module", "name": "attn", "path": f"h.[0-{layers - 1}].attn", "type": "model.Attention", "parent": "m2",
         "order": 0, "code_anchor": "model.py:Attention.forward:28", "multiplicity": layers},
        {**linear, "id": "m4", "name": "proj", "path": f"h.[0-{layers - 1}].attn.proj", "parent": "m3", "order": 0,
         "multiplicity": layers, "parameters": {"weight": [64, 64], "bias": [64]}, "called_from": ["model.py:Attention.forward:29"]},
        {"id": "o1", "level": "op", "name": "sdpa", "type": "torch.nn.functional.scaled_dot_product_attention", "parent": "m3", "order": 1,
         "code_anchor": "model.py:Attention.forward:30", "multiplicity": layers,
         "when": {"expr": "self.flash", "code_anchor": "model.py:Attention.forward:29"}, "shapes": {"in": [], "out": [{"dims": ["B", "T", 64]}]}},
        {**linear, "id": "m5", "name": "spare", "path": "spare", "parent": "m0", "order": None, "runs": False, "multiplicity": None},
        {"id": "l1", "level": "loop", "name": "while", "parent": "m0", "order": 2, "code_anchor": "model.py:GPT.forward:72",
         "repeat": {"unit": "turn", "count": None, "by": "calls", "expr": "not done", "code_anchor": "model.py:GPT.forward:72"},
         "multiplicity": None},
        {"id": "m6", "level": "layer", "name": "lm_head", "path": "lm_head", "type": "torch.nn.Linear", "parent": "m0", "order": 3,
         "code_anchor": "model.py:GPT.forward:73", "multiplicity": 1, "shares": "wte", "parameters": {"weight": [1000, 64]}},
    ]  # fmt: skip
    unresolved = [
        {"name": "done", "field": "repeat.count", "entry": "l1", "code_anchor": "model.py:GPT.forward:72", "reason": "data",
         "settle_with": {"option": "--set", "name": "GPT.forward:done"}},
    ]  # fmt: skip
    return {
        "symbols": {"B": {"value": 8, "expr": "batch_size", "code_anchor": "train.py:main:20"}},
        "modules": modules,
        "unresolved": unresolved,
    }


def schedule_record() -> dict[str, Any]:
    """A schedule: two copies (one pageable, once per job), two syncs, a wrapper's and a called collective."""
    step = {"per": "step"}
    return {
        "phases": [
            {"name": "startup", "kind": "one-off", "runs_on": "host", "ranks": "all", "code_anchor": "train.py:main:13"},
            {"name": "forward", "kind": "repeated", "repeat": 4, "runs_on": "host and device", "ranks": "all", "code_anchor": "train.py:step:75"},
            {"name": "backward", "kind": "repeated", "runs_on": "device", "ranks": "all", "code_anchor": "train.py:step:79"},
            {"name": "logging", "kind": "periodic", "every": {"count": 10, "unit": "step", "guard": "it % 10 == 0"}, "ranks": "rank 0",
             "runs_on": "host and device", "code_anchor": "train.py:step:83"},
        ],
        "data_path": [
            {"hop": "read", "by": "numpy.memmap", "workers": 0, "asynchronous": False, "blocks_step": True, "repeat": 8, "code_anchor": "train.py:main:22"},
            {"hop": "pin", "by": "torch.Tensor.pin_memory", "workers": 0, "asynchronous": True, "blocks_step": False, "code_anchor": "train.py:main:24"},
        ],
        "host_device": {
            "copies": [
                {"direction": "H2D", "what": "x", "source": "pageable", "non_blocking": False, "blocks_host": True, "bytes": 4096, "phase": "forward",
                 "frequency": {"per": "micro-step"}, "repeat": 2, "ranks": "all", "code_anchor": "train.py:step:74"},
                {"direction": "H2D", "what": "model", "source": "pageable", "blocks_host": True, "phase": "startup", "frequency": {"per": "job"},
                 "repeat": 1, "ranks": "all", "code_anchor": "train.py:main:16"},
                {"direction": "H2D", "what": "y", "source": "pinned", "non_blocking": True, "blocks_host": False, "phase": "forward",
                 "frequency": {"per": "micro-step"}, "repeat": 1, "ranks": "all", "code_anchor": "train.py:step:76"},
            ],
            "syncs": [
                {"kind": "item", "what": "loss.item()", "phase": "logging", "frequency": {"per": "step", "every": 10, "guard": "it % 10 == 0"},
                 "repeat": 1, "ranks": "rank 0", "code_anchor": "train.py:step:83", "called_from": ["train.py:main:33"]},
                {"kind": "branch", "what": "if mask.any()", "phase": "forward", "frequency": {"per": "micro-step"}, "repeat": 12, "ranks": "all",
                 "module": "", "code_anchor": "model.py:GPT.forward:72"},
            ],
        },
        "device_device": [
            {"collective": "all_reduce", "parallelism": "data", "group": "WORLD", "blocking": False, "issued_by": "DistributedDataParallel",
             "waited_at": "train.py:step:81", "phase": "backward", "frequency": step, "repeat": 1, "ranks": "all", "bytes": 400_000,
             "code_anchor": "train.py:main:17"},
            {"collective": "all_reduce", "group": "WORLD", "blocking": True, "async_op": False, "issued_by": "call", "phase": "forward",
             "module": "", "frequency": {"per": "micro-step"}, "repeat": 1, "ranks": "all", "code_anchor": "train.py:step:85"},
        ],
        "compute": {
            "gradient_accumulation": {"value": 4, "expr": "accum", "code_anchor": "train.py:main:28"},
            "precision": [{"value": "bfloat16", "code_anchor": "train.py:main:19"}, {"value": "TF32", "code_anchor": "train.py:main:11"}],
            "activation_checkpointing": {"value": "h.[0-11]", "expr": "config.n_layer > 4", "code_anchor": "model.py:GPT.forward:70"},
        },
        "overlap": [
            {"what": "all_reduce", "with": "backward", "mechanism": "bucketed all_reduce", "stream": "DDP's own", "joined_at": "train.py:step:81", "code_anchor": "train.py:main:17"},
        ],
        "loops": [
            {"unit": "step", "count": 100, "expr": "max_iters", "inside": "forward", "code_anchor": "train.py:main:27"},
            {"unit": "epoch", "count": None, "expr": "while True", "code_anchor": "train.py:main:26"},
        ],
        "unresolved": [
            {"name": "backend", "field": "group", "code_anchor": "train.py:main:18", "reason": "environment",
             "settle_with": {"option": "--set", "name": "backend"}},
        ],
    }  # fmt: skip


def symbol_at(anchor: str) -> str | None:
    """The Symbol of the function that holds an anchor of the sample."""
    path, name, _ = anchor.rsplit(":", 2)
    return f"{REPO}:{path.removesuffix('.py')}.{name}"


def job(job_id: str, commit: str, layers: int, schedule: bool = True) -> GraphDelta:
    header = {
        "job_type": "training",
        "repository": REPO,
        "commit": commit,
        "launch": ["torchrun", "train.py"],
        "entrypoint": "train.py:step:73",
    }
    return job_delta(
        job_id, header, graph_record(layers), schedule_record() if schedule else None, commit_id=commit,
        symbol_at=symbol_at, symbol_named=lambda q: f"{REPO}:{q}" if q.startswith("model.") else None,
    )  # fmt: skip


def full_delta() -> GraphDelta:
    """The static graph of both commits, the new commit's job, and an older one with other counts at the old commit."""
    delta = static_delta()
    for part in (job(JOB, NEW, 12), job(OLD_JOB, OLD, 6, schedule=False)):
        delta.extend(part.nodes, part.edges)
    return delta
