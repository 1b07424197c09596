"""Fourier transforms in ONNX; complex numbers are pairs along a last axis of size 2."""

from __future__ import annotations

import math

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Sizes
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType

__all__ = ["DFT", "DFT17", "STFT"]


def _one(args: Arguments, position: int) -> Dim:
    """Return the only element of an integer input.

    If it is not known, or if the input is omitted, the result is an unknown dimension.
    """
    dims = args.dims(position) if args.has(position) else None
    return dims[0] if dims else UNKNOWN_DIM


class _Dft(OnnxOp):
    inverse: int = 0
    onesided: int = 0

    def _transformed(self, args: Arguments, axis: int | None) -> list[ValueType]:
        inference.floating(args, 0)
        element, dims = args.element(0), args.shape(0).dims
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        last = dims[-1] if dims else 0
        if len(dims) < 2 or (isinstance(last, int) and last not in (1, 2)):
            raise args.error("data is neither real nor complex", "[..., 1 or 2]", str(Shape(dims)))
        if self.onesided and not self.inverse and last == 2:
            raise args.error("one half of the frequencies of complex data", "[..., 1]", "[..., 2]")
        real = self.inverse != 0 and self.onesided != 0
        result: list[Dim] = [*dims[:-1], 1 if real else 2]
        if axis is None:
            if args.has(1) or self.onesided:
                result[:-1] = [UNKNOWN_DIM] * (len(dims) - 1)
            return [TensorType(element, Shape(tuple(result)))]
        if not -len(dims) <= axis < len(dims) or axis % len(dims) == len(dims) - 1:
            raise args.error(
                "axis is out of range", f"0 to {len(dims) - 2}", str(axis), kind="range"
            )
        place = axis % len(dims)
        result[place] = self._length(args, dims[place])
        return [TensorType(element, Shape(tuple(result)))]

    def _length(self, args: Arguments, dim: Dim) -> Dim:
        if args.has(1):
            inference.require_within(args, 1, 1, math.inf, "the length")
            count = _one(args, 1)
        elif self.inverse and self.onesided:
            return 2 * (dim - 1) if isinstance(dim, int) else UNKNOWN_DIM
        else:
            count = dim
        if self.onesided and not self.inverse:
            return count // 2 + 1 if isinstance(count, int) else UNKNOWN_DIM
        return count


class DFT17(_Dft, type="DFT", since=17, inputs=(1, 2)):
    """Discrete Fourier transform along `axis` (DFT-17); inputs data and an optional length.

    Data is real [..., 1] or complex [..., 2]. `onesided` keeps the first half of the frequencies;
    `onesided` with `inverse` takes that half as the data and returns real numbers.
    """

    meanings = (Sizes(1),)

    axis: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._transformed(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.onnx_dft(
            inverse=self.inverse != 0, onesided=self.onesided != 0, axis=self.axis
        )


class DFT(_Dft, type="DFT", since=20, inputs=(1, 3)):
    """Discrete Fourier transform along one axis (DFT-20); inputs data, optional length and axis.

    The axis is -2 by default. Data, `onesided` and `inverse` have the meaning of DFT-17.
    """

    meanings = (
        Sizes(1),
        Axes(2, data=0),
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        axis = args.ints(2) if args.has(2) else (-2,)
        return self._transformed(args, axis[0] if axis else None)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.onnx_dft(
            inverse=self.inverse != 0, onesided=self.onesided != 0, axis=-2
        )


class STFT(OnnxOp, type="STFT", since=17, inputs=(2, 4)):
    """Short-time Fourier transform of a signal [B, L, 1 or 2] (STFT-17).

    A signal [B, L] is real, as in ONNX Runtime. Inputs: signal, frame step, optional window and
    frame length. The output is [B, frames, frequencies, 2]; with `onesided` it has only the first
    half of the frequencies.
    """

    meanings = (Sizes(1), Sizes(3))

    #: None means that the attribute is missing, which counts as 1, although onnx's own inference
    #: assumes 0.
    onesided: int | None = None

    def is_onesided(self) -> bool:
        """Return whether the first half of the frequencies is wanted."""
        return self.onesided != 0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0)
        inference.require_within(args, 1, 1, math.inf, "frame_step")
        inference.require_within(args, 3, 1, math.inf, "frame_length")
        element, dims = args.element(0), args.shape(0).dims
        if dims is None:
            return [TensorType(element, Shape((*(UNKNOWN_DIM,) * 3, 2)))]
        if len(dims) not in (2, 3):
            expected = "[B, L] or [B, L, 1 or 2]"
            raise args.error("the signal has the wrong rank", expected, str(Shape(dims)))
        size, step, length = self._size(args, dims[1]), _one(args, 1), dims[1]
        frames: Dim = UNKNOWN_DIM
        if isinstance(size, int) and isinstance(step, int) and isinstance(length, int):
            if step < 1:
                raise args.error("frame_step must be positive", "1 or more", str(step))
            if size > length:
                expected = f"at most {length}"
                raise args.error("the frame is longer than the signal", expected, str(size))
            frames = (length - size) // step + 1
        bins = size
        if self.is_onesided():
            bins = size // 2 + 1 if isinstance(size, int) else UNKNOWN_DIM
        return [TensorType(element, Shape((dims[0], frames, bins, 2)))]

    def _size(self, args: Arguments, length: Dim) -> Dim:
        if args.has(3):
            return _one(args, 3)
        if args.has(2):
            return UNKNOWN_DIM if args.shape(2).dims is None else args.shape(2).dim(0)
        return length

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.signal.onnx_stft(onesided=self.is_onesided())
