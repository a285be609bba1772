"""A launch line, as a person types it, to a :class:`LaunchPlan`. The line is read as shell; nothing is run."""

from __future__ import annotations

import difflib
import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.values import Unknown, Value
from cgx.indexer.launch.accelerate import accelerate
from cgx.indexer.launch.console import console_scripts
from cgx.indexer.launch.dora import dora
from cgx.indexer.launch.draft import Draft
from cgx.indexer.launch.launchers import LAUNCHERS, MODULE_LAUNCHERS, set_ranks
from cgx.indexer.launch.plan import LaunchPlan
from cgx.indexer.launch.shell.run import read_script
from cgx.indexer.launch.shell.state import CLOSE, OPEN, Started, State, is_known
from cgx.indexer.launch.torchtune import tune
from cgx.indexer.launch.wrappers import unwrap
from cgx.indexer.source import find_module, source_roots
from cgx.indexer.source.watched import Watched
from cgx.model.anchors import MODULE, Anchor

PYTHON = re.compile(r"python(w|\d(\.\d+)?t?)?(\.exe)?$")
PYTHON_VALUES = frozenset({"X", "W"})  # options of python that take a value
RUNNERS = frozenset(
    {"cProfile", "profile", "pdb", "trace", "debugpy", "runpy", "torch.utils.bottleneck", "viztracer", "kernprof"}
)
ENTRY_WORDS = re.compile(r"train|finetune|fine_tune|pretrain|main|run|serve|generate|sample|infer|launch", re.I)
RANK_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
MAX_LAYERS = 12  # wrappers and launchers round each other


def parse_launch(line: str, tree: Any, envs: Iterable[Any] = (), assume: Mapping[str, Any] | None = None) -> LaunchPlan:
    """Read a launch line against the source ``tree`` (and third-party trees ``envs``).

    ``assume`` holds values the user set by hand: ``nproc_per_node``, ``num_processes`` and their kind. Raises UserError
    where the line starts no Python program, or one that is not in the source, with the nearest candidates.
    """
    if not line.strip():
        raise UserError(
            "the launch line is empty; give the line that starts the job, for example --launch 'python train.py'"
        )
    state = State(tree)
    read_script(state, line)
    trees = [tree, *envs]
    plans: list[tuple[tuple[int, ...], LaunchPlan]] = []
    failures: list[UserError] = []
    for started in state.started:
        try:
            plan = _plan(started, trees, dict(assume or {}))
        except UserError as error:
            failures.append(error)
            continue
        if plan is not None:
            plans.append((_rank(plan, started), plan))
    if not plans:
        raise _nothing(line, state, failures)
    best = max(plans, key=lambda item: item[0])[1]
    chosen = next(plan for rank, plan in plans if plan is best)
    chosen.words = _words(line)
    chosen.files.update(state.files)
    chosen.problems = list(dict.fromkeys([*state.problems, *chosen.problems]))
    others = {" ".join(_shown(word) for word in plan.argv[:1]) for _rank_, plan in plans if plan is not chosen}
    if others - {_shown(chosen.argv[0])}:
        chosen.problems.append(
            f"the line starts {len(plans)} programs; read is {_shown(chosen.argv[0])}, not {', '.join(sorted(others))}"
        )
    return chosen


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else getattr(value, "name", "?")


def _words(line: str) -> list[str]:
    """The line's words, for the record."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _rank(plan: LaunchPlan, started: Started) -> tuple[int, ...]:
    """Which of several started programs is the job: a launcher's, one named like a job, a certain one, the last."""
    program = _shown(plan.argv[0]) if plan.argv else ""
    return (
        plan.launcher not in ("python", "console script"),
        ENTRY_WORDS.search(posixpath.basename(program) or program) is not None,
        started.certain,
    )


def _nothing(line: str, state: State, failures: list[UserError]) -> UserError:
    if failures:
        return failures[-1]
    missing = [problem for problem in state.problems if problem.startswith("script not found")]
    if missing:
        name = missing[0].partition(": ")[2]
        return UserError(f"{missing[0]}{_nearest(state.tree, name, ('.sh', '.slurm', '.sbatch', ''))}")
    if state.problems:
        return UserError(state.problems[0])
    return UserError(
        f"the launch line starts no Python program: {line.strip()[:200]}; `cgx entrypoints` lists what there is"
    )


# -- one started program -------------------------------------------------------------------------------------------


