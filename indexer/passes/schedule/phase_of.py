"""The phase of a place: a region of its own, what the node itself does, or where in the step it lies."""

from __future__ import annotations

import re
from itertools import pairwise

from cgx.indexer.interpreter.trace import BranchNode, CallNode, Event, LoopNode, ModuleCall
from cgx.indexer.passes.schedule.frequency import steady
from cgx.indexer.passes.schedule.regions import Regions, calls_evaluation
from cgx.indexer.passes.schedule.step import Step, is_model, replays
from cgx.indexer.passes.schedule.tree import Spot, events

OPTIMIZER_KEYS = frozenset({"optimizer_step", "grad_clip", "zero_grad", "lr_schedule", "ema"})
READS = frozenset({"item", "conversion", "print", "tolist", "cpu", "numpy", "synchronize", "other"})
SERVING_WORDS = (("prefill", re.compile(r"prefill|extend", re.IGNORECASE)), ("decode", re.compile(r"decode", re.IGNORECASE)),
                 ("sample", re.compile(r"sampl", re.IGNORECASE)), ("schedule", re.compile(r"schedul|next_batch", re.IGNORECASE)),
                 ("respond", re.compile(r"post_?process|process_(last|output|batch_result)|detokeni[sz]e|send_(result|reply)", re.IGNORECASE)))  # fmt: skip
PICKED = re.compile(r"sampl|next_?(token|id)|argmax|multinomial", re.IGNORECASE)
MAKING = frozenset({"launch", "checkpoint", "wrap"})  # kinds of events
ANSWERS = re.compile(r"token|text|complet|respon|answer|output|generat|decode|result|reply|content|message", re.IGNORECASE)
METERS = re.compile(r"time|\bsec|elapsed|/s\b|speed|throughput|memory|bandwidth|latency|acceptance", re.IGNORECASE)
METRIC = re.compile(r"^(?!.*(finite|isnan|isinf|norm|valid)).*(loss|acc|metric|correct|reward|entropy|mean_|_mean|avg|average)", re.IGNORECASE)
NORM = re.compile(r"grad\w*_?norm|norm\w*_?grad|is_?finite|is_?nan|is_?inf", re.IGNORECASE)
REPORTS = re.compile(r"(write|log|report|record|gather|reduce|sync)_\w*(metric|scalar|stat|loss)", re.IGNORECASE)  # functions that tell of the run
CONSTRUCTOR = re.compile(r"__init__$|^setup|load_model|build_model|warm_?up", re.IGNORECASE)


