"""Lists all cases of the conformance suite, with the cases of one feature next to each other.

The files of `cases` hold those that test a sentence of a specification, and each fault of an engine
holds its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irloop.conformance.cases import (
    branch,
    element_types,
    loop,
    loop_values,
    nesting,
    openvino_if,
    openvino_loop,
    openvino_loop_states,
    scan,
    scan8,
    sequences,
    tensor_iterator,
)
from irloop.faults.case import Case
from irloop.faults.catalogue import faults

__all__ = ["CASES"]

_OF_SPECIFICATIONS = (
    *loop.CASES,
    *loop_values.CASES,
    *scan.CASES,
    *scan8.CASES,
    *branch.CASES,
    *nesting.CASES,
    *element_types.CASES,
    *sequences.CASES,
    *tensor_iterator.CASES,
    *openvino_loop.CASES,
    *openvino_loop_states.CASES,
    *openvino_if.CASES,
)


def _by_feature(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases of each feature together, with the features in the order of their first."""
    features: dict[str, list[Case]] = {}
    for case in cases:
        features.setdefault(case.feature, []).append(case)
    for members in features.values():
        yield from members


#: Every case; names are unique, and the cases of one feature are adjacent.
CASES: tuple[Case, ...] = tuple(
    _by_feature([*_OF_SPECIFICATIONS, *(fault.smallest for fault in faults().values())])
)
