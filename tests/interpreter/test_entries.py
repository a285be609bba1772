"""Entries that were wrong, twice there or not there in records of real jobs, each by a job of the same kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpreted import NET, events, job, record, write

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_job
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.passes.schedule.build import build
from cgx.indexer.source import open_tree

LOOP = NET + """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(100):
    x = torch.randn(8, 4).cuda()
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
"""


def entries(folder: Path, source: str, **settings: Any) -> dict[str, Any]:
    return record(job(folder, {"main.py": source}, **settings))


def syncs(rows: dict[str, Any], line: int | None = None) -> list[tuple[str, str]]:
    found = rows["host_device"]["syncs"]
    return [(one["kind"], one["phase"]) for one in found if line is None or one["code_anchor"].endswith(f":{line}")]


def test_members_of_an_enum_are_set_up_by_its_own_init(tmp_path: Path) -> None:
    source = """
from enum import Enum
import torch
class Kind(Enum):
    CPU = ("cpu", "gloo")
    CUDA = ("cuda", "nccl")
    def __init__(self, device, backend):
        self.device = device
        self.backend = backend
    @staticmethod
    def named(device):
        for member in Kind:
            if member.device == device:
                return member
        raise ValueError(device)
x = torch.zeros(2).to(Kind.named("cuda").device)
"""
    assert [event.data["direction"] for event in events(job(tmp_path, {"main.py": source}), "copy")] == ["H2D"]


def test_entries_of_a_batch_are_moved_one_by_one(tmp_path: Path) -> None:
    source = NET + """
def move(batch):
    for name, value in batch.items():
        if isinstance(value, torch.Tensor):
            batch[name] = value.to("cuda")
model = Net().cuda()
for step in range(100):
    batch = {"x": torch.randn(8, 4), "y": torch.randn(8, 4, 1), "n": 3}
    move(batch)
    loss = model(batch["x"]).sum()
    loss.backward()
    print(loss.item())
"""
    rows = entries(tmp_path, source)
    copies = [(one["direction"], one["repeat"]) for one in rows["host_device"]["copies"] if one["phase"] != "startup"]
    assert copies == [("H2D", 2), ("D2H", 1)]
    assert ("item", "logging") in syncs(rows)


def test_old_formatting_reads_what_it_shows(tmp_path: Path) -> None:
    rows = entries(tmp_path, LOOP + '    print("loss %f of %d" % (loss, step))\n')
    assert ("print", "logging") in syncs(rows)


def test_a_list_of_device_values_is_read_once_each(tmp_path: Path) -> None:
    rows = entries(tmp_path, LOOP + "    total = torch.tensor([loss, 3], device='cuda')\n")
    last = len(LOOP.splitlines()) + 1
    assert sorted(kind for kind, _ in syncs(rows, last)) == ["conversion", "other"]


def test_a_whole_module_that_is_saved_is_copied(tmp_path: Path) -> None:
    rows = entries(tmp_path, LOOP + "torch.save(model, 'model.pt')\n")
    (copy,) = [one for one in rows["host_device"]["copies"] if one["phase"] == "checkpoint"]
    assert (copy["direction"], copy["bytes"]) == ("D2H", 40)


def test_tensors_brought_to_the_host_to_be_saved_are_part_of_saving(tmp_path: Path) -> None:
    saving = """
import torch
def save_checkpoint(model, every):
    state = {name: one.cpu() for name, one in model.state_dict().items()}
    if every % 100 == 0:
        torch.save(state, "model.pt")
"""
    source = saving + LOOP + "    if step % 10 == 0:\n        save_checkpoint(model, step)\n"
    rows = entries(tmp_path, source)
    assert [phase for kind, phase in syncs(rows) if kind == "cpu"] == ["checkpoint"]


def test_a_state_dict_holds_the_buffers_that_are_kept(tmp_path: Path) -> None:
    source = """
import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.register_buffer("kept", torch.zeros(3))
        self.register_buffer("left", torch.zeros(5), persistent=False)
