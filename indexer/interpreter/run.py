"""Entry points: a job from its launch plan, or a model from a build expression."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.imports import KERNELS, import_module, run_module
from cgx.indexer.interpreter.inputs import make_inputs
from cgx.indexer.interpreter.interp import Interp, Options, World
from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.sources import Code, Sources
from cgx.indexer.interpreter.started import run_started, to_the_end
from cgx.indexer.interpreter.trace import Trace
from cgx.indexer.interpreter.values import External, ModuleInstance, ModuleObject, Opaque, Unknown, Value
from cgx.indexer.source import installed_roots
from cgx.model.anchors import Anchor

STACK_BYTES = 1 << 29
RECURSION = 200_000


def deep(run: Callable[[], Any]) -> Any:
    """Run with a large stack: nested calls of the analysed code nest here too."""
    outcome: list[Any] = [None, None]

    def target() -> None:
        try:
            outcome[0] = run()
        except BaseException as error:
            outcome[1] = error

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(RECURSION)
    try:
        thread = threading.Thread(target=target, name="cgx-interpreter")
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


def run_job(tree: Any, env: Sequence[Any], plan: Any, options: Options | None = None) -> Trace:
    """Evaluate the script (module, console script) of a launch plan. Raises UserError where it cannot be found."""
    result: Trace = deep(lambda: _run_job(tree, env, plan, options or Options()))
    return result


def _run_job(tree: Any, env: Sequence[Any], plan: Any, options: Options, needed: frozenset[str] = frozenset()) -> Trace:
    world = World(plan.world_size, tuple(range(plan.ranks)), plan.nproc_per_node, plan.nnodes)
    sources = Sources(tree, env, import_roots(tree, plan))
    interp = Interp(sources, options, world)
    if options.device == "cpu":
        interp.flags["accelerator"] = "cpu"
    interp.needed = needed
    interp.env, interp.argv = dict(plan.env), list(plan.argv)
    interp.trace.plan = plan
    for size in (plan.nproc_per_node, plan.nnodes):
        if isinstance(size, Unknown):
            interp.note_unknown(size)
    if plan.function:
        _run_function(interp, plan.function)
    else:
        _run_script(interp, plan)
    run_started(interp)
    trace = finish(interp)
    missed = (fails_without(interp) | interp.lacking) - needed
    return _run_job(tree, env, plan, options, needed | missed) if missed else trace


def fails_without(interp: Interp) -> frozenset[str]:
    """Packages that were taken as not installed, but without which the job fails: it says so itself, or calls their kernels."""
    failed = [one.name.lower() for one in interp.trace.unknowns if one.reason == "error"]
    said = " ".join([*(text for text in failed if "importerror" in text or "install" in text), *(text.lower() for text in interp.asked)])
    asserted = frozenset(word for text in failed if text.startswith("assert: ") for word in re.findall(r"\w+", text))
    return frozenset(top for top in interp.absent if top.lower() in (" ".join(failed) if top in KERNELS else said) or top.lower() in asserted)


def import_roots(tree: Any, plan: Any) -> list[str]:
    """Folders of the source that imports start from, as Python would have them on ``sys.path``."""
    roots: list[str] = []
    if plan is not None and plan.script and not plan.module:
        roots.append(plan.script.rpartition("/")[0])
    if plan is not None:
        roots.append(plan.cwd or "")
    roots.append("")
    if tree.isdir("src"):
        roots.append("src")
    return list(dict.fromkeys([*roots, *installed_roots(tree)]))


def _run_script(interp: Interp, plan: Any) -> None:
    if plan.module:
        name = f"{plan.module}.__main__"
        found = interp.sources.find(name)
        if found is None:
            name, found = plan.module, interp.sources.find(plan.module)
        if found is None:
            raise UserError(f"no module {plan.module!r} in the source")
        tree, path, _, external = found
        parent = name.rpartition(".")[0]
        if parent:
            to_the_end(interp, lambda: import_module(interp, parent, None))
    else:
        tree, path, external = interp.tree, plan.script, False
        name = path.rpartition("/")[2].removesuffix(".py")
    code = interp.sources.code(tree, path, external)
    if code is None:
        raise UserError(f"{path}: cannot be read as Python")
    run_main(interp, code, name)


def run_main(interp: Interp, code: Code, name: str) -> None:
    """A script's top level, with ``__name__`` as Python sets it."""
    scope = Scope("module")
    module = ModuleObject(name, code.path, scope)
    scope.module, scope.globals = module, scope
    interp.main_name = name
    interp.modules["__main__"] = module
    interp.trace.root.anchor = Anchor(code.path, "<module>", 1)

    def run() -> None:
        package = name.rpartition(".")[0]
        scope.vars.update(__name__="__main__", __file__=code.path, __package__=package, __doc__=ast.get_docstring(code.tree), __spec__=None)
        frame = Frame(scope, code)
        for statement in code.tree.body:
            if interp.exec(statement, frame) is not None:
                break

    to_the_end(interp, run)


