"""Measures what kernels cost against what the budget charges for them, at growing sizes.

    python -W ignore -m benchmarks.charged_cost [--cases CASES] [--only NMS] \
        [--first 0 --count 100] [--memory]

Cases are the models of one operation from an operation suite, or the node tests of the onnx
package. Each case is enlarged in several ways, by powers of 4, until it takes half a second or its
charge exceeds the budget of a run: each size that occurs in the inputs is multiplied, two sizes
together, the numbers of a short integer input, or an attribute. Prints a JSON row for each case
that took at least 0.1 s, with the processor seconds and the charged seconds; `--memory` traces the
peak instead, and compares it with the largest memory that was announced to the budget. The last
lines list the operations, worst ratio first. A ratio far above 1 means that a small file can take
longer (or more) than the budget allows.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import irloop
from irloop.budget import Budget
from irloop.errors import IrloopError, LimitError
from irloop.execution.memory import owned_bytes, room_needed, temporaries
from irloop.execution.step_costs import A_CHECK, call_work, work_of
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant, Op
from irloop.kernels.work import A_STEP

__all__ = ["Case", "enlarged", "measured"]

#: A run of a small file may take these steps, and one step these bytes.
STEPS, MEMORY = 400_000, (2 << 30) // 3

#: Cases are enlarged until they take this long, and not beyond these bytes of input.
LONG, MOST_INPUT = 0.5, 100 << 20

#: Address space of the process; a kernel that needs more is left out.
MOST_SPACE = 6 << 30

#: A kernel that takes longer is interrupted where Python can do so.
TOO_LONG = 20


@dataclass(slots=True)
class Case:
    """An operation and its inputs."""

    name: str
    op: Op
    node: Node
    values: list[Any]


class _Watched(Budget):
    """A budget that remembers the largest memory that a kernel announced."""

    most: int = 0

    def reserve(self, nbytes: int, what: str) -> None:
        self.most = max(self.most, nbytes)
        super().reserve(nbytes, what)


class _TooLong(BaseException):
    pass


def _expire(number: int, frame: object) -> None:
    raise _TooLong


def of_model(name: str, model: Model, given: list[Any]) -> Case | None:
    """The case of a model with one operation besides constants; None for other models."""
    nodes = [node for node in model.graph.nodes if not isinstance(node.op, Constant)]
    nodes = [node for node in nodes if node not in model.graph.parameters and node.op.can_run()]
    if len(nodes) != 1 or nodes[0].bodies:
        return None
    node = nodes[0]
    inputs = dict(zip((item.outputs[0] for item in model.graph.parameters), given, strict=False))
    values: list[Any] = []
    for value in node.inputs:
        if value is None:
            values.append(None)
        elif isinstance(value.producer.op, Constant):
            values.append(value.producer.op.tensor.numpy())
        elif value in inputs:
            values.append(inputs[value])
        else:
            return None
    return Case(name, node.op, node, values)


def suite(root: Path) -> Iterator[Case]:
    """The cases of an operation suite."""
    from benchmarks.cases import operation_cases

    for case in operation_cases(root, []):
        try:
            given = next(iter(case.steps()))[0]
            found = of_model(case.name, case.read(), list(given.values()))
        except (IrloopError, StopIteration, AttributeError):
            continue
        if found is not None:
            yield found


def node_tests() -> Iterator[Case]:
    """The cases of the onnx package."""
    import tempfile

    from onnx import numpy_helper
    from onnx.backend.test.loader import load_model_tests

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        for item in load_model_tests(kind="node"):
            if item.model is None or not item.data_sets:
                continue
            path.write_bytes(item.model.SerializeToString())
            try:
                given = [
                    value if isinstance(value, np.ndarray) else numpy_helper.to_array(value)
                    for value in item.data_sets[0][0]
                ]
                found = of_model(item.name, irloop.read_model(path), given)
            except (IrloopError, AttributeError, TypeError, ValueError):
                continue
            if found is not None:
                yield found


def _stretched(value: Any, sizes: tuple[int, ...], factor: int) -> Any:
    """A copy in which the axes with one of these sizes are repeated `factor` times."""
    if not isinstance(value, np.ndarray):
        return value
    for axis, dim in enumerate(value.shape):
        if dim in sizes:
            value = value.take(np.arange(dim * factor) % dim, axis=axis)
    return value


def _short(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim < 2


def enlarged(case: Case) -> Iterator[tuple[str, Any]]:
    """Ways to enlarge a case: a name, and a function of a factor that gives op and inputs."""
    dims = {dim for value in case.values if isinstance(value, np.ndarray) for dim in value.shape}
    dims = set(sorted(dims)[:6])
    ways = [(dim,) for dim in dims] + list(combinations(sorted(dims), 2))
    for sizes in [tuple(dims)] if case.op.elementwise else [*ways, tuple(dims)]:
        yield (
            f"sizes {sizes}",
            lambda factor, sizes=sizes: (
                case.op,
                [_stretched(value, sizes, factor) for value in case.values],
            ),
        )
    for at, value in enumerate(case.values):
        if _short(value) and value.size < 9:
            yield (
                f"numbers of input {at}",
                lambda factor, at=at: (
                    case.op,
                    [
                        (value * factor).astype(value.dtype) if at == place else value
                        for place, value in enumerate(case.values)
                    ],
                ),
            )
    described: Any = case.op
    for field in fields(described):
        found = getattr(case.op, field.name)
        numbers = found if isinstance(found, tuple) else (found,)
        if numbers and all(type(item) is int and item > 0 for item in numbers):
            yield (
                f"attribute {field.name}",
                lambda factor, field=field, numbers=numbers, found=found: (
                    replace(
                        described,
                        **{
                            field.name: tuple(item * factor for item in numbers)
                            if isinstance(found, tuple)
                            else numbers[0] * factor
                        },
                    ),
                    case.values,
                ),
            )


def measured(case: Case, op: Op, values: list[Any], *, memory: bool) -> tuple[float, float]:
    """The seconds and the charged seconds of one call; or the peak and the announced bytes.

    Raises:
        LimitError: if the budget refuses the call.
    """
    node = case.node
    kernel = op.kernel(len(node.outputs))
    if memory:
        tracemalloc.start()
    budget = _Watched(memory=MEMORY, operations=STEPS)
    begun = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, TOO_LONG)
        with budget.entered(), np.errstate(all="ignore"):
            size = room_needed(node, values, MEMORY) if op == node.op else 0
            room = size + temporaries(node, values, size)
            budget.reserve(room, "outputs")
            results = kernel(*values)
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - begun
        results = list(results) if isinstance(results, tuple) else [results]
        if not memory:
            steps = budget._spent + A_CHECK + call_work(node) + work_of(node, values, results)
            return seconds, steps * A_STEP / 1e9
        peak = tracemalloc.get_traced_memory()[1]
        return peak, max(budget.most, sum(owned_bytes(item) for item in results))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        tracemalloc.stop()


def _worst(case: Case, way: str, make: Any, *, memory: bool) -> dict[str, Any] | None:
    """The measurement at the largest size that the budget allows."""
    row: dict[str, Any] | None = None
    factor = 4
    while True:
        try:
            op, values = make(factor)
            if sum(getattr(value, "nbytes", 0) for value in values) > MOST_INPUT:
                return row
            found, charged = measured(case, op, values, memory=memory)
        except LimitError:
            return row
        except _TooLong:
            found, charged = TOO_LONG, 0.0
        except Exception:  # the enlarged inputs do not fit to each other
            return row
        row = {
            "op": case.op.type, "case": case.name, "way": way, "factor": factor,
            "found": round(found, 3), "charged": round(charged, 4),
        }  # fmt: skip
        if not memory and found > LONG:
            return row
        factor *= 4
        if factor > 1 << 34:
            return row


def main() -> None:
    """Measure the cases and print the worst ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 30)
    parser.add_argument("--seconds", type=float, default=280)
    parser.add_argument("--cases-of-each", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGPROF, _expire)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_SPACE, MOST_SPACE))
    least = 200e6 if options.memory else 0.1
    worst: dict[str, tuple[float, dict[str, Any]]] = {}
    end = time.monotonic() + options.seconds
    seen: set[Any] = set()
    taken: Counter[type[Op]] = Counter()
    cases = node_tests() if options.cases is None else suite(options.cases)
    for number, case in enumerate(cases):
        if not options.first <= number < options.first + options.count:
            continue
        if options.only.lower() not in case.op.type.lower():
            continue
        shapes = tuple(getattr(value, "ndim", None) for value in case.values)
        if (repr(case.op)[:400], shapes) in seen:
            continue
        seen.add((repr(case.op)[:400], shapes))
        taken[type(case.op)] += 1
        if taken[type(case.op)] > options.cases_of_each:
            continue
        if time.monotonic() > end:
            print(f"time is over at case {number}")
            break
        for way, make in enlarged(case):
            row = _worst(case, way, make, memory=options.memory)
            if row is None or row["found"] < least:
                continue
            ratio = row["found"] / max(row["charged"], 1e-6)
            print(json.dumps(row), flush=True)
            key = row["op"]
            if key not in worst or worst[key][0] < ratio:
                worst[key] = ratio, row
    for ratio, row in sorted(worst.values(), key=lambda item: -item[0]):
        print(f"{ratio:8.1f}  {row['op']}: {row['way']} x {row['factor']} of {row['case']}")


if __name__ == "__main__":
    main()
