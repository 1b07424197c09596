"""Compares all intermediate tensors of two models.

The comparison consists of ranges, errors, and the first iterations that differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irloop.comparison.agreement import agree
from irloop.comparison.measure import measure
from irloop.comparison.pairing import Pairs, traced
from irloop.comparison.recording import Recording
from irloop.comparison.report import Evidence
from irloop.graph.loops import Carried
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.walk import entry_of, node_path
from irloop.pages.weights import number, summary

__all__ = ["Row", "Tensors", "tensors_of"]

#: Maximum number of rows of the table, of states in the plot, and of iterations of a state.
ROWS, CURVES, POINTS = 20_000, 24, 1000

Made = Mapping[tuple[int, ...], Any]


@dataclass(slots=True)
class Row:
    """A row of a page: a tensor of one model, or two corresponding tensors.

    `error` is the difference of the tensors, None if the tensor has no counterpart. `first` is the
    first iteration that differs, with one number for each loop around the tensors. `largest` is the
    largest magnitude in each model.
    """

    name: str
    paths: tuple[str | None, str | None]
    type: str
    ranges: tuple[str, str]
    largest: tuple[float | None, float | None]
    error: float | str | None = None
    first: str | None = None


@dataclass(slots=True)
class Tensors:
    """The comparison of all tensors: table rows, the number of omitted rows, and error curves.

    A curve holds the error of one state by iteration.
    """

    rows: list[Row] = field(default_factory=list)
    left_out: int = 0
    curves: list[dict[str, Any]] = field(default_factory=list)


def tensors_of(evidence: Evidence) -> Tensors:
    """Run both models once more in irloop's executor, and compare what they compute."""
    recordings = (Recording(), Recording())
    for model, arrays, recording in zip(evidence.models, evidence.arrays, recordings, strict=True):
        traced(model, arrays, recording, evidence.seconds, evidence.widen)
    pairs = Pairs(*evidence.models)
    first, second = (_by_value(recording) for recording in recordings)
    tensors = Tensors()
    seen: set[Value] = set()
    for value, made in second.items():
        twin = pairs.first_by_name.get(pairs.of_second.get(value, ""))
        before = {} if twin is None else first.get(twin, {})
        if twin is not None and before:
            seen.add(twin)
        _add(tensors, evidence, (twin if before else None, value), (before, made))
    for value, made in first.items():
        if value not in seen:
            _add(tensors, evidence, (value, None), (made, {}))
    return tensors


def _by_value(recording: Recording) -> dict[Value, dict[tuple[int, ...], Any]]:
    """Return the recorded arrays of each value except constants.

    The key of the inner dictionaries holds the iteration numbers of the loops around the value,
    outermost first.
    """
    arrays: dict[Value, dict[tuple[int, ...], Any]] = {}
    for (value, at), made in recording.values.items():
        if not isinstance(value.producer.op, Constant):
            arrays.setdefault(value, {})[at] = made
    return arrays


def _add(
    tensors: Tensors,
    evidence: Evidence,
    values: tuple[Value | None, Value | None],
    made: tuple[Made, Made],
) -> None:
    if len(tensors.rows) == ROWS:
        tensors.left_out += 1
        return
    shown = values[1] or values[0]
    assert shown is not None
    ranges = _range(made[0]), _range(made[1])
    row = Row(
        shown.name,
        (_path(values[0]), _path(values[1])),
        _type(next(iter((made[1] or made[0]).values()))),
        (ranges[0][0], ranges[1][0]),
        (ranges[0][1], ranges[1][1]),
    )
    tensors.rows.append(row)
    shared = [at for at in made[1] if at in made[0]]
    if not shared:
        return
    errors = {at: _error(made[0][at], made[1][at], evidence) for at in shared}
    row.error = number(max(errors.values()))
    wrong = (at for at in shared if not agree(made[0][at], made[1][at], evidence.tolerance))
    place = next(wrong, None)
    if place is not None:
        row.first = ", ".join(map(str, place)) or "differs"
    if _is_state(shown) and len(tensors.curves) < CURVES:
        points = [[at, number(error)] for at, error in enumerate(errors.values())]
        tensors.curves.append({"name": node_path(shown.producer), "points": points[:POINTS]})


def _path(value: Value | None) -> str | None:
    return None if value is None else node_path(value.producer)


def _type(made: Any) -> str:
    if made is None or isinstance(made, list):
        return "nothing" if made is None else "sequence"
    array = np.asarray(made)
    return f"{array.dtype.name}[{','.join(map(str, array.shape))}]"


def _range(made: Made) -> tuple[str, float | None]:
    """Describe the values of all iterations: smallest and largest element, and number of NaNs.

    Returns the description and the largest absolute value (None if there are no numbers).
    """
    lows, highs, nans = [], [], 0
    for value in made.values():
        if value is None or isinstance(value, list):
            continue
        numbers = summary(np.asarray(value).reshape(-1))
        nans += numbers.get("nan", 0)
        if "min" in numbers:
            lows.append(float(numbers["min"]))
            highs.append(float(numbers["max"]))
    text = f"{min(lows):.5g} … {max(highs):.5g}" if lows else ""
    largest = max(*highs, -min(lows)) if lows else None
    return (f"{text}, {nans} NaN".lstrip(", ") if nans else text), largest


def _error(before: Any, made: Any, evidence: Evidence) -> float:
    """Return the largest absolute difference of two values.

    The difference is infinite if their numbers of elements or their types differ; integers and
    booleans count as one type. Strings differ by 0 if all are equal, else by infinity. The result
    is 0 if a value is missing or is a sequence. `evidence` supplies the tolerance.
    """
    if before is None or made is None or isinstance(before, list) or isinstance(made, list):
        return 0.0
    x, y = np.asarray(before).reshape(-1), np.asarray(made).reshape(-1)
    if x.size == y.size and x.dtype.kind in "biu" and y.dtype.kind in "biu":
        # The two formats have different types for trip counts and iteration numbers.
        x, y = x.astype(np.float64), y.astype(np.float64)
    if x.dtype != y.dtype or x.size != y.size:
        return float("inf")
    if x.dtype.kind in "OSU":
        return 0.0 if bool((x == y).all()) else float("inf")
    return measure(x, y, evidence.tolerance).absolute


def _is_state(value: Value) -> bool:
    """Return whether `value` is a body parameter with a back edge."""
    entry = entry_of(value)
    return entry is not None and isinstance(entry[2], Carried)
