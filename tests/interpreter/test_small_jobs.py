"""Jobs of one or two files: processes that train, data that lies on the device, models written and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpreted import NET, job, record

STEP = "    loss = model(x).sum()\n    loss.backward()\n    optimizer.step()\n"


def rows(folder: Path, text: str, line: str = "python main.py") -> dict[str, Any]:
    return record(job(folder, {"main.py": NET + text}, line))


def test_processes_that_are_waited_for_run_before_what_follows(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import torch.multiprocessing as mp
def train(rank, model):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(7):
        model(torch.randn(8, 4).cuda()).sum().backward()
        optimizer.step()
def test(model):
    model.eval()
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(8, 4).cuda()).sum().item()
model = Net().cuda()
processes = []
for rank in range(2):
    p = mp.Process(target=train, args=(rank, model))
    p.start()
    processes.append(p)
for p in processes:
    p.join()
test(model)
""")
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("step", 7), ("evaluation batch", 3)]
    assert [row["name"] for row in found["phases"]] == ["startup", "data", "forward", "backward", "optimizer", "evaluation"]
    assert [row["ranks"] for row in found["host_device"]["syncs"] if row["kind"] == "item"] == ["all"]


def test_a_layer_of_torch_that_waits_stands_at_the_line_that_runs_it(tmp_path: Path) -> None:
    found = rows(tmp_path, """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)
        self.mask = nn.Transformer.generate_square_subsequent_mask(5).cuda()
    def forward(self, x):
        return self.layers(x, mask=self.mask)
model = Encoder().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(7):
    model(torch.randn(5, 3, 8, device="cuda")).sum().backward()
    optimizer.step()
""")
    assert {row["code_anchor"] for row in found["host_device"]["syncs"] if row["kind"] == "conversion"} == {"main.py:Encoder.forward:16"}


def test_a_model_written_whole_is_copied_and_comes_back(tmp_path: Path) -> None:
    found = rows(tmp_path, """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
x = torch.randn(8, 4).cuda()
for step in range(7):
""" + STEP + """
with open("model.pt", "wb") as f:
    torch.save(model, f)
with open("model.pt", "rb") as f:
    model = torch.load(f)
model.eval()
model(x).sum().item()
""")
    moved = [(row["direction"], row["what"], row.get("bytes")) for row in found["host_device"]["copies"]]
    assert ("D2H", "model", 40) in moved and ("H2D", "torch.load(f)", None) in moved
    assert ("D2H", "model(x).sum().item()", 4) in moved


def test_a_batch_cut_from_data_on_the_device_is_a_phase(tmp_path: Path) -> None:
    found = rows(tmp_path, """
data = torch.randn(100, 4).cuda()
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def get_batch(i):
    return data[i * 8 : i * 8 + 8]
for step in range(7):
    x = get_batch(step)
""" + STEP)
    row = found["phases"][1]
    assert (row["name"], row["runs_on"], row["code_anchor"]) == ("data", "device", "main.py:<module>:16")


def test_an_evaluation_after_the_last_step_is_a_phase_beside_that_of_each_epoch(tmp_path: Path) -> None:
    found = rows(tmp_path, """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def test():
    model.eval()
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(8, 4).cuda()).sum().item()
for epoch in range(2):
    model.train()
    for step in range(7):
        x = torch.randn(8, 4).cuda()
    """ + STEP.replace("\n", "\n    ") + """
    test()
test()
""")
    kinds = [(row["kind"], row["code_anchor"].rpartition(":")[2]) for row in found["phases"] if row["name"] == "evaluation"]
    assert kinds == [("periodic", "25"), ("one-off", "26")]


def test_numbers_made_beside_a_tensor_of_the_device_are_copied(tmp_path: Path) -> None:
    found = rows(tmp_path, """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
x = torch.randn(8, 4).cuda()
for step in range(7):
    x = x - x.new_tensor([0.1, 0.2, 0.3, 0.4])
""" + STEP)
    assert [row["bytes"] for row in found["host_device"]["copies"] if row["frequency"]["per"] == "step"] == [16]


