"""HyperPyYAML: YAML whose tags make objects (``!new:``), name functions, refer and compute (``!ref <a> * 2``)."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

import yaml

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.files import content_of
from cgx.indexer.interpreter.stdlib.files_in_tree import missing, read_bytes
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, from_python, items_of, text_of
from cgx.indexer.interpreter.values import MISSING, DictValue, External, ListValue, Partial, Unknown, Value
from cgx.indexer.overlays.config_interpolation import OmegaYaml, load_text
from cgx.indexer.overlays.config_nodes import raw
from cgx.indexer.overlays.typed_values import class_by_path

_REFERENCE = re.compile(r"<([\w.\[\]]+)>")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


class Reader:
    """One file being read: the nodes by key, and the values made so far. A key is evaluated once, when it is first asked."""

    def __init__(self, interp: Any, site: Any, root: yaml.MappingNode) -> None:
        self.interp, self.site = interp, site
        self.nodes = {str(key.value): value for key, value in root.value}
        self.made: dict[str, Value] = {}
        self.loader = OmegaYaml("")

    def key(self, name: str) -> Value:
        """The value of a top-level key."""
        if name not in self.made:
            self.made[name] = Unknown(name, "unsupported", self.site.anchor)  # a reference to itself
            self.made[name] = self.value(self.nodes[name])
        return self.made[name]

    def value(self, node: yaml.Node) -> Value:
        tag = node.tag
        if tag.startswith("!new:"):
            return self.call(tag[5:], node)
        if tag.startswith("!apply:"):
            return self.call(tag[7:], node)
        if tag.startswith("!name:"):
            target = self.target(tag[6:])
            positional, named = self.arguments(node)
            return Partial(target, tuple(positional), named) if positional or named else target
        if tag.startswith("!module:"):
            return self.interp.import_module(tag[8:], self.site)
        if tag in ("!ref", "!copy"):
            return self.reference(str(node.value))
        if tag == "!tuple":
            inner = self.plain(node)
            return tuple(inner.items) if isinstance(inner, ListValue) else tuple(self.literal_tuple(str(node.value)))
        if tag == "!PLACEHOLDER":
            return Unknown("PLACEHOLDER", "parameter", self.site.anchor)
        if tag.startswith("!"):
            return Unknown(tag, "unmodelled", self.site.anchor)
        return self.plain(node)

    def plain(self, node: yaml.Node) -> Value:
        if isinstance(node, yaml.MappingNode):
            return DictValue({self.scalar(key): self.value(item) for key, item in node.value})
        if isinstance(node, yaml.SequenceNode):
            return ListValue([self.value(item) for item in node.value])
        return self.scalar(node)

    def scalar(self, node: yaml.Node) -> Any:
        plain = (
            yaml.ScalarNode(self.loader.resolve(yaml.ScalarNode, node.value, (True, False)), node.value)  # type: ignore[no-untyped-call]
            if node.tag.startswith("!")
            else node
        )
        return self.loader.construct_object(plain, deep=True)

    def literal_tuple(self, text: str) -> list[Value]:
        return [from_python(load_text(part.strip())) for part in text.strip("() ").split(",") if part.strip()]

    def target(self, path: str) -> Value:
        found = class_by_path(self.interp, path, self.site)
        if found is MISSING:
            return External(path) if "." not in path else Unknown(path, "missing-module", self.site.anchor, "callable")
        return found

    def arguments(self, node: yaml.Node) -> tuple[list[Value], dict[str, Value]]:
        if isinstance(node, yaml.MappingNode):
            return [], {str(self.scalar(key)): self.value(item) for key, item in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value], {}
        return [], {}

    def call(self, path: str, node: yaml.Node) -> Value:
        target = self.target(path)
        positional, named = self.arguments(node)
        return target if isinstance(target, Unknown) else self.interp.call(target, positional, named, self.site)

    def reference(self, text: str) -> Value:
        """``<a>``, ``<a[b]>``, text round references, and arithmetic over them."""
        whole = _REFERENCE.fullmatch(text.strip())
        if whole is not None:
            return self.lookup(whole.group(1))
        values = [self.lookup(name) for name in _REFERENCE.findall(text)]
        if any(isinstance(value, Unknown) for value in values):
            return next(value for value in values if isinstance(value, Unknown))
        filled = iter(values)
        texts = _REFERENCE.sub(lambda _match: str(next(filled)), text)
        if re.search(r"[-+*/%]", _REFERENCE.sub("", text)) and all(isinstance(value, int | float) for value in values):
            try:
                return _compute(ast.parse(texts, mode="eval").body)
            except (SyntaxError, ValueError, ZeroDivisionError):
                return texts
        return texts

    def lookup(self, path: str) -> Value:
        name, *rest = [part for part in re.split(r"[.\[\]]+", path) if part]
        if name not in self.nodes:
            return Unknown(f"<{path}>", "missing-file", self.site.anchor)
        value = self.key(name)
        for part in rest:
            if isinstance(value, DictValue):
                value = value.items.get(part, Unknown(f"<{path}>", "missing-file", self.site.anchor))
            elif isinstance(value, ListValue | tuple) and part.isdigit():
                value = (value.items if isinstance(value, ListValue) else value)[int(part)]
            else:
                value = self.interp.getattr(value, part, self.site)
        return value


def _compute(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_compute(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_compute(node.left), _compute(node.right))
    raise ValueError("not arithmetic")


def load(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``load_hyperpyyaml(file, overrides)``: everything made; overrides (a dict or YAML text) win before anything is."""
    source = args[0] if args else kwargs.get("yaml_stream")
    content = content_of(source)
    if content is None:
        data = read_bytes(interp, source)
        content = missing(site, source, "dict") if data is None else data.decode("utf-8", "replace")
    if isinstance(content, Unknown):
        return content
    try:
        root = yaml.compose(content, OmegaYaml)
    except yaml.YAMLError as error:
        raise UserError(f"not HyperPyYAML: {str(error).splitlines()[0]}") from None
    if not isinstance(root, yaml.MappingNode):
        return DictValue()
    reader = Reader(interp, site, root)
    overrides = args[1] if len(args) > 1 else kwargs.get("overrides")
    for key, value in _overrides(overrides).items():
        if key in reader.nodes:
            reader.made[key] = from_python(value)
        else:
            reader.nodes[key] = yaml.ScalarNode("tag:yaml.org,2002:str", "")
            reader.made[key] = from_python(value)
    return DictValue({name: reader.key(name) for name in reader.nodes})


