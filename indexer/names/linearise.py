"""Bases and method resolution order of classes."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.evaluate import Evaluator
from cgx.indexer.names.values import ANY, Class, External, Instance, Result, TypeOf, Values


class Linearisation(Evaluator):
    """Adds the order in which a class and its bases are searched."""

    def bases(self, cls: Class) -> list[Values]:
        """What each base expression of a class stands for."""
        outer = cls.scope.parent or cls.scope
        return [self.ev(outer, expr) for expr in cls.scope.more["bases"]]

    def mro(self, cls: Class) -> tuple[Any, ...]:
        """C3 linearisation: classes, then external names as leaves; ANY stands for a base that is not known."""
        if cls.mro is None:
            cls.mro = (cls,)  # a class that inherits from itself through a cycle
            heads = [self._base(values) for values in self.bases(cls)]
            lists: list[list[Any]] = []
            for head in heads:
                lists.append(list(self.mro(head)) if type(head) is Class else [head])
            lists.append(list(heads))
            cls.mro = (cls, *_merge(lists))
            if not heads and not cls.scope.module.standard:
                base = self.builtin_class("object")
                cls.mro = (cls, base) if base is not None and base is not cls else (cls,)
        return cls.mro

    @staticmethod
    def _base(values: Values) -> Any:
        for value in values:
            if type(value) is Class or type(value) is External:
                return value
        for value in values:
            if type(value) is Result:
                return External(value.prefix, guess=True)
            if type(value) is TypeOf and value.instances and type(value.instances[0]) is Instance:
                return value.instances[0].cls
        return ANY

    def derives(self, cls: Class, qname: str) -> bool:
        """Whether a class of the source inherits from an external or standard class."""
        for base in self.mro(cls):
            if type(base) is External:
                if base.qname == qname or self.library.derives(base.qname, qname):
                    return True
            elif type(base) is Class and base.qname == qname:
                return True
        return False


def _merge(lists: list[list[Any]]) -> list[Any]:
    """C3's merge; where the order is contradictory, the first head is taken rather than nothing."""
    merged: list[Any] = []
    lists = [items for items in lists if items]
    while lists:
        for items in lists:
            head = items[0]
            if not any(head in rest[1:] for rest in lists):
                break
        else:
            head = lists[0][0]
        if head not in merged:
            merged.append(head)
        lists = [[item for item in items if item is not head] for items in lists]
        lists = [items for items in lists if items]
    return merged
