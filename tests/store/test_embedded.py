"""The embedded store across processes, crashes and damage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import sample

from cgx.model import schema
from cgx.model.facts import GraphDelta, Node
from cgx.store import embedded, location, open_store
from cgx.store.errors import StoreError

SRC = Path(__file__).parents[2] / "src"


def reason(name: str) -> GraphDelta:
    return GraphDelta([Node("Reason", name, {"name": name})])


def start(code: str, *args: str) -> subprocess.Popen[str]:
    """Run code in another process; it prints a line when it is ready."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), str(Path(__file__).parent)])}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *args], stdout=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None and process.stdout.readline().strip() == "ready"
    return process


WRITER = """
    import sys, time
    from cgx.model.facts import GraphDelta, Node
    from cgx.store import open_store
    store = open_store(sys.argv[1], "r")
    store.write(GraphDelta([Node("Reason", "kept", {"name": "kept"})]))
    store.checkpoint()
    store.write(GraphDelta([Node("Reason", f"lost{i}", {"name": "lost"}) for i in range(5000)]))
    print("ready", flush=True)
    time.sleep(60)
"""

SAVER = """
    import sys
    from cgx.model.facts import GraphDelta, Node
    from cgx.store import open_store
    store = open_store(sys.argv[1], "r")
    store.write(GraphDelta([Node("Reason", f"n{i}", {"name": "x" * 50, "doc": str(i)}) for i in range(20000)]))
    store.checkpoint()
    print("ready", flush=True)
    for turn in range(10000):
        store.write(GraphDelta([Node("Reason", "turn", {"name": str(turn)})]))
        store.checkpoint()
"""


def test_a_killed_writer_leaves_the_last_checkpoint(tmp_path):
    process = start(WRITER, str(tmp_path))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with open_store(str(tmp_path), "r") as store:
        assert store.ids("Reason") == {"kept"}
        store.write(reason("after"))
        store.checkpoint()
    with open_store(str(tmp_path), "r", read_only=True) as store:
        assert store.ids("Reason") == {"kept", "after"}


def test_a_kill_during_a_save_leaves_a_whole_file(tmp_path):
    for turn in range(3):
        process = start(SAVER, str(tmp_path))
        time.sleep(0.05 * turn + 0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with open_store(str(tmp_path), "r", read_only=True) as store:
            assert store.run("MATCH (n:Reason) WHERE n.id STARTS WITH 'n' RETURN count(n) AS n").rows == [(20000,)]


def test_a_second_writer_is_refused_and_readers_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "LOCK_WAIT", 0.2)
    process = start(WRITER, str(tmp_path))
    try:
        with pytest.raises(StoreError, match="another process is writing"):
            open_store(str(tmp_path), "r")
        with (
            open_store(str(tmp_path), "r", read_only=True) as one,
            open_store(str(tmp_path), "r", read_only=True) as two,
        ):
            assert one.ids("Reason") == two.ids("Reason") == {"kept"}
    finally:
        process.kill()
        process.wait()


def test_a_reader_takes_up_a_newer_checkpoint(tmp_path):
    with open_store(str(tmp_path), "r") as writer:
        writer.write(reason("a"))
        writer.checkpoint()
        with open_store(str(tmp_path), "r", read_only=True) as reader:
            writer.write(reason("b"))
            assert reader.run("MATCH (n:Reason) RETURN count(n) AS n").rows == [(1,)]
            writer.checkpoint()
            assert reader.run("MATCH (n:Reason) RETURN count(n) AS n").rows == [(2,)]
            with pytest.raises(StoreError, match="for reading only"):
                reader.write(reason("c"))


def test_reading_what_was_never_indexed(tmp_path):
    with pytest.raises(StoreError, match="run `cgx index` first"):
        open_store(str(tmp_path / "nothing"), "r", read_only=True)
    assert not (tmp_path / "nothing").exists()


def test_a_damaged_store_is_reported_and_built_anew(tmp_path):
    with open_store(str(tmp_path), "r") as store:
        store.write(reason("a"))
        store.checkpoint()
    (tmp_path / location.FILE).write_bytes(b"not a graph")
    with pytest.raises(StoreError, match="damaged"):
        open_store(str(tmp_path), "r", read_only=True)
    with open_store(str(tmp_path), "r") as store:
        assert store.ids("Reason") == set()
    assert (tmp_path / "graph.damaged").read_bytes() == b"not a graph"


def test_a_store_of_another_version_is_built_anew(tmp_path, monkeypatch):
    with open_store(str(tmp_path), "r") as store:
        store.write(reason("a"))
        store.checkpoint()
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    with pytest.raises(StoreError, match="another version"):
        open_store(str(tmp_path), "r", read_only=True)
    with open_store(str(tmp_path), "r") as store:
        assert store.ids("Reason") == set()
        store.write(reason("b"))
        store.checkpoint()
    assert open_store(str(tmp_path), "r", read_only=True).ids("Reason") == {"b"}


def test_a_write_that_fails_half_way_is_never_checkpointed(tmp_path, monkeypatch):
    with open_store(str(tmp_path), "r") as store:
        store.write(reason("a"))
        store.checkpoint()
        real = embedded.statements

        def failing(plan, size):
            yield from list(real(plan, size))[:1]
            raise MemoryError

        monkeypatch.setattr(embedded, "statements", failing)
        with pytest.raises(MemoryError):
            store.write(reason("half"))
        with pytest.raises(StoreError, match="failed half-way"):
            store.checkpoint()
    assert open_store(str(tmp_path), "r", read_only=True).ids("Reason") == {"a"}


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be made"):
        open_store(str(tmp_path / "file" / "store"), "r")


def test_the_default_place_is_the_cache_folder_by_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(location.platformdirs, "user_cache_dir", lambda *a, **k: str(tmp_path / "cgx"))
    one, other = location.store_folder(None, "toy"), location.store_folder(None, "to/y")
    assert one == tmp_path / "cgx" / "stores" / "toy"
    assert (
        other.parent == one.parent and other.name.startswith("to-y-") and other != location.store_folder(None, "to y")
    )


def test_the_same_input_gives_the_same_answers_in_the_same_order(tmp_path):
    answers = []
    for name in ("one", "two"):
        with open_store(str(tmp_path / name), sample.REPO) as store:
            store.write(sample.full_delta())
            store.checkpoint()
        with open_store(str(tmp_path / name), sample.REPO, read_only=True) as store:
            answers.append(store.run("MATCH (a)-[e]->(b) RETURN a.id AS a, type(e) AS k, b.id AS b").rows)
    assert answers[0] == answers[1]