def test_a_line_search_runs_its_closure_nobody_knows_how_often(tmp_path: Path) -> None:
    text = """
model = Net(){place}
optimizer = torch.optim.LBFGS(model.parameters())
x = torch.randn(8, 4){place}
for step in range(7):
    def closure():
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        return loss
    optimizer.step(closure)
    with torch.no_grad():
        model(x).mean()
"""
    found = rows(tmp_path / "gpu", text.format(place=".cuda()"))
    assert {row["name"]: row["repeat"] for row in found["phases"]} == {
        "startup": 1, "forward": None, "backward": None, "optimizer": 1, "evaluation": 1}  # fmt: skip
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("step", 7), ("closure", None)]
    assert [row["kind"] for row in found["host_device"]["syncs"] if row["frequency"]["per"] == "step"] == ["conversion"]
    assert rows(tmp_path / "cpu", text.format(place=""))["host_device"]["syncs"] == []


def test_a_loop_inside_the_step_that_data_may_end_has_no_count(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import random
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(7):
    x = torch.randn(8, 4).cuda()
    total = 0
    for turn in range(100):
        total = total + model(x).sum().item()
        if random.random() > 0.5:
            break
""" + STEP)
    assert [row["count"] for row in found["loops"]] == [7, None]
    assert {row["repeat"] for row in found["host_device"]["syncs"] if row["kind"] == "item"} == {None}


def test_hops_of_samples_that_a_data_set_makes_itself(tmp_path: Path) -> None:
    found = rows(tmp_path, """
from PIL import Image
from torchvision import datasets, transforms
class Pairs(torch.utils.data.Dataset):
    def __init__(self):
        self.base = datasets.MNIST("data", train=True)
        self.crop = transforms.Compose([transforms.CenterCrop(2), transforms.ToTensor()])
    def __len__(self):
        return self.base.data.shape[0] // 2
    def __getitem__(self, index):
        image = Image.open(f"{index}.png").convert("RGB")
        return self.normalise(self.crop(image))
    def augment(self, image):
        return image.flatten()
    def normalise(self, image):
        return self.augment(image)
loader = torch.utils.data.DataLoader(Pairs(), batch_size=100, num_workers=2)
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in loader:
    x = x.cuda()
""" + STEP)
    assert [(row["hop"], row["by"]) for row in found["data_path"]][:4] == [
        ("sample", "torch.utils.data.SequentialSampler"), ("read", "PIL.Image.open"), ("decode", "PIL.Image.open"),
        ("transform", "torchvision.transforms.Compose")]  # fmt: skip
    assert [row["count"] for row in found["loops"]] == [300]


def test_text_that_becomes_a_tensor_is_read(tmp_path: Path) -> None:
    found = rows(tmp_path, """
with open("input.txt") as f:
    text = f.read()
with open("labels.txt") as f:
    names = f.read()
held = torch.load("train_tokens.pt")
old = torch.load("model.pt")
x = torch.tensor([ord(one) for one in text]).float().cuda()
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(7):
""" + STEP)
    assert [(row["by"], row["code_anchor"]) for row in found["data_path"] if row["hop"] == "read"] == [
        ("open", "main.py:<module>:10"), ("torch.load", "main.py:<module>:14")]  # fmt: skip


OWN = """
import torch.distributed as dist
dist.init_process_group("nccl")
class Own:
    def __init__(self, named, order):
        self.held = {name: p for name, p in named}
        assert set(order) == self.held.keys() and self.held.keys() >= {"fc.bias"} and not self.held.keys() == {"fc.bias"}
        self.order, self.sent = order, {}
    def step(self):
        for name in self.order:
            p = self.held[name]
            if p.grad is None:
                continue
            if p.ndim == 2:
                self.sent[name] = dist.all_reduce(p.grad, async_op=True).get_future()
        torch.futures.collect_all(list(self.sent.values())).wait()
        for name in self.order:
            self.held[name].data.add_(self.held[name].grad, alpha=-0.1)
            self.held[name].grad = None
model = Net().cuda()
own = Own(model.named_parameters(), ["fc.weight", "fc.bias"])
x = torch.randn(8, 4).cuda()
for turn in range(3):
    model(x).sum().backward()
    own.step()
for turn in range(1000):
    model(x).sum().backward()
    own.step()
"""


def test_an_optimizer_of_the_job_s_own_and_a_rehearsal_before_the_real_loop(tmp_path: Path) -> None:
    found = rows(tmp_path, OWN, "torchrun --nproc_per_node 2 main.py")
    assert found["compute"]["optimizer"]["value"] == "main.Own"
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("startup turn", 3), ("step", 1000)]
    sent = [(row["phase"], row["frequency"]["per"], row["repeat"], row["waited_at"]) for row in found["device_device"]]
    assert sorted(sent) == [("optimizer", "step", 1, "main.py:Own.step:24"), ("startup", "job", 3, "main.py:Own.step:24")]


def test_rounds_that_a_condition_on_the_element_keeps_out_are_not_counted(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import random
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
wanted = [random.random() for _ in range(100)]
for step in range(7):
    x = torch.randn(8, 4).cuda()
    for one in wanted:
        if one > 0.5:
            print(x.sum().item())
""" + STEP)
    assert {row["repeat"] for row in found["host_device"]["syncs"] if row["kind"] == "item"} == {None}


