"""Hand-written training loops: what is copied, waited for and sent, read from small jobs."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, copied, events, job, record

LOADED = NET + """
import torchvision.datasets as datasets, torchvision.transforms as transforms
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = torch.utils.data.DataLoader(datasets.ImageFolder('/data', {transform}), batch_size=8, num_workers=2, pin_memory=True)
for step, (images, _) in enumerate(loader):
{body}
    loss = model({x}).sum()
    loss.backward()
    optimizer.step()
"""


def test_what_a_round_writes_into_its_batch_is_not_in_the_next(tmp_path: Path) -> None:
    crops = "type('Two', (), {'__call__': lambda self, x: [transforms.ToTensor()(x), transforms.ToTensor()(x)]})()"
    body = "    images[0] = images[0].cuda(0, non_blocking=True)\n    images[1] = images[1].cuda(0, non_blocking=True)"
    trace = job(tmp_path, {"main.py": LOADED.format(transform=crops, body=body, x="images[0]")})
    assert copied(trace) == ["images[0]", "images[1]"]


def test_a_part_of_an_unknown_batch_that_is_moved_is_a_tensor(tmp_path: Path) -> None:
    body = "    images = images.cuda(non_blocking=True)"
    source = "import elsewhere\n" + LOADED.format(transform="elsewhere.augment()", body=body, x="images")
    (event,) = [one for one in events(job(tmp_path, {"main.py": source}), "copy") if not one.data.get("carrier")]
    assert (event.data["source"], event.data["blocks_host"]) == ("pinned", False)


def test_devices_by_rank_and_of_either_branch(tmp_path: Path) -> None:
    source = NET + (
        "import os\nrank = int(os.environ['RANK'])\ndevice = rank % 2\nmodel = Net().to(device)\n"
        "other = torch.device('cuda') if torch.cuda.device_count() < 3 else torch.device(f'cuda:{rank}')\n"
        "total = torch.tensor(1.5, device=rank % torch.cuda.device_count())\nx = torch.zeros(2, 4).to(other)\nprint(total.item())\n"
    )
    trace = job(tmp_path, {"main.py": source}, "torchrun --nproc_per_node=2 main.py")
    assert copied(trace) == ["torch.tensor(1.5, device=rank % torch.cuda.device_count())", "torch.zeros(2, 4)"]
    assert [event.data["what"] for event in events(trace, "sync")] == ["total.item()"]


def test_a_made_tensor_of_unknown_size_lies_where_it_is_made(tmp_path: Path) -> None:
    source = "import torch, elsewhere\nn = elsewhere.size()\na = torch.zeros(n, dtype=torch.long).cuda()\nb = torch.ones(n, device='cuda')\nb.cpu()\n"
    trace = job(tmp_path, {"main.py": source})
    assert copied(trace) == ["torch.zeros(n, dtype=torch.long)"]
    assert [event.data["sync"] for event in events(trace, "sync")] == ["cpu"]


def test_only_what_a_template_names_is_shown(tmp_path: Path) -> None:
    source = (
        "import torch\nclass Meter:\n    def __init__(self):\n        self.val = self.sum = torch.zeros((), device='cuda')\n        self.count = 1\n"
        "    def __str__(self):\n        return '{val:.3f} ({val:.1f}) {count}'.format(**self.__dict__)\nprint('{0.sum} {1}'.format(Meter(), 2))\nprint(Meter())\n"
    )
    assert [event.data["sync"] for event in events(job(tmp_path, {"main.py": source}), "sync")] == ["print"] * 3


def test_a_remainder_by_one_is_none(tmp_path: Path) -> None:
    source = NET + (
        "model = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\naccumulate = 1\n"
        "for step in range(100):\n    model(torch.zeros(2, 4).cuda()).sum().backward()\n    if (step + 1) % accumulate == 0:\n        optimizer.step()\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["kind"] for row in found["phases"] if row["name"] == "optimizer"] == ["repeated"]
    assert "gradient_accumulation" not in found["compute"]


def test_state_of_an_enabled_scaler_reads_the_scale(tmp_path: Path) -> None:
    source = "import torch\nscaler = torch.cuda.amp.GradScaler()\nscaler.state_dict()['scale']\ntorch.cuda.amp.GradScaler(enabled=False).state_dict()\n"
    assert len(events(job(tmp_path, {"main.py": source}), "sync")) == 1


def test_host_indices_into_device_tensors_are_copied(tmp_path: Path) -> None:
    source = (
        "import torch, numpy as np\nx = torch.zeros(9, 2, device='cuda')\nwhere = np.arange(3)\ny = x[where]\nx[torch.tensor([1, 2])] = 0.0\n"
        "x[0], x[:, 1]\nkept = torch.zeros(4, 2)\nkept[:2] = x[:2]\n"
    )
    trace = job(tmp_path, {"main.py": source})
    assert [(event.data["direction"], event.data["what"]) for event in events(trace, "copy")] == [
        ("H2D", "index of x[where]"), ("H2D", "index of x[torch.tensor([1, 2])]"), ("D2H", "kept[:2]"),
    ]  # fmt: skip


ACTING = """
import gymnasium as gym
from torch.distributions import Categorical
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Linear(4, 2)
    def act(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action)
