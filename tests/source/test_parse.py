"""Any bytes parse to something, and what is lost is said."""

from __future__ import annotations

import ast
import time

import pytest

from cgx.indexer.source import parse


def names(tree: ast.Module | None) -> set[str]:
    assert tree is not None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {f"{node.name}:{node.lineno}" for node in ast.walk(tree) if isinstance(node, kinds)}


def calls(tree: ast.Module | None) -> set[str]:
    assert tree is not None
    return {f"{ast.unparse(node.func)}:{node.lineno}" for node in ast.walk(tree) if isinstance(node, ast.Call)}


BROKEN = {
    "unclosed bracket": (
        b"x = (1,\ndef f(a):\n    return g(a)\nclass A(B):\n  def m(self):\n    self.x(\n  def n(self): return h()\n",
        {"f:2", "A:4", "n:7"},
        {"g:3", "h:7"},
    ),
    "python 2": (
        b"print 'a'\ndef f():\n  try:\n    g()\n  except E, e:\n    print e\n  k()\nh()\n",
        {"f:2"},
        {"k:7", "h:8"},
    ),
    "mixed tabs": (b"def f():\n\tif 1:\n        x()\n\ty()\n", {"f:1"}, {"y:4"}),
    "too deep": (b"(" * 300 + b")" * 300 + b"\ndef f():\n  g()\n", {"f:2"}, {"g:3"}),
    "conflict markers": (b"a()\n<<<<<<< HEAD\nb()\n=======\nc()\n>>>>>>> x\ndef d():\n  e()\n", {"d:7"}, {"a:1", "e:8"}),
    "magic": (b"%matplotlib inline\n!pip install x\ndef f():\n    g()\n", {"f:3"}, {"g:4"}),
    "nothing good": (b"?!\n$$\n", set(), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_keep_what_is_good(name: str) -> None:
    data, definitions, called = BROKEN[name]
    parsed = parse(data)
    assert parsed.partial and parsed.error
    assert definitions <= names(parsed.tree)
    assert called <= calls(parsed.tree)


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"\xe9 = 1\nf(\xe9)", "Latin-1"),
        (b"# coding: nope\nf()", "declared"),
        ("x = 'é'\nf()".encode("utf-16"), "UTF-16"),
        (b"\xef\xbb\xbff()", ""),
        ("# coding: latin-1\nx='é'\nf()".encode("latin-1"), ""),
        (b"x = 1\r\nf()\r\n", ""),
        (b"x = 1\rf()\r", ""),
    ],
)
def test_encodings(data: bytes, note: str) -> None:
    parsed = parse(data)
    assert not parsed.partial and note in parsed.error and bool(note) == bool(parsed.error)
    assert {item.split(":")[0] for item in calls(parsed.tree)} == {"f"}


def test_nul_bytes() -> None:
    parsed = parse(b"a()\n\0\ndef f():\n  b()\n")
    assert parsed.partial and "NUL" in parsed.error and calls(parsed.tree) == {"a:1", "b:4"}


def test_deep_code_parses_in_full() -> None:
    for data in (b"f" + b"()" * 5000, b"x = " + b"+".join([b"1"] * 5000), b"if a: pass\n" + b"elif b: pass\n" * 3000):
        parsed = parse(data)
        assert not parsed.partial, parsed.error


def test_huge_file_gives_top_level_definitions_quickly() -> None:
    data = b"x = [\n" + b"1,\n" * 400_000 + b"]\nimport a.b\ndef f(x,\n y): pass\nclass K(B): pass\n"
    start = time.perf_counter()
    parsed = parse(data)
    assert time.perf_counter() - start < 2
    assert parsed.partial and "huge" in parsed.error
    assert names(parsed.tree) == {"f:400004", "K:400006"}


def test_newer_syntax_or_older_host() -> None:
    parsed = parse(b"def f[T](x: T): return g(x)\nh()\n")
    assert names(parsed.tree) == {"f:1"} and calls(parsed.tree) == {"g:1", "h:2"}


def test_lines_are_counted_as_python_does() -> None:
    parsed = parse(b"a = 1\x0c\n'\x1c'\r\nb\r")
    assert parsed.lines == ["a = 1\x0c", "'\x1c'", "b", ""]


def test_notebook_cells() -> None:
    source = b'{"cells": [{"cell_type": "code", "source": ["%time x\\n", "f()\\n"]}, {"cell_type": "markdown", "source": "("}]}'
    assert calls(parse(source, "a.ipynb").tree) == {"f:2"}
    assert parse(b"[1]", "a.ipynb").error
