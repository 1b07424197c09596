"""Converts operations that pick elements by index."""

from __future__ import annotations

from irloop import budget
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.loops.onnx_loop_builder import OnnxScanBuilder
from irloop.dialects.onnx import gather as onnx
from irloop.dialects.onnx.search import CumSum
from irloop.dialects.openvino import gather as ov
from irloop.dialects.openvino import search as ov_search
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import needed_axis, needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

#: Steps of the budget for writing out one step of a beam search, besides the cost of its nodes.
A_BEAM_STEP = 200


def _indices(c: Export, indices: Value) -> Value:
    """Convert indices to i64, unless they are i32 or i64, the two index types of ONNX."""
    if element_of(indices) in (ElementType.I32, ElementType.I64):
        return indices
    return c.as_i64(indices)


@exports(ov.Gather)
def export_gather(c: Export, op: ov.Gather, data: Value, indices: Value, axis: Value) -> Value:
    return c.gather(data, _indices(c, indices), needed_axis(c, axis))


@exports(ov.Gather7, ov.Gather8)
def export_gather_7(
    c: Export, op: ov.Gather7 | ov.Gather8, data: Value, indices: Value, axis: Value
) -> Value:
    along, where = needed_axis(c, axis), _indices(c, indices)
    if op.batch_dims == 0:
        return c.gather(data, where, along)
    return _gather_batched(c, data, where, along, op.batch_dims)


def _gather_batched(c: Export, data: Value, indices: Value, axis: int, batch_dims: int) -> Value:
    """Convert a Gather with batch axes to a GatherND.

    If `axis` is not the first axis after the batch axes, the data is transposed so that it is, and
    the result is transposed back.
    """
    rank, index_rank = needed_rank(c, data), needed_rank(c, indices, "indices")
    batch = batch_dims + index_rank if batch_dims < 0 else batch_dims
    if batch == 0:
        return c.gather(data, indices, axis)
    position = axis % rank
    moved = c.moved(data, position, batch, rank)
    coordinates = c.unsqueeze(c.as_i64(indices), [-1])
    gathered = _gather_nd(c, batch, moved, coordinates)
    picked = index_rank - batch
    before = position - batch
    total = rank - 1 + picked
    middle = list(range(batch + picked, batch + picked + before))
    order = [*range(batch), *middle, *range(batch, batch + picked)]
    return c.transpose(gathered, [*order, *range(len(order), total)])


@imports(onnx.Gather)
def import_gather(c: Import, op: onnx.Gather, data: Value, indices: Value) -> Value:
    return c.gather(data, indices, op.axis)


@exports(ov.GatherElements)
def export_gather_elements(c: Export, op: ov.GatherElements, data: Value, indices: Value) -> Value:
    return c(onnx.GatherElements(op.axis), data, _indices(c, indices))


@imports(onnx.GatherElements)
def import_gather_elements(
    c: Import, op: onnx.GatherElements, data: Value, indices: Value
) -> Value:
    if c.opset < 8:
        # The runtimes of opset7 accept no negative indices.
        indices = c.non_negative(indices, data, op.axis)
    return c(ov.GatherElements(op.axis), _as_far_as(c, data, indices, op.axis), indices)


def _as_far_as(c: Import, data: Value, indices: Value, axis: int) -> Value:
    """Cut the axes of `data` that are longer than those of `indices`; `axis` is never cut.

    ONNX Runtime accepts such data in GatherElements, but OpenVINO refuses it. Axes of unknown size
    stay as they are.
    """
    own, wanted = shape_of(data).dims or (), shape_of(indices).dims or ()
    for index, (size, end) in enumerate(zip(own, wanted, strict=False)):
        if index == axis % len(own) or not isinstance(size, int) or not isinstance(end, int):
            continue
        if end < size:
            # OpenVINO removes a Slice before GatherElements, and then refuses the sizes.
            data, _ = c.variadic_split(data, index, [end, size - end])
    return data


@exports(ov.GatherND)
def export_gather_nd(c: Export, op: ov.GatherND, data: Value, indices: Value) -> Value:
    """Write GatherND; a Reshape merges several batch axes into one, as GatherND-5 does."""
    gathered = _gather_nd(c, op.batch_dims, data, indices)
    if op.batch_dims < 2:
        return gathered
    dims = c.shape_of(gathered)
    rest = c.slice(dims, [op.batch_dims], [2**31 - 1], [0])
    pattern = c.concat([c.i64([-1]), rest], 0)
    return c.reshape_to(gathered, pattern)


@exports(ov.GatherND8)
def export_gather_nd_8(c: Export, op: ov.GatherND8, data: Value, indices: Value) -> Value:
    return _gather_nd(c, op.batch_dims, data, indices)


def _gather_nd(c: Export, batch_dims: int, data: Value, indices: Value) -> Value:
    where = c.as_i64(indices)
    if c.opset >= 12:
        return c(onnx.GatherND12(batch_dims), data, where)
    return c(onnx.GatherND(), data, _with_batch(c, where, batch_dims))


