"""Fourier transforms."""

from __future__ import annotations

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import spectral as rules
from cgx.indexer.ops.rules.pointwise import same
from cgx.indexer.ops.rules.spectral import transform, transform_many

ONE = "input, n=None, dim=-1, norm=None, *, out=None"
TWO = "input, s=None, dim=(-2, -1), norm=None, *, out=None"
MANY = "input, s=None, dim=None, norm=None, *, out=None"

ROWS: list[OpRow] = [
    *(row(name, "fft", ONE, transform("full"), "f32[2,8] -> c64[2,8]") for name in ("fft", "ifft")),
    row("rfft", "fft", ONE, transform("half"), "f32[2,8] -> c64[2,5]"),
    row("irfft", "fft", ONE, transform("real"), "c64[2,5] -> f32[2,8]"),
    row("hfft", "fft", ONE, transform("real"), "c64[2,5] -> f32[2,8]"),
    row("ihfft", "fft", ONE, transform("half"), "f32[2,8] -> c64[2,5]"),
    *(row(name, "fft", TWO, transform_many("full", (-2, -1)), "f32[2,4,8] -> c64[2,4,8]") for name in ("fft2", "ifft2")),
    row("rfft2", "fft", TWO, transform_many("half", (-2, -1)), "f32[2,4,8] -> c64[2,4,5]"),
    row("irfft2", "fft", TWO, transform_many("real", (-2, -1)), "c64[2,4,5] -> f32[2,4,8]"),
    *(row(name, "fft", MANY, transform_many("full"), "f32[2,4,8] -> c64[2,4,8]") for name in ("fftn", "ifftn")),
    row("rfftn", "fft", MANY, transform_many("half"), "f32[2,4,8] -> c64[2,4,5]"),
    row("irfftn", "fft", MANY, transform_many("real"), "c64[2,4,5], dim=(1, 2) -> f32[2,4,8]"),
    *(row(name, "fft", "n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False", rules.frequencies,
          f"8 -> f32[{count}]", kind="factory") for name, count in (("fftfreq", 8), ("rfftfreq", 5))),
    *(row(name, "fft", "input, dim=None", same, "f32[2,8] -> f32[2,8]") for name in ("fftshift", "ifftshift")),
    row("stft", "torch Tensor", "input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', "
        "normalized=False, onesided=None, return_complex=None, align_to_window=None", rules.stft,
        "f32[2,400], 64, 16, window=f32[64], return_complex=True -> c64[2,33,26]", aliases="torch.functional.stft"),
    row("istft", "torch Tensor", "input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, "
        "length=None, return_complex=False", rules.istft, "", aliases="torch.functional.istft"),
]  # fmt: skip
