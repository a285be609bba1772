"""Configuration trees: OmegaConf, Hydra, yacs, attribute dictionaries, Python config files, HyperPyYAML, record classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgx.errors import UserError

Run = Callable[..., dict[str, Any]]  # the fixture of conftest.py


def test_omegaconf(run: Run) -> None:
    code = """
from omegaconf import OmegaConf, DictConfig
from dataclasses import dataclass, field
@dataclass
class Model:
    dim: int = 4
    layers: int = 2
@dataclass
class Args:
    model: Model = field(default_factory=Model)
    lr: float = 0.1
default = OmegaConf.structured(Args())
file = OmegaConf.load("c.yaml")
cli = OmegaConf.from_cli()
cfg = OmegaConf.merge(default, file, cli)
obj = OmegaConf.to_object(cfg)
got = (obj.model.dim, obj.model.layers, obj.lr, type(obj).__name__)
has = ("model" in cfg, hasattr(cfg, "zz"), cfg.get("zz", 7), isinstance(cfg, DictConfig), isinstance(cfg, dict))
plain = OmegaConf.to_container(cfg, resolve=True)
cfg.extra = {"a": 1}
extra = cfg.extra.a
listed = [k for k in cfg.model]
splat = dict(**cfg.model)
picked = OmegaConf.select(cfg, "model.dim")
"""
    found = run(code, "'model.dim=${.layers}' lr=1e-4", {"c.yaml": "model:\n  layers: 8\n"})
    assert found["got"] == (8, 8, 1e-4, "Args") and found["has"] == (True, False, 7, True, False)
    assert found["plain"] == {"model": {"dim": 8, "layers": 8}, "lr": 1e-4}
    assert (
        found["extra"] == 1
        and found["listed"] == ["dim", "layers"]
        and found["splat"] == {"dim": 8, "layers": 8}
        and found["picked"] == 8
    )


def test_interpolation(run: Run) -> None:
    code = """
import os
from omegaconf import OmegaConf
OmegaConf.register_new_resolver("mul", lambda a, b: a * b)
cfg = OmegaConf.load("c.yaml")
got = (cfg.b, cfg.c.d, cfg.c.e, cfg.f, cfg.g, cfg.h, cfg.i)
home = cfg.home
"""
    text = """
        a: 3
        b: ${a}
        c: {d: "x${a}", e: "${.d}-${..b}"}
        f: ${mul:${a},4}
        g: ${oc.env:SIZE,9}
        h: ${list[1]}
        i: ${oc.env:NOT_SET,5}
        list: [1, 2]
        home: ${oc.env:HOME}
    """
    found = run(code, line="SIZE=7 python main.py", files={"c.yaml": text})
    assert found["got"] == (3, "x3", "x3-3", 12, "7", 2, 5) and found["home"] == "?environment"


def test_parts_of_a_tree_resolve_from_its_root_and_circles_end(run: Run) -> None:
    code = """
from omegaconf import OmegaConf
cfg = OmegaConf.create({"out": "o", "ckpt": {"out": "${out}", "n": 1}, "x": "${y}", "y": "${x}"})
part = OmegaConf.merge(cfg.ckpt, {"n": 2})
again = OmegaConf.create(cfg.ckpt)
got = (part.out, part.n, again.out)
x = cfg.x
"""
    found = run(code)
    assert found["got"] == ("o", 2, "o") and found["x"] == "?error"


def test_a_missing_file_in_a_merge_hides_what_it_may_override(run: Run) -> None:
    code = """
from omegaconf import OmegaConf
cfg = OmegaConf.merge({"lr": 1, "n": {"a": 2}}, OmegaConf.load("/etc/c.yaml"), OmegaConf.from_dotlist(["n.a=5"]))
lr, a = cfg.lr, cfg.n.a
"""
    found = run(code)
    assert (found["lr"], found["a"]) == ("?missing-file", 5)


HYDRA = """
import hydra
from omegaconf import DictConfig
from hydra.utils import instantiate
seen = []
class Net:
    def __init__(self, width, act=None, depth=1):
        self.width, self.act, self.depth = width, act, depth
def act(kind): return "act-" + kind
@hydra.main(config_path="conf", config_name="config", version_base=None)
def main(cfg: DictConfig):
    net = instantiate(cfg.model, depth=5)
    seen.append((net.width, net.act, net.depth, cfg.optim.lr, cfg.seed, cfg.trainer.steps, cfg.get("debug")))
if __name__ == "__main__":
    main()
