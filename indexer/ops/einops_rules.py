"""einops: patterns read, and the rules of its functions and layers."""

from __future__ import annotations

from cgx.indexer.interpreter.values import DictValue, TensorValue, Unknown, Value
from cgx.indexer.ops.einops_patterns import DOTS, Side, arrange, axis_sizes, given_axes, sides
from cgx.indexer.ops.einops_steps import steps_of
from cgx.indexer.ops.rows import Call, OpRow, Step, row
from cgx.indexer.ops.rules.join import stack
from cgx.indexer.ops.rules.products import einsum_shape
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, numel
from cgx.indexer.ops.tensors import device_of, like, need_list, need_shape, result_dtype, size, tensor


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


def pack(call: Call) -> tuple[TensorValue, list[Value]]:
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


def _pack_steps(call: Call) -> list[Step]:
    """Each tensor reshaped, then one cat."""
    members = [item for item in need_list(call.get("tensors")) if isinstance(item, TensorValue)]
    names = str(call.known("pattern")).split()
    place = names.index("*")
    after = len(names) - place - 1
    shapes = [need_shape(item) for item in members]
    flat = [
        like(item, (*shape[:place], numel(shape[place : len(shape) - after]), *shape[len(shape) - after :]))
        for item, shape in zip(members, shapes)
    ]
    packed = pack(call)[0]
    return [*(Step("torch.Tensor.reshape", (item,), (made,)) for item, made in zip(members, flat)), Step("torch.cat", tuple(flat), (packed,))]


def _unpack_steps(call: Call) -> list[Step]:
    """For each part a slice, reshaped."""
    base = call.tensor("tensor")
    place = str(call.known("pattern")).split().index("*")
    shape = need_shape(base)
    steps: list[Step] = []
    for part in unpack(call):
        inner = need_shape(part)
        cut = like(base, (*shape[:place], numel(inner[place : len(inner) - (len(shape) - place - 1)]), *shape[place + 1 :]))
        steps += [Step("torch.Tensor.__getitem__", (base,), (cut,)), Step("torch.Tensor.reshape", (cut,), (part,))]
    return steps


def _plain(part: tuple[MaybeSize, ...]) -> Value:
    return tuple(Unknown("packed_shape", "data", hint="int") if extent is None else extent for extent in part)


def unpack(call: Call) -> list[TensorValue]:
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
    row("einops.pack", "", "tensors, pattern", pack, "[f32[2,3,4], f32[2,4]], 'b * d' -> (f32[2,4,4], [(3,), ()])", aliases="einops.packing.pack",
        steps_rule=_pack_steps),
    row("einops.unpack", "", "tensor, packed_shapes, pattern", unpack, "f32[2,4,4], [(3,), ()], 'b * d' -> [f32[2,3,4], f32[2,4]]",
        aliases="einops.packing.unpack", steps_rule=_unpack_steps),
    row("einops.parse_shape", "", "x, pattern", parse_shape, "", aliases="einops.einops.parse_shape", kind="query"),
    row("einops.asnumpy", "", "tensor", lambda call: like(call.tensor("tensor"), call.tensor("tensor").shape), "", sync="numpy"),
]  # fmt: skip
