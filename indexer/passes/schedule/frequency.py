"""How often a place is reached: the innermost unit that holds it, its period and guard, and the repeats within it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, Event, LoopNode, Node, ScopeNode
from cgx.indexer.passes.schedule.counts import as_count, loop_count, product, sure_count
from cgx.indexer.passes.schedule.step import Step
from cgx.indexer.passes.schedule.tree import Spot

ONCE = re.compile(r"^[\w.\[\]'\" \-+]+ == -?\d+$")  # a counter compared with one number

GRADIENT = re.compile(r"\bgrad is |requires_grad|is not None|is None")  # parameters without one are the exception
ELEMENT = "another element"  # alternatives of one loop over a known list: each stands for its own rounds, not for a condition


def unit_loop(spot: Spot, step: Step) -> LoopNode | None:
    """The innermost loop round the spot whose unit has a name."""
    for loop in reversed(spot.outer_loops()):
        if step.unit(loop):
            return loop
    return None


def guard_text(branches: list[BranchNode]) -> str:
    """Conditions round a place, as one text."""
    texts: list[str] = []
    for branch in branches:
        text = plainly(branch.text)
        if text and text not in texts and ELEMENT not in text:
            texts.append(text)
    if len(texts) == 1:
        return texts[0]
    return " and ".join(f"({text})" if " or " in text or " if " in text else text for text in texts)


def plainly(text: str) -> str:
    """The condition without what is negated twice."""
    while text.startswith("not (not (") and whole(text[4:]) and whole(text[9:-1]):
        text = text[10:-2]
    return text


def whole(text: str) -> bool:
    """The text is one expression in parentheses, behind a ``not`` or by itself."""
    depth = 0
    inner = text.removeprefix("not ")
    for index, char in enumerate(inner):
        depth += (char == "(") - (char == ")")
        if depth == 0 and index < len(inner) - 1:
            return False
    return depth == 0 and inner.startswith("(")


GRAPH = "torch.cuda.graph"


def replayed(spot: Spot) -> int:
    """How many of the nodes round the spot lie outside a captured graph: what stands in one is issued by each replay."""
    return next((index for index, one in enumerate(spot.path) if isinstance(one, ScopeNode) and one.qname == GRAPH), 0)


def first_round(spot: Spot) -> BranchNode | None:
    """The outermost branch round the spot that is taken in the first iteration of a loop alone."""
    return next((one for one in spot.path[replayed(spot) :] if isinstance(one, BranchNode) and one.first is not None), None)


def steady(found: list[Spot]) -> list[Spot]:
    """Those that each round reaches; all of them where none does."""
    return [spot for spot in found if first_round(spot) is None] or found


def usual(found: list[Spot]) -> list[Spot]:
    """Those that are in each step, beside what runs in periods of its own, such as a probe; all of them where none is."""
    return [spot for spot in found if not any(one.period is not None and one.period[1] != 1 for one in spot.branches())] or found


def single_round(spot: Spot) -> BranchNode | None:
    """The outermost branch that is taken in one round of a loop alone, whichever."""
    return first_round(spot) or next((one for one in spot.path if isinstance(one, BranchNode) and one.once), None)


def first_unit(spot: Spot, branch: BranchNode, step: Step) -> tuple[LoopNode | None, tuple[Node, ...]]:
    """The unit loop round the loop in whose first iteration the branch is taken, and the path below it."""
    outer: LoopNode | None = None
    for index, node in enumerate(spot.path):
        if node is branch:
            break
        if isinstance(node, LoopNode) and (node.anchor == branch.first or (branch.once and str(node.anchor) == branch.once)):
            return outer, spot.path[index:]
        if isinstance(node, LoopNode) and step.unit(node):
            outer = node
    loop = unit_loop(spot, step)
    return loop, spot.below(loop)


def frequency_of(spot: Spot, step: Step) -> dict[str, Any]:
    """The contract's ``frequency``."""
    loop, below = unit_loop(spot, step), spot.below(unit_loop(spot, step))
    first = single_round(spot)
    if first is not None:
        loop, below = first_unit(spot, first, step)
    outside = set(spot.path[: replayed(spot)])
    branches = [one for one in below if isinstance(one, BranchNode) and one.later is None and not (one.first is not None and one in outside)]
    unit = step.unit(loop) if loop is not None else None
    row: dict[str, Any] = {"per": unit or "job"}
    if loop is None:
        return with_guard(row, branches)
    boundary = [one for one in branches if at_the_boundary(one, step)]
    if boundary:
        branches = [one for one in branches if one not in boundary]
        row["per"] = "step"
    elif unit == "micro-step" and any(within_boundary(one, step) for one in branches):
        row["per"] = "step"
    every = 1
    periods = [one for one in branches if is_period(one) and not inner_loop(spot, loop, one)]
    for branch in branches:
        if branch in periods:
            period = as_count(branch.period[1]) if branch.period else None
            every = None if every is None or period is None else math.lcm(every, period)  # type: ignore[assignment]  # both hold
        elif ONCE.match(branch.text) and not branch.decided and counts_up(branch.text, loop):
            row["per"] = "job"
    if row["per"] != "job" and periods:
        row["every"] = every
    return with_guard(row, branches)


