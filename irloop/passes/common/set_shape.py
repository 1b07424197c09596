"""Gives the inputs of a model other shapes, and what was computed from the old ones its due."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irloop.dialects.loops import normal_axis
from irloop.dialects.onnx import shape as onnx_shape
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import recurrent
from irloop.dialects.openvino import shape as ov_shape
from irloop.errors import InferenceError, UsageError
from irloop.graph.builder import shape_of
from irloop.graph.inference import Inference
from irloop.graph.loops import Sliced
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
SEQUENCES = (recurrent.LSTMSequence, recurrent.GRUSequence, recurrent.RNNSequence)


@dataclass(eq=False)
class SetShape(ModelPass):
    """Changes the shapes of inputs and whatever in the model was fixed to the old ones.

    Given::

        x [1,6]:   y = Reshape(x, [1,2,3])   z = LSTMSequence(y, h [1,1,4], ...)     x=5,6

    Result::

        x [5,6]:   y = Reshape(x, [5,2,3])   z = LSTMSequence(y, h [5,1,4], ...)

    Constants that hold the old dimension follow where it is certain which one they mean: the
    pattern of a Reshape whose dimensions can be paired, the initial states and lengths of a
    sequence that are the same for all items, the trip count of a Loop that was the number of its
    slices. Everything else is inferred again, and what then contradicts itself is refused by name.
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
            _Following(old).run(model.graph)
        except InferenceError as error:
            first = error.diagnostics[0]
            raise UsageError(
                f"the model does not follow its inputs: {first.message}",
                location=first.location,
                expected=first.expected,
                found=first.found,
            ) from error
        return True

    def _changes(self, model: Model) -> list[tuple[Value, TensorType]]:
        """The inputs that are named, and the types they are to have.

        Raises:
            UsageError: for a name that no input has, or another rank.
        """
        found = []
        for name, shape in self._wanted.items():
            values = [value for value in model.graph.inputs if name in _names(value)]
            if not values or not isinstance(values[0].type, TensorType):
                known = ", ".join(node.name for node in model.graph.parameters)
                raise UsageError(f"the model has no input {name!r}", expected=f"one of {known}")
            type = values[0].type
            if type.shape.rank not in (None, shape.rank):
                message = f"input {name!r} cannot have that rank"
                raise UsageError(message, expected=str(type), found=str(shape))
            found.append((values[0], TensorType(type.element, shape)))
        return found


def _names(value: Value) -> tuple[str, ...]:
    return (value.producer.name, *value.names)


def _parsed(text: str) -> tuple[str, Shape]:
    """A name and a shape from a text such as ``x=1,3,?,224``.

    Raises:
        UsageError: when it is none.
    """
    name, equals, dims = text.rpartition("=")
    parts = [part.strip() for part in dims.strip("[] ").split(",")] if dims.strip("[] ") else []
    if not name or not equals or not all(re.fullmatch(r"\d{1,18}|\?|-1", part) for part in parts):
        raise UsageError(f"{text!r} is no input and shape", expected="NAME=1,3,?,224")
    return name, Shape.of(*(None if part in ("?", "-1") else int(part) for part in parts))


class _Following(Inference):
    """Inference that lets constants follow the dimensions they stand for, node by node."""

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
        elif isinstance(node.op, ov.Loop):
            self._follow_trips(node)
        super().visit(node)

    def _replace(self, node: Node, position: int, array: object) -> None:
        """Let an input of `node` be a constant of these numbers."""
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
        value = node.inputs[1]
        if value is None or not isinstance(value.producer.op, Constant):
            return
        known = [int(item) for item in value.producer.op.tensor.numpy().reshape(-1)]
        pattern = self._pattern(node, known)
        if pattern is not None:
            self._replace(node, 1, pattern)

    def _pattern(self, node: Node, known: list[int]) -> list[int] | None:
        """What a Reshape has to ask for now; None where it may ask for what it did.

        Raises:
            InferenceError: when it is not certain.
        """
        first = node.inputs[0]
        before = None if first is None else self._old.get(first, Shape(None)).static()
        after = None if first is None else shape_of(first).dims
        result = self._old.get(node.outputs[0], Shape(None)).static()
        if before is None or after is None or result is None or before == after:
            return None
        if len(before) != len(after):
            raise _uncertain(node, before, after, result)
        dims = _followed(before, after, result)
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
        """Let constant states and lengths of a sequence have as many items as its input."""
        x = node.inputs[0]
        before = None if x is None else self._old.get(x, Shape(None)).dims
        after = None if x is None else shape_of(x).dims
        if before is None or after is None or before[:2] == after[:2]:
            return
        states = len(node.outputs) - 1
        for position in range(1, 2 + states):
            value = node.inputs[position]
            if value is None or not isinstance(value.producer.op, Constant):
                continue
            array = value.producer.op.tensor.numpy()
            items = array[:1]
            if not isinstance(after[0], int) or bool((array != items).any()):
                raise _fixed(node, value)
            if position == 1 + states and bool((items == before[1]).all()):
                if not isinstance(after[1], int):
                    raise _fixed(node, value)
                items = np.full_like(items, after[1])
            made = np.repeat(items, after[0], 0)
            if made.shape != array.shape or bool((made != array).any()):
                self._replace(node, position, made)

    def _follow_trips(self, node: Node) -> None:
        """Let a constant trip count that was the number of slices be so again."""
        trip = node.inputs[0]
        if trip is None or not isinstance(trip.producer.op, Constant):
            return
        array = trip.producer.op.tensor.numpy()
        for port in node.body().ports.inputs:
            value = node.inputs[port.external]
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


def _rewriter(node: Node) -> Rewriter:
    assert node.graph is not None
    return Rewriter(node.graph)


def _followed(
    before: Sequence[int], after: Sequence[Dim], result: Sequence[int]
) -> list[Dim] | None:
    """The dimensions that `result` has once `before` is `after`; None where it is not certain.

    Dimensions are paired from the front: the fewest on either side with the same product.
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
        # Which of several is meant, or whether an axis of 1 was dropped or joined, is not said.
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
        f"{node.op.label} {node_path(node)!r}: which dimension follows is not certain",
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
