"""Process groups and meshes: where a group was made tells what it is for."""

from __future__ import annotations

import math
from typing import Any

from cgx.indexer.interpreter.values import ByRank, DictValue, ListValue, Opaque, Unknown, Value
from cgx.indexer.overlays.arguments import bind, items_of

GROUP = "torch.distributed.ProcessGroup"
MESH = "torch.distributed.device_mesh.DeviceMesh"

# words of a group's, accessor's or mesh dimension's name -> parallelism; the first row that fits wins
PURPOSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pipeline", ("pp", "pipe", "pipeline")),
    ("expert", ("ep", "expert", "experts", "moe", "etp")),
    ("sequence", ("cp", "sp", "sequence", "context", "ulysses", "seq")),
    ("tensor", ("tp", "tensor", "mp", "model", "mdl")),
    (
        "data",
        (
            "dp",
            "data",
            "fsdp",
            "ddp",
            "hsdp",
            "batch",
            "replicate",
            "shard",
            "loss",
            "dp_replicate",
            "dp_shard",
            "zero",
        ),
    ),
)


def purpose(name: str) -> str | None:
    """The parallelism that a name such as ``get_tensor_model_parallel_group`` or ``dp_shard`` speaks of; None if none."""
    words = "".join(char if char.isalnum() else " " for char in name.lower()).split()
    for parallelism, keys in PURPOSES:
        if any(word in keys for word in words):
            return parallelism
    return None


def group_purpose(value: Value) -> str | None:
    """The parallelism of a group or mesh object."""
    if isinstance(value, Opaque):
        known = value.attrs.get("cgx.parallelism")
        return known if isinstance(known, str) else None
    return None


def default_group(interp: Any) -> bool:
    return bool(interp.flags.get("dist_initialized"))


