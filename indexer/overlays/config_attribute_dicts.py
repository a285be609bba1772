"""Small attribute dictionaries: EasyDict, addict, Munch, Box, ml_collections' ConfigDict, tf.contrib's HParams."""

from __future__ import annotations

import ast
import re
from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, constant, first, nothing
from cgx.indexer.interpreter.values import ListValue, Value
from cgx.indexer.overlays.config_nodes import (
    ITEMS,
    Flavour,
    container,
    entries,
    make_node,
    maker,
    merge_into,
    methods,
    raw,
    subclass,
)

PACKAGES = ("easydict", "addict", "munch", "box", "ml_collections")  # and not TensorFlow, of which this is one class

EASY = Flavour("easydict.EasyDict")
ADDICT = Flavour("addict.Dict", missing="empty")
MUNCH = Flavour("munch.Munch")
BOX = Flavour("box.Box")
COLLECTION = Flavour("ml_collections.ConfigDict")
HPARAMS = Flavour("tensorflow.contrib.training.HParams")
FLAVOURS = (EASY, ADDICT, MUNCH, BOX, COLLECTION, HPARAMS)
ALIASES = {
    "addict.addict.Dict": ADDICT,
    "munch.munchify": MUNCH,
    "munch.DefaultMunch": MUNCH,
    "box.ConfigBox": BOX,
    "ml_collections.config_dict.ConfigDict": COLLECTION,
    "ml_collections.config_dict.config_dict.ConfigDict": COLLECTION,
    "ml_collections.config_dict.create": COLLECTION,
}


def _to_dict(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return container(interp, args[0], site)


def _deep_update(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``ConfigDict.update``: nested mappings are merged."""
    node = args[0]
    merged = raw(node)
    for source in args[1:]:
        given = raw(source)
        if not isinstance(given, dict):
            interp.trail.set(node.attrs[ITEMS], "open", True)
            continue
        merge_into(merged, given)
    merge_into(merged, {key: raw(value) for key, value in kwargs.items()})
    fresh = make_node(COLLECTION, merged, node.anchor)
    for key, value in fresh.attrs[ITEMS].items.items():
        interp.trail.set_item(node.attrs[ITEMS].items, key, value)
    return None


def _parse(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``hparams.parse("lr=0.1,layers=[1,2],name=x")``: values are literals, or else words."""
    node, text = args[0], args[1] if len(args) > 1 else kwargs.get("values")
    if not isinstance(text, str):
        interp.trail.set(node.attrs[ITEMS], "open", True)
        return node
    for name, value in re.findall(r"(\w+)=(\[[^\]]*\]|[^,]*)", text):
        interp.trail.set_item(node.attrs[ITEMS].items, name, _literal(value))
    return node


def _literal(text: str) -> Value:
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text.strip().lower(), text.strip())
    return ListValue(found) if isinstance(found, list) else found


def _set(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    node, name, value = args
    interp.trail.set_item(node.attrs[ITEMS].items, name, value)
    return None


def _placeholder(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return None


def _rows(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return ListValue(list(entries(interp, args[0], site).items()))


ENTRIES: dict[str, Handler] = {
    **{flavour.qname: maker(flavour) for flavour in FLAVOURS},
    **{name: maker(flavour) for name, flavour in ALIASES.items()},
    **{f"{flavour.qname}.__cgx_new__": subclass(flavour) for flavour in FLAVOURS},
    **{name: handler for flavour in FLAVOURS for name, handler in methods(flavour.qname, flavour).items()},
    **{f"{flavour.qname}.{name}": _to_dict for flavour in FLAVOURS for name in ("to_dict", "toDict", "as_dict")},
    "ml_collections.ConfigDict.update": _deep_update,
    "ml_collections.ConfigDict.update_from_flattened_dict": nothing,
    "ml_collections.ConfigDict.copy_and_resolve_references": first,
    **{f"ml_collections.ConfigDict.{name}": nothing for name in ("lock", "unlock")},
    "ml_collections.ConfigDict.iteritems": _rows,
    "ml_collections.ConfigDict.is_locked": constant(False),
    "ml_collections.FrozenConfigDict": maker(COLLECTION),
    "ml_collections.config_dict.FrozenConfigDict": maker(COLLECTION),
    "ml_collections.FieldReference": first,
    "ml_collections.config_dict.FieldReference": first,
    "ml_collections.config_dict.placeholder": _placeholder,
    "ml_collections.config_dict.required_placeholder": _placeholder,
    "munch.unmunchify": _to_dict,
    f"{HPARAMS.qname}.parse": _parse,
    f"{HPARAMS.qname}.values": _to_dict,
    f"{HPARAMS.qname}.set_hparam": _set,
    f"{HPARAMS.qname}.add_hparam": _set,
    "addict.Dict.freeze": nothing,
    "addict.Dict.unfreeze": nothing,
}

BASES: dict[str, tuple[str, ...]] = {
    "easydict.EasyDict": ("dict",),
    "addict.Dict": ("dict",),
    "munch.Munch": ("dict",),
    "box.Box": ("dict",),
    "ml_collections.ConfigDict": ("ml_collections.config_dict.ConfigDict",),
}
