"""torch.optim: constructors with the implementation torch picks, step, zero_grad, parameter groups."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import SEARCH, BranchNode, Event, LoopNode, Node
from cgx.indexer.interpreter.values import (
    Alternatives,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    Sequence,
    SetValue,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, number, plain

AUTHOR = "overlays.optimizers"
OPTIMIZER = "torch.optim.Optimizer"
MANY = 100  # of a list are looked through
HOOKS = "cgx.step_hooks."  # in its attributes: what an optimizer calls before (pre) and behind (post) its steps


@dataclass(frozen=True)
class OptimizerRow:
    """``signature``: parameters in order. ``foreach``: torch uses the multi-tensor form by default on CUDA.

    ``syncs``: its step reads device values on the host; ``searches``: it calls the closure again and again.
    """

    name: str
    signature: str
    foreach: bool = True
    fused: bool = False
    syncs: str = ""
    searches: bool = False

    @property
    def qname(self) -> str:
        return f"torch.optim.{self.name}"


_ADAM = "params lr betas eps weight_decay amsgrad foreach maximize capturable differentiable fused"
ROWS: tuple[OptimizerRow, ...] = (
    OptimizerRow("Adam", _ADAM, fused=True),
    OptimizerRow("AdamW", _ADAM, fused=True),
    OptimizerRow(
        "SGD", "params lr momentum dampening weight_decay nesterov maximize foreach differentiable fused", fused=True
    ),
    OptimizerRow(
        "Adagrad", "params lr lr_decay weight_decay initial_accumulator_value eps foreach maximize differentiable fused"
    ),
    OptimizerRow("Adadelta", "params lr rho eps weight_decay foreach capturable maximize differentiable"),
    OptimizerRow("Adamax", "params lr betas eps weight_decay foreach maximize differentiable capturable"),
    OptimizerRow(
        "NAdam",
        "params lr betas eps weight_decay momentum_decay decoupled_weight_decay foreach maximize capturable differentiable",
    ),
    OptimizerRow(
        "RAdam", "params lr betas eps weight_decay decoupled_weight_decay foreach maximize capturable differentiable"
    ),
    OptimizerRow(
        "RMSprop", "params lr alpha eps weight_decay momentum centered capturable foreach maximize differentiable"
    ),
    OptimizerRow("Rprop", "params lr etas step_sizes capturable foreach maximize differentiable"),
    OptimizerRow("ASGD", "params lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"),
    OptimizerRow("Adafactor", "params lr beta2_decay eps d weight_decay foreach maximize"),
    OptimizerRow(
        "Muon", "params lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn", foreach=False
    ),
    OptimizerRow("SparseAdam", "params lr betas eps maximize", foreach=False),
    OptimizerRow(
        "LBFGS",
        "params lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn",
        foreach=False,
        syncs="conversion",
        searches=True,
    ),
)
# what a step leaves for each parameter
STATE: dict[str, tuple[str, ...]] = {
    "Adam": ("step", "exp_avg", "exp_avg_sq"),
    "AdamW": ("step", "exp_avg", "exp_avg_sq"),
    "SGD": ("momentum_buffer",),
}
SIGNATURES: dict[str, str] = {row.qname: row.signature for row in ROWS}


def param_groups(
    interp: Any, params: Value, defaults: dict[str, Value], site: Any
) -> tuple[ListValue, list[TensorValue]]:
    """The optimizer's groups as torch builds them, and the parameter tensors that are known."""
    listed = interp.iterate(params, site)
    items = listed if isinstance(listed, list) else [listed.element] if isinstance(listed, Sequence) else []
    more = isinstance(params, ListValue) and bool(params.open)
    if more and isinstance(params, ListValue) and any(isinstance(item, DictValue) for item in params.items):
        items = params.items  # those that are known, beside others
    items = [item for item in items if not isinstance(item, Unknown)] if isinstance(params, Unknown) else items
    groups: list[DictValue] = [item for item in items if isinstance(item, DictValue)]
    if not groups:
        held = ListValue(list(items), open=not isinstance(listed, list))
        groups = [DictValue({"params": held})]
    tensors: list[TensorValue] = []
    for group in groups:
        for name, value in defaults.items():
            if name not in group.items:
                interp.trail.set_item(group.items, name, value)
        tensors += group_tensors(interp, group.items.get("params"), site)
    return ListValue(list(groups), open=more and any("lr" in group.items or "kind" in group.items for group in groups[1:])), tensors


