"""Where the phases of a trainer's step stand: the report, the step of an optimizer in wrappers, a checkpoint far below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from interpreted import NET, job, record

TRAINER = NET + """
import logging
logger = logging.getLogger()
class Wrapped:
    def __init__(self, inner):
        self.inner = inner
    @torch.no_grad()
    def step(self):
        return self.inner.step()
class Files:
    def save(self, step):
        self.write(step)
    def write(self, step):
        torch.save(model.state_dict(), f'{step}.pt')
class Own(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None):
        return super().step(closure=closure)
model = Net().cuda()
optimizer = Wrapped(Wrapped(Own(model.parameters(), 0.1)))
files = Files()
every = %d
def collect(step):
    if step %% 50 == 0:
        logger.info(f'collected at {step}')
for step in range(400):
    logger.info(f'step {step}')
    collect(step)
    loss = model(torch.randn(8, 4).cuda()).sum()
    loss.backward()
    if (step + 1) %% every == 0:
        optimizer.step()
        shown = loss.item()
        logger.info(f'loss {shown}')
        if step %% 10 == 0:
            logger.info(f'again {shown}')
    if step %% 100 == 0:
        files.save(step)
"""


@pytest.mark.parametrize("every", [1, 4])
def test_phases_stand_where_the_step_s_own_frame_says(tmp_path: Path, every: int) -> None:
    text = TRAINER % every
    found = record(job(tmp_path, {"main.py": text}))
    lines = [line.strip() for line in text.splitlines()]

    def at(row: dict[str, Any]) -> str:
        return lines[int(row["code_anchor"].rpartition(":")[2]) - 1]

    phases: dict[str, list[dict[str, Any]]] = {}
    for row in found["phases"]:
        phases.setdefault(row["name"], []).append(row)
    assert [at(row) for row in phases["optimizer"]] == ["optimizer.step()"]
    assert [at(row) for row in phases["checkpoint"]] == ["files.save(step)"]
    assert [(row["kind"], at(row)) for row in phases["logging"]] == [
        ("repeated", "logger.info(f'loss {shown}')"),
        ("periodic", "if step % 10 == 0:"),
    ]
    names = [row["name"] for row in found["phases"]]
    assert names.index("logging") > names.index("optimizer")


def test_reports_of_each_step_are_one_phase(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": NET + """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
every = 1
for step in range(9):
    loss = model(torch.randn(8, 4).cuda()).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
    if step % every == 0:
        print(loss.item())
"""}))
    assert [(row["kind"], row["code_anchor"]) for row in found["phases"] if row["name"] == "logging"] == [("repeated", "main.py:<module>:17")]


def test_the_forward_is_of_the_model_that_learns(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": NET + """
import os
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4).eval().requires_grad_(False)
    def forward(self, x):
        return self.inner(x)
encoder, model = Encoder().cuda(), Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(9):
    batch = {'x': torch.randn(8, 4)}
    if os.path.exists('masks'):
        batch = {'x': torch.randn(8, 4), 'mask': torch.ones(8)}
    batch['code'] = encoder(batch['x'].cuda())
    loss = model(batch['code']).sum()
    loss.backward()
    optimizer.step()
"""}))
    assert [row["code_anchor"] for row in found["phases"] if row["name"] == "forward"] == ["main.py:<module>:24"]
