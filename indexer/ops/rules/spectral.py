"""Rules of Fourier transforms."""

from __future__ import annotations

from cgx.indexer.interpreter.values import Value
from cgx.indexer.ops.dtypes import COMPLEX_OF, REAL_OF, kind
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.shapes import MaybeSize, axis
from cgx.indexer.ops.tensors import int_list, like, need_shape, size, sizes, tensor


def transform(result: str) -> Rule:
    """fft, ifft, rfft, irfft, hfft, ihfft(input, n=None, dim=-1). ``result``: full, half or real."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        shape = list(need_shape(base))
        place = axis(call.known("dim", -1), len(shape))
        wanted = size(call.get("n")) if call.given("n") else None
        shape[place] = _extent(shape[place], wanted, result)
        return like(base, tuple(shape), _dtype(base.dtype, result, call.defaults.dtype))

    return rule


def transform_many(result: str, dims: tuple[int, ...] | None = None) -> Rule:
    """fft2, fftn, rfft2, rfftn, irfft2, irfftn(input, s=None, dim=...)."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        shape = list(need_shape(base))
        given = int_list(call.get("dim", dims))
        wanted = sizes(call.get("s")) if call.given("s") else None
        if given is None:
            given = tuple(range(len(shape) - len(wanted), len(shape))) if wanted else tuple(range(len(shape)))
        places = [axis(dim, len(shape)) for dim in (given if isinstance(given, tuple) else (given,))]
        for order, place in enumerate(places):
            target = wanted[order] if wanted else None
            last = order == len(places) - 1
            shape[place] = _extent(shape[place], target, result if last else "full")
        return like(base, tuple(shape), _dtype(base.dtype, result, call.defaults.dtype))

    return rule


def _extent(extent: MaybeSize, wanted: MaybeSize, result: str) -> MaybeSize:
    if result == "real":
        return wanted if wanted is not None else (None if extent is None else 2 * (extent - 1))
    whole = wanted if wanted is not None else extent
    return whole if result == "full" or whole is None else whole // 2 + 1


def _dtype(name: str | None, result: str, default: str) -> str | None:
    if name is None:
        return None
    real = REAL_OF.get(name, default if kind(name) in ("int", "bool") else name)
    return real if result == "real" else COMPLEX_OF.get(real)


def frequencies(call: Call) -> Value:
    """fftfreq(n), rfftfreq(n)."""
    count = size(call.get("n"))
    half = call.row.name.endswith("rfftfreq")
    extent = count if not half or count is None else count // 2 + 1
    return tensor((extent,), call.defaults.dtype, call.defaults.device)


def stft(call: Call) -> Value:
    """stft(input, n_fft, hop_length, ..., center=True, onesided, return_complex)."""
    base, points = call.tensor(), size(call.get("n_fft"))
    shape = need_shape(base)
    hop = size(call.get("hop_length")) if call.given("hop_length") else None if points is None else points // 4
    extent = shape[-1]
    if extent is not None and points is not None and call.known("center", True):
        extent = extent + 2 * (points // 2)
    frames = None if extent is None or hop is None or points is None else (extent - points) // hop + 1
    onesided = call.get("onesided")
    half = kind(base.dtype) != "complex" if onesided is None else bool(onesided)
    bins = None if points is None else (points // 2 + 1 if half else points)
    if call.get("return_complex") is False:
        return like(base, (*shape[:-1], bins, frames, 2))
    return like(base, (*shape[:-1], bins, frames), COMPLEX_OF.get(base.dtype or "", base.dtype))


def istft(call: Call) -> Value:
    base, length = call.tensor(), size(call.get("length")) if call.given("length") else None
    points = size(call.get("n_fft"))
    hop = size(call.get("hop_length")) if call.given("hop_length") else None if points is None else points // 4
    shape = need_shape(base)
    frames = shape[-1]
    if length is None and points is not None and hop is not None and frames is not None:
        length = points + hop * (frames - 1)
        if call.known("center", True):
            length = length - 2 * (points // 2)
    return like(base, (*shape[:-2], length), REAL_OF.get(base.dtype or "", base.dtype))
