"""Which part of the job is its step: found by what it does.

Training: the innermost loop that holds both a backward and the optimizer's step; a loop inside it that holds forward and
backward but not the optimizer's step is the micro-step loop. Else the loop round the calls of the model, with the loop of
tokens or denoising steps inside it. The entry point is the loop body, or the one function the body calls that does it all.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

from cgx.indexer.interpreter.trace import (
    SEARCH,
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
from cgx.indexer.interpreter.values import ModuleInstance, Opaque, Unknown, Value
from cgx.indexer.overlays.outside_models import MODEL as OUTSIDE
from cgx.indexer.passes.schedule.counts import as_count, loop_count
from cgx.indexer.passes.schedule.micro_steps import spread
from cgx.indexer.passes.schedule.tree import Spot, child_lists, events, heads, spots
from cgx.model.anchors import Anchor

TOKEN_WORDS = re.compile(r"token|seq(uence)?_?len|max_len|max_length|decode|generat", re.IGNORECASE)
DENOISE_WORDS = re.compile(r"timestep|denois|diffusion|num_steps|sigmas|n_steps|sampling_steps|inference_steps|\btime_pairs\b", re.IGNORECASE)
STEP_CALL = re.compile(r"(^|_)(step|loop|iteration|tick)$", re.IGNORECASE)
WARM_UP = re.compile(r"warm_?up|dry_?run|lr_?find|find_?lr|sanity", re.IGNORECASE)
FAR = 20  # so many times longer is the loop that another one rehearses
SET_UP = re.compile(r"__init__$|warm_?up|capture|load_model|build_model", re.IGNORECASE)
PICKS = frozenset({"multinomial", "argmax", "topk", "exponential_", "sort"})
MODEL_LIBRARIES = frozenset({"torchvision", "timm", "transformers", "diffusers", "segmentation_models_pytorch", "open_clip", "clip", "peft", "torchaudio"})
DEVICE_EVENTS = ("sync", "copy", "collective")


@dataclass(eq=False)
class Step:
    """``kind``: training, inference serving or batch. ``loop`` holds the step; ``micro`` repeats inside it.

    ``accumulate``: micro-steps of a step, where a loop or a guard says so. ``units``: loop -> name of its unit.
    ``rehearsals``: loops before it that train as well, to warm up.
    """

    kind: str
    loop: LoopNode | None = None
    micro: LoopNode | None = None
    entry: Anchor | None = None
    entry_node: Node | None = None
    accumulate: int | None = None
    accumulate_branch: BranchNode | None = None
    micro_place: LoopNode | None = None  # where no one loop holds the micro-steps: the one with the most of them
    retry: LoopNode | None = None  # runs forward and backward again where the first run failed
    forwards: list[Spot] = field(default_factory=list)
    backwards: list[Spot] = field(default_factory=list)
    optimizers: list[Spot] = field(default_factory=list)
    units: dict[int, str] = field(default_factory=dict)
    rehearsals: list[LoopNode] = field(default_factory=list)

    def unit(self, loop: Node) -> str | None:
        return self.units.get(id(loop))


def is_model(module: ModuleInstance) -> bool:
    """A module that owns parameters somewhere, or a part whose source is not there: a loss without any is none."""
    stack = [module]
    while stack:
        one = stack.pop()
        if any(value is not None for value in one.parameters.values()) or any(is_foreign(value) for value in one.attrs.values()):
            return True
        stack.extend(child for child in one.children.values() if isinstance(child, ModuleInstance))
        elsewhere = [value.attrs.get("value") for value in one.attrs.values() if isinstance(value, Opaque)]  # on another worker
        stack.extend(value for value in elsewhere if isinstance(value, ModuleInstance))
    return False


def is_foreign(value: Value) -> bool:
    """A part made by a library that is not read."""
    if isinstance(value, Unknown):
        return value.reason == "missing-module"
    return isinstance(value, Opaque) and value.qname.partition(".")[0] in MODEL_LIBRARIES


def step_of(trace: Trace, found: list[Spot] | None = None) -> Step:
    """The step of the job. Works on any trace; without a loop the entry point is the function or line that runs the model."""
    found = spots(trace) if found is None else found
    backwards = [spot for spot in events(found, "compute", "backward") if not spot.in_worker]
    optimizers = [spot for spot in events(found, "compute", "optimizer_step") if not spot.in_worker]
    models = [spot for spot in found if isinstance(spot.node, ModuleCall) and not spot.in_worker and is_model(spot.node.module)]
    if backwards and (optimizers or any(spot.outer_loops() for spot in backwards if not of_inputs(spot))):
        return training_step(found, models, backwards, optimizers)
    runs = sorted([*models, *(spot for spot in events(found, "compute", "cuda_graphs") if replays(spot.node))], key=lambda spot: spot.order)
    return inference_step(found, runs) if runs else unseen_step(found)


def of_inputs(spot: Spot) -> bool:
    """Gradients that are handed back: where no optimizer steps, they guide samples."""
    return isinstance(spot.node, Event) and spot.node.data.get("value") == "torch.autograd.grad"


def without_other_training(found: list[Spot], step: Step) -> list[Spot]:
    """Without what runs where the step does not: the other side of an undecided condition, where it trains as well.

    ``if there is a checkpoint: train from it, else: train``: a run takes one of them, and the condition stands as unresolved.
    Nor what the same body does with what a generator gives at a later place: the rest of its last round.
    """
    sides = [*opposite_sides(found, step), *later_yields(step)]
    others = [other for other in sides if any(spot.holds(other) for spot in events(found, "compute", "backward"))]
    return [spot for spot in found if not any(spot.node is other or spot.holds(other) for other in others)] if others else found


def later_yields(step: Step) -> list[Node]:
    """Runs of one loop's body at further places of the generator that it goes through."""
    found: list[Node] = []
    for spot in step.backwards:
        for call in spot.path:
            if isinstance(call, CallNode) and call.yields:
                bodies = [one for one in call.walk() if isinstance(one, LoopNode) and heads(one, call.anchor)]
                found += [one for one in bodies[1:] if not any(one is other for other in found)]
    return found


