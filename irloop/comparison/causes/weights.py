"""Compares constants of two models: by their bytes, then by the distance of their elements.

Both comparisons read the weights in pieces, so that no model has to fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from math import inf, isnan, sqrt
from typing import Any

import numpy as np

from irloop.graph.tensor import MappedTensor, Tensor, unpack
from irloop.graph.types import ElementType

__all__ = ["digest", "distance"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The number of elements per piece.
STEP = 1 << 20


def digest(tensor: Tensor) -> bytes:
    """Return a digest of the type, the shape and the bytes of a constant."""
    state = blake2b(f"{tensor.type}\0".encode(), digest_size=20)
    for piece in tensor.pieces():
        state.update(piece)
    return state.digest()


def distance(old: Tensor, new: Tensor) -> str:
    """Describe the difference between two constants whose bytes differ."""
    if old.type != new.type:
        return f"{old.type} -> {new.type}"
    if old.element is ElementType.STRING:
        return f"{int((old.numpy() != new.numpy()).sum())} of {old.count} strings differ"
    if old.count == 1:
        items = [item.numpy().reshape(-1)[0] for item in (old, new)]
        if items[0] != items[1]:
            return f"{items[0]} -> {items[1]}"
    sums = _Sums()
    for left, right in zip(_parts(old), _parts(new), strict=True):
        sums.add(left, right)
    if not sums.unequal:
        return f"no element of {old.type} differs in value, only in bits (signs of zeros, NaN)"
    return (
        f"{sums.unequal} of {old.count} elements of {old.type} differ, "
        f"by {sums.most:.3g} at most; norm {sqrt(sums.old):.6g} -> {sqrt(sums.new):.6g}, "
        f"that of the difference {sums.relative:.3g} of the old one"
    )


class _Sums:
    """Accumulates how much two arrays differ, from pieces of them.

    Counts the unequal elements, and keeps the largest distance and the sums of squares of the old
    array, the new array, and the difference.
    """

    def __init__(self) -> None:
        self.unequal = 0
        self.most = self.old = self.new = self.apart = 0.0

    @property
    def relative(self) -> float:
        """The norm of the difference of the two arrays, divided by the norm of the old array."""
        if self.old:
            return sqrt(self.apart) / sqrt(self.old)
        return inf if self.apart else 0.0

    def add(self, left: Array, right: Array) -> None:
        """Add a piece of the left array and the same piece of the right array to the sums."""
        wide = np.complex128 if left.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            # Compare before widening, because f64 cannot represent large integers exactly.
            unequal = left != right
            a, b = left.astype(wide), right.astype(wide)
            unequal &= ~(np.isnan(a) & np.isnan(b))
            sizes = [np.abs(item) for item in (a, b, a - b)]
            self.unequal += int(np.count_nonzero(unequal))
            distances = sizes[2][unequal]
            self.most = max(self.most, float(np.nanmax(distances, initial=0.0)))
            self.old += _squares(sizes[0])
            self.new += _squares(sizes[1])
            self.apart += _squares(sizes[2][unequal])


def _squares(sizes: Array) -> float:
    """The sum of squares; NaNs are left out."""
    total = float(np.dot(sizes, sizes))
    return float(np.nansum(sizes * sizes)) if isnan(total) else total


def _parts(tensor: Tensor) -> Iterator[Array]:
    """The elements, in flat pieces; if they are in a file, each call reads them again."""
    if isinstance(tensor, MappedTensor) and tensor.element.bits >= 8:
        size = tensor.element.bits // 8
        for piece in tensor.pieces(STEP * size):
            yield unpack(piece, tensor.element, (len(piece) // size,))
        return
    array = tensor.numpy().reshape(-1)
    for start in range(0, array.size, STEP):
        yield array[start : start + STEP]
