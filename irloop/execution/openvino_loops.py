"""Loop and TensorIterator of OpenVINO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.dialects.loops import (
    counting_output,
    joined_count,
    normal_axis,
    overlaps,
    sliced_count,
)
from irloop.execution.branch import truth
from irloop.execution.failure import StepError
from irloop.execution.iterations import Feed
from irloop.execution.loops import Loop, integer
from irloop.execution.program import Context
from irloop.graph.loops import Carried, Sliced
from irloop.graph.types import ElementType, TensorType

__all__ = ["OpenVinoLoop", "TensorIterator"]

Array = np.ndarray[Any, np.dtype[Any]]


class _OpenVino(Loop):
    """The base of Loop and TensorIterator.

    Slices keep their axis. The next value of a state is converted to the element type of its
    initial value.
    """

    converts = True

    def values(self, inputs: Sequence[Any]) -> dict[int, Any]:
        """Return the values of the body parameters before the first iteration.

        They are keyed by the number of the parameter. Sliced parameters are left out.
        """
        return {
            port.parameter: self.entering(port.parameter, inputs[port.external])
            for port in self.ports.inputs
            if not isinstance(port, Sliced)
        }

    def entering(self, parameter: int, value: Any) -> Any:
        """Return `value` as the body parameter at position `parameter` receives it.

        A Loop passes it unchanged; a TensorIterator converts it to the element type that the
        parameter declares.
        """
        return value

    def source(self, port: Sliced, value: Any) -> tuple[Array, int]:
        """The input as an array, and the axis along which it is sliced.

        Raises:
            StepError: when there is no such axis, or part_size is larger than stride.
        """
        if overlaps(port):
            raise StepError(
                self.node,
                f"part_size and stride of input {port.external} disagree",
                expected=f"part_size {abs(port.stride)}, as stride",
                found=f"part_size {port.part_size}, stride {port.stride}",
            )
        array = np.asarray(self.entering(port.parameter, value))
        axis = normal_axis(port.axis, array.ndim)
        if not 0 <= axis < array.ndim:
            raise StepError(
                self.node,
                f"input {port.external} has no axis {port.axis} to slice",
                found=f"shape {list(array.shape)}",
            )
        return array, axis

    def feed(self, port: Sliced, slices: Array) -> Feed:
        """The slices [n, ...] of an input, one for each iteration."""
        return Feed(self.program.inputs[port.parameter], slices, f"input {port.external}")


class OpenVinoLoop(_OpenVino):
    """Run OpenVINO's Loop-5.

    Input 0 is the trip count and input 1 the initial condition. The specification says that a trip
    count of -1 is no limit; for OpenVINO, any negative number is none, because no iteration has it.
    The length of a sliced input does not limit the number of iterations, and its `start` and `end`
    are ignored.
    """

    def __call__(self, context: Context, *inputs: Any) -> Any:
        trip = integer(self.node, inputs[0], "the trip count")
        if trip == 0 or not truth(self.node, inputs[1], "the condition (input 1)"):
            return self.without_iterations(context, inputs)
        feeds = [
            self.feed(port, self._slices(port, inputs[port.external]))
            for port in self.ports.inputs
            if isinstance(port, Sliced)
        ]
        limit = None if trip < 0 else trip
        return self.finish(context, self.execute(context, self.values(inputs), feeds, limit))

    def _slices(self, port: Sliced, value: Any) -> Array:
        array, axis = self.source(port, value)
        step = max(1, abs(port.stride))
        length = array.shape[axis] // step * step
        # In reverse order, an incomplete slice remains at the front.
        first = 0 if port.stride > 0 else array.shape[axis] - length
        return _cut(array, axis, (first, first + length), port)


class TensorIterator(_OpenVino):
    """TensorIterator-1: the number of slices is the trip count.

    Without sliced inputs, the trip count follows from the range of a concatenated output; without
    such a range it is 1.
    """

    def entering(self, parameter: int, value: Any) -> Any:
        type = self.body.parameters[parameter]
        if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
            return value
        dtype = type.element.numpy()
        return value if value.dtype == dtype else np.asarray(value).astype(dtype)

    def initial(self, port: Carried, inputs: Sequence[Any]) -> Any:
        return self.entering(port.parameter, inputs[port.external])

    def __call__(self, context: Context, *inputs: Any) -> Any:
        sliced = [port for port in self.ports.inputs if isinstance(port, Sliced)]
        feeds = [self.feed(port, self._slices(port, inputs[port.external])) for port in sliced]
        counts = {feed.name: len(feed.source) for feed in feeds}
        if len(set(counts.values())) > 1:
            raise StepError(
                self.node,
                "sliced inputs have different numbers of slices",
                expected="the same number of slices for all inputs",
                found=", ".join(f"{name}: {count}" for name, count in counts.items()),
            )
        count = len(feeds[0].source) if feeds else self._range()
        if count == 0:
            return self.without_iterations(context, inputs)
        return self.finish(context, self.execute(context, self.values(inputs), feeds, count))

    def _slices(self, port: Sliced, value: Any) -> Array:
        array, axis = self.source(port, value)
        size = array.shape[axis]
        if sliced_count(port, size) is None:
            raise StepError(
                self.node,
                f"input {port.external} cannot be sliced",
                expected=f"a range within {size} elements whose length is a multiple of "
                f"{abs(port.stride)}",
                found=f"{port.start}..{port.end}",
            )
        low, high = sorted(size + 1 + v if v < 0 else v for v in (port.start, port.end))
        return _cut(array, axis, (low, high), port)

    def _range(self) -> int:
        """The trip count of a TensorIterator without sliced inputs.

        It follows from the range of a concatenated output; without such a range it is 1.
        """
        count, port = joined_count(self.ports), counting_output(self.ports)
        if count is None:
            assert port is not None
            raise StepError(
                self.node,
                f"the range of output {port.external} is not a whole number of iterations",
                expected=f"a multiple of {abs(port.stride)}",
                found=f"{port.start}..{port.end}",
            )
        return count


def _cut(array: Array, axis: int, ends: tuple[int, int], port: Sliced) -> Array:
    """Cut the range [low, high) of `axis` into n slices, and stack them: [n, ..., part, ...].

    The length of the range must be a multiple of the stride of `port`. Each slice has `part_size`
    elements along `axis`. With a negative stride the last slice comes first, but the elements in a
    slice keep their order.
    """
    low, high = ends
    step, part = max(1, abs(port.stride)), port.part_size
    moved = np.moveaxis(array, axis, 0)[low:high]
    # Use the count instead of -1, because another axis may have no elements.
    parts = moved.reshape((len(moved) // step, step, *moved.shape[1:]))
    parts = parts[::-1, step - part :] if port.stride < 0 else parts[:, :part]
    return np.moveaxis(parts, 1, axis + 1)
