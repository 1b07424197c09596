"""Converts Fourier transforms to ONNX.

They become DFT and STFT, which exist since opset 17, or matrix products.
"""

from __future__ import annotations

from collections.abc import Callable

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import convolution, matmul
from irloop.dialects.onnx import signal as onnx
from irloop.dialects.openvino import signal as ov
from irloop.dialects.writing.known_inputs import needed_ints, needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["mirrored"]

#: The element types of transforms in ONNX Runtime.
KNOWN = (ElementType.F32, ElementType.F64)

Part = Callable[[int, int, int], Value]


def mirrored(count: int) -> tuple[int, int]:
    """Return start and excluded end of the backward slice that completes a half spectrum.

    `count` is the length of the whole spectrum of a real signal; only the first half is known,
    elements 0 to `count // 2`. A slice of it with step -1 holds the elements whose conjugates are
    the missing elements. For example, `mirrored(8)` is (3, 0): the conjugates of elements 3, 2, 1
    are elements 5, 6, 7.
    """
    return (count - 1) // 2, 0


def _in_known_type(c: Export, build: Callable[..., Value], *values: Value) -> Value:
    element = element_of(values[0])
    if element in KNOWN:
        return build(*values)
    return c.computed_in(ElementType.F32, build, *values)


def _plan(c: Export, axes: Value, sizes: Value | None, rank: int) -> tuple[list[int], list[int]]:
    """Return the axes of a transform as non-negative numbers, and the length along each axis.

    A length of -1 means that the axis keeps its size.
    """
    chosen = [axis % rank for axis in needed_ints(c, axes, "list of axes")]
    lengths = [-1] * len(chosen)
    if sizes is not None:
        lengths = needed_ints(c, sizes, "signal_size")
    return chosen, lengths


def _transformed(
    c: Export,
    x: Value,
    axis: int,
    length: int,
    *,
    inverse: bool = False,
    onesided: bool = False,
) -> Value:
    """Emit one DFT along `axis`, which must not be negative.

    `length` is the number of elements that are transformed; -1 means the size of the axis.
    """
    if c.opset < 17:
        return _by_matrix(c, x, axis, length, inverse=inverse, onesided=onesided)
    count = None if length == -1 else c.i64(length)
    flags = {"inverse": int(inverse), "onesided": int(onesided)}
    if c.opset >= 20:
        return c(onnx.DFT(**flags), x, count, c.i64(axis))
    return c(onnx.DFT17(**flags, axis=axis), x, count)


def _by_matrix(
    c: Export, x: Value, axis: int, length: int, *, inverse: bool, onesided: bool
) -> Value:
    """Emit one DFT as a product with its matrix, for opsets before 17."""
    import numpy as np

    rank, (size, parts) = needed_rank(c, x), (shape_of(x).dim(axis), shape_of(x).dim(-1))
    if not isinstance(size, int) or not isinstance(parts, int):
        raise c.refuse("Fourier transforms of unknown sizes need opset 17", opset=17)
    count = size if length == -1 else length
    kept = count // 2 + 1 if onesided else count
    times, frequencies = np.arange(size)[:, None], np.arange(kept)[None, :]
    angles = 2 * np.pi / count * (times * frequencies % count) * (1 if inverse else -1)
    # Elements beyond the transformed length get the weight 0.
    scale = (times < count) / (count if inverse else 1)
    real, imaginary = scale * np.cos(angles), scale * np.sin(angles)
    rows = [np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)]
    matrix = np.stack(rows[:parts], 1).reshape(size * parts, kept * 2)
    moved = c.moved(x, axis, rank - 2, rank)
    flat = c.reshape(moved, [0] * (rank - 2) + [size * parts])
    product = c(matmul.MatMul(), flat, c.constant(matrix, element_of(x)))
    back = c.reshape(product, [0] * (rank - 2) + [kept, 2])
    return c.moved(back, rank - 2, axis, rank)


def _batched(c: Export, x: Value, rank: int, build: Callable[[Value, int], Value]) -> Value:
    """Call `build` with `x`, after adding a batch axis if `x` has none.

    The last axis of `x` holds the real and imaginary parts (or only real ones), the axis before it
    the signal. If the `rank` of `x` is only 2, a first axis of size 1 is added, because ONNX
    requires a batch axis; it is removed from the result. `build` gets the tensor and the number of
    added axes (0 or 1).
    """
    if rank > 2:
        return build(x, 0)
    return c.squeeze(build(c.unsqueeze(x, [0]), 1), [0])


