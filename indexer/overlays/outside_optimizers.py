"""Optimizers of libraries whose source is not given: classes that are named for it and take a model's parameters.

That they step, and with which groups, is read from the job; what their step runs only where a row says it. Rows: apex at
6424da3 (apex/optimizers) and transformer_engine 2.20.0.dev0 (pytorch/optimizers), whose steps are multi-tensor kernels.
"""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.values import DictValue, Opaque, Value
from cgx.indexer.overlays.arguments import bind, plain
from cgx.indexer.overlays.optimizers import AUTHOR, OPTIMIZER, holds_parameters, param_groups

NAMED = re.compile(r"optim|Adam|SGD|LAMB|Lamb|LARS|Lars|Lion|Muon|Adafactor|Adagrad|NovoGrad|RMSprop")
_ADAM = "params lr bias_correction betas eps adam_w_mode weight_decay amsgrad set_grad_none capturable master_weights"
FUSED: dict[str, str] = {
    "apex.optimizers.FusedAdam": _ADAM,
    "apex.optimizers.FusedLAMB": "params lr bias_correction betas eps weight_decay amsgrad adam_w_mode grad_averaging set_grad_none max_grad_norm use_nvlamb",
    "apex.optimizers.FusedSGD": "params lr momentum dampening weight_decay nesterov wd_after_momentum materialize_master_grads set_grad_none",
    "apex.optimizers.FusedNovoGrad": "params lr bias_correction betas eps weight_decay amsgrad reg_inside_moment grad_averaging norm_type init_zero set_grad_none",
    "transformer_engine.pytorch.optimizers.FusedAdam": "params lr betas eps weight_decay amsgrad bias_correction adam_w_mode capturable master_weights",
    "apex.optimizers.FusedAdagrad": "params lr eps weight_decay set_grad_none adagrad_w_mode",
}


def outside_optimizer(interp: Any, qname: str, args: list[Value], kwargs: dict[str, Value], site: Any) -> Value:
    """The optimizer that a call of such a class makes; NotImplemented for any other."""
    if not NAMED.search(qname):
        return NotImplemented
    bound = bind(FUSED.get(qname, "params lr"), args, kwargs)
    params = bound.get("params")
    listed = interp.iterate(params, site) if params is not None else None
    if not isinstance(listed, list) or not any(holds_parameters(interp, one) for one in listed):
        return NotImplemented
    defaults = {name: value for name, value in bound.items() if name != "params"}
    groups, tensors = param_groups(interp, params, defaults, site)
    how = "fused" if qname in FUSED else None
    options = {f"option_{name}": plain(value) for name, value in defaults.items() if plain(value) is not None}
    interp.event("compute", site, author=AUTHOR, key="optimizer", value=f"{qname}({how})" if how else qname, implementation=how, groups=len(groups.items), **options)
    interp.derive(qname, OPTIMIZER)
    devices = {tensor.device for tensor in tensors}
    attrs: dict[str, Value] = {
        "param_groups": groups, "defaults": DictValue(defaults), "state": DictValue(open=True, kind="defaultdict"),
        "fused": False, "cgx.device": "cuda" if "cuda" in devices else "cpu",
    }  # fmt: skip
    return Opaque(qname, attrs, site.anchor)