"""
CONF = {
    "conf/config.yaml": "defaults:\n  - model: small\n  - optim: sgd\n  - trainer\n  - _self_\n  - optional local: default\nseed: 1\n",
    "conf/trainer.yaml": "trainer:\n  steps: 10\n",
    "conf/model/small.yaml": "_target_: main.Net\nwidth: 4\nact:\n  _target_: main.act\n  kind: relu\n",
    "conf/model/big.yaml": "defaults:\n  - small\nwidth: ${seed}0\n",
    "conf/optim/sgd.yaml": "lr: 0.1\n",
    "conf/optim/adam.yaml": "# @package _global_\noptim:\n  lr: 0.01\nseed: 3\n",
    "conf/experiment/a.yaml": "# @package _global_\ndefaults:\n  - override /model: big\nseed: 7\ntrainer: {steps: 99}\n",
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", (4, "act-relu", 5, 0.1, 1, 10, None)),
        ("model=big seed=2 trainer.steps=5 +debug=true", ("20", "act-relu", 5, 0.1, 2, 5, True)),
        ("optim=adam optim.lr=1e-4 model.width=9", (9, "act-relu", 5, 1e-4, 1, 10, None)),
        ("--config-name=config +experiment=a", ("70", "act-relu", 5, 0.1, 7, 99, None)),
    ],
)
def test_hydra(run: Run, words: str, expected: tuple[Any, ...]) -> None:
    assert run(HYDRA, words, CONF)["seen"] == [expected]


def test_hydra_options_in_folders_and_absolute_defaults(run: Run) -> None:
    code = """
import hydra
seen = []
@hydra.main(config_path="conf", config_name="config", version_base="1.1")
def main(cfg):
    seen.append((cfg.steps, cfg.data.name, cfg.lm.dim, cfg.opt.lr, cfg.extra.inner.k))
main()
"""
    conf = {
        "conf/config.yaml": "defaults:\n  - _self_\n  - data: small\n  - solver: default\n  - opt@opt: sgd\n  - part@extra.inner: a\nsteps: 1\n",
        "conf/data/small.yaml": "name: small\n",
        "conf/data/audio/big.yaml": "name: big\n",
        "conf/solver/default.yaml": "# @package _global_\nsteps: 2\n",
        "conf/solver/gen/base.yaml": "# @package __global__\ndefaults:\n  - gen/common\n  - /model: lm/x\n  - override /data: audio/big\n  - _self_\nsteps: 3\n",
        "conf/solver/gen/common.yaml": "# @package __global__\nlm: {dim: 1}\n",
        "conf/model/lm/x.yaml": "# @package _global_\ndefaults:\n  - lm/y\nlm: {dim: 7}\n",
        "conf/model/lm/y.yaml": "# @package _global_\nlm: {dim: 5}\n",
        "conf/opt/sgd.yaml": "lr: 0.1\n",
        "conf/part/a.yaml": "# @package _global_\nk: 4\n",
    }
    assert run(code, "solver=gen/base", conf)["seen"] == [(3, "big", 7, 0.1, 4)]


def test_hydra_says_what_is_missing(run: Run) -> None:
    with pytest.raises(UserError, match="is not in conf"):
        run(HYDRA, "--config-name=other", CONF)


def test_hydra_config_store(run: Run) -> None:
    code = """
import hydra
from dataclasses import dataclass
from hydra.core.config_store import ConfigStore
@dataclass
class Config:
    width: int = 4
    depth: int = 2
cs = ConfigStore.instance()
cs.store(name="config", node=Config)
seen = []
@hydra.main(version_base=None, config_name="config")
def main(cfg):
    seen.append((cfg.width, cfg.depth))
main()
"""
    assert run(code, "depth=9")["seen"] == [(4, 9)]


def test_a_file_of_the_name_of_a_stored_config_has_it_for_its_schema(run: Run) -> None:
    code = """
from dataclasses import dataclass, field
from hydra import compose, initialize
from hydra.core.config_store import ConfigStore
@dataclass
class Part:
    width: int = 4
    depth: int = 2
@dataclass
class Config:
    part: Part = field(default_factory=Part)
    lr: float = 0.1
ConfigStore.instance().store(name="config", node=Config)
with initialize(config_path="conf"):
    cfg = compose("config", overrides=["part.width=9"])
seen = (cfg.part.width, cfg.part.depth, cfg.lr)
"""
    assert run(code, "", {"conf/config.yaml": "defaults:\n  - _self_\npart:\n  depth: 3\n"})["seen"] == (9, 3, 0.1)


def test_yacs(run: Run) -> None:
    code = """
import argparse
from yacs.config import CfgNode as CN
_C = CN()
_C.BASE = ['']
_C.MODEL = CN()
_C.MODEL.WIDTH = 4
_C.MODEL.DIMS = (1, 2)
_C.LR = 0.1
p = argparse.ArgumentParser()
p.add_argument("--cfg")
p.add_argument("--opts", default=None, nargs="+")
args, _ = p.parse_known_args()
c = _C.clone()
c.defrost()
c.merge_from_file(args.cfg)
if args.opts:
    c.merge_from_list(args.opts)