def group_tensors(interp: Any, params: Value, site: Any) -> list[TensorValue]:
    if isinstance(params, TensorValue):
        return [params]
    listed = interp.iterate(params, site) if params is not None else []
    items = listed if isinstance(listed, list) else [listed.element] if isinstance(listed, Sequence) else []
    if not isinstance(listed, list) and isinstance(params, ListValue) and params.items:
        items = params.items  # those that are known, of a model whose depth is not
    items = [option for item in items for option in ([one for _, one in item.options] if isinstance(item, Alternatives) else [item])]
    return [item[1] if isinstance(item, tuple) and len(item) == 2 else item for item in items
            if isinstance(item, TensorValue) or (isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], TensorValue))]  # fmt: skip


def named_by_groups(interp: Any, params: Value, site: Any) -> str:
    """The implementation that every group asks for by itself: a step reads ``fused`` and ``foreach`` from its group."""
    listed = interp.iterate(params, site) if isinstance(params, ListValue) else None
    groups = [item.items for item in listed if isinstance(item, DictValue)] if isinstance(listed, list) else []
    for name in ("fused", "foreach"):
        if groups and all(flag(group.get(name)) is True for group in groups):
            return name
    return ""


def implementation(row: OptimizerRow, bound: dict[str, Value], on_cuda: bool | None) -> str | None:
    """``fused``, ``foreach`` or ``for-loop``, as ``_default_to_fused_or_foreach`` decides; None where that is not known."""
    fused, foreach = flag(bound.get("fused")), flag(bound.get("foreach"))
    if fused:
        return "fused"
    if foreach:
        return "foreach"
    if bound.get("foreach") is None and fused is not False and row.foreach and not flag(bound.get("differentiable")):
        return None if on_cuda is None else "foreach" if on_cuda else "for-loop"
    return "for-loop"


def grouped(tensors: list[TensorValue]) -> bool | None:
    """The parameters lie where torch has multi-tensor kernels, and are no flattened ones. None where no device is known."""
    if any("cgx.flat" in tensor.attrs for tensor in tensors):
        return False
    devices = {tensor.device for tensor in tensors} or {"cuda"}
    return True if "cuda" in devices else None if None in devices else False


def settle(optimizer: Value) -> None:
    """At the first step: the parameters may have been moved since the optimizer was made, and torch looks at them now."""
    made = optimizer.attrs.get("cgx.made") if isinstance(optimizer, Opaque) else None
    if made is None:
        return
    event, row, bound, tensors = made
    optimizer.attrs["cgx.stepped"] = True
    event.data["implementation"] = implementation(row, bound, grouped(tensors))
    if any(tensor.device == "cuda" for tensor in tensors):
        optimizer.attrs["cgx.device"] = "cuda"


