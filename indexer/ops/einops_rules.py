"""einops: patterns read, and the rules of its functions and layers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from cgx.indexer.interpreter.values import DictValue, TensorValue, Unknown, Value
from cgx.indexer.ops.dims import exact_divide, product
from cgx.indexer.ops.rows import Call, OpRow, Step, row
from cgx.indexer.ops.rules.join import stack
from cgx.indexer.ops.rules.linalg import einsum_shape
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, join_sizes, numel
from cgx.indexer.ops.tensors import device_of, like, need_list, need_shape, result_dtype, size, tensor

DOTS = "…"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pattern: groups of axis names. A group is one dimension; "1" and "()" are empty groups."""

    groups: tuple[tuple[str, ...], ...]
    grouped_dots: bool = False  # "(...)": the spare dimensions flattened into one

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group)


@lru_cache(maxsize=1024)
def read_side(text: str) -> Side:
    """Read "b (h w) c ...". Raises Undetermined where it is no pattern."""
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
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
            groups.append((token,))
    if inside is not None:
        raise Undetermined("pattern")
    dots_in_group = any(DOTS in group and len(group) > 1 for group in groups)
    return Side(tuple(groups), dots_in_group)


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
    place = next((index for index, group in enumerate(groups) if DOTS in group), None)
    if place is not None:
        count = len(shape) - len(groups) + 1
        if count < 0 or len(groups[place]) > 1:
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
    for group in right.groups:
        if group == (DOTS,):
            result.extend(spare)
            continue
        parts: list[MaybeSize] = []
        for name in group:
            parts.extend(spare if name == DOTS else [int(name) if name.isdigit() else found.get(name)])
        result.append(numel(tuple(parts)))
    return tuple(result)


def given_axes(known: dict[str, Value]) -> dict[str, MaybeSize]:
    return {name: size(value) for name, value in known.items()}


def rearranged(base: TensorValue, pattern: Value, given: dict[str, MaybeSize]) -> TensorValue:
    """The tensor that rearrange, reduce or repeat gives."""
    left, right = sides(pattern)
    if base.shape is None:
        return like(base, None if any(DOTS in group for group in right.groups) else _open(right, given))
    found, spare = axis_sizes(left, base.shape, given)
    return like(base, arrange(right, found, spare))


def _open(right: Side, given: dict[str, MaybeSize]) -> Shape:
    """Only the sizes that are given, of an input without shape."""
    return arrange(right, dict(given), ())


def _base(call: Call) -> TensorValue:
    """The tensor; a list of tensors is stacked in front."""
    value = call.get("tensor")
    if isinstance(value, list | tuple):
        inner = call.row.bind([], {"tensors": list(value), "dim": 0})
        result = stack(inner)
        assert isinstance(result, TensorValue)
        return result
    return call.tensor("tensor")


def _axes(call: Call) -> dict[str, MaybeSize]:
    fixed = {"tensor", "pattern", "reduction", "tensors", "dim", "axes_lengths"}
    return given_axes({name: value for name, value in call.bound.items() if name not in fixed})


def steps_of(base: TensorValue, pattern: Value, given: dict[str, MaybeSize], reduction: str = "") -> list[Step]:
    """The torch ops that einops runs for a pattern, in its order: reshape, permute, reduce, add axes, reshape."""
    left, right = sides(pattern)
    found, spare = axis_sizes(left, need_shape(base), given)
    whole = [f"{DOTS}{place}" for place in range(len(spare))]  # the dimensions of "..." one by one
    found.update(zip(whole, spare))

    def spread(side: Side) -> list[list[str]]:
        groups: list[list[str]] = []
        for group in side.groups:
            names = [part for name in group for part in (whole if name == DOTS else [name])]
            groups += [[name] for name in names] if group == (DOTS,) else [names]
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


def _function_steps(call: Call) -> list[Step]:
    base = _base(call)
    steps = steps_of(base, call.get("pattern"), _axes(call), str(call.get("reduction", "")))
    members = call.get("tensor")
    if isinstance(members, list | tuple):
        steps.insert(0, Step("torch.stack", tuple(item for item in members if isinstance(item, TensorValue)), (base,)))
    return steps


def _einsum_steps(call: Call) -> list[Step]:
    result = einsum(call)
    members = tuple(item for item in call.bound["tensors_and_pattern"] if isinstance(item, TensorValue))
    return [Step("torch.einsum", members, (result,))] if isinstance(result, TensorValue) else []


def rearrange(call: Call) -> Value:
    """rearrange(tensor, pattern, **axes), repeat too."""
    return rearranged(_base(call), call.get("pattern"), _axes(call))


def reduce(call: Call) -> Value:
    """reduce(tensor, pattern, reduction, **axes)."""
    result = rearranged(_base(call), call.get("pattern"), _axes(call))
    if call.get("reduction") in ("any", "all"):
        result.dtype = "bool"
    return result


