"""Converts operations that pick elements by index."""

from __future__ import annotations

from irloop import budget
from irloop.conversion.forms import onnx_forms, openvino_forms
from irloop.conversion.framework.known_inputs import needed_axis, needed_rank
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.conversion.loops.onnx_loop_builder import OnnxScanBuilder
from irloop.dialects.onnx import gather as onnx
from irloop.dialects.onnx.search import CumSum
from irloop.dialects.openvino import gather as ov
from irloop.dialects.openvino import search as ov_search
from irloop.dialects.slices import TO_THE_END
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

#: Steps of the budget for writing out one step of a beam search, besides the cost of its nodes.
A_BEAM_STEP = 200


def _indices(c: Conversion, indices: Value) -> Value:
    """Convert indices to i64, unless they are i32 or i64, the two index types of ONNX."""
    if element_of(indices) in (ElementType.I32, ElementType.I64):
        return indices
    return onnx_forms.as_i64(c, indices)


@exports(ov.Gather)
def export_gather(c: Conversion, op: ov.Gather, data: Value, indices: Value, axis: Value) -> Value:
    return onnx_forms.gather(c, data, _indices(c, indices), needed_axis(c, axis))


@exports(ov.Gather7, ov.Gather8)
def export_gather_7(
    c: Conversion, op: ov.Gather7 | ov.Gather8, data: Value, indices: Value, axis: Value
) -> Value:
    at, where = needed_axis(c, axis), _indices(c, indices)
    if op.batch_dims == 0:
        return onnx_forms.gather(c, data, where, at)
    return _gather_batched(c, data, where, at, op.batch_dims)


def _gather_batched(
    c: Conversion, data: Value, indices: Value, axis: int, batch_dims: int
) -> Value:
    """Convert a Gather with batch axes to a GatherND.

    If `axis` is not the first axis after the batch axes, the data is transposed so that it is, and
    the result is transposed back.
    """
    rank, index_rank = needed_rank(c, data), needed_rank(c, indices, "indices")
    batch = batch_dims + index_rank if batch_dims < 0 else batch_dims
    if batch == 0:
        return onnx_forms.gather(c, data, indices, axis)
    at = axis % rank
    others = [i for i in range(rank) if i != at]
    moved = onnx_forms.transpose(c, data, [*others[:batch], at, *others[batch:]])
    coordinates = onnx_forms.unsqueeze(c, onnx_forms.as_i64(c, indices), [-1])
    found = _gather_nd(c, batch, moved, coordinates)
    picked = index_rank - batch
    before = at - batch
    total = rank - 1 + picked
    middle = list(range(batch + picked, batch + picked + before))
    order = [*range(batch), *middle, *range(batch, batch + picked)]
    return onnx_forms.transpose(c, found, [*order, *range(len(order), total)])


@imports(onnx.Gather)
def import_gather(c: Conversion, op: onnx.Gather, data: Value, indices: Value) -> Value:
    return openvino_forms.gather(c, data, indices, op.axis)


@exports(ov.GatherElements)
def export_gather_elements(
    c: Conversion, op: ov.GatherElements, data: Value, indices: Value
) -> Value:
    return c(onnx.GatherElements(op.axis), data, _indices(c, indices))


@imports(onnx.GatherElements)
def import_gather_elements(
    c: Conversion, op: onnx.GatherElements, data: Value, indices: Value
) -> Value:
    if c.opset < 8:
        # The runtimes of opset7 accept no negative indices.
        indices = openvino_forms.non_negative(c, indices, data, op.axis)
    return c(ov.GatherElements(op.axis), _as_far_as(c, data, indices, op.axis), indices)