@exports(ov.DFT, ov.IDFT)
def export_dft(
    c: Export, op: ov.DFT | ov.IDFT, data: Value, axes: Value, sizes: Value | None = None
) -> Value:
    """Write DFT or IDFT as one ONNX DFT for each of its axes."""
    rank = needed_rank(c, data)
    chosen, lengths = _plan(c, axes, sizes, rank - 1)
    inverse = isinstance(op, ov.IDFT)

    def build(x: Value) -> Value:
        def every(value: Value, shift: int) -> Value:
            for axis, length in zip(chosen, lengths, strict=True):
                value = _transformed(c, value, axis + shift, length, inverse=inverse)
            return value

        return _batched(c, x, rank, every)

    return _in_known_type(c, build, data)


@exports(ov.RDFT)
def export_rdft(
    c: Export, op: ov.RDFT, data: Value, axes: Value, sizes: Value | None = None
) -> Value:
    """Write RDFT as a one-sided DFT along the last of `axes`, then a DFT along each other axis."""
    rank = needed_rank(c, data)
    chosen, lengths = _plan(c, axes, sizes, rank)

    def build(x: Value) -> Value:
        def every(value: Value, shift: int) -> Value:
            value = _transformed(c, value, chosen[-1] + shift, lengths[-1], onesided=True)
            for axis, length in zip(chosen[:-1], lengths[:-1], strict=True):
                value = _transformed(c, value, axis + shift, length)
            return value

        return _batched(c, c.unsqueeze(x, [rank]), rank + 1, every)

    return _in_known_type(c, build, data)


@exports(ov.IRDFT)
def export_irdft(
    c: Export, op: ov.IRDFT, data: Value, axes: Value, sizes: Value | None = None
) -> Value:
    """Write IRDFT: complete the spectrum with Concat, apply an inverse DFT, and take the real part.

    The input holds only one half of the spectrum, because the other half is its conjugate mirror
    image.
    """
    rank = needed_rank(c, data)
    chosen, lengths = _plan(c, axes, sizes, rank - 1)

    def build(x: Value) -> Value:
        def every(value: Value, shift: int) -> Value:
            for axis, length in zip(chosen[:-1], lengths[:-1], strict=True):
                value = _transformed(c, value, axis + shift, length, inverse=True)
            whole = _whole_spectrum(c, value, chosen[-1] + shift, lengths[-1], rank + shift)
            return _transformed(c, whole, chosen[-1] + shift, -1, inverse=True)

        return c.gather(_batched(c, x, rank, every), c.i64(0), rank - 1)

    return _in_known_type(c, build, data)


def _whole_spectrum(c: Export, half: Value, axis: int, length: int, rank: int) -> Value:
    """Compute all frequencies of a real signal from the first half of its spectrum.

    `length` is the length of the signal; if it is -1, the length is assumed to be even.
    """
    if length == -1:
        first, behind = -2, 0
    else:
        kept = length // 2 + 1
        if shape_of(half).dim(axis) != kept:
            pads = [0] * (2 * rank)
            pads[rank + axis] = kept
            half = c.pad(half, c.i64(pads), c.scalar(0.0, half))
            half = c.slice(half, [0], [kept], [axis])
        first, behind = mirrored(length)
    turned = c.slice(half, [first], [behind], [axis], [-1])
    conjugate = c.multiply(turned, c.constant([1.0, -1.0], element_of(half)))
    return c.concat([half, conjugate], axis)


def _centred(c: Export, window: Value, size: int) -> Value:
    """Return the window, padded with zeros on both sides to the length `size`."""
    length = shape_of(window).dim(0)
    if not isinstance(length, int):
        raise c.refuse("the length of its window is not known", "declare the shapes of the inputs")
    before = (size - length) // 2
    pads = [before, size - length - before]
    if not any(pads):
        return window
    return c.pad(window, c.i64(pads), c.scalar(0.0, window))


@exports(ov.STFT)
def export_stft(
    c: Export, op: ov.STFT, signal: Value, window: Value, size: Value, step: Value
) -> Value:
    """Write STFT, and unsqueeze the signal from [L] or [B, L] to the shape [B, L, 1]."""
    if c.opset < 17:
        raise c.refuse("ONNX has Fourier transforms since opset 17", opset=17)
    (count,) = needed_ints(c, size, "frame size")
    rank = needed_rank(c, signal, "signal")

    def build(x: Value, shape: Value) -> Value:
        lifted = c.unsqueeze(x, [2] if rank == 2 else [0, 2])
        hop = c.as_i64(step)
        if shape_of(hop).rank != 0:
            hop = c.reshape(hop, [])
        spectrum = c(onnx.STFT(onesided=1), lifted, hop, _centred(c, shape, count), c.i64(count))
        if op.transpose_frames:
            spectrum = c.transpose(spectrum, [0, 2, 1, 3])
        return spectrum if rank == 2 else c.squeeze(spectrum, [0])

    return _in_known_type(c, build, signal, window)


