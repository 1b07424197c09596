"""Layers of versions 2 to 7 that change the shape, not the elements.

The declared sizes of the output count, so that a shape given as an input is not needed.
"""

from __future__ import annotations

from irloop.dialects.openvino import rearrange
from irloop.dialects.openvino import shape as today
from irloop.formats.openvino.document import Layer, Port
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer, product
from irloop.formats.openvino.legacy.steps import Steps
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import attribute


class Reshaping(LegacyLayer):
    """The base of layers with the elements of their first input, in their order."""

    is_real = False
    counted = 1

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        return [outputs[0]] if product(inputs[0]) == product(outputs[0]) else None

    def build(self, s: Steps, x: Value, *shape: Value) -> Value:
        return s.shaped(x, s.out())


class Reshape(Reshaping, type="Reshape", inputs=(1, 2)):
    """A new shape: `dim`, or the second input; 0 copies a size, -1 is the rest."""

    dim: tuple[int, ...] = attribute(default=(), least=-1)


class Flatten(Reshaping, type="Flatten", inputs=1):
    """The axes from `axis` to `end_axis` become one."""

    axis: int = 1
    end_axis: int = -1


class Squeeze(Reshaping, type="Squeeze", inputs=(1, 2)):
    """Removes the axes that the second input lists."""


class Unsqueeze(Reshaping, type="Unsqueeze", inputs=2):
    """Inserts the axes that the second input lists."""


class Copy(Reshaping, type="Copy", inputs=1):
    """The input itself."""


class Dropout(Reshaping, type="Dropout", inputs=1):
    """The input itself: dropping elements is for training only."""


class Permute(LegacyLayer, type="Permute", inputs=1):
    """The axes in another order."""

    order: tuple[int, ...] = attribute(least=0)
    is_real = False

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        dims = inputs[0]
        if sorted(self.order) != list(range(len(dims))):
            return None
        return [tuple(dims[axis] for axis in self.order)]

    def build(self, s: Steps, x: Value) -> Value:
        if self.order == tuple(range(s.rank(x))):
            return x
        return s(today.Transpose(), x, s.i64(self.order))


class Tile(LegacyLayer, type="Tile", inputs=1):
    """Repeats the elements along an axis."""

    axis: int = attribute(default=-1, least=-64, most=64)
    tiles: int = attribute(default=-1, least=1, most=1 << 32)
    is_real = False

    def build(self, s: Steps, x: Value) -> Value:
        rank = s.rank(x)
        if not 0 <= self.axis < rank or self.tiles < 1:
            raise LayerFault(
                "has no valid axis and number of tiles",
                code="IRL405",
                expected=f"an axis below {rank} and 1 or more tiles",
                found=f"axis {self.axis}, tiles {self.tiles}",
            )
        repeats = [self.tiles if at == self.axis else 1 for at in range(rank)]
        return s(today.Tile(), x, s.i64(repeats))


class ShapeOf(LegacyLayer, type="ShapeOf", inputs=1):
    """The dimensions of the input, which are known."""

    is_real = False

    def build(self, s: Steps, x: Value) -> Value:
        return s.i64(list(s.dims(x)))


class Blocks(LegacyLayer):
    """The base of layers that exchange channels and blocks of space.

    With one channel on the side of the image, blocks come first. With several, the engine of then
    had an order that documents do not know: it took rows of the image in front of the channels.
    """

    block_size: int = attribute(default=1, least=1, most=1 << 20)
    is_real = False

    def fault_of_then(self, layer: Layer) -> str:
        image = next(iter(self._image(layer)), None)
        if image is None or image.dims[1:2] == ("1",):
            return ""
        return (
            "has the order of the engine of 2020 on CPUs; for several channels this is neither "
            "blocks first, which documents name, nor depth first"
        )

    def _image(self, layer: Layer) -> list[Port]:
        """The ports on the side of the image."""
        raise NotImplementedError

    @staticmethod
    def _sizes(s: Steps, x: Value) -> Dims:
        dims = s.dims(x)
        if len(dims) != 4:
            raise LayerFault("needs an input of 4 dimensions", found=str(list(dims)))
        return dims

    def _parts(self, size: int, block: int) -> int:
        if size % block:
            raise LayerFault(
                "has a size that its blocks do not divide",
                expected=f"a multiple of {block}",
                found=str(size),
            )
        return size // block


class DepthToSpace(Blocks, type="DepthToSpace", inputs=1):
    """Channels become blocks of space."""

    def _image(self, layer: Layer) -> list[Port]:
        return layer.outputs

    def build(self, s: Steps, x: Value) -> Value:
        batch, depth, height, width = self._sizes(s, x)
        block = self.block_size
        channels = self._parts(depth, block * block)
        if channels == 1:
            return s(rearrange.DepthToSpace("blocks_first", block), x)
        parts = s.shaped(x, (batch, channels * block, block, height, width))
        turned = s.transpose(parts, (0, 3, 1, 4, 2))
        return s.shaped(turned, (batch, channels, height * block, width * block))


class SpaceToDepth(Blocks, type="SpaceToDepth", inputs=1):
    """Blocks of space become channels."""

    def _image(self, layer: Layer) -> list[Port]:
        return layer.inputs

    def build(self, s: Steps, x: Value) -> Value:
        batch, channels, height, width = self._sizes(s, x)
        block = self.block_size
        rows, columns = self._parts(height, block), self._parts(width, block)
        if channels == 1:
            return s(rearrange.SpaceToDepth("blocks_first", block), x)
        parts = s.shaped(x, (batch, rows, channels * block, columns, block))
        turned = s.transpose(parts, (0, 2, 4, 1, 3))
        return s.shaped(turned, (batch, channels * block * block, rows, columns))


class ReorgYolo(LegacyLayer, type="ReorgYolo", inputs=1):
    """The reorganisation of YOLO v2: space becomes channels."""

    stride: int = attribute(default=1, least=1, most=1 << 20)
    is_real = False

    def build(self, s: Steps, x: Value) -> Value:
        return s(rearrange.ReorgYolo((self.stride,)), x)


class ShuffleChannels(LegacyLayer, type="ShuffleChannels", inputs=1):
    """Exchanges the groups of an axis with the elements in each group."""

    axis: int = 1
    group: int = attribute(default=1, least=1)
    is_real = False

    def build(self, s: Steps, x: Value) -> Value:
        return s(rearrange.ShuffleChannels(s.axis(self.axis, x), self.group), x)


class Broadcast(LegacyLayer, type="Broadcast", inputs=(2, 3)):
    """Repeats the input so that it has the shape of the output."""

    is_real = False

    def build(self, s: Steps, x: Value, *shape: Value) -> Value:
        return s.spread(x, s.out())


class Expand(Broadcast, type="Expand", inputs=(1, 2)):
    """Another name of Broadcast."""


class Fill(LegacyLayer, type="Fill", inputs=2):
    """A tensor of the declared shape, filled with the second input."""

    is_real = False

    def build(self, s: Steps, dims: Value, number: Value) -> Value:
        assert element_of(number)
        return s.spread(s.shaped(number, ()), s.out())
