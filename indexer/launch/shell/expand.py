"""Words to texts: parameter expansion, command substitution of a few harmless commands, splitting, braces, globs."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable

from cgx.indexer.launch.shell import arithmetic
from cgx.indexer.launch.shell.lexer import inner_word
from cgx.indexer.launch.shell.state import State, is_known, unknown
from cgx.indexer.launch.shell.syntax import Part, Word

Substitute = Callable[[State, str], str]
_FORM = re.compile(
    r"(?P<name>[A-Za-z_]\w*|[0-9]+|[@*#?$!-])(?:\[(?P<index>[^\]]*)\])?(?P<op>:?[-=?+]|%%?|##?|//?|\^\^?|,,?|:)?(?P<rest>.*)",
    re.S,
)
_BRACES = re.compile(r"\{([^{},\s]*(?:,[^{},\s]*)+|-?\d+\.\.-?\d+)\}")
MAX_FIELDS = 1000  # words that the braces of one word give


def expand(state: State, word: Word, substitute: Substitute) -> list[str]:
    """The texts of one word."""
    fields: list[str] = []
    current: str | None = None
    globbing = braced = False
    for position, part in enumerate(word.parts):
        if part.kind == "text":
            text = part.text
            if not part.quoted:
                if position == 0 and text.startswith("~"):
                    text = unknown("~") + text[1:]
                globbing |= any(char in text for char in "*?[")
                braced |= "{" in text
            current = (current or "") + text
            continue
        pieces = _several(state, part, substitute)
        if pieces is not None:  # "$@" and "${array[@]}": one field each
            for number, piece in enumerate(pieces):
                if number:
                    fields.append(current or "")
                    current = None
                current = (current or "") + piece
            continue
        text = value_of(state, part, substitute)
        if part.quoted:
            current = (current or "") + text
            continue
        chunks = _split(text)
        if text[:1].isspace() and current is not None:
            fields.append(current)
            current = None
        for number, chunk in enumerate(chunks):
            if number:
                fields.append(current or "")
                current = None
            current = (current or "") + chunk
        if chunks and text[-1:].isspace():
            fields.append(current or "")
            current = None
    if current is not None:
        fields.append(current)
    if braced:
        fields = [text for field in fields for text in _braces(field)]
    if globbing:
        fields = [text for field in fields for text in _glob(state, field)]
    return fields


def join(state: State, word: Word, substitute: Substitute) -> str:
    """One text: no splitting (assignments, case words, redirections)."""
    texts = []
    for position, part in enumerate(word.parts):
        text = part.text if part.kind == "text" else value_of(state, part, substitute)
        if position == 0 and part.kind == "text" and not part.quoted and text.startswith("~"):
            text = unknown("~") + text[1:]
        texts.append(text)
    return "".join(texts)


def value_of(state: State, part: Part, substitute: Substitute) -> str:
    """The text of an expansion, not split."""
    if part.kind == "arithmetic":
        value = arithmetic.evaluate(part.text, state.get)
        return unknown(f"$(({part.text}))") if value is None else str(value)
    if part.kind == "command":
        return substitute(state, part.text)
    return _parameter(state, part.text, substitute)


def _split(text: str) -> list[str]:
    """Split at white space outside what is not known."""
    return [chunk for chunk in re.findall(r"(?:\ue000[^\ue001]*\ue001|[^\s\ue000])+", text) if chunk]


def _several(state: State, part: Part, substitute: Substitute) -> list[str] | None:
    """The fields of a quoted ``$@`` or ``${array[@]}``, or of a default that is used; None for anything else."""
    if part.kind == "variable" and not part.quoted and (default := _default(state, part.text, substitute)) is not None:
        return expand(state, inner_word(default), substitute)
    if part.kind != "variable" or (not part.quoted and part.text not in ("@", "*")):
        return None
    if part.text == "@":
        return list(state.positional) if part.quoted else None
    match = re.fullmatch(r"(\w+)\[@\](?::(\d+)(?::(\d+))?)?", part.text) or re.fullmatch(
        r"(@):(\d+)(?::(\d+))?", part.text
    )
    if match is None:
        return None
    if match.group(1) == "@":
        values, start = state.positional, max(int(match.group(2)) - 1, 0)
    else:
        variable = state.variables.get(match.group(1))
        if variable is None:
            return [] if match.group(1) in state.assigned else [unknown("${" + part.text + "}")]
        values, start = (variable if isinstance(variable, list) else [variable]), int(match.group(2) or 0)
    return list(values[start : start + int(match.group(3))] if match.group(3) else values[start:])


def _default(state: State, text: str, substitute: Substitute) -> str | None:
    """The default of ``${name:-default}`` where it is used: its own quotes decide how it is split."""
    match = _FORM.fullmatch(text)
    if match is None or match.group("op") not in (":-", "-"):
        return None
    value = _lookup(state, match.group("name"), match.group("index"), substitute)
    unset = value is None or (value == "" and match.group("op") == ":-")
    return match.group("rest") if unset else None


def _parameter(state: State, text: str, substitute: Substitute) -> str:
    if text.startswith("#") and len(text) > 1:
        return _length(state, text[1:])
    if text.startswith("!"):
        target = state.get(text[1:])
        return (
            unknown("${" + text + "}")
            if target is None or not is_known(target)
            else _parameter(state, target, substitute)
        )
    match = _FORM.fullmatch(text)
    if match is None:
        return unknown("${" + text + "}")
    name, index, op, rest = match.group("name", "index", "op", "rest")
    value = _lookup(state, name, index, substitute)

    def word() -> str:
        return join(state, inner_word(rest), substitute) if rest else ""

    if op in (":-", "-", ":=", "="):
        if value is None or (value == "" and op.startswith(":")):
            value = word()
            if "=" in op:
                state.variables[name] = value
        return value
    if op in (":+", "+"):
        return "" if value is None or (value == "" and op == ":+") else word()
    if value is None:
        # A variable that nothing sets comes from the environment of the person who types the line.
        return "" if name.isdigit() or name in "@*" or name in state.assigned else unknown("$" + name)
    if not op or not is_known(value):
        return value
    return _edit(state, value, op, rest, word)


def _edit(state: State, value: str, op: str, rest: str, word: Callable[[], str]) -> str:
    if op == ":":
        first, _, count = rest.partition(":")
        start = arithmetic.evaluate(first, state.get) or 0
        size = arithmetic.evaluate(count, state.get) if count else None
        return value[start:] if size is None else value[start:][:size]
    if op in ("%", "%%", "#", "##"):
        return _trim(value, op, word())
    if op in ("/", "//"):
        pattern, _, replacement = rest.partition("/")
        regex = (
            fnmatch.translate(join(state, inner_word(pattern), lambda _s, t: t)).removesuffix(r"\Z").removesuffix(r"\z")
        )
        new = join(state, inner_word(replacement), lambda _s, t: t)
        return re.sub(regex, lambda _m: new, value, count=0 if op == "//" else 1)
    return value.upper() if op == "^^" else value.lower() if op == ",," else value.capitalize() if op == "^" else value


def _trim(value: str, op: str, pattern: str) -> str:
    sizes = range(len(value) + 1)
    if op in ("%%", "#"):
        candidates = sizes if op == "#" else range(len(value) + 1)
    else:
        candidates = reversed(sizes)  # type: ignore[assignment]
    for size in candidates:
        if op in ("#", "##") and fnmatch.fnmatchcase(value[:size], pattern):
            return value[size:]
        if op in ("%", "%%") and fnmatch.fnmatchcase(value[size:], pattern):
            return value[:size]
    return value


def _length(state: State, text: str) -> str:
    if text in ("@", "*"):
        return str(len(state.positional))
    name, _, index = text.partition("[")
    value = state.variables.get(name)
    if value is None:
        return "0" if name in state.assigned else unknown("${#" + text + "}")
    if index.rstrip("]") in ("@", "*") and isinstance(value, list):
        return str(len(value))
    scalar = state.get(name) or ""
    return str(len(scalar)) if is_known(scalar) else unknown("${#" + text + "}")


def _lookup(state: State, name: str, index: str | None, substitute: Substitute) -> str | None:
    if name.isdigit():
        place = int(name)
        if place == 0:
            return state.path or "bash"
        return state.positional[place - 1] if place <= len(state.positional) else None
    if name in ("@", "*"):
        return " ".join(state.positional) if state.positional else None
    if name == "#":
        return str(len(state.positional))
    if name in "?$!-":
        return "0" if name == "?" else unknown("$" + name)
    if name == "PWD":
        return state.get("PWD") or "./" + state.cwd if state.cwd else "."
    if name == "BASH_SOURCE":
        return state.path
    value = state.variables.get(name)
    if not isinstance(value, list):
        return value if index in (None, "0", "@", "*") else None
    if index in ("@", "*"):
        return " ".join(value)
    place_value = arithmetic.evaluate(index or "0", state.get)
    if place_value is None:
        return unknown("${" + f"{name}[{index}]" + "}")
    return value[place_value] if -len(value) <= place_value < len(value) else None


def _braces(text: str) -> list[str]:
    match = _BRACES.search(text)
    if match is None:
        return [text]
    inner = match.group(1)
    if ".." in inner and "," not in inner:
        first, last = (int(number) for number in inner.split(".."))
        step = 1 if last >= first else -1
        options = [str(number) for number in range(first, last + step, step)[:MAX_FIELDS]]
    else:
        options = inner.split(",")
    fields: list[str] = []
    for option in options:
        fields += _braces(text[: match.start()] + option + text[match.end() :])
        if len(fields) >= MAX_FIELDS:
            break
    return fields[:MAX_FIELDS]


def _glob(state: State, text: str) -> list[str]:
    if not is_known(text) or not any(char in text for char in "*?["):
        return [text]
    pattern = posixpath.normpath(posixpath.join(state.cwd, text))
    found = state.tree.matching(pattern)
    prefix = state.cwd + "/" if state.cwd else ""
    return [path.removeprefix(prefix) for path in found] or [text]