def _as_far_as(c: Conversion, data: Value, indices: Value, axis: int) -> Value:
    """Cut the axes of `data` that are longer than those of `indices`; `axis` is never cut.

    ONNX Runtime accepts such data in GatherElements, but OpenVINO refuses it. Axes of unknown size
    stay as they are.
    """
    own, wanted = shape_of(data).dims or (), shape_of(indices).dims or ()
    for at, (size, end) in enumerate(zip(own, wanted, strict=False)):
        if at != axis % len(own) and isinstance(size, int) and isinstance(end, int) and end < size:
            # OpenVINO removes a Slice before GatherElements, and then refuses the sizes.
            data, _ = openvino_forms.variadic_split(c, data, at, [end, size - end])
    return data


@exports(ov.GatherND)
def export_gather_nd(c: Conversion, op: ov.GatherND, data: Value, indices: Value) -> Value:
    """Write GatherND; a Reshape merges several batch axes into one, as GatherND-5 does."""
    found = _gather_nd(c, op.batch_dims, data, indices)
    if op.batch_dims < 2:
        return found
    dims = onnx_forms.shape_of(c, found)
    rest = onnx_forms.slice_(c, dims, [op.batch_dims], [2**31 - 1], [0])
    pattern = onnx_forms.concat(c, [c.i64([-1]), rest], 0)
    return onnx_forms.reshape_to(c, found, pattern)


@exports(ov.GatherND8)
def export_gather_nd_8(c: Conversion, op: ov.GatherND8, data: Value, indices: Value) -> Value:
    return _gather_nd(c, op.batch_dims, data, indices)


def _gather_nd(c: Conversion, batch_dims: int, data: Value, indices: Value) -> Value:
    where = onnx_forms.as_i64(c, indices)
    if c.opset >= 12:
        return c(onnx.GatherND12(batch_dims), data, where)
    return c(onnx.GatherND(), data, _with_batch(c, where, batch_dims))


def _with_batch(c: Conversion, indices: Value, batch_dims: int) -> Value:
    """Prepend the batch coordinates to the indices, because GatherND-11 has no batch_dims."""
    if batch_dims == 0:
        return indices
    rank = needed_rank(c, indices, "indices")
    shape = onnx_forms.shape_of(c, indices)
    column = onnx_forms.concat(
        c, [onnx_forms.slice_(c, shape, [0], [rank - 1], [0]), c.i64([1])], 0
    )
    pieces = []
    for axis in range(batch_dims):
        size = onnx_forms.gather(c, shape, c.i64(axis), 0)
        numbers = onnx_forms.range_(c, c.i64(0), size, c.i64(1))
        upright = onnx_forms.reshape(c, numbers, [-1] + [1] * (rank - 1 - axis))
        pieces.append(onnx_forms.expand(c, upright, column))
    return onnx_forms.concat(c, [*pieces, indices], -1)


@exports(ov.GatherTree)
def export_gather_tree(
    c: Conversion, op: ov.GatherTree, ids: Value, parents: Value, lengths: Value, end: Value
) -> Value:
    """Write GatherTree as two GatherElements for each step, from the last step to the first.

    The first reads the token of each beam, and the second its parent, which is its beam in the step
    before. A Scan repeats them if the number of steps is not known.
    """
    f = onnx_forms
    element = element_of(ids)
    shape = f.shape_of(c, ids)
    steps = f.gather(c, shape, c.i64([0]), 0)
    token = f.reshape(c, end, [1])
    last = f.minimum(c, f.as_list(c, f.convert(c, lengths, ElementType.I64)), steps)
    last = f.unsqueeze(c, f.subtract(c, last, c.i64([1])), [1])
    shape = f.slice_(c, shape, [1], [3], [0])
    width = f.gather(c, shape, c.i64(1), 0)
    beam = f.expand(c, f.range_(c, c.i64(0), width, c.i64(1)), shape)
    follow = _followed_beams if isinstance(shape_of(ids).dim(0), int) else _scanned_beams
    beams = follow(c, (ids, parents, last, token), beam)
    # Replace everything after the first end token by end tokens.
    ended = f.convert(c, f.equal(c, beams, token), ElementType.I32)
    behind = f.less(c, c.constant(0, ElementType.I32), c(CumSum(), ended, c.i64(0)))
    return f.convert(c, f.select(c, behind, token, beams), element)


