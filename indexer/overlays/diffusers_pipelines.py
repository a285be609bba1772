"""Pipelines of diffusers whose source is not given: what a call does to make an image or a video, as read in diffusers 0.42.1.

``from_pretrained`` loads every model of the folder's ``model_index.json`` on the host. A call encodes the prompt, moves the timesteps to
the device, runs the denoiser once a step (with guidance twice, or on twice the batch), decodes the latents and takes the result to the
host as numbers. What differs between families stands in :mod:`cgx.indexer.overlays.diffusers_families`. Offloading is accelerate's: by
model (``cpu_offload_with_hook``: a model comes before it runs and goes when the next one does), or by layer (``cpu_offload``: weights come
before each layer's forward and are dropped after it).
"""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import BranchNode, LoopNode
from cgx.indexer.interpreter.values import ListValue, ModuleInstance, Opaque, TensorValue, Unknown, Value
from cgx.indexer.overlays import diffusers_models, hf_outside_models, hub, offloading
from cgx.indexer.overlays.arguments import device_type, dtype_name
from cgx.indexer.overlays.diffusers_families import FIRST_INDEX, ONE_EACH, STEPS, Family, family_of, row
from cgx.indexer.overlays.hf_outside_models import placed
from cgx.indexer.overlays.lifecycle import flags
from cgx.indexer.overlays.sourceless import blank, called, device_of
from cgx.indexer.overlays.transfer import ACCELERATORS, copy, move_module, sync, to_targets

AUTHOR = "overlays.diffusers_pipelines"
PIPELINE, RESULT, SCHEDULER = "diffusers.OutsidePipeline", "diffusers.OutsidePipelineOutput", "diffusers.OutsideScheduler"
NAMED = re.compile(r"diffusers\.(?:[\w.]+\.)?((?!\w*(?:Prior|Onnx|Flax|Mixin))[A-Z]\w*Pipeline|AutoPipelineFor\w+)(\.from_pretrained|\.from_single_file|\.from_pipe)?")
SCHEDULERS = re.compile(r"diffusers\.(?:[\w.]+\.)?([A-Z]\w*Scheduler)(?:\.from_config|\.from_pretrained)?")
OWN = re.compile(r"(Autoencoder|Asymmetric|UNet|ControlNet|VQ|T2IAdapter|MotionAdapter|Consistency)\w*|\w+Transformer\w*Model|\w+Transformer[23]D|ModelMixin")
ANY = row(r"\w+", (), ("denoiser", "ModelMixin"), 0, decoder=None, guidance=None)  # a class that no row tells of: every one denoises
ON_DEVICE = ("pt", "latent")  # kinds of output that stay where they were made


def made(interp: Any, qname: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``FluxPipeline.from_pretrained(name)``: its models on the host, those that the caller gives as they are."""
    set_by = SCHEDULERS.fullmatch(qname)
    if set_by is not None:
        return scheduler(set_by.group(1), args, kwargs, site)
    found = NAMED.fullmatch(qname)
    if found is None:
        return NotImplemented
    name, loaded = found.group(1), found.group(2)
    family = family_of(name) or ANY
    given = dict(args[0].attrs) if loaded == ".from_pipe" and args and isinstance(args[0], Opaque) else dict(kwargs)
    if loaded in (".from_pretrained", ".from_single_file"):
        wanted = f"model_index.json of {hub.name_of(args, kwargs, site).rstrip('/')}"
        interp.note_unknown(Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted)))
    dtype = dtype_name(kwargs.get("torch_dtype", kwargs.get("dtype")))
    parts: dict[str, Value] = {}
    for role, model in family.roles.items():
        parts[role] = given.get(role)
        if not isinstance(parts[role], ModuleInstance):
            if role in given and given[role] is None:
                continue  # the caller leaves it out
            parts[role] = part(interp, model, site, args, kwargs)
            move_module(interp, parts[role], "cuda" if placed(kwargs) else None, dtype, False, site)
    held = given.get("scheduler")
    named = family.schedule if held is None and family.schedule else None
    parts["scheduler"] = held if isinstance(held, Opaque) else scheduler(named, args, kwargs, site)
    parts["tokenizer"] = Opaque(hub.TOKENIZER, {}, site.anchor)
    return Opaque(PIPELINE, {"cgx.family": name, "cgx.offload": None, "cgx.called": False, **parts}, site.anchor)


def scheduler(name: str | None, args: list[Value], kwargs: dict[str, Value], site: Any) -> Opaque:
    """A scheduler, of a class that the checkpoint names where it is None."""
    return Opaque(SCHEDULER, {"cgx.class": name, "order": 1, "config": config(args, kwargs, site, "scheduler_config.json")}, site.anchor)


def part(interp: Any, model: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> ModuleInstance:
    """One model of the pipeline: diffusers' own, or an encoder of transformers."""
    if OWN.fullmatch(model):
        module = diffusers_models.outside(interp, model, site, [], {})
    else:
        module = blank(interp, f"transformers.{model}", site, hf_outside_models.MODEL)
    module.training = False
    module.attrs["config"] = config(args, kwargs, site, "config.json")
    return module


def config(args: list[Value], kwargs: dict[str, Value], site: Any, name: str) -> Opaque:
    wanted = f"{name} of {hub.name_of(args, kwargs, site).rstrip('/')}"
    return Opaque(hub.CONFIG, {"cgx.missing": Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted))}, site.anchor)