def init(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``init_process_group``: from here on the job has its default group."""
    bound = bind("backend init_method timeout world_size rank", args, kwargs)
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    interp.trail.set_item(interp.flags, "dist_rank", bound.get("rank"))
    interp.trail.set_item(interp.flags, "dist_world", bound.get("world_size"))
    interp.event("launch", site, author="overlays.groups", what="init_process_group", backend=bound.get("backend"))
    return None


def destroy(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("launch", site, author="overlays.groups", what="destroy_process_group")
    return None


def is_initialized(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return default_group(interp)


def true(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return True


def ranks_of(interp: Any) -> Value:
    """Rank of the modelled processes."""
    ranks = tuple(interp.world.ranks)
    return ranks[0] if len(ranks) == 1 else ByRank(ranks)


def get_rank(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    group = kwargs.get("group", args[0] if args else None)
    if isinstance(group, Opaque) and group.attrs.get("ranks") is not None:
        return group_rank(interp, group, site)
    given = interp.flags.get("dist_rank")
    if given is not None and not isinstance(given, Unknown) and given != -1:
        return given
    return ranks_of(interp)


def group_rank(interp: Any, group: Opaque, site: Any) -> Value:
    listed = items_of(group.attrs["ranks"])
    world = tuple(interp.world.ranks)
    if listed is None or any(rank not in listed for rank in world):
        return interp.unknown(site.text, "environment", site, hint="int")
    local = tuple(listed.index(rank) for rank in world)
    return local[0] if len(local) == 1 else ByRank(local)


def get_world_size(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    group = kwargs.get("group", args[0] if args else None)
    if isinstance(group, Opaque) and "size" in group.attrs:
        return group.attrs["size"]
    given = interp.flags.get("dist_world")
    if isinstance(given, int) and given > 0:
        return given
    return interp.world.size


def get_backend(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return "nccl"


def new_group(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A group; its purpose is told by the variable it is bound to, which the pass reads at the use."""
    ranks = kwargs.get("ranks", args[0] if args else None)
    listed = items_of(ranks) if ranks is not None else None
    size = len(listed) if listed is not None else interp.world.size
    return Opaque(GROUP, {"ranks": ranks, "size": size, "cgx.parallelism": purpose(site.text)}, site.anchor)


def mesh(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``init_device_mesh(device_type, shape, mesh_dim_names=...)``; joins the processes where nothing has yet."""
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    bound = bind("device_type mesh_shape", args, kwargs)
    shape, names = bound.get("mesh_shape", bound.get("mesh")), bound.get("mesh_dim_names")
    made = make_mesh(shape, names, site)
    made.attrs["device_type"] = bound.get("device_type")
    return made


def make_mesh(shape: Value, names: Value, site: Any) -> Opaque:
    sizes, labels = items_of(shape), items_of(names) if names is not None else None
    label = "_".join(item for item in labels or [] if isinstance(item, str))
    attrs: dict[str, Value] = {
        "shape": tuple(sizes or ()),
        "mesh_dim_names": tuple(labels) if labels else None,
        "cgx.parallelism": purpose(label),
    }
    attrs["ndim"] = len(sizes or ())
    return Opaque(MESH, attrs, site.anchor)


def mesh_item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``mesh["dp"]`` or ``mesh["dp", "cp"]``."""
    whole, key = args[0], args[1]
    keys = key if isinstance(key, tuple) else (key,)
    names, sizes = whole.attrs.get("mesh_dim_names") or (), whole.attrs.get("shape") or ()
    if not all(isinstance(one, str) for one in keys):
        return interp.unknown(site.text, "unmodelled", site)
    picked = tuple(sizes[names.index(one)] if one in names and names.index(one) < len(sizes) else None for one in keys)
    return Opaque(
        MESH,
        {"shape": picked, "mesh_dim_names": tuple(keys), "ndim": len(keys), "cgx.parallelism": purpose(" ".join(keys))},
        site.anchor,
    )


def mesh_size(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    sizes = args[0].attrs.get("shape") or ()
    dim = kwargs.get("mesh_dim", args[1] if len(args) > 1 else None)
    if isinstance(dim, int) and dim < len(sizes):
        return sizes[dim]
    if sizes and all(isinstance(size, int) for size in sizes):
        return math.prod(sizes)
    return interp.unknown(site.text, "environment", site, hint="int")


def mesh_group(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    dim = kwargs.get("mesh_dim", args[1] if len(args) > 1 else None)
    known = purpose(dim) if isinstance(dim, str) else group_purpose(args[0])
    return Opaque(GROUP, {"cgx.parallelism": known, "size": mesh_size(interp, site, args[:1], {})}, site.anchor)


def mesh_rank(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    sizes = args[0].attrs.get("shape") or ()
    if all(size == 1 for size in sizes) and sizes:
        return 0
    if len(sizes) == 1 and sizes[0] == interp.world.size:
        return ranks_of(interp)
    return interp.unknown(site.text, "environment", site, hint="int")


def mesh_flatten(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = kwargs.get("mesh_dim_name", args[1] if len(args) > 1 else "")
    size = mesh_size(interp, site, args[:1], {})
    label = name if isinstance(name, str) else ""
    return Opaque(
        MESH,
        {
            "shape": (size,),
            "mesh_dim_names": (label,),
            "ndim": 1,
            "cgx.parallelism": purpose(label) or group_purpose(args[0]),
        },
        site.anchor,
    )


def mesh_unflatten(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``mesh._unflatten(dim, sizes, names)``: the dim becomes several."""
    bound = bind("self dim mesh_sizes mesh_dim_names", args, kwargs)
    whole, dim = bound["self"], bound.get("dim")
    sizes, names = items_of(bound.get("mesh_sizes")), items_of(bound.get("mesh_dim_names"))
    known = whole.attrs.get("mesh_dim_names") or ()
    place = known.index(dim) if isinstance(dim, str) and dim in known else dim if isinstance(dim, int) else None
    if sizes is None or names is None or place is None:
        return interp.unknown(site.text, "unmodelled", site)
    shape = whole.attrs.get("shape") or ()
    return make_mesh((*shape[:place], *sizes, *shape[place + 1 :]), (*known[:place], *names, *known[place + 1 :]), site)


def group_size(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0].attrs.get("size", interp.world.size)


def global_ranks(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return ListValue(list(range(interp.world.size))) if isinstance(interp.world.size, int) else ListValue(open=True)


def store(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("torch.distributed.Store", {}, site.anchor)


_D = "torch.distributed"
ENTRIES: dict[str, Any] = {
    f"{_D}.init_process_group": init,
    f"{_D}.destroy_process_group": destroy,
    f"{_D}.is_initialized": is_initialized,
    f"{_D}.is_available": true,
    f"{_D}.is_nccl_available": true,
    f"{_D}.is_torchelastic_launched": is_initialized,
    f"{_D}.get_rank": get_rank,
    f"{_D}.get_world_size": get_world_size,
    f"{_D}.get_backend": get_backend,
    f"{_D}.new_group": new_group,
    f"{_D}.get_process_group_ranks": global_ranks,
    f"{_D}.TCPStore": store,
    f"{_D}.FileStore": store,
    f"{_D}.device_mesh.init_device_mesh": mesh,
    f"{_D}.init_device_mesh": mesh,
    f"{_D}._tensor.init_device_mesh": mesh,
    f"{_D}._tensor.device_mesh.init_device_mesh": mesh,
    f"{_D}.tensor.device_mesh.init_device_mesh": mesh,
    f"{_D}._tensor.DeviceMesh": mesh,
    f"{_D}._tensor.device_mesh.DeviceMesh": mesh,
    f"{_D}.tensor.init_device_mesh": mesh,
    f"{_D}.device_mesh.DeviceMesh": mesh,
    f"{_D}.DeviceMesh": mesh,
    f"{MESH}.__getitem__": mesh_item,
    f"{MESH}.size": mesh_size,
    f"{MESH}.get_group": mesh_group,
    f"{MESH}.get_local_rank": mesh_rank,
    f"{MESH}.get_rank": get_rank,
    f"{MESH}.get_coordinate": mesh_rank,
    f"{MESH}._flatten": mesh_flatten,
    f"{MESH}._unflatten": mesh_unflatten,
    f"{GROUP}.size": group_size,
    f"{GROUP}.rank": get_rank,
}
for _name in (
    "init_process_group",
    "destroy_process_group",
    "is_initialized",
    "get_rank",
    "get_world_size",
    "new_group",
    "get_backend",
):
    ENTRIES[f"{_D}.distributed_c10d.{_name}"] = ENTRIES[f"{_D}.{_name}"]
MAKERS: dict[str, Any] = {
    f"{_D}.Backend.default_device_backend_map": lambda interp: DictValue(
        {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    ),
}
BASES: dict[str, tuple[str, ...]] = {}
__all__ = ["BASES", "ENTRIES", "GROUP", "MESH", "group_purpose", "purpose"]
