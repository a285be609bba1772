"""Stand-ins against torch, where it is importable: same children, parameters, calls and ops. (Here they ARE run: they are ours.)"""

from __future__ import annotations

import contextlib
import copy
import warnings
from typing import Any

import pytest

from cgx.indexer import polyfills

torch = pytest.importorskip(
    "torch", reason="torch is not installed: the stand-ins are NOT compared with it (extra torch-oracle)"
)


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    """The stand-in file's names, with its own classes in place of torch's where they use each other."""
    text = polyfills.read(polyfills.PREFIX + polyfills.COMPOSITE)
    for name in (
        "MultiheadAttention",
        "TransformerEncoderLayer",
        "TransformerEncoder",
        "TransformerDecoderLayer",
        "TransformerDecoder",
    ):
        text = (
            text.replace(f"nn.{name}(", f"{name}(")
            .replace(f"nn.{name})", f"{name})")
            .replace(f"class nn.{name}", f"class {name}")
        )
    scope: dict[str, Any] = {}
    exec(compile(text, polyfills.COMPOSITE, "exec"), scope)
    return scope


CASES: list[tuple[str, str, tuple[tuple[int, ...], ...]]] = [
    ("MultiheadAttention", "8, 2", ((5, 3, 8),) * 3),
    ("MultiheadAttention", "8, 2, batch_first=True", ((5, 3, 8),) * 3),
    ("MultiheadAttention", "8, 2, bias=False, add_bias_kv=True, kdim=6, vdim=4", ((5, 3, 8), (7, 3, 6), (7, 3, 4))),
    ("TransformerEncoderLayer", "8, 2, 16", ((5, 3, 8),)),
    (
        "TransformerEncoderLayer",
        "8, 2, 16, norm_first=True, batch_first=True, activation='gelu', bias=False",
        ((5, 3, 8),),
    ),
    ("TransformerDecoderLayer", "8, 2, 16, batch_first=True", ((5, 3, 8), (5, 7, 8))),
    ("Transformer", "8, 2, 2, 2, 16", ((5, 3, 8), (4, 3, 8))),
    ("Transformer", "8, 2, 1, 2, 16, batch_first=True, norm_first=True", ((5, 3, 8), (5, 4, 8))),
    ("AdaptiveLogSoftmaxWithLoss", "8, 20, [4, 10], head_bias=True", ()),
]


def run(
    module: Any, inputs: tuple[Any, ...], options: dict[str, Any], watch: bool = True
) -> tuple[list[str], list[str]]:
    """Ops (without queries) and calls of modules, in order. torch takes no fused path while it is watched."""
    ops: list[str] = []
    calls: list[str] = []
    names = {id(child): name for name, child in module.named_modules()}

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = torch.overrides.resolve_name(func) or ""
            if name and not name.endswith(("__get__", ".dim", ".size", "is_floating_point", ".numel", "__set__")):
                ops.append(name)
            return func(*args, **(kwargs or {}))

    kept = torch.nn.Module.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(names.get(id(self), "?"))
        return kept(self, *args, **kwargs)

    torch.nn.Module.__call__ = call
    try:
        with warnings.catch_warnings(), Watch() if watch else contextlib.nullcontext():
            warnings.simplefilter("ignore")
            module(*inputs, **options)
    finally:
        torch.nn.Module.__call__ = kept
    return ops, calls


