"""Pipelines of diffusers whose source is not given: encode, N steps, decode, and where the weights lie meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_job
from cgx.indexer.interpreter.trace import ModuleCall
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.overlays.diffusers_families import FAMILIES
from cgx.indexer.passes.schedule.tree import spots
from cgx.indexer.source import open_tree

sys.path.insert(0, str(Path(__file__).parents[1] / "schedule"))

from serving_jobs import brief, served

SOURCE = """
import torch
from diffusers import {name}, CogVideoXDPMScheduler, EulerDiscreteScheduler

def main():
    pipe = {name}.from_pretrained("some/model", torch_dtype=torch.bfloat16{loading})
    {place}
    image = pipe("a cat", num_inference_steps=30{more}).images[0]
    image.save("cat.png")

main()
"""
Copies = list[tuple[str, str]]


def made(folder: Path, name: str, place: str = 'pipe.to("cuda")', more: str = "", loading: str = "") -> tuple[dict[str, Any], Copies]:
    record = served(folder, SOURCE.format(name=name, place=place, more=more, loading=loading)).rows
    return record, [(row["direction"], row["what"]) for row in record["host_device"]["copies"]]


def weights(direction: str, *roles: str) -> Copies:
    return [(direction, f"weights of {role}") for role in roles]


def test_moved_once(tmp_path: Path) -> None:
    record, copies = made(tmp_path, "FluxPipeline")
    roles = ("text_encoder", "text_encoder_2", "transformer", "vae")
    texts = [("H2D", "text_input_ids for text_encoder"), ("H2D", "text_input_ids for text_encoder_2")]
    tables = [("H2D", what) for what in ("timesteps", "text_ids", "latent_image_ids")]
    assert sorted(copies) == sorted([*weights("H2D", *roles), *texts, *tables, ("D2H", "decoded output")])
    assert brief(record["loops"], "unit", "count") == [("denoising step", 30)]
    assert brief(record["compute"]["forward"], "value", "phase")[-2:] == [("FluxTransformer2DModel.forward", "sample"), ("AutoencoderKL.decode", "decode")]
    moved = [row["phase"] for row in record["host_device"]["copies"] if row["what"].startswith("weights")]
    assert moved == ["startup"] * 4
    assert [row["phase"] for row in record["host_device"]["copies"] if row["direction"] == "D2H"] == ["respond"]


def test_offloaded_by_model(tmp_path: Path) -> None:
    roles = ("text_encoder", "transformer", "vae")
    record, copies = made(tmp_path, "CogVideoXPipeline", "pipe.enable_model_cpu_offload()")
    assert [one for one in copies if one[1].startswith("weights")] == [
        *weights("H2D", "text_encoder"), *weights("D2H", "text_encoder"), *weights("H2D", "transformer"), *weights("D2H", "transformer"),
        *weights("H2D", "vae"), *weights("D2H", "vae"),
    ]  # fmt: skip
    assert {row["frequency"]["per"] for row in record["host_device"]["copies"] if row["what"] in {f"weights of {role}" for role in roles}} <= {"job", "request"}


def test_offloaded_by_layer(tmp_path: Path) -> None:
    record, _ = made(tmp_path, "CogVideoXPipeline", "pipe.enable_sequential_cpu_offload()")
    step = next(row for row in record["host_device"]["copies"] if row["what"].startswith("weights of transformer"))
    assert (step["phase"], step["frequency"]["per"], step["repeat"]) == ("sample", "denoising step", None)
    assert [row for row in record["host_device"]["copies"] if row["direction"] == "D2H" and row["what"].startswith("weights")] == []


def test_the_negative_prompt_is_encoded_where_guidance_needs_it(tmp_path: Path) -> None:
    def encoded(name: str, more: str = "") -> list[int]:
        record, _ = made(tmp_path, name, more=more)
        return [row["repeat"] for row in record["host_device"]["copies"] if row["what"].startswith("text_input_ids")]

    assert encoded("CogVideoXPipeline") == [2]
    assert encoded("CogVideoXPipeline", ", guidance_scale=1.0") == [1]
    assert encoded("StableDiffusionXLPipeline") == [1, 1]
    assert encoded("StableDiffusionXLPipeline", ', negative_prompt="dog"') == [2, 2]
    assert encoded("StableDiffusion3Pipeline") == [2, 2, 2]


def test_guidance_by_a_second_call(tmp_path: Path) -> None:
    def runs(more: str = "") -> int:
        (tmp_path / "main.py").write_text(SOURCE.format(name="WanPipeline", place="", more=more, loading=""))
        tree = open_tree(str(tmp_path))
        found = spots(run_job(tree, [], parse_launch("python main.py", tree), Options()))
        return sum(isinstance(spot.node, ModuleCall) and spot.node.module.cls.name == "WanTransformer3DModel" for spot in found)

    assert (runs(), runs(", guidance_scale=1.0")) == (2, 1)


def test_what_the_scheduler_asks(tmp_path: Path) -> None:
    place = 'pipe.to("cuda")\n    pipe.scheduler = CogVideoXDPMScheduler.from_config(pipe.scheduler.config)'
    record, _ = made(tmp_path, "CogVideoXPipeline", place, ", use_dynamic_cfg=True")
    asked = [row for row in record["host_device"]["syncs"] if row["phase"] == "sample"]
    assert sorted((row["kind"], row["what"]) for row in asked) == [
        ("branch", "prev_timestep < 0"), ("branch", "prev_timestep >= 0"), ("item", "self.alphas_cumprod[prev_timestep]"),
        ("item", "self.alphas_cumprod[timestep]"), ("item", "self.alphas_cumprod[timestep_back]"), ("item", "t.item()"),
    ]  # fmt: skip
    assert [row for row in made(tmp_path, "CogVideoXPipeline")[0]["host_device"]["syncs"] if row["phase"] == "sample"] == []


def test_tensors_stay_on_the_device_and_generators_draw_where_they_are(tmp_path: Path) -> None:
    _, copies = made(tmp_path, "WanPipeline", more=', output_type="pt", generator=torch.Generator().manual_seed(1)')
    assert ("D2H", "decoded output") not in copies and ("H2D", "latents") in copies
    _, copies = made(tmp_path, "WanPipeline", more=', generator=torch.Generator("cuda").manual_seed(1)')
    assert ("D2H", "decoded output") in copies and ("H2D", "latents") not in copies


def test_an_image_is_encoded_and_shortens_the_loop(tmp_path: Path) -> None:
    place = 'pipe.to("cuda")\n    pipe.scheduler = EulerDiscreteScheduler.from_config(pipe.scheduler.config)'
    record, copies = made(tmp_path, "StableDiffusionImg2ImgPipeline", place, ", image='cat.png', strength=0.5")
    assert ("H2D", "image") in copies
    assert "AutoencoderKL.encode" in [row["value"] for row in record["compute"]["forward"]]
    assert brief(record["loops"], "unit", "count") == [("denoising step", 15)]


def test_a_scheduler_may_take_more_steps_than_are_asked_for(tmp_path: Path) -> None:
    record, _ = made(tmp_path, "StableDiffusionPipeline")  # its checkpoints name one that takes one more
    assert brief(record["loops"], "unit", "count") == [("denoising step", None)]


def test_a_model_that_the_caller_leaves_out_or_a_scheduler_of_the_host(tmp_path: Path) -> None:
    _, copies = made(tmp_path, "StableDiffusion3Pipeline", loading=", text_encoder_3=None")
    assert ("H2D", "weights of text_encoder_3") not in copies and ("H2D", "weights of text_encoder_2") in copies
    record, copies = made(tmp_path, "DDPMPipeline")
    assert [row["frequency"]["per"] for row in record["host_device"]["copies"] if row["what"] == "timesteps"] == ["denoising step"]


@pytest.mark.parametrize("name", ["DiffusionPipeline", "AutoPipelineForText2Image", "SanaPipeline"])
def test_a_class_that_no_row_tells_of_denoises(tmp_path: Path, name: str) -> None:
    record, copies = made(tmp_path, name)
    assert sorted(copies) == [("D2H", "decoded output"), ("H2D", "weights of denoiser")]
    assert brief(record["loops"], "unit", "count") == [("denoising step", 30)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name.pattern)
def test_every_row(tmp_path: Path, family: Any) -> None:
    name = family.name.pattern.replace("(Alpha|Sigma)", "Alpha")
    record, copies = made(tmp_path, name)
    assert {what for _, what in copies} >= {f"weights of {role}" for role in family.roles}
    assert [loop["unit"] for loop in record["loops"]] == ["denoising step"]
