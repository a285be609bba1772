"""Jobs on diffusers whose source is not given: its mixins under classes of the source, and its own models."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "schedule"))

from serving_jobs import brief, served

SOURCE = """
import numpy as np
import torch
from torch import nn
from torchvision.utils import save_image
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.modeling_utils import ModelMixin
from diffusers.models import AutoencoderKL
from diffusers.schedulers.scheduling_utils import SchedulerMixin

class Steps(SchedulerMixin, ConfigMixin):
    @register_to_config
    def __init__(self, total=1000, shift=1.0):
        self.high = torch.from_numpy(np.linspace(1, 1 / total, total)[::-1].copy())[0].item()
    def set_timesteps(self, count, device):
        sigmas = np.linspace(self.high, 0.0, count + 1).copy()[:-1]
        sigmas = self.config.shift * sigmas / (1 + (self.config.shift - 1) * sigmas)
        self.timesteps = torch.from_numpy(sigmas * self.config.total).to(device=device)

class Net(ModelMixin, ConfigMixin):
    @register_to_config
    def __init__(self, width=4, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
    def forward(self, x, t):
        for layer in self.layers:
            x = layer(x)
        return x
"""
SAMPLE = """
class Pipe:
    def __init__(self):
        self.net = Net.from_pretrained("./weights").to("cuda")
        self.vae = AutoencoderKL.from_pretrained("some/vae").to("cuda")
        self.encoder = nn.Embedding(8, 4)
    @torch.no_grad()
    def __call__(self, steps=40):
        self.encoder.to("cuda")
        text = self.encoder(torch.tensor([1, 2]).to("cuda"))
        self.encoder.cpu()
        plan = Steps()
        plan.set_timesteps(steps, "cuda")
        latents = [torch.randn(2, 4, device="cuda")]
        for i, t in enumerate(plan.timesteps):
            cond = self.net(latents[0], t)
            uncond = self.net(latents[0], t)
            latents = [latents[0] - 0.1 * (cond + uncond)]
        torch.cuda.empty_cache()
        return self.vae.decode(latents[0]).sample
save_image(Pipe()(), "out.png")
"""


def test_a_pipeline_of_the_source(tmp_path: Path) -> None:
    found = served(tmp_path, SOURCE + SAMPLE)
    assert found.entrypoint is not None and found.entrypoint.symbol == "Pipe.__call__"
    assert brief(found.rows["loops"], "unit", "count") == [("denoising step", 40)]
    assert brief(found.rows["phases"], "name", "repeat") == [("startup", 1), ("data", 1), ("prefill", 1), ("sample", 40), ("decode", 1), ("respond", 1)]
    moves = [(row["direction"], row["what"], row["phase"]) for row in found.rows["host_device"]["copies"]]
    assert ("H2D", "self.encoder", "prefill") in moves and ("D2H", "self.encoder", "prefill") in moves
    assert ("H2D", "AutoencoderKL.from_pretrained('some/vae')", "startup") in moves
    assert [(kind, phase) for kind, phase in brief(found.rows["host_device"]["syncs"], "kind", "phase") if kind == "cpu"] == [("cpu", "respond")]
    assert [row["value"] for row in found.rows["compute"]["forward"]] == ["Embedding.forward", "Net.forward", "Net.forward", "AutoencoderKL.decode"]


def test_what_a_checkpoint_says_is_not_taken_from_the_defaults(tmp_path: Path) -> None:
    found = served(tmp_path, SOURCE + 'net = Net.from_pretrained("./weights")\nfor i in range(net.config.depth):\n    y = net(torch.zeros(1, 4), 0)\n')
    assert [row["count"] for row in found.rows["loops"]] == [None]


def test_a_checkpoint_in_the_source_is_read(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "config.json").write_text('{"width": 8, "depth": 3}')
    found = served(tmp_path, SOURCE + 'net = Net.from_pretrained("./weights")\nfor i in range(net.config.depth):\n    y = net(torch.zeros(1, 8), 0)\n')
    assert [row["count"] for row in found.rows["loops"]] == [3]