def models(pipe: Opaque) -> dict[str, ModuleInstance]:
    return {role: held for role, held in pipe.attrs.items() if isinstance(held, ModuleInstance)}


def to(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``pipe.to("cuda")``: every model it owns, one after the other."""
    device, dtype, _ = to_targets(args[1:], kwargs)
    phase = None if args[0].attrs.get("cgx.called") else "startup"
    for role, module in models(args[0]).items():
        move_module(interp, module, device_type(device), dtype_name(dtype), False, site, what=f"weights of {role}", phase=phase)
    return args[0]


def offload(kind: str) -> Any:
    """``pipe.enable_..._cpu_offload()``: weights go to the host, and stay there until a call needs them."""

    def enable(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        to(interp, site, [args[0], "cpu"], {})
        interp.trail.set_item(args[0].attrs, "cgx.offload", kind)
        return None

    return enable


class Call:
    """One call of a pipeline."""

    def __init__(self, interp: Any, site: Any, pipe: Opaque, kwargs: dict[str, Value]) -> None:
        self.interp, self.site, self.pipe, self.kwargs = interp, site, pipe, kwargs
        self.family: Family = family_of(pipe.attrs["cgx.family"]) or ANY
        self.kind = pipe.attrs["cgx.offload"]
        lies = next((device_of(module) for module in models(pipe).values()), None)
        self.device = "cuda" if self.kind else lies
        scheduler = pipe.attrs.get("scheduler")
        self.scheduler = scheduler.attrs.get("cgx.class") if isinstance(scheduler, Opaque) else None

    def brought(self, role: str) -> None:
        """Offloaded by model: it comes to the device, and what ran before goes back."""
        module = self.pipe.attrs.get(role)
        if self.kind != "model" or not isinstance(module, ModuleInstance) or device_of(module) == "cuda":
            return
        for other, held in models(self.pipe).items():
            if held is not module and other not in dict(self.family.beside):
                move_module(self.interp, held, "cpu", None, False, self.site, what=f"weights of {other}")
        move_module(self.interp, module, "cuda", None, False, self.site, what=f"weights of {role}")

    def run(self, role: str, method: str = "forward") -> None:
        module = self.pipe.attrs.get(role)
        if not isinstance(module, ModuleInstance):
            return
        self.brought(role)
        if self.kind == "sequential":
            offloading.layer_by_layer(self.interp, module, "cuda", self.site, role)
        called(self.interp, self.site, module, method=method)
        if self.kind == "sequential":
            offloading.dropped(self.interp, module)

    def move(self, what: str, direction: str = "H2D") -> None:
        here, there = ("cpu", self.device) if direction == "H2D" else (self.device, "cpu")
        copy(self.interp, TensorValue(None, None, here, pinned=False), there, False, self.site, what=what)

    def asks(self, kinds: tuple[tuple[str, str], ...]) -> None:
        for kind, what in kinds:
            sync(self.interp, kind, TensorValue((), None, self.device), self.site, what=what)

    def guided(self) -> bool | None:
        name, default = self.family.knob
        scale = self.kwargs.get(name, default)
        if self.family.guidance is None:
            return False
        on = scale > 1 if isinstance(scale, int | float) else None
        return on if self.family.guidance == "batch" or self.family.negative != "given" or not on else self.kwargs.get("negative_prompt") is not None

    def encode(self) -> None:
        """The prompt, and the negative one where guidance needs it."""
        if self.kwargs.get("prompt_embeds") is not None:
            return
        again = self.guided() is True and self.kwargs.get("negative_prompt_embeds") is None
        if self.family.negative == "given":
            again = again and self.kwargs.get("negative_prompt") is not None
        for _ in range(2 if again else 1):
            for encoder in self.family.encoders:
                for name in encoder.tokens if isinstance(self.pipe.attrs.get(encoder.role), ModuleInstance) else ():
                    self.move(f"{name} for {encoder.role}")
                self.run(encoder.role)

    def prepare(self) -> None:
        """Timesteps, the image that is given, latents drawn on the host."""
        if self.family is not ANY and self.family.timesteps:
            self.move("timesteps")
        if self.family.image:
            self.move("video" if "video" in self.kwargs else "image")
            for role, _ in self.family.image:
                self.run(role, "encode" if role == "vae" else "forward")
        if diffusers_models.host_generator(self.kwargs.get("generator")) and self.kwargs.get("latents") is None:
            self.move("latents")
        for what in self.family.before:
            self.move(what)

    def steps(self) -> Value:
        count = self.kwargs.get("num_inference_steps", self.family.steps or None)
        strength = self.kwargs.get("strength", self.family.strength) if self.family.strength is not None else None
        if isinstance(count, int) and (self.scheduler not in ONE_EACH if self.scheduler is not None else not self.family.exact):
            return self.interp.unknown("the scheduler's timesteps", "missing-file", self.site, hint="int")
        if isinstance(count, int) and isinstance(strength, int | float):
            return min(int(count * strength), count)
        known = isinstance(count, int | Unknown) and not (self.family.strength is not None and isinstance(strength, Unknown))
        return count if known else self.interp.unknown("num_inference_steps", "parameter", self.site, hint="int")

    def denoise(self) -> None:
        roles = [*dict(self.family.beside), self.family.denoiser[0]]
        for role in roles:
            self.brought(role)
        if not self.family.begins:
            self.asks(FIRST_INDEX.get(str(self.scheduler), ()))
        loop = LoopNode(self.site.anchor, self.site.text, count=self.steps(), expr="num_inference_steps", target="t", over="range", bound=self.site.anchor)
        with self.interp.inside(loop):
            if not self.family.timesteps:
                self.move("timesteps")
            for role in roles:
                self.run(role)
            if self.family.guidance == "twice" and self.guided() is True:
                self.run(self.family.denoiser[0])
            if self.kwargs.get("use_dynamic_cfg") is True:
                self.asks((("item", "t.item()"),))
            if self.family.timesteps:
                self.asks(STEPS.get(str(self.scheduler), ()))

    def finish(self) -> Value:
        """Decoded, and on the host as an array unless asked for tensors."""
        kind = self.kwargs.get("output_type", "pil")
        if kind != "latent" and self.family.decoder:
            for what in self.family.after:
                self.move(what)
            self.run("vae", "decode")
        if isinstance(kind, str) and kind not in ON_DEVICE:
            self.move("decoded output", "D2H")
        if self.kind == "model":  # ``maybe_free_model_hooks``: all go back
            to(self.interp, self.site, [self.pipe, "cpu"], {})
        if kind in ON_DEVICE:
            return TensorValue(None, None, self.device)
        return ListValue([self.interp.unknown("image", "data", self.site)], open=True)


def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``pipe(prompt, num_inference_steps=N)``: encode, N steps of the denoiser, decode; without gradients."""
    pipe = args[0]
    interp.trail.set_item(pipe.attrs, "cgx.called", True)
    one = Call(interp, site, pipe, kwargs)
    with flags(interp, site, "torch.no_grad", grad=False):
        one.encode()
        one.prepare()
        one.denoise()
        result = one.finish()
    if kwargs.get("return_dict") is False:
        return (result,)
    return Opaque(RESULT, dict.fromkeys(("images", "frames", "audios"), result), site.anchor)


def item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``pipe(prompt)[0]``, ``pipe(prompt)["images"]``."""
    return args[0].attrs["images"]


def same(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


def set_timesteps(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``scheduler.set_timesteps(N, device=...)``: made on the host, moved to the device; how many there are is the class's to say."""
    device = device_type(kwargs.get("device", args[2] if len(args) > 2 else None)) or "cpu"
    steps = kwargs.get("num_inference_steps", args[1] if len(args) > 1 else None)
    timesteps = TensorValue((steps if args[0].attrs.get("cgx.class") in ONE_EACH else None,), None, "cpu", pinned=False)
    copy(interp, timesteps, device, False, site, what="timesteps")
    interp.trail.set_item(args[0].attrs, "timesteps", TensorValue(timesteps.shape, None, device))
    return None


def stepped(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``scheduler.step(model_output, t, sample)``: the sample before, on the device of this one."""
    asked = STEPS.get(str(args[0].attrs.get("cgx.class")), ())
    sample = next((one for one in (*reversed(args[1:]), *kwargs.values()) if isinstance(one, TensorValue) and one.device is not None), TensorValue())
    for kind, what in asked:
        sync(interp, kind, TensorValue((), None, sample.device), site, what=what)
    result = TensorValue(sample.shape, sample.dtype, sample.device)
    if kwargs.get("return_dict") is False:
        return (result, TensorValue(sample.shape, sample.dtype, sample.device))
    return Opaque(diffusers_models.OUTPUT, {"prev_sample": result, "pred_original_sample": result}, site.anchor)


def scheduler_has(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What every scheduler has; a scheduler is no module."""
    name = args[1]
    return True if name in args[0].attrs or f"{SCHEDULER}.{name}" in ENTRIES else False if name in ("to", "parameters", "cuda") else interp.unknown(site.text, "unmodelled", site, hint="bool")


def noised(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``scheduler.add_noise(samples, noise, timesteps)`` and its kind: a tensor like the samples; its table goes there at the first call."""
    samples = args[1] if len(args) > 1 else kwargs.get("original_samples", kwargs.get("sample"))
    if not isinstance(samples, TensorValue):
        return NotImplemented
    if samples.device in ACCELERATORS and not args[0].attrs.get("cgx.moved") and str(args[0].attrs.get("cgx.class")) in TABLES:
        loop = next((node for node in interp.stack if isinstance(node, LoopNode)), None)
        once = BranchNode(site.anchor, "at the first call", decided=True, first=loop.anchor if loop is not None else None)
        with interp.inside(once):
            interp.event("copy", site, author=AUTHOR, direction="H2D", what="alphas_cumprod", source="pageable", non_blocking=False,
                         blocks_host=True, sync_kind="other", carrier="table", factory=True, index=True)  # fmt: skip
        interp.trail.set_item(args[0].attrs, "cgx.moved", True)
    return TensorValue(samples.shape, samples.dtype, samples.device, requires_grad=samples.requires_grad)


# Their ``add_noise`` keeps ``alphas_cumprod`` where the samples lie.
TABLES = frozenset({"DDPMScheduler", "DDIMScheduler", "PNDMScheduler", "CogVideoXDPMScheduler", "CogVideoXDDIMScheduler"})
FAMILIES: tuple[tuple[str, Any], ...] = (("diffusers", made),)
ENTRIES: dict[str, Any] = {
    f"{PIPELINE}.__call__": call,
    f"{PIPELINE}.to": to,
    f"{PIPELINE}.enable_model_cpu_offload": offload("model"),
    f"{PIPELINE}.enable_sequential_cpu_offload": offload("sequential"),
    **{f"{PIPELINE}.{name}": nothing for name in (
        "set_progress_bar_config", "enable_attention_slicing", "enable_vae_slicing", "enable_vae_tiling", "load_lora_weights", "fuse_lora",
        "unload_lora_weights", "enable_xformers_memory_efficient_attention", "disable_attention_slicing", "maybe_free_model_hooks",
        "set_adapters", "unfuse_lora",
    )},
    f"{RESULT}.__getitem__": item,
    f"{SCHEDULER}.set_timesteps": set_timesteps,
    f"{SCHEDULER}.step": stepped,
    f"{SCHEDULER}.__hasattr__": scheduler_has,
    f"{SCHEDULER}.add_noise": noised,
    f"{SCHEDULER}.get_velocity": noised,
    f"{SCHEDULER}.scale_model_input": lambda interp, site, args, kwargs: args[1] if len(args) > 1 else kwargs.get("sample"),
}  # fmt: skip
BASES: dict[str, tuple[str, ...]] = {PIPELINE: (), RESULT: (), SCHEDULER: ()}