def _plan(started: Started, trees: list[Any], assume: dict[str, Any]) -> LaunchPlan | None:
    """The plan of one started program, None where it is not Python."""
    plan = LaunchPlan([], cwd=started.cwd)
    if started.path:
        plan.anchor = Anchor(started.path, MODULE, started.line)
    draft = Draft(plan, list(started.words), trees[0], dict(started.env), assume=assume)
    found = None
    for _ in range(MAX_LAYERS):
        if not draft.words:
            return None
        found = _step(draft, trees)
        if found is not None:
            break
    if not found:
        return None
    _finish(plan, draft, started.env)
    return plan


def _step(draft: Draft, trees: list[Any]) -> bool | None:
    """Take one layer off. True: the program is found; False: it is not Python; None: go on."""
    word = draft.words[0]
    name = word.rpartition("/")[2]
    if draft.module or (not is_known(word) and len(draft.words) > 1 and draft.words[1].endswith(".py")):
        if not draft.module:
            draft.words.pop(0)
            return _script(draft, trees)
        return _module(draft, trees)
    if name == "accelerate" and draft.words[1:2] == ["launch"]:
        draft.words.pop(0)
        draft.plan.launcher = "accelerate"
        accelerate(draft)
        return None
    if name == "tune" and draft.words[1:2] == ["run"]:
        draft.words.pop(0)
        draft.plan.launcher = "tune"
        tune(draft)
        return None
    if name == "dora":
        draft.words.pop(0)
        dora(draft)
        return _module(draft, trees)
    if name in LAUNCHERS:
        draft.words.pop(0)
        draft.plan.launcher = name
        LAUNCHERS[name](draft)
        return None
    if PYTHON.match(name):
        draft.words.pop(0)
        return _python(draft, trees)
    if unwrap(draft):
        return None
    if word.endswith(".py"):
        return _script(draft, trees)
    inner = _inner_shell(draft)
    if inner is not None:
        return inner
    return _console(draft, trees)


def _inner_shell(draft: Draft) -> bool | None:
    """A launcher or wrapper that runs a shell script: read it with what is set so far."""
    name = draft.words[0].rpartition("/")[2]
    if not (draft.words[0].endswith(".sh") or name in ("bash", "sh")) or draft.plan.launcher == "script":
        return None
    state = State(draft.tree, cwd=draft.plan.cwd)
    state.variables = {**draft.env, **{k: v for k, v in draft.plan.env.items() if isinstance(v, str)}}
    state.exported = set(state.variables)
    read_script(state, shlex.join(draft.words))
    draft.plan.problems.extend(state.problems)
    programs = [
        item for item in state.started if PYTHON.match(item.words[0].rpartition("/")[2]) or _launches(item.words[0])
    ]
    if not programs:
        return False
    draft.words = list(programs[-1].words)
    draft.env.update(programs[-1].env)
    draft.plan.cwd = programs[-1].cwd
    return _step(draft, [draft.tree])


def _launches(word: str) -> bool:
    return word.rpartition("/")[2] in LAUNCHERS or word.rpartition("/")[2] == "accelerate"


def _python(draft: Draft, trees: list[Any]) -> bool | None:
    words = draft.words
    while words and words[0].startswith("-") and words[0] != "-":
        option = words.pop(0)
        if option.startswith("-m"):
            if option != "-m":
                words.insert(0, option[2:])
            return _python_module(draft, trees)
        if option.startswith("-c"):
            return False
        if option[1:2] in PYTHON_VALUES and len(option) == 2 and words:
            words.pop(0)
    if not words or words[0] == "-":
        return False
    return _script(draft, trees)


def _python_module(draft: Draft, trees: list[Any]) -> bool | None:
    if not draft.words:
        return False
    name = draft.words[0]
    if name in MODULE_LAUNCHERS:
        draft.words.pop(0)
        draft.plan.launcher = {"torch.distributed.run": "torchrun"}.get(name, name)
        MODULE_LAUNCHERS[name](draft)
        return None
    if name in ("accelerate.commands.launch", "accelerate.commands.accelerate_cli"):
        draft.words.pop(0)
        draft.plan.launcher = "accelerate"
        accelerate(draft)
        return None
    if name in RUNNERS:
        draft.words.pop(0)
        while draft.words and not draft.words[0].endswith(".py") and draft.words[0] != "-m":
            draft.words.pop(0)
        return _python(draft, trees)
    return _module(draft, trees)


def _script(draft: Draft, trees: list[Any]) -> bool:
    word = draft.words[0]
    path = posixpath.normpath(posixpath.join(draft.plan.cwd, word)) if is_known(word) else ""
    tree = trees[0]
    if tree.isdir(path) and tree.exists(f"{path}/__main__.py"):
        path = f"{path}/__main__.py"
    if not path or not tree.exists(path):
        raise UserError(
            f"the launch line's script is not in the source: {_plain(word)}{_nearest(tree, word, ('.py',))}"
        )
    draft.plan.script = path
    return True


