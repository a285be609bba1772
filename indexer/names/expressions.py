"""Syntax of expressions to the small tuples of :mod:`cgx.indexer.names.facts`; call sites are noted on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from cgx.indexer.names.facts import UNKNOWN, Expr
from cgx.indexer.names.state import State

MAX_ITEMS = 48  # elements of one display that are kept; the rest is one unknown element
MAX_STRING = 80
MAX_TEXT = 120  # characters of a callee's source text

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_BOOL: Expr = ("k", "bool")
_STR: Expr = ("k", "str")


class ExpressionReader(State):
    """Reads expressions. ``self.read(node)`` gives the tuple."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._readers: dict[type, Callable[[Any], Expr]] = {
            ast.Name: self._name, ast.Attribute: self._attribute, ast.Call: self._call, ast.Constant: self._constant,
            ast.Subscript: self._subscript, ast.BinOp: self._binary, ast.Compare: self._compare, ast.Tuple: self._tuple,
            ast.List: self._list, ast.Set: self._set, ast.Dict: self._dict, ast.IfExp: self._conditional,
            ast.BoolOp: self._boolean, ast.UnaryOp: self._unary, ast.ListComp: self._list_comp,
            ast.SetComp: self._set_comp, ast.GeneratorExp: self._generator, ast.DictComp: self._dict_comp,
            ast.JoinedStr: self._joined, ast.FormattedValue: self._formatted, ast.Lambda: self._lambda,
            ast.Starred: self._starred, ast.Await: self._await, ast.NamedExpr: self._walrus, ast.Slice: self._slice,
            ast.Yield: self._yield, ast.YieldFrom: self._yield_from,
        }  # fmt: skip

    def read(self, node: ast.expr | None) -> Expr:
        """The expression's tuple; call sites and inner scopes are noted."""
        reader = self._readers.get(type(node))
        if reader is None:
            return UNKNOWN if node is None else self._other(node)
        return reader(node)

    def _other(self, node: ast.expr) -> Expr:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.read(child)
        return UNKNOWN

    def _name(self, node: ast.Name) -> Expr:
        return ("n", node.id)

    def _attribute(self, node: ast.Attribute) -> Expr:
        return ("a", self.read(node.value), node.attr)

    def _constant(self, node: ast.Constant) -> Expr:
        value: Any = node.value
        kind = type(value)
        if kind is str:
            return ("s", value) if len(value) <= MAX_STRING else _STR
        if kind is int and -1000 <= value <= 1000:
            return ("int", value)
        return ("k", "None") if value is None else ("k", kind.__name__)

    def _call(self, node: ast.Call) -> Expr:
        bound_to, self.bound_to = self.bound_to, ""
        callee = self.read(node.func)
        read = self.read
        args = tuple([read(item) for item in node.args])
        keywords = tuple([(item.arg or "**", read(item.value)) for item in node.keywords]) if node.keywords else ()
        self._site(node, callee, bound_to)
        if callee == ("n", "isinstance") and len(args) == 2 and args[0][0] == "n":
            self.bind(args[0][1], ("nar", args[1]))
        elif callee[0] == "a" and callee[2].startswith(("register_", "add_module")):
            self._registration(callee, args)
        return ("c", callee, args, keywords)

    def _site(self, node: ast.Call, callee: Expr, bound_to: str) -> None:
        func = node.func
        line, column = func.lineno, func.col_offset
        end_line, end_column = func.end_lineno or line, func.end_col_offset or column
        if type(func) is ast.Attribute:
            token_line, token = (
                end_line,
                end_column - len(func.attr.encode()) if not self.ascii else end_column - len(func.attr),
            )
        elif type(func) is ast.Name:
            token_line, token = line, column
        else:
            token_line, token = end_line, max(end_column - 1, 0)
        text = self.slice(line, column, end_line, end_column)
        arguments: list[str] | None = None
        name = func.attr if type(func) is ast.Attribute else func.id if type(func) is ast.Name else ""
        if name[:1].isupper() or name.lstrip("_")[:1].isupper():
            arguments = [self.source(item) for item in [*node.args, *node.keywords]][:16]
        self.sites.append(
            (self.scope, node.lineno, token_line, self.column(token_line, token), callee,
             text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…", bound_to, arguments)
        )  # fmt: skip

    def _registration(self, callee: Expr, args: tuple[Expr, ...]) -> None:
        """``self.register_buffer("name", tensor)`` and its kind bind an attribute as an assignment does."""
        if len(args) < 2 or args[0][0] != "s" or callee[1][0] != "n":
            return
        given = {"register_buffer": "torch.Tensor", "register_parameter": "torch.nn.Parameter"}.get(callee[2])
        if given:
            self.bind_attribute(callee[1][1], args[0][1], ("x", given))
        elif callee[2] in ("register_module", "add_module"):
            self.bind_attribute(callee[1][1], args[0][1], args[1])

    def _subscript(self, node: ast.Subscript) -> Expr:
        return ("i", self.read(node.value), self.read(node.slice))

    def _slice(self, node: ast.Slice) -> Expr:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.read(part)
        return ("sl",)

    def _binary(self, node: ast.BinOp) -> Expr:
        # A long chain of one operator is read without recursion: `a + b + c + ...` nests to the left.
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while type(left) is ast.BinOp:
            chain.append(left)
            left = left.left
        result = self.read(left)
        for item in reversed(chain):
            right = self.read(item.right)
            if len(chain) < 12 or item is chain[0]:
                result = ("b", _OPERATORS[type(item.op)], result, right)
        return result

    def _compare(self, node: ast.Compare) -> Expr:
        left = self.read(node.left)
        right = UNKNOWN
        for item in node.comparators:
            right = self.read(item)
        if isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn) or len(node.ops) > 1:
            return _BOOL
        return ("cmp", "==", left, right)

    def _items(self, nodes: list[ast.expr]) -> tuple[Expr, ...]:
        read = self.read
        if len(nodes) <= MAX_ITEMS:
            return tuple([read(item) for item in nodes])
        kept = [read(item) for item in nodes[:MAX_ITEMS]]
        for item in nodes[MAX_ITEMS:]:
            if type(item) is not ast.Constant:
                read(item)
        return (*kept, UNKNOWN)

    def _tuple(self, node: ast.Tuple) -> Expr:
        return ("T", self._items(node.elts))

    def _list(self, node: ast.List) -> Expr:
        return ("L", "list", self._items(node.elts))

    def _set(self, node: ast.Set) -> Expr:
        return ("L", "set", self._items(node.elts))

    def _dict(self, node: ast.Dict) -> Expr:
        pairs: list[tuple[Expr | None, Expr]] = []
        for key, value in zip(node.keys, node.values):
            pair = (None if key is None else self.read(key), self.read(value))
            if len(pairs) < MAX_ITEMS:
                pairs.append(pair)
        if len(node.keys) > MAX_ITEMS:
            pairs.append((UNKNOWN, UNKNOWN))
        return ("D", tuple(pairs))

    def _conditional(self, node: ast.IfExp) -> Expr:
        self.read(node.test)
        return ("o", (self.read(node.body), self.read(node.orelse)))

    def _boolean(self, node: ast.BoolOp) -> Expr:
        return ("o", tuple([self.read(item) for item in node.values]))

    def _unary(self, node: ast.UnaryOp) -> Expr:
        value = self.read(node.operand)
        if isinstance(node.op, ast.Not):
            return _BOOL
        return ("int", -value[1]) if value[0] == "int" and isinstance(node.op, ast.USub) else value

    def _joined(self, node: ast.JoinedStr) -> Expr:
        for item in node.values:
            if type(item) is not ast.Constant:
                self.read(item)
        return _STR

    def _formatted(self, node: ast.FormattedValue) -> Expr:
        self.read(node.value)
        if node.format_spec is not None:
            self.read(node.format_spec)
        return _STR

    def _starred(self, node: ast.Starred) -> Expr:
        return ("*", self.read(node.value))

    def _await(self, node: ast.Await) -> Expr:
        return ("aw", self.read(node.value))

    def _walrus(self, node: ast.NamedExpr) -> Expr:
        value = self.read(node.value)
        scope = self.scope
        while self.scopes[scope][0] == "comp":
            scope = self.scopes[scope][4]
        self.bind_in(scope, node.target.id, value if scope == self.scope else ("@", self.scope, value))
        return value

    def _yield(self, node: ast.Yield) -> Expr:
        value = self.read(node.value) if node.value is not None else ("k", "None")
        self.note_yield(value)
        return UNKNOWN

    def _yield_from(self, node: ast.YieldFrom) -> Expr:
        self.note_yield(("el", self.read(node.value)))
        return UNKNOWN

    def _lambda(self, node: ast.Lambda) -> Expr:
        index = self.open_function(node, "lambda", node.args)
        outer = self.enter(index)
        self.note_return(self.read(node.body))
        self.leave(outer)
        return ("f", index)

    def _list_comp(self, node: ast.ListComp) -> Expr:
        return ("lc", "list", self._comprehension(node.generators, node, node.elt))

    def _set_comp(self, node: ast.SetComp) -> Expr:
        return ("lc", "set", self._comprehension(node.generators, node, node.elt))

    def _generator(self, node: ast.GeneratorExp) -> Expr:
        return ("lc", "gen", self._comprehension(node.generators, node, node.elt))

    def _dict_comp(self, node: ast.DictComp) -> Expr:
        item = self._comprehension(node.generators, node, ast.Tuple([node.key, node.value]))
        return ("dc", item)

    def _comprehension(self, generators: list[ast.comprehension], node: ast.expr, item: ast.expr) -> Expr:
        # The first iterable is evaluated outside the comprehension's own scope.
        first = self.read(generators[0].iter)
        outer_scope = self.scope
        index = self.open_scope("comp", "", node)
        outer = self.enter(index)
        for position, generator in enumerate(generators):
            source = ("@", outer_scope, first) if position == 0 else self.read(generator.iter)
            self.bind_target(generator.target, ("el", source))
            for test in generator.ifs:
                self.read(test)
        value = self.read(item)
        self.leave(outer)
        return ("@", index, value)

    def bind_target(self, target: ast.expr, value: Expr) -> None:
        """Bind what an assignment, loop or ``with`` writes to. Only names and attributes of ``self`` are kept."""
        raise NotImplementedError

    def open_function(self, node: Any, kind: str, args: ast.arguments) -> int:
        """Open a function's or lambda's scope with its parameters."""
        raise NotImplementedError
