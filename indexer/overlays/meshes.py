"""Device meshes: their dims, the ranks along each, and the groups they give.

A dim is a row of factors, (size, stride) pairs with the most significant first: where a rank stands along it follows from
them. ``_flatten`` puts the factors of several dims into one.
"""

from __future__ import annotations

import math
from typing import Any

from cgx.indexer.interpreter.values import ByRank, DictValue, Instance, ListValue, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, items_of
from cgx.indexer.overlays.groups import GROUP, MESH, get_rank, group_purpose, purpose

Factors = tuple[tuple[int, int], ...]


def init_mesh(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``init_device_mesh(device_type, shape, mesh_dim_names=...)``; joins the processes where nothing has yet."""
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    bound = bind("device_type mesh_shape", args, kwargs)
    return whole_mesh(items_of(bound.get("mesh_shape")), bound, site)


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DeviceMesh(device_type, ranks)``: the shape is that of the list, or of the tensor, of ranks."""
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    bound = bind("device_type mesh", args, kwargs)
    ranks, shape = bound.get("mesh"), []
    if isinstance(ranks, TensorValue):
        return whole_mesh(list(ranks.shape) if ranks.shape is not None else None, bound, site)
    listed = items_of(ranks)
    while listed:
        shape.append(len(listed))
        listed = items_of(listed[0])
    return whole_mesh(shape or None, bound, site)


def whole_mesh(sizes: list[Value] | None, bound: dict[str, Value], site: Any) -> Opaque:
    """A mesh over all ranks, in row-major order."""
    names = [dim_name(one) for one in listed] if (listed := items_of(bound.get("mesh_dim_names"))) is not None else None
    factors: list[Factors | None] = []
    stride: int | None = 1
    for size in reversed(sizes or []):
        known = isinstance(size, int) and stride is not None
        factors.insert(0, ((size, stride),) if known and stride is not None else None)
        stride = stride * size if known and stride is not None else None
    made = make_mesh(sizes or [], names, factors, site)
    made.attrs["device_type"] = bound.get("device_type")
    return made


def dim_name(value: Value) -> Value:
    """A dim's name: a member of a StrEnum is one too."""
    text = value.attrs.get("value") if isinstance(value, Instance) and value.cls.derives("str") else value
    return text if isinstance(text, str) else value


def make_mesh(sizes: list[Value], names: list[Value] | None, factors: list[Factors | None], site: Any, root: Opaque | None = None) -> Opaque:
    label = " ".join(item for item in names or [] if isinstance(item, str))
    attrs: dict[str, Value] = {
        "shape": tuple(sizes),
        "mesh_dim_names": tuple(names) if names else None,
        "ndim": len(sizes),
        "cgx.parallelism": purpose(label) or (group_purpose(root) if root is not None and len(names or ()) == 1 else None),
        "cgx.factors": tuple(factors),
    }
    if root is not None:
        attrs |= {"cgx.root": root.attrs.get("cgx.root", root), "device_type": root.attrs.get("device_type")}
    return Opaque(MESH, attrs, site.anchor)


def place_of(mesh: Opaque, dim: Value) -> int | None:
    """Index of a dim that is given by name, by number, or not at all where there is one."""
    names, count, dim = mesh.attrs.get("mesh_dim_names") or (), mesh.attrs.get("ndim") or 0, dim_name(dim)
    if dim is None:
        return 0 if count == 1 else None
    if isinstance(dim, str):
        return names.index(dim) if dim in names else None
    return dim % count if isinstance(dim, int) and count and -count <= dim < count else None


def item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``mesh["dp"]`` or ``mesh["dp", "cp"]``; dims that were flattened before have their name too."""
    whole, key = args[0], args[1]
    keys = tuple(map(dim_name, key if isinstance(key, tuple) else (key,)))
    if not all(isinstance(one, str) for one in keys):
        return interp.unknown(site.text, "unmodelled", site)
    flattened = whole.attrs.get("cgx.root", whole).attrs.get("cgx.flattened")
    if len(keys) == 1 and isinstance(flattened, DictValue) and keys[0] in flattened.items:
        return flattened.items[keys[0]]
    places = [place_of(whole, one) for one in keys]
    sizes, factors = whole.attrs.get("shape") or (), whole.attrs.get("cgx.factors") or ()
    picked = [sizes[place] if place is not None and place < len(sizes) else None for place in places]
    held = [factors[place] if place is not None and place < len(factors) else None for place in places]
    made = make_mesh(picked, list(keys), held, site, whole)
    made.attrs["cgx.parallelism"] = purpose(" ".join(keys))
    return made


def size_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    sizes = args[0].attrs.get("shape") or ()
    dim = kwargs.get("mesh_dim", args[1] if len(args) > 1 else None)
    place = place_of(args[0], dim) if dim is not None else None
    if place is not None and place < len(sizes):
        return sizes[place]
    if dim is None and sizes and all(isinstance(size, int) for size in sizes):
        return math.prod(sizes)
    return interp.unknown(site.text, "environment", site, hint="int")


def coordinate(interp: Any, mesh: Opaque, place: int | None, site: Any) -> Value:
    """Where each modelled rank stands along a dim."""
    held = mesh.attrs.get("cgx.factors") or ()
    factors = held[place] if place is not None and place < len(held) else None
    if factors is None:
        return interp.unknown(site.text, "environment", site, hint="int")
    values = []
    for rank in interp.world.ranks:
        position = 0
        for size, stride in factors:
            position = position * size + rank // stride % size
        values.append(position)
    return values[0] if len(set(values)) == 1 else ByRank(tuple(values))


def local_rank(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return coordinate(interp, args[0], place_of(args[0], kwargs.get("mesh_dim", args[1] if len(args) > 1 else None)), site)


def coordinates(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return ListValue([coordinate(interp, args[0], place, site) for place in range(args[0].attrs.get("ndim") or 0)])


def group_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``mesh.get_group(dim)``."""
    dim = dim_name(kwargs.get("mesh_dim", args[1] if len(args) > 1 else None))
    known = purpose(dim) if isinstance(dim, str) else group_purpose(args[0])
    place = place_of(args[0], dim)
    names = args[0].attrs.get("mesh_dim_names") or ()
    if known is None and place is not None and place < len(names):
        known = purpose(str(names[place]))
    size = size_of(interp, site, [args[0], place] if place is not None else args[:1], {})
    return Opaque(GROUP, {"cgx.parallelism": known, "cgx.size": size, "cgx.local": coordinate(interp, args[0], place, site)}, site.anchor)


def all_groups(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return ListValue([group_of(interp, site, [args[0], place], {}) for place in range(args[0].attrs.get("ndim") or 0)])


def flatten(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``mesh._flatten(name)``: one dim; its name is known to the whole mesh from now on."""
    name = dim_name(kwargs.get("mesh_dim_name", args[1] if len(args) > 1 else None))
    whole = args[0]
    label = name if isinstance(name, str) else "_".join(whole.attrs.get("mesh_dim_names") or ())
    held = whole.attrs.get("cgx.factors") or (None,)
    factors = None if any(one is None for one in held) else tuple(pair for one in held for pair in one or ())
    made = make_mesh([size_of(interp, site, [whole], {})], [label], [factors], site, whole)
    made.attrs["cgx.parallelism"] = purpose(label) or group_purpose(whole)
    root = whole.attrs.get("cgx.root", whole)
    if not isinstance(root.attrs.get("cgx.flattened"), DictValue):
        interp.trail.set_item(root.attrs, "cgx.flattened", DictValue())
    interp.trail.set_item(root.attrs["cgx.flattened"].items, label, made)
    return made


def unflatten(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``mesh._unflatten(dim, sizes, names)``: the dim becomes several."""
    bound = bind("self dim mesh_sizes mesh_dim_names", args, kwargs)
    whole = bound["self"]
    sizes, names = items_of(bound.get("mesh_sizes")), items_of(bound.get("mesh_dim_names"))
    place = place_of(whole, bound.get("dim"))
    if sizes is None or names is None or place is None:
        return interp.unknown(site.text, "unmodelled", site)
    shape, known, held = whole.attrs.get("shape") or (), whole.attrs.get("mesh_dim_names") or (), whole.attrs.get("cgx.factors") or ()
    parts: list[Factors | None] = []
    old = held[place] if place < len(held) else None
    stride: Any = old[0][1] if old is not None and len(old) == 1 else None
    for size in reversed(sizes):
        parts.insert(0, ((size, stride),) if stride is not None and isinstance(size, int) else None)
        stride = stride * size if stride is not None and isinstance(size, int) else None
    made = make_mesh([*shape[:place], *sizes, *shape[place + 1 :]], [*known[:place], *names, *known[place + 1 :]],
                     [*held[:place], *parts, *held[place + 1 :]], site)  # fmt: skip
    made.attrs["device_type"] = whole.attrs.get("device_type")
    return made


_D = "torch.distributed"
ENTRIES: dict[str, Any] = {
    f"{MESH}.__getitem__": item,
    f"{MESH}.size": size_of,
    f"{MESH}.get_group": group_of,
    f"{MESH}.get_all_groups": all_groups,
    f"{MESH}.get_local_rank": local_rank,
    f"{MESH}.get_rank": get_rank,
    f"{MESH}.get_coordinate": coordinates,
    f"{MESH}._flatten": flatten,
    f"{MESH}._unflatten": unflatten,
}
for _place in ("device_mesh.", "", "_tensor.", "_tensor.device_mesh.", "tensor.device_mesh.", "tensor."):
    ENTRIES[f"{_D}.{_place}init_device_mesh"] = init_mesh
    ENTRIES[f"{_D}.{_place}DeviceMesh"] = construct
BASES: dict[str, tuple[str, ...]] = {}
