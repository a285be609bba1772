"""Models and layers of libraries whose source is not given: one module that owns weights, and its calls.

What such a library is known to give is a row of ``FACTORIES``. Beyond these, the analysed code itself tells: what is bound to a
name whose ``parameters()`` it asks for is a module. Either way the source that would show its inside is listed as missing.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from cgx.indexer.interpreter.values import ModuleInstance, Sequence, TensorValue, Unknown, Value
from cgx.indexer.overlays.sourceless import blank, called, device_of
from cgx.indexer.overlays.tensor_mappings import mapping

AUTHOR = "overlays.outside_models"
NUMBERS = f"{AUTHOR}.numbers"
MODEL = "cgx.OutsideModel"
OF_PARAMETERS = frozenset({"parameters", "named_parameters", "named_modules", "modules", "children", "named_children"})
PASSES_ON = frozenset({"to", "cuda", "cpu", "eval", "train", "half", "float", "bfloat16", "requires_grad_"})

Place = tuple[int, int, int | None, int | None]
Row = tuple[str, str, str]  # pattern of the qualified name; what a call of the model gives; what the factory gives

FACTORIES: tuple[Row, ...] = (
    (r"torchvision\.models\.detection\.(?!.*weights)\w+(?<!Weights)", "detections", "model"),
    (r"torchvision\.models\.(?:quantization\.|optical_flow\.)?segmentation\.(?!.*weights)\w+(?<!Weights)", "outputs", "model"),
    (r"torchvision\.models\.(?!list_models|get_model_(?:weights|builder)|get_weight)(?:(?:quantization|video)\.)?[a-z]\w+", "tensor", "model"),
    (r"torchvision\.models\.(?:\w+\.)?[A-Z]\w+(?<!Weights)(?<!Config)", "tensor", "model"),
    (r"timm\.(?:models\.|models\.factory\.|models\._factory\.)?create_model", "tensor", "model"),
    (r"timm\.models\.\w+\.(?!checkpoint_filter_fn)[a-z]\w*\d\w*", "tensor", "model"),
    (r"segmentation_models_pytorch\.(?:\w+\.)?(?:create_model|[A-Z]\w+)(?<!Loss)", "tensor", "model"),
    (r"efficientnet_pytorch\.EfficientNet\.from_(?:name|pretrained)", "tensor", "model"),
    (r"(?:open_clip|open_clip\.factory)\.create_model", "", "model"),
    (r"(?:open_clip|open_clip\.factory)\.create_model_and_transforms", "", "model, _, _"),
    (r"(?:open_clip|open_clip\.factory)\.create_model_from_pretrained", "", "model, _"),
    (r"clip(?:\.clip)?\.load", "", "model, _"),
    (r"lpips\.LPIPS", "tensor", "model"),
    (r"monai\.networks\.nets\.[A-Z]\w+", "tensor", "model"),
    (r"vit_pytorch\.(?:\w+\.)?[A-Z]\w+", "tensor", "model"),
    (r"torchaudio\.models\.[A-Z]\w+", "", "model"),
    (r"torch_geometric\.nn\.(?:\w+\.)*[A-Z]\w*(?:Conv|GCN|GAT|GIN|SAGE|MLP|PNA|GraphNorm|DeepGCNLayer)", "tensor", "model"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), gives, made) for pattern, gives, made in FACTORIES)


def row_of(qname: str) -> tuple[str, str] | None:
    """What the model gives, and what the factory does; None for any other name."""
    for pattern, gives, made in _COMPILED:
        if pattern.fullmatch(qname):
            return gives, made
    return None


def family(interp: Any, qname: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A factory or class of a package of the table."""
    found = row_of(qname)
    if found is None:
        return NotImplemented
    gives, parts = found
    model = outside(interp, qname, site, gives)
    return model if parts == "model" else (model, *(_absent(site.text, qname, site) for _ in parts.split(",")[1:]))