def opposite_sides(found: list[Spot], step: Step) -> list[BranchNode]:
    """The other sides of the undecided conditions round the step's loop."""
    within = next((spot for spot in (*step.backwards, *step.forwards) if step.loop is not None and spot.holds(step.loop)), None)
    if within is None:
        return []
    around = within.path[: next(place for place, node in enumerate(within.path) if node is step.loop)]
    sides: list[BranchNode] = []
    for parent, node in itertools.pairwise(around):
        if isinstance(node, BranchNode) and not node.decided:
            beside = [one for children in child_lists(parent) for one in children]
            sides += [
                one for one in beside
                if isinstance(one, BranchNode) and one is not node and one.anchor == node.anchor and node.text == negation(one.text)
            ]  # fmt: skip
    return sides


def negation(text: str) -> str:
    return text.removeprefix("not (").removesuffix(")") if text.startswith("not (") else f"not ({text})"


def replays(node: Node) -> bool:
    """The replay of a captured graph: the model's run."""
    return isinstance(node, Event) and node.data.get("key") == "cuda_graphs" and node.data.get("value") == "replay"


def training_step(found: list[Spot], models: list[Spot], backwards: list[Spot], optimizers: list[Spot]) -> Step:
    step = Step("training", backwards=backwards, optimizers=optimizers)
    choose_loop(step)
    inside = [spot for spot in models if step.loop is None or spot.holds(step.loop)]
    step.forwards = [spot for spot in inside if trains(spot)] or inside
    step.forwards = [spot for spot in step.forwards if isinstance(spot.node, ModuleCall) and not frozen(spot.node.module)] or step.forwards
    step.micro = micro_loop(step)
    if spread(step):
        pass
    elif step.micro is not None:
        step.accumulate = loop_count(step.micro)
    else:
        guarded_accumulation(step)
    name_units(step)
    choose_entry(step, found)
    return step


def trains(spot: Spot) -> bool:
    node = spot.node
    return isinstance(node, ModuleCall) and node.grad is not False and node.training is not False


def frozen(module: ModuleInstance) -> bool:
    """All weights that are known in it are frozen, and what is not known of it is in evaluation mode: it encodes what another learns from."""
    stack, held = [module], False
    while stack:
        one = stack.pop()
        stack.extend(child for child in one.children.values() if isinstance(child, ModuleInstance))
        weights = [value for value in one.parameters.values() if value is not None]
        if any(getattr(value, "requires_grad", None) is not False for value in weights):
            return False
        outside = one.cls.derives(OUTSIDE) or any(is_foreign(value) for value in one.attrs.values())
        if outside and one.training is not False:
            return False
        held |= bool(weights) or outside
    return held