def test_an_option_that_cannot_be_unpacked_is_none_that_gets_there(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NET + """
import random
held = None
if random.random() > 0.5:
    held = (torch.zeros(3, 4), 1)
x, n = held
Net()(x)
"""})
    assert not [one for one in trace.unknowns if one.reason == "error"]


def test_what_ends_the_loop_is_done_once(tmp_path: Path) -> None:
    found = rows(tmp_path, """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
while True:
    x = torch.randn(8, 4).cuda()
    last = x.sum().item() > 3
    if last:
        torch.save(model.state_dict(), "last.pt")
    if last:
        break
""" + STEP)
    assert [(row["kind"], row["repeat"]) for row in found["phases"] if row["name"] == "checkpoint"] == [("one-off", 1)]
    assert [row["frequency"]["per"] for row in found["host_device"]["copies"] if row["what"] == "model.state_dict()"] == ["job"]


def test_a_part_of_pinned_memory_of_unknown_shape_is_pinned(tmp_path: Path) -> None:
    found = rows(tmp_path, """
n = len(open("sizes").read())
def batches():
    while True:
        table = []
        for _ in range(4):
            row = []
            while len(row) < 5:
                row.extend([1] * n)
            table.append(row[:5])
        held = torch.tensor(table, dtype=torch.float, pin_memory=True)
        yield held[:, :-1].to(device="cuda", non_blocking=True)
stream = batches()
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(7):
    x = next(stream)
""" + STEP)
    assert [(row["source"], row["blocks_host"]) for row in found["host_device"]["copies"] if row["frequency"]["per"] == "step"] == [("pinned", False)]


def test_optimizers_in_a_table_step_each(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import torch.distributed as dist
dist.init_process_group("nccl")
names = [str(i) for i in range(20)]
held = nn.ParameterDict({name: nn.Parameter(torch.randn(3)) for name in names}).to("cuda")
optimizers = {name: torch.optim.Adam([held[name]], fused=True) for name in names}
def evaluate():
    with torch.no_grad():
        for _ in range(2):
            held["1"].sum().item()
for step in range(7):
    x = torch.randn(3).cuda()
    sum((held[name] * x).sum() for name in names).backward()
    works = [dist.all_reduce(p.grad, async_op=True) for p in held.values()]
    for work in works:
        work.wait()
    for optimizer in optimizers.values():
        optimizer.step()
    if step % 5 == 0:
        evaluate()
    both = torch.stack([x, x])
""", "torchrun --nproc_per_node 2 main.py")
    kept = {row["name"]: (row["kind"], row["repeat"]) for row in found["phases"]}
    assert kept["optimizer"] == ("repeated", 20) and kept["evaluation"] == ("periodic", 2)
    assert [row["waited_at"] for row in found["device_device"]] == ["main.py:<module>:24"]
    assert [row["hop"] for row in found["data_path"]] == ["copy"]


def test_an_optimizer_of_the_job_s_own_with_groups_that_are_known_in_part(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import json, torch.distributed as dist
dist.init_process_group("nccl")
class Deep(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(n)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
class Own(torch.optim.Optimizer):
    def __init__(self, groups):
        super().__init__(groups, defaults={})
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if group["kind"] == "sharded":
                    dist.reduce_scatter_tensor(p.grad[:1], p.grad)
                else:
                    dist.all_reduce(p.grad)
model = Deep(json.load(open("model.json"))["n"]).cuda()
plain = list(model.layers.parameters())
groups = [dict(kind="whole", params=plain, lr=0.1)]
for shape in sorted({p.shape for p in plain}):
    groups.append(dict(kind="sharded", params=[p for p in plain if p.shape == shape], lr=0.2))
own = Own(groups)
for group in own.param_groups:
    group["first"] = group["lr"]
for step in range(7):
    model(torch.randn(8, 4).cuda()).sum().backward()
    own.step()
torch.save(own.state_dict(), "own.pt")
""", "torchrun --nproc_per_node 2 main.py")
    assert sorted({row["collective"] for row in found["device_device"]}) == ["all_reduce", "reduce_scatter"]
    assert [row["what"] for row in found["host_device"]["copies"] if row["direction"] == "D2H"] == ["own.state_dict()"]
    assert not [row for row in found["unresolved"] if row["reason"] == "error"]


