"""Changes the shapes of model inputs, and adapts everything that depends on the old shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.analysis.operands import known
from irloop.dialects.loops import normal_axis
from irloop.dialects.onnx import recurrent as onnx_recurrent
from irloop.dialects.onnx import shape as onnx_shape
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import recurrent
from irloop.dialects.openvino import shape as ov_shape
from irloop.dialects.wire_ends import inward
from irloop.errors import InferenceError, UsageError
from irloop.graph.builder import integers_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.input_types import input_called, named_shape
from irloop.graph.loops import Carried, Sliced
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import Dim, Shape, TensorType
from irloop.graph.walk import all_graphs, node_path
from irloop.passes.base import ModelPass
from irloop.passes.options import option

__all__ = ["SetShape"]

RESHAPES = (ov_shape.Reshape, onnx_shape.Reshape, onnx_shape.Reshape14)
CELLS = (recurrent.LSTMCell, recurrent.LSTMCell1, recurrent.GRUCell, recurrent.RNNCell)
SEQUENCES = (
    *recurrent.SEQUENCES,
    onnx_recurrent.Recurrent,
)


@dataclass(eq=False)
class SetShape(ModelPass):
    """Changes the shapes of inputs, and everything in the model that was fixed to the old ones.

    Given::

        x [1,6]:   y = Reshape(x, [1,2,3])   z = LSTMSequence(y, h [1,1,4], ...)     x=5,6

    Result::

        x [5,6]:   y = Reshape(x, [5,2,3])   z = LSTMSequence(y, h [5,1,4], ...)

    Constants that contain an old dimension are adapted where it is certain which dimension they
    refer to: the pattern of a Reshape whose dimensions can be paired, the initial states and
    lengths of a sequence if they are the same for all items, the trip count of a Loop if it was
    equal to the number of slices. All other types are inferred again. If the new types of a node
    contradict each other, an error names this node.
    """

    shapes: tuple[str, ...] = option((), "an input and its shape, as in x=1,3,?,224")

    name = "set_shape"

    def __post_init__(self) -> None:
        self._wanted = dict(map(_parsed, self.shapes))

    def run_on_model(self, model: Model) -> bool:
        changes = [(value, type) for value, type in self._changes(model) if value.type != type]
        if not changes:
            return False
        Inference(tolerant=True).run(model.graph)
        old = {
            value: shape_of(value)
            for graph in all_graphs(model.graph)
            for node in (*graph.parameters, *graph.nodes)
            for value in node.outputs
        }
        for value, type in changes:
            value.type = type
        try:
            _ShapePropagation(old).run(model.graph)
        except InferenceError as error:
            first = error.diagnostics[0]
            raise UsageError(
                f"the model cannot be adapted to the new shapes: {first.message}",
                location=first.location,
                expected=first.expected,
                found=first.found,
            ) from error
        return True

    def _changes(self, model: Model) -> list[tuple[Value, TensorType]]:
        """The inputs that the user has named, with their new types.

        Raises:
            UsageError: when no tensor input has one of the names, or an input has another rank.
        """
        changes = []
        for name, shape in self._wanted.items():
            value = input_called(model, name)
            type = value.type
            if not isinstance(type, TensorType):
                raise UsageError(f"input {name!r} is no tensor", found=str(type))
            if type.shape.rank not in (None, shape.rank):
                message = f"the rank of the shape differs from that of input {name!r}"
                raise UsageError(message, expected=str(type), found=str(shape))
            changes.append((value, TensorType(type.element, shape)))
        return changes


def _parsed(text: str) -> tuple[str, Shape]:
    """Parse a name and a shape from a text such as ``x=1,3,?,224``.

    Raises:
        UsageError: when the text has another form.
    """
    parsed = named_shape(text)
    if parsed is None:
        raise UsageError(f"{text!r} is not an input name with a shape", expected="NAME=1,3,?,224")
    return parsed[0], Shape.of(*parsed[1])


class _ShapePropagation(Inference):
    """Infers types node by node, and adapts constants to the new dimensions."""

    def __init__(self, old: dict[Value, Shape]) -> None:
        super().__init__()
        self._old = old

    def visit(self, node: Node) -> None:
        if isinstance(node.op, RESHAPES):
            self._follow_reshape(node)
        elif isinstance(node.op, onnx_shape.Reshape1):
            pattern = self._pattern(node, list(node.op.shape))
            if pattern is not None:
                _rewriter(node).replace_op(node, onnx_shape.Reshape1(tuple(pattern)))
        elif isinstance(node.op, SEQUENCES):
            self._follow_sequence(node)
        elif isinstance(node.op, ov.Loop | ov.TensorIterator):
            self._follow_states(node)
            if isinstance(node.op, ov.Loop):
                self._follow_trips(node)
        super().visit(node)

    def _replace(self, node: Node, position: int, array: object) -> None:
        """Replace a constant that `node` reads by a constant with the elements of `array`.

        `position` is that of the input. The element type does not change.
        """
        value = node.inputs[position]
        assert value is not None
        op = value.producer.op
        assert isinstance(op, Constant)
        tensor = ArrayTensor(np.asarray(array).astype(op.tensor.element.numpy()), op.tensor.element)
        rewriter = _rewriter(node)
        made = rewriter.insert_constant(tensor, before=node, name=value.producer.name)
        super().visit(made.producer)
        rewriter.set_input(node, position, made)

    def _follow_reshape(self, node: Node) -> None:
        numbers = integers_of(node.inputs[1], known)
        if numbers is None:
            return
        pattern = self._pattern(node, numbers)
        if pattern is not None:
            self._replace(node, 1, pattern)

    def _pattern(self, node: Node, known: list[int]) -> list[int] | None:
        """Return the target shape that a Reshape needs after the shape of its data has changed.

        `known` is the present target shape. For example, if the data grows from [2, 12] to [5, 12],
        the target [2, 3, 4] becomes [5, 3, 4]. Returns None if `known` still fits.

        Raises:
            InferenceError: when it is not certain which dimensions of the result change.
        """
        first = node.inputs[0]
        before = None if first is None else self._old.get(first, Shape(None)).static()
        after = None if first is None else shape_of(first).dims
        result = self._old.get(node.outputs[0], Shape(None)).static()
        if before is None or after is None or result is None or before == after:
            return None
        if len(before) != len(after):
            raise _uncertain(node, before, after, result)
        dims = _dims_after(before, after, result)
        if dims is None:
            raise _uncertain(node, before, after, result)
        pattern = [
            asked if asked in (0, -1) or not isinstance(dim, int) else dim
            for asked, dim in zip(known, dims, strict=True)
        ]
        late = [at for at, dim in enumerate(dims) if not isinstance(dim, int)]
        late = [at for at in late if pattern[at] not in (0, -1)]
        if len(late) + pattern.count(-1) > 1 and late:
            raise _uncertain(node, before, after, result)
        for at in late:
            pattern[at] = -1
        return None if pattern == known else pattern

    def _follow_sequence(self, node: Node) -> None:
        """Adapt the constant states and lengths of a recurrent sequence to its new data shape.

        Each constant is repeated to the new batch size. If all lengths were equal to the old number
        of steps, they are set to the new number of steps.
        """
        before, after = self._both_dims(node.inputs[0])
        if len(before) < 2 or before[:2] == after[:2]:
            return
        batch, lengths, states = _batch_of(node)
        count, steps = after[batch], after[1 - batch]
        for position, axis in (*states, (lengths, 0)):
            value = node.inputs[position] if position < len(node.inputs) else None
            if value is None or not isinstance(value.producer.op, Constant):
                continue
            array = value.producer.op.tensor.numpy()
            single = _item_of_all(node, value, count, axis)
            if position == lengths and bool((single == before[1 - batch]).all()):
                if not isinstance(steps, int):
                    raise _fixed(node, value)
                single = np.full_like(single, steps)
            made = np.repeat(single, _known(count), axis)
            if made.shape != array.shape or bool((made != array).any()):
                self._replace(node, position, made)

    def _follow_states(self, node: Node) -> None:
        """Adapt the constant initial states of a loop to a new batch size.

        A state is adapted if a recurrent cell in the body reads it and its first dimension is the
        old batch size. Its constant then repeats the state of one batch item for all items: [2, 8]
        becomes [5, 8] for a new batch size of 5. The batch sizes are those of the 3-D inputs that
        the loop slices along axis 0 or 1. If they have not changed, nothing is done.

        Raises:
            InferenceError: when the batch items have different states, or the new size is unknown.
        """
        body = node.body()
        entering = inward(node, body)
        changed = [
            (old[1 - port.axis], new[1 - port.axis])
            for port, _, value, *_ in entering
            if isinstance(port, Sliced) and port.axis in (0, 1)
            for old, new in [self._both_dims(value)]
            if len(old) == len(new) == 3 and old[1 - port.axis] != new[1 - port.axis]
        ]
        for port, use, value, held, _ in entering:
            read = any(isinstance(user.op, CELLS) and at in (1, 2) for user, at in held.uses)
            if not isinstance(port, Carried) or value is None or not read:
                continue
            if not isinstance(value.producer.op, Constant):
                continue
            array = value.producer.op.tensor.numpy()
            for old, new in changed[:1]:
                if array.shape[0] == old:
                    items = _item_of_all(node, value, new)
                    self._replace(*use, np.repeat(items, _known(new), 0))

    def _both_dims(self, value: Value | None) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
        """The old and the new dimensions of a value; both empty if either is unknown."""
        before = None if value is None else self._old.get(value, Shape(None)).dims
        after = None if value is None else shape_of(value).dims
        return ((), ()) if before is None or after is None else (before, after)

    def _follow_trips(self, node: Node) -> None:
        """Adapt a constant trip count to the new size of a sliced input.

        This is done only if the trip count was equal to the number of slices before the change.
        """
        trip = node.inputs[0]
        if trip is None or not isinstance(trip.producer.op, Constant):
            return
        array = trip.producer.op.tensor.numpy()
        for port, _, value, *_ in inward(node, node.body()):
            if not isinstance(port, Sliced) or value is None or port.part_size < 1:
                continue
            before, after = self._old.get(value, Shape(None)).dims, shape_of(value).dims
            if before is None or after is None or before == after:
                continue
            axis = normal_axis(port.axis, len(before))
            old, new = before[axis], after[axis]
            if old == new or old != int(array.reshape(-1)[0]) * port.part_size:
                continue
            if not isinstance(new, int) or new % port.part_size:
                raise _fixed(node, trip)
            self._replace(node, 0, np.full_like(array, new // port.part_size))
            return


def _batch_of(node: Node) -> tuple[int, int, list[tuple[int, int]]]:
    """Return where the batch size occurs in the inputs of a recurrent sequence.

    The result is a tuple of

    - the batch axis of input 0, the data;
    - the position of the input that holds the sequence lengths;
    - for each initial state, the position of its input and the batch axis of that input.
    """
    if isinstance(node.op, onnx_recurrent.Recurrent):
        first = getattr(node.op, "layout", 0) == 1
        axis = 0 if first else 1
        return axis, 4, [(5, axis), (6, axis)]
    count = len(node.outputs)
    return 0, count, [(position, 0) for position in range(1, count)]


def _item_of_all(node: Node, value: Value, count: Dim, axis: int = 0) -> Any:
    """Return one item of a constant along `axis`, provided that all items along it are equal.

    The item keeps `axis`, with size 1: for the constant [[5, 6], [5, 6]] and axis 0 it is [[5, 6]].
    The caller repeats it `count` times. `value` is the constant, and `node` reads it.

    Raises:
        InferenceError: when the items along `axis` differ, or when `count` is unknown.
    """
    op = value.producer.op
    assert isinstance(op, Constant)
    array = op.tensor.numpy()
    single = array.take([0], axis)
    if not isinstance(count, int) or bool((array != single).any()):
        raise _fixed(node, value)
    return single


def _rewriter(node: Node) -> Rewriter:
    assert node.graph is not None
    return Rewriter(node.graph)


def _dims_after(
    before: Sequence[int], after: Sequence[Dim], result: Sequence[int]
) -> list[Dim] | None:
    """Return the output dimensions of a Reshape after its input changed to `after`.

    `before` and `result` are the old input and output shapes. From the first axis on, both are
    split into the smallest groups of dimensions with equal products. For example, [2, 3, 4] and [6,
    4] are split into [2, 3] and [6], then [4] and [4]. Returns None if it is not certain which
    output dimension changes with the input.
    """
    dims: list[Dim] = []
    left = right = 0
    while left < len(before) or right < len(result):
        first, start = left, right
        if tuple(result[right : right + 1]) == (1,) != tuple(before[left : left + 1]):
            # An axis that the Reshape adds.
            dims.append(1)
            right += 1
            continue
        if tuple(before[left : left + 1]) == tuple(result[right : right + 1]) == (1,):
            dims.append(after[left])
            left, right = left + 1, right + 1
            continue
        one = two = 1
        while True:
            if left < len(before) and (one <= two or right == len(result)):
                one *= before[left]
                left += 1
            elif right < len(result):
                two *= result[right]
                right += 1
            else:
                break
            if one == two and left > first and right > start:
                break
        made = _group(before[first:left], after[first:left], result[start:right])
        if made is None:
            return None
        dims += made
    return dims


def _group(before: Sequence[int], after: Sequence[Dim], result: Sequence[int]) -> list[Dim] | None:
    changed = [old for old, new in zip(before, after, strict=True) if old != new]
    if not changed:
        return list(result)
    if len(before) == len(result) == 1:
        return list(after)
    if len(result) != 1 or 1 in changed:
        # It is ambiguous which of several dimensions changes, or whether an axis of size 1 was
        # dropped or merged.
        return None
    total = 1
    for dim in after:
        if not isinstance(dim, int):
            return [dim]
        total *= dim
    return [total]


def _uncertain(
    node: Node, before: Sequence[int], after: Sequence[Dim], result: Sequence[int]
) -> InferenceError:
    return InferenceError(
        f"{node.op.label} {node_path(node)!r}: it is not certain which dimension changes",
        location=node.location,
        expected=f"{list(before)} became {list(result)}",
        found=str(Shape(tuple(after))),
    )


def _fixed(node: Node, value: Value) -> InferenceError:
    return InferenceError(
        f"{node.op.label} {node_path(node)!r}: the constant {value.producer.name!r} is fixed to "
        "the old shape",
        location=node.location,
    )


def _known(dim: Dim) -> int:
    assert isinstance(dim, int)
    return dim
