"""What all parts of the evaluator share: its state, the interface between the parts, and small questions about values."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.facts import Expr
from cgx.indexer.names.library import library
from cgx.indexer.names.modules import Modules
from cgx.indexer.names.stdlib import StandardLibrary
from cgx.indexer.names.values import (
    ANY,
    NONE,
    Callback,
    Class,
    External,
    ExternalInstance,
    Mapping,
    Scope,
    Sequence,
    TypeOf,
    Values,
)  # fmt: skip

UNKNOWN_VALUES: Values = (ANY,)
TENSORS = ("torch.Tensor", "torch.nn.Parameter", "torch.distributed.tensor.DTensor", "torch.nn.parameter.Buffer")


class EvaluatorBase:
    """The state all parts of the evaluator share, and the interface between them."""

    def __init__(self, modules: Modules, standard: StandardLibrary) -> None:
        self.modules = modules
        self.library = library()
        self.depth = 0
        self._externals = standard.externals
        self._external_instances = standard.external_instances
        self._builtin_instances = standard.builtin_instances

    def ev(self, scope: Scope, expr: Expr) -> Values:
        """What an expression may stand for where ``scope`` is."""
        raise NotImplementedError

    def attribute(self, value: Any, name: str) -> Values:
        """What ``value.name`` may stand for."""
        raise NotImplementedError

    def call(self, value: Any, scope: Scope, args: tuple[Expr, ...], keywords: tuple[Any, ...]) -> Values:
        """What calling ``value`` may give."""
        raise NotImplementedError

    def annotated(self, scope: Scope, annotation: Expr) -> Values:
        """Instances of an annotation."""
        raise NotImplementedError

    def elements(self, value: Any) -> Values:
        """What iterating over ``value`` may give."""
        raise NotImplementedError

    def item(self, value: Any, key: Expr) -> Values:
        """What ``value[key]`` may give."""
        raise NotImplementedError

    def external(self, qname: str) -> External:
        """The one object for a name outside."""
        qname = self.library.canonical(qname)
        known = self._externals.get(qname)
        if known is None:
            known = self._externals[qname] = External(qname)
        return known

    def external_instance(self, qname: str, guess: bool = False) -> ExternalInstance:
        qname = self.library.canonical(qname)
        known = self._external_instances.get(qname)
        if known is None:
            known = self._external_instances[qname] = ExternalInstance(qname, guess)
        return known

    def builtin(self, name: str) -> Values:
        """An instance of a built-in type."""
        known = self._builtin_instances.get(name)
        if known is None:
            known = self._builtin_instances[name] = self._make_builtin(name)
        return known

    def builtin_class(self, name: str) -> Class | None:
        return self.standard_class("builtins", name)

    def standard_class(self, module_name: str, name: str) -> Class | None:
        module = self.modules.standard(module_name)
        top = module.top if module is not None else None
        values = self.bound(top, name) if top is not None and name in top.bindings else ()
        return next((value for value in values if type(value) is Class), None)

    def _make_builtin(self, name: str) -> Values:
        if name == "None" or name == "NoneType":
            return (NONE,)
        cls = self.builtin_class(name)
        return (cls.instance,) if cls is not None else (self.external_instance(f"builtins.{name}"),)

    def bound(self, scope: Scope, name: str) -> Values:
        """What a name bound in this very scope may stand for."""
        raise NotImplementedError

    def is_tensor(self, value: Any) -> bool:
        return type(value) is ExternalInstance and (
            value.qname in TENSORS or self.library.derives(value.qname, "torch.Tensor")
        )

    def tensor(self) -> Values:
        """An unknown tensor."""
        return (self.external_instance("torch.Tensor"),)


def informative(values: Values) -> bool:
    """Whether the values say more than None, or that nothing is known."""
    return any(value is not ANY and value is not NONE for value in values)


def is_weak(value: Any) -> bool:
    """A value that a declaration gives and that names nothing: any callable, a dict of any callables."""
    kind = type(value)
    if kind is Callback or value is ANY or value is NONE:
        return True
    if kind is Sequence:
        return all(is_weak(item) for item in value.items)
    if kind is Mapping:
        return not value.entries and all(is_weak(item) for item in value.any_value)
    return kind is TypeOf and all(is_weak(item) for item in value.instances)
