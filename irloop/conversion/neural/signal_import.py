"""Converts ONNX's DFT and STFT to OpenVINO's Fourier transforms, which need opset7 or newer."""

from __future__ import annotations

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.conversion.neural.signal import mirrored
from irloop.dialects.onnx import signal as onnx
from irloop.dialects.openvino import elementwise
from irloop.dialects.openvino import signal as ov
from irloop.dialects.writing.known_inputs import ints, needed_axis, needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value

__all__: list[str] = []


@imports(onnx.DFT17)
def import_dft17(c: Import, op: onnx.DFT17, data: Value, length: Value | None = None) -> Value:
    """Write DFT-17 as DFT, IDFT, RDFT or IRDFT, depending on inverse and onesided."""
    place = op.axis % needed_rank(c, data)
    return _imported(c, data, length, place, inverse=op.inverse != 0, onesided=op.onesided != 0)


@imports(onnx.DFT)
def import_dft(
    c: Import,
    op: onnx.DFT,
    data: Value,
    length: Value | None = None,
    axis: Value | None = None,
) -> Value:
    """Write DFT-20 as DFT, IDFT, RDFT or IRDFT, depending on inverse and onesided."""
    rank = needed_rank(c, data)
    inverse, onesided = op.inverse != 0, op.onesided != 0
    if axis is None or onesided or ints(c, axis) is not None:
        place = -2 if axis is None else needed_axis(c, axis)
        return _imported(c, data, length, place % rank, inverse=inverse, onesided=onesided)
    _since_7(c)
    # Negative axes in OpenVINO do not count the axis of the complex pairs.
    places = c(elementwise.FloorMod(), c.as_list(axis), c.i64([rank]))
    pairs = data if _parts(c, data) == 2 else _complex(c, data, rank)
    return c(ov.IDFT() if inverse else ov.DFT(), pairs, places, _sizes(c, length))


def _imported(
    c: Import, data: Value, length: Value | None, axis: int, *, inverse: bool, onesided: bool
) -> Value:
    _since_7(c)
    rank, parts = needed_rank(c, data), _parts(c, data)
    sizes, axes = _sizes(c, length), c.i64([axis])
    if onesided and not inverse and parts == 1 and c.opset >= 9:
        return c(ov.RDFT(), c.squeeze(data, [rank - 1]), axes, sizes)
    pairs = data if parts == 2 else _complex(c, data, rank)
    if onesided and inverse and c.opset >= 9:
        return c.unsqueeze(c(ov.IRDFT(), pairs, axes, sizes), [rank - 1])
    if onesided and inverse:
        whole = _whole_spectrum(c, pairs, axis, length, rank)
        signal = c(ov.IDFT(), whole, axes)
        return c.slice(signal, [0], [1], [rank - 1])
    found = c(ov.IDFT() if inverse else ov.DFT(), pairs, axes, sizes)
    return _first_half(c, found, axis) if onesided else found


def _since_7(c: Import) -> None:
    if c.opset < 7:
        raise c.refuse("OpenVINO has DFT since opset7", "write opset7 or newer")


def _sizes(c: Import, length: Value | None) -> Value | None:
    return None if length is None else c.as_list(c.as_i64(length))


def _parts(c: Import, data: Value) -> int:
    """Return the size of the last dimension: 1 for real numbers, 2 for complex ones.

    Raises:
        RefusedError: when the size is unknown.
    """
    last = shape_of(data).dim(-1)
    if not isinstance(last, int):
        raise c.refuse(
            "it is not known whether its data is real or complex",
            "declare the last dimension of the inputs",
        )
    return last


def _complex(c: Import, data: Value, rank: int) -> Value:
    """Append imaginary parts of zero to real numbers [..., 1]."""
    begins, ends = [0] * rank, [0] * (rank - 1) + [1]
    return c.pad(data, c.i64(begins), c.i64(ends), c.scalar(0.0, data))


def _first_half(c: Import, spectrum: Value, axis: int) -> Value:
    """Keep the first half of a spectrum along `axis`: frequencies 0 to floor(n / 2)."""
    dim = shape_of(spectrum).dim(axis)
    if isinstance(dim, int):
        return c.slice(spectrum, [0], [dim // 2 + 1], [axis])
    half = c.divide(c.size_of(spectrum, axis), c.i64(2))
    end = c.as_list(c.add(half, c.i64(1)))
    return c.slice_by(spectrum, c.i64([0]), end, [axis], c.i64([1]))


def _whole_spectrum(c: Import, half: Value, axis: int, length: Value | None, rank: int) -> Value:
    """Extend the one-sided spectrum of a real signal to all frequencies.

    `half` holds the non-negative frequencies as complex pairs; the others are their conjugates in
    reverse order. `length` is the length of the signal. If it is None, an even length is assumed.
    """
    if length is None:
        first, behind = -2, 0
    else:
        count = ints(c, length)
        if count is None:
            raise c.refuse("its length is computed while the model runs", "make it a constant")
        kept = count[0] // 2 + 1
        if shape_of(half).dim(axis) != kept:
            ends = [kept if at == axis else 0 for at in range(rank)]
            zero = c.scalar(0.0, half)
            half = c.pad(half, c.i64([0] * rank), c.i64(ends), zero)
            half = c.slice(half, [0], [kept], [axis])
        first, behind = mirrored(count[0])
    turned = c.slice(half, [first], [behind], [axis], [-1])
    conjugate = c.multiply(turned, c.constant([1.0, -1.0], element_of(half)))
    return c.concat([half, conjugate], axis)


@imports(onnx.STFT)
def import_stft(
    c: Import,
    op: onnx.STFT,
    signal: Value,
    step: Value,
    window: Value | None = None,
    length: Value | None = None,
) -> Value:
    """Write STFT, or the DFT of the frames, which are gathered and multiplied by the window.

    STFT is written from opset15 on, if the signal is real, the result is one-sided and a window is
    given. In all other cases the DFT is written; without a window, the frames are not multiplied.
    """
    _since_7(c)
    if needed_rank(c, signal) == 2:
        signal = c.unsqueeze(signal, [2])
    parts = _parts(c, signal)
    hop = c.as_scalar(c.as_i64(step))
    if length is not None:
        count = c.as_scalar(c.as_i64(length))
    else:
        count = c.size_of(signal, 1) if window is None else c.size_of(window, 0)
    if c.opset >= 15 and parts == 1 and op.is_onesided() and window is not None:
        samples = c.squeeze(signal, [2])
        return c(ov.STFT(transpose_frames=False), samples, window, count, hop)
    pieces = c.gather(signal, _places(c, signal, count, hop), 1)
    if window is not None:
        pieces = c.multiply(pieces, c.unsqueeze(window, [1]))
    pairs = pieces if parts == 2 else _complex(c, pieces, 4)
    spectrum = c(ov.DFT(), pairs, c.i64([2]))
    return _first_half(c, spectrum, 2) if op.is_onesided() else spectrum


def _places(c: Import, signal: Value, count: Value, hop: Value) -> Value:
    """For each frame, the positions of its elements in the signal: [frames, count]."""
    room = c.subtract(c.size_of(signal, 1), count)
    frames = c.add(c.divide(room, hop), c.i64(1))
    starts = c.multiply(c.numbers_below(frames), hop)
    return c.add(c.unsqueeze(starts, [1]), c.numbers_below(count))