def _with_batch(c: Export, indices: Value, batch_dims: int) -> Value:
    """Prepend the batch coordinates to the indices, because GatherND-11 has no batch_dims."""
    if batch_dims == 0:
        return indices
    rank = needed_rank(c, indices, "indices")
    shape = c.shape_of(indices)
    column = c.concat([c.slice(shape, [0], [rank - 1], [0]), c.i64([1])], 0)
    pieces = []
    for axis in range(batch_dims):
        size = c.gather(shape, c.i64(axis), 0)
        numbers = c.numbers_below(size)
        upright = c.reshape(numbers, [-1] + [1] * (rank - 1 - axis))
        pieces.append(c.expand(upright, column))
    return c.concat([*pieces, indices], -1)


@exports(ov.GatherTree)
def export_gather_tree(
    c: Export, op: ov.GatherTree, ids: Value, parents: Value, lengths: Value, end: Value
) -> Value:
    """Write GatherTree as two GatherElements for each step, from the last step to the first.

    The first reads the token of each beam, and the second its parent, which is its beam in the step
    before. A Scan repeats them if the number of steps is not known.
    """
    element = element_of(ids)
    shape = c.shape_of(ids)
    steps = c.gather(shape, c.i64([0]), 0)
    token = c.reshape(end, [1])
    last = c.minimum(c.as_list(c.convert(lengths, ElementType.I64)), steps)
    last = c.unsqueeze(c.subtract(last, c.i64([1])), [1])
    shape = c.slice(shape, [1], [3], [0])
    width = c.gather(shape, c.i64(1), 0)
    beam = c.expand(c.numbers_below(width), shape)
    follow = _followed_beams if isinstance(shape_of(ids).dim(0), int) else _scanned_beams
    beams = follow(c, (ids, parents, last, token), beam)
    # Replace everything after the first end token by end tokens.
    ended = c.convert(c.equal(beams, token), ElementType.I32)
    behind = c.less(c.constant(0, ElementType.I32), c(CumSum(), ended, c.i64(0)))
    return c.convert(c.select(behind, token, beams), element)


Beams = tuple[Value, Value, Value, Value]


def _followed_beams(c: Export, tree: Beams, beam: Value) -> Value:
    ids, parents, last, token = tree
    tokens: list[Value] = []
    steps = shape_of(ids).dim(0)
    assert isinstance(steps, int)
    for step in reversed(range(steps)):
        budget.spend(A_BEAM_STEP, "following beams")
        here, above = (c.gather(item, c.i64(step), 0) for item in (ids, parents))
        place = (here, above, last, token)
        token_here, beam = _beam_step(c, place, c.i64([[step]]), beam)
        tokens.insert(0, c.unsqueeze(token_here, [0]))
    return c.concat(tokens, 0)


def _scanned_beams(c: Export, tree: Beams, beam: Value) -> Value:
    ids, parents, last, token = tree
    scan = OnnxScanBuilder(c, "steps")
    held = scan.state(beam, beam.type, "beam")
    size = c.size_of(ids, 0)
    numbers = c.numbers_below(size)
    here, above, step = (
        scan.scan(value, 0, True, name)
        for value, name in ((ids, "here"), (parents, "above"), (numbers, "step"))
    )
    place = (here, above, scan.capture(last), scan.capture(token))
    token_here, held.result = _beam_step(scan.inner, place, step, held.parameter)
    tokens = scan.stacked(token_here, 0, True)
    return scan.finish()[tokens]


def _beam_step(c: Export, place: Beams, step: Value, beam: Value) -> tuple[Value, Value]:
    """Emit the tokens of the beams in one step, and their beams in the step before."""
    here, above, last, token = place
    active = c.logical_not(c.less(last, step))
    token_here = c.select(active, c(onnx.GatherElements(1), here, beam), token)
    parent = c.convert(c(onnx.GatherElements(1), above, beam), ElementType.I64)
    return token_here, c.select(active, parent, beam)


@imports(onnx.GatherND)
def import_gather_nd(c: Import, op: onnx.GatherND, data: Value, indices: Value) -> Value:
    return _import_gather_nd(c, 0, data, indices)


@imports(onnx.GatherND12)
def import_gather_nd_12(c: Import, op: onnx.GatherND12, data: Value, indices: Value) -> Value:
    return _import_gather_nd(c, op.batch_dims, data, indices)


def _import_gather_nd(c: Import, batch_dims: int, data: Value, indices: Value) -> Value:
    if c.opset >= 8:
        return c(ov.GatherND8(batch_dims), data, indices)
    indices = c.non_negative_coordinates(indices, data, batch_dims)
    merged = c(ov.GatherND(batch_dims), data, indices)
    if batch_dims < 2:
        return merged
    batch = c.slice(c.shape_of(indices), [0], [batch_dims], [0])
    rest = c.slice(c.shape_of(merged), [1], [TO_THE_END], [0])
    pattern = c.concat([batch, rest], 0)
    return c.reshape_to(merged, pattern, special_zero=False)


@imports(onnx.Compress)
def import_compress(c: Import, op: onnx.Compress, data: Value, condition: Value) -> Value:
    """Compress -> Gather at the positions where the condition is true."""
    if op.axis is None:
        data = c.reshape(data, [-1])
    found = c(ov_search.NonZero(ElementType.I64), c.as_list(condition))
    indices = c.squeeze(found, [0])
    return c.gather(data, indices, 0 if op.axis is None else op.axis)