def compare(
    ours: dict[str, Any], name: str, arguments: str, inputs: tuple[Any, ...], options: dict[str, Any], training: bool
) -> None:
    def build(cls: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(f"cls({arguments})", {"cls": cls, "torch": torch}).train(training)

    mine, theirs = build(ours[name]), build(getattr(torch.nn, name))
    shapes = [(key, tuple(value.shape)) for key, value in theirs.named_parameters()]
    assert [(key, tuple(value.shape)) for key, value in mine.named_parameters()] == shapes
    classes = [(key, type(child).__name__) for key, child in theirs.named_modules()]
    assert [(key, type(child).__name__) for key, child in mine.named_modules()] == classes
    agree(ours, mine, theirs, inputs, options)


def agree(ours: dict[str, Any], mine: Any, theirs: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Calls of modules as they are, then ops and calls with the fused paths barred, as watching bars them in torch."""
    assert run(mine, inputs, dict(options), watch=False) == run(theirs, inputs, dict(options), watch=False)
    kept, ours["needs_grad"] = ours["needs_grad"], lambda tensors: True
    try:
        assert run(mine, inputs, dict(options)) == run(theirs, inputs, dict(options))
    finally:
        ours["needs_grad"] = kept


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("name", "arguments", "shapes"), CASES, ids=[f"{name}({arguments})" for name, arguments, _ in CASES]
)
def test_agrees(
    ours: dict[str, Any], name: str, arguments: str, shapes: tuple[tuple[int, ...], ...], training: bool, grad: bool
) -> None:
    inputs = tuple(torch.rand(shape) for shape in shapes)
    if name == "AdaptiveLogSoftmaxWithLoss":
        inputs = (torch.rand(3, 8), torch.tensor([1, 7, 15]))
    if name in ("MultiheadAttention",) and len(set(shapes)) == 1:
        inputs = (inputs[0],) * 3
    with torch.set_grad_enabled(grad):
        compare(ours, name, arguments, inputs, {}, training)


@pytest.mark.parametrize("training", [True, False])
def test_encoder_masks(ours: dict[str, Any], training: bool) -> None:
    mask = torch.nn.Transformer.generate_square_subsequent_mask(5)
    padding = torch.zeros(3, 5, dtype=torch.bool)
    inputs = (torch.rand(3, 5, 8),)
    for batch_first, options in (
        (True, {"mask": mask}),
        (True, {"src_key_padding_mask": padding}),
        (True, {"mask": mask > 0, "is_causal": True}),
    ):
        kind = f"torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first={batch_first})"
        layer = eval(kind, {"torch": torch})
        own = ours["TransformerEncoderLayer"](8, 2, 16, batch_first=batch_first)
        theirs = torch.nn.TransformerEncoder(layer, 2).train(training)
        mine = ours["TransformerEncoder"](copy.deepcopy(own), 2).train(training)
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                agree(ours, mine, theirs, inputs, options)


LAYERS = [
    ("weight_norm", "parametrizations.weight_norm", "torch.nn.Conv1d(8, 16, 3, padding=1)", {"dim": 2}, (2, 8, 10)),
    ("weight_norm", "parametrizations.weight_norm", "torch.nn.Linear(8, 4)", {}, (2, 8)),
    ("spectral_norm", "parametrizations.spectral_norm", "torch.nn.Linear(8, 4)", {}, (2, 8)),
    ("spectral_norm", "parametrizations.spectral_norm", "torch.nn.ConvTranspose1d(8, 4, 3)", {}, (2, 8, 9)),
    ("orthogonal", "parametrizations.orthogonal", "torch.nn.Linear(8, 4)", {}, (2, 8)),
    ("orthogonal", "parametrizations.orthogonal", "torch.nn.Linear(8, 8)", {}, (2, 8)),
    ("old_weight_norm", "weight_norm", "torch.nn.Conv1d(8, 16, 3, padding=1)", {}, (2, 8, 10)),
    ("old_spectral_norm", "spectral_norm", "torch.nn.Conv2d(8, 4, 3)", {}, (2, 8, 9, 9)),
]  # fmt: skip


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("name", "other", "layer", "options", "shape"), LAYERS, ids=[f"{item[0]}({item[2]})" for item in LAYERS])
def test_reparametrised(name: str, other: str, layer: str, options: dict[str, Any], shape: tuple[int, ...], training: bool) -> None:
    scope: dict[str, Any] = {}
    exec(compile(polyfills.read(polyfills.PREFIX + polyfills.PARAMETRIZE), polyfills.PARAMETRIZE, "exec"), scope)
    theirs_of: Any = torch.nn.utils
    for part in other.split("."):
        theirs_of = getattr(theirs_of, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = scope[name](eval(layer), **options).train(training)
        theirs = theirs_of(eval(layer), **options).train(training)
    assert {key: tuple(value.shape) for key, value in mine.named_parameters()} == {
        key: tuple(value.shape) for key, value in theirs.named_parameters()
    }
    assert {key for key, _ in mine.named_buffers()} == {key for key, _ in theirs.named_buffers()}
    assert [(key, type(child).__name__) for key, child in mine.named_modules()] == [
        (key, type(child).__name__) for key, child in theirs.named_modules()
    ]
    inputs = (torch.rand(shape),)
    assert run(mine, inputs, {}) == run(theirs, inputs, {})
