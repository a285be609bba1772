"""os.environ: the environment is what the launch line gives."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    bind,
    derived,
    lift,
    text_of,
)
from cgx.indexer.interpreter.values import MISSING, DictValue, ListValue, Opaque, Unknown, Value

ENVIRON = "os.environ"


# Variables that a machine sets whatever the launch line says: neither present nor absent can be told.
MACHINE = frozenset(
    [
        "HOME",
        "PATH",
        "USER",
        "USERNAME",
        "LOGNAME",
        "HOSTNAME",
        "SHELL",
        "TMPDIR",
        "TEMP",
        "TMP",
        "LANG",
        "PWD",
        "OLDPWD",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CUDA_HOME",
        "CUDA_PATH",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
    ]
)


# Variables that only a launcher sets: without one they are surely absent.
LAUNCHER = frozenset(
    [
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "NODE_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "ROLE_RANK",
        "TORCHELASTIC_RUN_ID",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_NODEID",
        "SLURM_JOB_ID",
        "SLURM_NNODES",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "PMI_RANK",
        "PMI_SIZE",
        "MV2_COMM_WORLD_RANK",
        "HOROVOD_RANK",
    ]
)


def _read(interp: Any, site: Any, name: Value, default: Value) -> Value:
    """A variable's value; ``default`` (or MISSING) where it is not set."""

    def once(one: Value) -> Value:
        key = text_of(one)
        if key is None:
            return derived(site, [one], "str", "environment")
        value = interp.env.get(key, MISSING)
        if value is not MISSING:
            return value
        if key in MACHINE:
            return Unknown(site.text, "environment", site.anchor, "str")
        return default

    return lift(once, [name])


def getenv(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``os.getenv`` and ``os.environ.get``: what the launch does not set has its default."""
    bound = bind("key default", args, kwargs)
    return _read(interp, site, bound.get("key"), bound.get("default"))


def _get(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return getenv(interp, site, args[1:], kwargs)


def _getitem(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = _read(interp, site, args[1], MISSING)
    if found is not MISSING:
        return found
    key = text_of(args[1]) or ""
    if key in LAUNCHER:
        return interp.raise_("KeyError", repr(key), site)
    return Unknown(site.text, "environment", site.anchor, "str")


def _contains(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = _read(interp, site, args[1], MISSING)
    if isinstance(found, Unknown) and found.name == site.text:
        return Unknown(site.text, "environment", site.anchor, "bool")
    return found is not MISSING


def _setitem(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    key = text_of(args[1])
    if key is not None:
        interp.trail.set_item(interp.env, key, args[2])
    return None


def _setdefault(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = _read(interp, site, args[1], MISSING)
    if found is not MISSING:
        return found
    value = args[2] if len(args) > 2 else None
    _setitem(interp, site, [args[0], args[1], value], {})
    return value


def _pop(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = _read(interp, site, args[1], args[2] if len(args) > 2 else kwargs.get("default", MISSING))
    key = text_of(args[1])
    if key is not None and key in interp.env:
        interp.trail.del_item(interp.env, key)
    if found is MISSING:
        return Unknown(site.text, "environment", site.anchor, "str")
    return found


def _delitem(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    key = text_of(args[-1])
    if key is not None and key in interp.env:
        interp.trail.del_item(interp.env, key)
    return None


def _update(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    given = dict(args[1].items) if len(args) > 1 and isinstance(args[1], DictValue) else {}
    for key, value in {**given, **kwargs}.items():
        _setitem(interp, site, [args[0], key, value], {})
    return None


def _copy(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return DictValue(dict(interp.env), open=True)


def _putenv(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return _setitem(interp, site, [None, *args], {})


ENTRIES: dict[str, Handler] = {
    "os.getenv": getenv,
    "os.putenv": _putenv,
    "os.unsetenv": _delitem,
    "os.environ.get": _get,
    "os.environ.__getitem__": _getitem,
    "os.environ.__contains__": _contains,
    "os.environ.__setitem__": _setitem,
    "os.environ.__delitem__": _delitem,
    "os.environ.setdefault": _setdefault,
    "os.environ.pop": _pop,
    "os.environ.update": _update,
    "os.environ.copy": _copy,
    "os.environ.items": lambda interp, site, args, kwargs: ListValue(list(interp.env.items()), open=True),
    "os.environ.keys": lambda interp, site, args, kwargs: ListValue(list(interp.env), open=True),
    "os.environ.values": lambda interp, site, args, kwargs: ListValue(list(interp.env.values()), open=True),
    "os.environ.__iter__": lambda interp, site, args, kwargs: ListValue(list(interp.env), open=True),
}
BASES: dict[str, tuple[str, ...]] = {ENVIRON: ("collections.abc.MutableMapping",)}
CONSTANTS: dict[str, Value] = {"os.environ": Opaque(ENVIRON)}
