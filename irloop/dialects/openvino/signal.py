"""Fourier transforms in OpenVINO; complex numbers are pairs along a last axis of size 2."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType

__all__ = ["DFT", "IDFT", "IRDFT", "ISTFT", "RDFT", "STFT"]


def _axes(args: Arguments, rank: int) -> list[int] | None:
    """The axes from input 1 as non-negative axes, or None if they are unknown."""
    named = args.ints(1)
    if named is None:
        return None
    axes = [axis % rank if -rank <= axis < rank else -1 for axis in named]
    if -1 in axes:
        raise args.error(
            "an axis is out of range", f"{-rank} to {rank - 1}", str(named), kind="range"
        )
    if len(set(axes)) != len(axes) or not axes:
        raise args.error(
            "axes are missing or given twice", "each axis once", str(named), kind="range"
        )
    return axes


def _lengths(args: Arguments, axes: list[int]) -> list[Dim | None]:
    """Read from input 2 the length of the Fourier transform along each of `axes`.

    An item is None if the axis keeps its size: input 2 has -1 for it, or is missing. It is
    `UNKNOWN_DIM` if the length is not known.

    Raises:
        InferenceError: when input 2 does not have one length for each axis.
    """
    if not args.has(2):
        return [None] * len(axes)
    sizes = args.dims(2)
    if sizes is None:
        return [UNKNOWN_DIM] * len(axes)
    if len(sizes) != len(axes):
        raise args.error(
            "signal_size must have one size per axis", f"{len(axes)} sizes", str(len(sizes))
        )
    return [None if size == -1 else size for size in sizes]


def _pairs(args: Arguments) -> tuple[Dim, ...] | None:
    """The dimensions of input 0 without the last axis, which must hold complex pairs.

    None if the rank is unknown.
    """
    dims = args.shape(0).dims
    if dims is None:
        return None
    if len(dims) < 2 or (isinstance(dims[-1], int) and dims[-1] != 2):
        raise args.error("data holds no complex numbers", "[..., 2]", str(args.shape(0)))
    return dims[:-1]


def _sized(dims: tuple[Dim, ...], axes: list[int], lengths: list[Dim | None]) -> list[Dim]:
    result = list(dims)
    for axis, length in zip(axes, lengths, strict=True):
        if length is not None:
            result[axis] = length
    return result


class _Transform(OpenVinoOp):
    """Base of transforms along axes that are first cropped or zero-padded to `signal_size`."""

    operands = "data: T, axes: i32 | i64, signal size?: i32 | i64 -> T where T: f16 | bf16 | f32"

    def infer(self, args: Arguments) -> list[ValueType]:
        dims = _pairs(args)
        if dims is None:
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        axes = _axes(args, len(dims))
        if axes is None:
            shape = Shape((*(UNKNOWN_DIM,) * len(dims), 2))
        else:
            shape = Shape((*_sized(dims, axes, _lengths(args, axes)), 2))
        return [TensorType(args.element(0), shape)]


class DFT(_Transform, type="DFT", since=7, inputs=(2, 3)):
    """Discrete Fourier transform of complex numbers (DFT-7); inputs data, axes, signal_size."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.dft(inverse=False)


