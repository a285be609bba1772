"""Operators: arithmetic, comparisons, the methods of a class that stand for them."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.base import UNKNOWN_VALUES, EvaluatorBase, informative
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.values import (
    ANY,
    NONE,
    Class,
    External,
    ExternalInstance,
    Instance,
    Mapping,
    Result,
    Row,
    Scope,
    Sequence,
    Values,
    union,
)  # fmt: skip


class Operators(EvaluatorBase):
    """Adds operators."""

    def _ev_compare(self, scope: Scope, expr: Expr) -> Values:
        known = True
        for side in expr[2:]:
            values = self.ev(scope, side)
            if any(self.is_tensor(value) for value in values):
                return self.tensor()
            known = known and not any(value is ANY or type(value) is Result for value in values)
        return self.builtin("bool") if known else UNKNOWN_VALUES

    def _ev_operator(self, scope: Scope, expr: Expr) -> Values:
        _, operator, left, right = expr
        lefts, rights = self.ev(scope, left), self.ev(scope, right)
        for value in (*lefts, *rights):
            if self.is_tensor(value):
                return self.tensor()
        results: list[Values] = []
        for value in lefts:
            results.append(self._operated(value, operator, rights, scope, right))
        found = union(results)
        return found if informative(found) or not lefts else union([found, UNKNOWN_VALUES])

    def _operated(self, value: Any, operator: str, rights: Values, scope: Scope, right: Expr) -> Values:
        kind = type(value)
        if kind is Sequence or kind is Row:
            if operator == "*":
                return (Sequence("list" if kind is Sequence else "tuple", self.elements(value)),)
            if operator == "+":
                rest = [self.elements(other) for other in rights if type(other) in (Sequence, Row)]
                name = value.kind if kind is Sequence else "tuple"
                return (Sequence(name, union([self.elements(value), *rest])),)
            return (value,)
        if kind is Instance and value.cls.scope.module.standard:
            name = value.cls.scope.name
            if name in ("int", "float", "bool"):
                return self._number(name, operator, rights)
            if name in ("str", "bytes"):
                return (value,)
            if name in ("Path", "PurePath", "PosixPath") and operator == "/":
                return (value,)
            if name in ("datetime", "timedelta", "Counter"):
                return (value,)
        if kind is Instance:
            method = _DUNDERS.get(operator)
            if method:
                found = [self.call(item, scope, (right,), ()) for item in self.attribute(value, method)]
                return union(found) or UNKNOWN_VALUES
        if kind is Class or kind is External or value is NONE:  # ``A | None`` in an annotation or isinstance
            return union([(value,), rights]) if operator == "|" else UNKNOWN_VALUES
        if kind is Mapping and operator == "|":
            return (value,)
        return UNKNOWN_VALUES

    def _number(self, name: str, operator: str, rights: Values) -> Values:
        floats = (
            operator == "/"
            or name == "float"
            or any(type(other) is Instance and other.cls.scope.name == "float" for other in rights)
        )
        if any(other is ANY or type(other) in (Result, ExternalInstance) for other in rights):
            return union([self.builtin("float" if floats else "int"), UNKNOWN_VALUES])
        for other in rights:  # 2 * [x], 2 * "x"
            if operator == "*" and (
                type(other) in (Sequence, Row) or (type(other) is Instance and other.cls.scope.name == "str")
            ):
                return (other,)
        return self.builtin("float" if floats else "int")


_DUNDERS = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__",
    "**": "__pow__", "@": "__matmul__", "|": "__or__", "&": "__and__", "^": "__xor__",
}  # fmt: skip