Beams = tuple[Value, Value, Value, Value]


def _followed_beams(c: Conversion, tree: Beams, beam: Value) -> Value:
    ids, parents, last, token = tree
    found: list[Value] = []
    steps = shape_of(ids).dim(0)
    assert isinstance(steps, int)
    for step in reversed(range(steps)):
        budget.spend(A_BEAM_STEP, "following beams")
        here, above = (onnx_forms.gather(c, item, c.i64(step), 0) for item in (ids, parents))
        place = (here, above, last, token)
        token_here, beam = _beam_step(c, place, c.i64([[step]]), beam)
        found.insert(0, onnx_forms.unsqueeze(c, token_here, [0]))
    return onnx_forms.concat(c, found, 0)


def _scanned_beams(c: Conversion, tree: Beams, beam: Value) -> Value:
    ids, parents, last, token = tree
    scan = OnnxScanBuilder(c, "steps")
    held = scan.state(beam, beam.type, "beam")
    size = onnx_forms.gather(c, onnx_forms.shape_of(c, ids), c.i64(0), 0)
    numbers = onnx_forms.range_(c, c.i64(0), size, c.i64(1))
    here, above, step = (
        scan.scan(value, 0, True, name)
        for value, name in ((ids, "here"), (parents, "above"), (numbers, "step"))
    )
    place = (here, above, scan.capture(last), scan.capture(token))
    token_here, held.result = _beam_step(scan.inner, place, step, held.parameter)
    tokens = scan.stacked(token_here, 0, True)
    return scan.finish()[tokens]


def _beam_step(c: Conversion, place: Beams, step: Value, beam: Value) -> tuple[Value, Value]:
    """Emit the tokens of the beams in one step, and their beams in the step before."""
    f = onnx_forms
    here, above, last, token = place
    active = f.logical_not(c, f.less(c, last, step))
    token_here = f.select(c, active, c(onnx.GatherElements(1), here, beam), token)
    parent = f.convert(c, c(onnx.GatherElements(1), above, beam), ElementType.I64)
    return token_here, f.select(c, active, parent, beam)


@imports(onnx.GatherND)
def import_gather_nd(c: Conversion, op: onnx.GatherND, data: Value, indices: Value) -> Value:
    return _import_gather_nd(c, 0, data, indices)


@imports(onnx.GatherND12)
def import_gather_nd_12(c: Conversion, op: onnx.GatherND12, data: Value, indices: Value) -> Value:
    return _import_gather_nd(c, op.batch_dims, data, indices)


def _import_gather_nd(c: Conversion, batch_dims: int, data: Value, indices: Value) -> Value:
    if c.opset >= 8:
        return c(ov.GatherND8(batch_dims), data, indices)
    indices = openvino_forms.non_negative_coordinates(c, indices, data, batch_dims)
    merged = c(ov.GatherND(batch_dims), data, indices)
    if batch_dims < 2:
        return merged
    batch = openvino_forms.slice_(c, openvino_forms.shape_of(c, indices), [0], [batch_dims], [0])
    rest = openvino_forms.slice_(c, openvino_forms.shape_of(c, merged), [1], [TO_THE_END], [0])
    pattern = openvino_forms.concat(c, [batch, rest], 0)
    return openvino_forms.reshape_to(c, merged, pattern, special_zero=False)


@imports(onnx.Compress)
def import_compress(c: Conversion, op: onnx.Compress, data: Value, condition: Value) -> Value:
    """Compress -> Gather at the positions where the condition is true."""
    if op.axis is None:
        data = openvino_forms.reshape(c, data, [-1])
    found = c(ov_search.NonZero(ElementType.I64), openvino_forms.as_list(c, condition))
    indices = openvino_forms.squeeze(c, found, [0])
    return openvino_forms.gather(c, data, indices, 0 if op.axis is None else op.axis)
