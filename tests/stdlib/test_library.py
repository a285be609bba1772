"""The rest of the standard library, as jobs use it: constants stay constants, what only the run knows is said so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgx.indexer.interpreter.values import ByRank

Run = Callable[..., dict[str, Any]]  # the fixture of conftest.py


def test_environment(run: Run) -> None:
    code = """
import os
a = int(os.environ.get("A", 1))
b = os.getenv("NOT_SET", "x")
c = os.environ["A"]
home = os.environ.get("HOME")
other = os.environ["SOMETHING"]
ddp = int(os.environ.get("RANK", -1)) != -1
held = ("A" in os.environ, "WORLD_SIZE" in os.environ)
os.environ["B"] = "7"
d = os.environ.setdefault("B", "8") + os.environ.pop("B") + os.environ.get("B", "-")
try:
    rank = int(os.environ["RANK"])
except KeyError:
    rank = None
"""
    found = run(code, line="A=5 python main.py")
    assert {k: found[k] for k in ("a", "b", "c", "home", "other", "ddp", "held", "d", "rank")} == {
        "a": 5, "b": "x", "c": "5", "home": "?environment", "other": "?environment", "ddp": False, "held": (True, False), "d": "77-", "rank": None,
    }  # fmt: skip


def test_ranks(run: Run) -> None:
    code = """
import os
rank, world, local = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
ddp = int(os.environ.get('RANK', -1)) != -1
name = os.path.join("out", f"r{rank}")
"""
    found = run(code, line="torchrun --nproc_per_node=2 main.py", raw=True)
    assert found["rank"].values == (0, 1) and found["world"] == 2 and found["ddp"] is True
    assert isinstance(found["name"], ByRank) and found["name"].values == ("out/r0", "out/r1")


def test_argv_and_exec_configurator(run: Run) -> None:
    code = """
import sys
from ast import literal_eval
lr, n, name = 0.1, 2, "a"
for arg in sys.argv[1:]:
    if '=' not in arg:
        exec(open(arg).read())
    else:
        key, val = arg.split('=')
        key = key[2:]
        try:
            attempt = literal_eval(val)
        except (SyntaxError, ValueError):
            attempt = val
        globals()[key] = attempt
"""
    found = run(code, "config/c.py --n=4 --name=b", {"config/c.py": "lr = 0.5\nn = 3\n"})
    assert (found["lr"], found["n"], found["name"]) == (0.5, 4, "b")


def test_paths(run: Run) -> None:
    code = """
import os, glob
from pathlib import Path
here = os.path.dirname(os.path.abspath(__file__))
inside = (os.path.exists(os.path.join(here, "conf", "a.json")), os.path.isdir("conf"), os.path.isfile("conf"))
outside = os.path.exists("/data/x")
absent = os.path.exists("data/x.bin")
config = os.path.exists("other.yaml")
packaged = glob.glob("pkg/**/*.yaml", recursive=True)
unknown = glob.glob("data/*.yaml")
ext = os.path.splitext("a/b.tar.gz")
names = sorted(os.listdir("conf"))
found = sorted(glob.glob("conf/*.json"))
p = Path(__file__).resolve().parent / "conf" / "a.json"
facts = (p.name, p.stem, p.suffix, str(p), p.exists(), p.parent.name, f"{p}", p.with_suffix(".yaml").name)
text = p.read_text()
same = Path("x") / "y" == Path("x/y")
children = [c.name for c in Path("conf").iterdir()]
is_path = (isinstance(p, Path), isinstance(p, os.PathLike), isinstance(p, str))
"""
    files = {"conf/a.json": "[1]", "conf/b.json": "2", "pkg/__init__.py": "", "data/x.py": ""}
    found = run(code, files=files)
    assert (found["config"], found["packaged"], found["unknown"]) == (False, [], "?missing-file")
    assert found["inside"] == (True, True, False)
    assert (found["outside"], found["absent"]) == ("?missing-file", "?missing-file")
    assert found["ext"] == ("a/b.tar", ".gz") and found["names"] == ["a.json", "b.json"] == found["children"]
    assert found["found"] == ["conf/a.json", "conf/b.json"]
    assert found["facts"] == ("a.json", "a", ".json", "conf/a.json", True, "conf", "conf/a.json", "a.yaml")
    assert found["text"] == "[1]" and found["same"] is True and found["is_path"] == (True, True, False)


def test_files_beside_the_script_and_in_the_folder(run: Run) -> None:
    code = "import os\na = open('x.txt').read()\nb = open(os.path.join(os.path.dirname(__file__), 'y.txt')).read()\n"
    files = {"job/main.py": code, "job/x.txt": "one", "job/y.txt": "two"}
    found = run("", files=files, line="cd job && python main.py")
    assert (found["a"], found["b"]) == ("one", "two")


def test_formats(run: Run) -> None:
    code = """
