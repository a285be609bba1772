"""Models that a file holds whole, and what small tables and generators round them do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from serving_jobs import NET, brief, line_of, served


def forwards(found: Any) -> list[dict[str, Any]]:
    rows = found.rows["compute"]["forward"]
    return rows if isinstance(rows, list) else [rows]


DETECT = """import sys
import torch
def found(prediction):
    kept = [torch.zeros((0, 6), device=prediction.device)] * prediction.shape[0]
    for index, boxes in enumerate(prediction):
        kept[index] = boxes[boxes[:, 0] > 0.5]
    return kept
checkpoint = torch.load("weights.pt", map_location="cpu")
model = (checkpoint.get("ema") or checkpoint["model"]).to("cuda").float()
model = model.fuse().eval() if hasattr(model, "fuse") else model.eval()
names = model.names
for path in sys.argv:
    image = torch.rand(1, 3, 64, 64).to("cuda")
    for boxes in found(model(image)[0]):
        if len(boxes):
            for kind in boxes[:, -1].unique():
                print(names[int(kind)])
"""


def test_a_model_that_a_checkpoint_holds_runs_where_it_was_put(tmp_path: Path) -> None:
    found = served(tmp_path, DETECT, "python main.py a b")
    assert brief(forwards(found), "call") == [("model(image)",)]
    assert ("H2D", "checkpoint.get('ema') or checkpoint['model']") in brief(found.rows["host_device"]["copies"], "direction", "what")
    assert [(line_of(row), row["kind"]) for row in found.rows["host_device"]["syncs"] if row["phase"] != "startup" and row["kind"] != "other"] == [
        (6, "dynamic shape"), (16, "dynamic shape"), (17, "conversion"),
    ]  # fmt: skip


SAMPLE = """import pickle
import torch
with open("network.pkl", "rb") as file:
    net = pickle.load(file)["ema"].to(torch.device("cuda"))
def sampler(net, x, steps):
    times = torch.cat([net.round_sigma(steps), torch.zeros_like(steps[:1])])
    for now, following in zip(times[:-1], times[1:]):
        if now > 0.1:
            x = x + 1
        x = net(x, now)
    return x
for batch in range(int(net.batches)):
    images = sampler(net, torch.randn(4, 3, 8, 8, device="cuda"), torch.linspace(0, 1, 18, device="cuda"))
    images.cpu().numpy()
"""


def test_a_pickled_network_is_sampled_step_by_step(tmp_path: Path) -> None:
    found = served(tmp_path, SAMPLE)
    assert brief(found.rows["loops"], "unit") == [("request",), ("denoising step",)]
    assert brief(forwards(found), "call", "phase") == [("net(x, now)", "sample")]
    assert {(line_of(row), row["frequency"]["per"]) for row in found.rows["host_device"]["syncs"]} == {(4, "job"), (8, "denoising step"), (14, "request")}


SCOPED = NET + """    def forward(self, x):
        return self.b(self.a(x))
    def encode(self, x):
        return self.a(x)
    @contextmanager
    def averaged(self):
        yield None
net = Net().cuda()
with net.averaged():
    for text in ("one", "two", "three", "four"):
        x = torch.tensor([len(text)] * 4, device="cuda").float()
        code = net.encode(x)
        print(net(code).sum().item())
"""


def test_what_runs_inside_a_generator_of_the_model_is_not_the_model(tmp_path: Path) -> None:
    found = served(tmp_path, SCOPED.replace("import torch\n", "import torch\nfrom contextlib import contextmanager\n", 1))
    assert brief(forwards(found), "call") == [("net.encode(x)",), ("net(code)",)]


TABLE = NET + """    def forward(self, x):
        return self.b(self.a(x))
import sys
import pandas
def formats():
    return pandas.DataFrame([["PyTorch", ".pt"], ["ONNX", ".onnx"]], columns=["Format", "Suffix"])
native, onnx = [suffix in "weights.pt" for suffix in list(formats().Suffix)]
if native:
    net = Net().cuda()
elif onnx:
    net = open("net.onnx")
else:
    raise NotImplementedError("no such format")
for name in sys.argv:
    print(net(torch.rand(4, device="cuda")).tolist())
"""


def test_a_table_that_the_code_writes_out_is_read(tmp_path: Path) -> None:
    found = served(tmp_path, TABLE, "python main.py a b")
    assert brief(forwards(found), "call") == [('net(torch.rand(4, device="cuda"))',)]
    assert not [row for row in found.rows["unresolved"] if row["reason"] == "error"]


ARGUMENTS = """import json
import torch
from torch import nn
class Arguments:
    layers: int = 32
    size: int = 5
    def __init__(self, **given):
        for name, value in given.items():
            if hasattr(self, name):
                setattr(self, name, value)
class Net(nn.Module):
    def __init__(self, arguments):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(arguments.size, arguments.size) for _ in range(arguments.layers)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
with open("/checkpoint/params.json") as file:
    given = json.loads(file.read())
half = torch.cuda.is_bf16_supported()
if half:
    torch.set_default_dtype(torch.bfloat16)
else:
    torch.set_default_dtype(torch.float16)
arguments = Arguments(size=7, **given)
net = Net(arguments).cuda()
for _ in range(3):
    print(net(torch.rand(2, arguments.size).cuda()).tolist())
"""


def test_defaults_that_a_file_may_override_are_no_facts(tmp_path: Path) -> None:
    found = served(tmp_path, ARGUMENTS)
    assert "Arguments.layers" in {row["name"] for row in found.rows["unresolved"]}
    moved = next(row for row in found.rows["host_device"]["copies"] if row["phase"] == "startup")
    assert "bytes" not in moved  # how many layers there are is not known
