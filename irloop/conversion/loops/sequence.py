"""Lowers ONNX sequences and optionals to tensors if their length or shape is known."""

from __future__ import annotations

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import (
    Converted,
    RefusedError,
    imports,
    takes_virtual,
)
from irloop.conversion.framework.virtual_values import (
    Growing,
    Items,
    Joined,
    Maybe,
    Ragged,
    Stacked,
    Virtual,
)
from irloop.conversion.loops.ragged import (
    as_ragged,
    concatenated,
    is_ragged,
    item_of_any_size,
    with_item,
    without_item,
)
from irloop.conversion.loops.stacks import as_stack, erased, inserted, joined
from irloop.dialects.onnx import sequence as onnx
from irloop.dialects.onnx.generate import ConstantOfShape
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import UNKNOWN_TYPE, ElementType

__all__: list[str] = []


def _index(c: Import, position: Converted | None) -> int | None:
    """Return the number in a constant position; None if the position is computed or omitted."""
    known = c.constant_of(position) if isinstance(position, Value) else None
    return None if known is None else int(known.reshape(-1)[0])


def _items(value: Converted | None, action: str) -> Items:
    if not isinstance(value, Items):
        named = repr(value.name) if isinstance(value, Value) else value or "nothing"
        reason = "the sequence's length or shape is known only when the model runs"
        raise RefusedError(f"{action} {named} is not supported: {reason}")
    return value


@takes_virtual
@imports(onnx.SequenceConstruct)
def construct(c: Import, op: onnx.SequenceConstruct, *inputs: Converted | None) -> Items:
    """Represent the result of SequenceConstruct by a list of the inputs."""
    values = [value for value in inputs if isinstance(value, Value)]
    if len(values) != len(inputs):
        raise c.refuse("a sequence of sequences cannot be represented by tensors")
    return Items(tuple(values))


@imports(onnx.SequenceEmpty)
def empty(c: Import, op: onnx.SequenceEmpty) -> Items:
    """Represent the result of SequenceEmpty by an empty list."""
    return Items(())


@takes_virtual
@imports(onnx.SequenceInsert)
def insert(
    c: Import,
    op: onnx.SequenceInsert,
    sequence: Converted,
    value: Converted,
    position: Value | None = None,
) -> Converted:
    """Return the sequence that SequenceInsert makes, as separate tensors or as one stacked tensor.

    One case differs: in the body of a loop that only appends to the sequence, the result holds only
    the item that this iteration appends. The loop joins the items of all iterations.
    """
    if not isinstance(value, Value):
        raise c.refuse("a sequence of sequences cannot be represented by tensors")
    if isinstance(sequence, Growing) and position is None and sequence.appended is None:
        return Growing(value)
    if isinstance(sequence, Joined):
        return Joined(joined(c, [sequence.tensor, value], sequence.axis), sequence.axis)
    at = None if position is None else _index(c, position)
    if isinstance(sequence, Items) and (position is None or at is not None):
        return _inserted(c, sequence, value, len(sequence.values) if at is None else at)
    if is_ragged(sequence, value):
        ragged = as_ragged(c, sequence, c.node.outputs[0].type)
        return with_item(c, ragged, value, position)
    stack = as_stack(c, sequence, c.node.outputs[0].type)
    return Stacked(inserted(c, stack.tensor, value, position))


def _inserted(c: Import, sequence: Items, tensor: Value, position: int) -> Items:
    values = list(sequence.values)
    if not -len(values) <= position <= len(values):
        raise c.refuse(f"position {position} is outside {sequence}")
    values.insert(position if position >= 0 else position + len(values), tensor)
    return Items(tuple(values))


@takes_virtual
@imports(onnx.SequenceErase)
def erase(
    c: Import, op: onnx.SequenceErase, sequence: Converted, position: Value | None = None
) -> Items | Ragged | Stacked:
    """Return the sequence without the item at `position`, as SequenceErase makes it.

    The items are separate tensors or one tensor. If `position` is omitted, the last item is
    removed.
    """
    index = -1 if position is None else _index(c, position)
    if not isinstance(sequence, Items) or index is None:
        if is_ragged(sequence):
            return without_item(c, as_ragged(c, sequence, c.node.outputs[0].type), position)
        stack = as_stack(c, sequence, c.node.outputs[0].type)
        return Stacked(erased(c, stack.tensor, position))
    values = list(sequence.values)
    if not -len(values) <= index < len(values):
        raise c.refuse(f"position {index} is outside {sequence}")
    del values[index]
    return Items(tuple(values))


@takes_virtual
@imports(onnx.SequenceAt)
def item_at(c: Import, op: onnx.SequenceAt, sequence: Converted, position: Value) -> Value:
    """Return the item that SequenceAt selects: the item itself, a Gather, or a slice.

    The item itself is used if the items are separate values and the position is constant. Stacked
    items are read by a Gather. Items of different sizes are concatenated, and the item is a slice
    of the result.
    """
    index = _index(c, position)
    if isinstance(sequence, Items) and index is not None:
        values = sequence.values
        if not -len(values) <= index < len(values):
            raise c.refuse(f"position {index} is outside {sequence}")
        return values[index]
    source = c.node.inputs[0]
    type = UNKNOWN_TYPE if source is None else source.type
    if is_ragged(sequence):
        return item_of_any_size(c, as_ragged(c, sequence, type), position)
    stack = as_stack(c, sequence, type)
    return c.gather(stack.tensor, c.as_scalar(position), 0)


