"""Every call site to its targets: the last step of tier 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.names import facts as f
from cgx.indexer.names.attributes import MODULE
from cgx.indexer.names.calls import Linker
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.modules import Module
from cgx.indexer.names.values import (
    ANY,
    NONE,
    Bound,
    Callback,
    Class,
    External,
    ExternalInstance,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Partial,
    Result,
    Row,
    Scope,
    Sequence,
    Super,
    TypeOf,
    Values,
)

LINKER_VERSION = 1
"""Raise it when linking gives other answers for the same facts."""

AUTHOR = "names.link"
MAX_TARGETS = 8


@dataclass(slots=True, frozen=True)
class Target:
    """One thing a site may call. ``source``: a definition of the source, else a name outside."""

    qname: str
    kind: str  # function, method, lambda, class; "" where it is not known or a function outside
    source: bool
    implied: bool = False  # a module's forward, a class's __init__
    guess: bool = False


@dataclass(slots=True)
class Answer:
    """What a site calls. Without targets, ``reason`` says why and ``prefix`` what is known."""

    scope: Scope
    line: int
    col: int
    token_line: int
    text: str
    targets: tuple[Target, ...] = ()
    basis: str = ""
    reason: str = ""
    prefix: str = ""
    author: str = AUTHOR
    bound_to: str = ""
    arguments: tuple[str, ...] | None = None


@dataclass(slots=True)
class FileAnswers:
    """Everything linking says of one file."""

    module: Module
    answers: list[Answer] = field(default_factory=list)


class Sites:
    """Answers call sites with a linker."""

    def __init__(self, linker: Linker) -> None:
        self.linker = linker
        self._overridden: set[tuple[int, str]] | None = None

    def file(self, module: Module) -> FileAnswers:
        """All sites of one file, in source order."""
        scopes = module.scopes
        found = FileAnswers(module)
        known: dict[tuple[int, int], tuple[tuple[Target, ...], str, str, str]] = {}
        for site in module.facts["sites"]:
            scope = scopes[site[f.SCOPE]]
            key = (site[f.SCOPE], id(site[f.CALLEE]))
            answer = known.get(key)
            if answer is None:
                answer = known[key] = self.targets(scope, site[f.CALLEE])
            targets, basis, reason, prefix = answer
            found.answers.append(
                Answer(
                    scope, site[f.SITE_LINE], site[f.TOKEN_COL], site[f.TOKEN_LINE], site[f.TEXT], targets, basis, reason,
                    prefix, AUTHOR, site[f.BOUND_TO], site[f.ARGUMENTS],
                )
            )  # fmt: skip
        return found

    def targets(self, scope: Scope, callee: Expr) -> tuple[tuple[Target, ...], str, str, str]:
        """(targets, basis, reason, prefix) of a callee."""
        values = self.linker.ev(scope, callee)
        found: dict[tuple[str, bool], Target] = {}
        partly = False
        modelled = False
        for value in values:
            if value is ANY:
                partly = True
            modelled = (
                modelled
                or type(value) in (ExternalInstance, Callback, TypeOf)
                or (type(value) is Bound and type(value.receiver) is ExternalInstance)
            )
            partly = partly or self._may_be_overridden(value)
            for target in self.called(value):
                found.setdefault((target.qname, target.implied), target)
                partly = partly or target.guess
        if not found:
            reason, prefix = self.why(scope, callee, values)
            return (), "", reason, prefix
        targets = tuple(found.values())
        main = [target for target in targets if not target.implied]
        if len(main) > MAX_TARGETS:
            partly = True
        if partly:
            basis = "likely"
        elif len(main) > 1 or (not main and len(targets) > 1):
            basis = "several"
        else:
            basis = "modelled" if modelled else "exact"
        return targets[: MAX_TARGETS + 1], basis, "", ""

    def _may_be_overridden(self, value: Any) -> bool:
        """A method of an object whose class is only declared, where a class that inherits has one of its own."""
        if type(value) is Bound:
            receiver = value.receiver
            if type(receiver) is not Instance or not receiver.declared or type(value.func) is not Function:
                return False
            names: tuple[str, ...] = (value.func.scope.name,)
        elif type(value) is Instance and value.declared:
            receiver, names = value, ("__call__", "forward")
        else:
            return False
        if self._overridden is None:
            self._overridden = self._overrides()
        return any((id(receiver.cls), name) in self._overridden for name in names)

    def _overrides(self) -> set[tuple[int, str]]:
        """(class, name) for every name that a class of the source which inherits from it defines as well."""
        found: set[tuple[int, str]] = set()
        for module in self.linker.modules.files:
            for scope in module.scopes:
                if isinstance(scope.owner, Class):
                    names = [name for name, bound in scope.bindings.items() if bound[0][0] == "def"]
                    for base in self.linker.mro(scope.owner)[1:]:
                        if type(base) is Class and not base.scope.module.standard:
                            found.update((id(base), name) for name in names)
        return found

    def called(self, value: Any, depth: int = 0) -> Iterator[Target]:
        """What calling a value runs."""
        kind = type(value)
        if kind is Function:
            yield self._function(value)
        elif kind is Bound:
            yield from self.called(value.func, depth)
        elif kind is External:
            known_class = not value.guess and self.linker.library.kind(value.qname) == "c"
            yield Target(value.qname, "class" if known_class else "", False, guess=value.guess)
        elif kind is Class:
            yield from self._class(value)
        elif kind is Instance:
            yield from self._instance(value, depth)
        elif kind is ExternalInstance:
            known = self.linker.library.derives(value.qname, MODULE)
            if known or not self.linker.library.knows(value.qname):
                name = "forward" if known else "__call__"
                yield Target(f"{value.qname}.{name}", "", False, guess=value.guess or not known)
            elif self.linker.library.member(value.qname, "__call__"):
                yield Target(f"{value.qname}.__call__", "", False)
        elif kind is Partial:
            for item in value.funcs if depth < 4 else ():
                yield from self.called(item, depth + 1)
        elif kind is Sequence or kind is Mapping or kind is Row:
            if kind is not Row and value.kind.startswith("torch."):
                yield Target(f"{value.kind}.forward", "", False)
        elif kind is TypeOf:
            for item in value.instances:
                if type(item) is Instance:
                    yield from self._class(item.cls)
                elif type(item) is ExternalInstance:
                    yield Target(item.qname, "", False, guess=item.guess)

    def _function(self, function: Function, implied: bool = False) -> Target:
        if function.scope.module.standard:
            return Target(function.qname, "", False, implied)
        kind = "method" if function.cls is not None else "lambda" if function.scope.kind == "lambda" else "function"
        return Target(function.qname, kind, True, implied)

    def _class(self, cls: Class) -> Iterator[Target]:
        if cls.scope.module.standard:
            # int(x) and super() are calls to everyone; Path(x) constructs.
            yield Target(cls.qname, "" if cls.scope.module.name == "builtins" else "class", False)
            return
        yield Target(cls.qname, "class", True)
        for item in self.linker.attribute(cls.instance, "__init__"):
            inner = item.func if type(item) is Bound else item
            if type(inner) is Function and not inner.scope.module.standard:
                yield self._function(inner, implied=True)

    def _instance(self, value: Instance, depth: int) -> Iterator[Target]:
        linker = self.linker
        methods = tuple(item for item in linker.attribute(value, "__call__") if item is not ANY)
        if not methods and linker.derives(value.cls, MODULE):
            methods = linker.attribute(value, "forward")
        for method in methods:
            if depth < 4:
                yield from self.called(method, depth + 1)

    # Why not

    def why(self, scope: Scope, callee: Expr, values: Values) -> tuple[str, str]:
        """A row of REASONS for a callee without targets, and the part of it that is known."""
        for value in values:
            if type(value) is Result:
                return "unmodelled", value.prefix
            if type(value) is Callback:
                return "parameter", ""
        if callee[0] == "n":
            return self._why_name(scope, callee[1]), ""
        if callee[0] == "a":
            base = self.linker.ev(scope, callee[1])
            known = [value for value in base if value is not ANY and value is not NONE]
            if known:
                return "attribute", f"{_shown(known[0])}.{callee[2]}"
            return self.why(scope, callee[1], base)[0], ""
        if callee[0] == "i":
            return "container", ""
        if callee[0] == "c":
            return self.why(scope, callee[1], self.linker.ev(scope, callee[1]))[0], ""
        return "unsupported", ""

    def _why_name(self, scope: Scope, name: str) -> str:
        here: Scope | None = scope
        while here is not None:
            if name in here.bindings and (here.kind != "class" or here is scope):
                return _ROOTS.get(_tag(here.bindings[name][0]), "unmodelled")
            here = here.parent
        return "unresolved-name"


_ROOTS = {
    "par": "parameter",
    "el": "container",
    "ti": "container",
    "st": "container",
    "im": "missing-module",
    "exc": "unmodelled",
}


def _tag(binding: Expr) -> str:
    while binding[0] == "@":
        binding = binding[2]
    return str(binding[0])


def _shown(value: Any) -> str:
    """A name for a receiver; never a representation, which could differ from run to run."""
    kind = type(value)
    if kind is Instance or kind is Super:
        return str(value.cls.qname)
    if kind in (Class, Function, External, ExternalInstance):
        return str(value.qname)
    if kind is Sequence or kind is Mapping:
        return str(value.kind)
    if kind is Bound:
        return _shown(value.func)
    if kind is ModuleRef:
        return str(value.module.published)
    return kind.__name__.lower()
