"""Everything a row says about its place: phase, frequency, repeat, ranks, call sites, module."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cgx.indexer.interpreter.trace import CallNode, Event, LoopNode, ModuleCall, Trace
from cgx.indexer.interpreter.values import ClassValue
from cgx.indexer.passes.fold.place import stands_in
from cgx.indexer.passes.schedule.frequency import at_once, first_round, frequency_of, repeat_of
from cgx.indexer.passes.schedule.phase_of import Phases
from cgx.indexer.passes.schedule.ranks import ranks_of
from cgx.indexer.passes.schedule.regions import Regions
from cgx.indexer.passes.schedule.step import Step, is_model, replays, step_of, without_other_training
from cgx.indexer.passes.schedule.tree import Naming, Spot, events, spots
from cgx.model.anchors import Anchor


@dataclass(eq=False)
class Run:
    """One run, read once: its places, its step, its phases."""

    trace: Trace
    naming: Naming
    spots: list[Spot]
    step: Step
    regions: Regions
    phases: Phases
    busy: set[int]  # ids of loops that hold a model call or a backward
    warm: set[int]  # ids of calls before the step that run the model: warm-ups
    tree: Any = None

    @classmethod
    def of(cls, trace: Trace, tree: Any = None) -> Run:
        naming = Naming(trace)
        found = spots(trace, naming)
        step = step_of(trace, found)
        kept = without_other_training(found, step)
        if len(kept) < len(found):
            found, step = kept, step_of(trace, kept)
        regions = Regions(found, step)
        busy = {id(one) for spot in found if drives(spot) for one in spot.path if isinstance(one, LoopNode)}
        phases = Phases(found, step, regions)
        early = [spot for spot in found if isinstance(spot.node, ModuleCall) and not phases.in_step(spot) and phases.of(spot) == "startup"]
        warm = {id(one) for spot in early for one in spot.path if isinstance(one, CallNode)}
        warm -= {id(one) for spot in step.forwards for one in spot.path}
        return cls(trace, naming, found, step, regions, phases, busy, warm, tree)

    def events(self, kind: str, key: str = "") -> list[Spot]:
        """Events outside loader workers, without the last words of a branch that ends the job."""
        return [spot for spot in events(self.spots, kind, key) if not spot.in_worker and not last_words(spot)]

    def own(self, spot: Spot) -> bool:
        """In the job's own source, not in a library's that is given."""
        return self.tree is None or bool(self.tree.exists(spot.anchor.path))

    def place(self, spot: Spot) -> dict[str, Any]:
        """Fields that every placed row has, plus ``_sites``: call sites, outermost first."""
        phase = self.phases.of(spot)
        frequency = frequency_of(spot, self.step)
        if phase == "decode" and frequency.get("per") == "step":
            frequency = {**frequency, "per": "token"}
        frequency.update({} if "guard" not in frequency else {"guard": self.guard(frequency["guard"])})
        warm = {"_warm": True} if phase == "startup" and any(id(one) in self.warm for one in spot.path) else {}
        return {
            **warm,
            **({"_first": True} if first_round(spot) is not None else {}),
            **({"_both": True} if phase == "prefill" and spot.in_module and self.one_forward else {}),
            "phase": phase,
            "frequency": frequency,
            "repeat": repeat_of(spot, self.step),
            "ranks": ranks_of(spot.branches(), self.trace.world_size),
        }

    @cached_property
    def one_forward(self) -> bool:
        """One call of the model serves prefill and decode: what prepares it differs, the call does not."""
        if self.step.kind != "inference serving" or not self.step.forwards:
            return False
        decode = [spot for spot in self.spots if self.phases.in_step(spot) and isinstance(spot.node, Event) and self.phases.of(spot) == "decode"]
        calls = [spot for spot in self.spots if isinstance(spot.node, ModuleCall) and self.phases.of(spot) == "decode"]
        return bool(decode) and not calls and not any(replays(spot.node) for spot in decode)

    def model_method(self, spot: Spot) -> CallNode | None:
        """The outermost call of a method of a model round a call of one of its parts: ``model.loss(x)`` for ``self.net(x)``."""
        if spot.in_module:
            return None
        for node in spot.path:
            if isinstance(node, CallNode) and not node.yields and node.symbol.rpartition(".")[0] in self.model_classes:
                if node.symbol.rpartition(".")[2] not in node.text:
                    return None  # a hook that a trainer calls: the module's methods are the job's own code
                return None if any(one.holds(node) for one in self.step.backwards) else node
        return None

    @cached_property
    def model_classes(self) -> frozenset[str]:
        return frozenset(cls.qname for module in self.trace.modules for cls in module.cls.mro if isinstance(cls, ClassValue) and not cls.native)

    def forward_site(self, spot: Spot) -> Anchor:
        """Where the step, or what it calls, runs the model."""
        method = self.model_method(spot)
        node = spot.node
        return method.anchor if method is not None else (node.called_from if isinstance(node, ModuleCall) else None) or node.anchor

    def guard(self, text: str) -> str:
        text = plainly(text)
        return text if len(text) <= 200 else text[:197] + "..."

    def sites(self, spot: Spot) -> list[Anchor]:
        return spot.call_sites()


def plainly(text: str) -> str:
    """A condition without pairs of ``not (not (...))`` that early returns pile up."""
    if "not (not (" not in text:
        return text
    try:
        return ast.unparse(Plainly().visit(ast.parse(text, mode="eval")))
    except SyntaxError:
        return text


class Plainly(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        inner = self.visit(node.operand)
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
            operand: ast.AST = inner.operand
            return operand
        return ast.UnaryOp(node.op, inner)


def drives(spot: Spot) -> bool:
    """A call of a model, or a backward: what makes a loop one of the job's own rounds."""
    node = spot.node
    if isinstance(node, ModuleCall):
        return not spot.in_worker and is_model(node.module)
    if isinstance(node, Event) and node.kind == "compute" and node.data.get("key") in ("backward", "forward", "optimizer_step"):
        return not at_once(spot)
    return replays(node)


def last_words(spot: Spot) -> bool:
    """A device value shown where the job is about to end."""
    return spot.aborted and isinstance(spot.node, Event) and spot.node.data.get("sync") == "print"


def data_of(spot: Spot) -> dict[str, Any]:
    """Data of the event at the spot."""
    assert isinstance(spot.node, Event)
    return spot.node.data


def caller(spot: Spot) -> Anchor | None:
    """The site of the innermost plain call that leads here."""
    sites = [site for site in spot.call_sites() if site != spot.anchor and not stands_in(site)]
    return sites[-1] if sites else None
