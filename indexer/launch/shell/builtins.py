"""The shell's own commands, as far as they change what a script starts."""

from __future__ import annotations

from collections.abc import Callable

from cgx.indexer.launch.shell import conditions
from cgx.indexer.launch.shell.outputs import Status, change_folder
from cgx.indexer.launch.shell.state import State, bounded, unknown


class Leave(Exception):
    """``exit``, ``return``, ``break`` and ``continue``."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


def set_variable(state: State, name: str, value: str | list[str]) -> None:
    """Set a variable. One that grows without end is not known."""
    state.variables[name] = value if bounded(value) else unknown("$" + name)
    state.assigned.add(name)


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


def _test(state: State, words: list[str]) -> Status:
    bracket = words[0] in ("[", "[[")
    return conditions.test(state, words[1:-1] if bracket else words[1:], words[0] == "[[")


def _command_builtin(state: State, words: list[str]) -> Status:
    return None


def _read(state: State, words: list[str]) -> Status:
    for name in words[1:]:
        if not name.startswith("-"):
            set_variable(state, name, unknown("$" + name))
    return None


def _leave(kind: str) -> Callable[[State, list[str]], Status]:
    def leave(state: State, words: list[str]) -> Status:
        raise Leave(kind)

    return leave


BUILTINS: dict[str, Callable[[State, list[str]], Status]] = {
    "cd": change_folder,
    "pushd": change_folder,
    "popd": lambda state, words: None,
    "set": _set,
    "shift": _shift,
    "unset": _unset,
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
