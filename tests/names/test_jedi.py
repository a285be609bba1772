"""Tier 2: kinds of call sites that only Jedi settles, and a process that cannot hurt."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from cgx.cli import main
from cgx.indexer.names import jedi_worker
from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.program import Program, link, load
from cgx.indexer.names.second_tier import AUTHOR, reachable, settle
from cgx.indexer.source import Tree, open_tree

# One file for each kind, so that one run of Jedi answers them all: name -> (source, callee text, target).
KINDS = {
    "parameter_by_its_callers": (
        """
        class A:
            def m(self): pass
        def f(x):
            x.m()
        f(A())
        """,
        "x.m",
        "parameter_by_its_callers.A.m",
    ),
    "docstring_type": (
        '''
        class A:
            def m(self): pass
        def f(x):
            """
            :type x: A
            """
            x.m()
        ''',
        "x.m",
        "docstring_type.A.m",
    ),
    "generic_class": (
        """
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class A:
            def m(self): pass
        class Box(Generic[T]):
            def get(self) -> T: ...
        def f(box: Box[A]):
            box.get().m()
        """,
        "box.get().m",
        "generic_class.A.m",
    ),
    "descriptor": (
        """
        class A:
            def m(self): pass
        class D:
            def __get__(self, obj, cls): return A()
        class B:
            d = D()
        B().d.m()
        """,
        "B().d.m",
        "descriptor.A.m",
    ),
    "argument_given_back": (
        """
        class A:
            def m(self): pass
        def same(x):
            return x
        same(A()).m()
        """,
        "same(A()).m",
        "argument_given_back.A.m",
    ),
    "arguments_in_a_row": (
        "class A:\n    def m(self): pass\ndef f(*args):\n    args[0].m()\nf(A())\n",
        "args[0].m",
        "arguments_in_a_row.A.m",
    ),
    "keywords_in_a_dict": (
        "class A:\n    def m(self): pass\ndef f(**kw):\n    kw['a'].m()\nf(a=A())\n",
        "kw['a'].m",
        "keywords_in_a_dict.A.m",
    ),
    "class_passed_on": (
        "class A:\n    def m(self): pass\ndef f(c):\n    return c()\nf(A).m()\n",
        "f(A).m",
        "class_passed_on.A.m",
    ),
    "property_object": (
        "class A:\n    def m(self): pass\nclass B:\n    def _get(self): return A()\n    p = property(_get)\nB().p.m()\n",
        "B().p.m",
        "property_object.A.m",
    ),
    "named_tuple": (
        "import collections\nclass A:\n    def m(self): pass\nN = collections.namedtuple('N', 'a b')\nN(A(), 1).a.m()\n",
        "N(A(), 1).a.m",
        "named_tuple.A.m",
    ),
    "dynamic_attribute": (
        "class A:\n    def m(self): pass\nclass B:\n    def __getattr__(self, name): return A()\nB().any.m()\n",
        "B().any.m",
        "dynamic_attribute.A.m",
    ),
    "attribute_from_an_argument": (
        "class A:\n    def m(self): pass\nclass B:\n    def __init__(self, x): self.x = x\n    def f(self): self.x.m()\nB(A())\n",
        "self.x.m",
        "attribute_from_an_argument.A.m",
    ),
}


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(dedent(text))


def linked(folder: Path, cache: FactsCache) -> tuple[Tree, Program]:
    tree = open_tree(folder)
    return tree, link(load(tree, cache, jobs=1))


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory, facts_cache: FactsCache) -> Iterator[tuple[Any, ...]]:
    folder = tmp_path_factory.mktemp("kinds")
    write(folder, {f"{name}.py": source for name, (source, _, _) in KINDS.items()})
    tree, program = linked(folder, facts_cache)
    before = {name: site(program, name) for name in KINDS}
    open_before = {name: answer.targets == () for name, answer in before.items()}
    yield (program, open_before, settle(tree, program, 60))


def site(program: Program, name: str) -> Any:
    _, text, _ = KINDS[name]
    return next(
        answer
        for file in program.answers
        if file.module.path == f"{name}.py"
        for answer in file.answers
        if answer.text == text
    )


@pytest.mark.parametrize("name", KINDS)
def test_only_jedi_settles(name: str, settled: tuple[Any, ...]) -> None:
    program, open_before, _ = settled
    answer = site(program, name)
    assert open_before[name], "tier 1 settles this by now: take it out of this table"
    assert [target.qname for target in answer.targets] == [KINDS[name][2]]
    assert (answer.author, answer.basis) == (AUTHOR, "likely")


def test_settled_sites_are_counted(settled: tuple[Any, ...]) -> None:
    assert settled[2][1] >= len(KINDS) and settled[2][0] >= settled[2][1]


def test_only_what_a_script_reaches_is_asked(tmp_path: Path, facts_cache: FactsCache) -> None:
    write(
        tmp_path,
        {
            "train.py": "from lib import run\nrun(1)\n",
            "lib.py": "import other\ndef run(x):\n    x.m()\n    other.step(x)\ndef idle(x):\n    x.n()\n",
            "other.py": "def step(y):\n    y.o()\n",
            "far.py": "def f(z):\n    z.p()\nf(1)\n",
        },
    )
    _, program = linked(tmp_path, facts_cache)
    reach = reachable(program, "train.py")
    assert reach == {"train.py:<module>", "lib.py:<module>", "other.py:<module>", "lib.py:run", "other.py:step"}


def test_the_budget_is_kept(tmp_path: Path, facts_cache: FactsCache) -> None:
    write(tmp_path, {f"m{i}.py": "def f(x):\n" + "    x.m()\n" * 40 for i in range(200)})
    tree, program = linked(tmp_path, facts_cache)
    begin = time.monotonic()
    settle(tree, program, 1.0)
    assert time.monotonic() - begin < 3.0


def test_a_site_that_hangs_is_given_up_and_the_next_is_asked(
    tmp_path: Path, facts_cache: FactsCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.py": "x.m()\ny.m()\n"})
    monkeypatch.setattr(jedi_worker, "START_SECONDS", 0.2)
    slow = (
        "import sys, json, time\n"
        "for line in sys.stdin:\n"
        "    for row, col in json.loads(line)['sites']:\n"
        "        if row == 1: time.sleep(60)\n"
        "        print(json.dumps({'line': row, 'column': col, 'found': []}), flush=True)\n"
    )
    monkeypatch.setattr(jedi_worker, "_BOOT", slow)
    with jedi_worker.JediWorker(open_tree(tmp_path)) as worker:
        found = list(worker.ask([("a.py", [(1, 2), (2, 2)])], time.monotonic() + 30, site_seconds=0.5))
    assert [row[3] for row in found] == [None, []] and worker.killed == 1


def test_a_process_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.py": "x.m()\ny.m()\n"})
    dying = (
        "import sys, json, os\n"
        "for line in sys.stdin:\n"
        "    for row, col in json.loads(line)['sites']:\n"
        "        if row == 1: os._exit(1)\n"
        "        print(json.dumps({'line': row, 'column': col, 'found': []}), flush=True)\n"
    )
    monkeypatch.setattr(jedi_worker, "_BOOT", dying)
    with jedi_worker.JediWorker(open_tree(tmp_path)) as worker:
        found = list(worker.ask([("a.py", [(1, 2), (2, 2)])], time.monotonic() + 30))
    assert [row[3] for row in found] == [None, []]


def test_nothing_of_the_source_is_executed(tmp_path: Path, facts_cache: FactsCache) -> None:
    mark = tmp_path / "mark"
    trap = f"open({str(mark)!r}, 'w').close()\n"
    source = tmp_path / "job"
    write(
        source,
        {
            "sitecustomize.py": trap, "usercustomize.py": trap, "jedi/__init__.py": trap, "parso/__init__.py": trap,
            "cgx/__init__.py": trap, "helper.py": trap + "class A:\n    def m(self): pass\n", "json.py": trap,
            "main.py": "import helper, json\ndef f(x):\n    x.m()\nf(helper.A())\n",
        },
    )  # fmt: skip
    tree, program = linked(source, facts_cache)
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = str(source)
    try:
        assert settle(tree, program, 30)[1] == 1
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert not mark.exists()
    assert sorted(path.name for path in source.rglob("*") if path.suffix == ".pyc") == []


def test_the_summary_counts_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CGX_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "job"
    write(source, {"main.py": KINDS["parameter_by_its_callers"][0]})
    assert main(["index", str(source), "--store", str(tmp_path / "store"), "--deep", "30", "--json", "--quiet"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["jedi"], row["jedi_asked"], row["unresolved"]) == (1, 1, 0)
