"""Environments of reinforcement learning (gymnasium, gym, envpool): each step gives the next observations, as host arrays."""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.values import Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import items_of

AUTHOR = "overlays.environments"
ENV = "gymnasium.Env"
VECTOR = "gymnasium.vector.VectorEnv"


def array() -> TensorValue:
    return TensorValue(None, None, "cpu", pinned=False, library="numpy")


def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(ENV, {}, site.anchor)


def wrap(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A wrapper round an environment is one of its kind."""
    inner = args[0] if args else kwargs.get("env", kwargs.get("envs"))
    return Opaque(inner.qname if isinstance(inner, Opaque) else ENV, {"env": inner}, site.anchor)


def vector(workers: bool) -> Any:
    """Several environments at once, in this process or each in one of its own."""

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        listed = items_of(args[0] if args else kwargs.get("env_fns"))
        count = len(listed) if listed is not None else None
        return Opaque(VECTOR, {"num_envs": count, "cgx.workers": count if workers else 0}, site.anchor)

    return construct


def pool(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(VECTOR, {"num_envs": kwargs.get("num_envs")}, site.anchor)


def taken(interp: Any, env: Value, site: Any, name: str) -> None:
    """The step waits for the environments, wherever they run."""
    workers = env.attrs.get("cgx.workers", 0) if isinstance(env, Opaque) else 0
    interp.event("data", site, author=AUTHOR, hop="read", by=f"{ENV}.{name}", workers=workers, asynchronous=False, blocks_step=True, simulated=True)


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """observation, reward, terminated, truncated, info; how many a version gives is what the caller unpacks."""
    taken(interp, args[0], site, "step")
    info = interp.unknown("info", "data", site)
    one = isinstance(args[0], Opaque) and args[0].qname == ENV
    ended = interp.unknown("terminated", "data", site, "bool") if one else array()
    reward = interp.unknown("reward", "data", site, "float") if one else array()
    wanted = unpacked(site)
    return (array(), reward, ended, info) if wanted == 4 else (array(), reward, ended, ended, info)


def reset(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return (array(), interp.unknown("info", "data", site)) if unpacked(site) == 2 else array()


def unpacked(site: Any) -> int | None:
    """Number of names that the statement round the call unpacks into."""
    statement = site.frame.statement
    if isinstance(statement, ast.Assign) and statement.value is site.node and isinstance(statement.targets[0], ast.Tuple | ast.List):
        return len(statement.targets[0].elts)
    return None


SPACES = frozenset({"action_space", "observation_space", "single_action_space", "single_observation_space", "spec"})


def attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Spaces are the environment's own, by its registered name."""
    return interp.unknown(site.text, "data", site) if args[1] in SPACES else NotImplemented


def ended(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


ENTRIES: dict[str, Any] = {
    "envpool.make": pool,
    f"{ENV}.step": step,
    f"{ENV}.reset": reset,
    f"{ENV}.__getattr__": attribute,
    f"{ENV}.close": ended,
    f"{ENV}.seed": ended,
    f"{ENV}.render": ended,
}
BASES: dict[str, tuple[str, ...]] = {VECTOR: (ENV,)}
WRAPPERS = (
    "RecordEpisodeStatistics", "RecordVideo", "FlattenObservation", "ClipAction",
    "NormalizeObservation", "NormalizeReward", "TransformObservation", "TransformReward",
    "ResizeObservation", "GrayScaleObservation", "GrayscaleObservation", "FrameStack",
    "FrameStackObservation", "TimeLimit", "AtariPreprocessing",
)  # fmt: skip
for _library in ("gymnasium", "gym"):
    ENTRIES[f"{_library}.make"] = make
    ENTRIES[f"{_library}.make_vec"] = ENTRIES[f"{_library}.vector.make"] = pool
    ENTRIES[f"{_library}.vector.SyncVectorEnv"] = vector(workers=False)
    ENTRIES[f"{_library}.vector.AsyncVectorEnv"] = vector(workers=True)
    for _name in WRAPPERS:
        ENTRIES[f"{_library}.wrappers.{_name}"] = ENTRIES[f"{_library}.wrappers.vector.{_name}"] = wrap
