"""A trace as the interpreter would write it, made from the truth of a real model: what the fold is tested on."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.trace import JobNode, ModuleCall, OpNode, Trace
from cgx.indexer.interpreter.values import ClassValue, ModuleInstance, TensorValue
from cgx.model.anchors import Anchor

Json = dict[str, Any]
CONTAINERS = ("ModuleList", "ModuleDict", "Sequential")


def trace_of(truth: Json) -> Trace:
    """Module instances, their calls in order, and their ops."""
    modules = {module["path"]: module for module in truth["modules"]}
    instances = _instances(truth, modules)
    calls = _calls(truth, instances)
    for op in truth["ops"]:
        if op["file"] is not None:
            _op(op, calls, modules, truth)
    root = JobNode(Anchor("job.py", "<module>", 1), children=[calls[0][0]])
    return Trace(root, list({id(instance): instance for instance in instances.values()}.values()))


def _instances(truth: Json, modules: dict[str, Json]) -> dict[str, ModuleInstance]:
    tied = {name: tie["names"][0] for tie in truth["tied_parameters"] for name in tie["names"]}
    shared: dict[str, TensorValue] = {}
    classes: dict[tuple[str, bool], ClassValue] = {}
    found: dict[str, ModuleInstance] = {}
    for path, module in modules.items():
        made = ModuleInstance(_class(module, classes), attrs={"extra": module.get("extra_repr", "")})
        if module.get("constructed_at"):
            file, line = module["constructed_at"].rsplit(":", 1)
            made.constructed_at = Anchor(file, plain(module["constructed_in"]), int(line))
        for name, shape in module.get("params", {}).items():
            full = f"{path}.{name}".lstrip(".")
            if isinstance(shape, list):
                made.parameters[name] = shared.setdefault(tied.get(full, full), TensorValue(tuple(shape), "float32"))
        found[path] = made
    for alias in truth["module_aliases"]:
        found[alias["path"]] = found[alias["alias_of"]]
    for path, instance in found.items():
        parent, _, name = path.rpartition(".")
        if path and parent in found:
            found[parent].children[name] = instance
    return found


def _class(module: Json, classes: dict[tuple[str, bool], ClassValue]) -> ClassValue:
    name = plain(module["class"])
    home = (module.get("class_module") or "__main__").split(".")
    torch = "external" in module and home[0] == "torch"
    qname = f"torch.nn.{name}" if torch else f"{'.'.join(home)}.{name}"
    key = (qname, torch)
    if key not in classes:
        native = qname if torch else "torch.nn.ModuleDict" if name in CONTAINERS else ""
        made = ClassValue(
            name.rpartition(".")[2],
            qname,
            name,
            module.get("defined_in") or "x.py",
            None,
            [],
            [],
            {},
            native=native if torch else "",
        )
        made.mro = [made] if not native or torch else [made, ClassValue("ModuleDict", native, "", "", None, [], [], {})]
        classes[key] = made
    return classes[key]


def plain(symbol: str) -> str:
    return symbol.replace("<locals>.", "").replace(".<lambda>", "").replace("<lambda>", "<module>")


def _calls(truth: Json, instances: dict[str, ModuleInstance]) -> dict[int, tuple[ModuleCall, tuple[str, ...]]]:
    """{order: the call, the paths of the calls round it}. Only a module's first call names its caller: a later one is hung
    below the open call that resembles it."""

    def bare(path: str) -> str:
        return re.sub(r"\d+", "#", path)

    owners: dict[str, set[str]] = {}
    for alias in truth["module_aliases"]:
        owners.setdefault(alias["alias_of"], set()).add(alias["path"].rpartition(".")[0])
    events = {order: call for call in truth["forward"] for order in call.get("call_orders") or [call["order"]]}
    made: dict[int, tuple[ModuleCall, tuple[str, ...]]] = {}
    stack: list[tuple[str, ModuleCall]] = []
    for order, call in sorted(events.items()):
        path, caller = call["module_path"], call["caller"]
        again = order != call["order"]
        likely = {caller, *owners.get(path, ())} if again else {caller}
        depth = next((d for d in range(len(stack), 0, -1) if stack[d - 1][0] in likely), 0)
        if not depth and again and caller and not f"{path}.".startswith(f"{caller}."):
            depth = next((d for d in range(len(stack), 0, -1) if bare(stack[d - 1][0]) == bare(caller)), 0)
        if not depth:
            depth = next(
                (
                    d
                    for d in range(len(stack), 0, -1)
                    if not stack[d - 1][0] or f"{path}.".startswith(f"{stack[d - 1][0]}.")
                ),
                0,
            )
        del stack[depth:]
        if path not in instances:  # it runs outside the tree: its ops belong to the caller
            made[order] = (stack[-1][1], tuple(name for name, _ in stack[:-1]))
            continue
        orders = call.get("call_orders") or [order]
        shapes = (call.get("call_shapes") or [{"in": call["in_shapes"], "out": call["out_shapes"]}] * len(orders))[
            orders.index(order)
        ]
        node = ModuleCall(Anchor("model.py", "forward", 1), module=instances[path], called_from=Anchor("model.py", "forward", 1),
                          inputs=_tensors(shapes["in"]), outputs=_tensors(shapes["out"]))  # fmt: skip
        if stack:
            stack[-1][1].children.append(node)
        made[order] = (node, tuple(name for name, _ in stack))
        stack.append((path, node))
    return made


def _tensors(shapes: list[list[int]]) -> list[tuple[str, TensorValue]]:
    return [("x", TensorValue(tuple(dims), "float32")) for dims in shapes]


def _op(op: Json, calls: dict[int, tuple[ModuleCall, tuple[str, ...]]], modules: dict[str, Json], truth: Json) -> None:
    """An op, or for the op of a layer without code in the tree the line that calls the layer."""
    call, callers = calls[op["call"]]
    module = modules.get(op["module_path"])
    anchor = Anchor(op["file"], plain(op["function"]), op["line"], op.get("end_line"))
    if module is not None and ("external" in module or op.get("self_path") in callers):
        call.called_from = anchor
        call.children.append(
            OpNode(anchor, qname=op["op"], layer=True, inherited=module is not None and "external" not in module)
        )
        return
    library = op.get("inner", {}).get("file", "").split("/")[0]
    name = f"{library}.{op['inner']['function']}" if library.isidentifier() else op["op"]
    sides = [[tensor for _, tensor in _tensors(op[f"{side}_shapes"])] for side in ("in", "out")]
    call.children.append(OpNode(anchor, qname=name, inputs=sides[0], outputs=sides[1]))
