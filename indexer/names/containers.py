"""Containers: iterating, indexing, and what their methods give."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.annotations import Annotations
from cgx.indexer.names.base import UNKNOWN_VALUES
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.values import (
    ANY,
    Class,
    External,
    ExternalInstance,
    Instance,
    Mapping,
    Result,
    Row,
    Sequence,
    TypeOf,
    Values,
    union,
)

_STRINGY = frozenset({"str", "bytes", "TextIOWrapper"})


class Containers(Annotations):
    """Adds elements, items and container methods."""

    def elements(self, value: Any) -> Values:
        kind = type(value)
        if kind is Sequence:
            return value.items
        if kind is Row:
            return union(value.items)
        if kind is Mapping:
            return value.values if value.kind == "torch.nn.Sequential" else value.any_key or self.builtin("str")
        if kind is ExternalInstance:
            if self.is_tensor(value):
                return self.tensor()
            if value.qname == "torch.Size":
                return self.builtin("int")
            methods = self.external_member(value.qname, "__iter__", value) if self.library.knows(value.qname) else ()
            return self._elements_of_result(value, methods, "__iter__") or UNKNOWN_VALUES
        if kind is Instance:
            return self._instance_elements(value)
        if kind is Result:
            return (value,)
        if kind is Class and self.is_enum(value):
            return (value.instance,)
        return UNKNOWN_VALUES if value is ANY else ()

    def _instance_elements(self, value: Instance) -> Values:
        scope = value.cls.scope
        if scope.module.standard:
            if scope.name in _STRINGY:
                return self.builtin("str" if scope.name != "bytes" else "int")
            if scope.name == "range":
                return self.builtin("int")
        for name in ("__iter__", "__getitem__", "__aiter__"):
            methods = self.attribute(value, name)
            if methods:
                found = self._elements_of_result(value, methods, name)
                if found:
                    return found
        for base in self.mro(value.cls):
            if type(base) is External and base.qname in ("torch.nn.ModuleList", "torch.nn.Sequential"):
                return UNKNOWN_VALUES
        return UNKNOWN_VALUES

    def _elements_of_result(self, value: Any, methods: Values, name: str) -> Values:
        found = []
        for method in methods:
            given = self.call(method, self._anywhere(value), (), ())
            if name == "__getitem__":
                found.append(given)
                continue
            for item in given:
                if type(item) is Sequence or type(item) is Row:
                    found.append(self.elements(item))
                elif type(item) is Instance and item.cls is not getattr(value, "cls", None):
                    following = self.attribute(item, "__next__")
                    found.extend(self.call(step, self._anywhere(value), (), ()) for step in following)
        return union(found)

    def _anywhere(self, value: Any) -> Any:
        """A scope for a call without arguments."""
        return value.cls.scope if type(value) is Instance else None

    def item(self, value: Any, key: Expr) -> Values:
        kind = type(value)
        sliced = key[0] == "sl" or (key[0] == "T" and any(part[0] == "sl" for part in key[1]))
        if kind is Sequence:
            return (value,) if sliced else value.items
        if kind is Row:
            if sliced:
                return (Sequence("tuple", union(value.items)),)
            if key[0] == "int" and -len(value.items) <= key[1] < len(value.items):
                return value.items[key[1]]
            return union(value.items)
        if kind is Mapping:
            if key[0] == "s":
                return value.get(key[1]) or value.any_value
            return value.values
        if kind is ExternalInstance:
            if self.is_tensor(value):
                return self.tensor()
            if value.qname == "torch.Size":
                return (value,) if sliced else self.builtin("int")
            methods = self.external_member(value.qname, "__getitem__", value) if self.library.knows(value.qname) else ()
            return union([self.call(method, None, (), ()) for method in methods]) or UNKNOWN_VALUES  # type: ignore[arg-type]
        if kind is Instance:
            if value.cls.scope.module.standard and value.cls.scope.name in ("str", "bytes"):
                return (value,)
            methods = self.attribute(value, "__getitem__")
            return union([self.call(method, value.cls.scope, (), ()) for method in methods]) or UNKNOWN_VALUES
        if kind is Class or kind is External or kind is TypeOf:  # Generic[int], list[int]
            return (value,)
        if kind is Result:
            return (value,)
        return UNKNOWN_VALUES if value is ANY else ()

    def container_method(self, value: Any, name: str, args: list[Values]) -> Values | None:
        """What a method of a list, tuple, set, dict or one of torch's containers gives; None where it is not one."""
        if type(value) is Mapping:
            return self._mapping_method(value, name, args)
        if name in ("pop", "popleft", "__next__"):
            return self.elements(value) if type(value) is not Row else None
        if name in ("copy", "union", "intersection", "difference", "__iter__", "__enter__", "symmetric_difference"):
            if name == "__enter__":
                return value.items if type(value) is Sequence and value.kind == "context" else None
            return (value,)
        if name in ("children", "modules") and type(value) is Sequence and "." in value.kind:
            return (Sequence("gen", value.items),)
        if name == "named_children" and type(value) is Sequence and "." in value.kind:
            return (Sequence("gen", (Row((self.builtin("str"), value.items)),)),)
        return None

    def _mapping_method(self, value: Mapping, name: str, args: list[Values]) -> Values | None:
        if name == "items":
            return (Sequence("gen", (Row((value.any_key or self.builtin("str"), value.values)),)),)
        if name == "values":
            return (Sequence("gen", value.values),)
        if name in ("keys", "__iter__"):
            return (Sequence("gen", value.any_key or self.builtin("str")),)
        if name in ("get", "pop", "setdefault"):
            return union([value.values, args[1] if len(args) > 1 else ()])
        if name == "popitem":
            return (Row((value.any_key, value.values)),)
        if name == "copy":
            return (value,)
        return None
