"""Runs every model of a corpus with irloop's executor and compares with the recorded outputs.

    python -m benchmarks.corpus_execution CORPUS [mo2021 real/gru/onnx ...] [-v]

Both dialects of a case run natively. Prints each failure and a summary by class of failure.
A corpus is a folder as `tests/fixtures/loops.tar.xz` holds one (see `benchmarks/cases.py`).
"""

from __future__ import annotations

import argparse
import collections
import time
from pathlib import Path

from benchmarks.cases import CorpusCase, corpus_cases, differences
from irloop.errors import IrloopError
from irloop.execution.session import Session


def outcome(case: CorpusCase) -> tuple[str, str]:
    """The class of the result ("equal" is good) and its details."""
    try:
        model = case.read()
    except IrloopError as error:
        return "unreadable", str(error)
    try:
        session = Session(model)
    except IrloopError as error:
        return "unsupported", error.message
    checked = 0
    for number, given, expected in case.sets():
        try:
            found = case.run(session, model, given)
        except IrloopError as error:
            return type(error).__name__, f"set {number}: {error}"
        declared = case.as_declared(expected, found)
        reason = differences(declared, found, factor=case.factor)
        if reason:
            return "different", f"set {number}: {reason}"
        checked += 1
    return ("equal", "") if checked else ("no recorded outputs", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("only", nargs="*")
    parser.add_argument("-v", action="store_true", help="name the cases that are equal, too")
    options = parser.parse_args()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for case in corpus_cases(options.root, options.only):
        start = time.perf_counter()
        try:
            kind, detail = outcome(case)
        except Exception as error:  # any other exception of irloop is a bug, counted as one
            kind, detail = "escaped exception", f"{type(error).__name__}: {error}"
        counts[case.dialect][kind] += 1
        if kind != "equal" or options.v:
            seconds = time.perf_counter() - start
            print(f"{kind}: {case.name} ({seconds:.1f} s) {detail.splitlines()[:6]}")
    for dialect, found in counts.items():
        print(dialect, dict(found.most_common()))


if __name__ == "__main__":
    main()
