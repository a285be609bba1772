"""Imports: modules of the source are evaluated once, others become External names."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from functools import partial
from typing import TYPE_CHECKING

from cgx.indexer.interpreter.moved_packages import import_moved, tail_of
from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.values import MISSING, External, ListValue, ModuleObject, Unknown, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp
    from cgx.indexer.interpreter.sources import Code

KERNELS = frozenset({"flash_attn", "xformers"})  # optional in many jobs: there where the launched one fails without
ALWAYS_THERE = frozenset({"torch", "numpy"})  # what a PyTorch job surely has


def import_module(interp: Interp, dotted: str, site: Site | None) -> Value:
    """The module by its full name. Outside the source: External, or ImportError where the import is guarded."""
    if dotted in interp.modules:
        return interp.modules[dotted]
    if interp.modelled(dotted):
        return External(dotted)
    found = interp.sources.find(dotted)
    if found is None:
        tail = tail_of(interp, dotted)
        if tail is None:
            return _outside(interp, dotted, site)
        import_moved(interp, dotted, tail, site)
        return interp.modules[dotted]
    tree, path, package, external = found
    if "." in dotted:
        import_module(interp, dotted.rpartition(".")[0], site)
        if dotted in interp.modules:
            return interp.modules[dotted]
    scope = Scope("module")
    module = ModuleObject(dotted, path, scope, package, "new")
    scope.module, scope.globals = module, scope
    interp.modules[dotted] = module
    _attach(interp, dotted, module)
    if not path.endswith(".py"):
        module.state = "done"
        return module
    code = interp.sources.code(tree, path, external)
    if code is None:
        scope.vars["*"] = True
        module.state = "done"
        return module
    run_module(interp, module, code)
    return interp.modules[dotted]


def run_module(interp: Interp, module: ModuleObject, code: Code) -> None:
    module.state = "running"
    scope = module.scope
    package = module.name if module.package else module.name.rpartition(".")[0]
    scope.vars.update(__name__=module.name, __file__=module.path, __package__=package, __doc__=ast.get_docstring(code.tree), __spec__=None)
    if module.package:
        scope.vars["__path__"] = ListValue([posixpath.dirname(module.path)])
    if code.partial:
        scope.vars["*"] = True
    lazy = is_lazy(code)
    frame = Frame(scope, code)
    guarded, interp.guarded = interp.guarded, 0
    loop, interp.job_loop = interp.job_loop, None
    with interp.isolated(module, lazy):
        for statement in code.tree.body:
            try:
                signal = interp.exec(statement, frame)
            except Raised as error:
                if module.name == interp.main_name or guarded or _is_exit(error):
                    module.state = "done"
                    interp.guarded = guarded
                    interp.job_loop = loop
                    if error.kind in ("ImportError", "ModuleNotFoundError"):
                        interp.modules.pop(module.name, None)
                    raise
                interp.note_raise(error, f"import of {module.name}")
                scope.vars["*"] = True
                continue
            if signal is not None:
                break
    interp.guarded = guarded
    # A loop that imports (a package each of its files, to fill a registry) goes through no data: its budget begins anew.
    interp.job_loop = interp.steps if loop is not None else None
    module.state = "done"


def _is_exit(error: Raised) -> bool:
    return error.kind in ("SystemExit", "KeyboardInterrupt")


def is_lazy(code: Code) -> bool:
    """A package whose names are loaded on first use; its type-checking branch says what they are."""
    return "TYPE_CHECKING" in code.source and ("_LazyModule" in code.source or "lazy_import" in code.source or "lazy_loader" in code.source)


def _attach(interp: Interp, dotted: str, module: Value) -> None:
    parent, _, tail = dotted.rpartition(".")
    owner = interp.modules.get(parent)
    if isinstance(owner, ModuleObject):
        owner.scope.vars[tail] = module


def _outside(interp: Interp, dotted: str, site: Site | None) -> Value:
    top = dotted.partition(".")[0]
    parent = interp.modules.get(dotted.rpartition(".")[0])
    if isinstance(parent, ModuleObject):
        if interp.guarded or parent.path.endswith(".py"):
            return interp.raise_("ModuleNotFoundError", f"No module named {dotted!r}", site)
        return interp.unknown(dotted, "missing-module", site)
    if top in sys.stdlib_module_names or top in ALWAYS_THERE or interp.has_tables(top):
        if not interp.guarded:
            interp.imported.add(top)
        return External(dotted)
    if interp.guarded and top not in interp.needed:
        interp.note_absent(top, site)
        return interp.raise_("ModuleNotFoundError", f"No module named {dotted!r}", site)
    if top in interp.needed:
        interp.note_absent(top, site)  # the job has it, but its source is not given
    interp.imported.add(top)
    return External(dotted)


def submodule(interp: Interp, owner: ModuleObject, name: str, site: Site | None) -> Value:
    dotted = f"{owner.name}.{name}"
    if dotted in interp.modules:
        return interp.modules[dotted]
    return import_module(interp, dotted, site) if interp.sources.find(dotted) is not None else MISSING


def import_from(interp: Interp, node: ast.ImportFrom, frame: Frame) -> None:
    site = Site(node, frame)
    dotted = absolute_name(node, frame)
    lazy = interp.lazy_scope is frame.scope
    if lazy:
        for alias in node.names:
            if alias.name == "*":
                interp.late_stars.setdefault(id(frame.scope), []).append(dotted)
            else:
                interp.late_names.setdefault(id(frame.scope), {})[alias.asname or alias.name] = (dotted, alias.name)
        return
    names = [alias for alias in node.names if not interp.answered(f"{dotted}.{alias.name}")]
    for alias in node.names:
        if alias not in names:
            interp.bind(alias.asname or alias.name, External(f"{dotted}.{alias.name}"), frame, node)
    if not names:
        return
    if _deferred(interp, dotted, frame):
        late = interp.late_names.setdefault(id(frame.scope), {})
        for alias in names:
            name = alias.asname or alias.name
            if alias.name == "*":
                interp.late_stars.setdefault(id(frame.scope), []).append(dotted)
            elif name not in frame.scope.vars:
                late[name] = (dotted, alias.name)
        return
    module = import_module(interp, dotted, site)
    for alias in names:
        if alias.name == "*":
            _import_star(interp, module, frame, node)
            continue
        value = member(interp, module, dotted, alias.name, site)
        interp.bind(alias.asname or alias.name, value, frame, node)


def _deferred(interp: Interp, dotted: str, frame: Frame) -> bool:
    """Inside a package that is itself loaded on demand, the order of imports tells nothing: a name is imported on first use."""
    module = frame.scope.module
    if frame.scope.kind != "module" or interp.guarded or module is None or module.name == interp.main_name:
        return False
    top = dotted.partition(".")[0]
    return on_demand(interp, module.name.partition(".")[0]) and on_demand(interp, top) and dotted not in interp.modules and interp.sources.find(dotted) is not None


def on_demand(interp: Interp, top: str) -> bool:
    """Whether a top-level package loads its modules on first use."""
    if top not in interp.on_demand:
        found = interp.sources.find(top)
        code = interp.sources.code(found[0], found[1], found[3]) if found is not None and found[1].endswith(".py") else None
        interp.on_demand[top] = code is not None and is_lazy(code)
    return interp.on_demand[top]


def absolute_name(node: ast.ImportFrom, frame: Frame) -> str:
    if not node.level:
        return node.module or ""
    package = frame.scope.get("__package__") if frame.scope.globals is None else frame.scope.globals.vars.get("__package__", "")
    parts = str(package or "").split(".") if package else []
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def member(interp: Interp, module: Value, dotted: str, name: str, site: Site) -> Value:
    if isinstance(module, ModuleObject):
        if name in module.scope.vars:
            return module.scope.vars[name]
        found = submodule(interp, module, name, site) if module.package else MISSING
        if found is not MISSING:
            return found
        late = interp.late_name(module.scope, name)
        if late is not MISSING:
            return late
        getter = module.scope.vars.get("__getattr__")
        if getter is not None:
            return interp.call(getter, [name], {}, site)
        if "*" in module.scope.vars:
            return interp.unknown(f"{dotted}.{name}", "missing-module", site)
        return interp.raise_("ImportError", f"cannot import name {name!r} from {dotted!r}", site)
    if isinstance(module, External):
        if interp.guarded and interp.has_external(f"{dotted}.{name}") is False:
            return interp.raise_("ImportError", f"cannot import name {name!r} from {dotted!r}", site)
        return interp.external(f"{module.qname}.{name}", site)
    if isinstance(module, Unknown):
        return Unknown(f"{dotted}.{name}", module.reason, site.anchor)
    return interp.getattr(module, name, site)


def _import_star(interp: Interp, module: Value, frame: Frame, node: ast.ImportFrom) -> None:
    if not isinstance(module, ModuleObject):
        if isinstance(module, External):
            frame.scope.vars.setdefault("__cgx_stars__", []).append(module.qname)
        else:
            frame.scope.vars["*"] = True
        return
    listed = module.scope.vars.get("__all__")
    if isinstance(listed, ListValue | tuple):
        names = [name for name in (listed.items if isinstance(listed, ListValue) else listed) if isinstance(name, str)]
        site = Site(node, frame)
        for name in names:
            interp.bind(name, interp.attempt(partial(member, interp, module, module.name, name, site)), frame, node)
    else:
        for name, value in list(module.scope.vars.items()):
            if not name.startswith("_") and name != "*":
                interp.bind(name, value, frame, node)
        late = interp.late_names.get(id(module.scope), {})
        for name in [name for name in late if not name.startswith("_") and name not in module.scope.vars]:
            interp.late_names.setdefault(id(frame.scope), {})[name] = (module.name, name)
    if "*" in module.scope.vars:
        frame.scope.vars["*"] = True
    interp.late_stars.setdefault(id(frame.scope), [])
    for source in interp.late_stars.get(id(module.scope), []):
        interp.late_stars[id(frame.scope)].append(source)


def late_name(interp: Interp, scope: Scope, name: str) -> Value:
    """A name that a lazy package or an external star import would give."""
    entry = interp.late_names.get(id(scope), {}).get(name)
    if entry is not None:
        dotted, original = entry
        module = import_module(interp, dotted, None)
        value = _static_member(interp, module, dotted, original)
        if value is MISSING:
            value = _by_getter(interp, module, original)
        if value is not MISSING:
            scope.vars[name] = value
        return value
    for dotted in interp.late_stars.get(id(scope), ()):
        if gives(interp, dotted, name, set()):
            module = import_module(interp, dotted, None)
            value = _static_member(interp, module, dotted, name)
            if value is not MISSING:
                scope.vars[name] = value
                return value
    for qname in scope.vars.get("__cgx_stars__", ()):
        if interp.has_external(f"{qname}.{name}"):
            return External(f"{qname}.{name}")
    return MISSING


def _by_getter(interp: Interp, module: Value, name: str) -> Value:
    """What a module's ``__getattr__`` gives; Unknown where its names are not all known."""
    if not isinstance(module, ModuleObject):
        return MISSING
    getter = module.scope.vars.get("__getattr__")
    if getter is not None:
        return interp.call(getter, [name], {}, interp.no_site)
    return interp.unknown(f"{module.name}.{name}", "missing-module", None) if "*" in module.scope.vars else MISSING