net = Net().cuda()
torch.save(net.state_dict(), "net.pt")
"""
    (copy,) = [one for one in events(job(tmp_path, {"main.py": source}), "copy") if one.data["direction"] == "D2H"]
    assert copy.data["bytes"] == (8 + 2 + 3) * 4


def test_what_is_cast_on_the_way_is_copied_in_its_new_type(tmp_path: Path) -> None:
    source = "import torch, torch.nn as nn\nnet = nn.Linear(4, 2).to('cuda', torch.bfloat16)\nx = torch.zeros(3).to('cuda', torch.float16)\n"
    assert [event.data["bytes"] for event in events(job(tmp_path, {"main.py": source}), "copy")] == [20, 6]


def test_a_test_that_turns_no_gradients_off_is_an_evaluation(tmp_path: Path) -> None:
    source = NET + """
def inference(model, data):
    right = 0
    for x in data:
        right += (model(x.cuda()) > 0).sum().item()
    return right
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
tests = [torch.randn(8, 4)] * 20
for step, x in enumerate(torch.utils.data.DataLoader(torch.randn(100, 4))):
    if step < 0:
        continue
    loss = model(x.cuda()).sum()
    loss.backward()
    optimizer.step()
    if (step + 1) % 10 == 0:
        inference(model, tests)
"""
    rows = entries(tmp_path, source)
    (evaluation,) = [one for one in rows["phases"] if one["name"] == "evaluation"]
    assert evaluation["every"]["count"] == 10 and evaluation["repeat"] == 20
    assert {one["frequency"].get("guard") for one in rows["host_device"]["copies"] if one["phase"] == "data"} == {None}


def test_as_many_workers_as_the_machine_has_are_some(tmp_path: Path) -> None:
    source = LOOP.replace("for step in range(100):", "import os\nfor x in torch.utils.data.DataLoader(torch.randn(100, 4), num_workers=os.cpu_count()):")
    hops = {one["hop"]: one for one in entries(tmp_path, source)["data_path"]}
    assert hops["collate"]["asynchronous"] is True and hops["collate"]["blocks_step"] is False and "workers" not in hops["collate"]


def unresolved(rows: dict[str, Any]) -> list[str]:
    return [one["name"] for one in rows["unresolved"]]


def test_rounds_of_a_loader_are_named_by_what_settles_them(tmp_path: Path) -> None:
    source = LOOP.replace("for step in range(100):", "from tqdm import tqdm\nloader = torch.utils.data.DataLoader(torch.load('d.pt'))\nfor x in tqdm(loader):")
    assert "len(loader)" in unresolved(entries(tmp_path, source))
    known = record(job(tmp_path, {"main.py": source}, **{"len(loader)": 7}))
    assert [one["count"] for one in known["loops"]] == [7] and "len(loader)" not in unresolved(known)


def test_a_loop_that_may_end_early_says_what_is_open(tmp_path: Path) -> None:
    source = LOOP + """
model.eval()
with torch.no_grad():
    for x in [torch.randn(8, 4)] * 20:
        if float(model(x.cuda()).sum()) > 3:
            break
"""
    rows = entries(tmp_path, source)
    assert [one["count"] for one in rows["loops"]][-1] is None and rows["unresolved"][-1]["field"] == "count"


def test_packages_that_change_nothing_are_not_listed(tmp_path: Path) -> None:
    files = {
        "main.py": "import helper\ntry:\n    import onnx\nexcept ImportError:\n    onnx = None\ntry:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n" + LOOP,
        "helper.py": "try:\n    import curious\nexcept ImportError:\n    curious = None\n",
    }
    assert unresolved(record(job(tmp_path, files))) == ["import flash_attn"]


def test_what_is_met_behind_an_absent_file_waits_for_it(tmp_path: Path) -> None:
    source = "import os\nn = 1\nif os.path.exists('a.json'):\n    n = 2\n    if os.path.exists('b.json'):\n        n = 3\n" + LOOP
    assert unresolved(entries(tmp_path, source)) == ["os.path.exists('a.json')"]


def test_a_package_that_lay_deeper_elsewhere_is_found(tmp_path: Path) -> None:
    files = {
        "main.py": "import company.vision.parts.net\n" + LOOP.replace("model = Net()", "model = company.vision.parts.net.Other()"),
        "parts/__init__.py": "",
        "parts/net.py": "import torch.nn as nn\nclass Other(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 3)\n"
        "    def forward(self, x):\n        return self.fc(x)\n",
    }
    rows = record(job(tmp_path, files))
    assert rows["compute"]["forward"]["value"] == "Other.forward" and unresolved(rows) == ["import company"]


def test_a_copy_of_an_absent_configuration_stays_open(tmp_path: Path) -> None:
    source = """
