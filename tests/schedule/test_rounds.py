"""Rounds inside a request: settings that are tried, crops, batches of points, entries of a table."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import NET, brief, line_of, served

FALLBACK = NET + """    def forward(self, tokens):
        return self.b(self.a(tokens.float()))
def check(options):
    if options.get("beams") is not None and options.get("best") is not None:
        raise ValueError("one of them")
    return options
def decode(net, options, x):
    check(options)
    if net.a.in_features > 9:
        return TypeError("too wide")
    for i in range(int(x.shape[0])):
        picked = torch.argmax(net(x), dim=-1)
        x = torch.cat([x, picked])
        if (picked == 3).all():
            break
    return x
def fallback(net, x, settings, given):
    for t in settings:
        options = {**given}
        if t > 0:
            options.pop("beams", None)
        else:
            options.pop("best", None)
        found = decode(net, options, x)
        if found.sum() > 4:
            break
    return found
def clips(net, audio, **given):
    seek = 0
    while seek < int(audio.shape[0]):
        part = audio[seek : seek + 30].cuda()
        found = fallback(net, part, (0.0, 0.2, 0.4, 0.6, 0.8), given)
        given["prompt"] = found.tolist()
        seek += 30
net = Net().cuda().eval()
import numpy
for path in ("a", "b"):
    clips(net, torch.from_numpy(numpy.load(path)), beams=5, best=5)
"""


def test_only_the_rounds_that_pick_tokens_are_tokens(tmp_path: Path) -> None:
    found = served(tmp_path, FALLBACK)
    units = [row["unit"] for row in found.rows["loops"]]
    assert units[0] == "request" and units.count("token") == 1 and units[-1] == "token"
    copies = {row["what"]: row["frequency"]["per"] for row in found.rows["host_device"]["copies"]}
    assert copies["audio[seek:seek + 30]"] == "request"
    syncs = {row["what"]: row["frequency"]["per"] for row in found.rows["host_device"]["syncs"]}
    assert syncs["(picked == 3).all()"] == "token"  # an option that one branch took out is not surely there
    assert syncs["found.tolist()"] == "request"  # what is returned in place of an exception has no such method


CROPS = NET + """    def forward(self, x):
        return self.b(self.a(x))
class Table:
    def __init__(self, **entries):
        self.entries = dict(**entries)
    def __setitem__(self, key, value):
        assert isinstance(value, (list, torch.Tensor)), "of such kinds alone"
        self.entries[key] = value
    def filter(self, keep):
        for key, value in self.entries.items():
            self.entries[key] = value[torch.as_tensor(keep, device=value.device)]
def one(net, image, crop):
    x = torch.as_tensor(image[crop[0] : crop[1]], device="cuda")
    table = Table(found=net(x), points=torch.as_tensor(image))
    table.filter(table.entries["found"] > 0.5)
    table["marks"] = [row for row in image]
    return table
def masks(net, image):
    for crop in [(0, image.shape[0])]:
        table = one(net, image, crop)
    return table
import sys
import cv2
net = Net().cuda()
for name in sys.argv:
    masks(net, cv2.imread(name))
"""


def test_one_crop_of_an_image_is_no_step(tmp_path: Path) -> None:
    found = served(tmp_path, CROPS, "python main.py a b c")
    assert found.rows["loops"][0]["unit"] == "request"
    assert not [row for row in found.rows["unresolved"] if "AssertionError" in row["name"]]
    lines = CROPS.splitlines()
    kept = next(number for number, line in enumerate(lines, 1) if "as_tensor(keep" in line)
    at = [row for row in found.rows["host_device"]["syncs"] if line_of(row) == kept]
    assert sorted(brief(at, "kind")) == [("cpu",), ("dynamic shape",)]  # of the entry on the device, and of the one that is not


ENGINE = NET + """    def forward(self, x):
        return self.b(self.a(x))
net = Net().cuda()
held = torch.zeros(4, 4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = net(held)
class Engine:
    def step(self):
        graph.replay()
        return out.tolist()
engine = Engine()
while True:
    engine.step()
"""


def test_a_graph_that_an_engine_replays_decodes(tmp_path: Path) -> None:
    found = served(tmp_path, ENGINE)
    assert next(row["name"] for row in found.rows["phases"] if row["kind"] == "repeated") == "decode"
