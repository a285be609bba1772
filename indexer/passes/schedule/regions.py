"""Regions of a run that have a phase of their own wherever they lie: evaluation and checkpoint.

An evaluation region is the outermost function, branch or loop that runs a model without gradients and neither trains nor
saves. A checkpoint region is the outermost function or branch that saves and does nothing on the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cgx.indexer.interpreter.trace import BranchNode, CallNode, Event, LoopNode, ModuleCall, Node, ScopeNode
from cgx.indexer.passes.schedule.step import Step, is_model
from cgx.indexer.passes.schedule.tree import Spot, events

EVALUATION_WORDS = re.compile(r"eval|valid|test|infer|sample|generate|visuali|predict", re.IGNORECASE)
EVALUATES = re.compile(r"(^|_)(eval|evaluate|evaluation|val|validate|validation|test)(_|$)", re.IGNORECASE)
SAVES = re.compile(r"(^|_)(save|checkpoint|ckpt)(_|$)", re.IGNORECASE)
NO_GRADIENTS = ("torch.no_grad", "torch.inference_mode")
REGIONS = (CallNode, BranchNode, LoopNode, ScopeNode)
REPORTED = ("log", "sync", "collective", "data", "copy")


class Regions:
    """Answers whether a spot lies in an evaluation or a checkpoint region of the job."""

    def __init__(self, found: list[Spot], step: Step) -> None:
        self.step = step
        training = [*step.backwards, *step.optimizers]
        evals = [spot for spot in found if self.evaluates(spot)] if step.kind == "training" else []
        if step.kind == "training" and not step.forwards:  # no module is seen to run
            evals += [spot for spot in found if evaluates_by_name(spot)]
        saves = [spot for spot in events(found, "checkpoint") if spot.node.data.get("action") == "save"]  # type: ignore[attr-defined]
        saves = [spot for spot in saves if not self.prepares(found, spot)]
        self.saves = {id(spot.node) for spot in saves}
        roots = self.roots(evals, [*training, *saves, *self.set_up(found)])
        acting = [spot for spot in events(found, "data") if spot.node.data.get("simulated") and not spot.in_worker]  # type: ignore[attr-defined]
        self.rollout = [root for root in roots if (acting and not named_evaluation(root)) or self.rolled_out(root, evals)] if step.kind == "training" else []
        self.generates = {id(root): [spot for spot in evals if spot.holds(root)] for root in self.rollout if not acting}
        self.evaluation = [root for root in roots if not any(root is one for one in self.rollout)]
        self.acting = [spot for spot in acting if step.loop is not None and spot.holds(step.loop)]
        models = [spot for spot in found if isinstance(spot.node, ModuleCall)]
        self.checkpoint = self.roots(saves, [*training, *models, *self.told_before(found, saves), *self.told_beside(found, saves)])
        self.training = {id(node) for spot in training for node in spot.path}

    def set_up(self, found: list[Spot]) -> list[Spot]:
        """What is made and moved before the first step: a function that also tries the model out is no evaluation for that."""
        first = min((spot.order for spot in self.step.backwards), default=-1)
        return [spot for spot in found if spot.order < first and isinstance(spot.node, Event) and makes(spot.node)]

    def prepares(self, found: list[Spot], save: Spot) -> bool:
        """A file of data of the host, written before the first step: a cache, no checkpoint."""
        marks = [*self.step.forwards, *self.step.backwards, *self.step.optimizers]
        if self.step.kind != "training" or save.order > min((spot.order for spot in marks), default=-1):
            return False
        return not any(spot.anchor == save.anchor and spot.node.data.get("carrier") == "checkpoint" for spot in events(found, "copy"))  # type: ignore[attr-defined]

    def told_before(self, found: list[Spot], saves: list[Spot]) -> list[Spot]:
        """Values read from the device in a branch that saves further inside: what is reported is not part of saving."""
        outer = {id(branch) for spot in saves for branch in spot.branches()[:-1]}
        return [
            spot
            for spot in events(found, "sync")
            if spot.node.data.get("reads") and spot.branches() and id(spot.branches()[-1]) in outer and not copied_to_save(spot)  # type: ignore[attr-defined]
        ]

    def told_beside(self, found: list[Spot], saves: list[Spot]) -> list[Spot]:
        """Values read on each call of a function that saves on some calls only (a hook that runs after every batch): no part of saving."""
        told = []
        for spot in events(found, "sync"):
            call = called_in(spot)
            if call is None or not spot.node.data.get("reads") or copied_to_save(spot):  # type: ignore[attr-defined]
                continue
            within = [save for save in saves if save.holds(call)]
            if within and not any(save.holds(one) for save in within for one in spot.below(call) if is_condition(one)):
                if all(any(is_condition(one) for one in save.below(call)) for save in within):
                    told.append(spot)
        return told

    def evaluates(self, spot: Spot) -> bool:
        """A call of a model that does not train: no gradients are kept, or it is in evaluation mode outside the step."""
        node = spot.node
        if not isinstance(node, ModuleCall) or spot.in_worker or not is_model(node.module):
            return False
        return (node.grad is False or node.training is False or self.tests(spot)) and not self.beside_training(spot) and not self.constructs(spot)

    def constructs(self, spot: Spot) -> bool:
        """In a constructor of a training job that does not train: the model's sizes are found out by a first run."""
        if self.step.kind != "training":
            return False
        trains = {id(node) for one in self.step.backwards for node in one.path}
        return any(isinstance(node, CallNode) and node.symbol.endswith(".__init__") and id(node) not in trains for node in spot.path)

    def tests(self, spot: Spot) -> bool:
        """In a loop of its own, in a function that is named for it and trains nothing, though it neither says eval() nor no_grad()."""
        shared = {id(node) for one in self.step.backwards for node in one.path}
        own = [node for node in spot.path if id(node) not in shared]
        named = [place for place, node in enumerate(own) if isinstance(node, CallNode) and named_evaluation(node)]
        return bool(shared and named) and any(isinstance(node, LoopNode) for node in own[named[0] :])

    def beside_training(self, spot: Spot) -> bool:
        """In the step, as often as the step trains: a teacher, an encoder or a target network that is only read."""
        if self.step.loop is None or not spot.holds(self.step.loop) or not self.step.backwards:
            return False
        steps = [one.order for one in self.step.optimizers if one.holds(self.step.loop)]
        if isinstance(spot.node, ModuleCall) and spot.node.grad is False and steps and spot.order > max(steps):
            return False  # when the parameters are new: nothing of it is learned from
        shared = {id(node) for one in self.step.backwards for node in one.path}
        between = [node for node in spot.below(self.step.loop) if id(node) not in shared]
        if any(isinstance(node, CallNode) and EVALUATION_WORDS.search(node.symbol.rpartition(".")[2]) for node in between):
            return False
        if any(isinstance(node, LoopNode) or (isinstance(node, BranchNode) and node.period is not None) for node in between):
            return False
        trains = isinstance(spot.node, ModuleCall) and spot.node.training is not False
        return trains or not any(isinstance(node, BranchNode) for node in between)

    def roots(self, wanted: list[Spot], against: list[Spot]) -> list[Node]:
        """For each wanted spot the outermost region below the loops it shares with ``against`` that holds none of those."""
        barred = {id(node) for spot in against for node in spot.path} | {id(spot.node) for spot in against}
        found: list[Node] = []
        for spot in wanted:
            for node in spot.path[own_rounds(spot.path, barred) :]:
                if isinstance(node, REGIONS) and id(node) not in barred:
                    if not any(node is one for one in found):
                        found.append(node)
                    break
            else:
                if not any(spot.node is one for one in found):
                    found.append(spot.node)
        return found

    def reports_evaluation(self, spot: Spot) -> bool:
        """A log, a read, a collective or data in the branch that evaluates and does not train: what the evaluation found."""
        node = spot.node
        if not isinstance(node, Event) or node.kind not in REPORTED or node.data.get("internal") or spot.in_module:
            return False
        branches = [one for one in spot.below(self.step.loop) if isinstance(one, BranchNode)]
        branches = [one for one in branches if id(one) not in self.training]
        if node.kind in ("log", "sync"):
            branches = branches[-1:]
        return any(any(one is root for root in self.evaluation) for branch in branches for one in branch.children)

    def acts(self, spot: Spot) -> bool:
        """Before the environment's step, in the job's step: the policy is asked what to do."""
        if not self.acting or spot.order > self.acting[-1].order or not spot.holds(self.step.loop):  # type: ignore[arg-type]
            return False
        node = spot.node
        return isinstance(node, ModuleCall) or (isinstance(node, Event) and node.kind in ("sync", "copy", "data"))

    def rolled_out(self, root: Node, evals: list[Spot]) -> bool:
        """In every step, before its backward, the model generates what the step then learns from."""
        loop, inside = self.step.loop, [spot for spot in evals if spot.holds(root)]
        if loop is None or not inside or not self.step.backwards or calls_evaluation(root):
            return False
        first = min(spot.order for spot in self.step.backwards)
        for spot in inside:
            if not spot.holds(loop) or spot.order > first:
                return False
            below = spot.below(loop)
            before = below[: next((place for place, node in enumerate(below) if node is root), 0) + 1]
            if any(isinstance(node, BranchNode) or calls_evaluation(node) for node in before):
                return False
        return any(isinstance(node, LoopNode) for spot in inside for node in spot.below(root))

    def generated(self, spot: Spot) -> bool:
        """After what the model generated in this step, in the region that did: its batch is made of that."""
        root = self.root(spot, self.rollout)
        runs = self.generates.get(id(root), [])
        if not runs or spot.order < max(one.order for one in runs):
            return False
        return not any(called_in(one) is called_in(spot) and one.loops()[-1:] == spot.loops()[-1:] for one in runs)  # the next round's tokens

    def root(self, spot: Spot, roots: list[Node]) -> Node | None:
        for node in (*spot.path, spot.node):
            if any(node is one for one in roots):
                return node
        return None

    def phase(self, spot: Spot) -> str | None:
        """``evaluation``, ``checkpoint`` or None."""
        node = spot.node
        if isinstance(node, Event) and (node.kind == "checkpoint" or node.data.get("carrier") == "checkpoint"):
            if node.kind == "checkpoint" and node.data.get("action") == "save" and id(node) not in self.saves:
                return None
            return "checkpoint" if node.data.get("action") != "load" else None
        if self.root(spot, self.evaluation) is not None:
            return "evaluation"
        if self.root(spot, self.rollout) is not None or self.acts(spot):
            return "data"
        if self.root(spot, self.checkpoint) is not None:
            return "checkpoint"
        return "evaluation" if self.reports_evaluation(spot) else None


