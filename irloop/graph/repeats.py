"""Finds the parts of a sequence that repeat in a row, in time linear in the sequence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

__all__ = ["Run", "runs"]

#: The longest piece that is compared at once; a block of more elements is found if a shorter piece
#: of it occurs nowhere else in the block.
LONGEST = 1024


@dataclass(frozen=True, order=True, slots=True)
class Run:
    """Elements from `start` to `end` (not included) that repeat every `period` elements.

    There are at least two full periods, and perhaps a part of one more.
    """

    start: int
    end: int
    period: int


def runs(sequence: Sequence[Hashable]) -> set[Run]:
    """Find where elements repeat; the runs may overlap.

    Pieces of 1, 2, 4, ... elements get numbers, equal pieces equal ones. Where each of several
    consecutive pieces last occurred `period` elements earlier, the sequence repeats with it.
    """
    numbers: dict[Hashable, int] = {}
    names = [numbers.setdefault(element, len(numbers)) for element in sequence]
    repeats: set[Run] = set()
    length = 1
    while names and length <= min(LONGEST, len(sequence)):
        repeats |= _runs_of_pieces(names, length)
        pairs: dict[tuple[int, int], int] = {}
        halves = zip(names, names[length:], strict=False)
        names = [pairs.setdefault(pair, len(pairs)) for pair in halves]
        length *= 2
    return repeats


def _runs_of_pieces(names: Sequence[int], length: int) -> set[Run]:
    """The runs that pieces of one length show; `names` holds the number of the piece that starts
    at each element.
    """
    runs: set[Run] = set()
    last: dict[int, int] = {}
    period = first = 0
    for place, name in enumerate([*names, -1]):
        before = place - last.get(name, place)
        last[name] = place
        if before == period:
            continue
        run = Run(first - period, place - 1 + length, period)
        if period and run.end - run.start >= 2 * period:
            runs.add(run)
        period, first = before, place
    return runs
