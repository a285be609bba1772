"""Command-line libraries: what the launch line, files and defaults make of a job's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgx.errors import UserError

Run = Callable[..., dict[str, Any]]  # the fixture of conftest.py

RECORDS = """
from dataclasses import dataclass, field
from typing import Optional, Literal, List, Tuple
from enum import Enum
class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"
@dataclass
class Optim:
    lr: float = 0.1
    betas: Tuple[float, float] = (0.9, 0.95)
@dataclass
class Config:
    width: int = 4
    name: Optional[str] = None
    layers: List[int] = field(default_factory=lambda: [1, 2])
    kind: Literal["a", "b"] = "a"
    mode: Mode = Mode.FAST
    amp: bool = False
    optim: Optim = field(default_factory=Optim)
"""


def test_tyro(run: Run) -> None:
    code = (
        RECORDS
        + "import tyro\nc = tyro.cli(Config)\ngot = (c.width, c.name, c.layers, c.kind, c.mode.name, c.amp, c.optim.lr, c.optim.betas)\n"
    )
    words = "--width 8 --name=x --layers 3 4 5 --kind b --mode SLOW --amp --optim.lr 1e-3 --optim.betas 0.1 0.2"
    assert run(code, words)["got"] == (8, "x", [3, 4, 5], "b", "SLOW", True, 1e-3, (0.1, 0.2))
    assert run(code, "--no-amp")["got"] == (4, None, [1, 2], "a", "FAST", False, 0.1, (0.9, 0.95))
    with pytest.raises(UserError, match="no option --wide"):
        run(code, "--wide 3")


def test_tyro_default_instance_and_functions(run: Run) -> None:
    code = RECORDS + (
        "import tyro\nc = tyro.cli(Config, default=Config(width=9, optim=Optim(lr=5.0)))\nseen = []\n"
        "def main(n: int, rate: float = 0.5):\n    seen.append((n, rate))\n    return n\n"
        "got = (c.width, c.optim.lr, c.optim.betas)\n"
    )
    assert run(code, "--optim.betas 0.5 0.6")["got"] == (9, 5.0, (0.5, 0.6))
    function = "import tyro\ndef main(n: int, rate: float = 0.5):\n    return n, rate\nif __name__ == '__main__':\n    got = tyro.cli(main)\n"
    assert run(function, "--n 3 --rate 2")["got"] == (3, 2.0)


def test_jsonargparse(run: Run) -> None:
    code = (
        RECORDS
        + """
from jsonargparse import CLI
from pathlib import Path
seen = []
class Data:
    def __init__(self, size: int = 1): self.size = size
class Small(Data): ...
def fit(model: str, out: Path = Path("out"), data: Optional[Data] = None, optim: Optim = Optim(lr=2.0), devices: int | str = "auto"):
    seen.append((model, str(out), type(data).__name__, getattr(data, "size", None), optim.lr, optim.betas, devices))
def test(n: int = 1): ...
CLI({"fit": fit, "test": test})
"""
    )
    found = run(
        code,
        "fit big --config c.yaml --data Small --data.size 7 --optim.lr=0.5 --devices 2",
        {"c.yaml": "out: elsewhere\ndevices: 9\n"},
    )
    assert found["seen"] == [("big", "elsewhere", "Small", 7, 0.5, (0.9, 0.95), 2)]
    assert run(code, "fit big")["seen"] == [("big", "out", "NoneType", None, 2.0, (0.9, 0.95), "auto")]
    with pytest.raises(UserError, match="lacks model"):
        run(code, "fit")
    with pytest.raises(UserError, match="no option --x"):
        run(code, "fit big --x 1")


def test_a_config_file_that_is_not_there_hides_the_defaults(run: Run) -> None:
    code = "from jsonargparse import CLI\nseen = []\ndef fit(a: int = 1, b: int = 2):\n    seen.extend([a, b])\nCLI(fit)\nx, y = seen\n"
    found = run(code, "--config /etc/c.yaml --b 5")
    assert (found["x"], found["y"]) == ("?missing-file", 5)


def test_hf_argument_parser(run: Run) -> None:
    code = (
        RECORDS
        + """
from transformers import HfArgumentParser, TrainingArguments
@dataclass
class Model:
    path: str
    depth: int = 2
    fast: bool = True
