"""Runs an operation suite with irloop's executor and compares with the recorded outputs.

    python -m benchmarks.opconf_execution CASES [opset1_Add ...] [-v]

Prints each failure, a summary by class of failure, and the operations with failures.
"""

from __future__ import annotations

import argparse
import collections
from pathlib import Path

from benchmarks.cases import OperationCase, operation_cases
from irloop.errors import IrloopError
from irloop.execution.session import Session


def outcome(case: OperationCase) -> tuple[str, str]:
    """The class of the result ("equal" is good) and its details."""
    try:
        model = case.read()
    except IrloopError as error:
        return "unreadable", str(error)
    try:
        session = Session(model)
    except IrloopError as error:
        return "unsupported", error.message
    for number, (given, expected) in enumerate(case.steps()):
        try:
            found = session.run(given)
        except IrloopError as error:
            return type(error).__name__, f"step {number}: {error}"
        reason = case.difference(expected, list(found.values()))
        if reason:
            return "different", f"step {number}: {reason}"
    return "equal", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("only", nargs="*")
    parser.add_argument("-v", action="store_true", help="name the cases that are equal, too")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    operations: collections.Counter[str] = collections.Counter()
    for case in operation_cases(options.root, options.only):
        try:
            kind, detail = outcome(case)
        except Exception as error:  # any other exception of irloop is a bug, counted as one
            kind, detail = "escaped exception", f"{type(error).__name__}: {error}"
        counts[kind] += 1
        if kind != "equal":
            operations[case.folder.parent.name] += 1
        if kind != "equal" or options.v:
            print(f"{kind}: {case.name} {detail.splitlines()[:5]}")
    print(dict(counts.most_common()))
    print(dict(operations.most_common()))


if __name__ == "__main__":
    main()