def _run_function(interp: Interp, target: str) -> None:
    module_name, _, name = target.partition(":")
    def run() -> None:
        module = import_module(interp, module_name, None)
        if not isinstance(module, ModuleObject):
            raise UserError(f"{target}: no module {module_name!r} in the source")
        interp.trace.root.anchor = Anchor(module.path, "<module>", 1)
        value: Value = module
        for part in name.split("."):
            value = interp.getattr(value, part, interp.no_site)
        interp.call(value, [], {}, interp.no_site)

    to_the_end(interp, run)


def run_build(tree: Any, env: Sequence[Any], build: str, inputs: Sequence[str] = (), options: Options | None = None) -> Trace:
    """Evaluate ``module:EXPR`` (or ``path/file.py:EXPR``), then the model's forward under the given inputs."""
    result: Trace = deep(lambda: _run_build(tree, env, build, inputs, options or Options()))
    return result


def _run_build(tree: Any, env: Sequence[Any], build: str, inputs: Sequence[str], options: Options) -> Trace:
    where, _, text = build.partition(":")
    if not text:
        raise UserError(f"--build {build!r}: write package.module:EXPR or path/file.py:EXPR")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise UserError(f"--build: {text!r} is no expression: {error.msg}") from None
    roots = list(dict.fromkeys(["", *(["src"] if tree.isdir("src") else []), *installed_roots(tree)]))
    if where.endswith(".py") and "/" in where:
        roots.insert(0, where.rpartition("/")[0])
    interp = Interp(Sources(tree, env, roots), options)
    module = _build_module(interp, where)
    code = Code(module.path, ast.Module([], []), text.strip())
    code_of_module = Frame(module.scope, code)
    interp.trace.root.anchor = Anchor(module.path, "<module>", 1)
    model: Value = None
    try:
        model = interp.eval(node, code_of_module)
    except Raised as error:
        raise UserError(f"--build: evaluating {text!r} raises {error.kind}: {error.message} ({error.anchor})") from None
    while isinstance(model, Opaque) and isinstance(model.attrs.get("module"), ModuleInstance | Opaque):
        model = model.attrs["module"]
    if not isinstance(model, ModuleInstance):
        reason = f" ({model.name}: {model.reason})" if isinstance(model, Unknown) else ""
        raise UserError(f"--build: {text!r} gives no nn.Module{reason}")
    interp.trace.model_roots.append(model)
    if options.mode == "eval":
        interp.call(interp.getattr(model, "eval", interp.no_site), [], {}, interp.no_site)
    forward(interp, model, inputs, code_of_module, node)
    return finish(interp)


def forward(interp: Interp, model: ModuleInstance, inputs: Sequence[str], frame: Frame, node: ast.expr) -> None:
    """Walk the model's forward under the given inputs; parameters that no input names are what the code's defaults say."""
    args, kwargs = make_inputs(interp, model, inputs)
    site = Site(node, frame)
    if options_mode(interp) == "eval":
        interp.flags["grad"] = True
    try:
        interp.call_module(model, args, kwargs, site)
    except Raised as error:
        interp.note_raise(error, "forward")


def options_mode(interp: Interp) -> str:
    return interp.options.mode or "train"


def _build_module(interp: Interp, where: str) -> ModuleObject:
    if where.endswith(".py"):
        code = interp.sources.code(interp.tree, where)
        if code is None:
            raise UserError(f"--build: no file {where!r} in the source")
        scope = Scope("module")
        module = ModuleObject(where.removesuffix(".py").replace("/", "."), where, scope)
        scope.module, scope.globals = module, scope
        interp.modules[module.name] = module
        to_the_end(interp, lambda: run_module(interp, module, code))
        return module
    found: list[Value] = [None]

    def run() -> None:
        found[0] = import_module(interp, where, None)

    to_the_end(interp, run)
    if not isinstance(found[0], ModuleObject) or isinstance(found[0], External):
        raise UserError(f"--build: no module {where!r} in the source")
    return found[0]


def finish(interp: Interp) -> Trace:
    trace = interp.trace
    trace.assumed = dict(interp.settings.used)
    told = trace.plan.assumed if trace.plan is not None else {}  # what the launch line took
    trace.unused = [name for name in interp.settings.unused if name not in told]
    return trace