parser = HfArgumentParser((Model, Config, TrainingArguments))
model, config, training = parser.parse_args_into_dataclasses()
got = (model.path, model.depth, model.fast, config.width, config.layers)
"""
    )
    assert run(code, "--path x --depth 3 --fast False --layers 7 8 --output_dir o --learning_rate 1e-4")["got"] == (
        "x",
        3,
        False,
        4,
        [7, 8],
    )


def test_simple_parsing_and_pyrallis(run: Run) -> None:
    simple = (
        RECORDS
        + "from simple_parsing import ArgumentParser\np = ArgumentParser()\np.add_arguments(Config, dest='c')\na = p.parse_args()\ngot = (a.c.width, a.c.optim.lr)\n"
    )
    assert run(simple, "--width 8 --lr 0.5")["got"] == (8, 0.5)
    wrapped = (
        RECORDS
        + "import pyrallis\nseen = []\n@pyrallis.wrap()\ndef main(c: Config):\n    seen.append((c.width, c.optim.lr, c.kind))\nmain()\n"
    )
    assert run(wrapped, "--config_path=c.yaml --optim.lr 0.5", {"c.yaml": "width: 6\nkind: b\n"})["seen"] == [
        (6, 0.5, "b")
    ]


def test_fire(run: Run) -> None:
    code = """
import fire
seen = []
class Job:
    def __init__(self, root="r"):
        self.root = root
    def train(self, n, rate=0.1, flag=False, names=()):
        seen.append((self.root, n, rate, flag, names))
def main(ckpt: str, temperature: float = 0.6, max_seq_len: int = 512, **kw):
    seen.append((ckpt, temperature, max_seq_len, kw))
if __name__ == '__main__':
    fire.Fire({"main": main, "job": Job})
"""
    assert run(code, "main --ckpt x --temperature=0.5 --max-seq-len 128 --other [1,2]")["seen"] == [
        ("x", 0.5, 128, {"other": [1, 2]})
    ]
    assert run(code, "job --root q train 3 --rate 2 --flag --names [a,b]")["seen"] == [("q", 3, 2, True, ["a", "b"])]
    assert run(code, "main path")["seen"] == [("path", 0.6, 512, {})]


def test_click(run: Run) -> None:
    code = """
import click
seen = []
def check(ctx, param, value):
    return [int(x) for x in value.split(",")]
