"""The abstract interpreter: evaluates a job's script from its launch line with abstract values, and runs nothing.

Calls are answered by the first that can: op table, overlay, model of the standard library, the source itself, else unknown.
Budgets are the constants here and in loops.py and functions.py; hitting one is a reason, not a crash.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cgx.errors import Fault, UserError
from cgx.indexer.interpreter import (
    attributes,
    builtin_functions,
    classes,
    functions,
    imports,
    items,
    nn_module,
    operators,
)
from cgx.indexer.interpreter.clones import Clones
from cgx.indexer.interpreter.conversion import Conversion
from cgx.indexer.interpreter.expressions import EVALUATE, FrameFunction
from cgx.indexer.interpreter.externals import Externals
from cgx.indexer.interpreter.frame_functions import FRAME_FUNCTIONS
from cgx.indexer.interpreter.given_inputs import GivenInputs
from cgx.indexer.interpreter.guards import Guards
from cgx.indexer.interpreter.joins import join
from cgx.indexer.interpreter.memo import Memo
from cgx.indexer.interpreter.module_calls import ModuleCalls
from cgx.indexer.interpreter.recorder import Recorder
from cgx.indexer.interpreter.recovery import Recovery
from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.settings import Settings
from cgx.indexer.interpreter.signals import Overspent, Raised, StopRun
from cgx.indexer.interpreter.sources import Sources
from cgx.indexer.interpreter.statements import EXECUTE
from cgx.indexer.interpreter.stdlib import versions
from cgx.indexer.interpreter.trace import ModuleCall
from cgx.indexer.interpreter.trail import Trail
from cgx.indexer.interpreter.values import (
    MAYBE,
    MISSING,
    Alternatives,
    BoundMethod,
    ByRank,
    ClassMethod,
    ClassValue,
    External,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    ModuleInstance,
    ModuleObject,
    Native,
    Opaque,
    Partial,
    Property,
    Sequence,
    StaticMethod,
    Super,
    TensorValue,
    Unknown,
    Value,
)

MAX_STEPS = 60_000_000  # statements and expressions of one run


@dataclass(slots=True)
class World:
    """Processes of the job; sizes that the machine decides are Unknown. ``ranks``: the indexes of those modelled one by one."""

    size: int | Unknown = 1
    ranks: tuple[int, ...] = (0,)
    local_size: int | Unknown = 1
    nnodes: int | Unknown = 1


@dataclass(slots=True)
class Options:
    """What the user gave beside the launch line."""

    settings: dict[str, Value] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    mode: str | None = None
    strict: bool = False
    device: str = "cuda"
    inputs: list[str] = field(default_factory=list)  # of a launched job; run_build takes its own


class Interp(Recorder, Recovery, Externals, Conversion, Guards, ModuleCalls, GivenInputs, Memo, Clones):
    """One abstract run over one source tree."""

    def __init__(self, sources: Sources, options: Options | None = None, world: World | None = None) -> None:
        Recorder.__init__(self)
        Recovery.__init__(self)
        self.sources = sources
        self.tree = sources.tree
        self.options = options or Options()
        self.settings = Settings(self.options.settings)
        self.callee: ast.expr | None = None  # the expression that a call is about to evaluate as its function
        self.world = world or World()
        self.env: dict[str, Value] = {}
        self.argv: list[Value] = []
        self.files: dict[str, bytes] = self.options.files
        self.flags: dict[str, Any] = {"grad": True, "autocast": None}
        self.trail = Trail()
        self.started = ListValue()  # (process or thread, site) in the order of their start
        self.modules: dict[str, Value] = {}
        self.main_name = "__main__"
        self.depth = 0
        self.steps = 0
        self.job_loop: int | None = None  # steps when the outermost loop of the job began
        self.active: dict[int, int] = {}
        self.guarded = 0
        self.needed: frozenset[str] = frozenset()  # optional packages that the job fails without
        self.lazy_scope: Scope | None = None
        self.late_stars: dict[int, list[str]] = {}
        self.late_names: dict[int, dict[str, tuple[str, str]]] = {}
        self.on_demand: dict[str, bool] = {}  # top-level package -> its modules are loaded on first use
        self._exports: dict[str, frozenset[str]] = {}
        self._hooks: set[tuple[int, str]] = set()
        self._meta: list[int] = []
        self.wanted: Value = MISSING  # for the function that is called next, see Frame.wanted
        self.absent: set[str] = set()
        self.stand_ins: dict[str, frozenset[str]] = {}  # names bound where an import failed -> its packages
        self.lacking: set[str] = set()  # packages that an error of the job asked for
        self.required: frozenset[str] | None = None  # modules that installed distributions need
        self.imported: set[str] = set()  # packages outside the source that an unguarded import names
        self.trace.world_size = self.world.size
        Externals.__init__(self)
        Guards.__init__(self)
        ModuleCalls.__init__(self)
        GivenInputs.__init__(self, self.options.inputs)
        Memo.__init__(self)
        Clones.__init__(self)

    # ------------------------------------------------------------------ evaluation

    def eval(self, node: ast.expr, frame: Frame) -> Value:
        if self.settings.active:
            given = self.settings.match(node, frame)
            if given is not MISSING:
                return given
        run = EVALUATE.get(type(node))
        if run is None:
            return self.unknown(frame.code.text(node), "unsupported", Site(node, frame))
        return run(self, node, frame)

    def exec(self, node: ast.stmt, frame: Frame) -> str | None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise StopRun("budget")
        run = EXECUTE.get(type(node))
        if run is None:
            return None
        try:
            return run(self, node, frame)
        except Raised as error:
            if self.catchable(error) or (isinstance(node, ast.Raise) and frame.returns):  # an undecided path has returned: this one is none
                raise
            return self.recover(error, node, frame)
        except (StopRun, Overspent, Fault, UserError, RecursionError, MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            if type(error).__name__ == "StopConsumer":
                raise
            self.fault(error, Site(node, frame))
            return None

    def fault(self, error: BaseException, site: Site) -> None:
        """Our own bug: recorded, fatal under --strict. What the statement would have bound is unknown."""
        for open_node in self.stack:
            if isinstance(open_node, ModuleCall):
                open_node.complete = False
        self.trace.faults.append((str(site.anchor), f"{type(error).__name__}: {error}"))
        if self.options.strict:
            raise Fault(f"{type(error).__name__}: {error}", str(site.anchor)) from error
        node = site.node
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.bind(target.id, Unknown(target.id, "internal", site.anchor), site.frame, node)

    def spend(self, steps: int) -> None:
        self.steps += steps

    def attempt(self, run: Callable[[], Value]) -> Value:
        """The value, or Unknown where evaluating it surely raises."""
        try:
            with self.catching():
                return run()
        except Raised as error:
            return Unknown(error.message or error.kind, "error", error.anchor)

    def builtin(self, name: str) -> Value:
        if name in FRAME_FUNCTIONS:
            return FrameFunction(name, FRAME_FUNCTIONS[name])
        if name in builtin_functions.CONSTANTS:
            return builtin_functions.CONSTANTS[name]
        if name in builtin_functions.ENTRIES or name in builtin_functions.TYPES or name in builtin_functions.EXCEPTIONS or hasattr(builtins, name):
            return External(name)
        return MISSING

    # ------------------------------------------------------------------ binding

    def bind(self, name: str, value: Value, frame: Frame, node: ast.AST) -> None:
        scope = frame.scope.target(name)
        self.trail.set_item(scope.vars, name, value)
        if scope.kind != "comprehension":
            scope.origins[name] = frame.anchor(node)

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        if self.settings.active:
            given = self.settings.match(target, frame)
            if given is not MISSING:
                value = given
        if isinstance(target, ast.Name):
            self.bind(target.id, value, frame, target)
        elif isinstance(target, ast.Attribute):
            self.setattr(self.eval(target.value, frame), target.attr, value, self.statement_site(target, frame))
        elif isinstance(target, ast.Subscript):
            owner = self.eval(target.value, frame)
            self.setitem(owner, self.eval(target.slice, frame), value, Site(target, frame))
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value, frame)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, frame)

    def statement_site(self, target: ast.expr, frame: Frame) -> Site:
        return Site(frame.statement or target, frame)

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, frame: Frame) -> None:
        site = Site(target, frame)
        if isinstance(value, Alternatives):
            found = self.those_that_unpack(value, target, site)
            lists = [one for one in found if one is not None]
            if lists and len(lists) == len(found):
                parts = [join(a, b, "another branch") if a is not b else a for a, b in zip(lists[0], lists[-1])]
                for element, part in zip(target.elts, parts):
                    self.assign(element, part, frame)
                return
        if isinstance(value, ByRank):
            value = value.values[0]
        items = self.unpacked(value, target, site)
        if items is None:
            reason = getattr(value, "reason", "data")
            for index, element in enumerate(target.elts):
                inner = element.value if isinstance(element, ast.Starred) else element
                text = frame.code.text(inner)
                settle = ("--set", text)
                hint = value.hint if getattr(value, "hint", "") in ("tensor", "batch", "pinned batch") else ""
                self.assign(inner, Unknown(text, reason, getattr(value, "anchor", None) or frame.anchor(target), hint, settle), frame)
                del index
            return
        for element, item in zip(target.elts, items):
            self.assign(element, item, frame)

    def those_that_unpack(self, value: Alternatives, target: ast.Tuple | ast.List, site: Site) -> list[list[Value] | None]:
        """Parts of each option. One that cannot be unpacked is none that gets here, where another can be."""
        found: list[list[Value] | None] = []
        failed: Raised | None = None
        for _, option in self.options_of(value):
            try:
                with self.catching():
                    found.append(self.unpacked(option, target, site))
            except Raised as error:
                failed = error
        if failed is not None and not any(one is not None for one in found):
            raise failed
        return found

    def unpacked(self, value: Value, target: ast.Tuple | ast.List, site: Site) -> list[Value] | None:
        found: Any
        if isinstance(value, TensorValue):
            found = self.iterate(value, site)
            if not isinstance(found, list) or len(found) != len(target.elts):
                found = [self.row_of(value) for _ in target.elts]
        else:
            found = self.iterate(value, site)
        star = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)), None)
        if isinstance(found, Sequence):
            return [found.element] * len(target.elts) if star is None else None
        if not isinstance(found, list):
            return None
        if star is not None:
            after = len(target.elts) - star - 1
            if len(found) < len(target.elts) - 1:
                return None
            return [*found[:star], ListValue(found[star : len(found) - after]), *found[len(found) - after :]]
        if len(found) != len(target.elts):
            self.raise_("ValueError", f"cannot unpack {len(found)} values into {len(target.elts)}", site)
        return found

    def delete(self, target: ast.expr, frame: Frame) -> None:
        site = Site(target, frame)
        if isinstance(target, ast.Name):
            scope = frame.scope.find(target.id)
            if scope is not None:
                self.trail.del_item(scope.vars, target.id)
        elif isinstance(target, ast.Attribute):
            self.delattr(self.eval(target.value, frame), target.attr, site)
        elif isinstance(target, ast.Subscript):
            items.del_item(self, self.eval(target.value, frame), self.eval(target.slice, frame), site)
        elif isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self.delete(element, frame)

    # ------------------------------------------------------------------ access

    def getattr(self, value: Value, name: str, site: Site) -> Value:
        return attributes.get_attribute(self, value, name, site)

    def setattr(self, obj: Value, name: str, value: Value, site: Site) -> None:
        attributes.set_attribute(self, obj, name, value, site)

    def plain_set(self, obj: Instance, name: str, value: Value, site: Site) -> None:
        attributes.plain_set(self, obj, name, value, site)

    def set_on_module(self, owner: ModuleInstance, name: str, value: Value, site: Site) -> None:
        nn_module.set_on_module(self, owner, name, value, site)

    def delattr(self, owner: Value, name: str, site: Site) -> None:
        if isinstance(owner, Opaque) and self.call_opaque(owner, "__delattr__", [name], {}, site) is not NotImplemented:
            return
        tables: list[dict[Any, Value]] = []
        if isinstance(owner, Instance | Opaque):
            tables.append(owner.attrs)
        if isinstance(owner, ModuleInstance):
            tables += [owner.parameters, owner.buffers, owner.children]
        if isinstance(owner, ClassValue):
            tables.append(owner.namespace)
        if isinstance(owner, ModuleObject):
            tables.append(owner.scope.vars)
        for table in tables:
            if name in table:
                self.trail.del_item(table, name)

    def getitem(self, value: Value, key: Value, site: Site) -> Value:
        return items.get_item(self, value, key, site)

    def setitem(self, owner: Value, key: Value, value: Value, site: Site) -> None:
        items.set_item(self, owner, key, value, site)

    def iterate(self, value: Value, site: Site) -> list[Value] | Sequence | Unknown:
        return items.iterate(self, value, site)

    def each(self, values: list[Value], site: Site) -> Iterator[Value]:
        for value in values:
            self.steps += 1
            yield value

    def run_each(self, source: Value, handler: Callable[[Value], Value], site: Site) -> None:
        """Give every element to ``handler``, running a generator yield by yield."""
        if isinstance(source, GeneratorValue):
            self.run_generator(source, handler, site)
            return
        found = self.iterate(source, site)
        if isinstance(found, list):
            for item in found:
                handler(item)
        else:
            handler(found.element if isinstance(found, Sequence) else Unknown(f"element of {site.text}", found.reason, found.anchor))

    def next(self, value: Value, site: Site) -> Value:
        value = self.pick(value)
        if isinstance(value, GeneratorValue):
            return functions.next_value(self, value, site)
        if isinstance(value, Sequence):
            on_next = value.attrs.get("on_next")
            return value.element if on_next is None else self.call(on_next, [], {}, site)
        if isinstance(value, Instance) and value.cls.lookup("__next__") is not MISSING:
            return self.call_method(value, "__next__", [], {}, site)
        if isinstance(value, Opaque):
            found = self.call_opaque(value, "__next__", [], {}, site)
            if found is not NotImplemented:
                return found
        if isinstance(value, ListValue):
            if value.items and value.open == MAYBE and len(value.items) > 1 and isinstance(value.items[0], int | float | str):
                return self.unknown(site.text, "data", site, type(value.items[0]).__name__)  # which of them comes first is not known
            if value.items:
                self.trail.touch(value)
                return value.items.pop(0) if not value.open else value.items[0]
            if not value.open:
                return self.raise_("StopIteration", "", site)
        return operators.derived(self, (value,), site)

    def run_generator(self, generator: GeneratorValue, consume: Callable[[Value], Value], site: Site) -> None:
        functions.run_generator(self, generator, consume, site)

    def collect(self, generator: GeneratorValue, site: Site) -> ListValue | Sequence:
        return functions.collect(self, generator, site)

    def await_value(self, value: Value, site: Site) -> Value:
        if isinstance(value, GeneratorValue):
            found = self.collect(value, site)
            return found.element if isinstance(found, Sequence) else found.items[-1] if found.items else None
        return value

    # ------------------------------------------------------------------ calls

    def call(self, func: Value, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        """Call anything. ``kwargs["*"]`` is an argument list that is not known."""
        func = self.pick(func)
        if isinstance(func, FunctionValue):
            scopes = func.attrs.get("cgx.scopes")
            if scopes and not func.generator:  # those of a generator are entered where it runs
                return self.with_scopes(scopes, site, lambda: functions.call_function(self, func, args, kwargs, site))
            return functions.call_function(self, func, args, kwargs, site)
        if isinstance(func, BoundMethod):
            return self._call_bound(func, args, kwargs, site)
        if isinstance(func, ClassValue):
            return classes.instantiate(self, func, args, kwargs, site)
        if isinstance(func, ModuleInstance):
            return self.call_module(func, args, kwargs, site)
        if isinstance(func, External):
            return self.call_external(func.qname, args, kwargs, site)
        if isinstance(func, Native):
            return func.call(self, site, args, kwargs)
        if isinstance(func, Partial):
            return self.call(func.func, [*func.args, *args], {**func.kwargs, **kwargs}, site)
        if isinstance(func, Instance):
            if func.cls.lookup("__call__") is not MISSING:
                return self.call_method(func, "__call__", args, kwargs, site)
            found = self.external_method(func, "__call__", args, kwargs, site)
            return self.unknown(site.text, "missing-module", site) if found is NotImplemented else found
        if isinstance(func, Alternatives):
            return self._call_alternatives(func, args, kwargs, site)
        if isinstance(func, ByRank):
            return operators.by_rank([self.call(one, args, kwargs, site) for one in func.values])
        if isinstance(func, Opaque):
            found = self.call_opaque(func, "__call__", args, kwargs, site)
            return self.opaque_result(func.qname, args, kwargs, site, func) if found is NotImplemented else found
        if isinstance(func, StaticMethod | ClassMethod):
            return self.call(func.func, args, kwargs, site)
        if isinstance(func, FrameFunction):
            return func.run(self, site.frame, args)
        if isinstance(func, Unknown):
            return self.opaque_result("", args, kwargs, site, func)
        if isinstance(func, Property | Super | TensorValue) or func is None or isinstance(func, int | float | str | tuple):
            return self.raise_("TypeError", f"{type(func).__name__!r} object is not callable", site)
        return self.unknown(site.text, "unsupported", site)

    def _call_bound(self, func: BoundMethod, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        if isinstance(func.func, External):
            return self.call_member(func.func.qname, func.self, args, kwargs, site)
        if not isinstance(func.func, FunctionValue) or not isinstance(func.self, Instance):
            return self.call(func.func, [func.self, *args], kwargs, site)
        for before in self.overridden("BEFORE", func.func.name, func.self):
            before(self, site, func.self)
        start = len(self.stack[-1].children)
        result = self.call(func.func, [func.self, *args], kwargs, site)
        for after in self.overridden("AFTER", func.func.name, func.self):
            after(self, site, func.self, self.stack[-1].children[start:])
        return result

    def _call_alternatives(self, func: Alternatives, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        from cgx.indexer.interpreter.trace import BranchNode

        result: Value = MISSING
        for condition, option in self.options_of(func):
            if option is None:
                continue
            first, later = self.round_of(condition)
            with self.inside(BranchNode(func.anchor or site.anchor, condition, first=first, later=later, test=func)):
                value = self.attempt(partial(self.call, option, args, kwargs, site))
            result = value if result is MISSING else join(value, result, condition, site.anchor, site.text)
        return None if result is MISSING else result

    def call_method(self, owner: Instance, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
        return self.call(self.getattr(owner, name, site), args, kwargs, site)

    def make_function(self, node: Any, frame: Frame, name: str) -> FunctionValue:
        return functions.make_function(self, node, frame, name)

    def decorate(self, decorator: Value, value: Value, site: Site, frame: Frame) -> Value:
        """Apply a decorator. One that is not known leaves what it decorates as it is."""
        if isinstance(decorator, Unknown):
            return value
        if isinstance(decorator, External) and not self.decorates(decorator.qname):
            return value
        result = self.attempt(lambda: self.call(decorator, [value], {}, site))
        return value if isinstance(result, Unknown) else result

    def zero_super(self, frame: Frame) -> Value:
        assert frame.owner is not None
        first = frame.first
        step: Frame | None = frame
        if first is None and step is not None and step.function is not None:
            spec = step.function.node.args
            names = [*spec.posonlyargs, *spec.args]
            first = frame.scope.get(names[0].arg) if names else None
        if first is None or first is MISSING:
            first = frame.scope.get("self") if frame.scope.get("self") is not MISSING else frame.scope.get("cls")
        return Super(frame.owner, first)

    # ------------------------------------------------------------------ exceptions and unknowns

    def raise_(self, kind: str, message: str, site: Site | None) -> Any:
        """Raise an abstract Python exception."""
        raise Raised(External(kind), site.anchor if site is not None else None, message)

    def unknown(self, name: str, reason: str, site: Site | None, hint: str = "") -> Unknown:
        return Unknown(name, reason, site.anchor if site is not None else None, hint)

    def note_raise(self, error: Raised, where: str) -> None:
        self.trace.incomplete |= not where.startswith("import of")
        if where.startswith("import of") and (self.catchable(error) or self.said_absent(error)):
            return  # a package that the job can do without
        name = f"{where}: {error.kind}{': ' + error.message if error.message else ''}"
        self.note_unknown(Unknown(name, "error", error.anchor, settle=("--env", where)))

    def note_absent(self, top: str, site: Site | None) -> None:
        """An optional package that nothing provides: taken as not installed, and said so."""
        if top not in self.absent:
            self.absent.add(top)
            self.note_unknown(Unknown(f"import {top}", "missing-module", site.anchor if site else None, settle=("--env", top)))

    def provided(self, dotted: str) -> bool:
        """Whether a module is surely installed: read as source, of the standard library, or imported without a way out."""
        top = dotted.partition(".")[0]
        if top in sys.stdlib_module_names or top in imports.ALWAYS_THERE or top in self.imported or top in self.needed:
            return True
        return self.sources.find(dotted) is not None or top.lower() in versions.requirements(self)

    # ------------------------------------------------------------------ imports

    def import_module(self, dotted: str, site: Site | None) -> Value:
        return imports.import_module(self, dotted, site)

    def import_from(self, node: ast.ImportFrom, frame: Frame) -> None:
        imports.import_from(self, node, frame)

    def submodule(self, owner: ModuleObject, name: str, site: Site | None) -> Value:
        return imports.submodule(self, owner, name, site)

    def late_name(self, scope: Scope, name: str) -> Value:
        return imports.late_name(self, scope, name)

    def static_exports(self, dotted: str) -> frozenset[str]:
        if dotted not in self._exports:
            self._exports[dotted] = frozenset()
            self._exports[dotted] = imports.static_exports(self, dotted)
        return self._exports[dotted]

    @contextmanager
    def isolated(self, module: ModuleObject, lazy: bool) -> Iterator[None]:
        """A module's top level runs apart from the code that imports it."""
        before = (self.lazy_scope, self.constructing_stack, self.loops, self.forward_depth)
        segments, self.trail.segments = self.trail.segments, []
        self.lazy_scope, self.constructing_stack, self.loops, self.forward_depth = (module.scope if lazy else None), [], [], 0
        type_checking = self.flags.get("type_checking")
        if lazy:
            self.flags["type_checking"] = True
        elif type_checking:
            self.flags["type_checking"] = False
        try:
            yield
        finally:
            self.flags["type_checking"] = type_checking
            self.lazy_scope, self.constructing_stack, self.loops, self.forward_depth = before
            self.trail.segments = segments

    # ------------------------------------------------------------------ small state

    def enter_hook(self, owner: Value, name: str) -> bool:
        key = (id(owner), name)
        if key in self._hooks:
            return False
        self._hooks.add(key)
        return True

    def leave_hook(self, owner: Value, name: str) -> None:
        self._hooks.discard((id(owner), name))

    def in_meta(self, cls: ClassValue) -> bool:
        return bool(self._meta) and self._meta[-1] == id(cls)

    @contextmanager
    def meta_call(self, cls: ClassValue) -> Iterator[None]:
        self._meta.append(id(cls))
        try:
            yield
        finally:
            self._meta.pop()

    def called_name(self, site: Site) -> str:
        """The method name at a call site: ``to`` for ``model.to(device)``."""
        node = site.node
        func = node.func if isinstance(node, ast.Call) else None
        return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""

    def loop_is_unknown(self, owner: Value) -> bool:
        """What is appended may come any number of times: the list is older than the round of the loop."""
        return not self.rounds or id(owner) not in self.rounds[-1]

    def made(self, value: Value) -> Value:
        """Note a list that the code makes here."""
        if self.rounds:
            self.rounds[-1][id(value)] = value
        return value