@exports(ov.ISTFT)
def export_istft(
    c: Export,
    op: ov.ISTFT,
    data: Value,
    window: Value,
    size: Value,
    step: Value,
    length: Value | None = None,
) -> Value:
    """Write ISTFT as a MatMul that inverts each frame, and a ConvTranspose that adds up the frames.

    The sums are then divided by the sums of the squared windows.
    """
    (count,), (hop,) = (needed_ints(c, size, "frame size"), needed_ints(c, step, "frame step"))
    rank = needed_rank(c, data)

    def build(x: Value, shape: Value) -> Value:
        batch = x if rank == 4 else c.unsqueeze(x, [0])
        whole = _centred(c, shape, count)
        sums = _overlap_added(c, _frames(c, batch, whole, count), count, hop)
        result = c.divide(sums, _weights(c, batch, whole, count, hop))
        if op.normalized:
            result = c.multiply(result, c.scalar(count**0.5, result))
        result = _trimmed(c, result, count // 2 if op.center else 0, length)
        return c.squeeze(result, [1] if rank == 4 else [0, 1])

    return _in_known_type(c, build, data, window)


def _frames(c: Export, data: Value, window: Value, count: int) -> Value:
    """Transform the spectrum of each frame back to a windowed piece of the signal.

    `data` is [B, frequencies, frames, 2], and the result is [B, frames, count].
    """
    import numpy as np

    bins = count // 2 + 1
    frequency, place = np.arange(bins)[:, None], np.arange(count)
    angle = 2 * np.pi * (frequency * place % count) / count
    # Each frequency represents itself and its mirror image, except for the first and, if `count` is
    # even, the last.
    twice = np.where((frequency == 0) | (2 * frequency == count), 1.0, 2.0) / count
    matrix = np.stack((twice * np.cos(angle), -twice * np.sin(angle)), axis=1)
    rows = c.reshape(c.transpose(data, [0, 2, 1, 3]), [0, 0, 2 * bins])
    inverse = c.constant(matrix.reshape(2 * bins, count), element_of(data))
    return c.multiply(c(matmul.MatMul(), rows, inverse), window)


def _overlap_added(c: Export, frames: Value, count: int, hop: int) -> Value:
    """Add up frames that overlap: frame i begins at sample i * `hop`.

    The shape changes from [B, frames, count] to [B, 1, samples].
    """
    import numpy as np

    columns = c.transpose(frames, [0, 2, 1])
    places = c.constant(np.eye(count)[:, None], element_of(frames))
    op = convolution.ConvTranspose(kernel_shape=(count,), strides=(hop,))
    return c(op, columns, places)


def _weights(c: Export, data: Value, window: Value, count: int, hop: int) -> Value:
    """Sum the squares of the windows that cover each sample; return [1, 1, samples].

    A sum of 0 is replaced by infinity, so that a division by it gives 0.
    """
    frames = c.sizes_of(data, [2])
    wanted = c.concat([c.i64([1]), frames, c.i64([count])], 0)
    squared = c.expand(c.multiply(window, window), wanted)
    sums = _overlap_added(c, squared, count, hop)
    zero, never = (c.scalar(number, sums) for number in (0.0, float("inf")))
    return c.select(c.equal(sums, zero), never, sums)


def _trimmed(c: Export, signal: Value, margin: int, length: Value | None) -> Value:
    """Remove `margin` samples at both ends of `signal` [B, 1, samples].

    If `length` is given, `margin` samples are removed at the beginning only. Then the signal is cut
    or padded with zeros to `length` samples.
    """
    axis = c.i64([2])
    if length is None:
        return c.slice(signal, [margin], [-margin], [2]) if margin else signal
    wanted = c.as_list(length)
    end = c.add(wanted, c.i64([margin]))
    kept = c.slice_by(signal, c.i64([margin]), end, axis)
    have = c.gather(c.shape_of(kept), axis, 0)
    pads = c.concat([c.i64([0] * 5), c.subtract(wanted, have)], 0)
    return c.pad(kept, pads, c.scalar(0.0, kept))
