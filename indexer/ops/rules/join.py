"""Rules of ops that join tensors."""

from __future__ import annotations

from cgx.indexer.interpreter.values import Sequence, TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat
from cgx.indexer.ops.dims import product
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.rules.view import size_sum
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, axis, broadcast, numel
from cgx.indexer.ops.tensors import device_of, like, need_list, need_shape, result_dtype, size, sizes, tensor, view_of


def _members(value: Value) -> list[TensorValue]:
    """The tensors of a list; a list entry that is not known is a tensor without shape."""
    found = []
    for item in need_list(value):
        if isinstance(item, TensorValue):
            found.append(item)
        elif isinstance(item, Unknown):
            found.append(TensorValue())
        elif isinstance(item, int | float | bool):
            found.append(TensorValue((), None, "cpu", const=item))
        else:
            raise Undetermined("a list of tensors")
    return found


def _agreed(extents: list[MaybeSize]) -> MaybeSize:
    """The size that all must have: a known one wins over one that is not known."""
    known = [extent for extent in extents if extent is not None]
    constants = [extent for extent in known if isinstance(extent, int)]
    if constants:
        return constants[0] if len(set(constants)) == 1 else None
    return known[0] if len(set(known)) == 1 else None


def _joined(members: list[TensorValue], shape: Shape, dtype: str = "float32") -> TensorValue:
    return tensor(shape, result_dtype(members, dtype), device_of(members))


def cat(call: Call) -> Value:
    """cat(tensors, dim=0)."""
    given = call.get("tensors")
    if isinstance(given, Sequence):
        return _cat_many(call, given)
    members = _members(given)
    members = [item for item in members if item.shape != (0,)] or members  # old empty tensors are left out
    shapes = [item.shape for item in members]
    if not shapes:
        raise Undetermined("nothing to join")
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) != 1:
        return _joined(members, None, call.defaults.dtype)
    rank = ranks.pop()
    place = axis(call.known("dim", call.get("axis", 0)), rank)
    columns = [[None if shape is None else shape[at] for shape in shapes] for at in range(rank)]
    out = tuple(size_sum(column) if at == place else _agreed(column) for at, column in enumerate(columns))
    result = _joined(members, out, call.defaults.dtype)
    if rank == 1 and all(item.const is not None for item in members):
        result.const = tuple(number for item in members for number in flat(item.const))
    return result


def _cat_many(call: Call, given: Sequence) -> Value:
    element, count = given.element, size(given.length)
    if not isinstance(element, TensorValue):
        raise Undetermined("tensors")
    shape = list(need_shape(element))
    place = axis(call.known("dim", 0), len(shape))
    extent = shape[place]
    shape[place] = None if extent is None or count is None else extent * count
    return like(element, tuple(shape))


def stack(call: Call) -> Value:
    """stack(tensors, dim=0): a new dimension."""
    given = call.get("tensors")
    if isinstance(given, Sequence):
        if not isinstance(given.element, TensorValue):
            raise Undetermined("tensors")
        members, count = [given.element], size(given.length)
    else:
        members = _members(given)
        count = len(members)
    shapes = [item.shape for item in members if item.shape is not None]
    if not shapes or len({len(shape) for shape in shapes}) != 1:
        return _joined(members, None, call.defaults.dtype)
    base = [_agreed([shape[at] for shape in shapes]) for at in range(len(shapes[0]))]
    place = axis(call.known("dim", 0), len(base) + 1)
    base.insert(place, count)
    result = _joined(members, tuple(base), call.defaults.dtype)
    if place == 0 and not isinstance(given, Sequence) and all(item.const is not None for item in members):
        result.const = tuple(item.const for item in members)
    return result


def side_by_side(call: Call) -> Value:
    """hstack, vstack, dstack, column_stack, row_stack."""
    name = call.row.name.rpartition(".")[2]
    least = {"vstack": 2, "row_stack": 2, "dstack": 3, "column_stack": 2}.get(name, 1)
    members = []
    for item in _members(call.get("tensors")):
        shape = need_shape(item)
        if name == "column_stack":
            shape = (shape or (1,)) if len(shape) > 1 else ((*shape, 1) if shape else (1, 1))
        elif least == 3:
            shape = (1, *(shape or (1,)), 1) if len(shape) < 2 else ((*shape, 1) if len(shape) == 2 else shape)
        else:
            shape = (1,) * max(0, least - len(shape)) + shape
        members.append(view_of(item, shape))
    place = {"vstack": 0, "row_stack": 0, "dstack": 2, "column_stack": 1}.get(name)
    if place is None:
        place = 0 if len(need_shape(members[0])) == 1 else 1
    rank = len(need_shape(members[0]))
    columns = [[need_shape(item)[at] for item in members] for at in range(rank)]
    out = tuple(size_sum(column) if at == place else _agreed(column) for at, column in enumerate(columns))
    return _joined(members, out, call.defaults.dtype)


def block_diag(call: Call) -> Value:
    members = _members(call.get("tensors"))
    rows, columns = [], []
    for item in members:
        shape = (1, 1, *need_shape(item))[-2:]
        rows.append(shape[0])
        columns.append(shape[1])
    return _joined(members, (size_sum(rows), size_sum(columns)))


def meshgrid(call: Call) -> Value:
    """meshgrid(*tensors, indexing="ij"): one tensor for each, over all their sizes."""
    members = _members(call.get("tensors"))
    shape = [numel(item.shape) for item in members]
    if call.known("indexing") == "xy" and len(shape) > 1:
        shape[0], shape[1] = shape[1], shape[0]
    return tuple(view_of(item, tuple(shape)) for item in members)


def broadcast_tensors(call: Call) -> Value:
    members = _members(call.get("tensors"))
    shape = broadcast(*(item.shape for item in members))
    return tuple(view_of(item, shape) for item in members)


def broadcast_shapes(call: Call) -> Value:
    """torch.broadcast_shapes(*shapes): sizes, no tensor."""
    shape = broadcast(*(sizes(item) for item in need_list(call.get("shapes"))))
    return Unknown("broadcast_shapes", "data") if shape is None or None in shape else shape


def cartesian_prod(call: Call) -> Value:
    members = _members(call.get("tensors"))
    extents = [need_shape(item)[0] for item in members]
    count = None if None in extents else product(extent for extent in extents if extent is not None)
    return _joined(members, (count,) if len(members) == 1 else (count, len(members)))


def combinations(call: Call) -> Value:
    base, r = call.tensor(), call.known("r", 2)
    extent = need_shape(base)[0]
    if not isinstance(extent, int):
        return like(base, (None, r))
    again = call.known("with_replacement", False)
    pool, count = extent + (r - 1 if again else 0), 1
    for step in range(r):
        count = count * (pool - step) // (step + 1)
    return like(base, (count, r))


def pad_sequence(call: Call) -> Value:
    """pad_sequence(sequences, batch_first=False): the longest length is the data's unless all are known."""
    members = _members(call.get("sequences"))
    shapes = [need_shape(item) for item in members]
    lengths = [shape[0] for shape in shapes]
    known = [extent for extent in lengths if isinstance(extent, int)]
    longest = max(known) if len(known) == len(lengths) else _agreed(lengths)
    lead = (len(members), longest) if call.known("batch_first", False) else (longest, len(members))
    rest = tuple(_agreed([shape[at] for shape in shapes]) for at in range(1, len(shapes[0])))
    return _joined(members, (*lead, *rest))