import json, yaml, csv, pickle
try:
    import tomllib
except ImportError:
    import tomli as tomllib
with open("a.json") as f:
    a = json.load(f)
b = yaml.safe_load(open("b.yaml"))
with open("c.toml", "rb") as f:
    c = tomllib.load(f)
rows = [r["n"] for r in csv.DictReader(open("d.csv"))]
lines = [line.strip() for line in open("d.csv")]
d = json.loads(json.dumps({"x": [1, 2], "y": None}))
e = pickle.load(open("data/meta.pkl", "rb"))
g = json.load(open("/etc/x.json"))
h = g["key"]
try:
    json.loads("{")
    bad = False
except json.JSONDecodeError:
    bad = True
"""
    files = {
        "a.json": '{"n": 3, "deep": {"l": [1, {"z": 1.5}]}}',
        "b.yaml": "lr: 1e-4\nsteps: [1, 2]\nother: !custom x\n",
        "c.toml": "[model]\ndim = 4\n",
        "d.csv": "n,m\n1,2\n3,4\n",
    }
    found = run(code, files=files)
    assert found["a"] == {"n": 3, "deep": {"l": [1, {"z": 1.5}]}}
    assert (
        found["c"] == {"model": {"dim": 4}} and found["rows"] == ["1", "3"] and found["lines"] == ["n,m", "1,2", "3,4"]
    )
    assert found["d"] == {"x": [1, 2], "y": None} and found["bad"] is True
    assert (found["e"], found["g"], found["h"]) == ("?missing-file",) * 3


def test_pickles_are_never_read(run: Run) -> None:
    found = run(
        "import pickle\nx = pickle.load(open('m.pkl', 'rb'))\n", files={"m.pkl": "cos\nsystem\n(S'touch /tmp/x'\ntR."}
    )
    assert found["x"] == "?missing-file"


def test_texts_and_numbers(run: Run) -> None:
    code = """