def constructor(row: OptimizerRow) -> Any:
    """Handler that builds the optimizer and says which implementation its step takes."""

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(row.signature, args, kwargs)
        defaults = {name: bound.get(name) for name in row.signature.split()[1:]}
        own = named_by_groups(interp, bound.get("params"), site)
        groups, tensors = param_groups(interp, bound.get("params"), defaults, site)
        devices = {tensor.device for tensor in tensors} or {"cuda"}
        how = own or implementation(row, bound, grouped(tensors))
        name = f"{row.qname}({how})" if how == "fused" else row.qname
        options = {key: plain(value) for key, value in bound.items() if key != "params" and plain(value) is not None}
        event = interp.event("compute", site, author=AUTHOR, key="optimizer", value=name, implementation=how,
                             groups=None if isinstance(bound.get("params"), Unknown) else len(groups.items), **{f"option_{key}": value for key, value in options.items()})  # fmt: skip
        attrs: dict[str, Value] = {
            "param_groups": groups,
            "defaults": DictValue(dict(defaults)),
            "state": DictValue(open=True, kind="defaultdict"),
            "fused": how == "fused",
            "cgx.row": row.name,
            "cgx.device": "cuda" if "cuda" in devices else "cpu",
            "cgx.made": (event, row, {**bound, own: True} if own else bound, tensors),
        }
        return Opaque(row.qname, attrs, site.anchor)

    return construct


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``optimizer.step()``; a closure runs inside it."""
    optimizer = args[0]
    closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
    if isinstance(optimizer, Opaque):
        run_hooks(interp, site, optimizer, "pre")
    loss = closed(interp, optimizer, closure, site) if closure is not None else None
    every = optimizer.attrs.get("cgx.accumulate", 1) if isinstance(optimizer, Opaque) else 1
    if every == 1:
        scaled(interp, optimizer, site)
        taken(interp, optimizer, site)
    else:  # a prepared optimizer steps at the last micro-step only
        with interp.inside(
            BranchNode(site.anchor, f"micro-step % {every} == 0", period=("micro-step", every), decided=True)
        ):
            scaled(interp, optimizer, site)
            taken(interp, optimizer, site)
    if isinstance(optimizer, Opaque):
        run_hooks(interp, site, optimizer, "post")
    return loss


def register_hook(when: str) -> Any:
    """``register_step_pre_hook`` and ``register_step_post_hook``: what the optimizer calls round each of its steps."""

    def register(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        hook = kwargs.get("hook", args[1] if len(args) > 1 else None)
        interp.trail.set_item(args[0].attrs, HOOKS + when, (*args[0].attrs.get(HOOKS + when, ()), hook))
        return Opaque("torch.utils.hooks.RemovableHandle", anchor=site.anchor)

    return register


def run_hooks(interp: Any, site: Any, optimizer: Opaque | Instance, when: str) -> None:
    for hook in optimizer.attrs.get(HOOKS + when, ()):
        interp.attempt(lambda hook=hook: interp.call(hook, [optimizer, (), DictValue()], {}, site))


def before_own_step(interp: Any, site: Any, owner: Instance) -> None:
    run_hooks(interp, site, owner, "pre")


def row_of(optimizer: Value) -> Any:
    name = optimizer.attrs.get("cgx.row") if isinstance(optimizer, Opaque) else None
    return next((row for row in ROWS if row.name == name), None)


def closed(interp: Any, optimizer: Value, closure: Value, site: Any) -> Value:
    """The closure's loss. A line search calls it until it is content: nobody knows how often."""
    row = row_of(optimizer)
    if row is None or not row.searches:
        return interp.call(closure, [], {}, site)
    with interp.inside(LoopNode(site.anchor, site.text, expr=site.text, over=SEARCH)):
        return interp.call(closure, [], {}, site)


def scaled(interp: Any, optimizer: Value, site: Any) -> None:
    """A prepared optimizer steps through a scaler, which reads ``found_inf`` unless the optimizer takes it fused."""
    if isinstance(optimizer, Opaque) and optimizer.attrs.get("cgx.scaled") and optimizer.attrs.get("fused") is not True:
        interp.event("sync", site, author=AUTHOR, sync="item", what="found_inf", internal=True)


def taken(interp: Any, optimizer: Value, site: Any) -> None:
    """The events of one step."""
    settle(optimizer)
    row = row_of(optimizer)
    interp.event("compute", site, author=AUTHOR, key="optimizer_step",
                 value=optimizer.qname if isinstance(optimizer, Opaque) else optimizer.cls.qname if isinstance(optimizer, Instance) else "", optimizer=getattr(optimizer, "anchor", None))  # fmt: skip
    if row is not None and row.syncs and optimizer.attrs.get("cgx.device") != "cpu":
        interp.event("sync", site, author=AUTHOR, sync=row.syncs, what=site.text, internal=True)


