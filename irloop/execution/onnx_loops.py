"""Executes Loop and Scan of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.dialects.loops import normal_axis
from irloop.execution.branch import truth
from irloop.execution.failure import StepError
from irloop.execution.iterations import Feed
from irloop.execution.loops import Loop, Outcome, integer
from irloop.execution.program import Context
from irloop.execution.stack import empty_value, join, nothing_joined
from irloop.graph.loops import Carried, LastValue, ScanInput, ScanOutput
from irloop.graph.types import TensorType

__all__ = ["BatchedScan", "OnnxLoop", "OnnxScan"]

Array = np.ndarray[Any, np.dtype[Any]]


class OnnxLoop(Loop):
    """Loop-1 ... Loop-25.

    By the specification, a loop without `cond` ignores the condition that its body returns. All
    engines obey this condition, and so does irloop. As in ONNX Runtime, the condition that the body
    receives is true and has the rank that the body declares.
    """

    def __call__(self, context: Context, *inputs: Any) -> Any:
        trip = None if inputs[0] is None else integer(self.node, inputs[0], "the trip count M")
        start = inputs[1] is None or truth(self.node, inputs[1], "the condition (input 1)")
        if not start or (trip is not None and trip <= 0):
            return self.without_iterations(context, inputs)
        values = {port.parameter: inputs[port.external] for port in self.ports.inputs}
        for port in self.ports.carried:
            if port.external == 1:
                values[port.parameter] = self.initial(port, inputs)
        return self.finish(context, self.execute(context, values, (), trip))

    def initial(self, port: Carried, inputs: Sequence[Any]) -> Any:
        value = inputs[port.external]
        if port.external != 1:
            return value
        type = self.body.parameters[port.parameter]
        rank = type.shape.rank if isinstance(type, TensorType) else None
        if rank is None:
            rank = np.ndim(value) if value is not None else 0
        return np.full((1,) if rank else (), True)


class OnnxScan(Loop):
    """Scan-9 ... Scan-25: one iteration for each element of the scanned inputs."""

    def __call__(self, context: Context, *inputs: Any) -> Any:
        values, feeds = self.entering(inputs)
        count = len(feeds[0].source)
        if count == 0:
            return self.without_iterations(context, inputs)
        return self.finish(context, self.execute(context, values, feeds, count))

    def entering(self, inputs: Sequence[Any]) -> tuple[dict[int, Any], list[Feed]]:
        """The initial values, keyed by parameter, and a `Feed` for each scanned input.

        Raises:
            StepError: when the scanned inputs differ in length or lack their axis.
        """
        values: dict[int, Any] = {}
        feeds: list[Feed] = []
        for port in self.ports.inputs:
            if isinstance(port, ScanInput):
                feeds.append(self._feed(port, inputs[port.external]))
            else:
                values[port.parameter] = inputs[port.external]
        lengths = {feed.name: len(feed.source) for feed in feeds}
        if len(set(lengths.values())) != 1:
            raise StepError(
                self.node,
                "the scanned inputs have different lengths",
                expected="scanned inputs of equal length, which is the number of iterations",
                found=", ".join(f"{name}: {n}" for name, n in lengths.items()) or "no such input",
            )
        return values, feeds

    def _feed(self, port: ScanInput, value: Any) -> Feed:
        array = np.asarray(value)
        axis = normal_axis(port.axis, array.ndim)
        if not 0 <= axis < array.ndim:
            raise StepError(
                self.node,
                f"input {port.external} has no axis {port.axis} to scan",
                found=f"shape {list(array.shape)}",
            )
        source = np.moveaxis(array, axis, 0)
        return Feed(
            self.program.inputs[port.parameter],
            source[::-1] if port.reverse else source,
            f"input {port.external}",
        )


class BatchedScan(OnnxScan):
    """Scan-8: each item of the batch is scanned separately, up to its length.

    Elements after the end of a short item are 0, as in ONNX Runtime. The pass `Scan8ToScan9`
    decomposes a Scan-8. It is not used here, because the executor is used to check passes and
    conversion, and because errors have to name the node in the file.
    """

    def __call__(self, context: Context, *inputs: Any) -> Any:
        scanned = [p.external for p in self.ports.inputs if isinstance(p, ScanInput)]
        batched = [p.external for p in self.ports.inputs if isinstance(p, Carried | ScanInput)]
        sizes = {inputs[external].shape[:1] for external in batched}
        if len(sizes) != 1 or sizes == {()} or any(inputs[at].ndim < 2 for at in scanned):
            raise StepError(
                self.node,
                "the inputs have different batch sizes",
                expected="the same batch size as the first axis of every state and scanned input",
                found=", ".join(str(list(inputs[at].shape)) for at in batched),
            )
        ((size,),) = sizes
        longest = max((inputs[at].shape[1] for at in scanned), default=0)
        lengths = self._lengths(inputs[0], size, longest)
        items = [
            self._item(context, self._cut(inputs, item, lengths[item]), lengths[item], longest)
            for item in range(size)
        ]
        outputs = [
            self._stacked_items(items, index, longest) for index in range(len(self.node.outputs))
        ]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _lengths(self, given: Any, size: int, longest: int) -> list[int]:
        if given is None:
            return [longest] * size
        lengths = [int(length) for length in np.asarray(given).reshape(-1)]
        if len(lengths) != size or not all(0 <= length <= longest for length in lengths):
            raise StepError(
                self.node,
                "each batch item needs one sequence length within the scanned axis",
                expected=f"{size} numbers from 0 to {longest}",
                found=str(lengths),
            )
        return lengths

    def _cut(self, inputs: Sequence[Any], number: int, length: int) -> list[Any]:
        own = list(inputs)
        for port in self.ports.inputs:
            if isinstance(port, Carried):
                own[port.external] = inputs[port.external][number, ...]
            elif isinstance(port, ScanInput):
                own[port.external] = inputs[port.external][number, :length]
        return own

    def _item(
        self, context: Context, inputs: Sequence[Any], length: int, longest: int
    ) -> list[Any]:
        """Run the Scan for one batch item and return its outputs.

        `length` is the number of iterations for this item. The scan outputs are padded with zeros
        to the length `longest` of the longest item.
        """
        if length == 0:
            found = self.without_iterations(context, inputs)
            outputs = list(found) if isinstance(found, tuple) else [found]
        else:
            values, feeds = self.entering(inputs)
            outcome = self.execute(context, values, feeds, length)
            outputs = self._outputs(outcome)
        for port in self.ports.outputs:
            if not isinstance(port, LastValue):
                outputs[port.external] = _padded(outputs[port.external], longest)
        return outputs

    def _outputs(self, outcome: Outcome) -> list[Any]:
        outputs: list[Any] = [None] * len(self.node.outputs)
        for port in self.ports.outputs:
            if isinstance(port, ScanOutput):
                outputs[port.external] = join(outcome.gathered[port.external], port)
            else:
                outputs[port.external] = outcome.results[port.result]
        return outputs

    def _stacked_items(self, items: Sequence[Sequence[Any]], index: int, longest: int) -> Array:
        if items:
            parts = [np.asarray(item[index]) for item in items]
            shapes = {part.shape for part in parts}
            if len(shapes) != 1:
                raise StepError(
                    self.node,
                    f"the shape of output {index} differs between the items of the batch",
                    found=", ".join(map(str, sorted(shapes))),
                )
            return np.stack(parts)
        port = next(port for port in self.ports.outputs if port.external == index)
        type = self.body.results[port.result]
        if isinstance(port, ScanOutput):
            one = _padded(nothing_joined(port, type), longest)
        else:
            one = empty_value(type)
        return np.zeros((0, *one.shape), one.dtype)


def _padded(array: Array, length: int) -> Array:
    """`array` filled with zeros along its first axis up to `length`."""
    missing = length - array.shape[0]
    if missing <= 0:
        return array
    return np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)])
