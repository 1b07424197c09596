"""Finds input sizes for a model that fails with the first sizes that are tried.

For example, a decoder adds a mask of shape [batch, m] to scores of shape [batch, past + new]. It
runs only if m = past + new, but the declared shapes do not show this. The node that fails has two
operand sizes that should be equal but differ. For each input size, another run with this size
increased shows how the difference changes. From this follows the size with which the difference
becomes 0:

    given   ids [2,2], past [2,4,2,8], mask [2,2]: Add of [2,4,2,4] and [2,1,1,2] fails
    result  mask [2,4]: 1 more for the mask moves the difference 4 - 2 by -1, so 2 more are needed
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from irloop.comparison.sizes import SIZES, Sizes, Variable
from irloop.execution.failure import Extents
from irloop.graph.record import Record

__all__ = ["Attempt", "fitted"]

#: Sizes that occur only in signals and long texts; they are tried last.
LARGE_SIZES = (512, 1024, 4096, 16384)

#: Maximum number of runs for finding sizes; each shows the effect of changing one size.
MOST_RUNS = 250

#: Maximum number of changes of sizes; every change lets the model run further.
MOST_CHANGES = 24


class Attempt(Record):
    """How far a model ran with some sizes.

    `worth` is 0 if the run failed; otherwise it rates how usable the outputs are, up to 3 (best).
    `node` is the position of the node that failed and `operands` are the extents of its inputs.
    `late` is set if time ran out.
    """

    worth: int
    node: int = 0
    operands: tuple[Extents, ...] = ()
    late: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        """A sort key: better attempts have larger keys.

        Attempts are compared by their outputs; if these are equally good, the attempt that fails at
        a later node is better.
        """
        return self.worth, self.node


def fitted(
    start: Sizes,
    variables: Sequence[Variable],
    attempt: Callable[[Sizes], Attempt],
    *,
    seconds: float,
) -> tuple[Sizes, Attempt]:
    """Search for the sizes with which the model runs best.

    Returns these sizes and the result of `attempt` for them. The search starts with the sizes
    `start`, changes them step by step, and calls `attempt` to run the model with the new sizes. It
    ends after `seconds` seconds, MOST_RUNS runs or MOST_CHANGES changes. If it finds no better
    sizes, it returns `start`.
    """
    search = _Search(variables, attempt, time.monotonic() + seconds)
    best = search.run(start)
    sizes = start
    for _ in range(MOST_CHANGES):
        if best is None or best.worth == 3:
            break
        step = search.better(sizes, best)
        if step is None:
            break
        sizes, best = step
    return sizes, best or Attempt(0, late=True)


class _Search:
    def __init__(
        self, variables: Sequence[Variable], attempt: Callable[[Sizes], Attempt], end: float
    ) -> None:
        self._variables = variables
        self._attempt = attempt
        self._end = end
        self._known: dict[frozenset[tuple[object, int]], Attempt] = {}

    def run(self, sizes: Sizes) -> Attempt | None:
        """Run the model with `sizes`, or return the result of an earlier run with these sizes.

        None if the maximum number of runs is reached, or if time ran out.
        """
        key = frozenset(sizes.items())
        if key not in self._known:
            if len(self._known) == MOST_RUNS or time.monotonic() > self._end:
                return None
            self._known[key] = self._attempt(sizes)
        found = self._known[key]
        return None if found.late else found

    def better(self, sizes: Sizes, best: Attempt) -> tuple[Sizes, Attempt] | None:
        """Find the first change of the sizes with which the model runs further than `best`.

        Returns the changed sizes and the new attempt; None if no change helps.
        """
        for changed in self._proposals(sizes, best):
            found = self.run(changed)
            if found is not None and found.rank > best.rank:
                return changed, found
        return None

    def _proposals(self, sizes: Sizes, best: Attempt) -> Iterator[Sizes]:
        gaps = dict(_gaps(best.operands))
        solved: list[tuple[int, int, Variable, int]] = []
        for variable in self._variables:
            size = max(sizes[place] for place in variable.places)
            for more in (size + 1, 2 * size):
                if variable.fit(more) != more:
                    continue
                yield variable.given(sizes, more)
                moved = self.run(variable.given(sizes, more))
                if moved is None or moved.node != best.node or moved.worth:
                    continue
                after = dict(_gaps(moved.operands, closed=True))
                solved += _solutions(variable, size, more - size, gaps, after)
                break
        # Try larger sizes first: they lose nothing, whereas a smaller size may make an output
        # empty.
        for _, _, variable, size in sorted(solved, key=lambda item: item[:2]):
            yield variable.given(sizes, size)
        # Try a small size of every variable before a large size of any, because it costs less time.
        for size in SIZES + LARGE_SIZES:
            for variable in self._variables:
                yield variable.given(sizes, variable.fit(size))


def _solutions(
    variable: Variable, size: int, step: int, gaps: dict[_Pair, int], after: dict[_Pair, int]
) -> Iterator[tuple[int, int, Variable, int]]:
    """Yield sizes of `variable` that close a gap, assuming that gaps change linearly with size.

    A gap is the difference between two sizes that should be equal. `gaps` holds the gaps at the
    present `size`, and `after` those that remain if it is increased by `step`. Each result is a
    tuple: 1 if the new size is smaller than `size`, else 0; the index of the closed gap in `gaps`;
    the variable; the new size.
    """
    for order, (pair, gap) in enumerate(gaps.items()):
        slope = after.get(pair, gap) - gap
        if not slope or gap * step % slope:
            continue
        wanted = size - gap * step // slope
        if variable.fit(wanted) == wanted:
            yield int(wanted < size), order, variable, wanted


#: Two sizes that should be equal: two operands, how they are compared, and an axis of each.
_Pair = tuple[int, int, str, int, int]


def _gaps(operands: Sequence[Extents], *, closed: bool = False) -> Iterator[tuple[_Pair, int]]:
    """Yield sizes that differ between two operands, the likeliest cause of a failure first.

    Each item is (which sizes were compared, first size minus second size). Sizes are compared from
    the right (broadcasting) and from the left (Concat), the last size of one operand with the last
    but one of the other (MatMul), and the products of all sizes (Reshape). If an operand may be a
    shape, its values are compared like sizes, too. With `closed`, compared sizes are also yielded
    if they are equal or can be broadcast.
    """
    lists = [
        (at, kind, extents)
        for at, pair in enumerate(operands)
        for kind, extents in enumerate(pair)
        if extents
    ]
    for (a, _, one), (b, _, two) in combinations(lists, 2):
        if a == b:
            continue
        least = min(len(one), len(two))
        axes = [("right", -axis, -axis) for axis in range(1, least + 1)]
        axes += [("left", axis, axis) for axis in range(least)]
        if least > 1:
            axes += [("inner", -1, -2), ("inner", -2, -1)]
        for word, left, right in axes:
            gap = one[left] - two[right]
            broadcast = word == "right" and 1 in (one[left], two[right])
            if closed or (gap and not broadcast):
                yield (a, b, word, left, right), gap
        gap = math.prod(one) - math.prod(two)
        if min(*one, *two) >= 0 and (closed or gap):
            yield (a, b, "elements", 0, 0), gap
