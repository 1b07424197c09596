"""Type and shape inference shared by operations of both dialects."""

from __future__ import annotations

import math
from collections.abc import Callable

from irloop.graph.arguments import Arguments
from irloop.graph.types import (
    UNKNOWN_DIM,
    Dim,
    ElementType,
    Shape,
    TensorType,
    ValueType,
    broadcast_shapes,
)

__all__ = [
    "aligned",
    "all_axes",
    "axis_in",
    "boolean",
    "broadcast",
    "broadcast_any",
    "broadcast_by_mode",
    "check_auto_broadcast",
    "combined_dims",
    "dims_of_rank",
    "floating",
    "holds_sizes",
    "numeric",
    "product_of_dims",
    "reduced",
    "require_indices",
    "require_rank",
    "require_shape",
    "require_within",
    "same_as_first",
    "same_element",
    "strings",
]


def same_element(args: Arguments, *positions: int) -> ElementType:
    """The common element type of the inputs at `positions`, by default of all inputs.

    Raises:
        InferenceError: when two of them differ.
    """
    common = ElementType.DYNAMIC
    for position in positions or range(len(args)):
        if not args.has(position):
            continue
        element = args.element(position)
        if common is ElementType.DYNAMIC:
            common = element
        elif element not in (common, ElementType.DYNAMIC):
            raise args.error(
                "operands differ in element type", str(common), str(element), kind="elements"
            )
    return common


def broadcast(args: Arguments, element: ElementType | None = None) -> list[ValueType]:
    """The type of all inputs broadcast as in NumPy; `element` overrides their element type.

    Raises:
        InferenceError: when shapes or element types do not match.
    """
    found = same_element(args)
    return broadcast_any(args, found if element is None else element)


def broadcast_any(args: Arguments, element: ElementType) -> list[ValueType]:
    """The type of one result: element type `element`, and the shape of all inputs broadcast.

    The shapes are broadcast as in NumPy; the element types of the inputs do not matter.

    Raises:
        InferenceError: when the shapes cannot be broadcast.
    """
    shapes = [args.shape(position) for position in range(len(args))]
    shape = broadcast_shapes(shapes)
    if shape is None:
        text = " and ".join(str(item) for item in shapes)
        raise args.error("shapes cannot be broadcast", "dimensions equal or 1", text)
    return [TensorType(element, shape)]


def same_as_first(args: Arguments) -> list[ValueType]:
    """Return the type of the first input as the type of the output."""
    return [args.tensor(0)]


def numeric(args: Arguments, *positions: int) -> None:
    """Refuse booleans and strings at `positions`, by default in all inputs.

    Raises:
        InferenceError: when an operand is not numeric.
    """
    for position in positions or range(len(args)):
        if not args.has(position):
            continue
        element = args.element(position)
        if element in (ElementType.BOOLEAN, ElementType.STRING):
            raise args.error(f"operand {position} is not a number", "a numeric type", str(element))


def boolean(args: Arguments, *positions: int) -> None:
    """Refuse operands that are not boolean.

    Raises:
        InferenceError: when an operand has the wrong element type.
    """
    for position in positions or range(len(args)):
        element = args.element(position)
        if element not in (ElementType.BOOLEAN, ElementType.DYNAMIC):
            raise args.error(f"operand {position} is not boolean", "boolean", str(element))


def floating(args: Arguments, *positions: int) -> None:
    """Refuse operands that are not floating-point.

    Raises:
        InferenceError: when an operand has the wrong element type.
    """
    for position in positions or range(len(args)):
        if not args.has(position):
            continue
        element = args.element(position)
        if not element.is_float and element is not ElementType.DYNAMIC:
            raise args.error(f"operand {position} is not floating-point", "a float", str(element))


def integers(args: Arguments, *positions: int) -> None:
    """Refuse operands that are not integers.

    Raises:
        InferenceError: when an operand has the wrong element type.
    """
    for position in positions:
        if not args.has(position):
            continue
        element = args.element(position)
        if not element.is_integer and element is not ElementType.DYNAMIC:
            raise args.error(
                f"operand {position} is not an integer", "an integer", str(element), kind="elements"
            )


