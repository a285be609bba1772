"""Optional packages of kernels: taken as not installed, unless the launched job fails without."""

from __future__ import annotations

from pathlib import Path

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_job
from cgx.indexer.interpreter.trace import OpNode
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.source import open_tree

TEXT = """import torch
try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None
x = torch.rand(1, 4, 2, 8, device="cuda")
{use}
"""


def ops(folder: Path, use: str) -> list[str]:
    (folder / "main.py").write_text(TEXT.format(use=use))
    tree = open_tree(str(folder))
    trace = run_job(tree, [], parse_launch("python main.py", tree), Options())
    return [node.qname for node in trace.root.walk() if isinstance(node, OpNode)]


def test_a_job_that_fails_without_has_it(tmp_path: Path) -> None:
    assert "flash_attn.flash_attn_func" in ops(tmp_path, "y = flash_attn_func(x, x, x)")


def test_a_job_that_goes_another_way_has_it_not(tmp_path: Path) -> None:
    assert "flash_attn.flash_attn_func" not in ops(tmp_path, "y = x if flash_attn_func is None else flash_attn_func(x, x, x)")


def test_what_an_error_of_the_job_asks_for_is_there(tmp_path: Path) -> None:
    use = """try:
    import longcontext
    there = True
except ImportError:
    there = False
if not there:
    raise ImportError("longcontext not found: install it")
z = x.relu()"""
    (tmp_path / "main.py").write_text(TEXT.format(use=use))
    tree = open_tree(str(tmp_path))
    trace = run_job(tree, [], parse_launch("python main.py", tree), Options())
    assert not [one for one in trace.unknowns if one.reason == "error"]


def test_an_import_whose_absence_is_an_error_is_there(tmp_path: Path) -> None:
    use = """try:
    from longcontext import loss
except ImportError:
    raise ValueError("install longcontext")
z = x.relu()"""
    (tmp_path / "main.py").write_text(TEXT.format(use=use))
    tree = open_tree(str(tmp_path))
    trace = run_job(tree, [], parse_launch("python main.py", tree), Options())
    assert not [one for one in trace.unknowns if one.reason == "error"]


FALLBACK = """import torch
try:
    import enginepkg
    HAVE = True
except ImportError:
    HAVE = False
    from plain import Layer as Impl
if HAVE:
    from enginepkg import Layer
else:
    Layer = None
{use}
"""


def needs(folder: Path, use: str) -> bool:
    (folder / "plain.py").write_text("class Layer:\n    def __init__(self, fused):\n        assert not fused, 'not here'\n")
    (folder / "main.py").write_text(FALLBACK.format(use=use))
    tree = open_tree(str(folder))
    return not [one for one in run_job(tree, [], parse_launch("python main.py", tree), Options()).unknowns if one.reason == "error"]


def test_a_job_that_calls_what_is_none_without_a_package_has_it(tmp_path: Path) -> None:
    assert needs(tmp_path, "layer = Layer(True)")


def test_a_job_that_raises_because_of_what_stands_in_for_a_package_has_it(tmp_path: Path) -> None:
    assert needs(tmp_path, "if not HAVE:\n    raise RuntimeError('too slow without')")
    assert needs(tmp_path, "assert HAVE, 'too slow without'")
    assert needs(tmp_path, "layer = Layer(True) if HAVE else Impl(True)")
    assert not needs(tmp_path, "def check(n):\n    raise ValueError(n)\ncheck(3)")
