"""LightningCLI: model, data module and trainer from the words and files of the line, then the subcommand."""

from __future__ import annotations

from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.argument_parsing import attrs_of
from cgx.indexer.interpreter.stdlib.imports import make_plain
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, items_of, nothing, text_of
from cgx.indexer.interpreter.values import MISSING, ClassValue, DictValue, Instance, ListValue, Opaque, Unknown, Value
from cgx.indexer.overlays.annotation_types import Type
from cgx.indexer.overlays.command_words import load_config, merge, take_apart
from cgx.indexer.overlays.config_jsonargparse import Raw, as_raw, instance_of, value_for
from cgx.indexer.overlays.typed_values import Field, fields_of

CLI = "lightning.pytorch.cli.LightningCLI"
TRAINER = "lightning.pytorch.Trainer"
SUBCOMMANDS = ("fit", "validate", "test", "predict")
PREFIXES = (
    "lightning.pytorch.cli",
    "pytorch_lightning.cli",
    "lightning.pytorch.utilities.cli",
    "pytorch_lightning.utilities.cli",
)
NAMES = tuple(f"{prefix}.{name}" for prefix in PREFIXES for name in ("LightningCLI", "LightningArgumentParser"))


def _bound(args: Args, kwargs: Kwargs) -> dict[str, Value]:
    names = (
        "model_class",
        "datamodule_class",
        "save_config_callback",
        "save_config_kwargs",
        "trainer_class",
        "trainer_defaults",
    )
    return {**dict(zip(names, args)), **kwargs}


def run(interp: Any, site: Any, owner: Value, args: Args, kwargs: Kwargs) -> None:
    """What ``LightningCLI.__init__`` does; the parts stand in the owner's attributes."""
    bound = _bound(args, kwargs)
    given = bound.get("args")
    words = items_of(interp, given, site) or [] if given is not None else list(interp.argv[1:])
    runs = bound.get("run", True) is not False
    command = None
    if runs:
        place = next((place for place, word in enumerate(words) if word in SUBCOMMANDS), None)
        if place is None:
            raise UserError(f"the launch line names no subcommand of: {', '.join(SUBCOMMANDS)}")
        command, words = str(words[place]), words[:place] + words[place + 1 :]
    apart = take_apart(words)
    table: dict[str, Any] = {}
    unknown: Unknown | None = None
    for name in apart.configs:
        loaded = load_config(interp, site, name)
        if isinstance(loaded, Unknown):
            unknown = loaded
        else:
            merge(table, loaded)
            if command is not None and isinstance(loaded.get(command), dict):
                merge(table, loaded[command])
    merge(table, as_raw(apart.options))
    _link(interp, site, owner, table)
    attrs = attrs_of(owner)
    attrs["config"] = make_plain(
        "argparse.Namespace", {key: value for key, value in table.items() if not isinstance(value, dict | Raw)}, site
    )
    attrs["datamodule"] = _part(interp, site, bound.get("datamodule_class"), table.get("data"), unknown)
    attrs["model"] = _part(interp, site, bound.get("model_class"), table.get("model"), unknown)
    attrs["trainer"] = _trainer(interp, site, bound, table.get("trainer"))
    if command is not None:
        named = {"model": attrs["model"]} | (
            {"datamodule": attrs["datamodule"]} if attrs["datamodule"] is not None else {}
        )
        before = interp.getattr(owner, f"before_{command}", site) if _has(owner, f"before_{command}") else None
        if before is not None:
            interp.call(before, [], {}, site)
        interp.call(interp.getattr(attrs["trainer"], command, site), [], named, site)


def _has(owner: Value, name: str) -> bool:
    return isinstance(owner, Instance) and owner.cls.lookup(name) is not MISSING


