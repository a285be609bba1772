"""The shell: splitting, commands, completion, a pipe, and a real terminal."""

from __future__ import annotations

import io
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cgx.ask.shell.commands import COMMANDS, run_text
from cgx.ask.shell.completion import CypherCompleter
from cgx.ask.shell.prompt import complete_input
from cgx.ask.shell.session import Leave, Session
from cgx.ask.shell.splitting import split_statements
from cgx.ask.where import Where
from cgx.errors import UserError

SRC = Path(__file__).parents[2] / "src"
RUN = "import sys; from cgx.ask.shell import run_shell; from cgx.errors import UserError\ntry:\n    sys.exit(run_shell(store=sys.argv[1], source=sys.argv[2]))\nexcept UserError as error:\n    print('cgx:', error, file=sys.stderr); sys.exit(2)"


@pytest.fixture
def session(where: Where) -> Session:
    return Session(where, io.StringIO())


def said(session: Session, text: str) -> str:
    session.out = io.StringIO()
    run_text(session, text)
    return session.out.getvalue()


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("RETURN 1; RETURN 2;", ["RETURN 1", "RETURN 2"], ""),
        ("RETURN ';' AS a, \"b;\" AS b;", ["RETURN ';' AS a, \"b;\" AS b"], ""),
        ("RETURN 1 // a; b\n;", ["RETURN 1 // a; b"], ""),
        ("MATCH (n:`a;b`) RETURN n", [], "MATCH (n:`a;b`) RETURN n"),
        ("RETURN 'open; ", [], "RETURN 'open;"),
        (r"RETURN 'it\'s; x';", [r"RETURN 'it\'s; x'"], ""),
        (";;", [], ""),
    ],
)
def test_where_a_statement_ends(text: str, whole: list[str], rest: str):
    assert split_statements(text) == (whole, rest)


def test_enter_runs_what_is_complete():
    assert complete_input(":help")
    assert complete_input("callers symbol=train.step")
    assert complete_input("MATCH (n)\nRETURN n;")
    assert not complete_input("MATCH (n)")
    assert not complete_input("RETURN 'a;")


def test_a_statement_prints_rows_and_time(session: Session):
    text = said(
        session, "MATCH (f:Function)\nWHERE f.name = 'unused'\nRETURN f.qname AS q, f.line AS line ORDER BY line;"
    )
    assert "train.unused |   92" in text and "train.unused |   95" in text
    assert re.search(r"2 rows in \d+ ms", text)


def test_shipped_queries_run_by_name_with_set_and_given_parameters(session: Session):
    assert "train.py:main:33" in said(session, "callers symbol=train.step;")
    assert "train.py:main:33" in said(session, ":param symbol => train.step\ncallers;")
    assert "train.py:main:30" in said(session, ":commit aaaa\ncallers;")
    with pytest.raises(UserError, match="did you mean callers"):
        said(session, "caler;")


def test_parameters_of_each_spelling(session: Session):
    said(session, ":param a => 3\n:param b => 'x y'\n:param {c: [1, 2], d: null}\n:param e: 1.5")
    assert session.params == {"a": 3, "b": "x y", "c": [1, 2], "d": None, "e": 1.5}
    assert "3 | x y | 2" in said(session, "RETURN $a AS a, $b AS b, size($c) AS c;")
    assert ":param a => 3" in said(session, ":params")
    said(session, ":param clear")
    assert session.params == {}


def test_formats_limits_and_timeouts(session: Session):
    assert said(session, ":format jsonl\nRETURN 1 AS one;") == '{"one": 1}\n'
    assert "CUT at the limit of 2" in said(session, ":format table\n:limit 2\nMATCH (n) RETURN n.id AS id ORDER BY id;")
    said(session, ":limit 0\n:timeout 0.3")
    with pytest.raises(UserError, match=r"stopped after 0\.3 s"):
        said(session, "MATCH (a), (b), (c), (d) WHERE a.id + b.id + c.id + d.id = '' RETURN count(*) AS n;")
    for bad in (":format xml", ":limit many", ":timeout -1", ":nope", ":schema Klass", ":param", ":source", ":explain"):
        if bad != ":param":
            with pytest.raises(UserError):
                said(session, bad)


def test_help_schema_queries_and_history(session: Session):
    text = said(session, ":help")
    assert all(f":{name}" in text for name in COMMANDS)
    assert "(:Sync)" in said(session, ":schema") and "kind: str" in said(session, ":schema :Sync")
    assert "callers" in said(session, ":queries calls") and "stalls" not in said(session, ":queries calls")
    assert "RETURN f.qname AS caller" in said(session, ":queries callers")
    assert said(session, ":history").splitlines()[0] == ":help"
    with pytest.raises(Leave):
        said(session, ":quit")


def test_explain_shows_a_plan_and_runs_nothing(session: Session):
    assert "Match" in said(session, ":explain callers")
    assert "Match" in said(session, ":explain MATCH (n:Sync) RETURN n.id AS id")


def test_source_runs_a_file(session: Session, tmp_path):
    (tmp_path / "q.cypher").write_text("// a comment\n:format csv\nMATCH (r:Repository)\nRETURN r.id AS id;\n")
    assert said(session, f":source {tmp_path / 'q.cypher'}") == "id\ntoy\n"
    (tmp_path / "loop.cypher").write_text(f":source {tmp_path / 'loop.cypher'}\n")
    with pytest.raises(UserError, match="more than 8 deep"):
        said(session, f":source {tmp_path / 'loop.cypher'}")
    with pytest.raises(UserError, match="cannot be read"):
        said(session, ":source /no/such/file")


