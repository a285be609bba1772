"""Reads a script from top to bottom and notes which programs it starts. Nothing is executed."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable
from typing import Any

from cgx.indexer.launch.shell import arithmetic, conditions
from cgx.indexer.launch.shell.expand import expand, join
from cgx.indexer.launch.shell.lexer import ShellSyntaxError
from cgx.indexer.launch.shell.parser import assign_word, parse_shell
from cgx.indexer.launch.shell.slurm import slurm_variables
from cgx.indexer.launch.shell.state import MAX_STEPS, Started, State, is_known, unknown
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
MAX_DEPTH = 40  # functions and scripts inside each other
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
Status = bool | None


class _Leave(Exception):
    """``exit``, ``return``, ``break`` and ``continue``."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


def read_script(state: State, text: str) -> None:
    """Evaluate the text of a script in ``state``. A syntax error is a problem, and what stands before it counts."""
    try:
        node = parse_shell(text)
    except ShellSyntaxError as error:
        state.problems.append(f"{state.path or 'the launch line'}: not read as shell: {error}")
        return
    try:
        _run(state, node)
    except _Leave:
        return
    except RecursionError:
        state.problems.append(f"{state.path or 'the launch line'}: nested too deep")


def _run(state: State, node: Node) -> Status:
    state.steps += 1
    if state.steps > MAX_STEPS:
        if state.steps == MAX_STEPS + 1:
            state.problems.append(f"{state.path or 'the launch line'}: stopped after {MAX_STEPS} commands")
        raise _Leave("exit")
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
        except _Leave:
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
        values = [text for word in node.words for text in expand(state, word, _substitute)]
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
    except _Leave as leave:
        if leave.kind not in ("break", "continue"):
            raise
        return leave.kind == "break"
    return False


def _case(state: State, node: Case) -> Status:
    value = join(state, node.word, _substitute)
    if not is_known(value):
        return None
    for patterns, body in node.arms:
        if any(fnmatch.fnmatchcase(value, join(state, pattern, _substitute)) for pattern in patterns):
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
        _assign(state, name, unknown("$" + name) if result is None else str(result))
        return None if result is None else result != 0
    result = arithmetic.evaluate(text, state.get)
    return None if result is None else result != 0


# -- simple commands -------------------------------------------------------------------------------------------------


def _assign(state: State, name: str, value: str | list[str]) -> None:
    state.variables[name] = value
    state.assigned.add(name)


def _bind(state: State, assign: Assign) -> None:
    if isinstance(assign.value, tuple):
        items = [text for word in assign.value for text in expand(state, word, _substitute)]
        if assign.append:
            old = state.variables.get(assign.name, [])
            items = (old if isinstance(old, list) else [old]) + items
        _assign(state, assign.name, items)
        return
    text = join(state, assign.value, _substitute)
    if assign.index is not None:
        place = arithmetic.evaluate(assign.index, state.get)
        held = state.variables.get(assign.name)
        values = list(held) if isinstance(held, list) else []
        if place is not None and 0 <= place < 10_000:
            values.extend([""] * (place + 1 - len(values)))
            values[place] = text
        _assign(state, assign.name, values)
    else:
        _assign(state, assign.name, (state.get(assign.name) or "") + text if assign.append else text)


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
        for text in expand(state, assign_word(item) if isinstance(item, Assign) else item, _substitute)
    ]
    if not words:
        return True
    extra: dict[str, str] = {}
    for assign in node.assigns:
        if isinstance(assign.value, Word):
            extra[assign.name] = join(state, assign.value, _substitute)
    return _command(state, words, extra, node)


def _declare(state: State, name: str, items: tuple[Word | Assign, ...]) -> Status:
    for item in items:
        if isinstance(item, Assign):
            _bind(state, item)
            target = item.name
        else:
            target = join(state, item, _substitute)
            if target.startswith("-"):
                continue
            if "=" in target:
                target, _, value = target.partition("=")
                _assign(state, target, value)
            elif name != "export":
                state.assigned.add(target)
        if name == "export":
            state.exported.add(target)
    return True


def _command(state: State, words: list[str], extra: dict[str, str], node: Simple) -> Status:
    name = words[0]
    if name in _BUILTINS:
        return _BUILTINS[name](state, words)
    if name in state.functions:
        return _call(state, words)
    if name in (".", "source") and len(words) > 1:
        return _source(state, words)
    inner = _script_of(state, words)
    if inner is not None:
        return _script(state, inner, extra)
    for redirect in node.redirects:
        if redirect.operator in (">", ">>") and name in ("cat", "echo", "tee"):
            _write(state, join(state, redirect.target, _substitute), words, node)
    if name == "tee" and len(words) > 1:
        _write(state, words[-1], words[:1], node)
    environment = {**state.environment(), **extra}
    state.started.append(Started(tuple(words), environment, state.cwd, state.path, node.line, state.certain))
    return None


def _write(state: State, target: str, words: list[str], node: Simple) -> None:
    """A file that a here-document or an ``echo`` writes: the job may read it."""
    bodies = [join(state, item.target, _substitute) for item in node.redirects if item.operator in ("<<", "<<-")]
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
    state.steps = child.steps
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
    except _Leave as leave:
        if leave.kind != "return":
            raise
        return None
    finally:
        state.positional, state.depth = outer, state.depth - 1


