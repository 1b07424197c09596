"""Maps states of an ONNX loop, sequences included, to states of an OpenVINO loop.

A sequence of constant length becomes one state per item. A sequence that the body only appends to
becomes a concatenated output; after the loop it is a tensor whose first axis counts the items. If
the items may differ in size, and the sequence is only concatenated after the loop, the loop itself
concatenates them. Any other sequence becomes a state that holds all items, stacked along a new
first axis; this axis grows and shrinks with the sequence. If the iterations decide the sizes of the
items, it becomes two states: a list of all elements, and a table of sizes. An optional becomes the
states of its item, or no state if it is empty; a boolean is added if some iterations fill or empty
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import Converted, RefusedError
from irloop.conversion.framework.virtual_values import (
    Growing,
    Items,
    Joined,
    Maybe,
    Ragged,
    Stacked,
    mapped,
)
from irloop.conversion.loops.loop_builder import Outputs
from irloop.conversion.loops.openvino_loop_builder import OpenVinoLoopBuilder
from irloop.conversion.loops.optionals import contents, with_flag
from irloop.conversion.loops.ragged import as_ragged, ragged_types, types_of
from irloop.conversion.loops.stacks import as_items, as_stack, joined, stack_type, stacked
from irloop.conversion.loops.varying_items import adds_items_of_varying_size
from irloop.dialects.onnx import sequence
from irloop.dialects.wire_ends import Entering, Leaving, passed_on
from irloop.dialects.wires import Wires
from irloop.graph.model import Node, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_TYPE,
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
    if isinstance(value, Growing | Joined):
        raise RefusedError(f"{value} cannot enter a loop")
    return mapped(value, loop.invariant)


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
    #: The output of the new loop that has the items that the iterations append.
    appended: Leaving | None = None


class LoopStates:
    """Converts the states of the source loop into states of the new loop `loop`.

    A state that is a sequence to which the iterations only append becomes a concatenated output.
    `values` has what became of the inputs of the source loop.
    """

    def __init__(
        self, loop: OpenVinoLoopBuilder, source: Wires, values: Mapping[Value, Converted]
    ) -> None:
        self._loop = loop
        self._source = source
        #: The sequences around the loop, of which all items have one shape.
        self._stacks = {
            wire.parameter
            for wire in source.inputs
            if wire.result is None and isinstance(values[wire.outer], Stacked)
        }
        self._states: dict[Entering, _State] = {}
        #: The states of the new loop, by their body parameters.
        self._new: dict[Value, Entering] = {}

    def enter(self, before: Converted, wire: Entering) -> Converted:
        """Add a state to the new loop, and return its value inside the new body.

        `before` is the value of the state before the loop, and `wire` the state of the source loop.
        """
        parameter = wire.parameter
        type, name = parameter.type, parameter.producer.name
        if passed_on(wire.following) is parameter:
            # Otherwise OpenVINO would remove the state from the loop and name the output after the
            # input.
            same = enter(self._loop, before)
            self._states[wire] = _State(before, same, type, stays=True)
            return same
        axis = _joining_axis(self._source, wire) if before == Items(()) else None
        if axis is not None:
            wanted = _joined_type(type, axis)
            joining = self._state(_empty(self._loop.c, wanted), wanted, name)
            self._states[wire] = _State(before, Joined(joining, axis), type)
            return Joined(joining, axis)
        if self._is_ragged(before, wire):
            lists = self._lists(as_ragged(self._loop.c, before, type), name)
            self._states[wire] = _State(before, lists, type)
            return lists
        joins = isinstance(before, Items | Stacked) and _can_be_joined(type)
        view: Converted | None = None
        if isinstance(before, Maybe):
            view = self._flagged(before, wire)
        if view is None:
            view = Growing() if joins and _only_appends(wire) else self._view(before, type, name)
        if isinstance(view, Growing | Stacked) and not _share_a_shape(type):
            self._loop.c.warn(
                "CNV103",
                "the loop inserts tensors whose shapes are known only at run time into a sequence: "
                "in IR all of them must have one shape",
            )
        self._states[wire] = _State(before, view, type)
        return view

    def _is_ragged(self, before: Converted, wire: Entering) -> bool:
        """Return whether the items of a sequence have several sizes, before the loop or later."""
        type = wire.parameter.type
        if isinstance(before, Ragged):
            return True
        if not isinstance(before, Items | Stacked) or ragged_types(type) is None:
            return False
        length = type.length if isinstance(type, SequenceType) else None
        if isinstance(before, Items) and length == len(before.values):
            return False
        if isinstance(type, SequenceType) and type.mixed:
            return True
        return not _share_a_shape(type) and adds_items_of_varying_size(
            self._source, wire, self._stacks
        )

    def _lists(self, sequence: Ragged, name: str) -> Ragged:
        """Add the states of a sequence of items of several sizes."""
        elements, sizes = types_of(sequence)
        return Ragged(
            self._state(sequence.elements, elements, name),
            self._state(sequence.sizes, sizes, f"{name}/sizes"),
        )

    def _state(self, initial: Value, type: ValueType, name: str) -> Value:
        wire = self._loop.state(initial, type, name)
        self._new[wire.parameter] = wire
        return wire.parameter

    def _flagged(self, before: Maybe, wire: Entering) -> Maybe | None:
        """Add the states of an optional that may be empty: a value, and a boolean.

        The result is None if it is filled before the loop and in each iteration, or if it may hold
        a sequence.
        """
        type, empties = contents(self._source, wire)
        if isinstance(before.item, Value):
            if before.filled is None and not empties:
                return None
            own = before.item.type
            type = own if type == UNKNOWN_TYPE else widen_types(own, type)
        known = with_flag(self._loop.c, before, type)
        if known is None or not isinstance(known.item, Value) or known.filled is None:
            return None
        name = wire.parameter.producer.name
        return Maybe(
            self._state(known.item, type, name),
            self._state(known.filled, known.filled.type, f"{name}/filled"),
        )

    def _view(self, before: Converted, type: ValueType, name: str) -> Converted:
        if isinstance(before, Value):
            return self._state(before, type, name)
        if isinstance(before, Maybe):
            item = None if before.item is None else self._view(before.item, _inside(type), name)
            assert item is None or isinstance(item, Value | Items | Ragged | Stacked)
            return Maybe(item)
        length = type.length if isinstance(type, SequenceType) else None
        if isinstance(before, Items) and length == len(before.values):
            return mapped(before, lambda item: self._state(item, _item_type(item, type), name))
        before, wanted = as_stack(self._loop.c, before, type), stack_type(type)
        return Stacked(self._state(before.tensor, wanted, name))

    def leave(self, results: Mapping[Value, Converted]) -> None:
        """Connect the results of the body to the next iteration.

        `results` has the new value for each value that the body of the source loop returns. A
        result for a state that stays unchanged is ignored.
        """
        for wire, state in self._states.items():
            result = results[wire.following]
            if isinstance(state.view, Growing):
                state.appended = self._append(result)
            elif not state.stays:
                self._connect(state.view, result, state.type)

    def _connect(self, view: Converted, result: Converted, type: ValueType) -> None:
        """Make the tensors of a body result the next values of the new states.

        `view` is the state as the body reads it, `result` its new value, and `type` its ONNX type.

        Raises:
            RefusedError: when `view` and `result` differ in kind, for example if one is an empty
                optional and the other has a value.
        """
        inner = self._loop.inner
        if isinstance(view, Items):
            for tensor, value in zip(
                view.values, as_items(inner, result, len(view.values)), strict=True
            ):
                self._new[tensor].result = value
        elif isinstance(view, Joined) and isinstance(result, Joined):
            self._new[view.tensor].result = result.tensor
        elif isinstance(view, Ragged):
            lists = as_ragged(inner, result, type)
            self._new[view.elements].result = lists.elements
            self._new[view.sizes].result = lists.sizes
        elif isinstance(view, Stacked):
            self._new[view.tensor].result = as_stack(inner, result, type).tensor
        elif isinstance(view, Maybe) and view.filled is not None:
            assert isinstance(view.item, Value)
            known = with_flag(inner, result, view.item.type, otherwise=view.item)
            if known is None or not isinstance(known.item, Value):
                raise RefusedError(f"the loop carries an optional that becomes {result}")
            self._new[view.item].result, self._new[view.filled].result = known.item, known.filled
        elif isinstance(view, Maybe):
            held = result.item if isinstance(result, Maybe) else result
            if (held is None) != (view.item is None):
                raise RefusedError(
                    "the loop carries an optional that has a value in some iterations only",
                    "carry a tensor, and a boolean that tells whether it is present",
                )
            if held is not None and view.item is not None:
                self._connect(view.item, held, _inside(type))
        elif isinstance(view, Value) and isinstance(result, Value):
            self._new[view].result = result
        else:
            raise RefusedError(f"the loop carries a tensor that becomes {result}")

    def _append(self, result: Converted) -> Leaving:
        if not isinstance(result, Growing) or result.appended is None:
            raise RefusedError("the loop does not append to its sequence in each iteration")
        return self._loop.joined(self._loop.inner.unsqueeze(result.appended, [0]), 0)

    def _after(self, made: Outputs) -> dict[Entering, Converted]:
        """Return the value of each state of the source loop after the loop.

        `made` has the outputs of the new loop. A state that the body never changes keeps its value
        from before the loop.
        """
        lasts: dict[Entering, Converted] = {}
        for wire, state in self._states.items():
            if state.stays:
                lasts[wire] = state.before
            elif state.appended is not None:
                lasts[wire] = Stacked(self._extended(state, made[state.appended]))
            else:
                lasts[wire] = mapped(state.view, lambda tensor: made[self._new[tensor]])
        return lasts

    def outputs(self, made: Outputs, scans: Mapping[Leaving, Leaving]) -> list[Converted]:
        """Return the outputs of the source loop; `scans` has the new wire of each scan output."""
        lasts = self._after(made)
        shown: list[Converted] = []
        for old in self._source.outputs:
            if old in scans:
                shown.append(made[scans[old]])
            else:
                assert old.state is not None
                shown.append(lasts[old.state])
        return shown

    def _extended(self, state: _State, appended: Value) -> Value:
        """Return all items of a sequence after the loop, as one tensor.

        The items from before the loop come first, then `appended`, the items that the loop
        appended.
        """
        c, before = self._loop.c, state.before
        if isinstance(before, Stacked):
            return joined(c, [before.tensor, appended])
        assert isinstance(before, Items)
        return joined(c, [stacked(c, before.values), appended]) if before.values else appended


def _inside(type: ValueType) -> ValueType:
    return type.item if isinstance(type, OptionalType) else type


def _item_type(tensor: Value, type: ValueType) -> ValueType:
    """Return the item type of sequence `type`, with its shape widened to include that of `tensor`.

    If `type` is not a sequence type, the result is the type of `tensor`.
    """
    return widen_types(tensor.type, type.item) if isinstance(type, SequenceType) else tensor.type


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
    """Return whether all items of a sequence type certainly have the same shape.

    This is certain if each dimension of the item type is a number or has a name.
    """
    item = type.item if isinstance(type, SequenceType) and not type.mixed else None
    dims = item.shape.dims if isinstance(item, TensorType) else None
    return dims is not None and all(isinstance(dim, int) or dim.symbol is not None for dim in dims)


def _only_appends(wire: Entering) -> bool:
    """Return whether the body changes a sequence only by appending one item."""
    uses = wire.parameter.uses
    if len(uses) != 1:
        return False
    node, position = uses[0]
    if not isinstance(node.op, sequence.SequenceInsert) or position != 0 or len(node.inputs) > 2:
        return False
    return wire.result is node.outputs[0] and len(node.outputs[0].uses) == 1


def _joining_axis(source: Wires, wire: Entering) -> int | None:
    """Return the axis along which the items of a sequence state are joined after the loop.

    The state qualifies if the body only appends one item to it, and all readers of its final value
    are ConcatFromSequence along the same axis. The result is None otherwise, and also if all items
    certainly have the same shape.
    """
    type = wire.parameter.type
    item = type.item if isinstance(type, SequenceType) and not type.mixed else None
    dims = item.shape.dims if isinstance(item, TensorType) else None
    if not dims or _share_a_shape(type) or not _only_appends(wire):
        return None
    axes = {
        _joined_along(user, len(dims))
        for leaving in source.shown_by(wire)
        for user, _ in leaving.output.uses
    }
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


def _empty(c: Import, wanted: TensorType) -> Value:
    """Return a constant of type `wanted` without elements; unknown dimensions become 0.

    It is the initial value of a state to which a loop concatenates tensors. At least the dimension
    of the concatenated axis is unknown.
    """
    dims = [dim if isinstance(dim, int) else 0 for dim in wanted.shape.dims or ()]
    return c.tensor(ArrayTensor(np.zeros(dims, wanted.element.numpy()), wanted.element))