from transformers import AutoConfig
config = AutoConfig.from_pretrained("some/model")
copy = type(config)(**config.to_dict())
layers = copy.num_hidden_layers
if layers > 3:
    print(layers)
"""
    assert {unknown.reason for unknown in job(tmp_path, {"main.py": source}).unknowns} == {"missing-file"}


CALLBACKS = NET + """
class Trainer:
    def __init__(self):
        self.model, self.callbacks, self.steps = Net().cuda(), [], 0
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
    def told(self):
        for callback in self.callbacks:
            callback(self)
    def run(self):
        for x in torch.utils.data.DataLoader(torch.randn(1000, 4)):
            self.loss = self.model(x.cuda()).sum()
            self.loss.backward()
            self.optimizer.step()
            self.told()
            self.steps += 1
def score(model):
    table = torch.tensor([[100, 10, 1]]).cuda()
    with torch.no_grad():
        return [model(x.cuda()).cpu() for x in torch.utils.data.DataLoader(torch.randn(80, 4))], table
def report(trainer):
    if trainer.steps % 10 == 0:
        print(trainer.loss.item())
    if trainer.steps % 50 == 0:
        score(trainer.model)
trainer = Trainer()
trainer.callbacks.append(report)
trainer.run()
"""


def line_of(text: str, source: str) -> str:
    return str(next(number for number, line in enumerate(source.splitlines(), 1) if text in line))


def test_what_a_callback_does_stands_in_the_callback(tmp_path: Path) -> None:
    rows = entries(tmp_path, CALLBACKS)
    at = {one["name"]: one["code_anchor"].rpartition(":")[2] for one in rows["phases"]}
    assert at["logging"] == line_of("% 10", CALLBACKS) and at["evaluation"] == line_of("        score(", CALLBACKS)
    assert [one["unit"] for one in rows["loops"]] == ["step", "evaluation batch"]  # one callback is no loop of the job


def test_a_table_of_numbers_is_no_data(tmp_path: Path) -> None:
    hops = [one["code_anchor"].rpartition(":")[2] for one in entries(tmp_path, CALLBACKS)["data_path"] if one["hop"] == "copy"]
    assert line_of("table =", CALLBACKS) not in hops and len(hops) == 2


def test_what_all_ranks_read_is_logging_of_all(tmp_path: Path) -> None:
    source = "import torch.distributed as dist\ndist.init_process_group('nccl')\n" + LOOP + "    value = loss.item()\n    if dist.get_rank() == 0:\n        print(value)\n"
    rows = record(job(tmp_path, {"main.py": source}, line="torchrun --nproc-per-node 2 main.py"))
    assert [one["ranks"] for one in rows["phases"] if one["name"] == "logging"] == ["all"]


def test_conditions_are_said_without_pairs_of_not(tmp_path: Path) -> None:
    source = LOOP.replace("model = Net()", "import os\ndef pick():\n    if not os.environ.get('A'):\n        return None\n    return 3\nmodel = Net()")
    source += "    if not (not (len(os.listdir('/data')) > step)):\n        loss.item()\n"
    assert not any("not (not" in str(one["frequency"]) or "not not" in str(one["frequency"]) for one in entries(tmp_path, source)["host_device"]["syncs"])


def test_a_flag_that_is_turned_round_keeps_its_period(tmp_path: Path) -> None:
    source = NET + """
class Settings:
    size, micro = 64, 4
    def rounds(self, devices):
        return self.size // devices // self.micro
settings = Settings()
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
steps, number, most = 0, 0, float("inf")
batches = iter(torch.utils.data.DataLoader(torch.load("x.pt")))
while steps < most:
    number += 1
    waits = number % settings.rounds(2) != 0
    model(next(batches).cuda()).sum().backward()
    if not waits:
        optimizer.step()
        steps += 1
