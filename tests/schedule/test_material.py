"""What is listed under ``unresolved``: what an entry depends on, not every condition that was left open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from test_first_rounds import HEAD, rows

STEP = "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor i in range(1000):\n    net(torch.zeros(2, 4, device='cuda')).backward()\n    opt.step()\n"


def open_names(folder: Path, source: str) -> list[Any]:
    return [(row["name"], row["code_anchor"]) for row in rows(folder, "import os, subprocess\n" + HEAD + source)["unresolved"]]


def test_a_condition_without_effect_is_not_listed(tmp_path: Path) -> None:
    source = (
        "if not os.path.exists('out'):\n    os.makedirs('out')\n"
        "name = subprocess.run('lspci', capture_output=True).stdout\npeak = 312e12 if 'A100' in name else 989e12\n"
    )
    assert open_names(tmp_path, source + STEP) == []


def test_a_condition_round_an_entry_is_listed_once(tmp_path: Path) -> None:
    source = "host = subprocess.getoutput('hostname')\n" + STEP + "    if host.startswith('a'):\n        dist.barrier()\n    if not host.startswith('a'):\n        dist.barrier()\n"
    assert [name for name, _ in open_names(tmp_path, source)] == ["subprocess.getoutput('hostname')"]


def test_a_condition_behind_a_value_is_listed(tmp_path: Path) -> None:
    """The file decides a constant, the constant an entry."""
    source = "often = 10\nif os.path.exists('often.txt'):\n    often = 0\n" + STEP + "    if often:\n        dist.barrier()\n"
    assert [name for name, _ in open_names(tmp_path, source)] == ["os.path.exists('often.txt')"]


def test_a_size_is_named_as_the_source_names_it(tmp_path: Path) -> None:
    source = "found = torch.rand(4, device='cuda').nonzero()\n" + STEP + "    if found.size(0) > 3:\n        dist.barrier()\n"
    assert [name for name, _ in open_names(tmp_path, source)] == ["found.size(0)"]
