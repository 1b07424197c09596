"""Converts StridedSlice to ONNX: a Slice, a Squeeze of shrunk axes, an Unsqueeze of new axes."""

from __future__ import annotations

from dataclasses import dataclass, field

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.openvino import slicing as ov
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import ints, length
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@dataclass(slots=True)
class _Position:
    """An axis of a strided slice; `at` is the position of its entry in the bounds and strides."""

    at: int
    axis: int


@dataclass(slots=True)
class _Plan:
    """The parts of a strided slice: ranges to slice, axes to remove, axes to insert."""

    sliced: list[_Position] = field(default_factory=list)
    shrunk: list[_Position] = field(default_factory=list)
    inserted: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, op: ov.StridedSlice, count: int) -> _Plan:
        """Plan a StridedSlice whose bounds and masks have `count` positions."""

        def acts(mask: tuple[int, ...], position: int) -> bool:
            return position < len(mask) and mask[position] != 0

        plan = cls()
        ellipsis = next(
            (position for position in range(count) if acts(op.ellipsis_mask, position)), count
        )
        before = list(range(ellipsis))
        behind = list(range(ellipsis + 1, count))
        # Positions before the ellipsis count axes from the start. Those after it count from the
        # end, because the rank may be unknown.
        axis = result = 0
        for position in before:
            if acts(op.new_axis_mask, position):
                plan.inserted.append(result)
                result += 1
                continue
            shrinks = acts(op.shrink_axis_mask, position)
            (plan.shrunk if shrinks else plan.sliced).append(_Position(position, axis))
            axis, result = axis + 1, result + (not shrinks)
        axis = result = 0
        for position in reversed(behind):
            if acts(op.new_axis_mask, position):
                result -= 1
                plan.inserted.append(result)
                continue
            shrinks = acts(op.shrink_axis_mask, position)
            axis, result = axis - 1, result - (not shrinks)
            (plan.shrunk if shrinks else plan.sliced).append(_Position(position, axis))
        return plan


@exports(ov.StridedSlice)
def export_strided_slice(
    c: Export,
    op: ov.StridedSlice,
    data: Value,
    begin: Value,
    end: Value,
    strides: Value | None = None,
) -> Value:
    """Write StridedSlice as Slice, then Squeeze the shrunk axes, and Unsqueeze the new axes."""
    count = next((n for n in map(length, (begin, end)) if n is not None), None)
    if count is None:
        raise c.refuse("the lengths of its begin and end are not known", "declare the input shapes")
    plan = _Plan.of(op, count)
    bounds = _Bounds(c, op, count, begin, end, strides)
    data = bounds.applied(data, plan)
    if plan.shrunk:
        data = c.squeeze(data, [item.axis for item in plan.shrunk])
    if plan.inserted:
        data = c.unsqueeze(data, plan.inserted)
    return data


class _Bounds:
    """The begin, end and stride of each entry of a StridedSlice.

    `begin`, `end` and `strides` are lists of numbers if they are constant, otherwise None.
    """

    def __init__(
        self,
        c: Export,
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
        """Emit a Slice of `data` that applies all bounds; shrunk axes remain, with size 1."""
        positions = [item for item in plan.sliced if not self._is_whole(item.at)] + plan.shrunk
        if not positions:
            return data
        starts = self._values(0, positions, plan)
        ends = self._values(1, positions, plan)
        axes = self.c.i64([item.axis for item in positions])
        steps = self._steps(positions, plan)
        return self.c.slice_by(data, starts, ends, axes, steps)

    def _steps(self, positions: list[_Position], plan: _Plan) -> Value | None:
        """Return the strides of the axes at `positions`; None if all are known to be 1.

        An axis that is shrunk to one element has stride 1, whatever the strides input contains.
        """
        c = self.c
        if self.strides is not None:
            steps = [1 if item in plan.shrunk else self.strides[item.at] for item in positions]
            return None if all(step == 1 for step in steps) else c.i64(steps)
        assert self.steps is not None
        at = c.i64([item.at for item in positions])
        strides = c.gather(c.as_list(self.steps), at, 0)
        if not plan.shrunk:
            return strides
        shrinks = c.constant([item in plan.shrunk for item in positions], ElementType.BOOLEAN)
        return c.select(shrinks, c.i64([1] * len(positions)), strides)

    def _is_open(self, which: int, at: int) -> bool:
        mask = (self.op.begin_mask, self.op.end_mask)[which]
        return at < len(mask) and mask[at] != 0

    def _is_whole(self, index: int) -> bool:
        begins = self._is_open(0, index) or (self.begin is not None and self.begin[index] == 0)
        by_one = self.strides is not None and self.strides[index] == 1
        return begins and self._is_open(1, index) and by_one

    def _values(self, which: int, positions: list[_Position], plan: _Plan) -> Value:
        """The starts (if `which` is 0) or ends (1) at these positions, as an i64 list."""
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

    def _fixed(
        self, which: int, position: int, shrinks: bool, known: list[int] | None
    ) -> int | None:
        if shrinks:
            if self.begin is None:
                return None
            begin = self.begin[position]
            return begin if which == 0 else (begin + 1 or TO_THE_END)
        if self._is_open(which, position):
            if self.strides is None:
                return None
            backwards = self.strides[position] < 0
            first, last = (TO_THE_END, -TO_THE_END) if backwards else (0, TO_THE_END)
            return last if which else first
        return None if known is None else known[position]

    def _computed(
        self, which: int, positions: list[_Position], shrunk: list[bool], fixed: list[int | None]
    ) -> Value:
        c = self.c
        indices = c.i64([item.at for item in positions])
        bounds = c.gather(c.as_list(self.lists[which]), indices, 0)
        if which == 1 and any(shrunk):
            begin = c.gather(c.as_list(self.lists[0]), indices, 0)
            behind = c.add(begin, c.i64([1]))
            is_last = c.equal(begin, c.i64([-1]))
            behind = c.select(is_last, c.i64([TO_THE_END]), behind)
            bounds = c.select(c.constant(shrunk, ElementType.BOOLEAN), behind, bounds)
        if self.strides is None:
            bounds = self._opened(which, positions, shrunk, bounds)
        if all(number is None for number in fixed):
            return bounds
        mask = c.constant([number is not None for number in fixed], ElementType.BOOLEAN)
        numbers = c.i64([number or 0 for number in fixed])
        return c.select(mask, numbers, bounds)

    def _opened(
        self, which: int, positions: list[_Position], shrunk: list[bool], bound: Value
    ) -> Value:
        """Replace the masked bounds in `bound` by the ends of their axes.

        `bound` holds the begins of the slices if `which` is 0, and their ends if it is 1. A masked
        begin becomes the low end of its axis if the stride is positive, and the high end if it is
        negative. For a masked end it is the other way round. The bounds of axes that `shrunk` marks
        as removed are kept.
        """
        c = self.c
        opens = [
            self._is_open(which, item.at) and not shrinks
            for item, shrinks in zip(positions, shrunk, strict=True)
        ]
        if not any(opens):
            return bound
        assert self.steps is not None
        at = c.i64([item.at for item in positions])
        steps = c.gather(c.as_list(self.steps), at, 0)
        forwards, backwards = ((0, TO_THE_END), (TO_THE_END, -TO_THE_END))
        bounds = c.select(
            c.less(steps, c.i64([0])),
            c.i64([backwards[which]]),
            c.i64([forwards[which]]),
        )
        return c.select(c.constant(opens, ElementType.BOOLEAN), bounds, bound)