def step_loops(backwards: list[Spot], optimizers: list[Spot]) -> list[Spot]:
    """For each the innermost loop with both; where no optimizer's step was seen, the innermost round a backward.

    As places whose last outer loop it is.
    """
    if not optimizers:
        return [spot for spot in backwards if spot.outer_loops()]
    found = []
    for optimizer in optimizers:
        loops = optimizer.outer_loops()
        while loops and not any(spot.holds(loops[-1]) for spot in backwards):
            loops.pop()
        if loops:
            found.append(Spot(optimizer.node, (*optimizer.path[: optimizer.path.index(loops[-1]) + 1],), optimizer.order))
    return found


def choose_loop(step: Step) -> None:
    """The first of them that is no rehearsal: one that is named so, or far shorter than another after it."""
    places = step_loops(step.backwards, step.optimizers)
    if not places:
        return
    chosen = next((one for place, one in enumerate(places) if not any(rehearses(one, later) for later in places[place + 1 :])), places[0])
    step.loop = chosen.outer_loops()[-1]
    step.rehearsals += [one.outer_loops()[0] for one in places if one.order < chosen.order and one.outer_loops()[0] is not chosen.outer_loops()[0]]
    dry = dry_runs(step, chosen)
    step.rehearsals += [one.outer_loops()[0] for one in dry if one.outer_loops()]
    step.backwards = [one for one in step.backwards if not any(one is other for other in dry)]
    step.backwards, step.optimizers = ([one for one in some if not any(one.holds(loop) for loop in step.rehearsals)] for some in (step.backwards, step.optimizers))


def dry_runs(step: Step, chosen: Spot) -> list[Spot]:
    """Backwards before the step's loops that no optimizer follows there: a batch that is only tried."""
    within = [one for one in step.backwards if one.holds(step.loop)]  # type: ignore[arg-type]
    if not within or not step.optimizers:
        return []
    around = {id(loop) for loop in chosen.outer_loops()}
    return [one for one in step.backwards if one.order < within[0].order and not around & {id(loop) for loop in one.outer_loops()}]


def rehearses(one: Spot, later: Spot) -> bool:
    mine, theirs = one.outer_loops(), later.outer_loops()
    if mine[0] is theirs[0]:
        return False
    if WARM_UP.search(mine[0].expr) or any(isinstance(node, CallNode) and WARM_UP.search(node.symbol) for node in one.path):
        return True
    counts = as_count(mine[0].count), as_count(theirs[0].count)
    return counts[0] is not None and counts[1] is not None and counts[0] * FAR < counts[1]


def micro_loop(step: Step) -> LoopNode | None:
    """A loop below the step's with a forward and a backward in it, and no optimizer's step."""
    for spot in step.backwards:
        for loop in loops_below(spot, step.loop):
            if loop.over == SEARCH or any(one.holds(loop) for one in step.optimizers):
                continue
            if any(one.holds(loop) for one in step.forwards):
                return loop
    return None


def loops_below(spot: Spot, loop: LoopNode | None) -> list[LoopNode]:
    below = spot.below(loop)
    return [one for one in spot.outer_loops() if any(one is node for node in below)]


def guarded_accumulation(step: Step) -> None:
    """``if (i + 1) % accum == 0: optimizer.step()``: the loop's body is a micro-step."""
    if not step.optimizers or step.loop is None:
        return
    optimizer = step.optimizers[0]
    for node in optimizer.below(step.loop):
        if isinstance(node, BranchNode) and node.period and node.ranks is None and not any(spot.holds(node) for spot in step.backwards):
            every = as_count(node.period[1])
            if every is None or every > 1:
                step.accumulate, step.accumulate_branch = every, node
            return


def name_units(step: Step) -> None:
    """Names of the unit loops: the step's own, those round it, the one inside it."""
    if step.loop is None:
        return
    guarded = step.accumulate_branch is not None
    step.units[id(step.loop)] = "micro-step" if guarded else {"training": "step", "batch": "step"}.get(step.kind, "request")
    anchor = next(iter(step.backwards or step.forwards), None)
    for loop in anchor.outer_loops() if anchor else []:
        if loop is step.loop:
            break
        step.units[id(loop)] = "epoch"
    if step.micro is not None:
        step.units[id(step.micro)] = "micro-step"