import re, math, operator, itertools, string, hashlib, statistics
m = re.match(r"(?P<kind>[a-z]+)_r(\\d+)", "conv_r12_k3")
got = (m.group("kind"), int(m.group(2)), m.groups(), m.groupdict())
ops = {k: float(v) for k, v in re.findall(r"([a-z])(\\d+)", "r2_k3_s1")}
subbed = re.sub(r"\\d+", lambda m: str(int(m.group()) + 1), "a1b2")
pat = re.compile("x+")
none = pat.search("abc") is None
numbers = (math.ceil(7 / 2), math.prod([2, 3]), math.sqrt(16), math.floor(2.5), math.log2(8), math.gcd(12, 18))
total = list(itertools.accumulate([1, 2, 3]))
pairs = list(itertools.product([1, 2], "ab"))
chained = list(itertools.chain.from_iterable([[1], [2, 3]]))
firsts = list(itertools.islice(itertools.chain([1], [2, 3]), 2))
letters = string.ascii_lowercase[:3]
digest = hashlib.md5(b"x").hexdigest()[:4]
nested = [[k, len(list(g))] for k, g in itertools.groupby([1, 1, 2])]
"""
    found = run(code)
    assert found["got"] == ("conv", 12, ("conv", "12"), {"kind": "conv"}) and found["ops"] == {
        "r": 2.0,
        "k": 3.0,
        "s": 1.0,
    }
    assert found["subbed"] == "a2b3" and found["none"] is True and found["numbers"] == (4, 6, 4.0, 2, 3.0, 6)
    assert found["total"] == [1, 3, 6] and found["pairs"] == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert (
        found["chained"] == [1, 2, 3]
        and found["firsts"] == [1, 2]
        and found["letters"] == "abc"
        and found["digest"] == "9dd4"
    )
    assert found["nested"] == [[1, 2], [2, 1]]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("random.random()", "random"),
        ("random.choice([1, 2])", "random"),
        ("np.random.rand()", "random"),
        ("time.time()", "time"),
        ("datetime.datetime.now()", "time"),
        ("subprocess.check_output(['ls'])", "environment"),
        ("socket.gethostname()", "environment"),
        ("os.cpu_count()", "environment"),
        ("uuid.uuid4()", "random"),
        ("importlib.metadata.version('pandas')", "environment"),
    ],
)
def test_what_only_the_run_knows(run: Run, expression: str, reason: str) -> None:
    code = "import random, time, datetime, subprocess, socket, os, uuid, importlib.metadata\nimport numpy as np\n"
    assert run(f"{code}x = {expression}\n")["x"] == f"?{reason}"


def test_one_choice_is_no_chance(run: Run) -> None:
    assert run("import random\nx = random.choice([3])\n")["x"] == 3


def test_talk(run: Run) -> None:
    code = """
import logging, warnings
from tqdm import tqdm, trange
logging.basicConfig(level=logging.INFO)
log = logging.getLogger(__name__)
log.info("x %s", 1)
warnings.filterwarnings("ignore")
seen = []
bar = tqdm([1, 2, 3], desc="x", total=3)
for i in bar:
    seen.append(i)
    bar.set_postfix(loss=1)
for i in trange(2):
    seen.append(i)
def numbers():
    yield 7
    yield 8
for i in tqdm(numbers()):
    seen.append(i)
size = len(bar)
"""
    found = run(code)
    assert found["seen"] == [1, 2, 3, 0, 1, 7, 8] and found["size"] == 3


def test_imports_by_name_and_signatures(run: Run) -> None:
    code = """
import importlib, inspect, sys, types
mod = importlib.import_module("pkg." + "net")
made = getattr(mod, "build")(3)
rel = importlib.import_module(".net", package="pkg").WIDTH
sys.path.insert(0, "extra")
import beside
got = beside.VALUE
def f(a, b=2, *args, c, d=4, **kw): ...
sig = inspect.signature(f)
names = list(sig.parameters)
required = [n for n, p in sig.parameters.items() if p.default is inspect.Parameter.empty]
known = {k: v for k, v in {"a": 1, "z": 2}.items() if k in inspect.signature(f).parameters}
fused = "fused" in inspect.signature(__import__("torch").optim.AdamW).parameters
space = types.SimpleNamespace(x=1, y=2)
space.z = space.x + space.y
classes = [n for n, c in inspect.getmembers(mod, inspect.isclass)]
"""
    files = {
        "pkg/__init__.py": "", "pkg/net.py": "WIDTH = 8\nclass Net: ...\ndef build(n):\n    return n * WIDTH\n", "extra/beside.py": "VALUE = 5\n",
    }  # fmt: skip
    found = run(code, files=files)
    assert (found["made"], found["rel"], found["got"]) == (24, 8, 5)
    assert found["names"] == ["a", "b", "args", "c", "d", "kw"] and found["required"] == ["a", "args", "c", "kw"]
    assert found["known"] == {"a": 1} and found["fused"] is True
    assert found["space"] == {"x": 1, "y": 2, "z": 3} and found["classes"] == ["Net"]


def test_numpy(run: Run) -> None:
    code = """
