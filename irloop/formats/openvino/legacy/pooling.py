"""Poolings of versions 2 to 7."""

from __future__ import annotations

from typing import ClassVar, Literal

from irloop.dialects.openvino import pooling as today
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.legacy.base import Dims, LayerFault, other_rank
from irloop.formats.openvino.legacy.steps import Steps
from irloop.formats.openvino.legacy.windows import Window, Windowed
from irloop.graph.model import Value
from irloop.graph.op import attribute


class Pooling(Windowed, type="Pooling", inputs=1):
    """The maximum or the average in each window.

    The declared output decides whether sizes are rounded up. With `exclude_pad` the average is that
    of the elements, otherwise that of the window, clipped to the input with its first pads on both
    sides. Of volumes of several channels, only the last axis has such pads.
    """

    aliases: ClassVar = {
        **Windowed.aliases,
        "pool-method": ("pool_method",),
        "rounding_type": ("rounding-type",),
        "exclude-pad": ("exclude_pad",),
    }

    method: Literal["max", "avg"] = attribute(default="max", name="pool-method")
    exclude_pad: bool = attribute(default=False, name="exclude-pad")
    rounding_type: str = ""

    def _rounded(self, dims: Dims, declared: Dims) -> tuple[Window, Dims]:
        """The window, with pads for the declared sizes, and the sizes that it gives."""
        if len(dims) < 3:
            raise LayerFault("needs an input of 3 to 5 dimensions", found=str(list(dims)))
        if len(declared) != len(dims):
            raise other_rank(dims, declared)
        spatial = dims[2:]
        window = self.window(spatial)
        for ceil in (False, True):
            sizes = window.sizes(spatial, ceil=ceil)
            if sizes == declared[2:]:
                return window, sizes
        # Each axis may be rounded in its own way.
        down, up = window.sizes(spatial), window.sizes(spatial, ceil=True)
        picked = zip(declared[2:], down, up, strict=False)
        return window, tuple(size if size in (a, b) else a for size, a, b in picked)

    def build(self, s: Steps, x: Value) -> Value:
        dims = s.dims(x)
        window, sizes = self._rounded(dims, s.out())
        spatial = dims[2:]
        # As many elements behind the input as the last window reads beyond its pads.
        beyond = tuple(
            max((count - 1) * step + extent - size - a - b, 0)
            for count, step, extent, size, a, b in zip(
                sizes,
                window.strides,
                window.extents(),
                spatial,
                window.begins,
                window.ends,
                strict=True,
            )
        )
        if any(step != 1 for step in window.dilations):
            raise LayerFault("has dilations, which poolings of these versions do not have")
        self._require_elements(window, spatial, sizes)
        if self.method == "avg":
            return self._average(s, x, window, beyond)
        ends = tuple(map(sum, zip(window.ends, beyond, strict=True)))
        op = today.MaxPool1(window.kernel, window.strides, window.begins, ends)
        return s(op, x)

    @staticmethod
    def _require_elements(window: Window, spatial: Dims, sizes: Dims) -> None:
        """Refuse a last window that lies behind the input: the engine of 2020 read other memory."""
        for size, count, step, begin in zip(
            spatial, sizes, window.strides, window.begins, strict=True
        ):
            if (count - 1) * step - begin >= size:
                raise LayerFault(
                    "has a window without an element of its input",
                    code="IRL401",
                    expected=f"windows that begin before element {size}",
                    found=f"a window that begins at element {(count - 1) * step - begin}",
                    cause="the engine of 2020 read the memory behind the input there",
                )

    def _average(self, s: Steps, x: Value, window: Window, beyond: Dims) -> Value:
        ends = tuple(map(sum, zip(window.ends, beyond, strict=True)))
        if self.exclude_pad or not any((*window.begins, *ends)):
            return s(self._op(window, window.begins, ends, exclude=True), x)
        # The engine of 2020 counted as many elements behind the input as there are pads before it.
        first = self._counted(s.dims(x), window.begins)
        last = tuple(map(min, ends, first))
        if first == window.begins and last == ends:
            return s(self._op(window, first, ends, exclude=False), x)
        padded = s.padded(x, (0, 0, *first), (0, 0, *last))
        begins = tuple(a - b for a, b in zip(window.begins, first, strict=True))
        rest = tuple(a - b for a, b in zip(ends, last, strict=True))
        return s(self._op(window, begins, rest, exclude=True), padded)

    @staticmethod
    def _counted(dims: Dims, begins: Dims) -> Dims:
        """The first pads that an average counts."""
        is_volume = len(dims) == 5 and dims[1] > 1
        return (0, 0, begins[2]) if is_volume else begins

    def fault_of_then(self, layer: Layer) -> str:
        pads = (*self.pads_begin, *self.pads_end)
        is_volume = any(len(port.dims) == 5 for port in layer.inputs)
        if (
            self.method != "avg"
            or self.exclude_pad
            or not is_volume
            or not (self.auto_pad or any(pads))
        ):
            return ""
        return (
            "divides as the engine of 2020 did on CPUs: volumes of several channels count only the "
            "pads of their last axis, those of one channel all"
        )

    def _op(self, window: Window, begins: Dims, ends: Dims, *, exclude: bool) -> today.AvgPool:
        return today.AvgPool(
            kernel_size=window.kernel,
            strides=window.strides,
            pads_begin=begins,
            pads_end=ends,
            exclude_pad=exclude,
        )
