"""Models of transformers whose source is not given: one module that owns weights, with the methods that training scripts call.

Which class an ``Auto...`` name gives depends on the checkpoint's ``config.json``, which lies outside the repository: layers and
sizes are not known. What every ``PreTrainedModel`` does is: it is made on the host (or where ``device_map`` says), its forward gives
an output whose ``loss`` and ``logits`` lie on its device, ``generate`` asks the device after each token whether all is done.
"""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import LoopNode
from cgx.indexer.interpreter.values import ModuleInstance, Opaque, TensorValue, Unknown, Value
from cgx.indexer.overlays import hub
from cgx.indexer.overlays.arguments import bind, dtype_name, flag
from cgx.indexer.overlays.sourceless import WEIGHTS, blank, called, device_of
from cgx.indexer.overlays.transfer import ACCELERATORS, move_module

AUTHOR = "overlays.hf_outside_models"
MODEL, OUTPUT = "transformers.PreTrainedModel", "transformers.ModelOutput"
NAMED = re.compile(
    r"transformers\.(?:[\w.]+\.)?(?!DataCollator)([A-Z]\w*(?:Model|For[A-Z]\w+|LMHeadModel))(?:\.(from_pretrained|from_config|_from_config))?"
)
HEADLESS = re.compile(r"(?!\w*(LMHeadModel|For[A-Z]))\w+Model")
HIDDEN = frozenset({"last_hidden_state", "pooler_output", "text_embeds", "image_embeds", "encoder_last_hidden_state"})
PLACED = ("cuda", "auto", "balanced", "balanced_low_0", "sequential")


