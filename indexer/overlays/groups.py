"""Process groups: where a group was made tells what it is for."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import ByRank, DictValue, ListValue, Opaque, TensorValue, Unknown, Value
from cgx.indexer.overlays.arguments import bind, items_of

GROUP = "torch.distributed.ProcessGroup"
MADE = "dist_groups"  # flag: (where, ranks) of each group that was made of listed ranks
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
    for part in (name.rpartition(".")[2], name):  # `parallel_context.tp_pg`: the last name says it
        words = "".join(char if char.isalnum() else " " for char in part.lower()).split()
        found = [parallelism for parallelism, keys in PURPOSES if any(word in keys for word in words)]
        if found:
            return "data" if found == ["sequence", "data"] else found[0]  # ranks that hold parts of a sequence replicate the weights
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
    interp.trail.set_item(interp.flags, "dist_backend", bound.get("backend"))
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
    if isinstance(group, Opaque) and "cgx.local" in group.attrs:
        return group.attrs["cgx.local"]
    if isinstance(group, Opaque) and group.attrs.get("ranks") is not None:
        return group_rank(interp, group, site)
    given = interp.flags.get("dist_rank")
    if given is not None and not isinstance(given, Unknown) and given != -1:
        return given
    return ranks_of(interp)


def group_rank(interp: Any, group: Opaque, site: Any) -> Value:
    """Each rank's place in its own of the groups that one call made: together they hold all ranks, or some are in none."""
    listed = ranks_listed(group.attrs["ranks"])
    if listed is None:
        return interp.unknown(site.text, "environment", site, hint="int")
    siblings = [ranks for place, ranks in interp.flags.get(MADE, ()) if place == group.anchor and len(ranks) == len(listed)]
    values = []
    for rank in interp.world.ranks:
        own = listed if rank in listed else next((ranks for ranks in siblings if rank in ranks and not set(ranks) & set(listed)), None)
        values.append(own.index(rank) if own is not None else -1)
    return values[0] if len(set(values)) == 1 else ByRank(tuple(values))


def get_world_size(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    group = kwargs.get("group", args[0] if args else None)
    if isinstance(group, Opaque) and "cgx.size" in group.attrs:
        return group.attrs["cgx.size"]
    given = interp.flags.get("dist_world")
    if isinstance(given, int) and given > 0:
        return given
    return interp.world.size


def get_backend(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What the default group was asked for, ``cpu:gloo,cuda:nccl`` too; a group of its own may have another."""
    group = kwargs.get("group", args[0] if args else None)
    given = interp.flags.get("dist_backend")
    return given.lower() if group is None and isinstance(given, str) else "nccl"


def ranks_listed(ranks: Value) -> list[Value] | None:
    """The ranks of a group, from a list or an array."""
    if isinstance(ranks, TensorValue):
        return list(ranks.const) if isinstance(ranks.const, tuple) else None
    return items_of(ranks) if ranks is not None else None


def new_group(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A group; its purpose is told by its description, else by the variable it is bound to, which the pass reads at the use."""
    ranks = kwargs.get("ranks", args[0] if args else None)
    listed = ranks_listed(ranks)
    size = len(listed) if listed is not None else interp.world.size
    if listed is not None:
        interp.trail.set_item(interp.flags, MADE, (*interp.flags.get(MADE, ()), (site.anchor, list(listed))))
    told = kwargs.get("group_desc", args[5] if len(args) > 5 else None)
    meant = (purpose(told) if isinstance(told, str) else None) or purpose(site.text)
    return Opaque(GROUP, {"ranks": ranks, "cgx.size": size, "cgx.parallelism": meant}, site.anchor)


def group_size(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0].attrs.get("cgx.size", interp.world.size)


def global_ranks(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return ListValue(list(range(interp.world.size))) if isinstance(interp.world.size, int) else ListValue(open=True)


def whole(interp: Any, *_: Any) -> Value:
    """The group of all ranks, as an object."""
    return Opaque(GROUP, {"cgx.size": interp.world.size, "cgx.default": True})


def replicas(interp: Any) -> Value:
    """The same, as a data-parallel wrapper holds it."""
    return Opaque(GROUP, {"cgx.size": interp.world.size, "cgx.default": True, "cgx.parallelism": "data"})


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
    f"{_D}.distributed_c10d._get_default_group": whole,
    f"{_D}.TCPStore": store,
    f"{_D}.FileStore": store,
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
    f"{_D}.group.WORLD": whole,
    f"{_D}.GroupMember.WORLD": whole,
    **{f"{_D}.Backend.{name}": (lambda interp, name=name: name.lower()) for name in ("NCCL", "GLOO", "MPI", "UCC", "XCCL")},
    f"{_D}.Backend.default_device_backend_map": lambda interp: DictValue(
        {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    ),
}
BASES: dict[str, tuple[str, ...]] = {}
__all__ = ["BASES", "ENTRIES", "GROUP", "MESH", "group_purpose", "purpose"]
