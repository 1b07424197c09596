"""Vectorises loops whose iterations do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from irloop.dialects.loops import normal_axis
from irloop.dialects.numpy_broadcast import broadcasts_as_numpy
from irloop.dialects.onnx import activation as onnx_activation
from irloop.dialects.onnx import comparison as onnx_comparison
from irloop.dialects.onnx import gather as onnx_gather
from irloop.dialects.onnx import matmul as onnx_matmul
from irloop.dialects.onnx import reduction as onnx_reduction
from irloop.dialects.onnx import shape as onnx_shape
from irloop.dialects.onnx import slicing as onnx_slicing
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import comparison as ov_comparison
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import gather as ov_gather
from irloop.dialects.openvino import matmul as ov_matmul
from irloop.dialects.openvino import reduction as ov_reduction
from irloop.dialects.openvino import shape as ov_shape
from irloop.dialects.openvino import slicing as ov_slicing
from irloop.dialects.wire_ends import Entering, Leaving
from irloop.graph.builder import element_of, integers_of, shape_of
from irloop.graph.loops import LastValue, ScanInput, ScanOutput, Sliced
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import reached, upstream
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.trips import one_element, trip_count
from irloop.passes.writers import writer_at

__all__ = ["VectorizeMapLoop"]

#: Operations that select between operands elementwise.
CHOOSING = (ov_comparison.Select, onnx_comparison.Where)

#: Operations along one axis, which becomes axis + 1.
ALONG_AXIS = (
    ov_activation.SoftMax1,
    ov_activation.SoftMax8,
    ov_activation.LogSoftmax,
    onnx_activation.Softmax13,
    onnx_activation.LogSoftmax13,
)


class VectorizeMapLoop(LoopPass):
    """Replaces loops without states by operations over the whole axis.

    Given::

        TensorIterator(x [5,2], w):
          p: x[axis 0], f: w;   y = Relu(p * f)     -> joined y, axis 0

    Result::

        y = Relu(x * w)

    The body may contain operations that are elementwise, reshape, multiply matrices, reduce,
    transpose, concatenate, gather or normalise along an axis. A loop is not replaced if it has a
    state or may stop early, if its trip count or a shape in its body is unknown, or if its body
    contains any other operation.
    """

    name = "vectorize_map_loop"

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        count = trip_count(node, self.session.inference)
        if not count or wires.states:
            return
        before = rewriter.modified
        rewriter.take_inserted()
        whole = _Vectoriser(wires, count, writer_at(self.model, rewriter, node, node.name))
        try:
            outputs = whole.run()
        except _NotVectorisableError:
            for made in reversed(rewriter.take_inserted()):
                rewriter.erase(made)
            rewriter.modified = before
            return
        rewriter.replace_node(node, outputs)


class _NotVectorisableError(Exception):
    """Raised when the body contains something that cannot be vectorised."""


@dataclass(frozen=True, slots=True)
class _Vectorised:
    """The vectorised form of a body value.

    If `whole` is true, `value` is [n, ...] and holds the values of all iterations; otherwise the
    body value is invariant, and `value` is the invariant itself. `rank` is the rank of the body
    value.
    """

    value: Value
    whole: bool
    rank: int


class _Vectoriser:
    """Emits the operations of a body once, for all iterations."""

    def __init__(self, wires: LoopWires, count: int, w: NodeWriter) -> None:
        self._wires = wires
        self._count = count
        self._w = w
        self._known: dict[Value, _Vectorised] = {}

    def run(self) -> list[Value]:
        """Emit the operations and return one value for each output of the loop.

        Raises:
            _NotVectorisableError: when something cannot be vectorised.
        """
        wires, w = self._wires, self._w
        for item in wires.inputs:
            self._known[item.parameter] = self._entered(item)
        if wires.iteration is not None and wires.iteration.is_used:
            self._known[wires.iteration] = self._numbers(wires.iteration)
        if wires.running is not None:
            shape = one_element(wires.running)
            truth = w.constant(np.ones(shape), ElementType.BOOLEAN)
            self._known[wires.running] = _Vectorised(truth, False, len(shape))
        needed = self._needed()
        for node in wires.graph.nodes:
            if node in needed:
                self._emit(node)
        found = {item.output: self._left(item) for item in wires.outputs}
        return [w.named_apart(found[value], value) for value in wires.node.outputs]

    def _needed(self) -> set[Node]:
        """The nodes of the body on which outputs of the loop depend.

        Nodes that only the condition needs are not included.
        """
        return set(upstream(item.value.producer for item in self._wires.outputs))

    def _entered(self, entry: Entering) -> _Vectorised:
        if element_of(entry.outer) is not element_of(entry.parameter):
            # A TensorIterator converts such an input to the type of the parameter, which the
            # vectorised form does not do.
            raise _NotVectorisableError
        port, rank = entry.port, _rank(entry.outer)
        if not isinstance(port, Sliced | ScanInput):
            return _Vectorised(entry.outer, False, rank)
        w, axis = self._w, normal_axis(port.axis, rank)
        if isinstance(port, ScanInput):
            value = w.moved(entry.outer, axis, 0, rank)
            return _Vectorised(w.reverse(value, 0) if port.reverse else value, True, rank - 1)
        value, dims = self._range(entry.outer, port, axis), _static(entry.parameter)
        part = dims[axis]
        if part == 1 and axis == 0:
            made = w.unsqueeze(value, [1])
        else:
            parts = self._reshaped(value, [*dims[:axis], self._count, part, *dims[axis + 1 :]])
            made = w.moved(parts, axis, 0, rank + 1)
        return _Vectorised(w.reverse(made, 0) if port.stride < 0 else made, True, rank)

    def _range(self, value: Value, port: Sliced, axis: int) -> Value:
        """Return the part of `value` along `axis` that the iterations read.

        Its elements stay in the order of the axis, even if the iterations read them backwards.

        Raises:
            _NotVectorisableError: when the part is unknown, or the slices overlap or leave gaps.
        """
        size = shape_of(value).dim(axis)
        part = abs(port.stride)
        if not isinstance(size, int) or part != port.part_size:
            raise _NotVectorisableError
        if isinstance(self._wires.node.op, ov.Loop):
            # If there are more slices than iterations, the slices at the far end are not read.
            taken = self._count * part
            low = 0 if port.stride > 0 else size - taken
            high = low + taken
        else:
            low, high = sorted(size + 1 + v if v < 0 else v for v in (port.start, port.end))
        if low < 0 or high > size:
            raise _NotVectorisableError
        return value if (low, high) == (0, size) else self._w.part(value, axis, low, high)

    def _numbers(self, parameter: Value) -> _Vectorised:
        type = parameter.type
        assert isinstance(type, TensorType)
        rank = _rank(parameter)
        numbers = np.arange(self._count).reshape(-1, *(1,) * rank)
        return _Vectorised(self._w.constant(numbers, type.element), True, rank)

    def _emit(self, node: Node) -> None:
        if isinstance(node.op, Constant):
            value = self._w.rewriter.insert_constant(
                node.op.tensor, before=self._w.before, name=node.name
            )
            self._known[node.output] = _Vectorised(value, False, len(node.op.tensor.shape))
            return
        if node.bodies or not node.op.pure or not node.op.can_run():
            raise _NotVectorisableError
        given = [None if value is None else self._known[value] for value in node.inputs]
        if not any(item is not None and item.whole for item in given):
            self._emit_once(node, given)
            return
        if len(node.outputs) != 1 or any(item is None for item in given):
            raise _NotVectorisableError
        operands = [item for item in given if item is not None]
        rank = len(_static(node.output))
        self._known[node.output] = _Vectorised(self._emit_whole(node, operands), True, rank)

    def _emit_once(self, node: Node, given: list[_Vectorised | None]) -> None:
        made = self._w.rewriter.insert(
            node.op,
            tuple(None if item is None else item.value for item in given),
            before=self._w.before,
            name=node.name,
            n_outputs=len(node.outputs),
        )
        for old, new in zip(node.outputs, made.outputs, strict=True):
            self._known[old] = _Vectorised(new, False, _rank(old))

    def _emit_whole(self, node: Node, operands: list[_Vectorised]) -> Value:
        op, dims = node.op, _static(node.output)
        if op.elementwise and len(operands) == 1:
            return self._node(node, op, operands[0].value)
        if (op.elementwise or isinstance(op, CHOOSING)) and broadcasts_as_numpy(node):
            return self._node(node, op, *(self._aligned(item, len(dims)) for item in operands))
        if op.reshapes and not any(item.whole for item in operands[1:]):
            return self._reshaped(operands[0].value, [self._count, *dims])
        form = _FORMS.get(type(op))
        if form is None:
            raise _NotVectorisableError
        return form(self, node, operands)

    def _node(self, node: Node, op: Op, *inputs: Value) -> Value:
        rewriter, before = self._w.rewriter, self._w.before
        return rewriter.insert(op, inputs, before=before, name=node.name).output

    def _aligned(self, operand: _Vectorised, rank: int) -> Value:
        """Insert axes of size 1 after the iteration axis until the slices have `rank` axes.

        Each slice then broadcasts as it did in the body.
        """
        if not operand.whole or operand.rank >= rank:
            return operand.value
        dims = shape_of(operand.value).static()
        assert dims is not None
        return self._reshaped(operand.value, [dims[0], *[1] * (rank - operand.rank), *dims[1:]])

    def _reshaped(self, value: Value, dims: list[int]) -> Value:
        pattern = self._w.i64(dims)
        return self._w.reshape_exactly(value, pattern, may_be_empty=0 in dims)

    def product(self, node: Node, operands: list[_Vectorised]) -> Value:
        """Return one MatMul for all iterations, in place of the MatMul `node` of the body.

        Each of the two operands is either stacked over the iterations, or the same in all of them.
        """
        left, right = operands
        if left.whole and not right.whole and (left.rank, right.rank) == (1, 2):
            if getattr(node.op, "transpose_a", False):
                raise _NotVectorisableError
            return self._node(node, node.op, left.value, right.value)
        rank = max(left.rank, right.rank)
        if min(left.rank, right.rank) < 2:
            raise _NotVectorisableError
        return self._node(node, node.op, self._aligned(left, rank), self._aligned(right, rank))

    def along_axis(self, node: Node, operands: list[_Vectorised]) -> Value:
        """Emit an operation with an `axis` attribute once for the slices of all iterations.

        `operands` are the vectorised inputs of `node`. Their first axis counts the iterations, so
        the operation gets `axis + 1`.
        """
        return self._node(node, _axis_moved(node, operands), operands[0].value)

    def join(self, node: Node, operands: list[_Vectorised]) -> Value:
        """Emit a Concat of the body as one Concat of the values of all iterations.

        The operands have a first axis for the iterations. An operand without one, because it is
        invariant, is first repeated for each iteration.
        """
        parts = [item.value if item.whole else self._repeated(item) for item in operands]
        return self._node(node, _axis_moved(node, operands), *parts)

    def transpose(self, node: Node, operands: list[_Vectorised]) -> Value:
        """Vectorise a Transpose: permute the axes within each iteration.

        Axis 0 of the vectorised data counts the iterations and stays first. The axes after it are
        permuted as in the body, or reversed if the node has no order. `operands` holds the
        vectorised inputs of the node.
        """
        order = getattr(node.op, "perm", None)
        if len(operands) > 1:
            order = self._constant(operands[1])
        if not order:
            order = range(operands[0].rank - 1, -1, -1)
        return self._w.transpose(operands[0].value, [0, *(axis + 1 for axis in order)])

    def reduce(self, node: Node, inputs: list[_Vectorised]) -> Value:
        """Emit one reduction for all iterations, in place of the reduction `node` in the body.

        `inputs` holds the vectorised inputs: the data [n, ...] of all n iterations and, for some
        opsets, the axes, which must be constant. Axis 0 counts the iterations, so each reduced axis
        moves by one.
        """
        named = getattr(node.op, "axes", None)
        if isinstance(node.op, onnx_reduction.ByAttribute):
            axes = range(inputs[0].rank) if named is None else named
            moved = tuple(normal_axis(axis, inputs[0].rank) + 1 for axis in axes)
            return self._node(node, replace(node.op, axes=moved), inputs[0].value)
        if len(inputs) < 2:
            raise _NotVectorisableError
        moved = tuple(normal_axis(axis, inputs[0].rank) + 1 for axis in self._constant(inputs[1]))
        if not moved:
            raise _NotVectorisableError
        return self._node(node, node.op, inputs[0].value, self._w.constant(list(moved)))

    def gather(self, node: Node, operands: list[_Vectorised]) -> Value:
        """Emit one Gather that computes a Gather of the body for all iterations.

        `operands` holds the vectorised inputs of `node`. Either the data or the indices may vary
        from iteration to iteration, but not both.
        """
        if getattr(node.op, "batch_dims", 0):
            raise _NotVectorisableError
        data, indices = operands[:2]
        axis = (
            node.op.axis
            if isinstance(node.op, onnx_gather.Gather)
            else self._constant(operands[2])[0]
        )
        axis = normal_axis(axis, data.rank)
        if data.whole and indices.whole:
            raise _NotVectorisableError
        position = axis + data.whole
        if isinstance(node.op, onnx_gather.Gather):
            made = self._node(node, onnx_gather.Gather(position), data.value, indices.value)
        else:
            where = self._w.constant(position)
            made = self._node(node, node.op, data.value, indices.value, where)
        if data.whole:
            return made
        # The axis of the iterations now is at position `axis`: move it to the front.
        return self._w.moved(made, axis, 0, data.rank + indices.rank)

    def _constant(self, item: _Vectorised) -> list[int]:
        value = None if item.whole else item.value
        numbers = integers_of(value, self._w.rewriter.inference.constant)
        if numbers is None:
            raise _NotVectorisableError
        return numbers

    def _repeated(self, item: _Vectorised) -> Value:
        """Stack copies of an invariant value, one per iteration, along a new axis 0."""
        one = self._w.unsqueeze(item.value, [0])
        return one if self._count == 1 else self._w.concat([one] * self._count, 0)

    def _left(self, leaving: Leaving) -> Value:
        known, port, w = self._known[leaving.value], leaving.port, self._w
        if isinstance(port, LastValue):
            return w.take(known.value, self._count - 1, 0) if known.whole else known.value
        value = known.value if known.whole else self._repeated(known)
        backwards = port.reverse if isinstance(port, ScanOutput) else port.stride < 0
        if backwards:
            value = w.reverse(value, 0)
        if isinstance(port, ScanOutput):
            return w.moved(value, 0, normal_axis(port.axis, known.rank + 1), known.rank + 1)
        if known.rank == 0:
            return value
        dims, axis = list(_static(leaving.value)), normal_axis(port.axis, known.rank)
        if axis or dims[axis] != 1:
            value = w.moved(value, 0, axis, known.rank + 1)
            dims[axis] *= self._count
            return self._reshaped(value, dims)
        return w.squeeze(value, [1])


def _axis_moved(node: Node, operands: list[_Vectorised]) -> Op:
    """Return the operation of `node` with its axis increased by 1.

    A new first axis holds the iterations, so all other axes move.
    """
    op: Any = node.op
    return cast("Op", replace(op, axis=normal_axis(op.axis, operands[0].rank) + 1))


def _rank(value: Value) -> int:
    rank = shape_of(value).rank
    if rank is None:
        raise _NotVectorisableError
    return rank


def _static(value: Value) -> tuple[int, ...]:
    dims = shape_of(value).static()
    if dims is None:
        raise _NotVectorisableError
    return dims


_Form = Callable[[_Vectoriser, Node, list[_Vectorised]], Value]


def _reductions() -> Iterator[type[Op]]:
    bases: list[type[Any]] = [ov_reduction.Reduction, onnx_reduction.Reduction]
    return reached(bases, lambda cls: cls.__subclasses__())


_FORMS: dict[type[Op], _Form] = {
    ov_matmul.MatMul: _Vectoriser.product,
    onnx_matmul.MatMul: _Vectoriser.product,
    ov_slicing.Concat: _Vectoriser.join,
    onnx_slicing.Concat: _Vectoriser.join,
    ov_shape.Transpose: _Vectoriser.transpose,
    onnx_shape.Transpose: _Vectoriser.transpose,
    ov_gather.Gather: _Vectoriser.gather,
    ov_gather.Gather7: _Vectoriser.gather,
    ov_gather.Gather8: _Vectoriser.gather,
    onnx_gather.Gather: _Vectoriser.gather,
    **dict.fromkeys(ALONG_AXIS, _Vectoriser.along_axis),
    **dict.fromkeys(_reductions(), _Vectoriser.reduce),
}
