"""Shape inference for slices and splits, shared by both dialects."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects import inference, shapes
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape
from irloop.kernels.bounds import bounded

__all__ = [
    "TO_THE_END",
    "SliceBounds",
    "equal_parts",
    "parts",
    "sliced",
    "sliced_dim",
    "sliced_list",
]

#: Bounds of at least this size reach to the end of any tensor.
TO_THE_END = 2**31 - 1


def sliced_dim(dim: Dim, start: Dim | None, end: Dim | None, step: Dim) -> Dim:
    """The length of the slice from `start` to `end` on an axis of size `dim`.

    A bound is None if it is open.
    """
    if not isinstance(step, int):
        return UNKNOWN_DIM
    if isinstance(dim, int):
        if step == 0 or not all(b is None or isinstance(b, int) for b in (start, end)):
            return UNKNOWN_DIM
        first = start if isinstance(start, int) else None
        last = end if isinstance(end, int) else None
        return len(range(*bounded(first, last, step, dim).indices(dim)))
    if abs(step) != 1:
        return UNKNOWN_DIM
    if _is_whole(start, end, step):
        return dim
    return shapes.shortened(dim, _missing(start, end)) if step == 1 else UNKNOWN_DIM


def _missing(start: Dim | None, end: Dim | None) -> int | None:
    """How many elements a slice leaves out at both ends; None if the size decides."""
    before = 0 if start is None else start
    after = 0 if end is None or (isinstance(end, int) and end >= TO_THE_END) else end
    if not isinstance(before, int) or not isinstance(after, int) or before < 0 or after > 0:
        return None
    return None if end == 0 else before - after


def _is_whole(start: Dim | None, end: Dim | None, step: int) -> bool:
    if step > 0:
        opens = start is None or start == 0
        return opens and (end is None or (isinstance(end, int) and end >= TO_THE_END))
    opens = start is None or start == -1 or (isinstance(start, int) and start >= TO_THE_END)
    return opens and (end is None or (isinstance(end, int) and end <= -TO_THE_END))


class SliceBounds:
    """The bounds and axes of a slice, as far as they are known."""

    def __init__(
        self,
        starts: tuple[Dim, ...] | None,
        ends: tuple[Dim, ...] | None,
        axes: tuple[int, ...] | None,
        steps: tuple[Dim, ...] | None,
    ) -> None:
        self.axes = axes
        count = 0 if axes is None else len(axes)
        self.starts = (UNKNOWN_DIM,) * count if starts is None else starts
        self.ends = (UNKNOWN_DIM,) * count if ends is None else ends
        self.steps = (UNKNOWN_DIM,) * count if steps is None else steps

    @classmethod
    def of_inputs(
        cls, args: Arguments, starts: int, ends: int, axes: int, steps: int
    ) -> SliceBounds:
        """The bounds given by the inputs at these positions; axes and steps are optional."""
        count = next(
            (n for n in (shapes.length_of(args, at) for at in (starts, ends)) if n is not None),
            None,
        )
        if args.has(axes):
            chosen = args.ints(axes)
        else:
            chosen = None if count is None else tuple(range(count))
        strides = args.dims(steps) if args.has(steps) else (1,) * len(chosen or ())
        return cls(args.dims(starts), args.dims(ends), chosen, strides)


def sliced(args: Arguments, shape: Shape, bounds: SliceBounds) -> Shape:
    """`shape` after slicing along axes.

    Raises:
        InferenceError: when lists differ in length, an axis is out of range or listed twice, or a
            step is 0.
    """
    if shape.dims is None:
        return UNKNOWN_SHAPE
    axes = bounds.axes
    if axes is None:
        return Shape.of_rank(len(shape.dims))
    lengths = {len(axes), len(bounds.starts), len(bounds.ends), len(bounds.steps)}
    if len(lengths) != 1:
        raise args.error("starts, ends, axes and steps differ in length", "lists of equal length")
    if 0 in bounds.steps:
        raise args.error("a step is 0", "another number", "0", kind="range")
    dims = list(shape.dims)
    seen: set[int] = set()
    for start, end, axis, step in zip(bounds.starts, bounds.ends, axes, bounds.steps, strict=True):
        position = inference.axis_in(args, axis, len(dims))
        assert position is not None
        if position in seen:
            raise args.error("axes are not unique", "different axes", str(list(axes)), kind="range")
        seen.add(position)
        dims[position] = sliced_dim(dims[position], start, end, step)
    return Shape(tuple(dims))


def sliced_list(dims: tuple[Dim, ...] | None, bounds: SliceBounds) -> tuple[Dim, ...] | None:
    """The elements that a slice selects from a 1-D tensor with the elements `dims`.

    The result is None if it is not known.
    """
    if dims is None or bounds.axes is None:
        return None
    if bounds.axes == ():
        return dims
    numbers = _numbers((*bounds.starts, *bounds.ends, *bounds.steps))
    if len(bounds.axes) != 1 or numbers is None or len(numbers) != 3 or numbers[2] == 0:
        return None
    start, end, step = numbers
    return dims[bounded(start, end, step, len(dims))]


def _numbers(dims: Sequence[Dim]) -> tuple[int, ...] | None:
    found = tuple(dim for dim in dims if isinstance(dim, int))
    return found if len(found) == len(dims) else None


def equal_parts(args: Arguments, shape: Shape, axis: int | None, count: int) -> list[Shape]:
    """The shapes of `count` equal parts into which `shape` is divided along `axis`.

    An `axis` of None is unknown; only the rank of the parts is known in that case.

    Raises:
        InferenceError: when the axis is out of range or its size is not divisible by `count`.
    """
    if count < 1:
        raise args.error("the number of parts is not positive", "1 or more", str(count))
    if axis is None:
        return [UNKNOWN_SHAPE if shape.rank is None else Shape.of_rank(shape.rank)] * count
    position = inference.axis_in(args, axis, shape.rank)
    if position is None:
        return [UNKNOWN_SHAPE] * count
    dim = shape.dim(position)
    if not isinstance(dim, int):
        return [shape.with_dim(position, dim if count == 1 else UNKNOWN_DIM)] * count
    if dim % count:
        raise args.error(f"axis {position} cannot be divided", f"a multiple of {count}", str(dim))
    return [shape.with_dim(position, dim // count)] * count


def parts(
    args: Arguments, shape: Shape, axis: int | None, lengths: tuple[Dim, ...] | None
) -> list[Shape]:
    """Return the shape of each output of a split of `shape` along `axis`.

    `lengths` holds the size of each part; one of them may be -1, for all that the others leave.
    None for `axis` or `lengths` means that they are unknown: the result then has unknown
    dimensions.

    Raises:
        InferenceError: when the axis is out of range or the lengths do not add up to its size.
    """
    if axis is None:
        unknown = UNKNOWN_SHAPE if shape.rank is None else Shape.of_rank(shape.rank)
        return [unknown] * args.n_outputs
    position = inference.axis_in(args, axis, shape.rank)
    if position is None:
        return [UNKNOWN_SHAPE] * args.n_outputs
    if lengths is None:
        return [shape.with_dim(position, UNKNOWN_DIM)] * args.n_outputs
    if len(lengths) != args.n_outputs:
        raise args.error("lengths and outputs differ", str(args.n_outputs), str(len(lengths)))
    sizes = _resolved(args, shape.dim(position), lengths)
    return [shape.with_dim(position, size) for size in sizes]


def _resolved(args: Arguments, dim: Dim, lengths: tuple[Dim, ...]) -> list[Dim]:
    text = ",".join(map(str, lengths))
    numbers = _numbers(lengths)
    if numbers is None:
        return [UNKNOWN_DIM if size == -1 else size for size in lengths]
    if numbers.count(-1) > 1 or any(size < -1 for size in numbers):
        raise args.error("the lengths are not valid", "sizes and at most one -1", text)
    rest = sum(size for size in numbers if size != -1)
    if not isinstance(dim, int):
        return [UNKNOWN_DIM if size == -1 else size for size in numbers]
    if rest > dim or (-1 not in numbers and rest != dim):
        raise args.error("lengths do not add up to the axis", str(dim), text)
    return [dim - rest if size == -1 else size for size in numbers]
