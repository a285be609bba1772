"""Rules of convolutions, pooling, padding and resampling."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.dims import product
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.shapes import MaybeSize, Undetermined, window
from cgx.indexer.ops.tensors import like, need_shape, scalar_value, size, sizes, spatial, tensor


def _same_batch(base: TensorValue, count: int) -> tuple[tuple[MaybeSize, ...], tuple[MaybeSize, ...]]:
    """The dimensions before the channels and those after, of an input with or without a batch."""
    shape = need_shape(base)
    if len(shape) not in (count + 1, count + 2):
        raise Undetermined("rank")
    return shape[: -count - 1], shape[-count:]


def convolution(count: int) -> Rule:
    """conv1d, conv2d, conv3d."""

    def rule(call: Call) -> Value:
        base, weight = call.tensor(), call.tensor("weight")
        if base.shape is None or weight.shape is None:
            channels = None if weight.shape is None else weight.shape[0]
            shape = None if base.shape is None else (*base.shape[: -count - 1], channels, *[None] * count)
            return like(base, shape)
        batch, extents = _same_batch(base, count)
        stride, dilation = spatial(call.get("stride", 1), count), spatial(call.get("dilation", 1), count)
        kernel = weight.shape[2:]
        padding = call.get("padding", 0)
        if padding == "same":
            out = extents
        else:
            pads = spatial(0 if padding == "valid" else padding, count)
            out = tuple(window(*item) for item in zip(extents, kernel, stride, pads, dilation))
        return tensor((*batch, weight.shape[0], *out), base.dtype, base.device or weight.device)

    return rule


def transposed(count: int) -> Rule:
    """conv_transpose1d, 2d, 3d."""

    def rule(call: Call) -> Value:
        base, weight = call.tensor(), call.tensor("weight")
        batch, extents = _same_batch(base, count)
        shape = need_shape(weight)
        names = (("stride", 1), ("padding", 0), ("output_padding", 0), ("dilation", 1))
        stride, pads, extra, dilation = (spatial(call.get(name, default), count) for name, default in names)
        out = tuple(_grown(*item) for item in zip(extents, shape[2:], stride, pads, extra, dilation))
        groups = size(call.get("groups", 1))
        channels = None if shape[1] is None or groups is None else shape[1] * groups
        return like(base, (*batch, channels, *out))

    return rule


def _grown(extent: MaybeSize, kernel: MaybeSize, stride: MaybeSize, pad: MaybeSize, extra: MaybeSize, dilation: MaybeSize) -> MaybeSize:
    if extent is None or kernel is None or stride is None or pad is None or extra is None or dilation is None:
        return None
    return (extent - 1) * stride - 2 * pad + dilation * (kernel - 1) + extra + 1


def pooling(count: int, indices: bool = False) -> Rule:
    """max_pool, avg_pool, lp_pool; max pooling can give the indices too."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        batch, extents = _same_batch(base, count)
        kernel = spatial(call.get("kernel_size"), count)
        given = call.get("stride")
        stride = kernel if given is None or given in ([], ()) else spatial(given, count)
        pads, dilation = spatial(call.get("padding", 0), count), spatial(call.get("dilation", 1), count)
        ceil = call.known("ceil_mode", False)
        out = tuple(window(*item, ceil=ceil) for item in zip(extents, kernel, stride, pads, dilation))
        result = like(base, (*batch, need_shape(base)[-count - 1], *out))
        if indices or call.get("return_indices") is True:
            return result, like(base, result.shape, "int64")
        return result

    return rule


def adaptive(count: int, indices: bool = False) -> Rule:
    """adaptive_avg_pool, adaptive_max_pool: the output size is named, None keeps."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        if isinstance(call.get("output_size"), Unknown):
            raise Undetermined("output_size")
        batch, extents = _same_batch(base, count)
        wanted = call.get("output_size")
        items = list(wanted) if isinstance(wanted, list | tuple) else [wanted] * count
        out = [extent if item is None else size(item) for item, extent in zip(items * count if len(items) == 1 else items, extents)]
        result = like(base, (*batch, need_shape(base)[-count - 1], *out))
        if indices or call.get("return_indices") is True:
            return result, like(base, result.shape, "int64")
        return result

    return rule


def unpooling(count: int) -> Rule:
    """max_unpool: the size named, or the one that the pooling had."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        batch, extents = _same_batch(base, count)
        channels = need_shape(base)[-count - 1]
        if call.given("output_size"):
            return like(base, (*batch, channels, *sizes(call.get("output_size"))[-count:]))
        kernel = spatial(call.get("kernel_size"), count)
        stride = spatial(call.get("stride"), count) if call.given("stride") else kernel
        pads = spatial(call.get("padding", 0), count)
        out = [_grown(extent, k, s, p, 0, 1) for extent, k, s, p in zip(extents, kernel, stride, pads)]
        return like(base, (*batch, channels, *out))

    return rule


