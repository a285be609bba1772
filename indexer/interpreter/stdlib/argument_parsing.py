"""Parsing a launch line's words with the calls that were recorded on a parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.files_in_tree import read_bytes
from cgx.indexer.interpreter.stdlib.imports import make_plain
from cgx.indexer.interpreter.stdlib.parser_build import (
    Callbacks,
    Recipe,
    WrongArguments,
    build,
    placeholder,
)
from cgx.indexer.interpreter.stdlib.support import (
    Kwargs,
    by_rank,
    from_python,
    text_of,
)
from cgx.indexer.interpreter.values import (
    MISSING,
    ByRank,
    DictValue,
    Instance,
    ListValue,
    Opaque,
    Unknown,
    Value,
)

NAMESPACE = "argparse.Namespace"


CALLS, DEFAULTS, OPTIONS, PARENT, SUBS = "__calls__", "__defaults__", "__options__", "__parser__", "__subparsers__"


CONVERSION_ERRORS = frozenset({"ValueError", "TypeError", "ArgumentTypeError", "KeyError"})


def attrs_of(value: Value) -> dict[str, Value]:
    """The attributes of a parser: an Opaque, or an instance of a subclass in the analysed code."""
    return value.attrs if isinstance(value, Opaque | Instance) else {}


def fill_parser(attrs: dict[str, Value], kwargs: Kwargs) -> None:
    """The state of a new parser; the arguments of its parents come first."""
    calls = ListValue()
    defaults = DictValue()
    parents = kwargs.get("parents")
    for parent in parents.items if isinstance(parents, ListValue) else parents if isinstance(parents, tuple) else ():
        held = attrs_of(parent)
        if CALLS in held:
            calls.items.extend(held[CALLS].items)
            defaults.items.update(held[DEFAULTS].items)
    attrs.update({CALLS: calls, DEFAULTS: defaults, OPTIONS: dict(kwargs), SUBS: None})
    attrs.setdefault("description", kwargs.get("description"))
    attrs.setdefault("prog", kwargs.get("prog"))


def parser_of(value: Value) -> dict[str, Value]:
    """The attributes of the parser behind a parser or a group."""
    attrs = attrs_of(value)
    while isinstance(attrs.get(PARENT), Opaque | Instance):
        attrs = attrs_of(attrs[PARENT])
    if CALLS not in attrs:
        fill_parser(attrs, {})
    return attrs


def recipe_of(attrs: dict[str, Value]) -> Recipe:
    """The recorded calls of a parser in plain form."""
    recipe = Recipe(
        dict(attrs[OPTIONS]), [held.attrs["row"] for held in attrs[CALLS].items], dict(attrs[DEFAULTS].items)
    )
    subs = attrs.get(SUBS)
    if isinstance(subs, Opaque):
        recipe.subparsers = (
            subs.attrs[OPTIONS],
            {name: recipe_of(attrs_of(parser)) for name, parser in subs.attrs["choices"].items.items()},
        )
    return recipe


def _callbacks(interp: Any, site: Any, parser: Value) -> Callbacks:
    def convert(kind: Value, text: str) -> Value:
        try:
            return interp.call(kind, [text], {}, site)
        except Exception as error:
            if getattr(error, "kind", "") in CONVERSION_ERRORS:
                raise argparse.ArgumentTypeError(str(error) or f"invalid value: {text!r}") from None
            raise

    def act(kind: Value, options: dict[str, Value], flags: Sequence[str], dest: str) -> Callable[..., dict[str, Value]]:
        keywords = {key: value for key, value in options.items() if key != "action"}
        action = interp.call(kind, [], {**keywords, "option_strings": ListValue(list(flags)), "dest": dest}, site)

        def run(held: dict[str, Any], values: Value, option: str | None) -> dict[str, Value]:
            namespace = make_plain(NAMESPACE, {name: from_python(value) for name, value in held.items()}, site)
            before = dict(namespace.attrs)
            interp.call(interp.getattr(action, "__call__", site), [parser, namespace, values, option], {}, site)
            return {name: value for name, value in namespace.attrs.items() if before.get(name, MISSING) is not value}

        return run

    return Callbacks(convert, act)


def parse(
    interp: Any, site: Any, parser: Value, words: list[Value], namespace: Value, rest_allowed: bool
) -> tuple[Value, Value]:
    """(namespace, words left over). Words that differ by rank are parsed for each rank."""
    count = next((len(word.values) for word in words if isinstance(word, ByRank)), 0)
    if not count:
        found, rest = _parse_once(interp, site, parser, words, namespace, rest_allowed)
    else:
        runs = [
            _parse_once(
                interp,
                site,
                parser,
                [w.values[rank] if isinstance(w, ByRank) else w for w in words],
                namespace,
                rest_allowed,
            )
            for rank in range(count)
        ]
        names = list(dict.fromkeys(name for held, _rest in runs for name in held))
        found = {name: by_rank([held.get(name) for held, _rest in runs]) for name in names}
        rest = runs[0][1]
    if isinstance(namespace, Instance | Opaque):
        for name, value in found.items():
            interp.trail.set_item(namespace.attrs, name, value)
        return namespace, ListValue(list(rest))
    return make_plain(NAMESPACE, found, site), ListValue(list(rest))


def _parse_once(
    interp: Any, site: Any, parser: Value, words: list[Value], namespace: Value, rest_allowed: bool
) -> tuple[dict[str, Value], list[str]]:
    attrs = parser_of(parser)
    prog = str(attrs["prog"]) if isinstance(attrs.get("prog"), str) else _program(interp)
    texts = _expand_files(interp, attrs, [_text(word) for word in words])
    texts = _local_rank(attrs, texts)
    given = argparse.Namespace(**namespace.attrs) if isinstance(namespace, Instance | Opaque) else argparse.Namespace()
    try:
        real = build(recipe_of(attrs), _callbacks(interp, site, parser), prog)
        result, rest = real.parse_known_args(texts, given)
        if rest and not rest_allowed:
            raise WrongArguments(f"unrecognized arguments: {' '.join(rest)}")
    except WrongArguments as error:
        raise UserError(f"the launch line's arguments do not fit {prog}: {' '.join(str(error).split())}") from None
    found = {name: from_python(value) for name, value in vars(result).items()}
    _mark_open(attrs, found, texts, real, site)
    return found, rest


def _mark_open(
    attrs: dict[str, Value], found: dict[str, Value], texts: list[str], real: argparse.ArgumentParser, site: Any
) -> None:
    """Where a file that is not here may set defaults, only what stands on the line is known."""
    source = attrs.get("__open__")
    if source is None:
        return
    bare = argparse.Namespace(**dict.fromkeys(found, MISSING))
    try:
        on_line, _rest = real.parse_known_args(texts, bare)
    except WrongArguments:
        return
    for name, value in vars(on_line).items():
        if value is MISSING and name not in attrs[DEFAULTS].items:
            found[name] = Unknown(
                f"args.{name}",
                getattr(source, "reason", "missing-file"),
                site.anchor,
                "",
                getattr(source, "settle", None),
            )


def _text(word: Value) -> str:
    if isinstance(word, Unknown):
        return placeholder(word)
    return text_of(word) or str(word)


def _local_rank(attrs: dict[str, Value], texts: list[str]) -> list[str]:
    """``torch.distributed.launch`` spelt the option with an underscore before torch 2.0: as the script has it."""
    known = {flag for held in attrs[CALLS].items for flag in held.attrs["row"].flags}
    if "--local-rank" in known or "--local_rank" not in known:
        return texts
    return [
        text.replace("--local-rank=", "--local_rank=", 1) if text.startswith("--local-rank=") else text
        for text in texts
    ]


def _program(interp: Any) -> str:
    program = interp.argv[0] if interp.argv else ""
    return program.rpartition("/")[2] if isinstance(program, str) and program else "the program"


def _expand_files(interp: Any, attrs: dict[str, Value], texts: list[str]) -> list[str]:
    """``@file`` words of parsers that allow them, one argument a line, from the source."""
    prefix = attrs[OPTIONS].get("fromfile_prefix_chars")
    if not isinstance(prefix, str) or not prefix:
        return texts
    made: list[str] = []
    for text in texts:
        data = read_bytes(interp, text[1:]) if text[:1] and text[0] in prefix else None
        made.extend([text] if data is None else data.decode("utf-8", "replace").splitlines())
    return made
