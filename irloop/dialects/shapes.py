"""Shape inference shared by both dialects: reshape, squeeze, broadcast, concatenate."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from irloop.dialects import inference
from irloop.graph.arguments import Arguments
from irloop.graph.types import (
    LARGEST_SIZE,
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    Dim,
    DynamicDim,
    Shape,
    TensorType,
    broadcast_shapes,
)

#: Maximum number of elements of a list that holds a shape or sizes; inference folds no longer
#: lists.
LONGEST = 4096

#: The names of sizes of states begin with this.
SIZE_OF = "size of "

#: Such a name, and what was added to the size. A model may have other names that begin so.
_STATE_SIZE = re.compile(rf"({SIZE_OF}[0-9]+_[0-9]+)(?: \+ ([0-9]{{1,18}}))?")

__all__ = [
    "LONGEST",
    "SIZE_OF",
    "broadcast_to",
    "concatenated",
    "flattened",
    "joined_dims",
    "kept_dims",
    "known",
    "length_of",
    "multiplied",
    "repeated_dims",
    "reshaped",
    "shape_from",
    "shortened",
    "squeezed",
    "tiled",
    "total",
    "transposed",
    "unsqueezed",
]


def known(dims: tuple[Dim, ...] | None) -> tuple[int, ...] | None:
    """The dimensions as integers, or None if one of them is unknown."""
    return None if dims is None else Shape(dims).static()


def multiplied(dims: Sequence[Dim]) -> Dim:
    """The product of dimensions; a symbolic dimension is kept if the others multiply to 1."""
    number = math.prod(dim for dim in dims if isinstance(dim, int))
    rest = [dim for dim in dims if not isinstance(dim, int)]
    if number == 0 or not rest:
        return number
    return rest[0] if number == 1 and len(rest) == 1 else UNKNOWN_DIM


def total(dims: Sequence[Dim]) -> Dim:
    """The sum of dimensions; a symbolic dimension is kept if the others add up to 0.

    The size of a state keeps its name, too, with what is added to it.
    """
    number = sum(dim for dim in dims if isinstance(dim, int))
    rest = [dim for dim in dims if not isinstance(dim, int)]
    if not rest:
        return number
    if len(rest) > 1:
        return UNKNOWN_DIM
    return rest[0] if number == 0 else _added(rest[0], number)


def shortened(dim: Dim, number: int | None) -> Dim:
    """A dimension without `number` elements, if it is known to have as many."""
    return UNKNOWN_DIM if number is None else _added(dim, -number)


def _added(dim: Dim, number: int) -> Dim:
    """The size of a state with `number` elements more; unknown for any other dimension.

    A size of which more would be taken than was added to it is not known, either.
    """
    size = _STATE_SIZE.fullmatch(dim.symbol or "") if isinstance(dim, DynamicDim) else None
    plus = -1 if size is None else int(size[2] or 0) + number
    if size is None or plus < 0:
        return UNKNOWN_DIM
    return DynamicDim(symbol=f"{size[1]} + {plus}" if plus else size[1])


def length_of(args: Arguments, position: int) -> int | None:
    """The number of elements of a list input (1 for a scalar), or None if unknown.

    Raises:
        InferenceError: when the input is not a list.
    """
    shape = args.shape(position)
    if shape.rank is not None and shape.rank > 1:
        raise args.error(f"input {position} is not a list", "rank 0 or 1", str(shape))
    return shape.count()


def shape_from(args: Arguments, position: int) -> Shape:
    """The shape given by an integer list input, as far as it is known."""
    if (args.rank(position) or 0) > 1:
        raise args.error("the shape is not a list", "rank 1", str(args.shape(position)))
    dims = args.dims(position)
    if dims is not None:
        return Shape(dims)
    length = length_of(args, position)
    if length is not None and length > LONGEST:
        raise args.error("the shape has more dimensions than any tensor", str(LONGEST), str(length))
    return UNKNOWN_SHAPE if length is None else Shape.of_rank(length)


def kept_dims(args: Arguments) -> tuple[Dim, ...] | None:
    """Infer the elements of the output of an operation that only changes the shape.

    They are the elements of input 0, as far as these are known. Returns None if no element is
    known, or if the output does not have rank 0 or 1.
    """
    type = args.outputs[0]
    rank = type.shape.rank if isinstance(type, TensorType) else None
    return args.dims(0) if rank is not None and rank <= 1 else None


def repeated_dims(args: Arguments) -> tuple[Dim, ...] | None:
    """Infer the elements of the output of an operation that broadcasts input 0.

    They are the elements of input 0, as far as these are known. If there is only one, it is
    repeated. Returns None if no element is known, if the output is not a vector of known length, or
    if input 0 has neither one element nor as many as the output.
    """
    dims, type = args.dims(0), args.outputs[0]
    if dims is None or not isinstance(type, TensorType) or type.shape.rank != 1:
        return None
    count = type.shape.count()
    if count is None or len(dims) not in (1, count):
        return None
    return dims if len(dims) == count else dims * count


def reshaped(
    args: Arguments, shape: Shape, pattern: tuple[Dim, ...] | None, *, special_zero: bool
) -> Shape:
    """`shape` reshaped to `pattern`: -1 is inferred; with `special_zero`, 0 copies a dimension.

    Raises:
        InferenceError: when the pattern is invalid, or the number of elements does not match, or is
            too large to be a size.
    """
    if pattern is None:
        return UNKNOWN_SHAPE
    text = ",".join(map(str, pattern))
    wrong = [dim for dim in pattern if isinstance(dim, int) and dim < -1]
    if wrong or sum(dim == -1 for dim in pattern) > 1:
        raise args.error("the target shape is not valid", "sizes and at most one -1", text)
    if (shape.count() or 0) > LARGEST_SIZE:
        raise args.error("the input has too many elements", f"at most {LARGEST_SIZE}", str(shape))
    copied = {at for at, dim in enumerate(pattern) if dim == 0} if special_zero else set()
    if shape.rank is not None and copied and max(copied) >= shape.rank:
        raise args.error("0 copies a dimension that the input lacks", f"{shape}", text)
    dims = [shape.dim(at) if at in copied else dim for at, dim in enumerate(pattern)]
    if shape.dims is None:
        return Shape(tuple(UNKNOWN_DIM if dim == -1 else dim for dim in dims))
    source = [dim for at, dim in enumerate(shape.dims) if at not in copied]
    target = [dim for at, dim in enumerate(dims) if at not in copied and dim != -1]
    if -1 in dims:
        dims[dims.index(-1)] = _remaining(args, source, target, text)
    elif _differ(multiplied(source), multiplied(target)):
        raise args.error("the number of elements changes", f"as many as in {shape}", f"[{text}]")
    return Shape(tuple(dims))


def _differ(left: Dim, right: Dim) -> bool:
    return isinstance(left, int) and isinstance(right, int) and left != right


def _remaining(args: Arguments, source: list[Dim], target: list[Dim], text: str) -> Dim:
    """The dimension that replaces -1 in the target shape of a Reshape.

    It is the number of elements of `source` divided by that of `target`. Equal symbols cancel out.
    """
    source, target = list(source), list(target)
    for dim in list(target):
        if not isinstance(dim, int) and dim.symbol is not None and dim in source:
            source.remove(dim)
            target.remove(dim)
    if known(tuple(target)) is None:
        return UNKNOWN_DIM
    divisor = multiplied(target)
    left = multiplied(source)
    if not isinstance(divisor, int) or divisor == 0:
        return 0 if left == 0 else UNKNOWN_DIM
    if not isinstance(left, int):
        return left if divisor == 1 else UNKNOWN_DIM
    if left % divisor:
        raise args.error(
            "the elements cannot be divided by the given sizes",
            f"a multiple of {divisor}",
            f"{left} for [{text}]",
        )
    return left // divisor


def flattened(args: Arguments, shape: Shape, axis: int) -> Shape:
    """Return the shape [rows, columns] of data that is flattened at `axis`.

    `rows` is the product of the dimensions before `axis`, and `columns` the product of the others.
    For example, (2, 3, 4) flattened at axis 1 is (2, 12).

    Raises:
        InferenceError: when the axis is outside the rank.
    """
    if shape.dims is None:
        return Shape.of_rank(2)
    rank = len(shape.dims)
    if not -rank <= axis <= rank:
        raise args.error("axis is out of range", f"{-rank} to {rank}", str(axis), kind="range")
    at = axis + rank if axis < 0 else axis
    return Shape((multiplied(shape.dims[:at]), multiplied(shape.dims[at:])))


def squeezed(
    args: Arguments, shape: Shape, axes: tuple[int, ...] | None, *, lenient: bool = False
) -> Shape:
    """`shape` without `axes`, which have size 1; an empty list removes all axes of size 1.

    `axes` is None if they are unknown; the result is then unknown, too. With `lenient` a listed
    axis of another size is kept, and is no error.

    Raises:
        InferenceError: when an axis is outside the rank or, without `lenient`, has a size other
            than 1.
    """
    if shape.dims is None or axes is None:
        return UNKNOWN_SHAPE
    if not axes:
        if shape.static() is None:
            return UNKNOWN_SHAPE
        return Shape(tuple(dim for dim in shape.dims if dim != 1))
    chosen = {inference.axis_in(args, axis, len(shape.dims)) for axis in axes}
    kept = []
    for index, dim in enumerate(shape.dims):
        other = isinstance(dim, int) and dim != 1
        if index in chosen and other and not lenient:
            raise args.error(f"axis {index} cannot be squeezed", "a dimension of 1", str(shape))
        if index not in chosen or other:
            kept.append(dim)
    return Shape(tuple(kept))


def unsqueezed(
    args: Arguments, shape: Shape, axes: tuple[int, ...] | None, count: int | None = None
) -> Shape:
    """`shape` with ones inserted; `axes` are positions in the result.

    `axes` is None if they are unknown; then `count` is their number.

    Raises:
        InferenceError: when an axis is outside the result, or listed twice.
    """
    if shape.dims is None:
        return UNKNOWN_SHAPE
    if axes is None:
        return UNKNOWN_SHAPE if count is None else Shape.of_rank(len(shape.dims) + count)
    rank = len(shape.dims) + len(axes)
    chosen = {inference.axis_in(args, axis, rank) for axis in axes}
    if len(chosen) != len(axes):
        raise args.error("axes are not unique", "different axes", str(list(axes)), kind="range")
    dims = iter(shape.dims)
    return Shape(tuple(1 if at in chosen else next(dims) for at in range(rank)))


def transposed(args: Arguments, shape: Shape, order: tuple[int, ...] | None) -> Shape:
    """`shape` with its axes permuted; `order` is None if it is unknown.

    Raises:
        InferenceError: when the order is not a permutation of the axes.
    """
    if order is None:
        return UNKNOWN_SHAPE if shape.rank is None else Shape.of_rank(shape.rank)
    if shape.dims is None:
        return Shape.of_rank(len(order)) if order else UNKNOWN_SHAPE
    if not order:
        return Shape(shape.dims[::-1])
    if sorted(order) != list(range(len(shape.dims))):
        expected = f"a permutation of 0 to {len(shape.dims) - 1}"
        raise args.error("the order is not a permutation", expected, str(list(order)), kind="range")
    return Shape(tuple(shape.dims[axis] for axis in order))


def broadcast_to(args: Arguments, shape: Shape, target: Shape, *, both_ways: bool) -> Shape:
    """`shape` broadcast to `target`; with `both_ways`, ones in `target` are broadcast, too.

    Raises:
        InferenceError: when they do not match.
    """
    joint = broadcast_shapes((shape, target))
    if joint is None:
        raise args.error(
            "shape cannot be broadcast", f"a shape that broadcasts to {target}", str(shape)
        )
    if both_ways or target.dims is None or shape.dims is None:
        return joint if both_ways else target
    if len(shape.dims) > len(target.dims):
        raise args.error("rank is too large", f"{len(target.dims)} at most", str(shape))
    for dim, wanted in zip(reversed(shape.dims), reversed(target.dims), strict=False):
        if isinstance(dim, int) and wanted == 1 and dim != 1:
            raise args.error(
                "shape cannot be broadcast", f"a shape that broadcasts to {target}", str(shape)
            )
    return target


def tiled(shape: Shape, repeats: tuple[Dim, ...] | None) -> Shape:
    """`shape` repeated along each axis; the shorter of the two is extended by ones in front."""
    if shape.dims is None or repeats is None:
        return UNKNOWN_SHAPE
    rank = max(len(shape.dims), len(repeats))
    dims = (1,) * (rank - len(shape.dims)) + shape.dims
    counts = (1,) * (rank - len(repeats)) + repeats
    return Shape(tuple(multiplied(pair) for pair in zip(dims, counts, strict=True)))


def concatenated(args: Arguments, axis: int) -> Shape:
    """The shape of the concatenation of all inputs.

    Raises:
        InferenceError: when ranks or other dimensions differ, or the axis is out of range.
    """
    shapes = [args.shape(position) for position in range(len(args))]
    ranked = [shape.dims for shape in shapes if shape.dims is not None]
    if not ranked:
        return UNKNOWN_SHAPE
    rank = len(ranked[0])
    text = " and ".join(map(str, shapes))
    if any(len(dims) != rank for dims in ranked):
        raise args.error("ranks differ", f"rank {rank}", text)
    place = inference.axis_in(args, axis, rank)
    if place is None or rank == 0:
        raise args.error("scalars cannot be joined", "rank 1 or more", text)
    merged = Shape((*ranked[0][:place], UNKNOWN_DIM, *ranked[0][place + 1 :]))
    for dims in ranked[1:]:
        refined = merged.refine(Shape((*dims[:place], UNKNOWN_DIM, *dims[place + 1 :])))
        if refined is None:
            raise args.error(f"dimensions other than axis {place} differ", "equal dimensions", text)
        merged = refined
    if len(ranked) < len(shapes):
        return merged
    return merged.with_dim(place, total([dims[place] for dims in ranked]))


def joined_dims(args: Arguments) -> tuple[Dim, ...] | None:
    """Return the elements of the concatenation of the inputs, which are integer vectors.

    Elements whose values are not known become unknown dimensions. Returns None if the length of an
    input is not known, or if an input without known values has more than `LONGEST` elements.
    """
    joined: list[Dim] = []
    for position in range(len(args)):
        dims = args.dims(position)
        if dims is None:
            count = args.shape(position).count() if args.rank(position) == 1 else None
            if count is None or count > LONGEST or not args.element(position).is_integer:
                return None
            dims = (UNKNOWN_DIM,) * count
        joined.extend(dims)
    return tuple(joined)
