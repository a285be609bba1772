"""Families of diffusers' pipelines and schedulers as rows: read from the source of diffusers 0.42.1.

A row says what ``__call__`` of one family runs and moves, beyond what :mod:`cgx.indexer.overlays.diffusers_pipelines` knows of all.
Which scheduler a checkpoint names stands in its ``model_index.json``: a row of a scheduler counts where the script sets one itself,
or where the pipeline's own ``__init__`` takes no other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FLOW = "FlowMatchEulerDiscreteScheduler"
ALWAYS, GIVEN = "always", "given"


@dataclass(frozen=True)
class Encoder:
    """One text encoder: ``tokens`` are the host tensors that are moved for a call of it."""

    role: str
    model: str
    tokens: tuple[str, ...] = ("text_input_ids",)


@dataclass(frozen=True)
class Family:
    """``guidance``: ``batch`` doubles the denoiser's batch, ``twice`` calls it a second time; ``knob`` above 1 turns it on.

    ``negative``: when the encoders run again for the negative prompt. ``before``/``after``: host tensors moved to the device before the
    first step, and before the decoder. ``seq``: ``model_cpu_offload_seq``. ``image``: roles that encode the image that is given.
    """

    name: re.Pattern[str]
    encoders: tuple[Encoder, ...]
    denoiser: tuple[str, str]
    steps: int
    decoder: str | None = "AutoencoderKL"
    guidance: str | None = "batch"
    knob: tuple[str, float] = ("guidance_scale", 7.5)
    negative: str = ALWAYS
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    schedule: str | None = None
    begins: bool = True  # ``set_begin_index(0)``: the first step looks up no index on the device
    timesteps: bool = True  # moved to the device once; else one by one, each step
    exact: bool = True  # every scheduler that its checkpoints name takes one step a timestep that is asked for
    strength: float | None = None  # the part of the steps that is run, where the call does not say
    image: tuple[tuple[str, str], ...] = ()
    beside: tuple[tuple[str, str], ...] = ()  # runs with the denoiser each step

    @property
    def roles(self) -> dict[str, str]:
        """Every model it owns, in the order in which a call runs them."""
        found = {one.role: one.model for one in self.encoders} | dict(self.image) | dict(self.beside) | dict([self.denoiser])
        return {**{role: model for role, model in found.items() if role != "vae"}, **({"vae": self.decoder} if self.decoder else {})}


def row(name: str, encoders: tuple[Encoder, ...], denoiser: tuple[str, str], steps: int, **more: object) -> Family:
    return Family(re.compile(name), encoders, denoiser, steps, **more)  # type: ignore[arg-type]


CLIP = Encoder("text_encoder", "CLIPTextModel")
PROJECTED = Encoder("text_encoder", "CLIPTextModelWithProjection")
CLIP_2 = Encoder("text_encoder_2", "CLIPTextModelWithProjection")
T5 = Encoder("text_encoder", "T5EncoderModel")
T5_MASKED = Encoder("text_encoder", "T5EncoderModel", ("text_input_ids", "prompt_attention_mask"))
UMT5 = Encoder("text_encoder", "UMT5EncoderModel", ("text_input_ids", "mask"))
UNET, SD3, FLUX = ("unet", "UNet2DConditionModel"), ("transformer", "SD3Transformer2DModel"), ("transformer", "FluxTransformer2DModel")
COGVIDEO, WAN = ("transformer", "CogVideoXTransformer3DModel"), ("transformer", "WanTransformer3DModel")
MEAN = ("self.vae.config.latents_mean", "self.vae.config.latents_std")
VAE, CONTROL, COGVIDEO_VAE = (("vae", "AutoencoderKL"),), (("controlnet", "ControlNetModel"),), (("vae", "AutoencoderKLCogVideoX"),)

# The first row whose pattern matches the whole class name.
FAMILIES: tuple[Family, ...] = (
    row("StableDiffusionPipeline", (CLIP,), UNET, 50, begins=False, exact=False),
    row("StableDiffusionImg2ImgPipeline", (CLIP,), UNET, 50, begins=False, exact=False, image=VAE, strength=0.8),
    row("StableDiffusionControlNetPipeline", (CLIP,), UNET, 50, begins=False, exact=False, beside=CONTROL, before=("image",)),
    row("StableDiffusionXLPipeline", (CLIP, CLIP_2), UNET, 50, knob=("guidance_scale", 5.0), negative=GIVEN, before=("add_time_ids",)),
    row("StableDiffusionXLImg2ImgPipeline", (CLIP, CLIP_2), UNET, 50, knob=("guidance_scale", 5.0), negative=GIVEN, begins=False,
        before=("add_time_ids",), image=VAE, strength=0.3),
    row("StableDiffusion3Pipeline", (PROJECTED, CLIP_2, Encoder("text_encoder_3", "T5EncoderModel")), SD3, 28, knob=("guidance_scale", 7.0),
        schedule=FLOW, begins=False),
    row("FluxPipeline", (CLIP, Encoder("text_encoder_2", "T5EncoderModel")), FLUX, 28, guidance="twice", knob=("true_cfg_scale", 1.0), negative=GIVEN,
        before=("text_ids", "latent_image_ids"), schedule=FLOW),
    row("CogVideoXPipeline", (T5,), COGVIDEO, 50, decoder="AutoencoderKLCogVideoX", knob=("guidance_scale", 6)),
    row("CogVideoXImageToVideoPipeline", (T5,), COGVIDEO, 50, decoder="AutoencoderKLCogVideoX", knob=("guidance_scale", 6), image=COGVIDEO_VAE),
    row("CogVideoXVideoToVideoPipeline", (T5,), COGVIDEO, 50, decoder="AutoencoderKLCogVideoX", knob=("guidance_scale", 6), image=COGVIDEO_VAE,
        strength=0.8),
    row("WanPipeline", (UMT5,), WAN, 50, decoder="AutoencoderKLWan", guidance="twice", knob=("guidance_scale", 5.0), after=MEAN),
    row("HunyuanVideoPipeline", (Encoder("text_encoder", "LlamaModel", ("text_inputs.input_ids", "text_inputs.attention_mask")),
        Encoder("text_encoder_2", "CLIPTextModel")), ("transformer", "HunyuanVideoTransformer3DModel"), 50, decoder="AutoencoderKLHunyuanVideo",
        guidance="twice", knob=("true_cfg_scale", 1.0), negative=GIVEN, before=("guidance",), schedule=FLOW),
    row("PixArt(Alpha|Sigma)Pipeline", (T5_MASKED,), ("transformer", "PixArtTransformer2DModel"), 20, knob=("guidance_scale", 4.5)),
    row("LTXPipeline", (T5_MASKED,), ("transformer", "LTXVideoTransformer3DModel"), 50, decoder="AutoencoderKLLTXVideo", knob=("guidance_scale", 3),
        schedule=FLOW, begins=False),
    row("DiTPipeline", (), ("transformer", "DiTTransformer2DModel"), 50, knob=("guidance_scale", 4.0), before=("class_labels", "class_null"),
        timesteps=False),
    row("DDPMPipeline", (), ("unet", "UNet2DModel"), 1000, decoder=None, guidance=None, timesteps=False),
    row("DDIMPipeline", (), ("unet", "UNet2DModel"), 50, decoder=None, guidance=None, timesteps=False),
)  # fmt: skip

# What a scheduler's ``step`` asks the device for, each step: its tables lie on the host, the timestep on the device.
LOOKED_UP = ("item", "self.alphas_cumprod[timestep]"), ("branch", "prev_timestep >= 0"), ("item", "self.alphas_cumprod[prev_timestep]")
STEPS: dict[str, tuple[tuple[str, str], ...]] = {
    "CogVideoXDPMScheduler": (*LOOKED_UP, ("item", "self.alphas_cumprod[timestep_back]"), ("branch", "prev_timestep < 0")),
    "CogVideoXDDIMScheduler": LOOKED_UP,
    "DDIMScheduler": (*LOOKED_UP, *LOOKED_UP),
    FLOW: (),
}
# These have as many timesteps as are asked for; PNDM has one more, Heun and KDPM2 nearly twice as many.
ONE_EACH = frozenset(STEPS) | {
    "DDPMScheduler", "DPMSolverMultistepScheduler", "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler", "LCMScheduler",
    "LMSDiscreteScheduler", "UniPCMultistepScheduler",
}  # fmt: skip
# What ``index_for_timestep`` asks, once a call, where nothing has set the first index.
FIRST_INDEX: dict[str, tuple[tuple[str, str], ...]] = {
    FLOW: (("dynamic shape", "(schedule_timesteps == timestep).nonzero()"), ("item", "indices[pos].item()")),
}


def family_of(name: str) -> Family | None:
    """The row of a pipeline class."""
    return next((one for one in FAMILIES if one.name.fullmatch(name)), None)