def own_step(interp: Any, site: Any, owner: Instance, nodes: list[Node]) -> None:
    """Behind the ``step`` of a user's optimizer: it is one where no other optimizer has stepped inside it."""
    run_hooks(interp, site, owner, "post")
    inside = [node for top in nodes for node in top.walk() if isinstance(node, Event) and node.data.get("key") == "optimizer_step"]
    for node in inside:
        if node.data.get("once"):
            node.data["key"] = "parameter"  # written by hand, as a part of this step
    if any(node.data["key"] == "optimizer_step" for node in inside):
        return
    groups = owner.attrs.get("param_groups")
    known = len(groups.items) if isinstance(groups, ListValue) and not groups.open else None
    interp.event("compute", site, author=AUTHOR, key="optimizer", value=owner.cls.qname, groups=known, anchor_at=owner.constructed_at)
    interp.event("compute", site, author=AUTHOR, key="optimizer_step", value=owner.cls.qname, optimizer=owner.constructed_at)


def held_step(interp: Any, site: Any, owner: Instance, nodes: list[Node]) -> None:
    """Behind ``step`` of a class of no library: an optimizer, where it holds parameters and reads their gradients."""
    if isinstance(owner, ModuleInstance) or any(isinstance(cls, External) for cls in owner.cls.mro if getattr(cls, "qname", "") != "builtins.object"):
        return
    held = list(owner.attrs.values())
    if any(isinstance(value, Opaque) and value.qname.startswith("torch.optim.") for value in held) or not any(holds_parameters(interp, value) for value in held):
        return
    if reads_gradients(owner):
        own_step(interp, site, owner, nodes)


def holds_parameters(interp: Any, value: Value, depth: int = 3) -> bool:
    """A list or table of parameters, or of what holds them."""
    if isinstance(value, TensorValue):
        return bool(value.parameter)
    if not depth:
        return False
    items: list[Value] = []
    if isinstance(value, ListValue | SetValue):
        items = value.items
    elif isinstance(value, tuple):
        items = list(value)
    elif isinstance(value, DictValue):
        items = [*interp.unkeys(value), *value.items.values()]
    return any(holds_parameters(interp, one, depth - 1) for one in items[:MANY])


def reads_gradients(owner: Instance) -> bool:
    """``.grad`` stands in one of its class's own methods."""
    methods = [value for cls in owner.cls.mro if isinstance(cls, ClassValue) for value in cls.namespace.values()]
    nodes = [method.node for method in methods if isinstance(method, FunctionValue)]
    return any(isinstance(one, ast.Attribute) and one.attr == "grad" for node in nodes for one in ast.walk(node))


