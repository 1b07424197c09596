"""Shape inference for matrix products, shared by both dialects."""

from __future__ import annotations

from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_SHAPE, Dim, Shape, broadcast_shapes

__all__ = ["product_shape", "square"]


def _swapped(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    return (*dims[:-2], dims[-1], dims[-2]) if len(dims) > 1 else dims


def product_shape(args: Arguments, transpose_a: bool = False, transpose_b: bool = False) -> Shape:
    """The shape of the matrix product of inputs 0 and 1 by NumPy's rules.

    Raises:
        InferenceError: for a scalar operand, or dimensions that do not match.
    """
    left, right = args.shape(0).dims, args.shape(1).dims
    for position, dims in enumerate((left, right)):
        if dims == ():
            raise args.error(f"operand {position} is a scalar", "at least one dimension", "[]")
    if left is None or right is None:
        return UNKNOWN_SHAPE
    first = _swapped(left) if transpose_a else left
    second = _swapped(right) if transpose_b else right
    inner = (first[-1], second[-2] if len(second) > 1 else second[0])
    if isinstance(inner[0], int) and isinstance(inner[1], int) and inner[0] != inner[1]:
        raise args.error(
            "the inner dimensions differ", f"{inner[0]} as in {Shape(first)}", str(Shape(second))
        )
    batch = broadcast_shapes((Shape(first[:-2]), Shape(second[:-2])))
    if batch is None or batch.dims is None:
        raise args.error(
            "the leading dimensions cannot be broadcast",
            "dimensions equal or 1",
            f"{Shape(first)} and {Shape(second)}",
        )
    rows = first[-2:-1]
    columns = second[-1:] if len(second) > 1 else ()
    return Shape((*batch.dims, *rows, *columns))


def square(args: Arguments) -> None:
    """Check that input 0 holds square matrices.

    Raises:
        InferenceError: when it does not.
    """
    dims = args.shape(0).dims
    if dims is None:
        return
    sizes = [dim for dim in dims[-2:] if isinstance(dim, int)]
    if len(dims) < 2 or (len(sizes) == 2 and sizes[0] != sizes[1]):
        raise args.error("its operand is not a square matrix", "[..., n, n]", str(args.shape(0)))
