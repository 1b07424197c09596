"""Converts Fourier transforms to ONNX.

They become DFT and STFT, which exist since opset 17, or matrix products.
"""

from __future__ import annotations

from collections.abc import Callable

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.framework.known_inputs import needed_ints, needed_rank
from irloop.conversion.framework.translation import Conversion, exports
from irloop.dialects.onnx import convolution, matmul
from irloop.dialects.onnx import signal as onnx
from irloop.dialects.openvino import signal as ov
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


def _in_known_type(c: Conversion, build: Callable[..., Value], *values: Value) -> Value:
    element = element_of(values[0])
    if element in KNOWN:
        return build(*values)
    return forms.computed_in(c, ElementType.F32, build, *values)


def _plan(
    c: Conversion, axes: Value, sizes: Value | None, rank: int
) -> tuple[list[int], list[int]]:
    """Return the axes of a transform as non-negative numbers, and the length along each axis.

    A length of -1 means that the axis keeps its size.
    """
    chosen = [axis % rank for axis in needed_ints(c, axes, "list of axes")]
    lengths = [-1] * len(chosen)
    if sizes is not None:
        lengths = needed_ints(c, sizes, "signal_size")
    return chosen, lengths


def _transformed(
    c: Conversion,
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
    c: Conversion, x: Value, axis: int, length: int, *, inverse: bool, onesided: bool
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
    order = [at for at in range(rank - 1) if at != axis]
    moved = forms.transpose(c, x, [*order, axis, rank - 1])
    flat = forms.reshape(c, moved, [0] * (rank - 2) + [size * parts])
    product = c(matmul.MatMul(), flat, c.constant(matrix, element_of(x)))
    back = forms.reshape(c, product, [0] * (rank - 2) + [kept, 2])
    return forms.transpose(c, back, [*range(axis), rank - 2, *range(axis, rank - 2), rank - 1])


def _batched(c: Conversion, x: Value, rank: int, build: Callable[[Value, int], Value]) -> Value:
    """Call `build` with `x`, after adding a batch axis if `x` has none.

    The last axis of `x` holds the real and imaginary parts (or only real ones), the axis before it
    the signal. If the `rank` of `x` is only 2, a first axis of size 1 is added, because ONNX
    requires a batch axis; it is removed from the result. `build` gets the tensor and the number of
    added axes (0 or 1).
    """
    if rank > 2:
        return build(x, 0)
    return forms.squeeze(c, build(forms.unsqueeze(c, x, [0]), 1), [0])


@exports(ov.DFT, ov.IDFT)
def export_dft(
    c: Conversion, op: ov.DFT | ov.IDFT, data: Value, axes: Value, sizes: Value | None = None
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
    c: Conversion, op: ov.RDFT, data: Value, axes: Value, sizes: Value | None = None
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

        return _batched(c, forms.unsqueeze(c, x, [rank]), rank + 1, every)

    return _in_known_type(c, build, data)


@exports(ov.IRDFT)
def export_irdft(
    c: Conversion, op: ov.IRDFT, data: Value, axes: Value, sizes: Value | None = None
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

        return forms.gather(c, _batched(c, x, rank, every), c.i64(0), rank - 1)

    return _in_known_type(c, build, data)


def _whole_spectrum(c: Conversion, half: Value, axis: int, length: int, rank: int) -> Value:
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
            half = forms.pad(c, half, c.i64(pads), forms.scalar(c, 0.0, half))
            half = forms.slice_(c, half, [0], [kept], [axis])
        first, behind = mirrored(length)
    turned = forms.slice_(c, half, [first], [behind], [axis], [-1])
    conjugate = forms.multiply(c, turned, c.constant([1.0, -1.0], element_of(half)))
    return forms.concat(c, [half, conjugate], axis)


def _centred(c: Conversion, window: Value, size: int) -> Value:
    """Return the window, padded with zeros on both sides to the length `size`."""
    length = shape_of(window).dim(0)
    if not isinstance(length, int):
        raise c.refuse("the length of its window is not known", "declare the shapes of the inputs")
    before = (size - length) // 2
    pads = [before, size - length - before]
    if not any(pads):
        return window
    return forms.pad(c, window, c.i64(pads), forms.scalar(c, 0.0, window))


@exports(ov.STFT)
def export_stft(
    c: Conversion, op: ov.STFT, signal: Value, window: Value, size: Value, step: Value
) -> Value:
    """Write STFT, and unsqueeze the signal from [L] or [B, L] to the shape [B, L, 1]."""
    if c.opset < 17:
        raise c.refuse("ONNX has Fourier transforms since opset 17", opset=17)
    (count,) = needed_ints(c, size, "frame size")
    rank = needed_rank(c, signal, "signal")

    def build(x: Value, shape: Value) -> Value:
        lifted = forms.unsqueeze(c, x, [2] if rank == 2 else [0, 2])
        hop = forms.as_i64(c, step)
        if shape_of(hop).rank != 0:
            hop = forms.reshape(c, hop, [])
        found = c(onnx.STFT(onesided=1), lifted, hop, _centred(c, shape, count), c.i64(count))
        if op.transpose_frames:
            found = forms.transpose(c, found, [0, 2, 1, 3])
        return found if rank == 2 else forms.squeeze(c, found, [0])

    return _in_known_type(c, build, signal, window)


@exports(ov.ISTFT)
def export_istft(
    c: Conversion,
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
        batch = x if rank == 4 else forms.unsqueeze(c, x, [0])
        whole = _centred(c, shape, count)
        sums = _overlap_added(c, _frames(c, batch, whole, count), count, hop)
        result = forms.divide(c, sums, _weights(c, batch, whole, count, hop))
        if op.normalized:
            result = forms.multiply(c, result, forms.scalar(c, count**0.5, result))
        result = _trimmed(c, result, count // 2 if op.center else 0, length)
        return forms.squeeze(c, result, [1] if rank == 4 else [0, 1])

    return _in_known_type(c, build, data, window)


def _frames(c: Conversion, data: Value, window: Value, count: int) -> Value:
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
    rows = forms.reshape(c, forms.transpose(c, data, [0, 2, 1, 3]), [0, 0, 2 * bins])
    inverse = c.constant(matrix.reshape(2 * bins, count), element_of(data))
    return forms.multiply(c, c(matmul.MatMul(), rows, inverse), window)


def _overlap_added(c: Conversion, frames: Value, count: int, hop: int) -> Value:
    """Add up frames that overlap: frame i begins at sample i * `hop`.

    The shape changes from [B, frames, count] to [B, 1, samples].
    """
    import numpy as np

    columns = forms.transpose(c, frames, [0, 2, 1])
    places = c.constant(np.eye(count)[:, None], element_of(frames))
    op = convolution.ConvTranspose(kernel_shape=(count,), strides=(hop,))
    return c(op, columns, places)


def _weights(c: Conversion, data: Value, window: Value, count: int, hop: int) -> Value:
    """Sum the squares of the windows that cover each sample; return [1, 1, samples].

    A sum of 0 is replaced by infinity, so that a division by it gives 0.
    """
    frames = forms.gather(c, forms.shape_of(c, data), c.i64([2]), 0)
    wanted = forms.concat(c, [c.i64([1]), frames, c.i64([count])], 0)
    squared = forms.expand(c, forms.multiply(c, window, window), wanted)
    sums = _overlap_added(c, squared, count, hop)
    zero, never = (forms.scalar(c, number, sums) for number in (0.0, float("inf")))
    return forms.select(c, forms.equal(c, sums, zero), never, sums)


def _trimmed(c: Conversion, signal: Value, margin: int, length: Value | None) -> Value:
    """Remove `margin` samples at both ends of `signal` [B, 1, samples].

    If `length` is given, `margin` samples are removed at the beginning only. Then the signal is cut
    or padded with zeros to `length` samples.
    """
    axis = c.i64([2])
    if length is None:
        return forms.slice_(c, signal, [margin], [-margin], [2]) if margin else signal
    wanted = forms.as_list(c, length)
    end = forms.add(c, wanted, c.i64([margin]))
    kept = forms.slice_by(c, signal, c.i64([margin]), end, axis)
    have = forms.gather(c, forms.shape_of(c, kept), axis, 0)
    pads = forms.concat(c, [c.i64([0] * 5), forms.subtract(c, wanted, have)], 0)
    return forms.pad(c, kept, pads, forms.scalar(c, 0.0, kept))