def test_an_object_that_one_rank_holds(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NET + """
import os, copy
class Average:
    def __init__(self, model):
        self.held = copy.deepcopy(model).eval()
    def update(self, model):
        for a, b in zip(self.held.parameters(), model.parameters()):
            a.data.mul_(0.9).add_(b.data, alpha=0.1)
rank = int(os.environ["RANK"])
model = Net().cuda()
average = Average(model) if rank in {-1, 0} else None
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(7):
    model(torch.randn(8, 4).cuda()).sum().backward()
    optimizer.step()
    if average:
        average.update(model)
if rank in {-1, 0}:
    average.held(torch.randn(8, 4).cuda())
"""}, "torchrun --nproc_per_node 2 main.py")
    assert not trace.faults
    found = record(trace)
    assert found["compute"]["ema"]["value"] == "in place"


def test_groups_that_are_added_and_rates_that_schedulers_keep(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NET + """
import re, zipfile, yaml
given = "data.yaml"
if zipfile.is_zipfile(given):
    given = None
if isinstance(given, str):
    given = yaml.safe_load(open(given))
model = Net().cuda()
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(3).cuda())], "weight_decay": 0.5})
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step)
parts = re.split(pattern=r"\\s", string="a b")
for step in range(given["steps"] + len(parts)):
    model(torch.randn(8, 4).cuda()).sum().backward()
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * 0.5 + group["lr"]
    optimizer.step()
""", "data.yaml": "steps: 5\n"})
    found = record(trace)
    assert not trace.faults and not trace.unknowns
    assert found["compute"]["optimizer"]["groups"] == 2 and found["loops"][0]["count"] == 7


def test_a_pipeline_of_webdataset(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import io, string
import webdataset as wds
from PIL import Image
from torchvision import transforms
crop = transforms.Compose([transforms.CenterCrop(2), transforms.ToTensor()])
def decode_picture(sample):
    return Image.open(io.BytesIO(sample))
def tokenize(text, table=str.maketrans("", "", string.punctuation)):
    return torch.zeros(5, dtype=torch.long)
stages = [wds.SimpleShardList("a.tar"), wds.shuffle(100), wds.tarfile_to_samples()]
stages.extend([decode_picture, wds.map_dict(image=crop, text=tokenize), wds.to_tuple("image", "text"), wds.batched(16)])
data = wds.DataPipeline(*stages).with_epoch(25)
loader = wds.WebLoader(data, batch_size=None, num_workers=4)
class SmoothEma:
    value = 0.0
    def update(self, value):
        self.value = self.value * 0.9 + value * 0.1
figure = SmoothEma()
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for image, text in loader:
    x = image.cuda().mean() * torch.ones(8, 4, device="cuda")
    text = text.cuda()
    figure.update(0.5)
""" + STEP)
    assert [(row["hop"], row["by"]) for row in found["data_path"]] == [
        ("read", "webdataset.tarfile_to_samples"), ("decode", "decode_picture"), ("transform", "webdataset.map_dict"), ("sample", "webdataset.shuffle"),
        ("collate", "webdataset.batched"), ("worker queue", "torch.utils.data.DataLoader"),
        ("prefetch", "DataLoader prefetch_factor=2"), ("copy", "torch.Tensor.cuda"), ("copy", "torch.Tensor.cuda")]  # fmt: skip
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("step", 100)]
    assert "ema" not in found["compute"]


def test_stages_chained_on_a_data_set_of_webdataset(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import webdataset as wds
from torchvision import transforms
crop = transforms.Compose([transforms.CenterCrop(2), transforms.ToTensor()])
data = wds.WebDataset("a-{000..099}.tar", shardshuffle=100).shuffle(1000).decode("pil").to_tuple("jpg;png cls").map_tuple(crop, None).batched(8)
loader = wds.WebLoader(data, batch_size=None, num_workers=4, pin_memory=True).unbatched().shuffle(100).batched(8).with_epoch(100)
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for image, label in loader:
    x = image.cuda(non_blocking=True).mean() * torch.ones(8, 4, device="cuda")
""" + STEP)
    hops = [(row["hop"], row["by"], row.get("workers")) for row in found["data_path"]]
    assert hops[:5] == [
        ("read", "webdataset.WebDataset", 4), ("decode", "webdataset.decode", 4), ("transform", "webdataset.map_tuple", 4),
        ("sample", "webdataset.shuffle", 4), ("collate", "webdataset.batched", 4)]  # fmt: skip
    assert [(row["what"], row["source"]) for row in found["host_device"]["copies"] if row["phase"] == "data"] == [("image", "pinned")]
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("step", 100)]


