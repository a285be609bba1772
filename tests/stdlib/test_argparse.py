"""argparse as jobs use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgx.errors import UserError
from cgx.indexer.interpreter.values import ByRank

Run = Callable[..., dict[str, Any]]  # the fixture of conftest.py

HEAD = "import argparse\np = argparse.ArgumentParser()\n"


def args_of(run: Run, body: str, words: str = "") -> dict[str, object]:
    found = run(HEAD + body + "\nargs = p.parse_args()\n", words)
    return found["args"]


def test_types_defaults_and_flags(run: Run) -> None:
    body = """
p.add_argument("data", nargs="?", default="here")
p.add_argument("-j", "--workers", default=4, type=int, metavar="N")
p.add_argument("--lr", "--learning-rate", default=0.1, type=float, dest="lr")
p.add_argument("--amp", action="store_true")
p.add_argument("--no-pin", action="store_false", dest="pin")
p.add_argument("-v", action="count", default=0)
p.add_argument("--sizes", nargs="+", type=int, default=[1])
p.add_argument("--tag", action="append")
p.add_argument("--size-text", type=int, default="7")
p.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
"""
    assert args_of(run, body, "-j 8 --learning-rate 3e-4 --amp --no-pin -vv --sizes 1 2 --tag a --tag b --no-compile") == {
        "data": "here", "workers": 8, "lr": 3e-4, "amp": True, "pin": False, "v": 2, "sizes": [1, 2], "tag": ["a", "b"], "size_text": 7,
        "compile": False,
    }  # fmt: skip


def test_types_of_the_analysed_code(run: Run) -> None:
    body = """
from pathlib import Path
import json
def pair(text):
    a, b = text.split("x")
    return int(a), int(b)
def strict(text):
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError("on or off")
    return text == "on"
p.add_argument("--size", type=pair, default="2x3")
p.add_argument("--flag", type=strict, default=False)
p.add_argument("--root", type=Path, default=Path("a") / "b")
p.add_argument("--extra", type=json.loads, default={})
p.add_argument("--half", type=lambda s: float(s) / 2)
"""
    found = args_of(run, body, """--size 4x5 --flag on --extra '{"k": [1]}' --half 3""")
    assert found == {"size": (4, 5), "flag": True, "root": "a/b", "extra": {"k": [1]}, "half": 1.5}


def test_a_wrong_line_is_the_users_error(run: Run) -> None:
    body = 'p.add_argument("--n", type=int)\np.add_argument("--m", choices=["a", "b"])\np.add_argument("--must", required=True)'
    for words, says in [
        ("--must 1 --n x", "invalid int value: 'x'"),
        ("--must 1 --m c", "invalid choice: 'c'"),
        ("", "the following arguments are required: --must"),
        ("--must 1 --more", "unrecognized arguments: --more"),
    ]:
        with pytest.raises(UserError, match=r"arguments do not fit main\.py") as error:
            args_of(run, body, words)
        assert says in str(error.value) and "\n" not in str(error.value)


def test_groups_parents_subparsers_and_defaults(run: Run) -> None:
    code = """
import argparse
base = argparse.ArgumentParser(add_help=False)
base.add_argument("--seed", type=int, default=1)
p = argparse.ArgumentParser(parents=[base])
g = p.add_argument_group("model")
g.add_argument("--depth", type=int, default=2)
m = p.add_mutually_exclusive_group()
m.add_argument("--cpu", action="store_true")
m.add_argument("--gpu", action="store_true")
sub = p.add_subparsers(dest="command", required=True)
fit = sub.add_parser("fit", aliases=["train"])
fit.add_argument("--epochs", type=int, default=3)
fit.set_defaults(func=print)
p.set_defaults(depth=12, other="x")
args = p.parse_args()
depth = p.get_default("depth")
"""
    found = run(code, "--seed 5 --gpu fit --epochs 9")
    args = found["args"]
    assert {k: args[k] for k in ("seed", "depth", "cpu", "gpu", "command", "epochs", "other")} == {
        "seed": 5, "depth": 12, "cpu": False, "gpu": True, "command": "fit", "epochs": 9, "other": "x",
    }  # fmt: skip
    assert found["depth"] == 12


def test_two_stages_with_yaml_defaults(run: Run) -> None:
    code = """
import argparse, yaml
first = argparse.ArgumentParser(add_help=False)
first.add_argument("-c", "--config", default="", type=str)
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--model", default="a")
p.add_argument("--epochs", type=int, default=1)
cfg, rest = first.parse_known_args()
if cfg.config:
    with open(cfg.config) as f:
        p.set_defaults(**yaml.safe_load(f))
args = p.parse_args(rest)
text = yaml.safe_dump(vars(args), default_flow_style=False)
"""
    files = {"conf/a.yaml": "lr: 0.5\nmodel: b\n"}
    assert run(code, "-c conf/a.yaml --model c", files)["args"] == {"lr": 0.5, "model": "c", "epochs": 1}


def test_a_file_that_is_not_there_hides_the_defaults(run: Run) -> None:
    code = """
