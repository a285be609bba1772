"""Pipelines whose class is read: a user's own on diffusers' base class, and one of a library whose source is given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "schedule"))

from serving_jobs import brief, served

OWN = """
import torch
from torch import nn
from diffusers.image_processor import VaeImageProcessor
from diffusers.models import AutoencoderKL
from diffusers.pipelines.pipeline_utils import DiffusionPipeline
from diffusers.utils.torch_utils import randn_tensor

class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x, t):
        return self.two(self.one(x))

class Plan:
    config = {}
    def set_timesteps(self, count, device):
        self.timesteps = torch.linspace(1, 0, count).to(device)
    def step(self, out, x):
        return x - out

class Pipe(DiffusionPipeline):
    model_cpu_offload_seq = "denoiser->vae"
    def __init__(self, vae: AutoencoderKL, denoiser: Denoiser, scheduler: Plan):
        super().__init__()
        self.register_modules(vae=vae, denoiser=denoiser, scheduler=scheduler)
        self.image_processor = VaeImageProcessor(vae_scale_factor=8)
    @torch.no_grad()
    def __call__(self, num_inference_steps=20, generator=None):
        device = self._execution_device
        self.scheduler.set_timesteps(num_inference_steps, device)
        latents = randn_tensor((1, 4), generator=generator, device=device)
        with self.progress_bar(total=num_inference_steps) as bar:
            for t in self.scheduler.timesteps:
                latents = self.scheduler.step(self.denoiser(latents, t), latents)
                bar.update()
        image = self.vae.decode(latents, return_dict=False)[0]
        self.maybe_free_model_hooks()
        return self.image_processor.postprocess(image)

vae = AutoencoderKL.from_pretrained("some/vae")
pipe = Pipe(vae, Denoiser(), Plan())
"""
Copies = list[tuple[str, str, str, Any]]


def copies(folder: Path, text: str, **files: str) -> Copies:
    return brief(served(folder, text, **files).rows["host_device"]["copies"], "direction", "what", "phase", "repeat")


def test_moved_once(tmp_path: Path) -> None:
    found = served(tmp_path, OWN + 'pipe = pipe.to("cuda")\nimages = pipe()\n').rows
    assert brief(found["loops"], "unit", "count") == [("denoising step", 20)]
    rows = brief(found["host_device"]["copies"], "direction", "what", "phase")
    assert ("H2D", "weights of vae", "startup") in rows and ("H2D", "weights of denoiser", "startup") in rows
    assert ("D2H", "image.cpu()", "respond") in [(one, what, phase) for one, what, phase in rows]


def test_offloaded_by_layer(tmp_path: Path) -> None:
    """Each parameter comes before its layer's forward, nothing goes back."""
    rows = copies(tmp_path, OWN + "pipe.enable_sequential_cpu_offload()\nimages = pipe()\n")
    assert sorted(row for row in rows if row[1].endswith("of Linear")) == [
        ("H2D", "bias of Linear", "sample", 2), ("H2D", "weight of Linear", "sample", 2),
    ]  # fmt: skip
    assert ("H2D", "weights of AutoencoderKL, layer by layer", "decode", None) in rows
    assert [row for row in rows if row[0] == "D2H"] == [("D2H", "image.cpu()", "respond", 1)]


def test_offloaded_by_model(tmp_path: Path) -> None:
    """The denoiser comes in the first round and goes as the decoder comes; that goes when all is done."""
    found = served(tmp_path, OWN + "pipe.enable_model_cpu_offload()\nimages = pipe()\n").rows["host_device"]["copies"]
    moved = [row for row in brief(found, "direction", "what", "repeat") if row[1].startswith("weights")]
    assert sorted(moved) == [("D2H", "weights of AutoencoderKL", 1), ("D2H", "weights of Denoiser", 1), ("H2D", "weights of AutoencoderKL", 1), ("H2D", "weights of Denoiser", 1)]
    assert "denoising step" not in [row["frequency"]["per"] for row in found if row["what"].startswith("weights")]


def test_a_generator_of_the_host_draws_there(tmp_path: Path) -> None:
    run = 'pipe = pipe.to("cuda")\nimages = pipe(generator={})\n'
    there = [row for row in copies(tmp_path, OWN + run.format("torch.Generator().manual_seed(1)")) if "randn" in row[1]]
    assert [(one, repeat) for one, _, _, repeat in there] == [("H2D", 1)]
    assert not [row for row in copies(tmp_path, OWN + run.format('torch.Generator("cuda")')) if "randn" in row[1]]


def test_loaded_by_its_annotations(tmp_path: Path) -> None:
    """``from_pretrained`` of a class that is read: parts of the classes that ``__init__`` names; what may be left out is open."""
    own = OWN[: OWN.index("vae = AutoencoderKL.from")].replace("scheduler: Plan):", "scheduler: Plan, checker: int = 0):")
    own = own.replace("class Denoiser(nn.Module):", "class Denoiser(ModelMixin, ConfigMixin):").replace(
        "import torch\n", "import torch\nfrom diffusers import ConfigMixin, ModelMixin\n", 1
    )
    found = served(tmp_path, own + 'pipe = Pipe.from_pretrained("some/model", scheduler=Plan(), torch_dtype=torch.float16).to("cuda")\nimages = pipe()\n')
    assert brief(found.rows["loops"], "unit", "count") == [("denoising step", 20)]
    assert [row["value"] for row in found.rows["compute"]["forward"]] == ["Denoiser.forward", "AutoencoderKL.decode"]