def choose_entry(step: Step, found: list[Spot]) -> None:
    """The outermost function under the loop that holds all that the step does on the device, else the loop."""
    marks = [spot for spot in (*step.forwards, *step.backwards, *step.optimizers) if step.loop is None or spot.holds(step.loop)]
    for kind in DEVICE_EVENTS:
        marks += [
            spot for spot in events(found, kind)
            if step.loop is not None and spot.holds(step.loop) and not any(isinstance(one, BranchNode) for one in spot.below(step.loop))
            and not spot.in_worker and not internal(spot)
        ]  # fmt: skip
    if not marks:
        step.entry_node = step.loop
        step.entry = step.loop.anchor if step.loop else None
        return
    for node in entered(marks[0], step):
        if isinstance(node, CallNode) and not node.symbol.endswith("<module>") and all(spot.holds(node) for spot in marks):
            step.entry_node, step.entry = node, node.target or node.anchor
            if step.loop is not None or node is innermost_common(marks, entered(marks[0], step)):
                return
        elif isinstance(node, ModuleCall):
            break
    if step.loop is not None and step.entry is None:
        step.entry_node, step.entry = step.loop, step.loop.anchor
    elif step.entry is None:
        first = marks[0].node
        step.entry = first.called_from if isinstance(first, ModuleCall) else first.anchor


def entered(mark: Spot, step: Step) -> tuple[Node, ...]:
    """The nodes round a mark under the step's loop; where there is none, only those round the loop of tokens."""
    below = mark.below(step.loop)
    if step.loop is None and step.micro is not None and any(node is step.micro for node in below):
        return below[: next(place for place, node in enumerate(below) if node is step.micro)]
    return below


def internal(spot: Spot) -> bool:
    return isinstance(spot.node, Event) and bool(spot.node.data.get("internal"))


def innermost_common(marks: list[Spot], path: tuple[Node, ...]) -> Node | None:
    """The innermost function that holds all marks."""
    common = [node for node in path if isinstance(node, CallNode) and all(spot.holds(node) for spot in marks)]
    return common[-1] if common else None


def inference_step(found: list[Spot], models: list[Spot]) -> Step:
    looped = main_group([spot for spot in models if spot.outer_loops()])
    step = Step("inference serving", forwards=looped or models)
    if looped:
        step.loop = common_loop(looped)
        if step.loop is None:
            step.loop = looped[0].outer_loops()[0]
            step.forwards = [spot for spot in looped if spot.holds(step.loop)]
        if step.loop.carries or (only_tokens(step.loop) and not steps_engine(looped[0], step.loop)):
            around = [loop for loop in looped[0].outer_loops() if step.loop in loops_below(looped[0], loop)]
            step.micro, step.loop = step.loop, around[-1] if around else None
            step.forwards = [spot for spot in models if step.loop is None or spot.holds(step.loop)]
            if step.loop is None:
                step.forwards = [spot for spot in step.forwards if spot.holds(step.micro) or not repeats_micro(spot, step.micro)]
                step.units[id(step.micro)] = repeat_unit(step.micro, found) or "token"
    if step.loop is not None and (step.loop.over == "loader" or step.loop.symbol.endswith("DataLoader")):
        step.kind = "batch"
    inner = [loop for spot in step.forwards for loop in loops_below(spot, step.loop)]
    name_units(step)
    named = [loop for loop in inner if repeat_unit(loop, found)]
    for loop in named:
        step.units[id(loop)] = repeat_unit(loop, found) or ""
    if named and step.micro is None:
        step.micro = next((loop for loop in reversed(named) if loop.carries), named[-1])
    choose_entry(step, found)
    if step.loop is not None and isinstance(step.entry_node, CallNode) and step.kind != "batch" and step.micro is None and stepped(step.entry_node, step.loop):
        step.units[id(step.loop)] = "step"  # an engine that is stepped
    return step


def unseen_step(found: list[Spot]) -> Step:
    """Nothing that runs is a module: the step is a round of the loop in which most is done on the device."""
    step = Step("inference serving")
    places: dict[int, set[str]] = {}
    loops: dict[int, LoopNode] = {}
    for kind in DEVICE_EVENTS:
        for spot in events(found, kind):
            outer = [loop for loop in spot.outer_loops() if not loop.iterations]
            if outer and not spot.in_worker and not sets_up(spot):
                loops[id(outer[0])] = outer[0]
                places.setdefault(id(outer[0]), set()).add(str(spot.anchor))
    if not loops:
        return step
    endless = {key for key, loop in loops.items() if loop.over == "while" and as_count(loop.count) is None}
    most = max((key in endless, len(lines)) for key, lines in places.items())
    step.loop = [loop for key, loop in loops.items() if (key in endless, len(places[key])) == most][-1]
    name_units(step)
    inside = [spot for kind in DEVICE_EVENTS for spot in events(found, kind) if spot.holds(step.loop)]
    step.entry_node, step.entry = step.loop, step.loop.anchor
    for node in inside[0].below(step.loop):
        if isinstance(node, CallNode) and all(spot.holds(node) for spot in inside):
            step.entry_node, step.entry = node, node.target or node.anchor
            step.units[id(step.loop)] = "step"
            break
    return step


