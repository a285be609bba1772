"""Objects of classes that nobody knows: what they give is not known either."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, called, job

OBJECT = NET + "import zoo, inspect\nthing = zoo.Thing()\n"


def test_a_member_that_is_read_decides_nothing(tmp_path: Path) -> None:
    source = OBJECT + "if thing.ndim == 3:\n    Net()(torch.zeros(1, 4))\nelse:\n    raise ValueError('not supported')\n"
    assert called(job(tmp_path, {"main.py": source})) == ["Net", "Linear"]


def test_calling_an_instance_gives_no_other_instance(tmp_path: Path) -> None:
    source = OBJECT + "made = thing(1)\nif isinstance(made, zoo.Thing):\n    pass\nelse:\n    Net()(torch.zeros(1, 4))\n"
    assert called(job(tmp_path, {"main.py": source})) == ["Net", "Linear"]


def test_constants_of_a_known_class_are_asked_of_its_instances_too(tmp_path: Path) -> None:
    source = OBJECT + (
        "def f(*, a): pass\nfor p in inspect.signature(f).parameters.values():\n    if p.kind == p.KEYWORD_ONLY:\n        Net()(torch.zeros(1, 4))\n"
        "    if p.kind == p.POSITIONAL_ONLY:\n        Net()(torch.zeros(1, 4))\n"
    )
    assert called(job(tmp_path, {"main.py": source})) == ["Net", "Linear"]