def _part(interp: Any, site: Any, cls: Value, given: Any, unknown: Unknown | None) -> Value:
    """The model or data module: of the named class, or chosen by ``class_path``."""
    table = dict(given) if isinstance(given, dict) else {"": given} if given is not None else {}
    if isinstance(cls, ClassValue) and "class_path" not in table and "" not in table:
        fields = {item.name: item for item in fields_of(interp, cls, site) or []}
        values = {name: value_for(interp, site, fields[name], value) for name, value in table.items() if name in fields}
        if unknown is not None:
            for name in fields:
                values.setdefault(name, Unknown(name, unknown.reason, unknown.anchor, "", unknown.settle))
        return interp.call(cls, [], values, site)
    if not table:
        return None if unknown is None else Unknown(site.text, unknown.reason, unknown.anchor, "", unknown.settle)
    return instance_of(interp, site, Type("class", value=cls), table)


def _trainer(interp: Any, site: Any, bound: dict[str, Value], given: Any) -> Value:
    defaults = bound.get("trainer_defaults")
    values: dict[str, Value] = (
        {str(key): value for key, value in defaults.items.items()} if isinstance(defaults, DictValue) else {}
    )
    for name, value in given.items() if isinstance(given, dict) else ():
        values[name] = _loose(interp, site, value)
    cls = bound.get("trainer_class") or interp.external(TRAINER, site)
    return interp.call(cls, [], values, site)


def _loose(interp: Any, site: Any, value: Any) -> Value:
    """A trainer's option: words are read as YAML, classes by their path."""
    if isinstance(value, dict) and "class_path" in value:
        return instance_of(interp, site, Type("class"), value)
    if isinstance(value, list):
        return ListValue([_loose(interp, site, item) for item in value])

    return value_for(interp, site, Field("trainer", Type("any")), value)


# -- links -----------------------------------------------------------------------------------------------------------------


def _link(interp: Any, site: Any, owner: Value, table: dict[str, Any]) -> None:
    """``parser.link_arguments("data.classes", "model.classes")`` in a subclass: the source's value for the target."""
    if not _has(owner, "add_arguments_to_parser"):
        return
    parser = Opaque("lightning.pytorch.cli.LightningArgumentParser", {"__links__": []}, site.anchor)
    interp.call(interp.getattr(owner, "add_arguments_to_parser", site), [parser], {}, site)
    for source, target, compute in parser.attrs["__links__"]:
        value: Any = table
        for part in source.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            continue
        if compute is not None:
            value = interp.call(compute, [text_of(value.word) if isinstance(value, Raw) else value], {}, site)
        *outer, last = target.split(".")
        place = table
        for part in outer:
            place = place.setdefault(part, {})
        place.setdefault(last, value)


def _link_arguments(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    bound = dict(zip(("source", "target", "compute_fn", "apply_on"), args[1:])) | kwargs
    source, target = text_of(bound.get("source")), text_of(bound.get("target"))
    if source is not None and target is not None:
        args[0].attrs["__links__"].append((source, target, bound.get("compute_fn")))
    return None


def construct(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    cli = Opaque(CLI, {}, site.anchor)
    run(interp, site, cli, args, kwargs)
    return cli


def initialise(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    run(interp, site, args[0], args[1:], kwargs)
    return None


ENTRIES: dict[str, Handler] = {
    **{f"{prefix}.LightningCLI": construct for prefix in PREFIXES},
    f"{CLI}.__init__": initialise,
    "lightning.pytorch.cli.LightningArgumentParser.link_arguments": _link_arguments,
    **{
        f"lightning.pytorch.cli.LightningArgumentParser.{name}": nothing
        for name in (
            "set_defaults",
            "add_argument",
            "add_lightning_class_args",
            "add_optimizer_args",
            "add_lr_scheduler_args",
            "add_class_arguments",
            "add_subclass_arguments",
        )
    },
}
BASES: dict[str, tuple[str, ...]] = {
    f"{prefix}.LightningCLI": (CLI,) for prefix in PREFIXES if prefix != "lightning.pytorch.cli"
}