def main_group(looped: list[Spot]) -> list[Spot]:
    """The calls of the loop that the job is there for, where several loops beside each other run models.

    A loop round loops, as one over requests, comes before a single one, as of a warm-up; one whose rounds build on each other
    before one that goes through parts; of equal ones that stand at the same line the last.
    """
    groups: dict[int, list[Spot]] = {}
    for spot in looped:
        groups.setdefault(id(spot.outer_loops()[0]), []).append(spot)
    if len(groups) < 2:
        return looped
    working = {key: group for key, group in groups.items() if not all(sets_up(spot) for spot in group)}
    groups = working or groups

    def weight(group: list[Spot]) -> tuple[int, bool]:
        return max(len(spot.outer_loops()) for spot in group), any(loop.carries for spot in group for loop in spot.outer_loops())

    best = max(weight(group) for group in groups.values())
    chosen = [group for group in groups.values() if weight(group) == best]
    lines = {str(spot.outer_loops()[-1].anchor) for spot in chosen[0]}
    alike = [group for group in chosen if {str(spot.outer_loops()[-1].anchor) for spot in group} & lines]
    return alike[-1]


def sets_up(spot: Spot) -> bool:
    """Inside the making of an object, a warm-up, or the capture of a graph."""
    return any(
        (isinstance(one, CallNode) and SET_UP.search(one.symbol.rpartition(".")[2])) or (isinstance(one, ScopeNode) and one.qname == "torch.cuda.graph")
        for one in spot.path
    )


def repeats_micro(spot: Spot, micro: LoopNode) -> bool:
    """The spot lies in a loop at the same line: another run of it, as a warm-up."""
    return any(loop.anchor == micro.anchor for loop in spot.outer_loops())


def common_loop(looped: list[Spot]) -> LoopNode | None:
    """The innermost loop round all of them; one of a single round, as over the one crop of an image, only where there is no other."""
    common = [loop for loop in reversed(looped[0].outer_loops()) if all(spot.holds(loop) for spot in looped)]
    return next((loop for loop in common if loop_count(loop) != 1), common[0] if common else None)


def repeat_unit(loop: LoopNode, found: list[Spot]) -> str | None:
    """``token`` where a round picks one, or ``denoising step``; else by the words of the loop's bound and function.

    None for rounds of their own, as over crops, clips or settings to try: they repeat within the request.
    """
    if loop.carries and any(spot.holds(loop) and picks_token(spot) for spot in found):
        return "token"
    if DENOISE_WORDS.search(f"{own_words(loop)} {loop.symbol} {loop.anchor.symbol} {loop.anchor.path}" if counted(loop) or loop.carries else own_words(loop)):
        return "denoising step"
    if loop.carries:
        return "token" if TOKEN_WORDS.search(f"{own_words(loop)} {loop.symbol} {loop.anchor.symbol}") else "denoising step"
    return "token" if TOKEN_WORDS.search(own_words(loop)) else None


def own_words(loop: LoopNode) -> str:
    """What the loop says of itself: where it goes through things of its own, its function's name tells nothing of its rounds."""
    return f"{loop.expr} {loop.target} {loop.anchor.symbol if counted(loop) else ''}"


def counted(loop: LoopNode) -> bool:
    return loop.over in ("range", "while")


def picks_token(spot: Spot) -> bool:
    return isinstance(spot.node, OpNode) and not spot.in_module and spot.node.qname.rpartition(".")[2] in PICKS


def only_tokens(loop: LoopNode) -> bool:
    """A single loop that is one of tokens or denoising steps, not of requests."""
    text = own_words(loop)
    return bool(DENOISE_WORDS.search(text) or TOKEN_WORDS.search(text)) and loop.over in ("range", "while", "list", "") and not re.search(
        r"request|prompt|sample|finished|queue", text, re.IGNORECASE
    )


def stepped(call: CallNode, loop: LoopNode) -> bool:
    """A round is a step of an engine, not a request that a known list holds."""
    return loop.over == "while" or bool(STEP_CALL.search(call.symbol.rpartition(".")[2]))


def steps_engine(spot: Spot, loop: LoopNode) -> bool:
    """A round of the loop is one call of an engine's step: requests come and go between the rounds."""
    first = next((one for one in spot.below(loop) if isinstance(one, CallNode)), None)
    return first is not None and bool(STEP_CALL.search(first.symbol.rpartition(".")[2]))
