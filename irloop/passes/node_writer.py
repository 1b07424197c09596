"""The vocabulary of passes: emits operations before a node of a graph."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from irloop.analysis.patterns import taken_over
from irloop.dialects.writing.writer import Writer
from irloop.graph.builder import shape_of
from irloop.graph.loops import Sliced
from irloop.graph.model import Node, Value
from irloop.graph.op import Op, Parameter
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["NodeWriter"]


class NodeWriter(Writer):
    """Emits operations in the dialect of the model; `NodePass.rewrite` receives one as `w`.

    The operations come before the node `before`, or last if it is None, and their names begin with
    `stem`. `rewriter` changes the graph in other ways.
    """

    def __init__(self, rewriter: MatchRewriter, before: Node | None, stem: str, opset: int) -> None:
        self.rewriter = rewriter
        self.before = before
        self.stem = stem
        self.names = rewriter.names
        self.inference = rewriter.inference
        self._opset = opset

    @property
    def opset(self) -> int:
        return self._opset

    def emit(self, op: Op, *inputs: Value | None, n_outputs: int | None = None) -> Node:
        count = op.n_outputs if n_outputs is None else n_outputs
        assert count is not None, f"{op.label} needs n_outputs"
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        name = f"{self.stem}/{op.type}"
        return self.rewriter.insert(op, inputs, before=self.before, name=name, n_outputs=count)

    def __call__(self, op: Op, *inputs: Value | None) -> Value:
        return self.emit(op, *inputs).outputs[0]

    def tensor(self, tensor: Tensor, name: str = "") -> Value:
        return self.rewriter.insert_constant(
            tensor, before=self.before, name=name or f"{self.stem}/constant"
        )

    def constant(self, data: Any, element: ElementType = ElementType.I64) -> Value:
        return self.tensor(ArrayTensor(np.asarray(data).astype(element.numpy()), element))

    def i64(self, data: Any) -> Value:
        return self.constant(data)

    def constant_of(self, value: Value) -> np.ndarray[Any, np.dtype[Any]] | None:
        return self.inference.constant(value)

    def at(self, before: Node | None) -> Self:
        """Return a writer to the same graph that adds operations before another node."""
        made = copy(self)
        made.before = before
        return made

    def following(self) -> Self:
        """Return a writer to the same graph that adds operations after the node, not before."""
        assert self.before is not None
        return self.at(self.before.following)

    def range_of(self, value: Value, port: Sliced) -> Value:
        """Return the part of `value` between the start and the end of `port`.

        Usually a slice is added for this. If the part is the whole axis, or if the size of the axis
        is unknown, `value` itself is returned.
        """
        size = shape_of(value).dim(port.axis)
        if (port.start, port.end) in ((0, -1), (-1, 0)) or not isinstance(size, int):
            return value
        low, high = sorted(size + 1 + v if v < 0 else v for v in (port.start, port.end))
        return value if (low, high) == (0, size) else self.part(value, port.axis, low, high)

    def named_apart(self, value: Value, output: Value) -> Value:
        """Return `value`, or a copy of it, as the replacement of `output`.

        A copy is needed if `output` is an output of the graph, and `value` is an input or another
        output of the graph: both must keep their names, but a value has only one name.
        """
        taken = value.is_output or isinstance(value.producer.op, Parameter)
        return self.copied(value) if output.is_output and taken else value

    def copied(self, value: Value) -> Value:
        """Emit a copy of the value, which has a name of its own."""
        # OpenVINO drops a conversion of such a value to its own type (OVN128).
        return self.own_copy(value) if taken_over(value) else self.identity(value)
