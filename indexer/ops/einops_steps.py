"""What einops runs for a pattern: torch ops, one after the other."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Value
from cgx.indexer.ops.einops_patterns import DOTS, Side, axis_sizes, sides
from cgx.indexer.ops.rows import Step
from cgx.indexer.ops.shapes import MaybeSize, Shape, numel
from cgx.indexer.ops.tensors import like, need_shape


def steps_of(base: TensorValue, pattern: Value, given: dict[str, MaybeSize], reduction: str = "") -> list[Step]:
    """The torch ops that einops runs for a pattern, in its order: reshape, permute, reduce, add axes, reshape."""
    left, right = sides(pattern)
    found, spare = axis_sizes(left, need_shape(base), given)
    whole = [f"{DOTS}{place}" for place in range(len(spare))]  # the dimensions of "..." one by one
    found.update(zip(whole, spare))

    def spread(side: Side) -> list[list[str]]:
        groups: list[list[str]] = []
        for place, group in enumerate(side.groups):
            names = [part for name in group for part in (whole if name == DOTS else [name])]
            groups += [[name] for name in names] if place == side.dots else [names]
        return groups

    before, after = spread(left), spread(right)
    into = [name for group in before for name in group]
    out = [name for group in after for name in group]
    gone = [name for name in into if name not in out]
    order = [name for name in out if name in into] + gone
    steps = _Steps(base)
    if any(len(group) != 1 for group in before):
        steps.run("torch.Tensor.reshape", _extents(into, found))
    if order != into:
        steps.run("torch.Tensor.permute", _extents(order, found))
    if gone:
        _reduce_steps(steps, reduction, order, gone, found)
    kept = [name for name in order if name not in gone]
    added = [(place, name) for place, name in enumerate(out) if name not in into]
    for place, _ in added:
        kept.insert(place, "1")
        steps.run("torch.unsqueeze", _extents(kept, found))
    if added:
        steps.run("torch.Tensor.expand", _extents(out, found))
    if any(len(group) != 1 for group in after):
        steps.run("torch.Tensor.reshape", tuple(numel(_extents(group, found)) for group in after))
    return steps.done


class _Steps:
    """The ops so far, and the tensor that they have made."""

    def __init__(self, base: TensorValue) -> None:
        self.now, self.done = base, list[Step]()

    def run(self, name: str, shape: Shape) -> None:
        result = like(self.now, shape)
        self.done.append(Step(name, (self.now,), (result,)))
        self.now = result


def _extents(names: list[str], found: dict[str, MaybeSize]) -> tuple[MaybeSize, ...]:
    return tuple(int(name) if name.isdigit() else found.get(name) for name in names)


def _reduce_steps(steps: _Steps, reduction: str, order: list[str], gone: list[str], found: dict[str, MaybeSize]) -> None:
    """One op for all axes, or one for each where torch has no other way."""
    if reduction not in ("any", "all", "prod"):
        name = {"min": "amin", "max": "amax"}.get(reduction, reduction)
        steps.run(f"torch.Tensor.{name}", _extents([name for name in order if name not in gone], found))
        return
    left = list(order)
    for _ in gone:
        left.pop()
        steps.run(f"torch.Tensor.{reduction}", _extents(left, found))
