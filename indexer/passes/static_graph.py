"""Linked files to nodes and edges of the static graph: one version of each file, and the identities it points to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cgx.indexer.names.calls import Linker
from cgx.indexer.names.link import Answer, FileAnswers, Target
from cgx.indexer.names.modules import Module
from cgx.indexer.names.values import Class, External, Function, ModuleRef, Scope
from cgx.indexer.passes.answers import tally_answers
from cgx.indexer.passes.identity import file_id, reason_id, symbol_id
from cgx.model.facts import Edge, GraphDelta, Node, Value

# Which kind a qualified name has where several definitions share it: the first of these.
_KINDS = ("class", "function", "method", "module", "variable")


@dataclass(slots=True)
class Identities:
    """Symbols and externals that edges end at: made once each, in the order in which they are first needed."""

    repository: str
    kinds: dict[str, str] = field(default_factory=dict)  # qualified name -> kind, over the whole commit
    nodes: dict[str, Node] = field(default_factory=dict)

    def symbol(self, qname: str, kind: str = "variable") -> str:
        name = symbol_id(self.repository, qname)
        if name not in self.nodes:
            properties: dict[str, Value] = {
                "name": qname.rpartition(".")[2], "qname": qname, "kind": self.kinds.get(qname, kind),
                "repository": self.repository,
            }  # fmt: skip
            self.nodes[name] = Node("Symbol", name, properties)
        return name

    def external(self, qname: str) -> str:
        if qname not in self.nodes:
            properties: dict[str, Value] = {
                "name": qname.rpartition(".")[2], "qname": qname, "package": qname.partition(".")[0],
            }  # fmt: skip
            self.nodes[qname] = Node("External", qname, properties)
        return qname

    def target(self, target: Target) -> str:
        return self.symbol(target.qname, target.kind) if target.source else self.external(target.qname)

    def mark(self, qname: str, kind: str) -> None:
        """Note a definition's kind, before any symbol is made."""
        known = self.kinds.get(qname)
        if known is None or _KINDS.index(kind) < _KINDS.index(known):
            self.kinds[qname] = kind


def mark_definitions(modules: list[Module], identities: Identities) -> None:
    """The kind of every name the commit defines."""
    for module in modules:
        if module.name:
            identities.mark(module.name, "module")
        for scope in module.scopes:
            if scope.kind == "class":
                identities.mark(qname_of(scope), "class")
            elif scope.kind == "function":
                inside = scope.parent is not None and scope.parent.kind == "class"
                identities.mark(qname_of(scope), "method" if inside else "function")


def qname_of(scope: Scope) -> str:
    published = scope.module.published
    return f"{published}.{scope.symbol}" if published else scope.symbol


@dataclass(slots=True)
class Links:
    """What linking says of a file beside its call sites."""

    bases: list[tuple[Scope, list[tuple[str, bool]]]]  # class -> (qualified name, in the source) of each base
    imports: list[tuple[str, bool, int, str, bool]]  # (qualified name, in the source, line, alias, star)


def links_of(module: Module, linker: Linker) -> Links:
    """Bases and imports of a file, resolved."""
    bases = []
    for scope in module.scopes:
        if isinstance(scope.owner, Class) and scope.more["bases"]:
            bases.append((scope, [_named(values) for values in linker.bases(scope.owner)]))
    imports = []
    top = module.top
    for level, wanted, name, alias, line in module.facts["imports"]:
        star = name == "*"
        found = linker.ev(top, ("im", level, wanted, "" if star else name)) if top is not None else ()
        target, inside = _named(found)
        if not target:
            absolute = module.absolute(level, wanted)
            target = f"{absolute}.{name}" if name and not star else absolute
            inside = bool(level) or linker.modules.source(absolute) is not None
        imports.append((target, inside, line, alias, star))
    return Links(bases, [item for item in imports if item[0]])


def _named(values: tuple[object, ...]) -> tuple[str, bool]:
    for value in values:
        if isinstance(value, Class | Function):
            return value.qname, not value.scope.module.standard
        if isinstance(value, ModuleRef):
            return value.module.published, not value.module.standard
        if isinstance(value, External):
            return value.qname, False
    return "", False


def answer_lines(file: FileAnswers, links: Links) -> Iterator[str]:
    """Everything linking said of a file, as texts: what its version is told apart by."""
    yield file.module.name
    for answer in file.answers:
        if answer.targets:
            names = ",".join([("*" if t.implied else "") + ("" if t.source else "!") + t.qname for t in answer.targets])
            yield f"{answer.basis}{answer.author}{names}"
        else:
            yield f"?{answer.reason}{answer.prefix}"
    for _, bases in links.bases:
        yield str(bases)
    for item in links.imports:
        yield item[0]


def file_version(file: FileAnswers, links: Links, blob: str, identities: Identities) -> str:
    """Id of the file's version."""
    return file_id(identities.repository, file.module.path, blob, answer_lines(file, links))


