"""Calls of ``nn.Module`` objects, torch layers, and the regions round them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Seq
from contextlib import contextmanager
from typing import Any

from cgx.indexer.interpreter import nn_module
from cgx.indexer.interpreter.devices import share_device
from cgx.indexer.interpreter.externals import floating
from cgx.indexer.interpreter.memo import layer_value
from cgx.indexer.interpreter.placing import placed
from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.sources import Code
from cgx.indexer.interpreter.trace import LoopNode, ModuleCall, OpNode, ScopeNode
from cgx.indexer.interpreter.values import (
    HELD,
    MISSING,
    BoundMethod,
    ClassValue,
    Device,
    DictValue,
    DType,
    FunctionValue,
    Instance,
    ListValue,
    LoopContext,
    ModuleInstance,
    ModuleObject,
    Native,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.model.anchors import Anchor

Args = list[Value]
Kwargs = dict[str, Value]


def trainable(module: ModuleInstance) -> bool:
    """Some parameter in the tree is trained."""
    stack = [module]
    while stack:
        one = stack.pop()
        if any(isinstance(value, TensorValue) and value.requires_grad is True for value in one.parameters.values()):
            return True
        stack.extend(child for child in one.children.values() if isinstance(child, ModuleInstance))
    return False


class ModuleCalls:
    """The part of the interpreter that builds and calls modules. Mixed into Interp."""

    def __init__(self) -> None:
        self.constructing_stack: list[ModuleInstance] = []
        self.forward_depth = 0
        self.site_stack: list[Anchor] = []
        self.no_site: Any = Site.__new__(Site)
        self._polyfills: dict[str, ModuleObject] = {}
        import ast

        code = Code("", ast.Module([], []), "")
        self.no_site.node, self.no_site.frame = ast.Constant(None, lineno=1, col_offset=0), Frame(Scope("module"), code)

    @property
    def in_model(self) -> bool:
        """Inside a constructor or a forward: loops are evaluated per index."""
        return bool(self.constructing_stack) or self.forward_depth > 0

    # ------------------------------------------------------------------ construction

    @contextmanager
    def constructing(self, module: ModuleInstance) -> Iterator[None]:
        self.constructing_stack.append(module)
        try:
            yield
        finally:
            self.constructing_stack.pop()

    def register_module(self: Any, module: ModuleInstance, site: Site, like: ModuleInstance | None = None) -> None:
        """Note where and in which loops a module was made."""
        module.serial = len(self.trace.modules)
        module.training = True
        module.loops = tuple(self.loops) if like is None else like.loops or tuple(self.loops)
        module.device = self.flags.get("default_device", "cpu")
        if like is None:
            module.via = tuple(owner.constructed_at for owner in reversed(self.constructing_stack) if owner.constructed_at is not None)[:3]
        self.trace.modules.append(module)

    def materialise(self: Any, module: Any) -> Any:
        """Before a module's children are read as a whole: what runs depends on which there are."""
        if self.readings and isinstance(module, ModuleInstance) and (id(module), "__children__") not in self.readings[-1].reads:
            self.note_read(module, "__children__", tuple(module.children))
            for name, child in module.children.items():
                self.note_read(module, name, child)
        return module

    def materialise_all(self, module: Any) -> Any:
        return module

    # ------------------------------------------------------------------ calls

    def call_module(self: Any, module: ModuleInstance, args: Args, kwargs: Kwargs, site: Site, direct: bool = False) -> Value:
        """``module(...)``: hooks and ``forward``, as one node of the trace."""
        if not direct:
            own = module.cls.lookup("__call__")
            if own is not MISSING and isinstance(own, FunctionValue):
                return self.call(BoundMethod(own, module, own.owner), args, kwargs, site)
        home, forward = nn_module.forward_of(module)
        if forward is MISSING:
            return self._no_forward(module, args, kwargs, site)
        args, kwargs, matched = self.with_given(forward, module, args, kwargs)
        node = ModuleCall(forward_anchor(forward, site), site.text, module=module, called_from=site.anchor)
        node.training, node.grad, node.autocast = module.training, bool(self.flags.get("grad", True)), module.attrs.get("__cgx_autocast__", self.flags.get("autocast"))
        node.inputs = list(named_tensors(forward, args, kwargs))
        with self.inside_given(matched):
            result = self._under_precision(module, site, lambda: self._run_call(node, module, home, forward, args, kwargs, site))
        node.outputs = [("", value) for value in tensors_of(result)]
        self._gradients_of(module, node)
        self._place_of(module, node)
        if self.forward_depth == 0 and not any(one is module for one in self.trace.model_roots):
            self.trace.model_roots.append(module)
        return result

    def _gradients_of(self: Any, module: ModuleInstance, node: ModuleCall) -> None:
        """What a layer gives requires gradients where its parameters or inputs do; without gradients nothing does."""
        given = [value for _, value in node.inputs]
        for _, value in node.outputs:
            if not (isinstance(value, TensorValue) and value.requires_grad is None and floating(value)) or any(value is one for one in given):
                continue
            if not node.grad:
                value.requires_grad = False
            elif any(one.requires_grad is True for one in given) or trainable(module):
                value.requires_grad = True

    def _place_of(self: Any, module: ModuleInstance, node: ModuleCall) -> None:
        """What comes out of parts that are not all known lies where the weights and everything that goes in lie: ops mix no devices."""
        open_ones = [value for _, value in node.outputs if isinstance(value, TensorValue) and value.device is None]
        given = {value.device for _, value in node.inputs}
        if not open_ones or len(given) != 1 or None in given:
            return
        weights: set[str | None] = set()
        for part in nn_module.modules_of(module):
            hook = part.attrs.get("_hf_hook")  # accelerate's: brings the weights when they are needed
            brought = hook.attrs.get("execution_device") if isinstance(hook, Instance) else None
            weights |= {brought.type if isinstance(brought, Device) else one.device for one in part.parameters.values() if isinstance(one, TensorValue)}
        if weights == given:
            for value in open_ones:
                (value.device,) = given

    def _under_precision(self: Any, module: ModuleInstance, site: Site, run: Callable[[], Value]) -> Value:
        """A framework's wrapper puts autocast round the forward of the module that it set up."""
        kind = module.attrs.get("__cgx_autocast__")
        if kind is None or self.flags.get("autocast") == kind:
            return run()
        scope = Opaque("torch.amp.autocast", {"dtype": DType(kind), "told": True}, site.anchor)  # the wrapper says so where it is made
        return self.with_flags(scope, {"autocast": kind}, site, run)

    def _run_call(self: Any, node: ModuleCall, module: ModuleInstance, home: Any, forward: Value, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """Evaluate the call, or take an earlier one that stands for it."""
        self.note_read(module, "__class__", module.cls)
        if isinstance(forward, Native) and "row" in module.cls.info and not module.hooks:
            with self.inside(node, keep=True):
                return self.call(forward, [module, *args], kwargs, site)
        # what a forward itself builds holds children of the caller: another's call cannot stand for its own
        key, entry = (None, None) if module.hooks or module.passing else self.remembered(module, args, kwargs, site.anchor if isinstance(forward, Native) else None)
        if entry is not None:
            self.emit(node)
            return self.replay(entry, module, node, args, kwargs)

        def run() -> Value:
            self.note_read(module, "__class__", module.cls)
            self.forward_depth += 1
            try:
                with self.ending_early(node), self.inside(node, keep=True):
                    given, named = self._pre_hooks(module, args, kwargs, site)
                    callee = forward if home is None else BoundMethod(forward, module, home)
                    result = self.call(callee, given, named, site)
                    return self._post_hooks(module, given, result, site)
            finally:
                self.forward_depth -= 1
                self.unwrap_call(node)

        return self.remember(key, module, node, args, kwargs, run)

    def unwrap_call(self, node: ModuleCall) -> None:
        """The plain function node round a forward is the module's own node."""
        if len(node.children) == 1:
            only = node.children[0]
            if type(only).__name__ == "CallNode" and getattr(only, "target", None) == node.anchor:
                node.children = only.children

    @contextmanager
    def ending_early(self, node: ModuleCall) -> Iterator[None]:
        """Marks the call where an abstract exception leaves it."""
        try:
            yield
        except Raised:
            node.complete = False
            raise

    def _no_forward(self: Any, module: ModuleInstance, args: Args, kwargs: Kwargs, site: Site) -> Value:
        found = self.external_method(module, "forward", args, kwargs, site)
        if found is not NotImplemented:
            return found
        node = ModuleCall(site.anchor, site.text, module=module, called_from=site.anchor)
        node.inputs = [("", value) for arg in [*args, *kwargs.values()] for value in tensors_of(arg)]
        self.emit(node)
        unknown = Unknown(f"{module.cls.name}.forward", "missing-module", site.anchor, settle=("--env", module.cls.qname.partition(".")[0]))
        self.note_unknown(unknown)
        return Unknown(site.text, "missing-module", site.anchor, "")

    def _pre_hooks(self: Any, module: ModuleInstance, args: Args, kwargs: Kwargs, site: Site) -> tuple[Args, Kwargs]:
        for kind, hook in module.hooks:
            if not kind.startswith("pre"):
                continue
            given = [module, tuple(args), DictValue(dict(kwargs))] if kind.endswith("True") else [module, tuple(args)]
            result = self.attempt(lambda hook=hook, given=given: self.call(hook, given, {}, site))
            if isinstance(result, tuple):
                if kind.endswith("True") and len(result) == 2 and isinstance(result[0], tuple):
                    args = list(result[0])
                    kwargs = dict(result[1].items) if isinstance(result[1], DictValue) else kwargs
                else:
                    args = list(result)
            elif isinstance(result, TensorValue):
                args = [result]
        return args, kwargs

    def _post_hooks(self: Any, module: ModuleInstance, args: Args, result: Value, site: Site) -> Value:
        for kind, hook in module.hooks:
            if not kind.startswith("post"):
                continue
            given = [module, tuple(args), DictValue(), result] if kind.endswith("True") else [module, tuple(args), result]
            changed = self.attempt(lambda hook=hook, given=given: self.call(hook, given, {}, site))
            if changed is not None and not isinstance(changed, Unknown):
                result = changed
        return result

    def run_layer(self: Any, owner: ModuleInstance, row: Any, args: Args, kwargs: Kwargs, site: Site, method: str = "forward") -> Value:
        """The forward of a torch layer that a row describes: its ops, at the line that called the layer."""
        own = owner.cls.lookup("_conv_forward") if method == "forward" else None
        if isinstance(own, FunctionValue) and args:
            given = [args[0], owner.parameters.get("weight"), owner.parameters.get("bias")]
            return self.call(BoundMethod(own, owner, own.owner), given, {}, site)
        if owner.attrs.get("__cgx_synced__") and owner.training is True and args:
            for _ in range(3):
                self.transfer("dynamic shape", args[0], site)  # ranks without samples are masked out
        self.note_read(owner, "__layer__", layer_value(owner) if self.readings else None)
        attrs = {name: self.export(value) for name, value in owner.attrs.items() if not name.startswith("__cgx")}
        attrs["training"] = owner.training
        tables = {**owner.parameters, **owner.buffers}
        for name in self.parametrized(owner):
            tables[name] = self.getattr(owner, name, site)
        plain = [self.export(arg) for arg in args]
        options = {key: self.export(value) for key, value in kwargs.items()}
        result = placed(row.call(attrs, tables, plain, options, method), site, False)
        share_device([one for one in owner.parameters.values() if isinstance(one, TensorValue)], result)
        self._autocast(row, [*plain, *options.values()], result)
        steps = row.steps(attrs, tables, plain, options, method)
        inherited = method == "forward" and self.inherits_forward(owner)
        for step in steps or ():
            inputs, outputs = list(step.inputs), list(step.outputs)
            self.emit(OpNode(site.anchor, site.text, qname=step.name, inputs=inputs, outputs=outputs, layer=method == "forward", inherited=inherited))
        names = () if steps is not None else row.ops(attrs, tables, plain, options, method)
        for place, name in enumerate(names):
            inputs = [tensor for arg in [*plain, *options.values()] for tensor in tensors_of(arg)]
            own_names = owner.attrs.get(nn_module.WEIGHTS, tuple(owner.parameters))
            weights = [value for key, value in owner.parameters.items() if isinstance(value, TensorValue) and key in own_names]
            last = place == len(names) - 1  # what runs before it (a count raised, zeros made) takes none of this
            self.emit(
                OpNode(
                    site.anchor,
                    site.text,
                    qname=name,
                    inputs=[*inputs, *weights] if last else [],
                    outputs=tensors_of(result) if last else [],
                    layer=method == "forward",
                    inherited=inherited,
                )
            )
        return self.wrap(result) if isinstance(result, list | dict) else result

    @staticmethod
    def inherits_forward(owner: ModuleInstance) -> bool:
        """A class of the source that adds no forward of its own to a torch layer."""
        return not owner.cls.native and isinstance(owner.cls.lookup("forward"), Native)

    def parametrized(self: Any, owner: ModuleInstance) -> list[str]:
        """Names of the tensors that other modules work out (torch.nn.utils.parametrize)."""
        held = owner.children.get("parametrizations")
        return list(held.children) if isinstance(held, ModuleInstance) else []

    def _autocast(self: Any, row: Any, inputs: list[Any], result: Value) -> None:
        autocast = self.flags.get("autocast")
        if not autocast:
            return
        from cgx.indexer.ops import registry

        op = registry.find(row.forward_op) if row.forward_op else None
        if op is None or op.autocast not in ("lower", "fp32"):
            return
        if any(value.device == "cpu" for arg in inputs for value in tensors_of(arg)):
            return
        for tensor in tensors_of(result):
            if tensor.dtype is not None and tensor.dtype.startswith(("float", "bfloat")):
                tensor.dtype = autocast if op.autocast == "lower" else "float32"

    def repeat_member(self: Any, owner: ModuleInstance, value: Value, site: Site) -> Value:
        """A Sequential of unknown length: its member once, in a loop of unknown count."""
        length = owner.attrs.get("__cgx_length__")
        loop = LoopNode(site.anchor, site.text, count=length, expr=site.text, over="container", bound=site.anchor)
        with self.inside(loop), self.loop(LoopContext(site.text, length, site.anchor)):
            return self.call(owner.children["*"], [value], {}, site)

    # ------------------------------------------------------------------ regions

    def with_flags(self: Any, scope: Opaque, flags: dict[str, Any], site: Site, run: Callable[[], Value]) -> Value:
        before = dict(self.flags)
        self.flags.update(flags)
        try:
            with self.inside(ScopeNode(scope.anchor or site.anchor, site.text, qname=scope.qname, data=dict(scope.attrs))):
                return run()
        finally:
            self.flags.clear()
            self.flags.update(before)

    def with_scopes(self: Any, scopes: Seq[Opaque], site: Site, run: Callable[[], Value]) -> Value:
        """Enter modelled scopes round a call, outermost first (a decorated function)."""
        if not scopes:
            return run()
        first, rest = scopes[0], scopes[1:]
        self.call_opaque(first, "__enter__", [], {}, site)
        depth = len(self.stack)
        try:
            return self.with_scopes(rest, site, run)
        finally:
            del self.stack[depth:]
            self.call_opaque(first, "__exit__", [None, None, None], {}, site)

    def move_module(self: Any, owner: Value, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """``Module.to`` and its kind, through the overlay."""
        for handler in self.handlers(f"torch.nn.Module.{name}"):
            found = handler(self, site, [owner, *args], kwargs)
            if found is not NotImplemented:
                return found
        return owner

    def polyfill_module(self: Any, path: str) -> ModuleObject | None:
        """A polyfill file, evaluated as a module of its own whose names are torch's."""
        if path not in self._polyfills:
            from cgx.indexer import polyfills
            from cgx.indexer.interpreter.imports import run_module

            text = polyfills.read(path)
            import ast

            scope = Scope("module")
            module = ModuleObject(polyfills.module_name(path), path, scope)
            scope.module, scope.globals = module, scope
            self._polyfills[path] = module
            run_module(self, module, Code(path, ast.parse(text), text, True))
        found: ModuleObject = self._polyfills[path]
        return found


def forward_anchor(forward: Value, site: Site) -> Anchor:
    """Where the code of a forward stands; the call itself where there is none."""
    func = forward.func if isinstance(forward, BoundMethod) else forward
    while isinstance(func, FunctionValue) and isinstance(func.attrs.get("__wrapped__"), FunctionValue):
        func = func.attrs["__wrapped__"]
    if isinstance(func, FunctionValue) and not func.path.startswith("cgx:"):
        return Anchor(func.path, func.symbol, func.node.lineno)
    return site.anchor


def named_tensors(forward: Value, args: Args, kwargs: Kwargs) -> Iterator[tuple[str, TensorValue]]:
    """(parameter name, tensor) of what goes into a forward."""
    func = forward.func if isinstance(forward, BoundMethod) else forward
    names: list[str] = []
    if isinstance(func, FunctionValue):
        spec = func.node.args
        names = [a.arg for a in [*spec.posonlyargs, *spec.args]][1:]
    for index, value in enumerate(args):
        name = names[index] if index < len(names) else ""
        for tensor in tensors_of(value):
            yield name, tensor
    for name, value in kwargs.items():
        for tensor in tensors_of(value):
            yield name, tensor


def tensors_of(value: Value) -> list[TensorValue]:
    """The tensors in a value and in the lists, tuples, dicts and records it holds. What other objects hold is their own matter."""
    if isinstance(value, TensorValue):
        return [value] if value.library == "torch" else []
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_of(item)]
    if isinstance(value, ListValue):
        return [tensor for item in value.items for tensor in tensors_of(item)]
    if isinstance(value, DictValue):
        return [tensor for item in value.items.values() for tensor in tensors_of(item)]
    if isinstance(value, Instance) and (held := value.attrs.get(HELD)) is not None and (found := tensors_of(held)):
        return found
    if isinstance(value, Instance) and _is_record(value):
        return [tensor for name, item in value.attrs.items() if name != HELD for tensor in tensors_of(item)]
    return []


def _is_record(value: Instance) -> bool:
    """An object of a dataclass or a named tuple: what a model gives, which may hold what its parts gave."""
    return any("dataclass" in cls.info or cls.info.get("namedtuple") for cls in value.cls.mro if isinstance(cls, ClassValue))


