"""Statements to scopes and bindings: one pass over a file's syntax tree."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from typing import Any

from cgx.indexer.names.expressions import ExpressionReader
from cgx.indexer.names.facts import KEYWORD, POSITIONAL, UNKNOWN, VAR_KEYWORD, VAR_POSITIONAL, Expr


class Collector(ExpressionReader):
    """Collects one file. After :meth:`module`, the lists of :class:`State` hold the facts."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._statements: dict[type, Callable[[Any], None]] = {
            ast.Expr: self._expression, ast.Assign: self._assign, ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented, ast.FunctionDef: self._function, ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class, ast.Return: self._return, ast.If: self._if, ast.For: self._for,
            ast.AsyncFor: self._for, ast.While: self._while, ast.With: self._with, ast.AsyncWith: self._with,
            ast.Try: self._try, ast.Import: self._import, ast.ImportFrom: self._import_from, ast.Global: self._global,
            ast.Nonlocal: self._nonlocal, ast.Match: self._match,
        }  # fmt: skip
        if hasattr(ast, "TryStar"):
            self._statements[ast.TryStar] = self._try
        if hasattr(ast, "TypeAlias"):  # Python 3.12
            self._statements[ast.TypeAlias] = self._type_alias

    def module(self, tree: ast.Module) -> None:
        index = self.open_scope("module", "<module>", tree)
        self.scope = index
        self._doc(tree.body, index)
        self.body(tree.body)

    def body(self, statements: list[ast.stmt]) -> None:
        handlers = self._statements
        for statement in statements:
            handler = handlers.get(type(statement))
            if handler is not None:
                handler(statement)
            else:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        self.read(child)

    # Bindings

    def bind_target(self, target: ast.expr, value: Expr) -> None:
        kind = type(target)
        if kind is ast.Name:
            self.bind(target.id, value)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            if type(target.value) is ast.Name:  # type: ignore[attr-defined]
                self.bind_attribute(target.value.id, target.attr, value)  # type: ignore[attr-defined]
            else:
                self.read(target)
        elif kind is ast.Tuple or kind is ast.List:
            for position, item in enumerate(target.elts):  # type: ignore[attr-defined]
                if type(item) is ast.Starred:
                    self.bind_target(item.value, ("st", value))
                else:
                    self.bind_target(item, ("ti", value, position))
        else:
            self.read(target)
            if kind is ast.Subscript:
                self._bind_item(target, value)  # type: ignore[arg-type]

    def _bind_item(self, target: ast.Subscript, value: Expr) -> None:
        """``self.table[k] = v`` and ``table[k] = v`` add to what the container may hold."""
        base = target.value
        entry = ("D", ((self.read(target.slice) if type(target.slice) is ast.Constant else UNKNOWN, value),))
        if type(base) is ast.Attribute and type(base.value) is ast.Name:
            self.bind_attribute(base.value.id, base.attr, ("add", entry))
        elif type(base) is ast.Name:
            self.bind(base.id, ("add", entry))

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if type(node.value) is ast.Call:
            self.bound_to = self.source(target, 60)
        value = self.read(node.value)
        self.bound_to = ""
        for target in node.targets:
            self.bind_target(target, value)
            if type(target) is ast.Name and target.id == "__all__" and self.scope == 0:
                self.exports = _names(value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        given = ("ann", self.annotation(node.annotation))
        if node.value is not None:
            if type(node.value) is ast.Call:
                self.bound_to = self.source(node.target, 60)
            value = self.read(node.value)
            self.bound_to = ""
            self.bind_target(node.target, value)
        if type(node.target) is ast.Name and self.scopes[self.scope][0] == "class":
            self.scopes[self.scope][6]["fields"].append(node.target.id)
        self.bind_target(node.target, given)

    def _augmented(self, node: ast.AugAssign) -> None:
        value = self.read(node.value)
        self.read(node.target)
        if type(node.target) is ast.Name:
            if node.target.id == "__all__" and self.scope == 0:
                more = _names(value)
                self.exports = None if more is None or self.exports is None else self.exports + more
            elif type(node.op) is ast.Add:
                self.bind(node.target.id, ("add", value))
        elif type(node.target) is ast.Attribute and type(node.target.value) is ast.Name and type(node.op) is ast.Add:
            self.bind_attribute(node.target.value.id, node.target.attr, ("add", value))

    # Plain statements

    def _expression(self, node: ast.Expr) -> None:
        value = self.read(node.value)
        if value[0] == "c" and value[1][0] == "a":
            self._container_call(value)

    def _container_call(self, call: Expr) -> None:
        """``self.layers.append(Block())``: what the container may hold; ``__all__.extend([...])`` too."""
        (_, base, method), args = call[1], call[2]
        if method not in ("append", "extend", "add", "insert", "update", "add_module") or not args:
            return
        if base == ("n", "__all__"):
            more = _names(("L", "list", args) if method == "append" else args[0])
            self.exports = None if more is None or self.exports is None else self.exports + more
            return
        held = args[0] if method in ("extend", "update") else ("L", "list", (args[-1],))
        if base[0] == "a" and base[1][0] == "n":
            self.bind_attribute(base[1][1], base[2], ("add", held))
        elif base[0] == "n":
            self.bind(base[1], ("add", held))

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.note_return(self.read(node.value))

    def _if(self, node: ast.If) -> None:
        self.read(node.test)
        self.body(node.body)
        # A long elif chain nests to the right: walked here, without recursion.
        rest = node.orelse
        while len(rest) == 1 and type(rest[0]) is ast.If:
            self.read(rest[0].test)
            self.body(rest[0].body)
            rest = rest[0].orelse
        self.body(rest)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.bind_target(node.target, ("el", self.read(node.iter)))
        self.body(node.body)
        self.body(node.orelse)

    def _while(self, node: ast.While) -> None:
        self.read(node.test)
        self.body(node.body)
        self.body(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.read(item.context_expr)
            if item.optional_vars is not None:
                self.bind_target(item.optional_vars, ("en", value))
        self.body(node.body)

    def _try(self, node: ast.Try) -> None:
        self.body(node.body)
        for handler in node.handlers:
            caught = self.read(handler.type)
            if handler.name:
                self.bind(handler.name, ("exc", caught))
            self.body(handler.body)
        self.body(node.orelse)
        self.body(node.finalbody)

    def _match(self, node: ast.Match) -> None:
        self.read(node.subject)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None)
                if isinstance(part, ast.MatchAs | ast.MatchStar) and name:
                    self.bind(name, UNKNOWN)
            if case.guard is not None:
                self.read(case.guard)
            self.body(case.body)

    def _type_alias(self, node: Any) -> None:
        self.bind(node.name.id, self.annotation(node.value))

    def _global(self, node: ast.Global) -> None:
        self.declare_global(node.names)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        """Bindings stay in the inner function; lookups from outside miss them, which only loses answers."""

    # Imports

    def _import(self, node: ast.Import) -> None:
        for item in node.names:
            self.imports.append((0, item.name, "", item.asname or "", node.lineno))
            if item.asname:
                self.bind(item.asname, ("im", 0, item.name, ""))
            else:
                self.bind(item.name.partition(".")[0], ("im", 0, item.name.partition(".")[0], ""))
                if "." in item.name:  # binds the top name, but makes sure that the inner module is loaded
                    self.bind(item.name.partition(".")[0], ("sub", item.name))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        for item in node.names:
            if item.name == "*":
                self.stars.append((node.level, module, node.lineno))
                self.imports.append((node.level, module, "*", "", node.lineno))
                continue
            self.imports.append((node.level, module, item.name, item.asname or "", node.lineno))
            self.bind(item.asname or item.name, ("im", node.level, module, item.name))

    # Definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = [self.read(item) for item in node.decorator_list]
        index = self.open_function(node, "function", node.args)
        more = self.scopes[index][6]
        if decorators:
            more["decorators"] = decorators
            more["decorator_texts"] = [self.source(item) for item in node.decorator_list]
        if node.returns is not None:
            more["result"] = self.annotation(node.returns)
            more["result_text"] = self.source(node.returns)
        if isinstance(node, ast.AsyncFunctionDef):
            more["async"] = True
        inside_class = self.scopes[self.scope][0] == "class"
        if inside_class and node.args.posonlyargs + node.args.args and not _is(decorators, "staticmethod"):
            more["self"] = (node.args.posonlyargs + node.args.args)[0].arg
        self._doc(node.body, index)
        self._digest(index, node)
        self.bind(node.name, ("def", index))
        outer = self.enter(index)
        self.body(node.body)
        self.leave(outer)

    def open_function(self, node: Any, kind: str, args: ast.arguments) -> int:
        """Defaults and annotations are read outside, parameters are bound inside."""
        index = self.open_scope(kind, getattr(node, "name", "<lambda>"), node)
        more = self.scopes[index][6]
        parameters: list[tuple[str, int, Expr | None, Expr | None]] = []
        plain = args.posonlyargs + args.args
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
        rows = [(item, POSITIONAL, default) for item, default in zip(plain, defaults)]
        if args.vararg:
            rows.append((args.vararg, VAR_POSITIONAL, None))
        rows += [(item, KEYWORD, default) for item, default in zip(args.kwonlyargs, args.kw_defaults)]
        if args.kwarg:
            rows.append((args.kwarg, VAR_KEYWORD, None))
        for item, how, default in rows:
            hint = self.annotation(item.annotation) if item.annotation is not None else None
            parameters.append((item.arg, how, hint, self.read(default) if default is not None else None))
        more["parameters"] = parameters
        if kind == "function" and rows:
            more["parameter_texts"] = [self._parameter_text(*row) for row in rows]
        for position, (name, _, _, _) in enumerate(parameters):
            self.bind_in(index, name, ("par", position))
        return index

    def _parameter_text(self, item: ast.arg, how: int, default: ast.expr | None) -> str:
        stars = {VAR_POSITIONAL: "*", VAR_KEYWORD: "**"}.get(how, "")
        text = stars + self.source(item)
        if default is None:
            return text
        return f"{text} = {self.source(default)}" if item.annotation is not None else f"{text}={self.source(default)}"

    def _class(self, node: ast.ClassDef) -> None:
        decorators = [self.read(item) for item in node.decorator_list]
        bases = [self.read(item) for item in node.bases]
        keywords = [(item.arg or "**", self.read(item.value)) for item in node.keywords]
        index = self.open_scope("class", node.name, node)
        more = self.scopes[index][6]
        more.update(bases=bases, attributes={}, fields=[])
        if node.bases:
            more["base_texts"] = [self.source(item) for item in node.bases]
        if keywords:
            more["keywords"] = keywords
        if decorators:
            more["decorators"] = decorators
            more["decorator_texts"] = [self.source(item) for item in node.decorator_list]
        self._doc(node.body, index)
        self._digest(index, node)
        self.bind(node.name, ("cls", index))
        outer = self.enter(index)
        self.body(node.body)
        self.leave(outer)

    def annotation(self, node: ast.expr) -> Expr:
        """An annotation; quoted ones are parsed. Calls in it are no call sites of the job."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return UNKNOWN
        return annotation_expr(node, 0)

    def _doc(self, body: list[ast.stmt], index: int) -> None:
        if body and type(body[0]) is ast.Expr and type(body[0].value) is ast.Constant:
            value = body[0].value.value
            if isinstance(value, str):
                line = next((line.strip() for line in value.splitlines() if line.strip()), "")
                if line:
                    self.scopes[index][6]["doc"] = line[:200]

    def _digest(self, index: int, node: Any) -> None:
        """A digest of the definition's text as it stands, decorators included."""
        _, _, line, end_line, _, _, more = self.scopes[index]
        if node.decorator_list:
            line = node.decorator_list[0].lineno
        text = "\n".join(self.lines[line - 1 : end_line]).encode("utf-8", "surrogatepass")
        more["exact"] = hashlib.blake2b(text, digest_size=10).hexdigest()


def _is(decorators: list[Expr], name: str) -> bool:
    return any(item[0] == "n" and item[1] == name for item in decorators)


def _names(value: Expr) -> list[str] | None:
    """Strings of a list or tuple display (or sums of them), or None where it is anything else."""
    if value[0] == "b" and value[1] == "+":
        left, right = _names(value[2]), _names(value[3])
        return None if left is None or right is None else left + right
    items = value[2] if value[0] == "L" else value[1] if value[0] == "T" else None
    if items is None or any(item[0] != "s" for item in items):
        return None
    return [item[1] for item in items]


def annotation_expr(node: ast.expr, depth: int = 0) -> Expr:
    """An annotation as an expression tuple, quoted parts parsed."""
    if depth > 20:
        return UNKNOWN
    if isinstance(node, ast.Name):
        return ("n", node.id)
    if isinstance(node, ast.Attribute):
        return ("a", annotation_expr(node.value, depth + 1), node.attr)
    if isinstance(node, ast.Subscript):
        return ("i", annotation_expr(node.value, depth + 1), annotation_expr(node.slice, depth + 1))
    if isinstance(node, ast.Tuple):
        return ("T", tuple([annotation_expr(item, depth + 1) for item in node.elts]))
    if isinstance(node, ast.List):
        return ("L", "list", tuple([annotation_expr(item, depth + 1) for item in node.elts]))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return ("o", (annotation_expr(node.left, depth + 1), annotation_expr(node.right, depth + 1)))
    if isinstance(node, ast.Constant):
        if node.value is None:
            return ("k", "None")
        if isinstance(node.value, str):
            try:
                return annotation_expr(ast.parse(node.value.strip(), mode="eval").body, depth + 1)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return UNKNOWN
        return ("k", type(node.value).__name__)
    return UNKNOWN
