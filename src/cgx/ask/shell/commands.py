"""The shell's ``:commands``, named as in cypher-shell where it has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cgx import queries
from cgx.ask import listing, output, parameters
from cgx.ask.shell.session import Leave, Session
from cgx.ask.shell.splitting import is_command, split_statements
from cgx.errors import UserError
from cgx.model import schema

MAX_DEPTH = 8  # files that read files

_ARROW = re.compile(r"(\w+)\s*(?:=>|=|:|\s)\s*(.+)", re.DOTALL)


class Command(NamedTuple):
    run: Callable[[Session, str], None]
    usage: str
    doc: str


def run_command(session: Session, text: str) -> None:
    """Run one. Raises UserError for an unknown one, with near names."""
    word, _, rest = text[1:].strip().partition(" ")
    command = COMMANDS.get(word)
    if command is None:
        near = queries.nearest(word, COMMANDS)
        raise UserError(f"no command :{word}" + (f"; did you mean :{near[0]}?" if near else "; :help lists them"))
    command.run(session, rest.strip())


def _help(session: Session, rest: str) -> None:
    chosen = [rest.lstrip(":")] if rest else list(COMMANDS)
    for name in chosen:
        if name not in COMMANDS:
            raise UserError(f"no command :{name}; :help lists them")
        session.say(f"  :{COMMANDS[name].usage.ljust(28)} {COMMANDS[name].doc}")
    if not rest:
        session.say("A statement ends with `;`. A shipped query runs by its name: callers symbol=train.step;")


def _schema(session: Session, rest: str) -> None:
    name = rest.strip(":()[] ")
    if name and name not in schema.NODE_KINDS and name not in schema.EDGE_KINDS:
        near = queries.nearest(name, [*schema.NODE_KINDS, *schema.EDGE_KINDS])
        raise UserError(f"no node or edge kind {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    if name:
        for line in listing.schema_lines(name):
            session.say(line)
        return
    for node in schema.NODES:
        session.say(f"(:{node.label})".ljust(22) + node.doc)
    for edge in schema.EDGES:
        session.say(f"[:{edge.name}]".ljust(22) + edge.doc)
    session.say(":schema KIND shows the properties of one")


def _queries(session: Session, rest: str) -> None:
    if rest in queries.GROUPS:
        chosen = [query for query in queries.catalog().values() if query.group == rest]
        lines = listing.catalog_lines(chosen)
    else:
        lines = (
            listing.query_lines(queries.get(rest)) if rest else listing.catalog_lines(list(queries.catalog().values()))
        )
    for line in lines:
        session.say(line)


def _param(session: Session, rest: str) -> None:
    """``:param``, ``:param clear``, ``:param name => value``, ``:param {name: value}``."""
    if not rest or rest == "list":
        for name, value in sorted(session.params.items()):
            session.say(f":param {name} => {value!r}")
    elif rest == "clear":
        session.params.clear()
    elif rest.startswith("{"):
        session.params.update(_map(session, rest))
    elif match := _ARROW.fullmatch(rest):
        session.params[match[1]] = parameters.literal(
            match[2].strip().strip("'") if match[2].startswith("'") else match[2].strip()
        )
    else:
        raise UserError("it is :param NAME => VALUE, :param {NAME: VALUE}, :param clear or :param")


def _map(session: Session, text: str) -> dict[str, object]:
    """A Cypher map, evaluated by the store: it knows the syntax."""
    value = session.where.store.run(f"RETURN {text} AS map").rows[0][0]
    if not isinstance(value, dict):
        raise UserError(f"not a map: {text}")
    return value


def _format(session: Session, rest: str) -> None:
    if not rest:
        session.say(f"{session.format} (of {', '.join(output.FORMATS)})")
    elif rest not in output.FORMATS:
        raise UserError(f"no format {rest!r}: {', '.join(output.FORMATS)}")
    else:
        session.format = rest


def _limit(session: Session, rest: str) -> None:
    if rest:
        session.limit = int(_number(rest, "rows, 0 for all"))
    session.say(f"limit {session.limit or 'none'}")


def _timeout(session: Session, rest: str) -> None:
    if rest:
        session.timeout = _number(rest, "seconds")
    session.say(f"timeout {session.timeout:g} s")


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1e9:
        raise UserError(f"not a number of {what}: {text!r}")
    return value


def _source(session: Session, rest: str) -> None:
    """Run a file of statements and commands."""
    if not rest:
        raise UserError("it is :source FILE")
    if session.depth >= MAX_DEPTH:
        raise UserError(f"files read each other more than {MAX_DEPTH} deep")
    try:
        text = Path(rest).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{rest} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    session.depth += 1
    try:
        run_text(session, text)
    finally:
        session.depth -= 1


def run_text(session: Session, text: str) -> None:
    """Run every command and statement of a text; the last statement need not end with ``;``."""
    pending = ""
    for line in text.splitlines():
        if is_command(line) and not _code(pending):
            session.run(line)
            pending = ""
            continue
        whole, pending = split_statements(f"{pending}\n{line}" if pending else line)
        for statement in whole:
            session.run(statement)
    if _code(pending):
        session.run(pending)


def _code(text: str) -> bool:
    """Whether a text holds more than blank lines and comments."""
    return any(line.strip() and not line.strip().startswith("//") for line in text.splitlines())


def _explain(session: Session, rest: str) -> None:
    if not rest:
        raise UserError("it is :explain STATEMENT or :explain QUERY")
    query = queries.catalog().get(rest.split()[0])
    text = query.text if query else rest.rstrip(";")
    given = {name: session.params.get(name, "") for name in parameters.used(text)}
    for line in session.where.store.explain(text, given):
        session.say(line)


def _commit(session: Session, rest: str) -> None:
    """Say which commit statements take by default, or fix another."""
    if rest:
        session.params["commit"] = session.where.commit(rest)
    current = session.params.get("commit") or session.where.commit()
    session.say(f"commit {current}")
    if behind := session.where.freshness():
        session.say(behind)


def _history(session: Session, rest: str) -> None:
    for text in session.history[:-1]:
        session.say(text)


def _exit(session: Session, rest: str) -> None:
    raise Leave


COMMANDS: dict[str, Command] = {
    "help": Command(_help, "help [COMMAND]", "this list, or one command"),
    "schema": Command(_schema, "schema [KIND]", "node and edge kinds, or the properties of one"),
    "queries": Command(_queries, "queries [NAME|GROUP]", "shipped queries, or one with its text"),
    "param": Command(_param, "param [NAME => VALUE]", "set $NAME; list; `:param clear`"),
    "params": Command(_param, "params", "the parameters that are set"),
    "commit": Command(_commit, "commit [REV]", "the commit that $commit stands for, or another"),
    "format": Command(_format, "format [FORMAT]", "table, json, jsonl or csv"),
    "limit": Command(_limit, "limit [N]", "rows a statement may give (0: all)"),
    "timeout": Command(_timeout, "timeout [SECONDS]", "time a statement may take"),
    "source": Command(_source, "source FILE", "run the statements of a file"),
    "explain": Command(_explain, "explain STATEMENT", "the plan, without running it"),
    "history": Command(_history, "history", "what was entered in this shell"),
    "exit": Command(_exit, "exit", "leave (also :quit, Ctrl-D)"),
    "quit": Command(_exit, "quit", "leave"),
}
