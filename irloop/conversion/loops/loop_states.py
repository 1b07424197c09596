"""Maps states of an ONNX loop, sequences included, to states of an OpenVINO loop.

A sequence of constant length becomes one state per item. A sequence that the body only appends to
becomes a concatenated output; after the loop it is a tensor whose first axis counts the items. If
the items may differ in size, and the sequence is only concatenated after the loop, the loop itself
concatenates them. Any other sequence becomes a state that holds all items, stacked along a new
first axis; this axis grows and shrinks with the sequence. An optional becomes the states of its
item, or no state if it is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from irloop.conversion.forms import openvino_shape_forms as shape_forms
from irloop.conversion.framework.translation import Conversion, Converted, RefusedError
from irloop.conversion.framework.virtual_values import Growing, Items, Joined, Maybe, Stacked
from irloop.conversion.loops.loop_bounds import with_bounds_of
from irloop.conversion.loops.openvino_loop_builder import OpenVinoLoopBuilder, Scanned
from irloop.conversion.loops.stacks import as_items, as_stack, joined, stack_type, stacked
from irloop.dialects.onnx import sequence
from irloop.dialects.onnx.control_flow import source_parameter
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Carried, LastValue
from irloop.graph.model import Body, Node, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import (
    UNKNOWN_DIM,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    ValueType,
    widen_types,
)

__all__ = ["LoopStates", "enter"]


def enter(loop: OpenVinoLoopBuilder, value: Converted) -> Converted:
    """Pass an outer value into the loop as an invariant; return the value that the body reads."""
    if isinstance(value, Value):
        return loop.invariant(value)
    if isinstance(value, Items):
        return Items(tuple(loop.invariant(item) for item in value.values))
    if isinstance(value, Stacked):
        return Stacked(loop.invariant(value.tensor))
    if isinstance(value, Maybe):
        inner = None if value.item is None else enter(loop, value.item)
        assert inner is None or isinstance(inner, Value | Items | Stacked)
        return Maybe(inner)
    raise RefusedError(f"{value} cannot enter a loop")


@dataclass(slots=True, eq=False, repr=False)
class _State:
    """One state of the loop that is converted.

    `before` is its value before the loop, `view` its value inside the new body, and `type` its type
    in the source model.
    """

    before: Converted
    view: Converted
    type: ValueType
    #: True if the body returns the value unchanged; then it needs no state.
    stays: bool = False


class LoopStates:
    """Converts the states of the source loop into states of the new loop `loop`.

    A state that is a sequence to which the iterations only append becomes a concatenated output.
    """

    def __init__(self, loop: OpenVinoLoopBuilder) -> None:
        self._loop = loop
        self._states: list[_State] = []
        self.results: list[Value] = []
        self.appended: list[Scanned] = []

    def enter(self, before: Converted, body: Body, port: Carried) -> Converted:
        """Add a state to the new loop, and return its value inside the new body.

        `before` is the value of the state before the loop. `port` is the state in the source loop,
        and `body` the body of the source loop.
        """
        parameter = body.graph.parameters[port.parameter]
        type = parameter.outputs[0].type
        if source_parameter(body, port.result) == port.parameter:
            # Otherwise OpenVINO would remove the state from the loop and name the output after the
            # input.
            view = enter(self._loop, before)
            self._states.append(_State(before, view, type, stays=True))
            return view
        axis = _joining_axis(self._loop.c.node, body, port) if before == Items(()) else None
        if axis is not None:
            wanted = _joined_type(type, axis)
            joining = self._loop.state(_empty(self._loop.c, wanted), wanted, parameter.name)
            self._states.append(_State(before, Joined(joining, axis), type))
            return Joined(joining, axis)
        joins = isinstance(before, Items | Stacked) and _can_be_joined(type)
        appends = joins and _only_appends(body, port)
        view = Growing() if appends else self._view(before, type, parameter.name)
        if isinstance(view, Growing | Stacked) and not _share_a_shape(type):
            self._loop.c.warn(
                "CNV103",
                "the loop inserts tensors whose shapes are known only at run time into a sequence: "
                "in IR all of them must have one shape",
            )
        self._states.append(_State(before, view, type))
        return view

    def _view(self, before: Converted, type: ValueType, name: str) -> Converted:
        loop = self._loop
        if isinstance(before, Value):
            return loop.state(before, type, name)
        if isinstance(before, Maybe):
            item = None if before.item is None else self._view(before.item, _inside(type), name)
            assert item is None or isinstance(item, Value | Items | Stacked)
            return Maybe(item)
        length = type.length if isinstance(type, SequenceType) else None
        if isinstance(before, Items) and length == len(before.values):
            return Items(
                tuple(loop.state(item, _item_type(item, type), name) for item in before.values)
            )
        before, wanted = as_stack(loop.c, before, type), stack_type(type)
        return Stacked(loop.state(before.tensor, wanted, name))

    def leave(self, results: Sequence[Converted]) -> None:
        """Connect the results of the body, one for each state in order, to the next iteration.

        A result for a state that stays unchanged is ignored.
        """
        for state, result in zip(self._states, results, strict=True):
            if state.stays:
                continue
            if isinstance(state.view, Growing):
                self._append(result)
            else:
                self.results += self._values(state.view, result, state.type)

    def _values(self, view: Converted, result: Converted, type: ValueType) -> list[Value]:
        """Return the tensors that a body result passes to the next iteration for one state.

        `view` is the state as the body reads it, `result` its new value, and `type` its ONNX type.
        A tensor or a sequence stacked into one tensor gives one tensor, a sequence kept as n
        separate tensors gives n, and an empty optional gives none.

        Raises:
            RefusedError: when `view` and `result` differ in kind, for example if one is an empty
                optional and the other has a value.
        """
        inner = self._loop.inner
        if isinstance(view, Items):
            return as_items(inner, result, len(view.values))
        if isinstance(view, Joined) and isinstance(result, Joined):
            return [result.tensor]
        if isinstance(view, Stacked):
            return [as_stack(inner, result, type).tensor]
        if isinstance(view, Maybe):
            held = result.item if isinstance(result, Maybe) else result
            if (held is None) != (view.item is None):
                raise RefusedError(
                    "the loop carries an optional that has a value in some iterations only",
                    "carry a tensor, and a boolean that tells whether it is present",
                )
            if held is None or view.item is None:
                return []
            return self._values(view.item, held, _inside(type))
        if not isinstance(result, Value):
            raise RefusedError(f"the loop carries a tensor that becomes {result}")
        return [result]

    def _append(self, result: Converted) -> None:
        if not isinstance(result, Growing) or result.appended is None:
            raise RefusedError("the loop does not append to its sequence in each iteration")
        item = result.appended
        inner = self._loop.inner
        self.appended.append(Scanned(shape_forms.unsqueeze(inner, item, [0]), 0))

    def after(self, lasts: Sequence[Value], joined: Sequence[Value]) -> list[Converted]:
        """Return the value of each state after the loop, made from the outputs of the new loop.

        `lasts` holds the last values of the new loop's states, in the order of `results`. `joined`
        holds its concatenated outputs, in the order of `appended`. A state that the body never
        changes keeps its value from before the loop.
        """
        last, join = iter(lasts), iter(joined)
        found: list[Converted] = []
        for state in self._states:
            if state.stays:
                found.append(state.before)
            elif isinstance(state.view, Growing):
                found.append(Stacked(self._extended(state, next(join))))
            else:
                found.append(_filled(state.view, last))
        return found

    def _extended(self, state: _State, appended: Value) -> Value:
        """Return all items of a sequence after the loop, as one tensor.

        The items from before the loop come first, then `appended`, the items that the loop
        appended.
        """
        c, before, shape = self._loop.c, state.before, shape_of(appended)
        if self._loop.ran is not None and shape.dims and not Shape(shape.dims[1:]).is_static:
            # If there is no iteration, OpenVINO's concatenated output has the dimensions that it
            # had in an earlier inference.
            nothing = c.constant(np.zeros((0,) * len(shape.dims)), element_of(appended))
            appended = with_bounds_of(c, appended, nothing, self._loop.ran)
        if isinstance(before, Stacked):
            return joined(c, [before.tensor, appended])
        assert isinstance(before, Items)
        return joined(c, [stacked(c, before.values), appended]) if before.values else appended


def _filled(view: Converted, values: Iterator[Value]) -> Converted:
    """Make the value of a state after the loop from the loop's outputs.

    `view` is the value of the state inside the body, for example `Items` of three tensors. The
    result has the same form, but its tensors are the next items of `values`.
    """
    if isinstance(view, Items):
        return Items(tuple(next(values) for _ in view.values))
    if isinstance(view, Stacked):
        return Stacked(next(values))
    if isinstance(view, Joined):
        return Joined(next(values), view.axis)
    if isinstance(view, Maybe):
        item = None if view.item is None else _filled(view.item, values)
        assert item is None or isinstance(item, Value | Items | Stacked)
        return Maybe(item)
    return next(values)


def _inside(type: ValueType) -> ValueType:
    return type.item if isinstance(type, OptionalType) else type


def _item_type(item: Value, type: ValueType) -> ValueType:
    """Return the item type of sequence `type`, with its shape widened to include that of `item`.

    If `type` is not a sequence type, the result is the type of `item`.
    """
    return widen_types(item.type, type.item) if isinstance(type, SequenceType) else item.type


def _can_be_joined(type: ValueType) -> bool:
    """Return whether a concatenated output can replace a growing state of this type.

    This requires items of equal shape. OpenVINO 2026.4 returns arbitrary values if a loop
    concatenates parts of different shapes, whereas its Concat operation refuses them. The result is
    also true for items of unknown rank, because a state of unknown rank could not be carried.
    """
    mixed = isinstance(type, SequenceType) and type.mixed
    item = type.item if isinstance(type, SequenceType) else type
    no_rank = isinstance(item, TensorType) and item.shape.dims is None
    return not mixed and (no_rank or _share_a_shape(type))


def _share_a_shape(type: ValueType) -> bool:
    """True if all items of a sequence type certainly have the same shape.

    This is certain if each dimension of the item type is a number or has a name.
    """
    item = type.item if isinstance(type, SequenceType) and not type.mixed else None
    dims = item.shape.dims if isinstance(item, TensorType) else None
    return dims is not None and all(isinstance(dim, int) or dim.symbol is not None for dim in dims)


def _only_appends(body: Body, port: Carried) -> bool:
    """True if the only change that the body makes to a sequence is that it appends one item."""
    uses = body.graph.input(port.parameter).uses
    if len(uses) != 1:
        return False
    node, position = uses[0]
    if not isinstance(node.op, sequence.SequenceInsert) or position != 0 or len(node.inputs) > 2:
        return False
    return [user for user, _ in node.outputs[0].uses] == [body.graph.results[port.result]]


def _joining_axis(loop: Node, body: Body, port: Carried) -> int | None:
    """Return the axis along which the items of a sequence state are joined after the loop.

    The state `port` qualifies if the body only appends one item to it, and all readers of its final
    value are ConcatFromSequence along the same axis. The result is None otherwise, and also if all
    items certainly have the same shape.
    """
    type = body.graph.parameters[port.parameter].outputs[0].type
    item = type.item if isinstance(type, SequenceType) and not type.mixed else None
    dims = item.shape.dims if isinstance(item, TensorType) else None
    if not dims or _share_a_shape(type) or not _only_appends(body, port):
        return None
    axes = set[int | None]()
    for out in body.ports.outputs:
        if isinstance(out, LastValue) and out.result == port.result:
            axes |= {_joined_along(user, len(dims)) for user, _ in loop.outputs[out.external].uses}
    return axes.pop() if len(axes) == 1 else None


def _joined_along(node: Node, rank: int) -> int | None:
    """The axis along which a ConcatFromSequence joins; None for other nodes and for a new axis."""
    op = node.op
    if not isinstance(op, sequence.ConcatFromSequence) or op.new_axis:
        return None
    return op.axis % rank


def _joined_type(type: ValueType, axis: int) -> TensorType:
    """Return the type of the tensor that results if a sequence is concatenated along `axis`.

    `type` is the type of the sequence. The size of `axis` is unknown in the result.
    """
    stack = stack_type(type)
    items = Shape((stack.shape.dims or ())[1:])
    return TensorType(stack.element, items.with_dim(axis, UNKNOWN_DIM))


def _empty(c: Conversion, wanted: TensorType) -> Value:
    """Return a constant of type `wanted` without elements; unknown dimensions become 0.

    It is the initial value of a state to which a loop concatenates tensors. At least the dimension
    of the concatenated axis is unknown.
    """
    dims = [dim if isinstance(dim, int) else 0 for dim in wanted.shape.dims or ()]
    return c.tensor(ArrayTensor(np.zeros(dims, wanted.element.numpy()), wanted.element))