def fractional(count: int) -> Rule:
    """fractional_max_pool: an output size or a ratio."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        batch, extents = _same_batch(base, count)
        if call.given("output_size"):
            out = spatial(call.get("output_size"), count)
        else:
            ratio = call.get("output_ratio")
            ratios = list(ratio) if isinstance(ratio, list | tuple) else [ratio] * count
            out = tuple(int(e * r) if isinstance(e, int) and isinstance(r, float) else None for e, r in zip(extents, ratios))
        result = like(base, (*batch, need_shape(base)[-count - 1], *out))
        return (result, like(base, result.shape, "int64")) if call.get("return_indices") is True else result

    return rule


def pad(call: Call) -> Value:
    """pad(input, pad): pairs from the last dimension backwards."""
    base = call.tensor()
    widths = sizes(call.get("pad"))
    shape = list(need_shape(base))
    for place in range(len(widths) // 2):
        extent, before, after = shape[-1 - place], widths[2 * place], widths[2 * place + 1]
        shape[-1 - place] = None if extent is None or before is None or after is None else extent + before + after
    return like(base, tuple(shape))


def interpolate(call: Call) -> Value:
    """interpolate(input, size=None, scale_factor=None)."""
    base = call.tensor()
    shape = need_shape(base)
    extents = shape[2:]
    wanted, scale = call.get("size"), call.get("scale_factor")
    if wanted is not None:
        return like(base, (*shape[:2], *spatial(wanted, len(extents))))
    factors = list(scale) if isinstance(scale, list | tuple) else [scale] * len(extents)
    return like(base, (*shape[:2], *(_scaled(extent, factor) for extent, factor in zip(extents, factors))))


def _scaled(extent: MaybeSize, factor: Value) -> MaybeSize:
    factor = scalar_value(factor)
    if extent is None or not isinstance(factor, int | float):
        return None
    if float(factor).is_integer():
        return extent * int(factor)
    if isinstance(extent, int):
        return int(extent * factor)
    part = 1 / factor
    return extent // round(part) if abs(part - round(part)) < 1e-12 else None


def pixel_shuffle(call: Call) -> Value:
    """pixel_shuffle(input, r): channels become space."""
    base, factor = call.tensor(), size(call.get("upscale_factor"))
    shape = need_shape(base)
    channels, height, width = shape[-3:]
    if factor is None:
        return like(base, (*shape[:-3], None, None, None))
    less_channels = None if channels is None else channels // (factor * factor)
    return like(base, (*shape[:-3], less_channels, *(None if e is None else e * factor for e in (height, width))))


def pixel_unshuffle(call: Call) -> Value:
    base, factor = call.tensor(), size(call.get("downscale_factor"))
    shape = need_shape(base)
    channels, height, width = shape[-3:]
    if factor is None:
        return like(base, (*shape[:-3], None, None, None))
    more = None if channels is None else channels * factor * factor
    return like(base, (*shape[:-3], more, *(None if e is None else e // factor for e in (height, width))))


def unfold(call: Call) -> Value:
    """unfold(input, kernel_size): patches as columns."""
    base = call.tensor()
    batch, extents = _same_batch(base, 2)
    kernel, dilation = spatial(call.get("kernel_size"), 2), spatial(call.get("dilation", 1), 2)
    pads, stride = spatial(call.get("padding", 0), 2), spatial(call.get("stride", 1), 2)
    channels = need_shape(base)[-3]
    known = [channels, *kernel]
    rows = None if None in known else product(item for item in known if item is not None)
    spots = [window(*item) for item in zip(extents, kernel, stride, pads, dilation)]
    columns = None if None in spots else product(item for item in spots if item is not None)
    return like(base, (*batch, rows, columns))


def fold(call: Call) -> Value:
    """fold(input, output_size, kernel_size): columns back to patches."""
    base = call.tensor()
    shape = need_shape(base)
    kernel = spatial(call.get("kernel_size"), 2)
    rows = shape[-2]
    area = None if None in kernel else product(item for item in kernel if item is not None)
    channels = None if rows is None or area is None else rows // area
    return like(base, (*shape[:-2], channels, *spatial(call.get("output_size"), 2)))


def grid_sample(call: Call) -> Value:
    """grid_sample(input, grid): the grid's places, the input's channels."""
    base, grid = call.tensor(), call.tensor("grid")
    shape = need_shape(base)
    return like(base, (*shape[:2], *need_shape(grid)[1:-1]))


def affine_grid(call: Call) -> Value:
    base = call.tensor("theta")
    wanted = sizes(call.get("size"))
    return like(base, (wanted[0], *wanted[2:], len(wanted) - 2))