@takes_virtual
@imports(onnx.SequenceLength)
def length(c: Import, op: onnx.SequenceLength, sequence: Converted) -> Value:
    """Write SequenceLength as a constant, or as the size of axis 0 if the items are stacked."""
    if isinstance(sequence, Stacked):
        return c.size_of(sequence.tensor, 0)
    if isinstance(sequence, Ragged):
        return c.size_of(sequence.sizes, 0)
    return c.i64(len(_items(sequence, "counting").values))


@imports(onnx.SplitToSequence)
def split(
    c: Import, op: onnx.SplitToSequence, value: Value, sizes: Value | None = None
) -> Items | Stacked:
    """Write SplitToSequence as a split into tensors, or as one tensor that stacks the parts.

    The parts are stacked along a new first axis if `sizes` is None or a ConstantOfShape of ones.
    Otherwise each part becomes a tensor; the conversion is refused if their number is not known.
    """
    shape = shape_of(value)
    if shape.rank is None:
        raise c.refuse("the rank of the split tensor is not known")
    axis = op.axis % shape.rank
    size = shape.dims[axis] if shape.dims is not None else None
    if sizes is None or _are_ones(c):
        moved = c.moved(value, axis, 0, shape.rank)
        keeps = sizes is not None or op.keepdims
        return Stacked(c.unsqueeze(moved, [axis + 1]) if keeps else moved)
    known = c.constant_of(sizes)
    many = shape_of(sizes)
    if known is None and many.rank == 1 and isinstance(many.dim(0), int):
        return Items(tuple(c.variadic_split_by(value, axis, sizes)))
    if known is None:
        raise c.refuse("the number of parts is not known", "make their sizes constant")
    parts = [int(item) for item in known.reshape(-1)]
    if known.ndim == 0:
        if not isinstance(size, int):
            raise c.refuse("the size of the split axis is not known")
        whole, rest = divmod(size, parts[0])
        parts = [parts[0]] * whole + ([rest] if rest else [])
    return Items(tuple(c.variadic_split(value, axis, parts)))


def _are_ones(c: Import) -> bool:
    """Return whether the sizes of the parts of a SplitToSequence are a ConstantOfShape of ones."""
    sizes = c.node.inputs[1]
    op = None if sizes is None else sizes.producer.op
    if not isinstance(op, ConstantOfShape) or op.value is None:
        return False
    return bool(op.value.numpy().reshape(-1)[0] == 1)


@takes_virtual
@imports(onnx.ConcatFromSequence)
def concat(c: Import, op: onnx.ConcatFromSequence, sequence: Converted) -> Value:
    """Join the items of a sequence along an existing or a new axis, as ConcatFromSequence does."""
    if isinstance(sequence, Joined):
        return sequence.tensor
    if isinstance(sequence, Ragged):
        return concatenated(c, sequence, op.axis, new_axis=bool(op.new_axis))
    if isinstance(sequence, Stacked):
        rank = shape_of(sequence.tensor).rank
        if rank is None:
            raise c.refuse("the rank of the items is not known")
        axis = op.axis % (rank if op.new_axis else rank - 1)
        moved = c.moved(sequence.tensor, 0, axis, rank)
        return moved if op.new_axis else _merged(c, moved, axis)
    values = list(_items(sequence, "joining").values)
    if not values:
        raise c.refuse("concatenating an empty sequence has no result")
    rank = shape_of(values[0]).rank
    if rank is None and op.axis < 0:
        raise c.refuse("the rank of the items is not known")
    if op.new_axis:
        axis = op.axis if rank is None else op.axis % (rank + 1)
        values = [c.unsqueeze(value, [axis]) for value in values]
        return c.concat(values, axis)
    return c.concat(values, op.axis if rank is None else op.axis % rank)


def _merged(c: Import, value: Value, axis: int) -> Value:
    """Merge `axis` with the next axis: reshape [.., n, p, ..] to [.., n * p, ..]."""
    shape = shape_of(value)
    dims = shape.static()
    if dims is not None:
        joined = [*dims[:axis], dims[axis] * dims[axis + 1], *dims[axis + 2 :]]
        return c.reshape_to(value, c.i64(joined), special_zero=False)
    rank = shape.rank
    assert rank is not None
    whole = c.shape_of(value)

    def part(positions: list[int]) -> Value:
        return c.gather(whole, c.i64(positions), 0)

    middle = c.multiply(part([axis]), part([axis + 1]))
    before, after = list(range(axis)), list(range(axis + 2, rank))
    pieces = [*([part(before)] if before else []), middle, *([part(after)] if after else [])]
    return c.reshape_to(value, c.concat(pieces, 0), special_zero=False)


@takes_virtual
@imports(onnx.Optional)
def optional(c: Import, op: onnx.Optional, content: Converted | None = None) -> Maybe:
    """Represent the result of Optional by a `Maybe` with the value that it holds, if any."""
    if content is not None and not isinstance(content, Value | Items | Ragged | Stacked):
        raise c.refuse(f"it creates an optional of {content}")
    return Maybe(content)


@takes_virtual
@imports(onnx.OptionalHasElement)
def has_element(c: Import, op: onnx.OptionalHasElement, value: Converted | None = None) -> Value:
    """Write OptionalHasElement as a constant, unless the answer is known only at run time."""
    if isinstance(value, Maybe) and value.filled is not None:
        return value.filled
    held = value.item if isinstance(value, Maybe) else value
    return c.constant(held is not None, ElementType.BOOLEAN)


@takes_virtual
@imports(onnx.OptionalGetElement)
def get_element(c: Import, op: onnx.OptionalGetElement, value: Converted) -> Converted:
    """Return the value that the optional holds, in place of OptionalGetElement."""
    held: Value | Virtual | None = value.item if isinstance(value, Maybe) else value
    if held is None:
        raise c.refuse("the optional is empty")
    return held