def strings(args: Arguments, *positions: int) -> None:
    """Refuse operands that are not strings.

    Raises:
        InferenceError: when an operand has the wrong element type.
    """
    for position in positions or range(len(args)):
        element = args.element(position)
        if element not in (ElementType.STRING, ElementType.DYNAMIC):
            raise args.error(f"operand {position} is not a string", "strings", str(element))


def aligned(args: Arguments, shape: Shape, rank: int | None, axis: int) -> Shape:
    """Append ones to `shape`, so that its first dimension aligns with `axis` of a shape of `rank`.

    This is how PaddlePaddle broadcasts. If `axis` is -1 or the rank is unknown, `shape` is returned
    unchanged.

    Raises:
        InferenceError: when the aligned shape would exceed the rank, or `axis` is less than -1.
    """
    if shape.dims is None or rank is None or axis == -1:
        return shape
    dims = shape.dims
    while len(dims) + axis > rank and dims[-1:] == (1,):
        dims = dims[:-1]
    if axis < 0 or len(dims) + axis > rank:
        raise args.error(
            f"an operand aligned with axis {axis} exceeds the rank",
            f"rank {rank} at most",
            str(shape),
        )
    return Shape(dims + (1,) * (rank - axis - len(dims)))


def broadcast_by_mode(
    args: Arguments, mode: str, axis: int, element: ElementType | None = None
) -> list[ValueType]:
    """Return the type of a result whose two operands are broadcast by OpenVINO's rules.

    `mode` is the value of `auto_broadcast`: none, its synonym explicit, numpy or pdpd. With pdpd,
    the first axis of the second operand is aligned with `axis` of the first. The result has the
    element type of the operands, or `element` if it is given.

    Raises:
        InferenceError: when shapes or element types do not match, or the mode is unknown.
    """
    check_auto_broadcast(args, mode)
    if mode.lower() == "numpy":
        return broadcast(args, element)
    common = same_element(args)
    left, right = args.shape(0), args.shape(1)
    if mode.lower() in ("none", "explicit"):
        shape = left.refine(right)
    else:
        shape = broadcast_shapes((left, aligned(args, right, left.rank, axis)))
        # The second operand is broadcast to the first, not both to each other.
        shape = None if shape is None else left.refine(shape)
    if shape is None:
        text = f"{left} and {right}"
        raise args.error(
            f"the shapes are not compatible with auto_broadcast {mode}", "equal shapes", text
        )
    return [TensorType(common if element is None else element, shape)]


def check_auto_broadcast(args: Arguments, mode: str) -> None:
    """Check the attribute `auto_broadcast`, which has other words than `mode` of Broadcast.

    Raises:
        InferenceError: when it has another word.
    """
    if mode.lower() not in ("none", "explicit", "numpy", "pdpd"):
        raise args.error("broadcast mode is not known", "none, numpy or pdpd", mode, kind="range")


def axis_in(args: Arguments, axis: int, rank: int | None) -> int | None:
    """The non-negative axis, or None if the rank is unknown.

    Raises:
        InferenceError: when the axis is outside the rank.
    """
    if rank is None:
        return None
    if not -rank <= axis < rank:
        raise args.error("axis is out of range", f"{-rank} to {rank - 1}", str(axis), kind="range")
    return axis % rank


def all_axes(args: Arguments) -> tuple[int, ...] | None:
    """The axes of input 0; None if its rank is unknown."""
    rank = args.rank(0)
    return None if rank is None else tuple(range(rank))


def dims_of_rank(args: Arguments, position: int, rank: int) -> tuple[Dim, ...]:
    """The dimensions of input `position`; they are unknown if the rank is unknown.

    Raises:
        InferenceError: when the input does not have rank `rank`.
    """
    dims = args.shape(position).dims
    if dims is None:
        return (UNKNOWN_DIM,) * rank
    if len(dims) != rank:
        found = str(args.shape(position))
        raise args.error(f"input {position} has a wrong rank", str(rank), found)
    return dims


def require_rank(args: Arguments, position: int, rank: int) -> None:
    """Check the rank of an input, if there is one and its rank is known.

    Raises:
        InferenceError: when it has the wrong rank.
    """
    if args.has(position) and args.rank(position) not in (None, rank):
        found = str(args.shape(position))
        raise args.error(f"input {position} has the wrong rank", f"rank {rank}", found)


