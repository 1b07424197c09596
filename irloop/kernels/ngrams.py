"""Counts how often the n-grams of a pool occur in sequences of items.

The items of an n-gram need not be adjacent: they may be some positions apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.work import spend_each

__all__ = ["Pool", "vectorizer"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Pool:
    """The n-grams to count, stored one after the other, shorter ones first.

    `starts` holds the index in `items` at which the n-grams of length 1, 2, ... start. `columns`
    holds the column in which each n-gram is counted. `weights` holds the factor of each count, and
    may be empty.
    """

    items: Sequence[Any]
    starts: Sequence[int]
    columns: Sequence[int]
    weights: Sequence[float]

    def by_length(self) -> Iterator[tuple[int, Array, int]]:
        """Yield the n-grams of each length as (length, n-grams, index of the first n-gram).

        The n-grams are an array [count, length]. The index of an n-gram is its position among all
        n-grams of the pool, as in `columns` and `weights`.

        Raises:
            ValueError: when the items do not divide into whole n-grams.
        """
        kind = object if self.items and isinstance(self.items[0], str) else np.int64
        items = np.array(self.items, dtype=kind)
        ends = [*self.starts[1:], len(items)]
        first = 0
        for length, (start, end) in enumerate(zip(self.starts, ends, strict=True), 1):
            if not 0 <= start <= end <= len(items) or (end - start) % length:
                raise ValueError(
                    f"items {start} to {end} of the pool cannot be divided into {length}-grams"
                )
            grams = items[start:end].reshape(-1, length)
            yield length, grams, first
            first += len(grams)


def _numbered(pool: Array, items: Array) -> tuple[Array, Array]:
    """Replace the items of both arrays by their indices among the distinct items of `pool`.

    An item that is not in the pool becomes -1.
    """
    known, numbers = np.unique(pool, return_inverse=True)
    place = np.searchsorted(known, items).clip(max=len(known) - 1)
    return numbers.reshape(pool.shape), np.where(known[place] == items, place, -1)


def _matching_ngrams(grams: Array, windows: Array) -> Array:
    """Return the index of the n-gram that matches each window [..., length]; -1 if none does.

    The items are compared one position at a time. The items of an n-gram or a window up to this
    position are represented by one integer, which is equal for equal items. The integers are
    renumbered from 0 after each further position, because they would overflow otherwise.
    """
    count = int(grams.max()) + 1
    code, seen = grams[:, 0], windows[..., 0]
    for at in range(1, grams.shape[1]):
        longer = np.where((seen < 0) | (windows[..., at] < 0), -1, seen * count + windows[..., at])
        code, seen = _numbered(code * count + grams[:, at], longer)
    first = np.full(int(code.max()) + 1, -1)
    # Assigned in reverse order, so that the first of equal n-grams wins.
    first[code[::-1]] = np.arange(len(code))[::-1]
    return np.where(seen < 0, -1, first[seen])


def vectorizer(pool: Pool, lengths: range, skips: int, mode: str) -> Function:
    """Make a kernel that counts or weights the n-grams of `pool` in items [C] or [N,C], as f32.

    Only n-grams whose number of items is in `lengths` count. An n-gram may also occur with gaps:
    the same number of other items, at most `skips`, lies between any two neighbours. `mode` is TF
    (the counts), IDF (the weight of each n-gram that occurs) or TFIDF (count times weight). The
    kernel raises ValueError when the pool does not divide into whole n-grams.
    """
    width = max(pool.columns, default=-1) + 1
    columns = np.array(pool.columns, dtype=np.int64)
    weights = np.array(pool.weights or [1.0] * len(columns), dtype=np.float32)

    def hits(rows: Array) -> Array:
        """Count how often each n-gram of the pool occurs in each row."""
        budget.reserve(8 * len(rows) * (len(columns) + width), "counting n-grams")
        counts = np.zeros((len(rows), len(columns)), dtype=np.float32)
        for length, grams, first in pool.by_length():
            if length not in lengths or not len(grams):
                continue
            numbers, items = _numbered(grams, rows)
            for step in range(1, 2 if length == 1 else skips + 2):
                places = rows.shape[1] - (length - 1) * step
                if places < 1:
                    break
                reads = len(rows) * places * length
                budget.reserve(64 * reads, "windows of items")
                spend_each(len(grams) * length + reads, 100, "counting n-grams")
                budget.spend(40 * length, "counting n-grams")
                window = np.arange(places)[:, None] + np.arange(length) * step
                row, place = np.nonzero((found := _matching_ngrams(numbers, items[:, window])) >= 0)
                np.add.at(counts, (row, first + found[row, place]), 1)
        return counts

    def apply(x: Array) -> Array:
        rows = x.reshape(1, -1) if x.ndim == 1 else x
        counts = hits(rows if rows.dtype.kind == "O" else rows.astype(np.int64))
        if mode == "IDF":
            counts = (counts > 0).astype(np.float32)
        if mode != "TF":
            counts *= weights
        result = np.zeros((len(rows), width), dtype=np.float32)
        np.add.at(result.T, columns, counts.T)
        return result[0] if x.ndim == 1 else result

    return apply
