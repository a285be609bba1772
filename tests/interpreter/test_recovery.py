"""A job is taken to run: an exception that nothing catches leaves its statement out and ends nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from interpreted import NET, called, calls, job, reasons, write

from cgx.errors import UserError
from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree


def test_an_exception_that_nothing_catches_ends_no_job(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NET + "limit = None\nif 3 > limit:\n    limit = 3\nmodel = Net()\nmodel(torch.zeros(1, 4))\n"})
    assert called(trace) == ["Net", "Linear"]
    assert "error" in reasons(trace).values()


def test_what_the_left_out_statement_binds_is_unknown(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NET + "width = None.size\nif width:\n    model = Net()\n    model(torch.zeros(1, 4))\n"})
    assert called(trace) == ["Net", "Linear"]


def test_handlers_of_the_job_still_catch(tmp_path: Path) -> None:
    source = NET + "try:\n    x = None.size\nexcept AttributeError:\n    Net()(torch.zeros(1, 4))\n"
    assert called(job(tmp_path, {"main.py": source})) == ["Net", "Linear"]


def test_a_function_that_fell_over_gives_no_none(tmp_path: Path) -> None:
    source = NET + (
        "def make(kind):\n    if kind == 'a':\n        return Net()\n    raise ValueError(kind)\n"
        "model = make('b')\nif model is None:\n    Net()(torch.zeros(1, 4))\n"
    )
    trace = job(tmp_path, {"main.py": source})
    assert any(name == "model is None" for name in reasons(trace))


def test_exit_ends_the_job(tmp_path: Path) -> None:
    assert called(job(tmp_path, {"main.py": NET + "import sys\nsys.exit(0)\nNet()(torch.zeros(1, 4))\n"})) == []


def test_a_path_that_raises_is_none_where_another_returned(tmp_path: Path) -> None:
    source = NET + (
        "import urllib.request\n"
        "def fetch(url, hops):\n"
        "    for _ in range(hops):\n"
        "        with urllib.request.urlopen(url) as answer:\n"
        "            if answer.url == url:\n                return url\n"
        "    else:\n        raise RecursionError(url)\n"
        "try:\n    fetch('x', 3)\n    Net()(torch.zeros(1, 4))\nexcept RuntimeError:\n    pass\n"
    )
    assert called(job(tmp_path, {"main.py": source})) == ["Net", "Linear"]


def test_what_is_suppressed_leaves_the_block_and_is_no_fault(tmp_path: Path) -> None:
    source = NET + "import contextlib\nwidth = 4\nwith contextlib.suppress(ValueError, KeyError):\n    width = int('x')\n    width = 5\nNet()(torch.zeros(1, width))\n"
    trace = job(tmp_path, {"main.py": source})
    assert called(trace) == ["Net", "Linear"] and not reasons(trace)


@pytest.mark.parametrize("end", ["raise SystemExit(1)", "sys.exit(1)", "sys.exit('no such folder')", "exit(2)"])
def test_an_undecided_early_return_before_a_failed_exit_goes_on(tmp_path: Path, end: str) -> None:
    check = f"import sys\ndef check(folder):\n    if folder.is_dir():\n        if (folder / 'a').is_file():\n            return\n        print('a')\n    {end}\n"
    source = "from pathlib import Path\n" + check + NET + "check(Path(sys.argv[1]))\nNet()(torch.zeros(1, 4))\n"
    assert called(job(tmp_path, {"main.py": source}, "python main.py /models/a")) == ["Net", "Linear"]


def test_a_plain_exit_ends_the_run(tmp_path: Path) -> None:
    source = "import sys\n" + NET + "Net()(torch.zeros(1, 4))\nsys.exit(0)\nNet()(torch.zeros(1, 4))\n"
    assert called(job(tmp_path, {"main.py": source})) == ["Net", "Linear"]


def test_wrappers_and_hooks_of_an_undecided_branch_are_not_there_for_sure(tmp_path: Path) -> None:
    text = (
        "import os, torch, torch.nn as nn\n"
        "model = nn.Linear(4, 4)\n"
        "handle = model.register_forward_pre_hook(lambda module, args: args)\n"
        "if os.path.exists('flag'):\n    handle.remove()\n"
        "if torch.cuda.device_count() > 1:\n    model = nn.DataParallel(model)\n"
        "model(torch.ones(2, 4))\n"
    )
    trace = job(tmp_path, {"main.py": text})
    assert not trace.faults
    assert {node.outputs[0][1].shape for node in calls(trace)} == {(2, 4)}


def test_a_tensor_whose_size_changes_in_a_loop_has_no_sure_size_there(tmp_path: Path) -> None:
    text = (
        "import torch, torch.nn as nn\n"
        "lin = nn.Linear(4, 4)\n"
        "x, y = torch.ones(2, 4), torch.ones(3, 4)\n"
        "for batch in open('rows'):\n"
        "    lin(x)\n"
        "    x.data = torch.cat([x, y])\n"
        "    y.data = torch.load(batch)\n"
        "lin(x)\n"
    )
    trace = job(tmp_path, {"main.py": text})
    assert not trace.faults
    shapes = [node.outputs[0][1].shape for node in calls(trace)]
    assert shapes and all(shape is None or isinstance(shape, tuple) for shape in shapes)
    assert all(dim is None or isinstance(dim, int) for shape in shapes for dim in shape or ())


def test_what_would_settle_a_left_out_statement_can_be_given(tmp_path: Path) -> None:
    source = NET + "import os\nrank = int(os.environ['LOCAL_RANK'])\nwidth = None.size + 1\nNet()(torch.zeros(1, 4))\n"
    settled = [one.settle for one in job(tmp_path, {"main.py": source}).unknowns if one.reason == "error" and "(" in one.name]
    assert ("--launch", "LOCAL_RANK") in settled
    assert ("--set", "None.size + 1") in settled


def test_a_launch_that_the_job_refuses_says_where_and_why(tmp_path):
    write(tmp_path, {"main.py": """
import sys
from torch import nn
width = 3
if width % 2:
    sys.exit("the width must be even")
nn.Linear(width, 1)(None)
"""})
    with pytest.raises(UserError, match=r"no model found: .* exits at main\.py:<module>:6: the width must be even"):
        read_job(open_tree(str(tmp_path)), [], JobRequest(launch="python main.py"), [])