import numpy as np
rates = [float(x) for x in np.linspace(0, 0.2, 3)]
size = int(np.prod([2, 3, 4])) * int(np.prod(1))
up = int(np.ceil(7 / 2))
a = np.zeros((2, 3), dtype=np.float32)
shape, kind = a.shape, a.dtype
b = np.array([[1, 2], [3, 4]])
total = b.sum()
steps = np.arange(0, 10, 5).tolist()
c = np.concatenate([a, a], axis=0).shape
d = np.random.randn(4, 5).shape
e = np.log2(8)
eps = np.finfo(np.float32).eps.item()
scalar = (np.sqrt(16.0).item(), np.ceil(2.5).astype(int), (3.0).is_integer())
f = (np.pi > 3, np.float32 == a.dtype)
g = np.cumsum([1, 2, 3]).tolist()
data = np.memmap("data/train.bin", dtype=np.uint16, mode="r")
h = data.dtype == np.uint16
"""
    found = run(code)
    assert found["rates"] == pytest.approx([0.0, 0.1, 0.2]) and (found["size"], found["up"]) == (24, 4)
    assert found["shape"] == (2, 3) and found["c"] == (4, 3) and found["d"] == (4, 5) and found["e"] == 3.0
    assert found["scalar"] == (4.0, 3.0, True) and 0 < found["eps"] < 1e-6
    assert found["total"] == 10 and found["steps"] == [0, 5] and found["g"] == [1, 3, 6]
    assert found["f"] == (True, True) and found["h"] is True


def test_a_loop_that_only_prints_is_evaluated_per_index(run: Run) -> None:
    assert run("seen = []\nfor i in [1, 2, 3] * 5:\n    print('at', i)\n    seen.append(i)\n")["seen"] == [1, 2, 3] * 5


def test_a_while_loop_over_words_keeps_its_lists_known(run: Run) -> None:
    code = """
import sys
words, out, i = sys.argv[1:], [], 0
while i < len(words):
    current = []
    current.append(words[i])
    out.append("".join(current))
    i += 1
"""
    assert run(code, "a b=c")["out"] == ["a", "b=c"]


def test_unions_are_classes_for_isinstance(run: Run) -> None:
    code = "got = (isinstance(3, int | str), isinstance('a', int | str), isinstance(None, int | None), isinstance([], int | str))\n"
    assert run(code)["got"] == (True, True, True, False)


def test_modules_that_were_imported(run: Run) -> None:
    code = "import sys, json\nimport torch\ngot = ('torch' in sys.modules, 'json' in sys.modules, 'pkg.net' in sys.modules, sys.modules.get('nothing'))\n"
    assert run(code, files={"pkg/net.py": ""})["got"] == (True, True, False, None)


def test_numbers_from_text(run: Run) -> None:
    code = "import numpy as np\nln = np.fromstring('4-3-2', dtype=int, sep='-')\ngot = (int(ln[0]), ln.size, [int(ln[i]) for i in range(ln.size)])\n"
    assert run(code)["got"] == (4, 3, [4, 3, 2])


def test_lines_of_long_and_absent_files_are_unknown_texts(run: Run) -> None:
    code = "a = [line for line in open('long.txt')]\nfor line in open('/data/x.txt'):\n    b = line\nfor c in open('long.txt'):\n    pass\n"
    found = run(code, files={"long.txt": "word\n" * 5000})
    assert (found["b"], found["c"]) == ("?missing-file", "?data")


def test_a_loop_with_one_of_unknown_count_inside_is_summarised(run: Run) -> None:
    code = "rows = []\nfor i in range(10_000):\n    pos = 0\n    while pos < len(open('/data/x').read()):\n        pos += 1\n    rows.append(pos)\nlast = pos\n"
    assert run(code)["last"] == "?loop-carried"


def test_a_subclass_of_the_loader_is_a_loader(run: Run) -> None:
    code = """
from abc import ABC, abstractmethod
import inspect
import torch
from torchdata.stateful_dataloader import StatefulDataLoader
class Base(ABC):
    @abstractmethod
    def __iter__(self): ...
