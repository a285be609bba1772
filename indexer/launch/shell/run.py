"""Reads a script from top to bottom and notes which programs it starts. Nothing is executed."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable
from typing import Any

from cgx.indexer.launch.shell import arithmetic
from cgx.indexer.launch.shell.builtins import BUILTINS, Leave, set_variable
from cgx.indexer.launch.shell.expand import expand, join
from cgx.indexer.launch.shell.lexer import ShellSyntaxError
from cgx.indexer.launch.shell.outputs import Status, substitute
from cgx.indexer.launch.shell.parser import assign_word, parse_shell
from cgx.indexer.launch.shell.slurm import slurm_variables
from cgx.indexer.launch.shell.state import MAX_STEPS, Started, State, bounded, is_known, unknown
from cgx.indexer.launch.shell.syntax import (
    Arithmetic,
    Assign,
    Case,
    For,
    Function,
    Group,
    If,
    Node,
    Pipeline,
    Sequence,
    Simple,
    While,
    Word,
)

MAX_ROUNDS = 1000  # rounds of one loop
WORDS_OF_A_STEP = 50  # that many words cost as much as a command
MAX_DEPTH = 40  # functions and scripts inside each other
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})


def read_script(state: State, text: str) -> None:
    """Evaluate the text of a script in ``state``. A syntax error is a problem, and what stands before it counts."""
    try:
        _run(state, parse_shell(text))
    except Leave:
        return
    except ShellSyntaxError as error:  # words are read when they are expanded, so running may raise it too
        state.problems.append(f"{state.path or 'the launch line'}: not read as shell: {error}")
    except RecursionError:
        state.problems.append(f"{state.path or 'the launch line'}: nested too deep")


def _run(state: State, node: Node) -> Status:
    state.steps[0] += 1
    if state.steps[0] > MAX_STEPS:
        told = f"{state.path or 'the launch line'}: stopped after {MAX_STEPS} commands"
        if told not in state.problems:
            state.problems.append(told)
        raise Leave("exit")
    return _RUN[type(node)](state, node)


def _sequence(state: State, node: Sequence) -> Status:
    status: Status = True
    for connector, command in node.steps:
        # A program that is not run is presumed to succeed: `build && train` trains, `check || exit` goes on.
        if connector == "&&" and status is False:
            continue
        if connector == "||" and status is not False:
            continue
        status = _run(state, command)
    return status


def _pipeline(state: State, node: Pipeline) -> Status:
    if len(node.commands) == 1:
        status = _run(state, node.commands[0])
    else:
        status = None
        for command in node.commands:
            status = _run(state.fork(), command)
    return (None if status is None else not status) if node.negated else status


def _if(state: State, node: If) -> Status:
    for place, (test, body) in enumerate(node.branches):
        outcome = _run(state, test)
        if outcome is True:
            return _run(state, body)
        if outcome is None:
            rest = If(node.branches[place + 1 :], node.otherwise) if place + 1 < len(node.branches) else node.otherwise
            return _both(state, body, rest)
    return _run(state, node.otherwise) if node.otherwise is not None else True


def _both(state: State, body: Node, rest: Node | None) -> Status:
    """Neither branch is known: read both; a branch that leaves the script is not taken; what differs is unknown."""
    ends: list[State] = []
    for branch in (body, rest):
        fork = state.fork()
        fork.certain = False
        try:
            if branch is not None:
                _run(fork, branch)
            ends.append(fork)
        except Leave:
            continue
    if not ends:
        return None
    first = ends[0]
    for other in ends[1:]:
        for name in sorted(set(first.variables) | set(other.variables)):
            if first.variables.get(name) != other.variables.get(name):
                first.variables[name] = unknown("$" + name)
        first.assigned |= other.assigned
    certain = state.certain
    state.adopt(first)
    state.certain = certain
    return None


def _for(state: State, node: For) -> Status:
    if node.words is None:
        values = list(state.positional)
    else:
        values = [text for word in node.words for text in expand(state, word, substitute)]
    for value in values[:MAX_ROUNDS]:
        state.variables[node.name] = value
        state.assigned.add(node.name)
        if _round(state, node.body):
            break
    return True


def _while(state: State, node: While) -> Status:
    for _ in range(MAX_ROUNDS):
        outcome = _run(state, node.test)
        if outcome is None or outcome is node.until:
            break
        if _round(state, node.body):
            break
    return True


def _round(state: State, body: Node) -> bool:
    """One round of a loop; True where it breaks."""
    try:
        _run(state, body)
    except Leave as leave:
        if leave.kind not in ("break", "continue"):
            raise
        return leave.kind == "break"
    return False


def _case(state: State, node: Case) -> Status:
    value = join(state, node.word, substitute)
    if not is_known(value):
        return None
    for patterns, body in node.arms:
        if any(fnmatch.fnmatchcase(value, join(state, pattern, substitute)) for pattern in patterns):
            return _run(state, body)
    return True


def _function(state: State, node: Function) -> Status:
    state.functions[node.name] = node.body
    return True


def _group(state: State, node: Group) -> Status:
    return _run(state.fork() if node.subshell else state, node.body)


def _arithmetic(state: State, node: Arithmetic) -> Status:
    text = node.text.strip()
    for form in ("++", "--"):
        if text.endswith(form) or text.startswith(form):
            text = f"{text.strip('+-')} {form[0]}= 1"
    target, operator, value = text.partition("=")
    name = target.rstrip("+-*/% ").strip()
    if operator and name.isidentifier() and not value.startswith("=") and target.rstrip()[-1:] not in "!<>":
        sign = target.strip()[len(name) :].strip()
        result = arithmetic.evaluate(f"{name} {sign} ({value})" if sign else value, state.get)
        set_variable(state, name, unknown("$" + name) if result is None else str(result))
        return None if result is None else result != 0
    result = arithmetic.evaluate(text, state.get)
    return None if result is None else result != 0


# -- simple commands -------------------------------------------------------------------------------------------------


def _bind(state: State, assign: Assign) -> None:
    if isinstance(assign.value, tuple):
        items = [text for word in assign.value for text in expand(state, word, substitute)]
        state.steps[0] += len(items) // WORDS_OF_A_STEP
        if assign.append:
            old = state.variables.get(assign.name, [])
            items = (old if isinstance(old, list) else [old]) + items
        set_variable(state, assign.name, items)
        return
    text = join(state, assign.value, substitute)
    if assign.index is not None:
        place = arithmetic.evaluate(assign.index, state.get)
        held = state.variables.get(assign.name)
        values = list(held) if isinstance(held, list) else []
        if place is not None and 0 <= place < 10_000:
            values.extend([""] * (place + 1 - len(values)))
            values[place] = text
        set_variable(state, assign.name, values)
    else:
        set_variable(state, assign.name, (state.get(assign.name) or "") + text if assign.append else text)


def _simple(state: State, node: Simple) -> Status:
    if not node.words:
        for assign in node.assigns:
            _bind(state, assign)
        return True
    head = node.words[0]
    name = head.literal if isinstance(head, Word) else None
    if name in ("export", "declare", "local", "readonly", "typeset"):
        return _declare(state, name, node.words[1:])
    words = [
        text
        for item in node.words
        for text in expand(state, assign_word(item) if isinstance(item, Assign) else item, substitute)
    ]
    if not words:
        return True
    state.steps[0] += len(words) // WORDS_OF_A_STEP
    if not bounded(words):
        words = [words[0], unknown("$@")]
    extra: dict[str, str] = {}
    for assign in node.assigns:
        if isinstance(assign.value, Word):
            extra[assign.name] = join(state, assign.value, substitute)
    return _command(state, words, extra, node)


def _declare(state: State, name: str, items: tuple[Word | Assign, ...]) -> Status:
    for item in items:
        if isinstance(item, Assign):
            _bind(state, item)
            target = item.name
        else:
            target = join(state, item, substitute)
            if target.startswith("-"):
                continue
            if "=" in target:
                target, _, value = target.partition("=")
                set_variable(state, target, value)
            elif name != "export":
                state.assigned.add(target)
        if name == "export":
            state.exported.add(target)
    return True


def _command(state: State, words: list[str], extra: dict[str, str], node: Simple) -> Status:
    name = words[0]
    builtin = _OWN.get(name) or BUILTINS.get(name)
    if builtin is not None:
        return builtin(state, words)
    if name in state.functions:
        return _call(state, words)
    if name in (".", "source") and len(words) > 1:
        return _source(state, words)
    inner = _script_of(state, words)
    if inner is not None:
        return _script(state, inner, extra)
    for redirect in node.redirects:
        if redirect.operator in (">", ">>") and name in ("cat", "echo", "tee"):
            _write(state, join(state, redirect.target, substitute), words, node)
    if name == "tee" and len(words) > 1:
        _write(state, words[-1], words[:1], node)
    environment = {**state.environment(), **extra}
    state.started.append(Started(tuple(words), environment, state.cwd, state.path, node.line, state.certain))
    return None


def _write(state: State, target: str, words: list[str], node: Simple) -> None:
    """A file that a here-document or an ``echo`` writes: the job may read it."""
    bodies = [join(state, item.target, substitute) for item in node.redirects if item.operator in ("<<", "<<-")]
    text = bodies[0] if bodies else " ".join(words[1:]) + "\n" if words[0] == "echo" else None
    if text is not None and is_known(target):
        state.files[posixpath.normpath(posixpath.join(state.cwd, target))] = text


def _script_of(state: State, words: list[str]) -> list[str] | None:
    """[script, args...] where the words run a shell script of the tree; ``["-c", text, ...]`` for ``bash -c``."""
    name = words[0]
    rest = words
    if posixpath.basename(name) in SHELLS:
        rest = words[1:]
        while rest and rest[0].startswith("-") and rest[0] != "-c":
            if "c" in rest[0][1:] and not rest[0].startswith("--"):
                rest = ["-c", *rest[1:]]
                break
            rest = rest[1:]
        if rest and rest[0] == "-c":
            return rest if len(rest) > 1 else None
        if not rest:
            return None
    elif not ("/" in name and name.endswith((".sh", ".bash", ".slurm", ".sbatch"))) and name != "sbatch":
        path = posixpath.normpath(posixpath.join(state.cwd, name))
        data = state.tree.read(path) if "/" in name and is_known(name) else None
        if data is None or not (data.startswith(b"#!") and b"sh" in data.split(b"\n", 1)[0]):
            return None
    if name == "sbatch":
        scripts = [
            place for place, word in enumerate(words) if place and state.tree.exists(posixpath.join(state.cwd, word))
        ]
        rest = words[scripts[0] :] if scripts else words[-1:]
    return list(rest) if rest else None


def _script(state: State, words: list[str], extra: dict[str, str]) -> Status:
    if state.depth > MAX_DEPTH:
        return None
    child = state.fork()
    child.depth += 1
    child.variables = {**state.environment(), **extra}
    child.exported = set(child.variables)
    child.functions, child.assigned = {}, set()
    if words[0] == "-c":
        child.positional = words[3:]
        read_script(child, words[1])
    else:
        path = posixpath.normpath(posixpath.join(state.cwd, words[0]))
        data = state.tree.read(path) if is_known(path) else None
        if data is None:
            state.problems.append(f"script not found: {words[0]}")
            return None
        child.path, child.positional = path, words[1:]
        text = data.decode("utf-8", "replace")
        for name, value in slurm_variables(text).items():
            child.variables.setdefault(name, value)
            child.exported.add(name)
        read_script(child, text)
    return None


def _source(state: State, words: list[str]) -> Status:
    path = posixpath.normpath(posixpath.join(state.cwd, words[1]))
    data = state.tree.read(path) if is_known(path) and state.depth < MAX_DEPTH else None
    if data is None:
        return None
    outer, state.path, state.depth = state.path, path, state.depth + 1
    read_script(state, data.decode("utf-8", "replace"))
    state.path, state.depth = outer, state.depth - 1
    return True


def _call(state: State, words: list[str]) -> Status:
    if state.depth > MAX_DEPTH:
        return None
    outer, state.positional = state.positional, words[1:]
    state.depth += 1
    try:
        return _run(state, state.functions[words[0]])
    except Leave as leave:
        if leave.kind != "return":
            raise
        return None
    finally:
        state.positional, state.depth = outer, state.depth - 1


def _eval(state: State, words: list[str]) -> Status:
    read_script(state, " ".join(words[1:]))
    return None


def _exec(state: State, words: list[str]) -> Status:
    if len(words) > 1:
        _command(state, words[1:], {}, Simple((), (), ()))
        raise Leave("exit")
    return True


def _let(state: State, words: list[str]) -> Status:
    return _arithmetic(state, Arithmetic(" ".join(words[1:])))


_OWN: dict[str, Callable[[State, list[str]], Status]] = {"eval": _eval, "exec": _exec, "let": _let}

_RUN: dict[type, Callable[[State, Any], Status]] = {
    Sequence: _sequence,
    Pipeline: _pipeline,
    If: _if,
    For: _for,
    While: _while,
    Case: _case,
    Function: _function,
    Group: _group,
    Arithmetic: _arithmetic,
    Simple: _simple,
}
