"""Convolutions and fully connected layers of versions 2 to 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irloop.dialects.openvino import convolution as today
from irloop.dialects.openvino import matmul
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer, product
from irloop.formats.openvino.legacy.steps import Steps
from irloop.formats.openvino.legacy.windows import Window, Windowed
from irloop.graph.model import Value
from irloop.graph.op import attribute
from irloop.graph.types import ElementType

LARGEST = 1 << 32


class Convolving(Windowed):
    """The base of the convolutions."""

    output: int = attribute(least=1, most=LARGEST)  # type: ignore[misc]
    group: int = attribute(default=1, least=1)
    needed: ClassVar[tuple[str, ...]] = ("weights",)

    def _parts(self, inputs: Dims2) -> tuple[int, int, Dims]:
        """The channels of input and output in one group, and the spatial dimensions.

        Raises:
            LayerFault: when the channels cannot be divided into the groups.
        """
        dims = inputs[0]
        if len(dims) < 3:
            raise LayerFault("needs an input of 3 to 5 dimensions", found=str(list(dims)))
        channels, group = dims[1], self.group
        for what, count in (("input", channels), ("output", self.output)):
            if count % group:
                raise LayerFault(
                    f"has {what} channels that its groups do not divide",
                    code="IRL405",
                    expected=f"a multiple of {group}",
                    found=str(count),
                )
        return channels // group, self.output // group, dims[2:]

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        ins, _, _ = self._parts(inputs)
        return {"weights": (self.output, ins, *self.kernel_size), "biases": (self.output,)}

    def _biased(self, s: Steps, value: Value) -> Value:
        """Add the biases, if there are any, to the channels."""
        if not s.has("biases"):
            return value
        dims = (1, self.output, *[1] * (s.rank(value) - 2))
        return s.add(value, s.weights("biases", dims))

    def _settings(self, window: Window) -> dict[str, Any]:
        return {
            "strides": window.strides,
            "pads_begin": window.begins,
            "pads_end": window.ends,
            "dilations": window.dilations,
        }


class Convolution(Convolving, type="Convolution", inputs=1):  # type: ignore[misc]
    """A convolution with weights [O, I/group, k...] and biases [O]."""

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2:
        _, _, spatial = self._parts(inputs)
        return [(inputs[0][0], self.output, *self.window(spatial).sizes(spatial))]

    def build(self, s: Steps, x: Value) -> Value:
        ins, outs, spatial = self._parts([s.dims(x)])
        settings = self._settings(self.window(spatial))
        if self.group == 1:
            made = s(today.Convolution(**settings), x, s.weights())
        else:
            kernel = s.weights("weights", (self.group, outs, ins, *self.kernel_size))
            made = s(today.GroupConvolution(**settings), x, kernel)
        return self._biased(s, made)


class Deconvolution(Convolving, type="Deconvolution", inputs=1):  # type: ignore[misc]
    """A transposed convolution with weights [group, I/group, O/group, k...]."""

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        ins, outs, _ = self._parts(inputs)
        shape = (ins, outs, *self.kernel_size)
        if self.group > 1:
            shape = (self.group, *shape)
        return {"weights": shape, "biases": (self.output,)}

    def build(self, s: Steps, x: Value) -> Value:
        _, _, spatial = self._parts([s.dims(x)])
        window = self._fitted(spatial, s.out())
        beyond = tuple(max(-end, 0) for end in window.ends)
        ends = tuple(max(end, 0) for end in window.ends)
        settings = self._settings(window._replace(ends=ends))
        if any(beyond):
            settings["output_padding"] = beyond
        grouped = today.GroupConvolutionBackpropData, today.ConvolutionBackpropData
        made = s(grouped[self.group == 1](**settings), x, s.weights())
        return self._biased(s, made)

    def _fitted(self, spatial: Dims, declared: Dims) -> Window:
        """The window. With `auto_pad` its first pads follow from it, and its last pads from the
        declared output; those that are written do not count. Without, a declared output that is
        larger by less than a stride shortens the last pads; below 0 they lengthen the output.
        """
        window = type(self)(**{**self.__dict__, "auto_pad": ""}).window(spatial)
        auto = self.checked_auto_pad()
        if len(declared) != len(spatial) + 2:
            return window
        begins, ends = [], []
        written = zip(window.begins, window.ends, strict=True)
        sizes = zip(spatial, declared[2:], window.strides, window.extents(), strict=True)
        for (size, out, stride, extent), (before, behind) in zip(sizes, written, strict=True):
            total = 0 if auto == "valid" else max(extent - stride, 0)
            same = total // 2 if auto == "same_upper" else total - total // 2
            begins.append(same if auto else before)
            fitted = stride * (size - 1) + extent - begins[-1] - out
            ends.append(fitted if auto or 0 <= behind - fitted < stride else behind)
        if auto and min(ends) < 0:
            raise LayerFault(
                "declares an output that is larger than its windows reach",
                code="IRL401",
                expected=str(
                    [out + min(end, 0) for out, end in zip(declared[2:], ends, strict=True)]
                ),
                found=str(list(declared[2:])),
            )
        return window._replace(begins=tuple(begins), ends=tuple(ends))


class BinaryConvolution(Convolving, type="BinaryConvolution", since=2, inputs=1):  # type: ignore[misc]
    """A convolution of signs: weights are bits (1 is +1, 0 is -1), the input is +1 where positive.

    The least significant bit of a byte comes first.
    """

    pad_value: float = 0.0
    mode: str = "xnor-popcount"

    def build(self, s: Steps, x: Value) -> Value:
        import numpy as np

        ins, outs, spatial = self._parts([s.dims(x)])
        shape = s.shapes["weights"]
        count = product(shape)
        stored = s.blobs.tensor("weights", (-(-count // 8),), ElementType.U8)
        bits = np.unpackbits(stored.numpy(), bitorder="little")[:count].reshape(shape)
        if self.group > 1:
            bits = bits.reshape(self.group, outs, ins, *self.kernel_size)
        kernel = s.constant(bits.astype(np.float32) * 2 - 1, ElementType.F32)
        one, minus = s.number(1.0), s.number(-1.0)
        signs = s.select(s.greater(x, s.number(0.0)), one, minus)
        window = self.window(spatial)
        begins, ends = (0, 0, *window.begins), (0, 0, *window.ends)
        if self.pad_value:
            signs = s.padded(signs, begins, ends, self.pad_value)
            zeros = (0,) * len(spatial)
            window = window._replace(begins=zeros, ends=zeros)
        kind = today.Convolution if self.group == 1 else today.GroupConvolution
        return s(kind(**self._settings(window)), signs, kernel)

    def fault_of_then(self, layer: Layer) -> str:
        if "biases" not in layer.blobs:
            return ""
        return "has biases, which the engine of 2020 ignored, and irloop ignores, too"


class DeformableConvolution(Convolving, type="DeformableConvolution", inputs=2):  # type: ignore[misc]
    """A convolution whose second input moves the elements of its window."""

    deformable_group: int = attribute(default=1, least=1)

    def fault_of_then(self, layer: Layer) -> str:
        if self.group == 1 or self.deformable_group == 1:
            return ""
        return (
            "has groups of channels and of offsets; the engine of 2020 used the offsets of the "
            "first groups for all channels on CPUs"
        )

    def build(self, s: Steps, x: Value, offsets: Value) -> Value:
        _, _, spatial = self._parts([s.dims(x)])
        op = today.DeformableConvolution1(
            **self._settings(self.window(spatial)),
            auto_pad="explicit",
            group=self.group,
            deformable_group=self.deformable_group,
        )
        return self._biased(s, s(op, x, offsets, s.weights()))


class FullyConnected(LegacyLayer, type="FullyConnected", inputs=1):
    """A product with the flattened input: weights [out-size, elements], biases [out-size]."""

    out_size: int = attribute(name="out-size", least=1, most=LARGEST)
    needed: ClassVar[tuple[str, ...]] = ("weights",)

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        if len(inputs[0]) < 2:
            raise LayerFault("needs an input of 2 or more dimensions", found=str(list(inputs[0])))
        return {
            "weights": (self.out_size, product(inputs[0][1:])),
            "biases": (self.out_size,),
        }

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        return None if len(inputs[0]) == 3 else [(inputs[0][0], self.out_size)]

    def build(self, s: Steps, x: Value) -> Value:
        dims = s.dims(x)
        if len(dims) == 3:
            # The engine of 2020 refused it, later ones multiply the last axis.
            raise LayerFault("has an input of 3 dimensions", expected="2, 4 or 5 dimensions")
        flat = s.shaped(x, (dims[0], product(dims[1:])))
        made = s(matmul.MatMul(transpose_b=True), flat, s.weights())
        return s.add(made, s.weights("biases", (1, self.out_size))) if s.has("biases") else made


class InnerProduct(FullyConnected, type="InnerProduct", inputs=1):
    """Another name of FullyConnected."""