class Loader(StatefulDataLoader, Base):
    def __init__(self, data, rank, **kwargs):
        self.rank = rank
        super().__init__(data, **kwargs)
class Data(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            for line in open("/data/x"):
                yield torch.zeros(3)
loader = Loader(Data(), 1, batch_size=4)
batch = next(iter(loader))
shape = tuple(batch.shape)
names = "batch_size" in inspect.signature(StatefulDataLoader.__init__).parameters
"""
    found = run(code)
    assert found["shape"] == (4, 3) and found["names"] is True


def test_a_package_is_run_by_its_main_module(run: Run) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/inner.py": "VALUE = 3\n",
        "pkg/__main__.py": "from .inner import VALUE\nif __name__ == '__main__':\n    got = VALUE\n",
    }
    assert run("", files=files, line="python -m pkg")["got"] == 3


def test_what_a_tensor_is_has_no_alternatives(run: Run) -> None:
    code = """
import torch
x = torch.zeros(2)
class A:
    def f(self): return 1
class B(A):
    def f(self): return 2
a = A()
if open("/data/x").read() == "y":
    x.data = torch.zeros(3)
    x.requires_grad = True
    a.__class__ = B
got = a.f()
y = x + 1
kind = str(y.dtype)
"""
    found = run(code)
    assert found["got"] in (1, 2) and found["kind"] == "torch.float32"


def test_arrays_whose_elements_are_written(run: Run) -> None:
    code = """
import numpy as np, torch
from scipy.signal import firwin
a = 2 * (3 / 2) ** np.minimum(np.arange(4) / 2, 1)
rates = np.exp2(np.ceil(np.log2(a * 2)))
rates[-2:] = 7
rates[0] += 1
size = np.broadcast_to(np.asarray(36), [2])
pair = np.ones((2, 2))
pair[1, :] = [7, 8]
left = np.arange(3)
left[np.arange(3) > 1] = 5
t = torch.arange(4)
t[1] = 9
name = f"L{size[0]}_{int(rates[1])}"
got = ([int(one) for one in rates], int(pair[1, 1]), int(t[1]), np.array([2.5])[0].astype(int), firwin(numtaps=6, cutoff=0.2).shape)
unknown = left.tolist()
least = torch.min(torch.as_tensor(4), torch.as_tensor(9)).item()
"""
    found = run(code)
    assert found["got"] == ([5, 8, 7, 7], 8, 9, 2, (6,))
    assert (found["name"], found["least"], found["unknown"]) == ("L36_8", 4, "?data")


def test_no_name_names_no_file_and_the_script_is_main(run: Run) -> None:
    code = """
import os
asked = (os.path.isdir(""), os.path.isfile(""), os.path.exists(""))
def f():
    pass
home = f.__module__
"""
    found = run(code)
    assert found["asked"] == (False, False, False)
    assert found["home"] == "__main__"


def test_modules_of_a_package(run: Run) -> None:
    code = """
import importlib, pkgutil
import parts
flat = [(name, package) for _, name, package in pkgutil.iter_modules(parts.__path__)]
deep = [name for _, name, _ in pkgutil.walk_packages(parts.__path__, parts.__name__ + ".")]
held = parts.TABLE
"""
    files = {
        "parts/__init__.py": (
            "import importlib, pkgutil\nTABLE = {}\ndef load():\n    for _, name, _ in pkgutil.walk_packages(__path__, __name__ + '.'):\n"
            "        importlib.import_module(name)\nload()\n"
        ),
        "parts/one.py": "from parts import TABLE\nTABLE['one'] = 1\n",
        "parts/sub/__init__.py": "",
        "parts/sub/two.py": "from parts import TABLE\nTABLE['two'] = 2\n",
        "parts/data/rows.txt": "1",
    }
    found = run(code, "", files)
    assert found["flat"] == [("one", False), ("sub", True)]
    assert found["deep"] == ["parts.one", "parts.sub", "parts.sub.two"]
    assert found["held"] == {"one": 1, "two": 2}