def _substitute(state: State, text: str) -> str:
    """``$(...)`` of what changes nothing: echo, pwd, dirname, basename, seq, printf; everything else is not known."""
    try:
        node = parse_shell(text)
    except ShellSyntaxError:
        return unknown(f"$({text})")
    outputs: list[str] = []
    fork = state.fork()
    for _connector, step in node.steps if isinstance(node, Sequence) else ():
        if not isinstance(step, Simple) or not step.words or not isinstance(step.words[0], Word):
            return unknown(f"$({text})")
        words = [
            piece
            for item in step.words
            for piece in expand(fork, assign_word(item) if isinstance(item, Assign) else item, _substitute)
        ]
        if words and words[0] == "cd":
            _cd(fork, words)
            continue
        reader = _OUTPUTS.get(words[0]) if words else None
        output = reader(fork, words) if reader is not None else None
        if output is None:
            return unknown(f"$({text})")
        outputs.append(output)
    return "\n".join(outputs)


def _seq(state: State, words: list[str]) -> str | None:
    numbers = [int(word) for word in words[1:] if word.lstrip("-").isdigit()]
    if not 1 <= len(numbers) <= 3 or len(numbers) != len(words) - 1:
        return None
    first, step, last = [
        (1, 1, numbers[0]),
        (numbers[0], 1, numbers[-1]),
        (numbers[0], numbers[1 % len(numbers)], numbers[-1]),
    ][len(numbers) - 1]
    return "\n".join(str(number) for number in range(first, last + (1 if step > 0 else -1), step or 1)[:MAX_ROUNDS])


_OUTPUTS: dict[str, Callable[[State, list[str]], str | None]] = {
    "echo": lambda state, words: " ".join(word for word in words[1:] if word not in ("-n", "-e")),
    "pwd": lambda state, words: state.cwd or ".",
    "dirname": lambda state, words: posixpath.dirname(words[-1]) or ".",
    "basename": lambda state, words: posixpath.basename(words[1]).removesuffix(words[2] if len(words) > 2 else ""),
    "realpath": lambda state, words: words[-1],
    "readlink": lambda state, words: words[-1],
    "seq": _seq,
}


# -- builtins --------------------------------------------------------------------------------------------------------


def _cd(state: State, words: list[str]) -> Status:
    target = words[1] if len(words) > 1 else unknown("~")
    if not is_known(target) or target.startswith("/"):
        state.problems.append(f"cd {target.strip(chr(0xE000) + chr(0xE001))}: outside the source, taken as its root")
        return None
    path = posixpath.normpath(posixpath.join(state.cwd, target))
    if path.startswith(".."):
        path = ""
    state.cwd = "" if path == "." else path
    return True


def _set(state: State, words: list[str]) -> Status:
    if "--" in words:
        state.positional = words[words.index("--") + 1 :]
    return True


def _shift(state: State, words: list[str]) -> Status:
    count = int(words[1]) if len(words) > 1 and words[1].isdigit() else 1
    if count > len(state.positional):
        return False
    del state.positional[:count]
    return True


def _unset(state: State, words: list[str]) -> Status:
    for name in words[1:]:
        state.variables.pop(name, None)
        state.exported.discard(name)
        state.assigned.add(name)
    return True


def _eval(state: State, words: list[str]) -> Status:
    read_script(state, " ".join(words[1:]))
    return None


def _exec(state: State, words: list[str]) -> Status:
    if len(words) > 1:
        _command(state, words[1:], {}, Simple((), (), ()))
        raise _Leave("exit")
    return True


def _test(state: State, words: list[str]) -> Status:
    bracket = words[0] in ("[", "[[")
    return conditions.test(state, words[1:-1] if bracket else words[1:], words[0] == "[[")


def _command_builtin(state: State, words: list[str]) -> Status:
    return None


def _read(state: State, words: list[str]) -> Status:
    for name in words[1:]:
        if not name.startswith("-"):
            _assign(state, name, unknown("$" + name))
    return None


def _leave(kind: str) -> Callable[[State, list[str]], Status]:
    def leave(state: State, words: list[str]) -> Status:
        raise _Leave(kind)

    return leave


def _let(state: State, words: list[str]) -> Status:
    return _arithmetic(state, Arithmetic(" ".join(words[1:])))


_BUILTINS: dict[str, Callable[[State, list[str]], Status]] = {
    "cd": _cd,
    "pushd": _cd,
    "popd": lambda state, words: None,
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "eval": _eval,
    "exec": _exec,
    "test": _test,
    "[": _test,
    "[[": _test,
    "exit": _leave("exit"),
    "return": _leave("return"),
    "break": _leave("break"),
    "continue": _leave("continue"),
    "true": lambda state, words: True,
    ":": lambda state, words: True,
    "false": lambda state, words: False,
    "command": _command_builtin,
    "read": _read,
    "let": _let,
    "trap": lambda state, words: True,
    "ulimit": lambda state, words: True,
    "shopt": lambda state, words: True,
    "alias": lambda state, words: True,
    "wait": lambda state, words: True,
    "printf": lambda state, words: True,
    "module": lambda state, words: None,
    "type": lambda state, words: None,
    "which": lambda state, words: None,
    "mkdir": lambda state, words: None,
    "sleep": lambda state, words: True,
}

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