def called_in(spot: Spot) -> CallNode | None:
    """The innermost call of a function that the place lies in."""
    return next((one for one in reversed(spot.path) if isinstance(one, CallNode)), None)


def makes(event: Event) -> bool:
    """A model is wrapped or goes to the device, an optimizer is made."""
    if event.kind == "wrap" or (event.kind == "compute" and event.data.get("key") == "optimizer"):
        return True
    return event.kind == "copy" and event.data.get("direction") == "H2D" and event.data.get("carrier") == "module"


def copied_to_save(spot: Spot) -> bool:
    """Tensors brought to the host in a function that is named for saving."""
    call = called_in(spot)
    return call is not None and spot.node.data.get("sync") == "cpu" and bool(SAVES.search(call.symbol.rpartition(".")[2]))  # type: ignore[attr-defined]


def is_condition(node: Node) -> bool:
    """A branch that is taken on some rounds, whatever the rank."""
    return isinstance(node, BranchNode) and node.ranks is None


def evaluates_by_name(spot: Spot) -> bool:
    """Something on the device or of the data, without gradients, in a function that is called an evaluation."""
    node = spot.node
    if not isinstance(node, Event) or node.kind not in ("sync", "copy", "fetch"):
        return False
    return any(calls_evaluation(one) for one in spot.path) and any(isinstance(one, ScopeNode) and one.qname in NO_GRADIENTS for one in spot.path)


def own_rounds(path: Sequence[Node], barred: set[int]) -> int:
    """Where on the way the condition of one callback stands, that acts in some rounds: its loop is not its own."""
    looped = False
    for place, node in enumerate(path):
        looped |= isinstance(node, LoopNode) and node.over in ("list", "container") and id(node) not in barred
        if looped and isinstance(node, BranchNode) and node.period is not None:
            return place
    return 0


def calls_evaluation(node: Node) -> bool:
    """A call of a function that is named for evaluation, whatever it does."""
    return isinstance(node, CallNode) and bool(EVALUATES.search(node.symbol.rpartition(".")[2]))


def named_evaluation(root: Node) -> bool:
    """The root of a region that does what an evaluation does: a name that hints at one is enough."""
    return isinstance(root, CallNode) and bool(EVALUATION_WORDS.search(root.symbol.rpartition(".")[2]))