c.freeze()
got = (c.MODEL.WIDTH, c.MODEL.DIMS, c.LR, _C.MODEL.WIDTH, isinstance(c, dict), "MODEL" in c)
"""
    files = {
        "a.yaml": "_BASE_: b.yaml\nMODEL:\n  WIDTH: 8\n",
        "b.yaml": "MODEL:\n  WIDTH: 6\n  DIMS: [3, 4]\nLR: 1e-3\n",
    }
    assert run(code, "--cfg a.yaml --opts LR 0.5", files)["got"] == (8, (3, 4), 0.5, 4, True, True)


def test_a_yacs_file_that_is_not_there_hides_the_defaults(run: Run) -> None:
    code = "from yacs.config import CfgNode as CN\nc = CN({'A': 1, 'B': {'C': 2}})\nc.merge_from_file('/x.yaml')\nc.merge_from_list(['A', '3'])\na, b = c.A, c.B.C\n"
    found = run(code)
    assert (found["a"], found["b"]) == (3, "?missing-file")


def test_attribute_dictionaries(run: Run) -> None:
    code = """
from easydict import EasyDict
from addict import Dict
import ml_collections, copy
e = EasyDict({"a": {"b": 1}})
e.c = 2
d = Dict()
d.x.y = 3
m = ml_collections.ConfigDict({"n": 1, "inner": {"k": 2}})
m.update({"inner": {"k": 5}})
twin = copy.deepcopy(m)
twin.n = 9
got = (e.a.b, e["c"], d.x.y, m.n, m.inner.k, twin.n, sorted(e.keys()), hasattr(e, "zz"))
"""
    assert run(code)["got"] == (1, 2, 3, 1, 5, 9, ["a", "c"], False)


def test_mmengine_config(run: Run) -> None:
    code = """
from mmengine.config import Config, DictAction
import argparse
p = argparse.ArgumentParser()
p.add_argument("config")
p.add_argument("--cfg-options", nargs="+", action=DictAction)
args = p.parse_args()
cfg = Config.fromfile(args.config)
if args.cfg_options is not None:
    cfg.merge_from_dict(args.cfg_options)
m = cfg.model
got = (m.type, m.depth, m.head.channels, "neck" in m, cfg.lr, cfg.get("epochs"), m.pop("type"))
"""
    files = {
        "configs/base/model.py": "model = dict(type='R', depth=50, neck=dict(a=1), head=dict(type='H', channels=256))\nlr = 0.1\n",
        "configs/a-b.py": "_base_ = ['./base/model.py']\nmodel = dict(depth=18, head=dict(_delete_=True, channels=64 * 2))\nepochs = 2 * 6\nlr = {{_base_.lr}}\n",
    }
    assert run(code, "configs/a-b.py --cfg-options model.depth=34", files)["got"] == ("R", 34, 128, True, 0.1, 12, "R")


def test_hyperpyyaml(run: Run) -> None:
    code = """
import sys
from hyperpyyaml import load_hyperpyyaml
import speechbrain as sb
hparams_file, run_opts, overrides = sb.parse_arguments(sys.argv[1:])
with open(hparams_file) as fin:
    h = load_hyperpyyaml(fin, overrides)
net = h["net"]
got = (net.width, net.inner.width, h["path"], h["double"], h["shared"] is net, h["pair"], h["make"](3).width)
"""
    files = {
        "pkg/__init__.py": "",
        "pkg/net.py": "class Net:\n    def __init__(self, width, inner=None):\n        self.width, self.inner = width, inner\n",
        "h.yaml": (
            "width: 4\nroot: out\npath: !ref <root>/logs\ndouble: !ref <width> * 2\npair: !tuple (1, 2)\n"
            "net: !new:pkg.net.Net\n  width: !ref <double>\n  inner: !new:pkg.net.Net\n    width: 1\nshared: !ref <net>\nmake: !name:pkg.net.Net\n"
        ),
    }
    assert run(code, "h.yaml --width=10", files)["got"] == (20, 1, "out/logs", 20, True, (1, 2), 3)


def test_pydantic_and_attrs(run: Run) -> None:
    code = """
from typing import Optional, List
from pydantic import BaseModel, Field, field_validator, model_validator
import attr, attrs
class Inner(BaseModel):
    n: int = 1
class Args(BaseModel):
    name: str
    size: int = Field(default=4, ge=1)
    inner: Inner = Field(default_factory=Inner)
    many: List[Inner] = []
    ratio: Optional[float] = None
    @field_validator("size")
    def twice(cls, v):
        return v * 2
    @model_validator(mode="after")
    def rest(self):
        if self.ratio is None:
            self.ratio = self.size / 2
        return self
