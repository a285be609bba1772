"""``save_hyperparameters``: the arguments of the constructor that calls it, as ``self.hparams``."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs
from cgx.indexer.interpreter.values import DictValue, Instance, ListValue, Value
from cgx.indexer.overlays.config_nodes import Flavour, entries, is_node, make_node, methods

FLAVOUR = Flavour("lightning.fabric.utilities.data.AttributeDict")
PACKAGES_OF = ("lightning", "lightning.pytorch", "pytorch_lightning", "lightning.pytorch.core", "lightning.pytorch.core.module",
               "lightning.pytorch.core.datamodule", "pytorch_lightning.core.module")  # fmt: skip
CLASSES = ("LightningModule", "LightningDataModule")
MIXINS = ("lightning.pytorch.core.mixins.hparams_mixin.HyperparametersMixin", "pytorch_lightning.core.mixins.hparams_mixin.HyperparametersMixin")


def save(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """Every argument of the running constructor, or those named; ``ignore`` leaves some out."""
    owner, named = args[0], [arg for arg in args[1:] if isinstance(arg, str)]
    function = site.frame.function
    spec = function.node.args if function is not None else None
    names = [arg.arg for arg in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]][1:] if spec is not None else []
    scope = site.frame.scope.vars
    table = {name: scope[name] for name in names if name in scope}
    if spec is not None and spec.kwarg is not None and isinstance(scope.get(spec.kwarg.arg), DictValue):
        table.update(scope[spec.kwarg.arg].items)
    for given in args[1:]:  # a dict or namespace is taken apart
        if isinstance(given, DictValue):
            table = {str(key): value for key, value in given.items.items()}
        elif isinstance(given, Instance) and given.cls.native:
            table = dict(given.attrs)
        elif is_node(given):
            table = {str(key): value for key, value in entries(interp, given, site).items()}
    if named:
        table = {name: table[name] for name in named if name in table}
    ignore = kwargs.get("ignore")
    left_out = ignore.items if isinstance(ignore, ListValue) else [ignore]
    node = make_node(FLAVOUR, {name: value for name, value in table.items() if name not in left_out}, site.anchor)
    if isinstance(owner, Instance):
        for name in ("hparams", "_hparams"):  # the second is what the property of its source reads
            interp.trail.set_item(owner.attrs, name, node)
    return None


ENTRIES: dict[str, Handler] = {
    **{f"{package}.{name}.save_hyperparameters": save for package in PACKAGES_OF for name in CLASSES},
    **{f"{mixin}.save_hyperparameters": save for mixin in MIXINS},
    **methods(FLAVOUR.qname),
}
BASES: dict[str, tuple[str, ...]] = {FLAVOUR.qname: ("dict",)}