"""
    rows = entries(tmp_path, source)
    assert rows["compute"]["gradient_accumulation"]["value"] == 8 and rows["compute"]["optimizer_step"]["frequency"] == {"per": "step"}


def test_no_limit_is_never_reached(tmp_path: Path) -> None:
    source = "import time\nlimit = None or float('inf')\nbegun = time.perf_counter()\n" + LOOP + "    if time.perf_counter() - begun > limit:\n        print(loss.item())\n"
    assert syncs(entries(tmp_path, source), len((source).splitlines())) == []


def test_what_a_file_would_give_a_record_is_asked_for_once(tmp_path: Path) -> None:
    source = """
import torch.nn as nn, yaml
from dataclasses import dataclass
@dataclass
class Config:
    wide: int = 4
    narrow: int = 2
def read(path):
    with open(path) as file:
        given = yaml.safe_load(file)
    given.update(more=3)
    return Config(**given)
config = read("model.yaml")
net = nn.Linear(config.wide, config.narrow) if config.wide > 3 else nn.Linear(3, config.narrow)
"""
    assert {one.settle for one in job(tmp_path, {"main.py": source}).unknowns} == {("--file", "model.yaml")}


def test_weights_that_are_merged_at_the_end_are_no_average(tmp_path: Path) -> None:
    source = LOOP + "for weight in model.parameters():\n    weight.data = weight.data * 0.9 + weight.data * 0.1\n"
    assert "ema" not in entries(tmp_path, source)["compute"]


def test_an_open_number_of_workers_is_listed(tmp_path: Path) -> None:
    assert unresolved(entries(tmp_path, LOOP.replace("for step in range(100):", "import os\nfor x in torch.utils.data.DataLoader([1], num_workers=os.cpu_count()):"))) == ["os.cpu_count()"]


def test_a_copy_that_averages_is_sampled_from(tmp_path: Path) -> None:
    source = LOOP.replace("model = Net().cuda()", "from ema_pytorch import EMA\nmodel = Net().cuda()\nema = EMA(model, beta=0.99)\nema.to('cuda')")
    source += "    ema.update()\n    if step % 20 == 0:\n        with torch.inference_mode():\n            print(ema.ema_model(x).cpu())\n"
    rows = entries(tmp_path, source)
    assert rows["compute"]["ema"]["value"] == "ema_pytorch.EMA"
    line = int(line_of("ema.update", source))
    assert syncs(rows, line) == [("item", "optimizer"), ("item", "optimizer")]
    assert [one["every"]["count"] for one in rows["phases"] if one["name"] == "evaluation"] == [20]


def test_a_file_is_named_where_no_word_of_the_source_is(tmp_path: Path) -> None:
    source = NET + """
words = []
with open("words.txt") as lines:
    for line in lines:
        for word in line.split():
            if word not in words:
                words.append(word)
model = nn.Embedding(len(words), 4).cuda()
model(torch.zeros(3, dtype=torch.long).cuda()).sum().backward()
"""
    tree = open_tree(str(write(tmp_path, {"main.py": source})))
    rows = build(run_job(tree, [], parse_launch("python main.py", tree), Options()), tree).rows
    assert unresolved(rows) == ["words.txt"]


def test_packages_that_a_running_job_asks_for_are_there(tmp_path: Path) -> None:
    source = "import importlib.util\nif importlib.util.find_spec('tensorboard') is None:\n    raise ImportError('install tensorboard')\n" + LOOP
    assert unresolved(entries(tmp_path, source)) == []


def test_a_period_beside_the_accumulation_counts_steps(tmp_path: Path) -> None:
    source = NET + """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
steps = 0
for number, x in enumerate(torch.utils.data.DataLoader(torch.load("x.pt"))):
    waits = (number + 1) % 4 != 0
    model(x.cuda()).sum().backward()
    if not waits:
        optimizer.step()
        steps += 1
    if not waits and steps % 100 == 0:
        model.eval()
        with torch.no_grad():
            print([model(y.cuda()).sum().item() for y in torch.utils.data.DataLoader(torch.randn(8, 4))])
"""
    rows = entries(tmp_path, source)
    (evaluation,) = [one for one in rows["phases"] if one["name"] == "evaluation"]
    assert (evaluation["every"]["count"], evaluation["every"]["unit"]) == (100, "step")
