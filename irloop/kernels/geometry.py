"""Placement of windows on an axis: padding and output sizes of convolution and pooling.

This module uses plain integers and no NumPy, so that shape inference can share it with the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Window", "normalised_auto_pad", "onnx_placement", "openvino_placement"]

_AUTO_PADS = {
    "": "explicit",
    "notset": "explicit",
    "explicit": "explicit",
    "same_upper": "same_upper",
    "same_lower": "same_lower",
    "valid": "valid",
}


def normalised_auto_pad(text: str) -> str:
    """Map either dialect's spelling to `explicit`, `same_upper`, `same_lower` or `valid`.

    Raises:
        ValueError: for a word that neither dialect knows.
    """
    known = _AUTO_PADS.get(text.lower())
    if known is None:
        raise ValueError(f"auto_pad {text!r} is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID")
    return known


def _filled(values: Sequence[int], rank: int, default: int) -> tuple[int, ...]:
    return tuple(values) if values else (default,) * rank


@dataclass(frozen=True, slots=True)
class Window:
    """A window that moves over the spatial axes of a tensor.

    `rounding` decides what happens when the last window does not fit on the padded axis: `floor`
    drops this window, `ceil` keeps it wherever it starts, and `ceil_torch` keeps it if it starts
    before the end padding.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]
    auto_pad: str = "explicit"
    rounding: str = "floor"

    @classmethod
    def of(
        cls,
        kernel: Sequence[int],
        strides: Sequence[int] = (),
        dilations: Sequence[int] = (),
        pads_begin: Sequence[int] = (),
        pads_end: Sequence[int] = (),
        auto_pad: str = "explicit",
        rounding: str = "floor",
    ) -> Window:
        """Create a window; missing strides and dilations are 1, missing pads 0.

        Raises:
            ValueError: when a list is not as long as `kernel`, or a stride or dilation is below
                1.
        """
        rank = len(kernel)
        window = cls(
            tuple(kernel),
            _filled(strides, rank, 1),
            _filled(dilations, rank, 1),
            _filled(pads_begin, rank, 0),
            _filled(pads_end, rank, 0),
            normalised_auto_pad(auto_pad),
            rounding.lower(),
        )
        lists = (window.strides, window.dilations, window.pads_begin, window.pads_end)
        if any(len(values) != rank for values in lists):
            raise ValueError(f"strides, dilations and pads do not have {rank} entries each")
        if min((*window.kernel, *window.strides, *window.dilations), default=1) < 1:
            raise ValueError("a kernel size, a stride or a dilation is less than 1")
        return window

    def extent(self, axis: int) -> int:
        """The number of elements that a window spans on an axis, dilation included."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def pads(self, axis: int, size: int) -> tuple[int, int]:
        """The padding at both ends of an axis with `size` elements."""
        if self.auto_pad == "valid":
            return 0, 0
        if self.auto_pad == "explicit":
            return self.pads_begin[axis], self.pads_end[axis]
        stride = self.strides[axis]
        total = max((-(-size // stride) - 1) * stride + self.extent(axis) - size, 0)
        small = total // 2
        return (small, total - small) if self.auto_pad == "same_upper" else (total - small, small)

    def outputs(self, axis: int, size: int) -> int:
        """The number of windows on an axis of `size` elements; below 1 if none fits."""
        stride = self.strides[axis]
        if self.auto_pad.startswith("same"):
            return -(-size // stride)
        begin, end = self.pads(axis, size)
        room = size + begin + end - self.extent(axis)
        if self.rounding == "floor":
            return room // stride + 1
        count = -(-room // stride) + 1
        if self.rounding == "ceil_torch" and (count - 1) * stride >= size + begin:
            count -= 1
        return count

    def reach(self, axis: int, size: int) -> tuple[int, int]:
        """The numbers of padding elements that the windows read before and after an axis.

        Because of rounding, the number after the axis may differ from the declared padding. It is
        negative if the windows do not reach the last elements.
        """
        begin, _ = self.pads(axis, size)
        last = (self.outputs(axis, size) - 1) * self.strides[axis] + self.extent(axis)
        return begin, last - begin - size


def places_inside(start: int, stride: int, count: int, size: int) -> tuple[int, int, int]:
    """Find which of the positions start, start + stride, ... lie on an axis of `size` elements.

    `count` is the number of positions. Return the index of the first position on the axis, the
    index after the last position on it, and the first position itself. For example, start -2,
    stride 3, count 4 and size 5 give (1, 3, 1): of the positions -2, 1, 4 and 7, those with the
    indices 1 and 2 lie on the axis.
    """
    low = min(max(0, -(start // stride)), count)
    high = min(count, (size - 1 - start) // stride + 1)
    return low, max(low, high), start + low * stride


def openvino_placement(
    axis: int, size: int, extra: int, window: Window, wanted: int | None
) -> tuple[int, int]:
    """Start and length of the result of a transposed convolution along `axis` (OpenVINO).

    The start is an index into the uncropped result. `size` is the length of the data along the
    axis, and `extra` is the output padding. With a `wanted` length, same_upper crops the larger
    half at the beginning and same_lower at the end. Without a `wanted` length, same_upper and
    same_lower mean no padding.
    """
    full = window.strides[axis] * (size - 1) + window.extent(axis) + extra
    explicit = window.auto_pad == "explicit"
    begin = window.pads_begin[axis] if explicit else 0
    if wanted is None:
        return begin, full - begin - (window.pads_end[axis] if explicit else 0)
    if window.auto_pad.startswith("same"):
        total = full - wanted
        begin = total - total // 2 if window.auto_pad == "same_upper" else total // 2
    return begin, wanted


def onnx_placement(
    axis: int, size: int, extra: int, window: Window, wanted: int | None
) -> tuple[int, int]:
    """Start and length of the result of a transposed convolution (ONNX).

    `extra` is the output padding. If an odd number of elements is cropped, SAME_UPPER crops the
    smaller half at the beginning. SAME_LOWER and an explicit output shape crop the larger half at
    the beginning.
    """
    full = window.strides[axis] * (size - 1) + window.extent(axis) + extra
    if wanted is None and window.auto_pad.startswith("same"):
        wanted = size * window.strides[axis]
    if wanted is None:
        explicit = window.auto_pad == "explicit"
        begin = window.pads_begin[axis] if explicit else 0
        return begin, full - begin - (window.pads_end[axis] if explicit else 0)
    total = max(full - wanted, 0)
    return (total // 2 if window.auto_pad == "same_upper" else total - total // 2), wanted
