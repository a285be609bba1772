"""Steps that learn from what the model generates in them, or from what a generator hands out in rounds."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import NET, brief, served

ROLLOUT = NET + """    def forward(self, x):
        return self.b(self.a(x))
net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def generate(rows, count):
    x = torch.tensor([rows], device="cuda")
    for _ in range(count):
        token = net(x).argmax(-1).tolist()
        x = torch.tensor([token, token], dtype=torch.float, device="cuda")
        yield token
@torch.no_grad()
def batches():
    while True:
        net.eval()
        made = [token for token in generate([float(one) for one in input().split()], 8)]
        yield torch.tensor(made, dtype=torch.float, device="cuda")
source = batches()
for step in range(90):
    if step % 30 == 0:
        net.eval()
        with torch.no_grad():
            print(net(torch.zeros(2, 4, device="cuda")).mean().item())
    x = next(source)
    net.train()
    loss = net(x).mean()
    loss.backward()
    reward = torch.tensor(float(input()), device="cuda")
    torch.distributed.all_reduce(mean_reward := reward)
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_the_model_generates_to_learn_from_is_data(tmp_path: Path) -> None:
    found = served(tmp_path, ROLLOUT)
    assert brief(found.rows["phases"], "name", "kind")[1:] == [
        ("evaluation", "periodic"),
        ("data", "repeated"),
        ("forward", "repeated"),
        ("backward", "repeated"),
        ("logging", "repeated"),
        ("optimizer", "repeated"),
    ]
    assert brief(found.rows["compute"]["forward"], "phase") == [("evaluation",), ("data",), ("forward",)]
    tokens = next(row for row in found.rows["host_device"]["syncs"] if row["kind"] == "tolist")
    assert (tokens["phase"], tokens["frequency"], tokens["repeat"]) == ("data", {"per": "step"}, 8)
    assert brief(found.rows["data_path"], "hop", "by") == [("copy", "torch.tensor")]


def test_a_number_that_the_ranks_tell_each_other_is_reported(tmp_path: Path) -> None:
    found = served(tmp_path, ROLLOUT, "torchrun --nproc_per_node 2 main.py")
    told = next(row for row in found.rows["host_device"]["copies"] if "float(input())" in row["what"])
    assert told["phase"] == "logging"


WINDOWS = NET + """    def forward(self, x):
        return self.b(self.a(x))
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 640
    def __getitem__(self, i):
        return torch.zeros(4)
net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def windows(loader, size):
    window = []
    for item in loader:
        window.append(item)
        if len(window) == size:
            for one in window:
                yield one
            window = []
    if window:
        for one in window:
            yield one
for x in windows(torch.utils.data.DataLoader(Data(), batch_size=8), 4):
    net(x.cuda()).mean().backward()
    optimizer.step()
"""


def test_the_rest_of_a_generators_last_round_is_no_step_of_its_own(tmp_path: Path) -> None:
    found = served(tmp_path, WINDOWS)
    assert [row["name"] for row in found.rows["phases"]] == ["startup", "data", "forward", "backward", "optimizer"]
    assert brief(found.rows["host_device"]["copies"], "what", "phase") == [("x", "data"), ("Net()", "startup")]


def test_each_loss_of_a_step_has_its_own_forward(tmp_path: Path) -> None:
    text = NET + """    def forward(self, x):
        return self.b(self.a(x))
    def act(self, x):
        mean = self(x)
        return torch.distributions.Normal(mean, torch.ones_like(mean)).rsample()
first, second = Net().cuda(), Net().cuda()
one, other = torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.SGD(second.parameters(), lr=0.1)
for step in range(90):
    x = torch.randn(8, 4, device="cuda")
    first(x).mean().backward()
    one.step()
    second.act(x).mean().backward()
    other.step()
"""
    found = served(tmp_path, text)
    assert {row["phase"] for row in found.rows["host_device"]["syncs"] if row["kind"] == "branch"} == {"forward"}
    assert next(row for row in found.rows["phases"] if row["name"] == "backward")["runs_on"] == "device"
