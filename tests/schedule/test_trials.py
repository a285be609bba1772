"""A model that is tried out before the first step: that is start-up, with what is made and moved beside it."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import brief, served

SOURCE = """
import os, torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        self.eval()
        self.width = self.forward(torch.zeros(1, 2)).shape[-1]
        self.train()
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
def fits(net):
    net.eval()
    with torch.no_grad():
        return bool(net(torch.zeros(1, 2).cuda()).isfinite().all())
def set_up():
    net = Net().cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    return net, opt, torch.amp.GradScaler("cuda", enabled=fits(net) and os.environ["AMP"] == "1")
net, opt, scaler = set_up()
data = torch.utils.data.DataLoader([torch.ones(2)] * 64, batch_size=2, num_workers=2, prefetch_factor=int(os.environ["AHEAD"]))
for x in data:
    loss = net(x.cuda()).sum()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if scaler.is_enabled():
        print(scaler.get_scale())
"""


def test_what_is_made_and_moved_beside_a_trial_is_start_up(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE).rows
    assert ("Net()", "startup") in brief(rows["host_device"]["copies"], "what", "phase")
    assert brief(rows["loops"], "unit") == [("step",)]


def test_a_scaler_that_may_be_off_is_neither_on_nor_off(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE).rows
    assert "grad_scaler" not in rows["compute"]
    assert not [one for one in rows["host_device"]["syncs"] if "found_inf" in one["what"] or one["what"] == "scaler.get_scale()"]


def test_a_number_of_batches_that_is_not_known_is_not_told(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE).rows
    assert [one["by"] for one in rows["data_path"] if one["hop"] == "prefetch"] == ["DataLoader prefetch_factor"]