def family(interp: Any, qname: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``AutoModelForCausalLM.from_pretrained(name)``, ``BertForMaskedLM(config)``: any model class of the package."""
    found = NAMED.fullmatch(qname)
    if found is None:
        return NotImplemented
    name, how = found.groups()
    return made(interp, name, site, args, kwargs, loaded=how == "from_pretrained")


def made(interp: Any, name: str, site: Any, args: list[Value], kwargs: dict[str, Value], loaded: bool) -> Value:
    """A model of class ``name``. Loading reads a file that the repository does not hold."""
    if loaded:
        wanted = f"config.json of {hub.name_of(args, kwargs, site).rstrip('/')}"
        interp.note_unknown(Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted)))
    module = blank(interp, f"transformers.{name}", site, MODEL)
    dtype = kwargs.get("torch_dtype", kwargs.get("dtype"))
    held = dtype_name(dtype) or (dtype if isinstance(dtype, str) and dtype in hub.DTYPES else None)
    module.parameters[WEIGHTS].dtype = held or (None if loaded else "float32")
    config = args[0] if args and not loaded else kwargs.get("config")
    module.attrs["config"] = (
        config
        if config is not None
        else Opaque(hub.CONFIG, {"cgx.missing": missing_config(site, args, kwargs)}, site.anchor)
    )
    if placed(kwargs):
        move_module(interp, module, "cuda", None, False, site)
    return module


def missing_config(site: Any, args: list[Value], kwargs: dict[str, Value]) -> Unknown:
    wanted = f"config.json of {hub.name_of(args, kwargs, site).rstrip('/')}"
    return Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted))


def placed(kwargs: dict[str, Value]) -> bool:
    """Loaded straight onto the device: by ``device_map``, or quantised."""
    where = kwargs.get("device_map")
    if isinstance(where, str):
        return where.partition(":")[0] in PLACED
    if where is not None and not isinstance(where, Unknown):
        return True
    return any(kwargs.get(name) not in (None, False) for name in ("load_in_8bit", "load_in_4bit"))


def forward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """One call: its output, on the device that the weights lie on."""
    module = args[0]
    if not isinstance(module, ModuleInstance):
        return NotImplemented
    device = device_of(module)
    loss = TensorValue((), "float32", device, requires_grad=True)
    outputs = {"loss": loss, "logits": TensorValue((None, None, None), None, device)}
    if (autocast := interp.flags.get("autocast")) and device in ACCELERATORS:
        outputs["logits"].dtype = autocast
    if HEADLESS.fullmatch(module.cls.name) and "labels" not in kwargs:  # its output begins with what it encodes, there is no loss
        outputs = {"last_hidden_state": outputs["logits"], "pooler_output": TensorValue((None, None), outputs["logits"].dtype, device)}
    called(interp, site, module, args[1:], kwargs)
    return Opaque(OUTPUT, dict(outputs), site.anchor)


def hidden(output: Opaque) -> TensorValue:
    """``last_hidden_state`` and its kind, on the device of the model."""
    logits = output.attrs.get("logits", output.attrs.get("last_hidden_state"))
    return TensorValue(None, logits.dtype, logits.device) if isinstance(logits, TensorValue) else TensorValue()


def output_attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return hidden(args[0]) if args[1] in HIDDEN else interp.unknown(site.text, "missing-module", site)


def output_item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``outputs[0]``, ``outputs["logits"]``."""
    held = args[0].attrs
    key = args[1]
    if isinstance(key, str) and key in held:
        return held[key]
    if isinstance(key, str) and key in HIDDEN:
        return hidden(args[0])
    listed = list(held.values())
    if isinstance(key, int) and not isinstance(key, bool) and key < len(listed):
        return listed[key]
    return interp.unknown(site.text, "missing-module", site)


def generate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Token by token: a forward without gradients, then the host asks whether every sequence has ended."""
    module = args[0]
    if not isinstance(module, ModuleInstance):
        return NotImplemented
    given = kwargs.get("max_new_tokens")
    count = (
        given
        if isinstance(given, int)
        else interp.unknown("max_new_tokens", "data" if given is None else "parameter", site, hint="int")
    )
    before = interp.flags.get("grad")
    interp.trail.set_item(interp.flags, "grad", False)
    loop = LoopNode(
        site.anchor,
        site.text,
        count=count,
        expr="max_new_tokens",
        target="token",
        over="while",
        bound=site.anchor,
        early_exit=True,
    )
    with interp.inside(loop):
        forward(interp, site, [module], {})
        if device_of(module) in ACCELERATORS:
            interp.event("sync", site, author=AUTHOR, sync="branch", what="this_peer_finished", reads=True)
    interp.trail.set_item(interp.flags, "grad", before if before is not None else True)
    return TensorValue((None, None), "int64", device_of(module))


def recompute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``gradient_checkpointing_enable()``: every layer's forward runs again in the backward."""
    interp.event(
        "compute", site, author=AUTHOR, key="activation_checkpointing", value="each decoder layer", target=args[0]
    )
    return None


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``model.save_pretrained(folder)``."""
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="save")
    if device_of(args[0]) in ACCELERATORS:
        interp.event("copy", site, author=AUTHOR, direction="D2H", what="weights", source="pageable", non_blocking=False, blocks_host=True,
                     sync_kind="other", carrier="checkpoint")  # fmt: skip
    return None


def adapted(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``peft.get_peft_model(model, config)``: adapters inside the same model."""
    model = args[0] if args else kwargs.get("model")
    return model if isinstance(model, ModuleInstance) else NotImplemented


def quantised(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``peft.prepare_model_for_kbit_training``: frozen, and recomputing unless told otherwise."""
    bound = bind("model use_gradient_checkpointing", args, kwargs)
    if flag(bound.get("use_gradient_checkpointing"), True):
        recompute(interp, site, [bound.get("model")], {})
    return bound.get("model")


def is_outside(model: Value) -> bool:
    """A stand-in of this table."""
    return isinstance(model, ModuleInstance) and model.cls.derives(MODEL) and WEIGHTS in model.parameters


FAMILIES: tuple[tuple[str, Any], ...] = (("transformers", family),)
METHODS: dict[str, Any] = {
    "forward": forward,
    "__call__": forward,
    "generate": generate,
    "gradient_checkpointing_enable": recompute,
    "gradient_checkpointing_disable": nothing,
    "enable_input_require_grads": nothing,
    "print_trainable_parameters": nothing,
    "resize_token_embeddings": nothing,
    "tie_weights": nothing,
    "save_pretrained": save,
    "push_to_hub": nothing,
}
ENTRIES: dict[str, Any] = {
    **{f"{MODEL}.{name}": handler for name, handler in METHODS.items()},
    f"{OUTPUT}.__getitem__": output_item,
    f"{OUTPUT}.__getattr__": output_attribute,
    "peft.get_peft_model": adapted,
    "peft.PeftModel.from_pretrained": adapted,
    "peft.prepare_model_for_kbit_training": quantised,
    "peft.prepare_model_for_int8_training": quantised,
}
BASES: dict[str, tuple[str, ...]] = {MODEL: ("torch.nn.Module",), OUTPUT: ()}
