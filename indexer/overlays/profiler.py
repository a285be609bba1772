"""torch.profiler: objects that do nothing to the values; their steps are logging."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import first, nothing
from cgx.indexer.interpreter.values import Opaque, Value

PROFILE = "torch.profiler.profile"


def profile(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(PROFILE, dict(kwargs), site.anchor)


def schedule(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("torch.profiler.schedule", dict(kwargs), site.anchor)


ENTRIES: dict[str, Any] = {
    PROFILE: profile,
    "torch.profiler.profiler.profile": profile,
    "torch.autograd.profiler.profile": profile,
    f"{PROFILE}.__enter__": first,
    f"{PROFILE}.__exit__": nothing,
    f"{PROFILE}.step": nothing,
    f"{PROFILE}.start": nothing,
    f"{PROFILE}.stop": nothing,
    f"{PROFILE}.export_chrome_trace": nothing,
    f"{PROFILE}.key_averages": schedule,
    "torch.profiler.schedule": schedule,
    "torch.profiler.tensorboard_trace_handler": schedule,
}
BASES: dict[str, tuple[str, ...]] = {}
