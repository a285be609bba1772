"""Data collators of transformers and TRL (read from transformers 4.46-5.24): padded host tensors of a batch, made by the loader's workers."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.values import DictValue, ListValue, Opaque, TensorValue, Value
from cgx.indexer.overlays.tensor_mappings import mapping

COLLATOR = "transformers.DataCollator"
NAMED = re.compile(r"(?:transformers|trl)\.(?:[\w.]+\.)?(?:DataCollator\w*|DefaultDataCollator)")
WITH_LABELS = (
    "LanguageModeling",
    "Seq2Seq",
    "TokenClassification",
    "Permutation",
    "SOP",
    "WholeWordMask",
    "Completion",
    "Flattening",
)


def family(interp: Any, qname: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The constructor of a collator: what it makes is told by its name."""
    if NAMED.fullmatch(qname) is None:
        return NotImplemented
    return Opaque(
        COLLATOR,
        {"cgx.name": qname, "tokenizer": kwargs.get("tokenizer", args[0] if args else None)},
        site.anchor,
        qname,
    )


def collate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Known features keep their names; of a data set whose columns are not known, a model's inputs stand for all."""
    listed = args[1] if len(args) > 1 else None
    first = listed.items[0] if isinstance(listed, ListValue) and listed.items else None
    named = args[0].attrs["cgx.name"]
    keys = [key for key in first.items if isinstance(key, str)] if isinstance(first, DictValue) else []
    if not keys:
        return DictValue(open=True)
    keys = ["labels" if key in ("label", "label_ids") else key for key in keys]
    if "labels" not in keys and any(word in named for word in WITH_LABELS):
        keys.append("labels")
    return DictValue({key: TensorValue((None, None), "int64", "cpu", pinned=False) for key in dict.fromkeys(keys)})


def default(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``default_data_collator(features, return_tensors="pt")``: each key of the features stacked as a host tensor."""
    listed = args[0] if args else kwargs.get("features")
    first = listed.items[0] if isinstance(listed, ListValue) and listed.items else None
    if isinstance(first, DictValue) and not first.open:
        return DictValue({key: stacked(value) for key, value in first.items.items()})
    return mapping(site, TensorValue(None, None, "cpu", pinned=False))


def stacked(value: Value) -> TensorValue:
    known = value.dtype if isinstance(value, TensorValue) else "int64" if isinstance(value, int) else None
    shape = (None, *value.shape) if isinstance(value, TensorValue) and value.shape is not None else None
    return TensorValue(shape, known, "cpu", pinned=False)


FAMILIES: tuple[tuple[str, Any], ...] = (("transformers", family), ("trl", family))
ENTRIES: dict[str, Any] = {
    f"{COLLATOR}.__call__": collate,
    "transformers.default_data_collator": default,
    "transformers.data.data_collator.default_data_collator": default,
}
BASES: dict[str, tuple[str, ...]] = {}
