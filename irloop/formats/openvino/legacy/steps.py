"""Emits the operations of today for the layers of versions 2 to 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irloop.dialects.openvino import (
    elementwise,
    generate,
    shape,
    slicing,
)
from irloop.dialects.writing.openvino_writer import OpenVinoWriter
from irloop.formats.openvino.legacy.base import Dims, LayerFault, axis_of, product
from irloop.graph.builder import Builder, element_of, integers_of
from irloop.graph.model import Graph, Value
from irloop.graph.types import ElementType, TensorType

if TYPE_CHECKING:
    import numpy as np

    from irloop.formats.openvino.legacy.blobs import Blobs

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["F32", "I32", "I64", "Steps"]

F32, I32, I64 = ElementType.F32, ElementType.I32, ElementType.I64


class Steps(Builder, OpenVinoWriter):
    """Builds the graph of a net, layer by layer, with the vocabulary of OpenVINO.

    The verbs that are added here take dimensions instead of values: all shapes are known.

    The attributes describe the layer that is being built: `outputs` are the declared types of its
    outputs, with f32 for f16, and `shapes` the shapes of its blobs.
    """

    opset = 8
    blobs: Blobs
    outputs: tuple[TensorType, ...]
    shapes: Mapping[str, Dims]

    def out(self, position: int = 0) -> Dims:
        """The declared dimensions of an output."""
        if position >= len(self.outputs):
            raise LayerFault(
                "has too few outputs",
                expected=f"output {position + 1}",
                found=f"{len(self.outputs)} output(s)",
            )
        return dims_of(self.outputs[position])

    @staticmethod
    def dims(value: Value) -> Dims:
        """The dimensions of a value; all shapes of these versions are static."""
        return dims_of(value.type)

    # Weights

    def has(self, tag: str) -> bool:
        """Return whether the layer has this blob."""
        return self.blobs.has(tag)

    def weights(self, tag: str = "weights", dims: Sequence[int] | None = None) -> Value:
        """The blob `tag` as f32, in its own shape or in `dims` of the same number of elements."""
        made = self.blobs.tensor(tag, self.shapes[tag] if dims is None else tuple(dims))
        value = self.tensor(made, self._name(tag))
        return self.real(value)

    # Elements

    def real(self, value: Value) -> Value:
        """The value as f32, in which the engine of then computed."""
        return self.convert(value, F32)

    def whole(self, value: Value) -> Value:
        """The value as i64; floats lose their fractions."""
        return self.convert(value, I64)

    def number(self, number: float) -> Value:
        """A scalar constant of f32."""
        return self.constant(number, F32)

    def count(self, size: int, element: ElementType) -> Value:
        """The numbers 0, 1, ... up to `size`: an operation, as a file may claim any size."""
        limits = map(self.i64, (0, size, 1))
        return self.convert(self(generate.Range4(I64), *limits), element)

    def numbers(self, value: Value) -> list[int] | None:
        """The elements of a constant as integers, or None for a value that is computed."""
        return integers_of(value, self.constant_of)

    def power(self, left: Value, right: float) -> Value:
        """left to the power of right."""
        return self(elementwise.Power(), left, self.number(right))

    def renamed(self, value: Value, name: str) -> Value:
        """A copy of a value under another name: a Reshape to the dimensions that it has."""
        made = self(shape.Reshape(), value, self.i64(list(self.dims(value))))
        made.names = (name,)
        return made

    def nested(self, name: str) -> Steps:
        """A builder of a body, with the same names and inference."""
        steps = Steps(Graph(name), names=self.names, inference=self.inference)
        steps.location, steps.prefix = self.location, self.prefix
        return steps

    # Shapes

    def shaped(self, value: Value, dims: Sequence[int]) -> Value:
        """Reshape to known dimensions; the value itself if it has them.

        Raises:
            LayerFault: for another number of elements.
        """
        if self.dims(value) == tuple(dims):
            return value
        if product(self.dims(value)) != product(dims):
            raise LayerFault(
                "has an output of another number of elements",
                code="IRL401",
                expected=str(list(self.dims(value))),
                found=str(list(dims)),
            )
        return self(shape.Reshape(), value, self.i64(list(dims)))

    def cut(self, value: Value, begins: Sequence[int], ends: Sequence[int]) -> Value:
        """The elements from `begins` up to `ends`, one pair for each axis."""
        dims = self.dims(value)
        if all(
            pair == (0, dim) for pair, dim in zip(zip(begins, ends, strict=True), dims, strict=True)
        ):
            return value
        mask = (0,) * len(dims)
        op = slicing.StridedSlice(begin_mask=mask, end_mask=mask)
        return self(op, value, self.i64(list(begins)), self.i64(list(ends)))

    def first(self, value: Value, dims: Sequence[int]) -> Value:
        """The first rows of a value with an unknown number of rows, so that it has `dims`."""
        op = slicing.StridedSlice(begin_mask=(0,), end_mask=(0,))
        part = self(op, value, self.i64([0]), self.i64([dims[0]]))
        return self(shape.Reshape(), part, self.i64(list(dims)))

    def spread(self, value: Value, dims: Sequence[int]) -> Value:
        """Broadcast to known dimensions."""
        if self.dims(value) == tuple(dims):
            return value
        return self.broadcast(value, self.i64(list(dims)))

    def padded(
        self, value: Value, begins: Sequence[int], ends: Sequence[int], number: float = 0.0
    ) -> Value:
        """Pad by a constant."""
        if not any(begins) and not any(ends):
            return value
        fill = self.constant(number, element_of(value))
        return self.pad(value, self.i64(list(begins)), self.i64(list(ends)), fill)

    def rank(self, value: Value) -> int:
        """The number of dimensions."""
        return len(self.dims(value))

    def axis(self, axis: int, value: Value) -> int:
        """An axis of a value, counted from the front.

        Raises:
            LayerFault: when the value has no such axis.
        """
        return axis_of(axis, self.dims(value))


def dims_of(type: Any) -> Dims:
    """The dimensions of a type with static shape.

    Raises:
        LayerFault: for any other type.
    """
    dims = type.shape.dims if isinstance(type, TensorType) else None
    known = [dim for dim in dims or () if isinstance(dim, int)]
    if dims is None or len(known) < len(dims):
        raise LayerFault("has a size that is not known", found=str(type))
    return tuple(known)