@click.command()
@click.pass_context
@click.option("--outdir", help="Where", required=True)
@click.option("--batch-size", "batch", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--amp/--no-amp", default=True)
@click.option("--fast", is_flag=True)
@click.option("--tag", multiple=True)
@click.option("--dims", callback=check, default="1,2")
@click.option("--arch", type=click.Choice(["a", "b"]), default="a")
@click.argument("files", nargs=-1)
def main(ctx, **kwargs):
    seen.append(kwargs)
if __name__ == "__main__":
    main()
"""
    assert run(code, "--outdir o --batch-size 8 --no-amp --tag x --tag y --dims 3,4 --arch b f1 f2")["seen"] == [
        {
            "outdir": "o",
            "batch": 8,
            "amp": False,
            "fast": False,
            "tag": ("x", "y"),
            "dims": [3, 4],
            "arch": "b",
            "files": ("f1", "f2"),
        }
    ]
    with pytest.raises(UserError, match="required: --outdir"):
        run(code, "")
    group = "import click\nseen = []\n@click.group()\ndef cli(): ...\n@cli.command()\n@click.option('--n', default=1)\ndef train(n):\n    seen.append(n)\ncli()\n"
    assert run(group, "train --n 5")["seen"] == [5]


def test_typer(run: Run) -> None:
    code = """
import typer
from typing import Optional, List
from typing_extensions import Annotated
app = typer.Typer()
seen = []
@app.command()
def train(data: str, epochs: int = 3, lr: float = typer.Option(0.1, "--lr", "-l"), amp: bool = False, tags: Optional[List[str]] = None):
    seen.append((data, epochs, lr, amp, tags))
@app.command()
def evaluate(n: int = 1):
    seen.append(n)
if __name__ == "__main__":
    app()
"""
    assert run(code, "train path --epochs 5 -l 0.5 --amp --tags a --tags b")["seen"] == [
        ("path", 5, 0.5, True, ["a", "b"])
    ]
    assert run("import typer\nseen = []\ndef main(x: int = 2):\n    seen.append(x)\ntyper.run(main)\n", "--x 4")[
        "seen"
    ] == [4]


def test_absl(run: Run) -> None:
    code = """
from absl import app, flags
from ml_collections import config_flags
FLAGS = flags.FLAGS
flags.DEFINE_string("workdir", None, "where")
flags.DEFINE_integer("steps", 10, "n")
flags.DEFINE_bool("amp", True, "x")
flags.DEFINE_list("dims", "1,2", "x")
config_flags.DEFINE_config_file("config", None, "x")
seen = []
def main(argv):
    seen.append((FLAGS.workdir, FLAGS.steps, FLAGS.amp, FLAGS.dims, FLAGS.config.model.width, FLAGS.config.lr, len(argv)))
if __name__ == "__main__":
    app.run(main)
"""
    config = "import ml_collections\ndef get_config():\n    c = ml_collections.ConfigDict()\n    c.lr = 0.1\n    c.model = ml_collections.ConfigDict({'width': 4})\n    return c\n"
    words = "--workdir w --steps=20 --noamp --config=configs/a.py --config.model.width=8 rest"
    assert run(code, words, {"configs/a.py": config})["seen"] == [("w", 20, False, ["1", "2"], 8, 0.1, 2)]


def test_lightning_cli(run: Run) -> None:
    code = """
from lightning.pytorch.cli import LightningCLI
from lightning.pytorch import LightningModule, LightningDataModule
seen = []
class Net(LightningModule):
    def __init__(self, width: int = 4, classes: int = 2, lr: float = 0.1):
        super().__init__()
        seen.append((width, classes, lr))
class Data(LightningDataModule):
    def __init__(self, classes: int = 10, path: str = "."):
        super().__init__()
        seen.append((classes, path))
class CLI(LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.link_arguments("data.classes", "model.classes", compute_fn=lambda n: int(n) + 1)
cli = CLI(Net, Data, run=False)
trainer = cli.trainer
epochs = trainer.max_epochs
"""
    found = run(
        code,
        "--config c.yaml --model.width 8 --data.classes=5 --trainer.max_epochs 3",
        {"c.yaml": "model:\n  lr: 1e-3\ndata:\n  path: here\n"},
    )
    assert found["seen"] == [(5, "here"), (8, 6, 1e-3)] and found["epochs"] == 3


def test_lightning_cli_subcommand_and_class_path(run: Run) -> None:
    net = """
from lightning.pytorch import LightningModule
seen = []
class Net(LightningModule):
    def __init__(self, width: int = 4):
        super().__init__()
        seen.append(width)
"""
    code = "from lightning.pytorch.cli import LightningCLI\nfrom net import seen\nif __name__ == '__main__':\n    LightningCLI()\n"
    assert run(code, "fit --model net.Net --model.width 16", {"net.py": net})["seen"] == [16]
    with pytest.raises(UserError, match="no subcommand of: fit"):
        run(code, "--model net.Net")


def test_hf_arguments_that_derive_from_the_library(run: Run) -> None:
    code = """
from dataclasses import dataclass, field
from typing import Optional
import transformers
@dataclass
class TrainingArguments(transformers.TrainingArguments):
    cache_dir: Optional[str] = field(default=None)
    model_max_length: int = field(default=512)
parser = transformers.HfArgumentParser((TrainingArguments,))
args, = parser.parse_args_into_dataclasses()
got = (args.model_max_length, args.bf16, args.per_device_train_batch_size, args.gradient_accumulation_steps, args.learning_rate)
"""
    words = "--model_max_length 64 --bf16 True --output_dir o --gradient_accumulation_steps 8 --learning_rate 2e-5"
    assert run(code, words)["got"] == (64, True, 8, 8, 2e-5)


def test_saved_hyperparameters(run: Run) -> None:
    code = """
import torch
from lightning import LightningModule, LightningDataModule
class Net(LightningModule):
    def __init__(self, width=4, net=None, **extra):
        super().__init__()
        self.save_hyperparameters(ignore=["net"])
        self.layer = torch.nn.Linear(self.hparams.width, self.hparams["out"])
class Data(LightningDataModule):
    def __init__(self, batch_size=8):
        super().__init__()
        self.save_hyperparameters(logger=False)
n, d = Net(6, net=1, out=3), Data()
got = (n.hparams.width, "net" in n.hparams, n.layer.out_features, d.hparams.batch_size, dict(**n.hparams))
"""
    assert run(code)["got"] == (6, False, 3, 8, {"width": 6, "out": 3})