def _overrides(value: Value) -> dict[str, Any]:
    if isinstance(value, str) and value.strip():
        loaded = load_text(value)
        return loaded if isinstance(loaded, dict) else {}
    made = raw(value) if isinstance(value, DictValue) else None
    return made if isinstance(made, dict) else {}


def parse_arguments(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``speechbrain.parse_arguments(argv)``: (file, run options, overrides as YAML text)."""
    words = items_of(interp, args[0], site) if args else list(interp.argv[1:])
    texts = [text_of(word) or "" for word in words or []]
    if not texts:
        raise UserError("the launch line lacks the hyperparameter file")
    pairs, rest = [], texts[1:]
    while rest:
        name, equals, inline = rest.pop(0).lstrip("-").partition("=")
        pairs.append(
            f"{name}: {inline if equals else rest.pop(0) if rest and not rest[0].startswith('--') else 'true'}"
        )
    return (texts[0], DictValue(open=True), "\n".join(pairs))


def _resolved(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[0]


ENTRIES: dict[str, Handler] = {
    "hyperpyyaml.load_hyperpyyaml": load,
    "hyperpyyaml.core.load_hyperpyyaml": load,
    "hyperpyyaml.resolve_references": _resolved,
    "speechbrain.parse_arguments": parse_arguments,
    "speechbrain.core.parse_arguments": parse_arguments,
}
PACKAGES = ("hyperpyyaml",)
BASES: dict[str, tuple[str, ...]] = {}