def test_what_another_worker_is_asked_for_runs_as_a_call(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import torch.distributed.rpc as rpc
import torch.distributed.autograd as dist_autograd
from torch.distributed.optim import DistributedOptimizer
class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = rpc.remote("other", Net, args=())
    def forward(self, x):
        return self.net.rpc_sync().forward(x)
    def references(self):
        return [rpc.RRef(p) for p in self.net.to_here().parameters()]
def train():
    model = Held()
    optimizer = DistributedOptimizer(torch.optim.SGD, model.references(), lr=0.1)
    for step in range(7):
        with dist_autograd.context() as context:
            loss = model(torch.randn(8, 4)).sum()
            dist_autograd.backward(context, [loss])
            assert dist_autograd.get_gradients(context) != {}
            optimizer.step(context)
rpc.init_rpc("main", rank=0, world_size=2)
future = rpc.rpc_async("other", train, args=())
future.wait()
rpc.shutdown()
""")
    assert [row["name"] for row in found["phases"]] == ["startup", "forward", "backward", "optimizer"]
    assert found["compute"]["optimizer"]["value"] == "torch.optim.SGD" and found["loops"][0]["count"] == 7
    assert not found["unresolved"]


def test_random_numbers_in_place_of_a_batch_are_its_data(tmp_path: Path) -> None:
    found = rows(tmp_path, """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(7):
    x = torch.rand(8, 4, device="cuda")
""" + STEP)
    assert [(row["name"], row["runs_on"]) for row in found["phases"]][1] == ("data", "device")


def test_raw_bytes_of_a_file_that_only_the_run_names_are_read(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import glob
import numpy as np
def shard(name):
    with open(name, "rb") as f:
        header = np.frombuffer(f.read(1024), dtype=np.int32)
        return np.frombuffer(f.read(), dtype=np.uint16)
tokens = shard(sorted(glob.glob("data/train_*"))[0])
x = torch.tensor(tokens[:32].astype(np.float32)).view(8, 4).cuda()
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(7):
""" + STEP)
    assert [row["code_anchor"] for row in found["data_path"] if row["hop"] == "read"] == ["main.py:shard:13"]


def test_a_checkpoint_phase_is_as_frequent_as_its_most_frequent_file(tmp_path: Path) -> None:
    found = rows(tmp_path, """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
best = 9.0
for epoch in range(3):
    for step in range(7):
        x = torch.randn(8, 4).cuda()
""" + STEP.replace("    ", "        ") + """
    found = loss.item()
    if found < best:
        best = found
        torch.save(model.state_dict(), "best.pt")
    torch.save(model.state_dict(), "last.pt")
""")
    (row,) = [row for row in found["phases"] if row["name"] == "checkpoint"]
    assert "guard" not in row["every"]
