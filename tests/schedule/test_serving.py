"""Serving and sampling jobs: which loop is the step, what its rounds are, which phase a place has."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import NET, brief, line_of, served

SAMPLER = NET + """    def forward(self, x, t):
        return self.b(self.a(x))
    def guided(self, x, t):
        return self.forward(torch.cat([x, x]), t).chunk(2)[0]
    def decode(self, z):
        return self.b(z)
def loop(fn, x, device):
    for i in list(range(30))[::-1]:
        t = torch.tensor([i] * 2, device=device)
        x = x - 0.1 * fn(x, t)
    return x
torch.set_grad_enabled(False)
net = Net().to("cuda").eval()
"""


def test_rounds_that_build_on_each_other_are_denoising_steps(tmp_path: Path) -> None:
    found = served(tmp_path, SAMPLER + 'x = loop(net.guided, torch.randn(2, 4, device="cuda"), "cuda")\nimage = net.decode(x).cpu()\n')
    assert brief(found.rows["loops"], "unit", "count", "inside") == [("denoising step", 30, "sample")]
    assert brief(found.rows["phases"], "name", "repeat") == [("startup", 1), ("sample", 30), ("decode", 1), ("respond", 1)]
    assert brief(found.rows["compute"]["forward"], "value", "phase") == [("Net.forward", "sample"), ("Net.decode", "decode")]
    copies = found.rows["host_device"]["copies"]
    assert brief(copies, "direction", "phase") == [("H2D", "sample"), ("D2H", "respond"), ("H2D", "startup")]
    assert copies[0]["frequency"]["per"] == "denoising step"
    assert found.rows["data_path"] == []  # what a denoising step makes for itself is no way in


def test_requests_round_a_denoising_loop_are_the_step(tmp_path: Path) -> None:
    text = SAMPLER + """
device = 3 % torch.cuda.device_count()
for _ in range(5):
    y = torch.tensor([1, 2], device=device)
    out = loop(net.forward, torch.randn(2, 4, device=device), device).cpu()
"""
    found = served(tmp_path, text)
    assert brief(found.rows["loops"], "unit", "count") == [("request", 5), ("denoising step", 30)]
    copies = found.rows["host_device"]["copies"]
    assert [(row["what"], row["phase"], row["frequency"]["per"]) for row in copies[:2]] == [
        ("torch.tensor([i] * 2, device=device)", "sample", "denoising step"),
        ("torch.tensor([1, 2], device=device)", "data", "request"),
    ]


GENERATE = NET + """    def forward(self, tokens, start):
        return self.b(self.a(tokens.float()))
def generate(net, prompts, n):
    tokens = torch.full((2, 40), 0, device="cuda")
    for k, p in enumerate(prompts):
        tokens[k, : len(p)] = torch.tensor(p, device="cuda")
    start, done = 0, torch.tensor([False] * 2, device="cuda")
    for position in range(min(len(p) for p in prompts), n):
        logits = net.forward(tokens[:, start:position], start)
        following = torch.argmax(logits[:, -1], dim=-1)
        tokens[:, position] = following
        done |= following == 2
        start = position
        if all(done):
            break
    return tokens.tolist()
net = Net().to("cuda").eval()
"""


def test_the_first_round_of_tokens_is_the_prefill(tmp_path: Path) -> None:
    found = served(tmp_path, GENERATE + "out = generate(net, [[1, 2], [3, 4, 5]], 40)\nprint('answer', out)\n")
    names = brief(found.rows["phases"], "name", "repeat")
    assert ("prefill", 1) in names and ("decode", 38) in names and ("respond", 1) in names
    assert brief(found.rows["loops"], "unit", "inside") == [("token", "decode")]
    syncs = [row for row in found.rows["host_device"]["syncs"] if row["kind"] == "branch"]
    assert brief(syncs, "what", "phase") == [("all(done)", "sample")] and syncs[0]["frequency"] == {"per": "token"}


def test_a_warm_up_is_not_the_step(tmp_path: Path) -> None:
    text = GENERATE + """
generate(net, [[1]], 2)
while True:
    prompt = [int(one) for one in input().split()]
    print('reply', generate(net, [prompt, prompt], 40))
