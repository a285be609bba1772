"""Patterns of einops: axis names in groups, their sizes, and the shape they give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from cgx.indexer.interpreter.values import Value
from cgx.indexer.ops.dims import exact_divide, product
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, join_sizes, numel
from cgx.indexer.ops.tensors import size

DOTS = "…"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pattern: groups of axis names. A group is one dimension; "1" and "()" are empty groups."""

    groups: tuple[tuple[str, ...], ...]
    dots: int | None = None  # the group that is a bare "...": each spare dimension stays one; "(...)" flattens them

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group)


@lru_cache(maxsize=1024)
def read_side(text: str) -> Side:
    """Read "b (h w) c ...". Raises Undetermined where it is no pattern."""
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    dots = None
    for token in text.replace("...", DOTS).replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            if inside is not None:
                raise Undetermined("pattern")
            inside = []
        elif token == ")":
            if inside is None:
                raise Undetermined("pattern")
            groups.append(tuple(inside))
            inside = None
        elif token == "1":
            if inside is None:
                groups.append(())
        elif inside is not None:
            inside.append(token)
        else:
            dots = len(groups) if token == DOTS else dots
            groups.append((token,))
    if inside is not None:
        raise Undetermined("pattern")
    return Side(tuple(groups), dots)


def sides(pattern: Value) -> tuple[Side, Side]:
    """Both sides of "left -> right"."""
    if not isinstance(pattern, str) or "->" not in pattern:
        raise Undetermined("pattern")
    left, _, right = pattern.partition("->")
    return read_side(left), read_side(right)


def axis_sizes(left: Side, shape: tuple[MaybeSize, ...], given: dict[str, MaybeSize]) -> tuple[dict[str, MaybeSize], tuple[MaybeSize, ...]]:
    """Sizes of all axes of the left side, and those that "..." stands for."""
    groups = list(left.groups)
    spare: tuple[MaybeSize, ...] = ()
    place = left.dots
    if place is not None:
        count = len(shape) - len(groups) + 1
        if count < 0:
            raise Undetermined("pattern does not fit")
        spare = shape[place : place + count]
        shape = (*shape[:place], *shape[place + count :])
        groups.pop(place)
    if len(groups) != len(shape):
        raise Undetermined("pattern does not fit")
    found: dict[str, MaybeSize] = dict(given)
    for group, extent in zip(groups, shape):
        _solve(group, extent, found)
    return found, spare


def _solve(group: tuple[str, ...], extent: MaybeSize, found: dict[str, MaybeSize]) -> None:
    """The one axis of a group that is not given is what is left of its size."""
    open_names = [name for name in group if found.get(name) is None and not name.isdigit()]
    if len(group) == 1:
        name = group[0]
        held = found.get(name)
        found[name] = extent if held is None else join_sizes(held, extent) if extent is not None else held
        return
    for name in open_names:
        found[name] = None
    if len(open_names) == 1 and extent is not None:
        rest = product(int(name) if name.isdigit() else found[name] for name in group if name not in open_names)  # type: ignore[misc]
        if rest != 0:
            whole = exact_divide(extent, rest)
            found[open_names[0]] = whole if whole is not None else extent // rest


def arrange(right: Side, found: dict[str, MaybeSize], spare: tuple[MaybeSize, ...]) -> Shape:
    """The shape of the right side."""
    result: list[MaybeSize] = []
    for place, group in enumerate(right.groups):
        if place == right.dots:
            result.extend(spare)
            continue
        parts: list[MaybeSize] = []
        for name in group:
            parts.extend(spare if name == DOTS else [int(name) if name.isdigit() else found.get(name)])
        result.append(numel(tuple(parts)))
    return tuple(result)


def given_axes(known: dict[str, Value]) -> dict[str, MaybeSize]:
    return {name: size(value) for name, value in known.items()}