envs = gym.vector.SyncVectorEnv([lambda: gym.make('CartPole-v1')] * 4)
agent = Agent().to('cuda')
optimizer = torch.optim.Adam(agent.parameters(), 1e-3)
obs, _ = envs.reset()
for iteration in range(7):
    for step in range(16):
        with torch.no_grad():
            action, _ = agent.act(torch.Tensor(obs).to('cuda'))
        obs, reward, terminated, truncated, info = envs.step(action.cpu().numpy())
    for epoch in range(3):
        _, logp = agent.act(torch.zeros(64, 4).cuda(), torch.zeros(64).cuda())
        logp.mean().backward()
        optimizer.step()
"""


def test_acting_in_an_environment_makes_data(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": NET + ACTING}))
    assert "evaluation" not in {row["name"] for row in found["phases"]}
    acts = [row for row in found["host_device"]["syncs"] if row["kind"] == "cpu"]
    assert [(row["phase"], row["repeat"]) for row in acts] == [("data", 16)]
    assert [row["by"] for row in found["data_path"] if row["hop"] == "read"] == ["gymnasium.Env.step"]
    (forward,) = [row for row in found["phases"] if row["name"] == "forward"]
    assert ":<module>:" in forward["code_anchor"]  # where the model's own method is called
    assert sum(row["kind"] == "branch" for row in found["host_device"]["syncs"]) == 4  # argument checks, on both paths


def test_a_teacher_without_gradients_is_no_evaluation(tmp_path: Path) -> None:
    source = NET + (
        "model, teacher = Net().cuda(), Net().cuda()\nteacher.eval()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(9):\n"
        "    x = torch.zeros(2, 4).cuda()\n    with torch.no_grad():\n        goal = teacher(x)\n    (model(x) - goal).sum().backward()\n    optimizer.step()\n"
        "    if step % 3 == 0:\n        with torch.no_grad():\n            print(teacher(x).sum().item())\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["phase"] for row in found["compute"]["forward"]] == ["forward", "forward", "evaluation"]


def test_gathers_of_a_replicated_model_are_data_parallel(tmp_path: Path) -> None:
    source = NET.replace("return self.fc(x)", "y = self.fc(x)\n        torch.distributed.all_reduce(y)\n        return y") + (
        "torch.distributed.init_process_group('nccl')\nmodel = nn.parallel.DistributedDataParallel(Net().cuda())\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(9):\n    model(torch.zeros(2, 4).cuda()).sum().backward()\n    optimizer.step()\n"
    )
    found = record(job(tmp_path, {"main.py": source}, "torchrun --nproc_per_node=2 main.py"))
    assert {row["parallelism"] for row in found["device_device"]} == {"data"}


def test_last_words_are_not_logged_each_step(tmp_path: Path) -> None:
    source = NET + (
        "import math, sys\nmodel = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(100):\n"
        "    loss = model(torch.zeros(2, 4).cuda()).sum()\n    value = loss.item()\n    if not math.isfinite(value):\n        print('stop', loss)\n        sys.exit(1)\n"
        "    loss.backward()\n    optimizer.step()\n    if step % 20 == 0:\n        print(value)\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["every"]["count"] for row in found["phases"] if row["name"] == "logging"] == [20]
    assert [row["kind"] for row in found["host_device"]["syncs"] if row["phase"] == "logging"] == ["item"]


def test_parameters_written_by_hand(tmp_path: Path) -> None:
    source = NET + (
        "import copy\nmodel = Net().cuda()\nema = copy.deepcopy(model)\nfor p, q in zip(ema.parameters(), model.parameters()):\n    p.data.copy_(q.data)\n"
        "for epoch in range(3):\n    for step in range(9):\n        model.zero_grad()\n        model(torch.zeros(2, 4).cuda()).sum().backward()\n"
        "        for p in model.parameters():\n            p.data.add_(p.grad, alpha=-0.1)\n"
        "        for p, q in zip(ema.parameters(), model.parameters()):\n            p.data.copy_(q.detach().lerp(p, 0.9))\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert found["compute"]["optimizer_step"]["value"] == "by hand"
    assert found["compute"]["ema"]["value"] == "in place" and found["compute"]["ema"]["code_anchor"].endswith(":21")
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("epoch", 3), ("step", 9)]
    assert [row["repeat"] for row in found["phases"] if row["name"] == "optimizer"] == [1]


def test_sharded_optimizer_broadcasts_what_it_stepped(tmp_path: Path) -> None:
    source = NET + (
        "from torch.distributed.optim import ZeroRedundancyOptimizer\ntorch.distributed.init_process_group('nccl')\nmodel = Net().cuda()\n"
        "optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-3)\n"
        "for step in range(9):\n    for micro_step in range(2):\n        model(torch.zeros(2, 4).cuda()).sum().backward()\n    optimizer.step()\n"
    )
    found = record(job(tmp_path, {"main.py": source}, "torchrun --nproc_per_node=2 main.py"))
    (sent,) = found["device_device"]
    assert (sent["collective"], sent["phase"], sent["blocking"], sent["issued_by"]) == ("broadcast", "optimizer", True, "ZeroRedundancyOptimizer")
    assert found["compute"]["optimizer"]["value"] == "torch.optim.AdamW" and found["compute"]["gradient_accumulation"]["value"] == 2


def test_lists_of_open_length_lie_where_their_elements_do(tmp_path: Path) -> None:
    source = "import torch\nparts = []\nfor line in open('words.txt'):\n    parts.append(torch.tensor([len(w) for w in line.split()]))\nwhole = torch.cat(parts).to('cuda')\n"
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.cat(parts)"]


def test_columns_of_a_batch_longer_than_what_is_evaluated(tmp_path: Path) -> None:
    source = NET + (
        "class Data(torch.utils.data.Dataset):\n    def __len__(self):\n        return 640\n    def __getitem__(self, index):\n        return torch.zeros(4), index\n"
        "def collate(samples):\n    images, labels = zip(*samples)\n    return torch.stack(images), torch.tensor(labels)\n"
        "for x, y in torch.utils.data.DataLoader(Data(), batch_size=64, collate_fn=collate, pin_memory=True):\n    Net()(x.cuda(non_blocking=True))\n"
    )
    (event,) = events(job(tmp_path, {"main.py": source}), "copy")
    assert (event.data["what"], event.data["source"], event.data["blocks_host"]) == ("x", "pinned", False)


def test_a_metaclass_prepares_its_classes(tmp_path: Path) -> None:
    source = NET + (
        "class Meta(type):\n    def __init__(cls, *args):\n        cls.held = {}\n        super().__init__(*args)\nclass Base(metaclass=Meta):\n    pass\nclass Own(Base):\n"
        "    @classmethod\n    def get(cls, name):\n        if name not in cls.held:\n            cls.held[name] = Net().cuda()\n        return cls.held[name]\n"
        "Own.get('a')(torch.zeros(2, 4).cuda()).sum().item()\nOwn.get('a')\n"
    )
    trace = job(tmp_path, {"main.py": source})
    assert [event.data["what"] for event in events(trace, "copy")] == ["Net()", "torch.zeros(2, 4)"] and not trace.unknowns


def test_a_subclass_of_the_wrapper_is_the_wrapper(tmp_path: Path) -> None:
    source = NET + (
        "class Own(nn.parallel.DistributedDataParallel):\n    def __init__(self, module, **more):\n        super().__init__(module=module, **more)\n"
        "    def train_step(self, x):\n        self(x).sum().backward()\ntorch.distributed.init_process_group('nccl')\nmodel = Own(Net().cuda(), device_ids=[0])\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(9):\n    model.train_step(torch.zeros(2, 4).cuda())\n    optimizer.step()\n"
    )
    found = record(job(tmp_path, {"main.py": source}, "torchrun --nproc_per_node=2 main.py"))
    assert ("all_reduce", "backward") in {(row["collective"], row["phase"]) for row in found["device_device"]}


def test_what_a_file_holds_is_what_is_made_where_it_is_not_there(tmp_path: Path) -> None:
    source = NET + (
        "import os\nclass Corpus:\n    def __init__(self):\n        self.data = torch.zeros(64, 4)\n    def rounds(self):\n        for i in range(0, len(self.data), 8):\n"
        "            yield self.data[i:i + 8].cuda()\n"
        "if os.path.exists('cache.pt'):\n    corpus = torch.load('cache.pt')\nelse:\n    corpus = Corpus()\n    torch.save(corpus, 'cache.pt')\n"
        "model = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nstep = 0\nfor epoch in range(3):\n    for i, x in enumerate(corpus.rounds(), start=1):\n"
        "        loss = model(x).sum()\n        loss.backward()\n        optimizer.step()\n        step += 1\n        due, last = step % 5 == 0, step == 24\n"
        "        if (due or last) and model.training:\n            torch.save(model.state_dict(), 'x.pt')\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["frequency"]["per"] for row in found["host_device"]["copies"] if row["direction"] == "H2D" and row["phase"] == "data"] == ["step"]
    assert [row["every"]["count"] for row in found["phases"] if row["name"] == "checkpoint" and row["kind"] == "periodic"] == [5]


def test_a_copy_as_its_class_makes_it(tmp_path: Path) -> None:
    source = NET + (
        "import copy\nclass Store:\n    def __init__(self):\n        self.held = {'x': torch.zeros(8, 4)}\n    def __copy__(self):\n        out = self.__class__.__new__(self.__class__)\n"
        "        out.held = copy.copy(self.held)\n        return out\n"
        "store = Store()\nother = copy.copy(store)\nother.held['x'] = other.held['x'].cuda()\nmodel = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for step in range(9):\n    print(store.held['x'].sum().item())\n    model(other.held['x']).sum().backward()\n    optimizer.step()\n"
    )
    assert [row["kind"] for row in record(job(tmp_path, {"main.py": source}))["host_device"]["syncs"] if row["kind"] == "item"] == []
