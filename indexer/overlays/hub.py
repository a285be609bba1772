"""Hugging Face hub: what ``from_pretrained`` reads lies outside the repository.

Tokenizers and processors are objects of the host whose outputs are not known; a configuration is the file that ``--file``
gives (``config.json of NAME``), else unknown attribute by attribute.
"""

from __future__ import annotations

import json
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import DictValue, Instance, ListValue, Opaque, TensorValue, Unknown, Value

AUTHOR = "overlays.hub"
TOKENIZER, CONFIG = "transformers.PreTrainedTokenizerBase", "transformers.PretrainedConfig"
COMMON: dict[str, Value] = {"return_dict": True, "use_return_dict": True, "output_hidden_states": False, "output_attentions": False,
                            "chunk_size_feed_forward": 0, "is_encoder_decoder": False, "tie_word_embeddings": True}  # fmt: skip
DTYPES = frozenset({"float32", "float16", "bfloat16", "float64"})


def name_of(args: list[Value], kwargs: dict[str, Value], site: Any) -> str:
    """Name or path of what is loaded, as text."""
    given = args[0] if args else kwargs.get("pretrained_model_name_or_path")
    if isinstance(given, str):
        return given
    return given.name if isinstance(given, Unknown) and given.name else site.text


def tokenizer(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``AutoTokenizer.from_pretrained``: its files are outside; what it gives depends on them."""
    missing = Unknown(
        f"tokenizer of {name_of(args, kwargs, site)}",
        "missing-file",
        site.anchor,
        settle=("--file", f"tokenizer of {name_of(args, kwargs, site)}"),
    )
    interp.note_unknown(missing)
    return Opaque(TOKENIZER, {"cgx.missing": missing}, site.anchor)


def tokens(hint: str) -> Any:
    """``encode`` and its kind: a list of ints on the host, of unknown length."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if hint == "tokens":
            return ListValue([interp.unknown(f"token of {site.text}", "data", site, hint="int")], open=True)
        return interp.unknown(site.text, "data", site, hint=hint)

    return call


def batch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``tokenizer(texts, return_tensors="pt")``: host tensors, pageable, of unknown length."""
    if kwargs.get("return_tensors") in ("pt", "torch"):
        items = {
            name: TensorValue((None, None), "int64", "cpu", pinned=False) for name in ("input_ids", "attention_mask")
        }
        return Opaque("transformers.BatchEncoding", {**items, "data": DictValue(dict(items))}, site.anchor)
    listed = ListValue([interp.unknown("token", "data", site, hint="int")], open=True)
    return DictValue({"input_ids": listed, "attention_mask": listed})


def template(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``apply_chat_template``: token ids unless told otherwise."""
    if kwargs.get("tokenize") is False:
        return interp.unknown(site.text, "data", site, hint="str")
    if kwargs.get("return_dict") is True:
        return batch(interp, site, args, kwargs)
    if kwargs.get("return_tensors") in ("pt", "torch"):
        return TensorValue((None, None), "int64", "cpu", pinned=False)
    return tokens("tokens")(interp, site, args, kwargs)


def padded(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``tokenizer.pad(features, return_tensors="pt")``: a host tensor for each key of the features."""
    from cgx.indexer.overlays.tensor_mappings import mapping

    if kwargs.get("return_tensors") not in ("pt", "torch"):
        return interp.unknown(site.text, "data", site)
    return mapping(site, TensorValue((None, None), "int64", "cpu", pinned=False), "transformers.BatchEncoding")


def encoding_to(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``BatchEncoding.to(device)``: each tensor is copied."""
    from cgx.indexer.overlays.lifecycle import moved_batch

    moved = moved_batch(interp, args[0].attrs["data"], False, site, AUTHOR, "inputs")
    return Opaque("transformers.BatchEncoding", {**moved.items, "data": moved}, site.anchor)


def encoding_item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    found = args[0].attrs.get(args[1]) if isinstance(args[1], str) else None
    return found if found is not None else interp.unknown(site.text, "data", site)


def encoding_keys(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return ListValue(list(args[0].attrs["data"].items))


def config(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``AutoConfig.from_pretrained``: the given file's values, else an object whose attributes are not known."""
    name = name_of(args, kwargs, site)
    wanted = f"config.json of {name.rstrip('/')}"
    data = interp.files.get(wanted) or interp.files.get("config.json")
    if data is None and not name.startswith(("/", "~")):
        data = interp.tree.read(f"{name.rstrip('/')}/config.json")
    if data is not None:
        try:
            return Opaque(CONFIG, {key: plain(value) for key, value in json.loads(data).items()}, site.anchor)
        except ValueError:
            pass
    missing = Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted))
    interp.note_unknown(missing)
    return Opaque(CONFIG, {"cgx.missing": missing}, site.anchor)


def plain(value: Any) -> Value:
    """JSON as values; dtypes by name stay text."""
    if isinstance(value, dict):
        return DictValue({key: plain(one) for key, one in value.items()})
    if isinstance(value, list):
        return ListValue([plain(one) for one in value])
    return value


def config_attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """An attribute of a configuration: not known where the file is not there."""
    owner, name = args[0], args[1]
    if name in ("dtype", "torch_dtype"):
        from cgx.indexer.interpreter.values import DType

        known = owner.attrs.get("torch_dtype", owner.attrs.get("dtype"))
        if isinstance(known, str) and known in DTYPES:
            return DType(known)
    missing = owner.attrs.get("cgx.missing")
    if not isinstance(missing, Unknown):
        return interp.raise_("AttributeError", f"the configuration has no attribute {name!r}", site)
    hint = "" if name in ("dtype", "torch_dtype", "rope_scaling", "architectures") else "int"
    return Unknown(site.text, "missing-file", site.anchor, hint, settle=missing.settle)


def config_made(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``type(config)(**config.to_dict())``: what the file would say stays open in the copy."""
    spread = kwargs.get("*")
    held = {name: value for name, value in kwargs.items() if name != "*"}
    return Opaque(CONFIG, held if spread is None else {**held, "cgx.missing": spread}, site.anchor)


def config_init(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``super().__init__(**kwargs)`` in a configuration of the job's own: each word is an attribute beside its own."""
    if not isinstance(args[0], Instance):
        return NotImplemented
    for name, value in {**COMMON, **kwargs}.items():
        name = "cgx.missing" if name == "*" else name
        if name in kwargs or name not in args[0].attrs:
            interp.trail.set_item(args[0].attrs, name, value)
    return None


def config_dict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    missing = args[0].attrs.get("cgx.missing")
    if isinstance(missing, Unknown):
        return Unknown(site.text, "missing-file", site.anchor, settle=missing.settle)
    return DictValue({name: value for name, value in args[0].attrs.items() if not name.startswith("cgx.")})


AUTO = ("AutoTokenizer", "AutoProcessor", "AutoImageProcessor", "AutoFeatureExtractor", "PreTrainedTokenizerFast", "GPT2Tokenizer", "LlamaTokenizer",
        "T5Tokenizer", "T5TokenizerFast", "BertTokenizer", "CLIPTokenizer")  # fmt: skip
NAMES: tuple[str, ...] = tuple(f"transformers.{name}" for name in (*AUTO, "AutoConfig"))
ENTRIES: dict[str, Any] = {f"transformers.{name}.from_pretrained": tokenizer for name in AUTO}
ENTRIES |= {
    "transformers.AutoConfig.from_pretrained": config,
    CONFIG: config_made,
    f"{CONFIG}.__init__": config_init,
    f"{CONFIG}.to_dict": config_dict,
    f"{CONFIG}.__getattr__": config_attribute,
    f"{TOKENIZER}.__call__": batch,
    f"{TOKENIZER}.pad": padded,
    f"{TOKENIZER}.encode": tokens("tokens"),
    f"{TOKENIZER}.convert_tokens_to_ids": tokens("int"),
    f"{TOKENIZER}.tokenize": tokens("tokens"),
    f"{TOKENIZER}.decode": tokens("str"),
    f"{TOKENIZER}.batch_decode": lambda interp, site, args, kwargs: ListValue(
        [interp.unknown(site.text, "data", site, hint="str")], open=True
    ),
    f"{TOKENIZER}.apply_chat_template": template,
    f"{TOKENIZER}.__len__": tokens("int"),
    f"{TOKENIZER}.__getattr__": lambda interp, site, args, kwargs: interp.unknown(
        site.text, "missing-file", site, hint="int" if "id" in args[1] else ""
    ),
    f"{TOKENIZER}.__setattr__": lambda interp, site, args, kwargs: interp.trail.set_item(
        args[0].attrs, args[1], args[2]
    ),
    f"{TOKENIZER}.save_pretrained": nothing,
    f"{TOKENIZER}.add_special_tokens": tokens("int"),
    "transformers.BatchEncoding.to": encoding_to,
    "transformers.BatchEncoding.__getitem__": encoding_item,
    "transformers.BatchEncoding.keys": encoding_keys,
}
BASES: dict[str, tuple[str, ...]] = {}