def by_use(interp: Any, qname: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A call whose result the same file asks for its parameters."""
    if not isinstance(site.node, ast.Call):
        return NotImplemented
    facts = site.frame.code.facts
    if AUTHOR not in facts:
        facts[AUTHOR] = used_as(site.frame.code.tree, OF_PARAMETERS)
    return outside(interp, qname, site, "") if _place(site.node) in facts[AUTHOR] else NotImplemented


def number_by_use(interp: Any, site: Any, tensors: list[TensorValue]) -> Value:
    """What a loss or metric that nobody knows makes of device tensors: numbers beside them, where the same file takes them for such."""
    if not isinstance(site.node, ast.Call):
        return NotImplemented
    facts = site.frame.code.facts
    if NUMBERS not in facts:
        facts[NUMBERS] = numbers_in(site.frame.code.tree)
    devices = {tensor.device for tensor in tensors}
    count = facts[NUMBERS].get(_place(site.node))
    if count is None or len(devices) != 1:
        return NotImplemented
    device = devices.pop()
    if not count:
        return TensorValue((), None, device, requires_grad=True)
    return tuple(TensorValue((), None, device) for _ in range(count)) if device != "cpu" else NotImplemented


def numbers_in(tree: ast.Module) -> dict[Place, int]:
    """Calls bound to a name that goes backward (0), or to several that are read with ``item()`` (their number)."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    learnt = frozenset(ast.unparse(node.args[0]) for node in calls if node.args and isinstance(node.args[0], ast.Name) and takes_loss(node))
    found = dict.fromkeys(used_as(tree, frozenset({"backward"}), learnt), 0)
    read = {ast.unparse(node.func.value) for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "item"}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        names = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple | ast.List) else []
        if names and all(ast.unparse(name) in read for name in names):
            found[_place(node.value)] = len(names)
    return found


def takes_loss(call: ast.Call) -> bool:
    """``scaler.scale(loss)``, ``accelerator.backward(loss)``, or a helper that is given the optimizer too."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("scale", "backward"):
        return True
    return any("optim" in ast.unparse(arg).lower() for arg in call.args[1:] if isinstance(arg, ast.Name | ast.Attribute))


def outside(interp: Any, qname: str, site: Any, gives: str) -> ModuleInstance:
    module = blank(interp, qname, site, MODEL)
    module.attrs["cgx.gives"], module.attrs["cgx.absent"] = gives, _absent(qname, qname, site)
    return module


def _absent(name: str, qname: str, site: Any) -> Unknown:
    top = qname.partition(".")[0]
    return Unknown(name, "missing-module", site.anchor, settle=("--env", top) if top != "torch" else None)


def used_as(tree: ast.Module, methods: frozenset[str], more: frozenset[str] = frozenset()) -> frozenset[Place]:
    """The calls whose result, also behind ``.to(device)`` and its kind, is bound to something that these methods are called of, or to ``more``."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    asked = {ast.unparse(node.func.value) for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr in methods}
    asked |= more
    found: set[Place] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not any(ast.unparse(target) in asked for target in node.targets):
            continue
        value = node.value
        while isinstance(value, ast.Call):
            found.add(_place(value))
            value = value.func.value if isinstance(value.func, ast.Attribute) and value.func.attr in PASSES_ON else ast.Constant(None)
    return frozenset(found)


def _place(node: ast.Call) -> Place:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def forward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """One call: an output on the device that the weights lie on."""
    module = args[0]
    if not isinstance(module, ModuleInstance):
        return NotImplemented
    device, gives = device_of(module), module.attrs.get("cgx.gives", "")
    node = called(interp, site, module, args[1:], kwargs, root=not interp.forward_depth)
    tensor = TensorValue(None, node.autocast or None, device, requires_grad=node.grad)
    node.outputs = [("", tensor)] if gives == "tensor" else []
    interp.note_unknown(module.attrs["cgx.absent"])
    if gives == "tensor":
        return tensor
    if gives == "outputs" or (gives == "detections" and module.training is True):  # losses by name, in training
        return mapping(site, TensorValue(None, None, device, requires_grad=node.grad))
    if gives == "detections":
        return Sequence(mapping(site, TensorValue(None, None, device)), interp.unknown(f"len({site.text})", "data", site, hint="int"))
    return Unknown(site.text, "missing-module", site.anchor, hint="tensor", settle=module.attrs["cgx.absent"].settle)


PACKAGES_TOLD = tuple(dict.fromkeys(re.findall(r"\w+", pattern)[0] for pattern, _, _ in FACTORIES))
FAMILIES: tuple[tuple[str, Any], ...] = (*((package, family) for package in PACKAGES_TOLD), ("*", by_use))
ENTRIES: dict[str, Any] = {
    f"{MODEL}.forward": forward,
    f"{MODEL}.__call__": forward,
}
BASES: dict[str, tuple[str, ...]] = {MODEL: ("torch.nn.Module",)}
