"""What classes tell of themselves: fields of dataclasses, members of enumerations, types as text; scripted modules."""

from __future__ import annotations

from pathlib import Path

from interpreted import called, calls, job, reasons

RUN = "import torch\ntorch.nn.Linear(width, 2)(torch.zeros(1, width))\n"


def width(folder: Path, source: str) -> int:
    trace = job(folder, {"main.py": source + RUN})
    assert not reasons(trace), reasons(trace)
    shape = next(calls(trace)).inputs[0][1].shape
    return int(shape[-1])


def test_fields_of_a_dataclass_by_its_own_name_for_them(tmp_path: Path) -> None:
    source = """
from dataclasses import dataclass, field, MISSING
from typing import List, Optional

@dataclass
class Options:
    width: Optional[int] = field(default=6, metadata={"help": "more", "times": 2})
    names: List[str] = field(default_factory=list)
    must: int = field()

held = Options(must=1).__dataclass_fields__["width"]
assert str(held.type).startswith("typing.Optional") and not isinstance(held.type, type)
assert str(Options.__dataclass_fields__["names"].type) == "typing.List[str]"
assert Options.__dataclass_fields__["must"].default is MISSING
width = held.default * held.metadata["times"] * (1 if held.default_factory is MISSING else 5)
"""
    assert width(tmp_path, source) == 12


def test_enumerations_made_by_a_call(tmp_path: Path) -> None:
    source = """
from enum import Enum

class Text(Enum):
    def __str__(self):
        return self.value

Choice = Text("Choice", {one: one for one in ("json", "none")})
Size = Enum("Size", "small large")
assert [one.value for one in Choice] == ["json", "none"] and str(Choice.json) == "json"
width = Size.large.value * 4
"""
    assert width(tmp_path, source) == 8


def test_a_text_with_a_part_that_is_not_known_is_not_empty(tmp_path: Path) -> None:
    source = """
import os
name = f"out/{os.environ['NAME']}.pt"
width = 3 if name and len(name) > 0 else 4
"""
    assert width(tmp_path, source) == 3


def test_scripted_modules_are_modules(tmp_path: Path) -> None:
    source = """
import torch

class Part(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    @torch.jit.script_method
    def forward(self, x):
        return self.layer(x)

Part()(torch.zeros(1, 2))
"""
    assert called(job(tmp_path, {"main.py": source})) == ["Part", "Linear"]


def test_an_object_under_a_name_that_is_not_known_is_found_there(tmp_path: Path) -> None:
    source = """
import time

class Hub:
    held = {}

    def __init__(self, width):
        self.width = width

    @classmethod
    def get(cls, name, width=0):
        if name not in cls.held:
            cls.held[name] = cls(width)
        return cls.held[name]

name = f"run_{time.time()}"
Hub.get(name, 5)
width = Hub.get(name).width
"""
    assert width(tmp_path, source) == 5


def test_bases_that_a_decorator_puts_before_a_class(tmp_path: Path) -> None:
    source = """
class State:
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.width = 5
    def more(self):
        return self.width + 1
def stateful(cls):
    cls.__bases__ = (State,) + tuple(b for b in cls.__bases__ if b is not State and b is not object)
    return cls
class Base:
    def __init__(self):
        self.base = True
@stateful
class Held(Base):
    def __init__(self):
        super().__init__()
held = Held()
width = held.more() if held.base else 1
"""
    assert width(tmp_path, source) == 6