a = Args(name="x", size="3", inner={"n": 7}, many=[{"n": 2}])
got = (a.name, a.size, a.inner.n, a.many[0].n, a.ratio, a.model_dump()["inner"], isinstance(a, BaseModel))
@attr.s(auto_attribs=True)
class P:
    x: int
    y: int = attr.ib(default=2)
    z: list = attr.ib(factory=list)
@attrs.define
class Q:
    a: int = 1
    def __attrs_post_init__(self):
        self.b = self.a + 1
p, q = P(1), Q(a=5)
more = (p.x, p.y, p.z, q.b)
"""
    found = run(code)
    assert found["got"] == ("x", 6, 7, 2, 3.0, {"n": 7}, True) and found["more"] == (1, 2, [], 6)


def test_subclasses_of_nodes(run: Run) -> None:
    code = """
from fvcore.common.config import CfgNode as Base
class CfgNode(Base):
    def merge_from_file(self, name, allow_unsafe=True):
        raise NotImplementedError
CN = CfgNode
_C = CN()
_C.MODEL = CN(new_allowed=True)
_C.MODEL.WIDTH = 4
_C.LR = 0.1
c = _C.clone()
c.merge_from_file("a.yaml")
c.merge_from_list(["LR", "0.5"])
got = (c.MODEL.WIDTH, c.LR, isinstance(c, CfgNode), isinstance(c, dict), _C.MODEL.WIDTH)
"""
    assert run(code, files={"a.yaml": "MODEL: {WIDTH: 8}\n"})["got"] == (8, 0.5, True, True, 4)


def test_lazy_config(run: Run) -> None:
    code = """
import argparse
from detectron2.config import LazyConfig, instantiate
p = argparse.ArgumentParser()
p.add_argument("--config-file")
p.add_argument("opts", nargs=argparse.REMAINDER)
args = p.parse_args()
cfg = LazyConfig.load(args.config_file)
cfg = LazyConfig.apply_overrides(cfg, args.opts)
net = instantiate(cfg.model)
got = (net.width, net.inner.width, cfg.train.steps)
"""
    files = {
        "net.py": "class Net:\n    def __init__(self, width, inner=None):\n        self.width, self.inner = width, inner\n",
        "configs/__init__.py": "",
        "configs/base.py": "train = dict(steps=5)\n",
        "configs/a.py": "from detectron2.config import LazyCall as L\nfrom net import Net\nfrom .base import train\nmodel = L(Net)(width=4, inner=L(Net)(width=2))\n",
    }
    assert run(code, "--config-file configs/a.py train.steps=9 model.width=8", files)["got"] == (8, 2, 9)


def test_registries_of_libraries(run: Run) -> None:
    code = """
from fvcore.common.registry import Registry
from mmengine.registry import Registry as MM
ARCH = Registry("ARCH")
@ARCH.register()
class Net:
    def __init__(self, width=1): self.width = width
ARCH.register(dict) if False else None
MODELS = MM("model")
CHILD = MM("model", parent=MODELS, scope="x")
@MODELS.register_module(name=["A", "B"])
class Head:
    def __init__(self, n, m=2): self.n, self.m = n, m
@CHILD.register_module()
class Own(Head): ...
made = CHILD.build(dict(type="B", n=5), default_args=dict(m=7))
got = (ARCH.get("Net")(3).width, "Net" in ARCH, made.n, made.m, CHILD.build(dict(type="x.Own", n=1)).n, CHILD.get("zz"))
"""
    assert run(code)["got"] == (3, True, 5, 7, 1, None)


def test_hparams_of_tensorflow(run: Run) -> None:
    names = run(
        """
        import tensorflow as tf
        hparams = tf.contrib.training.HParams(epochs=5, lr=0.1, sizes=[1, 2], name="a")
        hparams.parse("lr=0.5,sizes=[3,4],name=b")
        epochs, lr, sizes, name, all_of = hparams.epochs, hparams.lr, hparams.sizes, hparams.name, hparams.values()["epochs"]
        """
    )
    assert (names["epochs"], names["lr"], names["sizes"], names["name"], names["all_of"]) == (5, 0.5, [3, 4], "b", 5)


def test_a_subclass_with_a_constructor_of_its_own_is_a_dictionary_too(run: Run) -> None:
    code = """
from addict import Dict

class Config(Dict):
    def __init__(__self, *args, **kwargs):
        object.__setattr__(__self, "__frozen", False)
        for arg in args:
            for key, value in arg.items():
                __self[key] = value

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except KeyError:
            raise AttributeError(name)

c = Config({"a": 1, "b": {"c": 2}})
got = (c.a, c["b"]["c"], len(c), sorted(c.keys()))
"""
    assert run(code)["got"] == (1, 2, 2, ["a", "b"])