class IDFT(_Transform, type="IDFT", since=7, inputs=(2, 3)):
    """Inverse discrete Fourier transform of complex numbers (IDFT-7)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.dft(inverse=True)


def _half(dim: Dim) -> Dim:
    return dim // 2 + 1 if isinstance(dim, int) else UNKNOWN_DIM


class RDFT(OpenVinoOp, type="RDFT", since=9, inputs=(2, 3)):
    """Discrete Fourier transform of real numbers (RDFT-9).

    On the last axis that input 1 lists, the result has only the first n // 2 + 1 of n frequencies.
    It has one more axis, of size 2, for the real and imaginary parts.
    """

    operands = "data: T, axes: i32 | i64, signal size?: i32 | i64 -> T where T: f16 | bf16 | f32"

    def infer(self, args: Arguments) -> list[ValueType]:
        element, dims = args.element(0), args.shape(0).dims
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        axes = _axes(args, len(dims))
        if axes is None:
            return [TensorType(element, Shape((*(UNKNOWN_DIM,) * len(dims), 2)))]
        result = _sized(dims, axes, _lengths(args, axes))
        result[axes[-1]] = _half(result[axes[-1]])
        return [TensorType(element, Shape((*result, 2)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.real_dft


class IRDFT(OpenVinoOp, type="IRDFT", since=9, inputs=(2, 3)):
    """Inverse of RDFT; the result is real (IRDFT-9)."""

    operands = "data: T, axes: i32 | i64, signal size?: i32 | i64 -> T where T: f16 | bf16 | f32"

    def infer(self, args: Arguments) -> list[ValueType]:
        element, dims = args.element(0), _pairs(args)
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        axes = _axes(args, len(dims))
        if axes is None:
            return [TensorType(element, Shape.of_rank(len(dims)))]
        lengths = _lengths(args, axes)
        result = _sized(dims, axes, lengths)
        if lengths[-1] is None:
            half = dims[axes[-1]]
            result[axes[-1]] = 2 * (half - 1) if isinstance(half, int) else UNKNOWN_DIM
        return [TensorType(element, Shape(tuple(result)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.inverse_real_dft


def _one(args: Arguments, position: int) -> int | None:
    """The element of a one-element integer input; None if it is unknown or the input is omitted."""
    found = args.ints(position) if args.has(position) else None
    return found[0] if found else None


def _check_frames(args: Arguments, size: int | None, step: int | None) -> None:
    if (size is not None and size < 1) or (step is not None and step < 1):
        raise args.error("frame size and step are not positive", "1 or more", f"{size}, {step}")
    window = args.shape(1).dim(0)
    if size is not None and isinstance(window, int) and not 1 <= window <= size:
        raise args.error("the window does not fit the frame", f"1 to {size}", str(window))


class STFT(OpenVinoOp, type="STFT", since=15, inputs=4):
    """Short-time Fourier transform of a signal [L] or [B, L] (STFT-15).

    Inputs: signal, window, frame size and frame step; with `transpose_frames` the frequencies come
    before the frames.
    """

    operands = (
        "signal: T, window: T, frame size: i32 | i64, frame step: i32 | i64 -> T where T: float"
    )
    shapes = "..., W, (), ()"

    transpose_frames: bool = attribute(absent="false")

    def infer(self, args: Arguments) -> list[ValueType]:
        element, dims = args.element(0), args.shape(0).dims
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        if len(dims) not in (1, 2):
            raise args.error("the signal has the wrong rank", "1 or 2", str(len(dims)))
        size, step, length = _one(args, 2), _one(args, 3), dims[-1]
        _check_frames(args, size, step)
        bins = UNKNOWN_DIM if size is None else _half(size)
        frames: Dim = UNKNOWN_DIM
        if isinstance(length, int) and size is not None and step is not None:
            if length < size:
                raise args.error("a frame is longer than the signal", f"up to {length}", str(size))
            frames = (length - size) // step + 1
        inner = (bins, frames) if self.transpose_frames else (frames, bins)
        return [TensorType(element, Shape((*dims[:-1], *inner, 2)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.stft(transpose_frames=self.transpose_frames)


class ISTFT(OpenVinoOp, type="ISTFT", since=16, inputs=(4, 5)):
    """Inverse STFT of [frequencies, frames, 2] or [B, frequencies, frames, 2] (ISTFT-16).

    Inputs: data, window, frame size, frame step and an optional signal length.
    """

    operands = (
        "data: T, window: T, frame size: i32 | i64, frame step: i32 | i64, "
        "signal length?: i32 | i64 -> T where T: float"
    )
    shapes = "..., W, (), (), ()"

    center: bool = attribute(absent="false")
    normalized: bool = attribute(absent="false")

    def infer(self, args: Arguments) -> list[ValueType]:
        element, dims = args.element(0), args.shape(0).dims
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        if len(dims) not in (3, 4):
            raise args.error("data has the wrong rank", "3 or 4", str(len(dims)))
        size, step, frames = _one(args, 2), _one(args, 3), dims[-2]
        length: Dim = UNKNOWN_DIM
        _check_frames(args, size, step)
        if size is not None and dims[-3] not in (_half(size), UNKNOWN_DIM):
            expected = f"{_half(size)} for frames of {size}"
            raise args.error("the number of frequencies is wrong", expected, str(dims[-3]))
        if args.has(4):
            wanted = _one(args, 4)
            length = UNKNOWN_DIM if wanted is None else wanted
        elif isinstance(frames, int) and size is not None and step is not None:
            length = (frames - 1) * step + size - (2 * (size // 2) if self.center else 0)
        return [TensorType(element, Shape((*dims[:-3], length)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.inverse_stft(center=self.center, normalized=self.normalized)