def zero_grad(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``set_to_none`` is True by default."""
    value = kwargs.get("set_to_none", args[1] if len(args) > 1 else True)
    known = flag(value, True)
    interp.event(
        "compute", site, author=AUTHOR, key="zero_grad", value={"set_to_none": known} if known is not None else "called"
    )
    return None


def kept(event: Any, row: OptimizerRow, bound: dict[str, Value], tensors: list[TensorValue]) -> dict[Any, Value]:
    """{index of a parameter: its state}; empty where the algorithm is none of those whose state is known."""
    names = STATE.get(row.name)
    if names is None or (row.name == "SGD" and not number(bound.get("momentum"))):
        return {}
    step_device = "cuda" if event.data["implementation"] == "fused" or flag(bound.get("capturable"), False) else "cpu"
    found: dict[Any, Value] = {}
    for index, tensor in enumerate(tensors):
        if tensor.requires_grad is False:
            continue
        own: dict[Any, Value] = {"step": TensorValue((), "float32", step_device)} if names[0] == "step" else {}
        own |= {name: TensorValue(tensor.shape, tensor.dtype, tensor.device, attrs=dict(tensor.attrs)) for name in names if name != "step"}
        found[index] = DictValue(own)
    return found


def state_dict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """After a step: what the algorithm keeps for each parameter. Before: its tensors lie where the parameters do."""
    made = args[0].attrs.get("cgx.made") if isinstance(args[0], Opaque) else None
    if made is not None and args[0].attrs.get("cgx.stepped") and (held := kept(*made)):
        return DictValue({"state": DictValue(held), "param_groups": ListValue([], open=True)})
    device = args[0].attrs.get("cgx.device") if isinstance(args[0], Opaque) else held_device(interp, args[0], site)
    state = TensorValue(device=device, name="optimizer state")
    return DictValue({"state": DictValue({0: state}, open=True), "param_groups": ListValue([], open=True)})


def held_device(interp: Any, owner: Value, site: Any) -> str | None:
    """Where the parameters of a user's optimizer lie: so do its moments."""
    groups = owner.attrs.get("param_groups") if isinstance(owner, Instance) else None
    known = [group for group in groups.items if isinstance(group, DictValue)] if isinstance(groups, ListValue) else []
    tensors = [tensor for group in known for tensor in group_tensors(interp, group.items.get("params"), site)]
    return next((tensor.device for tensor in tensors if tensor.device), None)


def add_param_group(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    group = kwargs.get("param_group", args[1] if len(args) > 1 else None)
    groups = args[0].attrs.get("param_groups") if isinstance(args[0], Opaque) else None
    if not isinstance(groups, ListValue):
        return None
    defaults = args[0].attrs.get("defaults")
    if isinstance(group, DictValue) and isinstance(defaults, DictValue):
        for name, value in defaults.items.items():
            if name not in group.items:
                interp.trail.set_item(group.items, name, value)
    interp.trail.append(groups, group)
    made = args[0].attrs.get("cgx.made")
    if made is not None and made[0].data.get("groups") is not None:
        made[0].data["groups"] = len(groups.items)
    return None


def base_init(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``super().__init__(params, defaults)`` of a user's optimizer: fills ``param_groups``, ``defaults`` and ``state``."""
    bound = bind("self params defaults", args, kwargs)
    own = bound["defaults"].items if isinstance(bound.get("defaults"), DictValue) else {}
    groups, _ = param_groups(interp, bound.get("params"), dict(own), site)
    instance = bound["self"]
    for name, value in (
        ("param_groups", groups),
        ("defaults", bound.get("defaults")),
        ("state", DictValue(open=True, kind="defaultdict")),
    ):
        interp.setattr(instance, name, value, site)
    return None


def module_zero_grad(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``model.zero_grad()``; the core does the rest."""
    zero_grad(interp, site, args, kwargs)
    return NotImplemented


ENTRIES: dict[str, Any] = {row.qname: constructor(row) for row in ROWS}
for _row in ROWS:
    ENTRIES[f"torch.optim.{_row.name.lower()}.{_row.name}"] = ENTRIES[_row.qname]
ENTRIES |= {
    "torch.nn.Module.zero_grad": module_zero_grad,
    f"{OPTIMIZER}.__init__": base_init,
    f"{OPTIMIZER}.step": step,
    f"{OPTIMIZER}.zero_grad": zero_grad,
    f"{OPTIMIZER}.state_dict": state_dict,
    f"{OPTIMIZER}.load_state_dict": nothing,
    f"{OPTIMIZER}.add_param_group": add_param_group,
    f"{OPTIMIZER}.register_step_pre_hook": register_hook("pre"),
    f"{OPTIMIZER}.register_step_post_hook": register_hook("post"),
}
BEFORE: dict[str, Any] = {f"{OPTIMIZER}.step": before_own_step}
AFTER: dict[str, Any] = {f"{OPTIMIZER}.step": own_step, "*.step": held_step}
BASES: dict[str, tuple[str, ...]] = {
    **{row.qname: (OPTIMIZER,) for row in ROWS},
    "torch.optim.optimizer.Optimizer": (OPTIMIZER,),
}