def require_shape(args: Arguments, position: int, dims: tuple[Dim, ...]) -> None:
    """Refuse an input whose shape contradicts `dims`, which follow from other inputs.

    Raises:
        InferenceError: when the rank or a known dimension differs.
    """
    shape = args.shape(position)
    if Shape(dims).refine(shape) is None:
        raise args.error(
            f"the shape of input {position} contradicts other inputs", str(Shape(dims)), str(shape)
        )


def require_within(
    args: Arguments, position: int, least: float, most: Dim | float, what: str
) -> None:
    """Refuse elements of a constant input that are less than `least` or more than `most`.

    If `most` is no number, this bound is not known. `what` names the elements in the message.

    Raises:
        InferenceError: when an element is out of range; NaN always is.
    """
    numbers = args.constant(position) if args.has(position) else None
    if numbers is None:
        return
    limit = most if isinstance(most, int | float) else math.inf
    for number in numbers.reshape(-1).tolist():
        if not least <= number <= limit:
            expected = f"{least} or more" if limit == math.inf else f"{least} to {limit}"
            raise args.error(
                f"{what} (input {position}) is out of range", expected, str(number), kind="range"
            )


def require_indices(args: Arguments, size: Dim) -> None:
    """Refuse constant indices (input 1) that are out of range for an axis of this size.

    Raises:
        InferenceError: when there is such an index.
    """
    if isinstance(size, int):
        require_within(args, 1, -size, size - 1, "an index")


def reduced(
    args: Arguments,
    shape: Shape,
    axes: tuple[int, ...] | None,
    *,
    keep: bool,
    count: int | None = None,
) -> Shape:
    """`shape` after a reduction over `axes`, or over `count` unknown axes if `axes` is None.

    Raises:
        InferenceError: when an axis is outside the rank.
    """
    if shape.dims is None:
        return Shape(None)
    rank = len(shape.dims)
    if axes is None and keep:
        return Shape.of_rank(rank)
    if axes is None:
        return Shape(None) if count is None or count > rank else Shape.of_rank(rank - count)
    chosen = {axis_in(args, axis, rank) for axis in axes}
    if keep:
        return Shape(tuple(1 if i in chosen else dim for i, dim in enumerate(shape.dims)))
    return Shape(tuple(dim for i, dim in enumerate(shape.dims) if i not in chosen))


def combined_dims(
    args: Arguments, combine: Callable[[int, int], int | None]
) -> tuple[Dim, ...] | None:
    """Combine two integer vectors or scalars elementwise, with broadcasting; None if unknown.

    `combine` computes one element, or returns None if the element is unknown.
    """
    left, right = args.dims(0), args.dims(1)
    if left is None or right is None or not holds_sizes(args.element(0)):
        return None
    if len(left) != len(right) and 1 not in (len(left), len(right)):
        return None
    length = len(right) if len(left) == 1 else len(left)
    left = left * length if len(left) == 1 else left
    right = right * length if len(right) == 1 else right
    return tuple(_combined(a, b, combine) for a, b in zip(left, right, strict=True))


def holds_sizes(element: ElementType) -> bool:
    """Return whether tensor sizes are computed without wrapping around in this integer type."""
    return element in (ElementType.I32, ElementType.I64)


def _combined(left: Dim, right: Dim, combine: Callable[[int, int], int | None]) -> Dim:
    if not isinstance(left, int) or not isinstance(right, int):
        return UNKNOWN_DIM
    found = combine(left, right)
    # A result of more than 31 bits may wrap around, so it is unknown until the model runs.
    return UNKNOWN_DIM if found is None or abs(found) >= 2**31 else found


def product_of_dims(args: Arguments, axes: tuple[int, ...] | None) -> tuple[Dim, ...] | None:
    """Return the product of the elements of an integer vector, as a tuple with one element.

    `axes` are the axes of the reduction. The product is unknown if an element is unknown, or if
    the product is 2**31 or more. Returns None if no element is known, if the input is not a vector,
    or unless `axes` are known to contain the only axis of the vector.
    """
    dims = args.dims(0)
    if dims is None or axes is None or args.rank(0) != 1 or set(axes) - {0, -1} or not axes:
        return None
    known = [dim for dim in dims if isinstance(dim, int)]
    product = math.prod(known)
    return (product if len(known) == len(dims) and product < 2**31 else UNKNOWN_DIM,)