class Phases:
    """Phases of the places of one run."""

    def __init__(self, found: list[Spot], step: Step, regions: Regions) -> None:
        self.step, self.regions = step, regions
        inside = [spot for spot in found if step.loop is not None and spot.holds(step.loop)]
        if step.loop is None and step.micro is not None:
            inside = [spot for spot in found if spot.holds(step.micro)] + step.forwards
        self.denoises = step.micro is not None and step.unit(step.micro) == "denoising step"
        self.first = min((spot.order for spot in inside), default=None)
        self.last = max((spot.order for spot in inside), default=None)
        if self.first is None:
            marks = [*step.forwards, *step.backwards, *step.optimizers]
            self.first = min((spot.order for spot in marks), default=0)
            self.last = max((spot.order for spot in marks), default=0)
        forwards, backwards = steady(step.forwards), steady(step.backwards)
        self.forward_start = min((spot.order for spot in forwards), default=0)
        self.forward_end = max((spot.order for spot in forwards), default=0)
        self.backward_start = min((spot.order for spot in backwards), default=0)
        self.backward_end = max((spot.order for spot in backwards), default=0)
        self.optimizer_end = max((spot.order for spot in step.optimizers), default=0)
        self.runs = [spot.order for spot in found if isinstance(spot.node, ModuleCall) and not spot.in_module]
        self.log_lines = {(spot.anchor.path, spot.anchor.line) for spot in events(found, "log")}
        self.read_lines = {(spot.anchor.path, spot.anchor.line) for spot in events(found, "sync") if spot.node.data.get("reads")}  # type: ignore[attr-defined]
        self.in_token_loop = step.micro
        self.makes = any(
            isinstance(spot.node, Event) and spot.node.kind in MAKING and step.entry_node is not None and spot.holds(step.entry_node) for spot in found
        )
        self.loop_order = min((spot.order for spot in found if spot.node is step.micro), default=0)
        entry = step.entry_node if step.entry_node is not None else step.loop
        self.losses = {id(one) for spot in step.forwards for one in spot.below(entry) if isinstance(one, CallNode)}

    def of(self, spot: Spot) -> str:
        if any(spot.holds(loop) for loop in self.step.rehearsals):
            return "startup"
        known = self.regions.phase(spot)
        if known is not None and not (known == "evaluation" and self.step.kind != "training"):
            return known
        if isinstance(spot.node, Event) and spot.node.data.get("phase"):
            return str(spot.node.data["phase"])  # the life cycle of a framework says so
        if self.in_step(spot):
            return self.in_training(spot) if self.step.kind == "training" else self.in_serving(spot)
        return self.outside(spot)

    def in_step(self, spot: Spot) -> bool:
        if self.step.loop is not None:
            return spot.holds(self.step.loop) or spot.node is self.step.loop
        if spot.node is self.in_token_loop or (self.denoises and self.step.entry_node is not None and spot.holds(self.step.entry_node)):
            return True
        assert self.first is not None and self.last is not None
        return self.first <= spot.order <= self.last

    def after(self, spot: Spot) -> bool:
        """When the last step is done."""
        return self.last is not None and spot.order > self.last and not self.in_epoch(spot)

    def outside(self, spot: Spot) -> str:
        """Before the step: startup. After it: teardown, or per epoch what it does."""
        assert self.first is not None and self.last is not None
        node = spot.node
        if spot.order < self.first:
            if self.rehearses(spot):
                return "startup"
            if self.step.kind != "training" and isinstance(node, Event) and self.is_input(spot):
                return "data"
            return "startup" if not self.in_epoch(spot) else self.between(spot)
        if self.in_epoch(spot):
            return self.between(spot)
        if isinstance(node, Event) and self.step.kind == "inference serving":
            return self.after_serving(spot, node)
        if isinstance(node, Event) and node.kind in ("sync", "log") and node.data.get("sync") in READS - {"synchronize"}:
            return "logging"
        return "teardown"

    def rehearses(self, spot: Spot) -> bool:
        """In a run of the step's own loop before the step: a warm-up."""
        own = {loop.anchor for loop in (self.step.loop, self.step.micro) if loop is not None}
        entry = self.step.entry_node.symbol if isinstance(self.step.entry_node, CallNode) else None
        return self.step.kind != "training" and any(
            (isinstance(one, LoopNode) and one.anchor in own) or (isinstance(one, CallNode) and one.symbol == entry and one is not self.step.entry_node)
            for one in spot.path
        )

    def after_serving(self, spot: Spot, node: Event) -> str:
        """What is read, copied back or shown when the step is done answers; figures and waits for them are logging."""
        if node.kind == "log":
            return self.shown(spot)
        if node.kind == "sync":
            return "respond" if node.data.get("sync") in READS - {"synchronize", "other"} else "teardown"
        return "respond" if node.kind == "copy" and node.data.get("direction") == "D2H" else "teardown"

    def shown(self, spot: Spot) -> str:
        """A line that is shown: an answer, or figures about the run."""
        if (spot.anchor.path, spot.anchor.line) in self.read_lines:
            return "respond"
        text = spot.node.text
        late = self.in_token_loop is None or self.inside_token_loop(spot) or spot.order > self.loop_order
        return "respond" if late and ANSWERS.search(text) and not METERS.search(text) else "logging"

    def is_input(self, spot: Spot) -> bool:
        """A tensor or data hop made for the requests, not part of building the model."""
        node = spot.node
        assert isinstance(node, Event)
        if node.kind not in ("copy", "data", "fetch") or node.data.get("carrier"):
            return False
        return not any(isinstance(one, CallNode) and CONSTRUCTOR.search(one.symbol.rpartition(".")[2]) for one in spot.path)

    def in_epoch(self, spot: Spot) -> bool:
        return any(self.step.unit(loop) == "epoch" for loop in spot.outer_loops())

    def between(self, spot: Spot) -> str:
        """In the epoch's loop, outside the step."""
        node = spot.node
        if isinstance(node, Event) and node.kind == "compute" and node.data.get("key") in OPTIMIZER_KEYS:
            return "optimizer"
        if self.in_evaluation(spot):
            return "evaluation"
        if isinstance(node, Event) and node.kind in ("data", "fetch"):
            return "data"
        return "logging"

    def in_evaluation(self, spot: Spot) -> bool:
        """In a loop of a function that is named for evaluation, whatever it calls: the model may be one that is not known."""
        named = False
        for one in spot.path:
            named = named or calls_evaluation(one)
            if named and isinstance(one, LoopNode):
                return True
        return False

    def in_training(self, spot: Spot) -> str:
        node = spot.node
        if isinstance(node, Event) and node.data.get("pass"):
            return str(node.data["pass"])  # what a pipeline hands on, what the backward of a function sends
        if self.prepares(spot):
            return "data"
        if isinstance(node, ModuleCall) or spot.in_module:
            return "forward"
        if not isinstance(node, Event):
            return self.by_place(spot)
        if isinstance(node.data.get("phase"), str):
            return str(node.data["phase"])  # a table knows where in the step it happens
        if node.kind == "compute":
            return self.compute_phase(spot, node)
        if node.kind in ("data", "fetch"):
            return "data"
        if node.kind == "log":
            return "logging"
        if node.kind == "copy" and node.data.get("direction") == "H2D":
            if node.data.get("index") or self.beside_model(spot, node):
                return self.by_place(spot)
            if self.step.backwards and spot.order > self.backward_end and self.made_here(node) and (node.data.get("bytes") or 99) <= 8:
                return "logging"
            return "logging" if spot.order > self.optimizer_end and (self.late(spot) or self.made_here(node)) else "data"
        if node.kind == "sync":
            return self.sync_phase(spot, node)
        if node.kind == "copy":
            return "logging"
        return self.collective_phase(spot, node) if node.kind == "collective" else self.by_place(spot)

    def collective_phase(self, spot: Spot, node: Event) -> str:
        """A barrier reports nothing: behind the optimizer's step it belongs to that. A loss that is summed before it is shown is reported."""
        place = self.by_place(spot)
        if node.data.get("issued_by") == "ZeroRedundancyOptimizer" and place == "logging":
            return "optimizer"
        number = node.data.get("collective") in ("all_reduce", "reduce") and (node.data.get("bytes") or 99) <= 8
        if place == "optimizer" and number and not spot.in_module and METRIC.search(str(node.data.get("what"))):
            return "logging"
        entry = self.step.entry_node if self.step.entry_node is not None else self.step.loop
        named = (one.symbol.rpartition(".")[2] for one in spot.below(entry) if isinstance(one, CallNode))
        if place == "optimizer" and node.data.get("issued_by") == "call" and not spot.in_module and any(REPORTS.search(name) for name in named):
            return "logging"
        return "optimizer" if place == "logging" and node.data.get("collective") == "barrier" else place

    def prepares(self, spot: Spot) -> bool:
        """A module without weights that moves the batch: a data preprocessor."""
        node = spot.node
        if not isinstance(node, Event) or node.kind != "copy" or node.data.get("direction") != "H2D" or not spot.in_module:
            return False
        if spot.order > self.forward_start:
            return False  # a loss is a module too
        return not any(isinstance(one, ModuleCall) and is_model(one.module) for one in spot.path)

    def beside_model(self, spot: Spot, node: Event) -> bool:
        """After the forward, in a function that runs it: tables and constants of the loss go to the device, no batch (that is pinned)."""
        if spot.order < self.forward_start or node.data.get("source") == "pinned":
            return False
        return any(id(one) in self.losses for one in spot.path)

    def late(self, spot: Spot) -> bool:
        """After the optimizer's step under a period or guard: part of what is reported."""
        return any(isinstance(one, BranchNode) for one in spot.below(self.step.loop))

    def made_here(self, node: Event) -> bool:
        """A number of the host goes to the device, to be reduced: no batch."""
        return str(node.data.get("what", "")).startswith(("torch.tensor(", "torch.as_tensor("))

    def compute_phase(self, spot: Spot, node: Event) -> str:
        key = node.data.get("key")
        if key in ("backward", "forward"):
            return str(key)
        return "optimizer" if key in OPTIMIZER_KEYS else self.by_place(spot)

    def sync_phase(self, spot: Spot, node: Event) -> str:
        kind = node.data.get("sync")
        if node.data.get("captures"):
            return "forward"  # what is captured starts with it
        if kind == "synchronize" and (barrier := after_barrier(spot)) is not None:
            return self.collective_phase(spot, barrier)
        if node.data.get("internal") and self.backward_end < spot.order <= self.optimizer_end + 1:
            return "optimizer"
        if kind == "synchronize" and "synchronize" not in node.text:
            return self.by_place(spot)  # the device is waited for inside something else
        place = self.by_place(spot)
        if place == "optimizer" and NORM.search(node.text):
            return place  # read before the step is taken, which waits for it
        return "logging" if kind in READS else place

    def by_place(self, spot: Spot) -> str:
        if spot.order < self.forward_start:
            return "data"
        if spot.order <= self.backward_start:
            return "forward"
        if spot.order <= self.backward_end:
            return self.between_backwards(spot)
        return "optimizer" if spot.order <= self.optimizer_end else "logging"

    def between_backwards(self, spot: Spot) -> str:
        """Of several losses in a step each has its own forward: what follows one, up to the next backward, belongs to that."""
        orders = [one.order for one in self.step.backwards if one.order <= spot.order]
        last = max(orders, default=self.backward_start)
        return "forward" if any(last < order <= spot.order for order in self.runs) else "backward"

    def in_serving(self, spot: Spot) -> str:
        """By the words of the functions and branches round it, then by place."""
        node = spot.node
        if self.step.kind == "batch":
            return self.in_batch(spot)
        if isinstance(node, Event) and node.kind == "sync" and node.data.get("sync") == "synchronize" and not spot.in_module and "of" not in node.data:
            return "logging"
        if self.denoises:
            return self.in_denoising(spot)
        if node is self.in_token_loop:
            return "decode"
        if isinstance(node, Event) and node.kind == "log":
            return self.shown(spot)
        named = self.named(spot)
        if named:
            return named
        if replays(node):
            return "decode"  # graphs are captured for the fixed shapes of that
        if isinstance(node, ModuleCall) or spot.in_module:
            return "decode" if self.in_token_loop is not None and spot.holds(self.in_token_loop) else "prefill"
        if isinstance(node, Event) and node.kind == "sync":
            if (spot.anchor.path, spot.anchor.line) in self.log_lines or not self.inside_token_loop(spot):
                return "respond" if spot.order > self.forward_end else "prefill"
            return "sample"
        if self.inside_token_loop(spot):
            return "decode"
        return "prefill" if spot.order < self.forward_end else "respond"

    def in_denoising(self, spot: Spot) -> str:
        """What conditions the samples is the prefill, the loop the sample; then latents are decoded and handed out."""
        node = spot.node
        if self.inside_token_loop(spot) or node is self.in_token_loop:
            return "sample"
        device = isinstance(node, ModuleCall) or spot.in_module
        assert self.in_token_loop is not None
        if spot.order < self.loop_order and isinstance(node, Event) and self.sets_up(node):
            return "startup"
        if spot.order < self.loop_order:
            known = isinstance(node, Event) and (node.kind in ("data", "fetch") or (node.data.get("direction") == "H2D" and not node.data.get("carrier")))
            return "data" if known and not device else "logging" if isinstance(node, Event) and node.kind == "log" else "prefill"
        if device or spot.order < self.forward_end:
            return "decode"
        return "respond"

    def sets_up(self, node: Event) -> bool:
        """Done to make a model, in a script that samples in the same function: what is loaded there, and moved to the device."""
        if node.kind in MAKING:
            return True
        return self.makes and bool(node.data.get("carrier")) and node.data.get("direction") == "H2D"

    def inside_token_loop(self, spot: Spot) -> bool:
        return self.in_token_loop is not None and spot.holds(self.in_token_loop)

    def named(self, spot: Spot) -> str | None:
        node = spot.node
        if isinstance(node, Event) and (node.kind == "sync" or node.data.get("direction") == "D2H") and PICKED.search(node.text):
            return "sample"
        for one in reversed(spot.below(self.step.loop)):
            if isinstance(one, ModuleCall):
                continue
            text = one.symbol.rpartition(".")[2] if isinstance(one, CallNode) else one.text if isinstance(one, BranchNode) else ""
            negative = text.startswith("not (")
            for name, words in SERVING_WORDS:
                if text and words.search(text):
                    if negative and name == "prefill":
                        return "decode"
                    return None if negative else name
        return None

    def in_batch(self, spot: Spot) -> str:
        node = spot.node
        if isinstance(node, ModuleCall) or spot.in_module:
            return "forward"
        if isinstance(node, Event) and (node.kind in ("data", "fetch") or (node.kind == "copy" and node.data.get("direction") == "H2D")):
            return "data"
        return "logging" if isinstance(node, Event) and node.kind in ("sync", "log", "copy") else "forward"


def after_barrier(spot: Spot) -> Event | None:
    """The barrier right before a wait for the device."""
    siblings = [one for one in (spot.path[-1].children if spot.path else []) if isinstance(one, Event)]
    for one, following in pairwise(siblings):
        if following is spot.node and one.kind == "collective" and one.data.get("collective") == "barrier":
            return one
    return None