def _module(draft: Draft, trees: list[Any]) -> bool:
    name = draft.words[0]
    if name.endswith(".py") or "/" in name:
        draft.module = False
        return _script(draft, trees)
    for number, tree in enumerate(trees):
        roots = source_roots(tree) if number else list(dict.fromkeys([draft.plan.cwd, *source_roots(tree)]))
        path = find_module(tree, name + ".__main__", roots) or find_module(tree, name, roots)
        if path is not None:
            draft.plan.module = name
            draft.plan.script = path if number == 0 else None
            return True
    near = difflib.get_close_matches(name, _modules(trees[0]), 3, 0.5)
    hint = f"; nearest: {', '.join(near)}" if near else "; third-party modules are read from --env folders"
    raise UserError(f"the launch line's module is not in the source: {_plain(name)}{hint}")


def _console(draft: Draft, trees: list[Any]) -> bool:
    word = draft.words[0]
    if "/" in word and is_known(word):
        path = posixpath.normpath(posixpath.join(draft.plan.cwd, word))
        data = trees[0].read(path)
        if data is not None and data.startswith(b"#!") and b"python" in data.split(b"\n", 1)[0]:
            draft.plan.script = path
            return True
    for tree in trees:
        for script in console_scripts(tree):
            if script.name == word.rpartition("/")[2]:
                draft.plan.function = script.target
                if draft.plan.launcher == "python":
                    draft.plan.launcher = "console script"
                return True
    return False


def _modules(tree: Any) -> list[str]:
    """Dotted names to suggest."""
    if isinstance(tree, Watched):
        return []
    return [path.removesuffix(".py").replace("/", ".") for path in tree.paths() if path.endswith(".py")]


def _plain(word: str) -> str:
    return word.replace(OPEN, "").replace(CLOSE, "")


def _nearest(tree: Any, word: str, endings: tuple[str, ...]) -> str:
    """`; nearest: a, b` for a name that is not there."""
    if isinstance(tree, Watched):  # nobody reads the suggestions for a line that is only tried
        return ""
    base = posixpath.basename(_plain(word))
    paths = [path for path in tree.paths() if path.endswith(endings)]
    same = [path for path in paths if posixpath.basename(path) == base]
    if not same:
        names = {posixpath.basename(path) for path in paths}
        close = set(difflib.get_close_matches(base, sorted(names), 3, 0.5))
        same = [path for path in paths if posixpath.basename(path) in close]
    if not same:
        return "; `cgx entrypoints` lists what there is"
    return f"; nearest: {', '.join(sorted(same, key=lambda path: (path.count('/'), path))[:3])}"


def _finish(plan: LaunchPlan, draft: Draft, env: dict[str, str]) -> None:
    given = {name: _value(text) for name, text in env.items()}
    own = {name: _value(text) if isinstance(text, str) else text for name, text in plan.env.items()}
    plan.env = {**given, **own}
    program = draft.words[0]
    if plan.launcher not in ("python", "console script") and draft.words[1:2] == ["--"]:
        del draft.words[1]  # their parsers take a `--` behind the program for their own
    if plan.module is not None and plan.script is not None:
        program = plan.script
    plan.argv = [program, *draft.extra, *(_value(word) for word in draft.words[1:])]
    if plan.launcher in ("python", "console script") and "WORLD_SIZE" in plan.env:
        _hand_set(plan, draft)


def _hand_set(plan: LaunchPlan, draft: Draft) -> None:
    """``WORLD_SIZE=8 RANK=0 python ...``: the line is one process of a job of that size."""
    world = plan.env["WORLD_SIZE"]
    if not (isinstance(world, str) and world.isdigit() and int(world) > 0):
        return
    plan.nproc_per_node = int(world)
    given: dict[str, Value] = {
        name: plan.env[name] for name in ("MASTER_ADDR", "MASTER_PORT", "LOCAL_WORLD_SIZE") if name in plan.env
    }
    ranks = {name for name in RANK_NAMES if name in plan.env}
    before = dict(plan.env)
    set_ranks(draft, None, None)
    if "RANK" not in ranks:  # the program numbers its processes by other means
        plan.env = before
        return
    plan.env = {**before, **{name: plan.env[name] for name in sorted(ranks)}, **given}


def _value(text: str) -> Value:
    """A word of the line; Unknown where a part of it is not known. Its name keeps the part before, such as ``--data=``."""
    return text if is_known(text) else Unknown(_plain(text), "environment", hint="str")