import argparse, yaml
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--model", default="a")
p.set_defaults(**yaml.safe_load(open("/etc/job.yaml")))
args = p.parse_args()
"""
    assert run(code, "--model c")["args"] == {"lr": "?missing-file", "model": "c"}


def test_words_that_are_not_known(run: Run) -> None:
    body = 'p.add_argument("--data")\np.add_argument("--n", type=int, choices=[1])\np.add_argument("--m", default=1)'
    assert args_of(run, body, "--data=$DATA --n $N") == {"data": "?environment", "n": "?environment", "m": 1}


def test_words_that_differ_by_rank(run: Run) -> None:
    code = HEAD + (
        'p.add_argument("--local_rank", "--local-rank", type=int, default=-1)\np.add_argument("--n", type=int)\n'
        "args = p.parse_args()\nr, n = args.local_rank, args.n\n"
    )
    found = run(code, line="deepspeed --num_gpus 2 main.py --n 3", raw=True)
    assert isinstance(found["r"], ByRank) and found["r"].values == (0, 1)
    assert found["n"] == 3


def test_the_older_spelling_of_the_local_rank(run: Run) -> None:
    code = HEAD + 'p.add_argument("--local_rank", type=int)\nargs = p.parse_args()\nr = args.local_rank\n'
    assert run(code, line="python -m torch.distributed.launch --nproc_per_node 2 main.py", raw=True)["r"].values == (
        0,
        1,
    )


def test_custom_actions_and_subclasses(run: Run) -> None:
    code = """
import argparse
class Pairs(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        held = getattr(namespace, self.dest) or {}
        for value in values:
            k, v = value.split("=")
            held[k] = v
        setattr(namespace, self.dest, held)
class Parser(argparse.ArgumentParser):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.add_argument("--base", type=int, default=1)
p = Parser(description="x")
p.add_argument("--opts", nargs="*", action=Pairs, default={})
args = p.parse_args()
"""
    assert run(code, "--opts a=1 b=2")["args"] == {"base": 1, "opts": {"a": "1", "b": "2"}}


def test_namespaces_are_objects(run: Run) -> None:
    code = (
        HEAD
        + """
p.add_argument("--a", type=int, default=1)
args = p.parse_args(["--a", "2"])
args.b = args.a + 1
setattr(args, "c", 4)
has = (hasattr(args, "b"), hasattr(args, "zz"), "a" in args)
table = vars(args)
listed = sorted(table)
other = argparse.Namespace(**table)
total = other.a + other.b + other.c
is_ns = isinstance(args, argparse.Namespace)
"""
    )
    found = run(code)
    assert found["has"] == (True, False, True) and found["listed"] == ["a", "b", "c"]
    assert found["total"] == 9 and found["is_ns"] is True


def test_flags_made_in_a_loop(run: Run) -> None:
    code = """
import argparse
from dataclasses import dataclass, fields
@dataclass
class Config:
    width: int = 4
    rate: float = 0.5
    name: str = "a"
p = argparse.ArgumentParser()
for field in fields(Config):
    p.add_argument("--" + field.name, type=field.type, default=field.default)
config = Config(**vars(p.parse_args()))
got = (config.width, config.rate, config.name)
"""
    assert run(code, "--width 8 --name b")["got"] == (8, 0.5, "b")


DERIVED = """
import dataclasses, enum, types, typing
from dataclasses import dataclass, field
from typing import Literal, Optional

class Kind(enum.Enum):
    a = 1
    b = 2

@dataclass
class Conf:
    size: int = 4
    n: Optional[int] = None
    on: bool = True
    names: list[str] = field(default_factory=list)
    mode: Literal["x", "y"] = "x"
    kind: Kind = Kind.a

def words(kind):
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"type": lambda word: kind[word]}
    if origin is None:
        return {"type": kind}
    if origin in [types.UnionType, typing.Union]:
        assert inner[1] == type(None)
        return words(inner[0])
    if origin is list:
        return {**words(inner[0]), "nargs": "+"}
    return {"type": type(inner[0]), "choices": inner}

for one in dataclasses.fields(Conf):
    options = words(one.type)
    options["default"] = one.default_factory() if isinstance(one.default, type(dataclasses.MISSING)) else one.default
    if options["type"] == bool:
        options.pop("type")
        p.add_argument("--no-" + one.name, dest=one.name, action="store_false")
    else:
        p.add_argument("--" + one.name, **options)
"""


def test_arguments_that_follow_from_the_types_of_fields(run: Run) -> None:
    found = args_of(run, DERIVED, "--n 3 --no-on --names a b --mode y")
    assert {name: found[name] for name in ("size", "n", "on", "names", "mode")} == {
        "size": 4, "n": 3, "on": False, "names": ["a", "b"], "mode": "y"}  # fmt: skip
    assert args_of(run, DERIVED)["names"] == []


def test_a_group_leaves_out_what_no_word_gives(run: Run) -> None:
    code = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float)
g = p.add_argument_group("model", argument_default=argparse.SUPPRESS)
g.add_argument("--depth", type=int)
g.add_argument("--width", type=int, default=8)
g.add_argument("--heads", type=int)
args = p.parse_args()
depth = getattr(args, "depth", 6)
"""
    found = run(code, "--heads 2")
    assert found["args"] == {"lr": None, "width": 8, "heads": 2}
    assert found["depth"] == 6