def _static_member(interp: Interp, module: Value, dotted: str, name: str) -> Value:
    if isinstance(module, ModuleObject):
        if name in module.scope.vars:
            return module.scope.vars[name]
        found = submodule(interp, module, name, None) if module.package else MISSING
        return found if found is not MISSING else late_name(interp, module.scope, name)
    return External(f"{dotted}.{name}")


STAR = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+\*", re.MULTILINE)


def gives(interp: Interp, dotted: str, name: str, seen: set[str]) -> bool:
    """Whether a star import of the module gives the name. Only files that hold the word are parsed: packages have thousands."""
    if dotted in seen:
        return False
    seen.add(dotted)
    found = interp.sources.find(dotted)
    data = found[0].read(found[1]) if found is not None and found[1].endswith(".py") else None
    if found is None or data is None:
        return False
    if name.encode() in data and name in own_exports(interp, dotted):
        return True
    package = (dotted if found[2] else dotted.rpartition(".")[0]).split(".")
    for match in STAR.finditer(data):
        text = match.group(1).decode()
        level = len(text) - len(text.lstrip("."))
        base = package[: len(package) - level + 1] if level else []
        if gives(interp, ".".join([*base, *filter(None, text.lstrip(".").split("."))]), name, seen):
            return True
    return False


def own_exports(interp: Interp, dotted: str) -> frozenset[str]:
    """Names a module binds at its top level by itself, star imports aside."""
    return static_exports(interp, dotted, stars=False)


def static_exports(interp: Interp, dotted: str, stars: bool = True) -> frozenset[str]:
    """Names a module binds at its top level, read off its syntax."""
    found = interp.sources.find(dotted)
    if found is None or not found[1].endswith(".py"):
        return frozenset()
    code = interp.sources.code(found[0], found[1], found[3])
    if code is None:
        return frozenset()
    names: set[str] = set()
    package = dotted if found[2] else dotted.rpartition(".")[0]
    stack: list[ast.stmt] = list(code.tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            target = ".".join([*base, node.module] if node.module else base)
            for alias in node.names:
                if alias.name == "*" and not stars:
                    continue
                if alias.name == "*" and target != dotted:
                    names |= interp.static_exports(target)
                else:
                    names.add(alias.asname or alias.name)
        elif isinstance(node, ast.If | ast.Try):
            stack.extend([*node.body, *node.orelse])
    return frozenset(names)