"""
    found = served(tmp_path, text)
    assert [row["unit"] for row in found.rows["loops"] if row.get("inside") != "startup"] == ["request", "token"]
    reads = [row for row in found.rows["host_device"]["syncs"] if row["kind"] == "tolist"]
    assert {(row["phase"], row["frequency"]["per"]) for row in reads} == {("startup", "job"), ("respond", "request")}


def test_tensors_of_a_default_type_lie_on_the_device(tmp_path: Path) -> None:
    text = NET + """    def forward(self, x):
        return self.b(self.a(x))
state = torch.load("w.pt", map_location="cpu")
torch.set_default_tensor_type(torch.cuda.HalfTensor)
cache = torch.zeros(2, 4).cuda()
net = Net()
net.load_state_dict(state, strict=False)
print(net(cache).sum().item())
"""
    copies = served(tmp_path, text).rows["host_device"]["copies"]
    assert [(row["direction"], line_of(row)) for row in copies if row["direction"] == "H2D"] == [("H2D", 14)]


ENGINE = NET + """    def forward(self, x):
        return self.b(self.a(x))
class Engine:
    def __init__(self):
        self.net = Net().cuda()
        self.sizes, self.graphs, self.waiting = [1, 2, 4] + list(range(8, 80, 8)), {}, []
        self.buffer, self.out = torch.zeros(64, 4, device="cuda"), torch.zeros(64, 4, device="cuda")
        for size in reversed(self.sizes):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.out[:size] = self.net(self.buffer[:size])
            self.graphs[size] = graph
    def prepare(self, rows):
        host = torch.empty(sum(len(row) for row in rows), 4, pin_memory=True)
        return host.to("cuda", non_blocking=True)
    def step(self):
        rows = self.schedule()
        x = self.prepare(rows)
        self.buffer[: x.size(0)] = x
        self.graphs[next(size for size in self.sizes if size >= x.size(0))].replay()
        next_tokens = self.out.argmax(-1).to("cpu", non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        self.postprocess(next_tokens, done)
    def schedule(self):
        return [self.waiting[int(one)] for one in input().split()]
    def postprocess(self, tokens, done):
        done.synchronize()
        self.last = tokens
    def generate(self, waiting):
        self.waiting = waiting
        while self.waiting:
            self.step()
"""
RUN = "engine = Engine()\nengine.generate([input()])\nengine.generate(input().split())\n"


def test_an_engine_replays_the_graph_that_it_captured(tmp_path: Path) -> None:
    found = served(tmp_path, ENGINE + RUN)
    assert found.entrypoint is not None and found.entrypoint.symbol == "Engine.step"
    replays = [row for row in found.rows["compute"]["cuda_graphs"] if row["value"] == "replay"]
    assert [line_of(row) for row in replays] == [27]
    assert [(row["unit"], row.get("inside")) for row in found.rows["loops"]] == [("startup size", "startup"), ("startup", "startup"), ("step", None)]
    copies = [row for row in found.rows["host_device"]["copies"] if row["phase"] != "startup"]
    assert brief(copies, "direction", "source", "non_blocking") == [("H2D", "pinned", True), ("D2H", None, True)]
    assert copies[1]["phase"] == "sample"
    waits = [row for row in found.rows["host_device"]["syncs"] if row["what"] == "done.synchronize()" and row["phase"] != "startup"]
    assert brief(waits, "phase", "repeat") == [("respond", 1)]


def test_processes_hold_the_model_where_the_main_one_holds_none(tmp_path: Path) -> None:
    text = ENGINE.replace("class Engine:", "import multiprocessing as mp\nclass Engine:") + """
def worker(rank, size):
    torch.distributed.init_process_group("nccl", rank=rank, world_size=size)
    engine = Engine()
    torch.distributed.all_reduce(engine.buffer)
    if rank == 0:
        print("ready")
    while True:
        engine.step()
if __name__ == "__main__":
    for rank in range(4):
        mp.Process(target=worker, args=(rank, 4)).start()
    mp.Process(target=print, args=("served",)).start()
"""
    found = served(tmp_path, text)
    assert brief(found.rows["device_device"], "collective", "ranks") == [("all_reduce", "all")]
    assert found.rows["loops"][-1]["unit"] == "step"
    shown = [row for row in found.rows["phases"] if row["name"] == "startup"]
    assert len(shown) == 1 and any(row["what"] == "done.synchronize()" for row in found.rows["host_device"]["syncs"])
