"""Builds shapes from the dimensions of a value, which may be known only at run time.

    sizes = Sizes(c)
    batch, channels, *space = sizes.of(data)
    sizes.reshape(data, [batch, sizes.by(channels, 4), 4, *space])

A size is an int, or a one-element i64 vector if the model computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.dialects.writing.known_inputs import ints, needed_rank
from irloop.dialects.writing.writer import Writer
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import UNKNOWN_DIM

__all__ = ["Size", "Sizes"]

Size = int | Value


class Sizes:
    """Computes with sizes, and emits operations for this where necessary.

    Sizes that are ints are computed at once, without operations.
    """

    def __init__(self, c: Writer) -> None:
        self.c = c

    def of(self, value: Value, rank: int | None = None) -> list[Size]:
        """Return the dimensions of a value; `rank` is the rank that its operation requires.

        Raises:
            RefusedError: when the rank is not known.
        """
        rank = needed_rank(self.c, value) if rank is None else rank
        dims = shape_of(value).dims or (UNKNOWN_DIM,) * rank
        known = [dim for dim in dims if isinstance(dim, int)]
        if len(known) == len(dims):
            return list(known)
        shape = self.c.shape_of(value)
        return [
            dim if isinstance(dim, int) else self.item(shape, at)
            for at, dim in zip(range(rank), dims, strict=True)
        ]

    def at(self, value: Value, axis: int) -> Size:
        """Return one dimension of a value."""
        known = shape_of(value).dim(axis)
        return known if isinstance(known, int) else self.item(self.c.shape_of(value), axis)

    def times(self, size: Size, factor: Size) -> Size:
        """size * factor."""
        if isinstance(size, int) and isinstance(factor, int):
            return size * factor
        return size if factor == 1 else self._made(self.c.multiply, size, factor)

    def by(self, size: Size, divisor: Size) -> Size:
        """size / divisor, rounded down."""
        if isinstance(size, int) and isinstance(divisor, int):
            return size // divisor
        return size if divisor == 1 else self._made(self.c.divide, size, divisor)

    def product(self, sizes: Sequence[Size]) -> Size:
        """The product of all sizes."""
        result: Size = 1
        for size in sizes:
            result = size if result == 1 else self.times(result, size)
        return result

    def items(self, value: Value, count: int) -> list[Size]:
        """Return the elements of `value`, an integer vector with `count` elements."""
        known = ints(self.c, value)
        if known is not None:
            return list(known)
        whole = self.c.as_list(self.c.as_i64(value))
        return [self.item(whole, at) for at in range(count)]

    def list(self, sizes: Sequence[Size]) -> Value:
        """Return the sizes as one i64 vector."""
        known = [size for size in sizes if isinstance(size, int)]
        if len(known) == len(sizes):
            return self.c.i64(known)
        pieces = [self.c.i64([size]) if isinstance(size, int) else size for size in sizes]
        return self.c.concat(pieces, 0)

    def reshape(self, value: Value, sizes: Sequence[Size]) -> Value:
        """Reshape `value` to `sizes`.

        If only one size is not an int, the Reshape infers it, unless another size is 0.
        """
        computed = [at for at, size in enumerate(sizes) if not isinstance(size, int)]
        if len(computed) <= 1 and 0 not in sizes:
            pattern = [size if isinstance(size, int) else -1 for size in sizes]
            return self.c.reshape_exactly(value, self.c.i64(pattern), may_be_empty=False)
        return self.c.reshape_exactly(value, self.list(sizes), may_be_empty=True)

    def item(self, sizes: Value, at: int) -> Value:
        """Emit the element `at` of the list `sizes`, as a one-element list."""
        return self.c.gather(sizes, self.c.i64([at]), 0)

    def _made(self, verb: Callable[[Value, Value], Value], left: Size, right: Size) -> Value:
        return verb(self.list([left]), self.list([right]))
