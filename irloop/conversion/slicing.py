"""Operations that cut tensors apart and join them, in the other dialect."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from irloop.conversion import onnx_forms, openvino_forms
from irloop.conversion.framework import Conversion, exports, imports
from irloop.conversion.inputs import ints, length, needed_axis, needed_ints, needed_rank
from irloop.dialects.onnx import slicing as onnx
from irloop.dialects.onnx.scatter import ScatterElements, ScatterElements16
from irloop.dialects.openvino import slicing as ov
from irloop.dialects.openvino.elementwise import FloorMod
from irloop.dialects.openvino.scatter import ScatterElementsUpdate
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

#: A bound past every end, as ONNX writes it.
TO_THE_END = 2**63 - 1


@exports(ov.Concat)
def export_concat(c: Conversion, op: ov.Concat, *inputs: Value) -> Value:
    return c(onnx.Concat(op.axis), *inputs)


@imports(onnx.Concat1, onnx.Concat)
def import_concat(c: Conversion, op: onnx.Concat1 | onnx.Concat, *inputs: Value) -> Value:
    return c(ov.Concat(op.axis), *inputs)


@exports(ov.Split)
def export_split(c: Conversion, op: ov.Split, data: Value, axis: Value) -> list[Value]:
    at, count = needed_axis(c, axis), op.num_splits
    if count == 1:
        return [data]
    if c.opset >= 18:
        return list(c.emit(onnx.Split18(at, count), data, n_outputs=count).outputs)
    split = onnx.Split13(at) if c.opset >= 13 else onnx.Split(at)
    return list(c.emit(split, data, n_outputs=count).outputs)


@exports(ov.VariadicSplit)
def export_variadic_split(
    c: Conversion, op: ov.VariadicSplit, data: Value, axis: Value, lengths: Value
) -> list[Value]:
    """Split; the length -1 is resolved, or each part sliced where that needs the shape."""
    at, count = needed_axis(c, axis), len(c.node.outputs)
    known = ints(c, lengths)
    if known is None:
        if c.opset < 13:
            known = needed_ints(c, lengths, "list of lengths")
        else:
            return _split_by(c, data, at, _without_rest(c, data, at, lengths), count)
    dim = shape_of(data).dim(at)
    if -1 in known and isinstance(dim, int):
        known[known.index(-1)] = dim - sum(size for size in known if size != -1)
    if -1 in known:
        return _slices(c, data, at, known)
    return onnx_forms.split(c, data, at, known)


def _split_by(c: Conversion, data: Value, axis: int, lengths: Value, count: int) -> list[Value]:
    split = onnx.Split18(axis) if c.opset >= 18 else onnx.Split13(axis)
    return list(c.emit(split, data, lengths, n_outputs=count).outputs)


def _without_rest(c: Conversion, data: Value, axis: int, lengths: Value) -> Value:
    """The lengths, -1 replaced by what is left of the axis."""
    sizes = onnx_forms.as_list(c, lengths)
    dim = onnx_forms.gather(c, onnx_forms.shape(c, data), c.i64([axis]), 0)
    given = onnx_forms.reduce(c, "Sum", sizes, [0])
    rest = onnx_forms.sub(c, dim, onnx_forms.add(c, given, c.i64([1])))
    return onnx_forms.where(c, onnx_forms.less(c, sizes, c.i64([0])), rest, sizes)


def _slices(c: Conversion, data: Value, axis: int, lengths: list[int]) -> list[Value]:
    """Parts around one of unknown length, counted from both ends."""
    rest = lengths.index(-1)
    bounds = [0]
    for size in lengths[:rest]:
        bounds.append(bounds[-1] + size)
    behind = [TO_THE_END]
    total = 0
    for size in reversed(lengths[rest + 1 :]):
        total += size
        behind.append(-total or TO_THE_END)
    bounds += behind[::-1]
    return [onnx_forms.slice_(c, data, [low], [high], [axis]) for low, high in pairwise(bounds)]


@imports(onnx.Split1)
def import_split_1(
    c: Conversion, op: onnx.Split1, data: Value, sizes: Value | None = None
) -> list[Value]:
    if sizes is not None:
        return _variadic(c, data, op.axis, sizes)
    return _import_split(c, op.axis, op.split, data)


@imports(onnx.Split)
def import_split(c: Conversion, op: onnx.Split, data: Value) -> list[Value]:
    return _import_split(c, op.axis, op.split, data)


def _import_split(
    c: Conversion, axis: int, sizes: tuple[int, ...] | None, data: Value
) -> list[Value]:
    if sizes is None:
        return openvino_forms.split(c, data, axis, len(c.node.outputs))
    return openvino_forms.variadic_split(c, data, axis, sizes)


@imports(onnx.Split13)
def import_split_13(
    c: Conversion, op: onnx.Split13, data: Value, sizes: Value | None = None
) -> list[Value]:
    if sizes is not None:
        return _variadic(c, data, op.axis, sizes)
    return openvino_forms.split(c, data, op.axis, len(c.node.outputs))


@imports(onnx.Split18)
def import_split_18(
    c: Conversion, op: onnx.Split18, data: Value, sizes: Value | None = None
) -> list[Value]:
    """Split where the parts are equal, else VariadicSplit with a smaller last part."""
    if sizes is not None:
        return _variadic(c, data, op.axis, sizes)
    count = len(c.node.outputs)
    dim = shape_of(data).dim(op.axis)
    if isinstance(dim, int):
        if dim % count == 0:
            return openvino_forms.split(c, data, op.axis, count)
        chunk = -(-dim // count)
        chunks = [max(0, min(chunk, dim - chunk * part)) for part in range(count)]
        return openvino_forms.variadic_split(c, data, op.axis, chunks)
    if count == 1:
        return openvino_forms.split(c, data, op.axis, 1)
    whole = openvino_forms.as_list(c, openvino_forms.size_of(c, data, op.axis))
    rounded = openvino_forms.add(c, whole, c.i64([count - 1]))
    part = openvino_forms.divide(c, rounded, c.i64([count]))
    pieces = [part] * (count - 1) + [c.i64([-1])]
    return _variadic(c, data, op.axis, openvino_forms.concat(c, pieces, 0))


def _variadic(c: Conversion, data: Value, axis: int, sizes: Value) -> list[Value]:
    node = c.emit(ov.VariadicSplit(), data, c.i64(axis), sizes, n_outputs=len(c.node.outputs))
    return list(node.outputs)


@exports(ov.Slice)
def export_slice(
    c: Conversion,
    op: ov.Slice,
    data: Value,
    starts: Value,
    ends: Value,
    steps: Value,
    axes: Value | None = None,
) -> Value:
    first, last, strides = (onnx_forms.as_list(c, value) for value in (starts, ends, steps))
    chosen = None if axes is None else onnx_forms.as_list(c, axes)
    by_one = all(step == 1 for step in ints(c, strides) or [0])
    if chosen is None and not by_one:
        chosen = _first_axes(c, starts)
    return onnx_forms.slice_by(c, data, first, last, chosen, None if by_one else strides)


def _first_axes(c: Conversion, starts: Value) -> Value | None:
    count = length(starts)
    # An input that is left out in the middle is legal, but not every runtime takes it.
    return None if count is None else c.i64(list(range(count)))


@imports(onnx.Slice)
def import_slice(c: Conversion, op: onnx.Slice, data: Value) -> Value:
    axes = list(range(len(op.starts))) if op.axes is None else list(op.axes)
    return openvino_forms.slice_(c, data, op.starts, op.ends, axes)


@imports(onnx.Slice10)
def import_slice_10(
    c: Conversion,
    op: onnx.Slice10,
    data: Value,
    starts: Value,
    ends: Value,
    axes: Value | None = None,
    steps: Value | None = None,
) -> Value:
    first, last = (_list_of_i64(c, value) for value in (starts, ends))
    strides = _ones_like(c, first) if steps is None else _list_of_i64(c, steps)
    if axes is not None and ints(c, axes) is None and c.opset >= 8:
        return c(ov.Slice(), data, first, last, strides, _list_of_i64(c, axes))
    count = length(starts)
    if axes is None and count is None:
        if c.opset < 8:
            raise c.refuse("the number of its starts is not known", "write opset8")
        return c(ov.Slice(), data, first, last, strides)
    chosen = list(range(count or 0)) if axes is None else needed_ints(c, axes, "list of axes")
    return openvino_forms.slice_by(c, data, first, last, chosen, strides)


def _list_of_i64(c: Conversion, value: Value) -> Value:
    known = ints(c, value)
    if known is not None:
        return c.i64(known)
    return openvino_forms.as_list(c, openvino_forms.as_i64(c, value))


def _ones_like(c: Conversion, starts: Value) -> Value:
    count = length(starts)
    if count is not None:
        return c.i64([1] * count)
    return openvino_forms.broadcast(c, c.i64([1]), openvino_forms.shape_of(c, starts))


@exports(ov.SliceScatter)
def export_slice_scatter(
    c: Conversion,
    op: ov.SliceScatter,
    data: Value,
    updates: Value,
    starts: Value,
    ends: Value,
    steps: Value,
    axes: Value | None = None,
) -> Value:
    """The places of all elements are sliced as the data would be; there the updates go."""
    shape = onnx_forms.shape(c, data)
    count = onnx_forms.reduce(c, "Prod", shape, [0], keep=False)
    numbers = onnx_forms.range_(c, c.i64(0), count, c.i64(1))
    places = onnx_forms.reshape_to(c, numbers, shape, special_zero=c.opset < 14)
    chosen = _first_axes(c, starts) if axes is None else onnx_forms.as_list(c, axes)
    first, last, strides = (onnx_forms.as_list(c, value) for value in (starts, ends, steps))
    where = onnx_forms.slice_by(c, places, first, last, chosen, strides)
    flat = [onnx_forms.reshape(c, value, [-1]) for value in (data, where, updates)]
    scatter = ScatterElements16(0) if c.opset >= 16 else ScatterElements(0)
    written = c(scatter, *flat)
    return onnx_forms.reshape_to(c, written, shape, special_zero=c.opset < 14)


@imports(onnx.TensorScatter)
def import_tensor_scatter(
    c: Conversion,
    op: onnx.TensorScatter,
    cache: Value,
    update: Value,
    indices: Value | None = None,
) -> Value:
    """ScatterElementsUpdate along the axis, each batch item from its own index on."""
    f = openvino_forms
    rank = needed_rank(c, cache)
    at = op.axis % rank
    steps = f.range_(c, c.i64(0), f.size_of(c, update, at), c.i64(1))
    places = f.reshape(c, steps, [-1] + [1] * (rank - 1 - at))
    if indices is not None:
        starts = f.reshape(c, f.converted(c, indices, ElementType.I64), [-1] + [1] * (rank - 1))
        places = f.add(c, starts, places)
    if op.mode == "circular":
        places = c(FloorMod(), places, f.size_of(c, cache, at))
    where = f.broadcast(c, places, f.shape_of(c, update))
    return c(ScatterElementsUpdate(), cache, where, update, c.i64(at))


@dataclass(slots=True)
class _Position:
    """One axis of the input that a strided slice cuts; negative axes count from the end."""

    at: int
    axis: int


@dataclass(slots=True)
class _Plan:
    """A strided slice taken apart: what to slice, which axes to remove, which to insert."""

    sliced: list[_Position] = field(default_factory=list)
    shrunk: list[_Position] = field(default_factory=list)
    inserted: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, op: ov.StridedSlice, count: int) -> _Plan:
        """The plan of a slice with `count` positions."""

        def acts(mask: tuple[int, ...], at: int) -> bool:
            return at < len(mask) and mask[at] != 0

        plan = cls()
        ellipsis = next((at for at in range(count) if acts(op.ellipsis_mask, at)), count)
        before = list(range(ellipsis))
        behind = list(range(ellipsis + 1, count))
        # Behind an ellipsis axes are counted from the end, so the rank need not be known.
        axis = result = 0
        for at in before:
            if acts(op.new_axis_mask, at):
                plan.inserted.append(result)
                result += 1
                continue
            shrinks = acts(op.shrink_axis_mask, at)
            (plan.shrunk if shrinks else plan.sliced).append(_Position(at, axis))
            axis, result = axis + 1, result + (not shrinks)
        axis = result = 0
        for at in reversed(behind):
            if acts(op.new_axis_mask, at):
                result -= 1
                plan.inserted.append(result)
                continue
            shrinks = acts(op.shrink_axis_mask, at)
            axis, result = axis - 1, result - (not shrinks)
            (plan.shrunk if shrinks else plan.sliced).append(_Position(at, axis))
        return plan


@exports(ov.StridedSlice)
def export_strided_slice(
    c: Conversion,
    op: ov.StridedSlice,
    data: Value,
    begin: Value,
    end: Value,
    strides: Value | None = None,
) -> Value:
    """Slice, then Squeeze of the shrunk axes, then Unsqueeze of the new ones."""
    count = next((n for n in map(length, (begin, end)) if n is not None), None)
    if count is None:
        raise c.refuse("the number of its positions is not known", "declare the input shapes")
    plan = _Plan.of(op, count)
    bounds = _Bounds(c, op, count, begin, end, strides)
    data = bounds.applied(data, plan)
    if plan.shrunk:
        data = onnx_forms.squeeze(c, data, [item.axis for item in plan.shrunk])
    if plan.inserted:
        data = onnx_forms.unsqueeze(c, data, plan.inserted)
    return data


class _Bounds:
    """Begin, end and stride of each position, numbers where they are constant."""

    def __init__(
        self,
        c: Conversion,
        op: ov.StridedSlice,
        count: int,
        begin: Value,
        end: Value,
        strides: Value | None,
    ) -> None:
        self.c = c
        self.op = op
        self.lists = (begin, end)
        self.begin, self.end = ints(c, begin), ints(c, end)
        self.steps = strides
        self.strides = [1] * count if strides is None else ints(c, strides)

    def applied(self, data: Value, plan: _Plan) -> Value:
        """`data` sliced, rank unchanged."""
        positions = [item for item in plan.sliced if not self._is_whole(item.at)] + plan.shrunk
        if not positions:
            return data
        starts = self._values(0, positions, plan)
        ends = self._values(1, positions, plan)
        axes = self.c.i64([item.axis for item in positions])
        steps = self._steps(positions, plan)
        return onnx_forms.slice_by(self.c, data, starts, ends, axes, steps)

    def _steps(self, positions: list[_Position], plan: _Plan) -> Value | None:
        """The strides of these positions; None where all are 1."""
        c = self.c
        if self.strides is not None:
            steps = [1 if item in plan.shrunk else self.strides[item.at] for item in positions]
            return None if all(step == 1 for step in steps) else c.i64(steps)
        assert self.steps is not None
        at = c.i64([item.at for item in positions])
        given = onnx_forms.gather(c, onnx_forms.as_list(c, self.steps), at, 0)
        if not plan.shrunk:
            return given
        shrinks = c.constant([item in plan.shrunk for item in positions], ElementType.BOOLEAN)
        return onnx_forms.where(c, shrinks, c.i64([1] * len(positions)), given)

    def _is_open(self, which: int, at: int) -> bool:
        mask = (self.op.begin_mask, self.op.end_mask)[which]
        return at < len(mask) and mask[at] != 0

    def _is_whole(self, at: int) -> bool:
        begins = self._is_open(0, at) or (self.begin is not None and self.begin[at] == 0)
        by_one = self.strides is not None and self.strides[at] == 1
        return begins and self._is_open(1, at) and by_one

    def _values(self, which: int, positions: list[_Position], plan: _Plan) -> Value:
        """The starts (0) or ends (1) of these positions as an i64 list."""
        known = (self.begin, self.end)[which]
        shrunk = [item in plan.shrunk for item in positions]
        fixed = [
            self._fixed(which, item.at, shrinks, known)
            for item, shrinks in zip(positions, shrunk, strict=True)
        ]
        numbers = [number for number in fixed if number is not None]
        if len(numbers) == len(fixed):
            return self.c.i64(numbers)
        return self._computed(which, positions, shrunk, fixed)

    def _fixed(self, which: int, at: int, shrinks: bool, known: list[int] | None) -> int | None:
        if shrinks:
            if self.begin is None:
                return None
            begin = self.begin[at]
            return begin if which == 0 else (begin + 1 or TO_THE_END)
        if self._is_open(which, at):
            if self.strides is None:
                return None
            backwards = self.strides[at] < 0
            first, last = (TO_THE_END, -TO_THE_END) if backwards else (0, TO_THE_END)
            return last if which else first
        return None if known is None else known[at]

    def _computed(
        self, which: int, positions: list[_Position], shrunk: list[bool], fixed: list[int | None]
    ) -> Value:
        c = self.c
        at = c.i64([item.at for item in positions])
        given = onnx_forms.gather(c, onnx_forms.as_list(c, self.lists[which]), at, 0)
        if which == 1 and any(shrunk):
            begin = onnx_forms.gather(c, onnx_forms.as_list(c, self.lists[0]), at, 0)
            behind = onnx_forms.add(c, begin, c.i64([1]))
            is_last = onnx_forms.equal(c, begin, c.i64([-1]))
            behind = onnx_forms.where(c, is_last, c.i64([TO_THE_END]), behind)
            given = onnx_forms.where(c, c.constant(shrunk, ElementType.BOOLEAN), behind, given)
        if self.strides is None:
            given = self._opened(which, positions, shrunk, given)
        if all(number is None for number in fixed):
            return given
        mask = c.constant([number is not None for number in fixed], ElementType.BOOLEAN)
        numbers = c.i64([number or 0 for number in fixed])
        return onnx_forms.where(c, mask, numbers, given)

    def _opened(
        self, which: int, positions: list[_Position], shrunk: list[bool], given: Value
    ) -> Value:
        """Open bounds, which depend on a direction that is known only when the model runs."""
        c = self.c
        opens = [
            self._is_open(which, item.at) and not shrinks
            for item, shrinks in zip(positions, shrunk, strict=True)
        ]
        if not any(opens):
            return given
        assert self.steps is not None
        at = c.i64([item.at for item in positions])
        steps = onnx_forms.gather(c, onnx_forms.as_list(c, self.steps), at, 0)
        forwards, backwards = ((0, TO_THE_END), (TO_THE_END, -TO_THE_END))
        bounds = onnx_forms.where(
            c,
            onnx_forms.less(c, steps, c.i64([0])),
            c.i64([backwards[which]]),
            c.i64([forwards[which]]),
        )
        return onnx_forms.where(c, c.constant(opens, ElementType.BOOLEAN), bounds, given)