@pytest.mark.parametrize(
    ("text", "offers"),
    [
        ("MATCH (n:Mod", "ModuleEntry"),
        ("MATCH (n:Symbol|Ext", "External"),
        ("MATCH (a)-[:INH", "INHERITS"),
        ("MATCH (a)-[e:CALLS|CONS", "CONSTRUCTS"),
        ("MATCH (s:Sync) RETURN s.gua", "guard"),
        ("MATCH (a)-[m:MOVED_TO]->(b) RETURN m.evi", "evidence"),
        ("MATCH (s:Sync {ki", "kind"),
        ("RETURN $jo", "job"),
        ("RETURN $mi", "mine"),
        ("MATCH (n) WHE", "WHERE"),
        ("RETURN cou", "count("),
        ("call", "callers"),
        (":fo", "format"),
        (":format js", "jsonl"),
        (":schema Pha", "Phase"),
        ("callers sym", "symbol="),
    ],
)
def test_completion(session: Session, text: str, offers: str):
    from prompt_toolkit.document import Document

    session.params["mine"] = 1
    found = [each.text for each in CypherCompleter(session).get_completions(Document(text), None)]
    assert offers in found
    assert all(each.lower().startswith(re.search(r"\w*$", text)[0].lower()) for each in found)


def test_completion_knows_the_properties_of_a_variable(session: Session):
    from prompt_toolkit.document import Document

    found = [each.text for each in CypherCompleter(session).get_completions(Document("MATCH (s:Sync) RETURN s."), None)]
    assert "guard" in found and "module_path" not in found


def run_pipe(folder: str, text: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    return subprocess.run(
        [sys.executable, "-c", RUN, folder, folder], input=text, capture_output=True, text=True, env=env, timeout=60
    )


def test_a_pipe(store_folder: str):
    done = run_pipe(store_folder, ":format csv\nMATCH (r:Repository) RETURN r.id AS id")
    assert (done.returncode, done.stdout, done.stderr) == (0, "id\ntoy\n", "")
    done = run_pipe(store_folder, "MATCH (n RETURN n;\nRETURN 1 AS never;")
    assert done.returncode == 2 and "never" not in done.stdout and done.stderr.startswith("cgx:")


class Terminal:
    """A shell in a pseudo-terminal."""

    def __init__(self, folder: str, home: Path) -> None:
        import pty

        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(
                PYTHONPATH=str(SRC), TERM="xterm", CGX_SHELL_HISTORY=str(home / "history"), COLUMNS="200", LINES="40"
            )
            os.execv(sys.executable, [sys.executable, "-c", RUN, folder, folder])
        self.raw, self.at = "", 0

    def expect(self, pattern: str, seconds: float = 20) -> None:
        """Read until the pattern appears behind what was expected before; answers cursor-position requests."""
        deadline = time.monotonic() + seconds
        while not (match := re.compile(pattern).search(plain(self.raw), self.at)):
            ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{pattern!r} did not appear in {plain(self.raw)[self.at :]!r}"
            data = os.read(self.fd, 65536).decode(errors="replace")
            if "\x1b[6n" in data:
                os.write(self.fd, b"\x1b[1;1R")
            self.raw += data
        self.at = match.end()

    def shows(self, pattern: str) -> bool:
        try:
            at = self.at
            self.expect(pattern, 0.5)
        except AssertionError:
            return False
        self.at = at
        return True

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def close(self) -> int:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            try:
                if ready and not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", text)


def test_a_real_terminal(store_folder: str, tmp_path):
    terminal = Terminal(store_folder, tmp_path)
    terminal.expect("cgx>")
    terminal.send("RETURN 40 +\r")
    terminal.expect(r"\.\.\.>")  # not complete: the editor goes on
    terminal.send("2 AS answer;\r")
    terminal.expect(r"\n *42\n")
    terminal.expect(r"1 row in \d+ ms")
    terminal.send("MATCH (s:Sy\t")  # Tab completes
    terminal.expect("Symbol")
    terminal.send("\x03")  # Ctrl-C drops the line
    terminal.expect("cgx>")
    terminal.send("MATCH (a), (b), (c), (d) WHERE a.id + b.id + c.id + d.id = '' RETURN count(*) AS n;\r")
    terminal.expect(r"AS n;\n")
    for _ in range(20):  # a key that comes before the statement runs is still the editor's
        time.sleep(1.0)
        terminal.send("\x03")  # Ctrl-C stops the statement, not the shell
        if terminal.shows("stopped"):
            break
    terminal.expect("stopped")
    terminal.send("RETURN 6 * 7 AS again;\r")
    terminal.expect(r"\n *42\n")
    terminal.send("RETURN nope(1);\r")
    terminal.expect("nope")
    terminal.send(":exit\r")
    assert terminal.close() == 0

    again = Terminal(store_folder, tmp_path)
    again.expect("cgx>")
    again.send("\x1b[A\x1b[A")  # two up: history of the session before
    again.expect(r"RETURN nope\(1\)")
    again.send("\x03")
    again.send("\x04")
    assert again.close() == 0