def einsum(call: Call) -> Value:
    """einops.einsum(*tensors, pattern): names of several letters."""
    *members, pattern = call.bound["tensors_and_pattern"]
    if not isinstance(pattern, str):
        raise Undetermined("pattern")
    tensors = [item if isinstance(item, TensorValue) else TensorValue() for item in members]
    names: dict[str, str] = {}
    letters = []
    for token in pattern.replace("->", " -> ").replace(",", " , ").split():
        plain = token in ("->", ",", "...")
        letters.append(token if plain else names.setdefault(token, chr(0x3B1 + len(names))))
    shape = einsum_shape("".join(letters), [item.shape for item in tensors])
    return tensor(shape, result_dtype(tensors, call.defaults.dtype), device_of(tensors))


def pack(call: Call) -> Value:
    """pack(tensors, pattern): (packed, shapes of what "*" stood for)."""
    members = [item for item in need_list(call.get("tensors")) if isinstance(item, TensorValue)]
    names = str(call.known("pattern")).split()
    place = names.index("*")
    after = len(names) - place - 1
    shapes = [need_shape(item) for item in members]
    packed = [shape[place : len(shape) - after] for shape in shapes]
    total: MaybeSize = 0
    for part in packed:
        count = numel(part)
        total = None if total is None or count is None else total + count
    first = shapes[0]
    result = like(members[0], (*first[:place], total, *first[len(first) - after :]))
    return result, [_plain(part) for part in packed]


def _plain(part: tuple[MaybeSize, ...]) -> Value:
    return tuple(Unknown("packed_shape", "data", hint="int") if extent is None else extent for extent in part)


def unpack(call: Call) -> Value:
    """unpack(tensor, packed_shapes, pattern): a list of tensors."""
    base = call.tensor("tensor")
    names = str(call.known("pattern")).split()
    place = names.index("*")
    shape = need_shape(base)
    after = len(names) - place - 1
    head, tail = shape[:place], shape[len(shape) - after :] if after else ()
    parts = [tuple(size(item) for item in need_list(part)) for part in need_list(call.get("packed_shapes"))]
    parts = [_settle(part, shape[place], parts) for part in parts]
    return [like(base, (*head, *part, *tail)) for part in parts]


def _settle(part: tuple[MaybeSize, ...], whole: MaybeSize, parts: list[tuple[MaybeSize, ...]]) -> tuple[MaybeSize, ...]:
    """A -1 is what the other parts leave over."""
    if -1 not in part:
        return part
    rest: MaybeSize = whole
    for other in parts:
        if other is not part:
            count = numel(other)
            rest = None if rest is None or count is None else rest - count
    return tuple(rest if extent == -1 else extent for extent in part)


def parse_shape(call: Call) -> Value:
    """parse_shape(tensor, pattern): sizes by name."""
    names = str(call.known("pattern")).split()
    shape = need_shape(call.tensor("x"))
    items = {name: Unknown(name, "data", hint="int") if extent is None else extent for name, extent in zip(names, shape) if name != "_"}
    return DictValue(dict(items))


ROWS: list[OpRow] = [
    row("einops.rearrange", "", "tensor, pattern", rearrange, "f32[B,T,12], 'b t (h d) -> b h t d', h=3 -> f32[B,3,T,4]",
        aliases="einops.einops.rearrange", steps_rule=_function_steps, kind="op"),
    row("einops.repeat", "", "tensor, pattern", rearrange, "f32[1,4], '1 n -> b 1 n', b=2 -> f32[2,1,4]", aliases="einops.einops.repeat", steps_rule=_function_steps),
    row("einops.reduce", "", "tensor, pattern, reduction", reduce, "f32[2,3,8,8], 'b c (h p) (w q) -> b c h w', 'mean', p=2, q=2 -> f32[2,3,4,4]",
        aliases="einops.einops.reduce", steps_rule=_function_steps),
    row("einops.einsum", "", "*tensors_and_pattern", einsum, "f32[2,3,4], f32[2,5,4], 'b i d, b j d -> b i j' -> f32[2,3,5]",
        aliases="einops.einops.einsum", steps_rule=_einsum_steps, autocast="lower"),
    row("einops.pack", "", "tensors, pattern", pack, "[f32[2,3,4], f32[2,4]], 'b * d' -> (f32[2,4,4], [(3,), ()])", aliases="einops.packing.pack"),
    row("einops.unpack", "", "tensor, packed_shapes, pattern", unpack, "f32[2,4,4], [(3,), ()], 'b * d' -> [f32[2,3,4], f32[2,4]]",
        aliases="einops.packing.unpack"),
    row("einops.parse_shape", "", "x, pattern", parse_shape, "", aliases="einops.einops.parse_shape", kind="query"),
    row("einops.asnumpy", "", "tensor", lambda call: like(call.tensor("tensor"), call.tensor("tensor").shape), "", sync="numpy"),
]  # fmt: skip
