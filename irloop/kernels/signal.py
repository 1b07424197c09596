"""Fourier transforms of real and complex numbers.

A complex number is a pair (real part, imaginary part) in a last axis of size 2. 16-bit
floats are transformed in f32, and f64 in f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_each

__all__ = [
    "Array",
    "Function",
    "dft",
    "framed",
    "inverse_real_dft",
    "inverse_stft",
    "onnx_dft",
    "onnx_stft",
    "real_dft",
    "stft",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


#: Bytes of a complex number.
_COMPLEX = 16
#: Number of complex numbers that a transform holds for each element. An FFT of prime length works
#: on twice as many, several times.
_TEMPORARIES = 6


def _complex(x: Array) -> Array:
    """Convert pairs in the last axis to complex numbers."""
    wide = widened(x)
    return np.asarray(wide[..., 0] + 1j * wide[..., 1])


def _pairs(z: Array, dtype: np.dtype[Any]) -> Array:
    return np.stack((z.real, z.imag), axis=-1).astype(dtype)


def _plan(
    shape: Sequence[int], axes: Array, sizes: Array | None
) -> tuple[tuple[int, ...], list[int]]:
    """Return the axes of a transform, non-negative, and the length along each of them.

    A length of -1 means that the axis keeps its size. Without `sizes`, all lengths are -1.
    """
    chosen = tuple(int(axis) % len(shape) for axis in axes.reshape(-1))
    lengths = [-1] * len(chosen) if sizes is None else [int(size) for size in sizes.reshape(-1)]
    return chosen, lengths


def _filled(shape: Sequence[int], axes: Sequence[int], lengths: Sequence[int]) -> list[int]:
    pairs = zip(axes, lengths, strict=True)
    return [shape[axis] if length == -1 else length for axis, length in pairs]


def _reserve(shape: Sequence[int], axes: Sequence[int], lengths: Sequence[int]) -> None:
    """Reserve the memory of a Fourier transform, and charge the budget for its time.

    `lengths` are the sizes of the result along `axes`.
    """
    sizes = list(shape)
    for axis, length in zip(axes, lengths, strict=True):
        sizes[axis] = length
    budget.reserve(math.prod(sizes) * _COMPLEX * _TEMPORARIES, "a Fourier transform")
    spend_each(math.prod(sizes), 150, "a Fourier transform")


def dft(*, inverse: bool) -> Function:
    """Return a function that computes the Fourier transform of complex numbers, or its inverse.

    The last axis of the data holds the real and the imaginary part of each number. The axes to
    transform are first cropped or zero-padded to the given sizes; -1 keeps the size of an axis.
    """
    transform = np.fft.ifftn if inverse else np.fft.fftn

    def apply(x: Array, axes: Array, sizes: Array | None = None) -> Any:
        z = _complex(x)
        chosen, lengths = _plan(z.shape, axes, sizes)
        filled = _filled(z.shape, chosen, lengths)
        _reserve(z.shape, chosen, filled)
        with np.errstate(all="ignore"):
            result = transform(z, s=filled, axes=chosen)
        return _pairs(result, x.dtype)

    return apply


def real_dft(x: Array, axes: Array, sizes: Array | None = None) -> Any:
    """The Fourier transform of real numbers, as pairs (real and imaginary part).

    Along the last of `axes`, only the first half of the frequencies is kept.
    """
    wide = widened(x)
    chosen, lengths = _plan(x.shape, axes, sizes)
    filled = _filled(x.shape, chosen, lengths)
    _reserve(x.shape, chosen, filled)
    with np.errstate(all="ignore"):
        result = np.fft.rfftn(wide, s=filled, axes=chosen)
    return _pairs(result, x.dtype)


def inverse_real_dft(x: Array, axes: Array, sizes: Array | None = None) -> Any:
    """Compute the inverse of `real_dft` along `axes`.

    `sizes` holds the lengths of the result along `axes`, and -1 keeps the length of the spectrum.
    For the last of the axes, -1 means 2 * (n - 1), where n is the length of the spectrum: a
    spectrum of length 5 gives 8 numbers. Without `sizes`, all lengths are -1.
    """
    z = _complex(x)
    chosen, lengths = _plan(z.shape, axes, sizes)
    if lengths[-1] == -1:
        lengths[-1] = 2 * (z.shape[chosen[-1]] - 1)
    filled = _filled(z.shape, chosen, lengths)
    _reserve(z.shape, chosen, filled)
    with np.errstate(all="ignore"):
        result = np.fft.irfftn(z, s=filled, axes=chosen)
    return result.astype(x.dtype)


def onnx_dft(*, inverse: bool, onesided: bool, axis: int) -> Function:
    """Return the kernel of DFT: a Fourier transform along one axis.

    The last axis of the data has size 1 for real numbers, or size 2 for complex numbers as pairs
    (real part, imaginary part). With `onesided`, the transform returns only the first half of the
    frequencies. The inverse transform then expects this half, and returns real numbers.
    """

    def apply(x: Array, length: Array | None = None, chosen: Array | None = None) -> Any:
        place = (axis if chosen is None else int(chosen.reshape(-1)[0])) % x.ndim
        z = _complex(x) if x.shape[-1] == 2 else widened(x)[..., 0]
        count = None if length is None else int(length.reshape(-1)[0])
        _reserve(z.shape, [place], [z.shape[place] if count is None else count])
        with np.errstate(all="ignore"):
            if inverse and onesided:
                return np.fft.irfft(z, count, axis=place)[..., None].astype(x.dtype)
            if inverse:
                return _pairs(np.fft.ifft(z, count, axis=place), x.dtype)
            result = np.fft.fft(z, count, axis=place)
        if onesided:
            half = result.shape[place] // 2 + 1
            result = result[(slice(None),) * place + (slice(half),)]
        return _pairs(result, x.dtype)

    return apply


def framed(x: Array, length: int, step: int) -> Array:
    """Cut signals [B, L, ...] into frames [B, frames, length, ...]; they start `step` apart."""
    count = (x.shape[1] - length) // step + 1
    _reserve((x.shape[0], max(count, 0), length), (), ())
    return x[:, np.arange(count)[:, None] * step + np.arange(length)]


def onnx_stft(*, onesided: bool) -> Function:
    """Return the kernel of ONNX's STFT: the spectrum of each frame of a signal.

    The kernel takes the signal, the step from frame to frame, the window and the frame length.
    Without a window, all samples count equally. Without a length, the frames are as long as the
    window or, without a window, as the signal.

    A real signal is [B, L] or [B, L, 1], a complex one [B, L, 2]. The result [B, frames, bins, 2]
    has the real and imaginary parts on the last axis. If `onesided`, only bins 0 to length // 2 are
    returned.
    """

    def apply(
        signal: Array, step: Array, window: Array | None = None, length: Array | None = None
    ) -> Any:
        if length is not None:
            count = int(length.reshape(-1)[0])
        else:
            count = signal.shape[1] if window is None else len(window)
        given = signal if signal.ndim == 3 else signal[..., None]
        frames = framed(widened(given), count, int(step.reshape(-1)[0]))
        if window is not None:
            frames = frames * widened(window)[:, None]
        z = _complex(frames) if frames.shape[-1] == 2 else frames[..., 0]
        with np.errstate(all="ignore"):
            result = np.fft.fft(z, axis=-1)
        if onesided:
            result = result[..., : count // 2 + 1]
        return _pairs(result, signal.dtype)

    return apply


def _centred(window: Array, size: int) -> Array:
    """Zero-pad the window on both sides to `size`."""
    before = (size - len(window)) // 2
    return np.pad(window, (before, size - len(window) - before))


def stft(*, transpose_frames: bool) -> Function:
    """Return a kernel that computes the short-time Fourier transform of a signal.

    The kernel takes the signal [L] or [B, L], the window, the frame size and the step between
    frames. It returns [B, frames, frequencies, 2], without B for a signal [L]. The last axis holds
    the real and the imaginary part. With `transpose_frames`, the frequencies come before the
    frames.
    """

    def apply(signal: Array, window: Array, size: Array, step: Array) -> Any:
        wide = widened(signal)
        count = int(size.reshape(-1)[0])
        batch = wide if wide.ndim == 2 else wide[None]
        frames = framed(batch, count, int(step.reshape(-1)[0]))
        with np.errstate(all="ignore"):
            result = np.fft.rfft(frames * _centred(widened(window), count), axis=-1)
        if transpose_frames:
            result = result.swapaxes(1, 2)
        pairs = _pairs(result, signal.dtype)
        return pairs if wide.ndim == 2 else pairs[0]

    return apply


def inverse_stft(*, center: bool, normalized: bool) -> Function:
    """Make a kernel that computes the inverse of a short-time Fourier transform.

    The kernel takes the spectrum [B, frequencies, frames, 2], the window, the frame size,
    the step and, optionally, the length. It returns [B, samples]. Overlapping frames are
    added and divided by the sum of the squared windows. `center` removes half a frame at
    each end. `normalized` undoes a division by the square root of the frame size.
    """

    def apply(
        data: Array, window: Array, size: Array, step: Array, length: Array | None = None
    ) -> Any:
        count, hop = int(size.reshape(-1)[0]), int(step.reshape(-1)[0])
        z = _complex(data if data.ndim == 4 else data[None]).swapaxes(1, 2)
        shape = _centred(widened(window), count)
        _reserve((*z.shape[:2], count), (), ())
        with np.errstate(all="ignore"):
            frames = np.fft.irfft(z, count, axis=-1) * shape
            if normalized:
                frames = frames * frames.dtype.type(count**0.5)
            place = np.arange(z.shape[1])[:, None] * hop + np.arange(count)
            total = int(place[-1, -1]) + 1
            _reserve((len(z), total), (), ())
            sums = np.zeros((len(z), total), frames.dtype)
            np.add.at(sums.T, place, frames.transpose(1, 2, 0))
            weights = np.zeros(total, frames.dtype)
            np.add.at(weights, place, np.broadcast_to(shape * shape, place.shape))
            result = np.where(weights == 0, 0, sums / weights)
        result = _trimmed(result, count // 2 if center else 0, length).astype(data.dtype)
        return result if data.ndim == 4 else result[0]

    return apply


def _trimmed(result: Array, margin: int, length: Array | None) -> Array:
    """Remove `margin` samples at both ends.

    With `length`, `margin` samples are removed at the beginning only. The rest is then cut or
    padded with zeros to `length` samples.
    """
    if length is None:
        return result[:, margin : result.shape[1] - margin]
    wanted = int(length.reshape(-1)[0])
    kept = result[:, margin : margin + wanted]
    return np.pad(kept, ((0, 0), (0, wanted - kept.shape[1])))
