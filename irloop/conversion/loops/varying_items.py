"""Finds sequences to which a loop adds items whose sizes it decides anew in each iteration."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import zip_longest

from irloop.dialects.onnx import control_flow, sequence
from irloop.dialects.wire_ends import Entering
from irloop.dialects.wires import Wires
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Parameter
from irloop.graph.types import UNKNOWN_DIM, Dim, SequenceType
from irloop.graph.walk import entry_of

__all__ = ["adds_items_of_varying_size", "made_from"]

#: The inputs that decide the sizes of a result, by type of operation.
DECIDING = {
    "CenterCropPad": (1,),
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "OneHot": (1,),
    "Pad": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Tile": (1,),
    "TopK": (1,),
}
#: Operations whose result has as many elements as some condition holds for.
COUNTING = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Unique"})
#: Operations whose result has sizes of its own, whatever an operand grows to.
OWN_SIZES = frozenset({"Gemm", "GRU", "LSTM", "MatMul", "RNN", "Shape", "Size"})


def adds_items_of_varying_size(source: Wires, state: Entering, stacks: Set[Value]) -> bool:
    """Return whether the body of a loop inserts into a sequence what may have any size.

    `stacks` are parameters of the body that are sequences of items of one shape.

    That is so if the number of the iteration, or what a state holds, decides a size of the item.
    Items of which only the carried states are of unknown size are taken for items of one size.
    """
    assert state.result is not None
    sizes = _Sizes(source, stacks)
    return any(
        sizes.vary(item) or _grows(item, state.parameter, source)
        for item in _inserted(state.result, source)
    )


def _inserted(result: Value, source: Wires) -> Iterator[Value]:
    """Yield the items that become part of the sequence `result` in the body."""
    pending, seen = [result], set[Value]()
    while pending:
        value = pending.pop()
        if value in seen or not isinstance(value.type, SequenceType):
            continue
        seen.add(value)
        node = value.producer
        if isinstance(node.op, sequence.SequenceInsert):
            yield from (item for item in node.inputs[1:2] if item is not None)
        pending += made_from(node, value, source)


def made_from(node: Node, value: Value, source: Wires) -> list[Value]:
    """The values in a loop body that `value` is made from, also those in branches of an If."""
    if isinstance(node.op, Parameter):
        outer = None if value in source.graph.inputs else _around(value)
        return [] if outer is None else [outer]
    if isinstance(node.op, control_flow.If):
        at = node.outputs.index(value)
        return [body.graph.outputs[at] for body in node.bodies]
    return [item for item in node.inputs if item is not None]


def _around(parameter: Value) -> Value | None:
    """The value that a parameter of a branch or of an inner loop gets from outside."""
    entry = entry_of(parameter)
    if entry is None:
        return None
    owner, _, port = entry
    return owner.inputs[port.external]


def _captured(value: Value | None, source: Wires) -> Value | None:
    """The parameter of the body of `source` that a value in it, or in a branch, equals."""
    while value is not None and value not in source.graph.inputs:
        if not isinstance(value.producer.op, Parameter):
            return None
        value = _around(value)
    return value


class _Sizes:
    """Tells which values in the body of a loop may have another size in another iteration."""

    def __init__(self, source: Wires, stacks: Set[Value]) -> None:
        self._source, self._stacks = source, stacks
        self._states = {wire.parameter: wire for wire in source.states}

    def vary(self, tensor: Value) -> bool:
        """Return whether the sizes of a value depend on the iteration."""
        # A size of a value depends on sizes and on values: both are followed to their ends.
        pending: list[tuple[Value, bool]] = [(tensor, True)]
        seen: set[tuple[Value, bool]] = set()
        while pending:
            value, is_size = pending.pop()
            if (value, is_size) in seen:
                continue
            seen.add((value, is_size))
            state = self._states.get(value)
            if value is self._source.iteration or state is not None:
                if not is_size or (state is not None and self._changes(state)):
                    return True
                pending += [] if state is None else [(state.following, True)]
                continue
            node = value.producer
            if is_size and isinstance(node.op, sequence.SequenceAt):
                place, items = node.inputs[1], node.inputs[0]
                if place is not None and _captured(items, self._source) not in self._stacks:
                    pending.append((place, False))
                continue
            pending += self._causes(node, value, is_size)
        return False

    def _changes(self, state: Entering) -> bool:
        return _may_differ(state) or _grows(state.following, state.parameter, self._source)

    def _causes(self, node: Node, value: Value, is_size: bool) -> list[tuple[Value, bool]]:
        behind = made_from(node, value, self._source)
        if node.op.type in ("Shape", "Size"):
            return [] if is_size else [(item, True) for item in behind]
        if not is_size or node.op.type in COUNTING:
            return [(item, False) for item in behind]
        deciding = DECIDING.get(node.op.type, ())
        if node.op.type == "Slice" and _takes_one(node):
            deciding = ()
        known = [(at, item) for at, item in enumerate(node.inputs) if item is not None]
        if not deciding:
            return [(item, True) for item in behind]
        return [(item, at not in deciding) for at, item in known]


def _takes_one(node: Node) -> bool:
    """Return whether a Slice takes from i to i + 1: one element."""
    start, end = (_unpacked(value) for value in node.inputs[1:3])
    if start is None or end is None or end.producer.op.type != "Add":
        return False
    return start in [_unpacked(value) for value in end.producer.inputs]


def _unpacked(value: Value | None) -> Value | None:
    """The number that a list of one number holds."""
    while value is not None and value.producer.op.type in ("Unsqueeze", "Reshape", "Identity"):
        value = value.producer.inputs[0]
    return value


def _may_differ(state: Entering) -> bool:
    """Return whether a state begins with a known size, and goes on with another known size."""
    before, after = (shape_of(value).dims for value in (state.outer, state.following))
    if before is None or after is None:
        return False
    pairs = zip_longest(before, after, fillvalue=UNKNOWN_DIM)
    return any(_is_known(one) and _is_known(other) and one != other for one, other in pairs)


def _is_known(dim: Dim) -> bool:
    return isinstance(dim, int) or dim.symbol is not None


def _grows(result: Value, parameter: Value, source: Wires) -> bool:
    """Return whether `result` is the state `parameter`, or an item of it, and something behind."""
    pending, seen = [(result, False)], set[tuple[Value, bool]]()
    while pending:
        value, is_longer = pending.pop()
        if (value, is_longer) in seen:
            continue
        seen.add((value, is_longer))
        if value is parameter:
            if is_longer:
                return True
            continue
        node = value.producer
        if node.op.type not in OWN_SIZES:
            longer = is_longer or node.op.type == "Concat"
            pending += [(item, longer) for item in made_from(node, value, source)]
    return False