class FileGraph:
    """Builds the part of the graph that hangs on one version of a file."""

    def __init__(self, file: FileAnswers, links: Links, version: str, blob: str, identities: Identities) -> None:
        self.file, self.links, self.version, self.blob, self.identities = file, links, version, blob, identities
        self.module = file.module
        self.delta = GraphDelta()
        self._ids: dict[int, str] = {}
        self._parallel: dict[tuple[str, str, str], dict[str, int]] = {}

    def build(self) -> GraphDelta:
        self._file()
        self._definitions()
        self._bases()
        self._imports()
        for answer in self.file.answers:
            self._site(answer)
        tally_answers(self.delta)
        return self.delta

    def _edge(self, kind: str, source: str, target: str, properties: dict[str, Value], where: str = "") -> None:
        """``where`` tells parallel edges apart; the store keeps their numbers, which take far less room."""
        key = ""
        if where:
            parallel = self._parallel.setdefault((kind, source, target), {})
            key = str(parallel.setdefault(where, len(parallel)))
        self.delta.edges.append(Edge(kind, source, target, properties, key))

    def _file(self) -> None:
        module, facts = self.module, self.module.facts
        properties: dict[str, Value] = {
            "name": module.path.rpartition("/")[2], "path": module.path, "blob": self.blob,
            "repository": self.identities.repository, "lines": facts["lines"], "parsed": facts["parsed"],
        }  # fmt: skip
        if module.name:
            properties["module"] = module.name
        if facts["error"]:
            properties["error"] = facts["error"]
        self.delta.nodes.append(Node("File", self.version, properties))
        if module.name:
            self._edge("DEFINED_BY", self.identities.symbol(module.name, "module"), self.version, {})

    def _definitions(self) -> None:
        seen: dict[str, int] = {}
        for scope in self.module.scopes:
            if scope.kind not in ("module", "class", "function"):
                continue
            count = seen[scope.symbol] = seen.get(scope.symbol, 0) + 1
            name = f"{self.version}:{scope.symbol}" + (f"#{count}" if count > 1 else "")
            self._ids[scope.index] = name
            label = "Class" if scope.kind == "class" else "Function"
            self.delta.nodes.append(
                Node(label, name, self._class(scope) if label == "Class" else self._function(scope))
            )
            self._edge("DEFINES", self.version, name, {})
            if scope.kind == "module":
                if self.module.name:  # so that call paths run through the code of scripts too
                    self._edge("DEFINED_BY", self.identities.symbol(self.module.name, "module"), name, {})
                continue
            self._edge("DEFINED_BY", self.identities.symbol(qname_of(scope)), name, {})
            holder = scope.parent.holder if scope.parent is not None else None
            if holder is not None and holder.kind != "module":
                self._edge("CONTAINS", self._ids[holder.index], name, {})

    def _place(self, scope: Scope) -> dict[str, Value]:
        line = scope.line if scope.kind != "module" else 1
        end_line = scope.end_line if scope.kind != "module" else max(self.module.facts["lines"], 1)
        properties: dict[str, Value] = {
            "name": scope.name, "symbol": scope.symbol, "qname": qname_of(scope), "path": self.module.path, "line": line,
            "end_line": end_line, "anchor": f"{self.module.path}:{scope.symbol}:{line}",
        }  # fmt: skip
        for fact, name in (("decorator_texts", "decorators"), ("doc", "doc"), ("exact", "exact")):
            if scope.more.get(fact):
                properties[name] = scope.more[fact]
        return properties

    def _class(self, scope: Scope) -> dict[str, Value]:
        properties = self._place(scope)
        if scope.more.get("base_texts"):
            properties["bases"] = scope.more["base_texts"]
        names = [name for name, bound in scope.bindings.items() if bound[0][0] not in ("def", "cls")]
        names += [name for name in scope.more["attributes"] if name not in scope.bindings]
        if names:
            properties["fields"] = names
        return properties

    def _function(self, scope: Scope) -> dict[str, Value]:
        properties = self._place(scope)
        more = scope.more
        parent = scope.parent.holder.kind if scope.parent is not None else ""
        properties["kind"] = (
            "module" if scope.kind == "module" else {"class": "method", "function": "nested"}.get(parent, "function")
        )
        for fact, name in (("parameter_texts", "parameters"), ("result_text", "returns")):
            if more.get(fact):
                properties[name] = more[fact]
        if more.get("async"):
            properties["asynchronous"] = True
        if more.get("yields"):
            properties["generator"] = True
        return properties

    def _bases(self) -> None:
        for scope, bases in self.links.bases:
            texts = scope.more.get("base_texts", [])
            for order, (qname, inside) in enumerate(bases):
                if not qname:
                    continue
                target = self.identities.symbol(qname, "class") if inside else self.identities.external(qname)
                properties: dict[str, Value] = {"order": order, "basis": "exact"}
                if order < len(texts):
                    properties["text"] = texts[order]
                self._edge("INHERITS", self._ids[scope.index], target, properties, str(order))

    def _imports(self) -> None:
        for qname, inside, line, alias, star in self.links.imports:
            target = self.identities.symbol(qname, "variable") if inside else self.identities.external(qname)
            properties: dict[str, Value] = {"line": line}
            if alias:
                properties["alias"] = alias
            if star:
                properties["star"] = True
            self._edge("IMPORTS", self.version, target, properties, f"{line}:{alias}")

    def _site(self, answer: Answer) -> None:
        caller = self._ids[answer.scope.holder.index]
        where = f"{answer.line}:{answer.token_line}:{answer.col}"
        if not answer.targets:
            properties: dict[str, Value] = {
                "line": answer.line, "col": answer.col, "text": answer.text, "author": answer.author,
            }  # fmt: skip
            if answer.prefix:
                properties["prefix"] = answer.prefix
            self._edge("UNRESOLVED_CALL", caller, reason_id(answer.reason), properties, where)
            return
        for target in answer.targets:
            properties = {
                "line": answer.line, "col": answer.col, "text": answer.text, "basis": answer.basis, "author": answer.author,
            }  # fmt: skip
            kind = "CALLS"
            if target.kind == "class":
                kind = "CONSTRUCTS"
                if answer.bound_to:
                    properties["bound_to"] = answer.bound_to
                if answer.arguments:
                    properties["arguments"] = list(answer.arguments)
            if target.implied:
                properties["implied"] = True
            self._edge(kind, caller, self.identities.target(target), properties, where)