def at_the_boundary(branch: BranchNode, step: Step) -> bool:
    """The branch in which the optimizer steps, or another that holds in the same micro-steps."""
    if step.accumulate_branch is None:  # a period of one is no condition
        return is_period(branch) and as_count(branch.period[1]) == 1 and any(spot.holds(branch) for spot in step.optimizers)  # type: ignore[index]
    return branch is step.accumulate_branch or (branch.ranks is None and branch.period is not None and branch.period == step.accumulate_branch.period)


def within_boundary(branch: BranchNode, step: Step) -> bool:
    """``not waits and steps % 100 == 0``: at some of the micro-steps in which the optimizer steps."""
    steps = step.accumulate_branch
    return steps is not None and steps.ranks is None and branch.text != steps.text and f" and {steps.text} and " in f" and {branch.text} and "


def counts_up(text: str, loop: LoopNode) -> bool:
    """The condition speaks of a counter of the loop: it holds in one round of all."""
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    return bool(names & {str(one) for one in loop.counters} or names & set(re.findall(r"[A-Za-z_]\w*", loop.target)))


def is_period(branch: BranchNode) -> bool:
    """``counter % N == rest``, where the counter is no rank."""
    return branch.period is not None and (branch.ranks is None or "rank" not in str(branch.period[0]).lower())


def inner_loop(spot: Spot, unit: LoopNode, branch: BranchNode) -> bool:
    """A loop lies between the unit's and the branch: its counter is not the unit's, unless the unit's loop counts it up.

    A loop over callbacks, which are asked one after the other, counts nothing that it does not name.
    """
    counter = str(branch.period[0]) if branch.period is not None else ""
    if counter and counts_up(counter, unit):
        return False
    for node in spot.below(unit):
        if node is branch:
            return False
        if isinstance(node, LoopNode) and not (counter and node.over in ("list", "container") and not counts_up(counter, node)):
            return True
    return False


def with_guard(row: dict[str, Any], branches: list[BranchNode]) -> dict[str, Any]:
    text = guard_text(branches)
    if text:
        row["guard"] = text
    return row


def repeat_of(spot: Spot, step: Step) -> int | None:
    """Times within one unit: the counts of the loops below it, without those that reach the place in one round only."""
    first = single_round(spot)
    loop = unit_loop(spot, step) if first is None else first_unit(spot, first, step)[0]
    loops = [one for one in loops_inside(spot, loop) if first is None or one in spot.below(first)]
    return product(sure_rounds(spot, one) for one in loops if one is not step.retry and not in_one_round(spot, one))


def sure_rounds(spot: Spot, loop: LoopNode) -> int | None:
    """The loop's count; None where a condition on its elements, that is not known, keeps some of the rounds out."""
    for node in spot.below(loop):
        if isinstance(node, LoopNode):
            break
        if isinstance(node, BranchNode) and chooses(node, loop):
            return None
    return sure_count(loop)


def chooses(branch: BranchNode, loop: LoopNode) -> bool:
    """An undecided condition that speaks of the loop's element, and of nothing that is a period or one round."""
    if branch.decided or branch.period is not None or branch.ranks is not None or branch.first is not None or branch.later is not None or branch.once:
        return False
    if ELEMENT in branch.text or GRADIENT.search(branch.text) or ONCE.match(branch.text):
        return False
    return bool(set(re.findall(r"[A-Za-z_]\w*", branch.text)) & set(re.findall(r"[A-Za-z_]\w*", loop.target)))


def in_one_round(spot: Spot, loop: LoopNode) -> bool:
    """A branch right in the loop holds where its counter is one number."""
    for node in spot.below(loop):
        if isinstance(node, LoopNode):
            return False
        if isinstance(node, BranchNode) and ELEMENT in node.text:
            return loop_count(loop) is not None  # more elements than those that are known: how many are such is not known
        if isinstance(node, BranchNode) and not node.decided and ONCE.match(node.text) and counts_up(node.text, loop):
            return True
    return False


def loops_inside(spot: Spot, unit: LoopNode | None) -> list[LoopNode]:
    """Loops below the unit that are evaluated once for all iterations. Per-index ones stand as often as they run."""
    loops = [one for one in spot.below(unit) if isinstance(one, LoopNode)]
    return [one for one in (loops[:-1] if at_once(spot) else loops) if not one.iterations]


def at_once(spot: Spot) -> bool:
    """What is done parameter by parameter counts as done once: the innermost loop goes over them."""
    return isinstance(spot.node, Event) and bool(spot.node.data.get("once"))


def repeat_in_step(spot: Spot, step: Step, samples: bool = True) -> int | None:
    """Times within one step. Without ``samples`` what a comprehension does for each sample of a batch counts once."""

    def product_of(loops: Iterable[LoopNode]) -> int | None:
        counted = (one for one in loops if one is not step.retry and (samples or one.over != "comprehension"))
        return product(loop_count(one) if step.unit(one) else sure_rounds(spot, one) for one in counted)

    if step.loop is None and step.micro is not None and spot.holds(step.micro):
        return product_of(one for one in [step.micro, *loops_inside(spot, step.micro)] if not in_one_round(spot, one))
    if step.loop is None or not spot.holds(step.loop):
        return repeat_of(spot, step) if samples else product_of(loops_inside(spot, unit_loop(spot, step)))
    if step.accumulate_branch is not None and not spot.holds(step.accumulate_branch):
        return product([step.accumulate, product_of(loops_inside(spot, step.loop))])
    return product_of(loops_inside(spot, step.loop))
