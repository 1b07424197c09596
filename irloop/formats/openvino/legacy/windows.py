"""Windows of convolutions and poolings of versions 2 to 7: kernel, strides, pads, dilations.

Version 2 has one attribute for each axis (``kernel-y``, ``kernel-x``), the others have lists.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from irloop.formats.openvino.legacy.base import Dims, LayerFault, LegacyLayer
from irloop.graph.op import attribute

__all__ = ["Window", "Windowed"]


class Window(NamedTuple):
    """A window with one number for each spatial axis."""

    kernel: Dims
    strides: Dims
    begins: Dims
    ends: Dims
    dilations: Dims

    def extents(self) -> Dims:
        """The number of elements that the window spans along each axis."""
        pairs = zip(self.kernel, self.dilations, strict=True)
        return tuple((size - 1) * step + 1 for size, step in pairs)

    def sizes(self, spatial: Dims, *, ceil: bool = False) -> Dims:
        """The sizes that sliding the window over `spatial` gives."""
        counts = []
        for axis, extent in enumerate(self.extents()):
            room = spatial[axis] + self.begins[axis] + self.ends[axis] - extent
            steps = -(-room // self.strides[axis]) if ceil else room // self.strides[axis]
            counts.append(steps + 1)
        return tuple(counts)


class Windowed(LegacyLayer):
    """The base of layers that slide a window over their input."""

    aliases: ClassVar = {
        "kernel": (("kernel-y", "kernel-x"),),
        "strides": (("stride-y", "stride-x"),),
        "pads_begin": (("pad-y", "pad-x"),),
        "pads_end": (("pad-b", "pad-r"),),
        "dilations": (("dilation-y", "dilation-x"),),
    }

    kernel_size: tuple[int, ...] = attribute(name="kernel", least=1, entries=(1, 3))
    strides: tuple[int, ...] = attribute(default=(), least=0)
    pads_begin: tuple[int, ...] = attribute(default=(), least=0)
    pads_end: tuple[int, ...] = attribute(default=(), least=0)
    dilations: tuple[int, ...] = attribute(default=(), least=0)
    auto_pad: str = ""

    def window(self, spatial: Dims) -> Window:
        """The window over an input with these spatial dimensions, with pads for `auto_pad`.

        Raises:
            LayerFault: when an attribute has another number of entries.
        """
        rank = len(spatial)
        kernel = self._entries("kernel", self.kernel_size, ())
        # The engine of then took 1 for a stride of 0.
        strides = tuple(item or 1 for item in self._entries("strides", self.strides, (1,) * rank))
        begins = self._entries("pads_begin", self.pads_begin, (0,) * rank)
        ends = self._entries("pads_end", self.pads_end, begins)
        dilations = self._entries("dilations", self.dilations, (1,) * rank)
        dilations = tuple(item or 1 for item in dilations)
        for name, items in (("kernel", kernel), ("strides", strides), ("pads_begin", begins)):
            _require(name, items, rank)
        _require("pads_end", ends, rank)
        _require("dilations", dilations, rank)
        window = Window(kernel, strides, begins, ends, dilations)
        return self._padded(window, spatial)

    def _entries(self, name: str, given: tuple[int, ...], default: Dims) -> Dims:
        return given or default

    def checked_auto_pad(self) -> str:
        """The `auto_pad` in lower case; empty if the pads that are written count.

        Raises:
            LayerFault: for a word such as "explicit", which later versions have. The engine of then
                took it for pads that no document names.
        """
        auto = self.auto_pad.lower()
        if auto not in _AUTO_PADS:
            raise LayerFault(
                "has an auto_pad that no version from 2 to 7 has",
                code="IRL405",
                expected="same_upper, same_lower, valid, or no auto_pad for the pads as written",
                found=self.auto_pad,
                attribute="auto_pad",
            )
        return auto

    def _padded(self, window: Window, spatial: Dims) -> Window:
        auto = self.checked_auto_pad()
        zeros = (0,) * len(spatial)
        if auto == "valid":
            return window._replace(begins=zeros, ends=zeros)
        if not auto:
            return window
        begins, ends = [], []
        for size, stride, extent in zip(spatial, window.strides, window.extents(), strict=True):
            total = max((-(-size // stride) - 1) * stride + extent - size, 0)
            small, large = total // 2, total - total // 2
            begins.append(small if auto == "same_upper" else large)
            ends.append(large if auto == "same_upper" else small)
        return window._replace(begins=tuple(begins), ends=tuple(ends))


_AUTO_PADS = ("", "same_upper", "same_lower", "valid")


def _require(name: str, items: Dims, rank: int) -> None:
    if len(items) != rank:
        raise LayerFault(
            f"has {name} for another number of axes",
            code="IRL405",
            expected=f"{rank} numbers",
            found=str(list(items)),
        )
