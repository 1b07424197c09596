"""Runs the backend tests of the installed onnx package with irloop's ONNX executor.

    python -m benchmarks.onnx_backend [test_loop ...] [-v]

Kinds node, simple, pytorch-operator and pytorch-converted. Prints each failure and a summary.
"""

from __future__ import annotations

import argparse
import collections
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from benchmarks.cases import differences
from irloop.errors import IrloopError, UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import reader

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")

#: Tests with random outputs, or with inputs other than tensors of numbers.
RANDOM = ("bernoulli", "randomnormal", "randomuniform", "multinomial", "training_dropout")


def value_of(path: Path, type: onnx.TypeProto) -> Any:
    """The value in a file; a sequence is a list, an absent optional None."""
    raw = path.read_bytes()
    if type.HasField("sequence_type"):
        return list(numpy_helper.to_list(onnx.SequenceProto.FromString(raw)))
    if type.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(raw))
    return numpy_helper.to_array(onnx.TensorProto.FromString(raw))


def _array(value: Any) -> Any:
    """Some tests store values as messages, if NumPy lacks the type."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def sets(case: TestCase) -> list[tuple[list[Any], list[Any]]]:
    """Inputs and expected outputs of each data set of a test."""
    if case.model_dir is None:
        return [
            ([_array(value) for value in given], [_array(value) for value in wanted])
            for given, wanted in case.data_sets or ()
        ]
    folder = Path(case.model_dir)
    graph = onnx.load(folder / "model.onnx").graph
    found = []
    for data in sorted(folder.glob("test_data_set_*")):
        given = [
            value_of(data / f"input_{at}.pb", item.type)
            for at, item in enumerate(graph.input)
            if (data / f"input_{at}.pb").exists()
        ]
        wanted = [
            value_of(data / f"output_{at}.pb", item.type) for at, item in enumerate(graph.output)
        ]
        found.append((given, wanted))
    return found


def outcome(case: TestCase) -> tuple[str, str]:
    """The class of the result ("equal" is good) and its details."""
    if case.model_dir is None:
        assert case.model is not None
        session = Session(reader.from_proto(case.model))
    else:
        session = Session(reader.read(Path(case.model_dir) / "model.onnx"))
    for given, wanted in sets(case):
        found = list(session.run(given).values())
        reason = differences(wanted, found, limits=(case.rtol, case.atol))
        if reason:
            return "different", reason
    return "equal", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*")
    parser.add_argument("-v", action="store_true", help="name the tests that are equal, too")
    options = parser.parse_args()
    os.environ.setdefault("ONNX_HOME", os.path.expanduser("~/.onnx"))
    totals: dict[str, collections.Counter[str]] = {}
    for kind in KINDS:
        counts = totals.setdefault(kind, collections.Counter())
        for case in load_model_tests(kind=kind):
            if options.only and not case.name.startswith(tuple(options.only)):
                continue
            try:
                with np.errstate(all="ignore"):
                    result, detail = outcome(case)
            except UnsupportedError as error:
                result, detail = "unsupported", error.message
            except IrloopError as error:
                result, detail = type(error).__name__, str(error)
            except Exception as error:  # any other exception of irloop is a bug, counted as one
                result, detail = "escaped exception", f"{type(error).__name__}: {error}"
            if result == "different" and any(word in case.name for word in RANDOM):
                result = "random"
            counts[result] += 1
            if result != "equal" or options.v:
                print(f"{result}: {case.name}: {detail.splitlines()[:4]}")
    for kind, counts in totals.items():
        print(kind, dict(counts.most_common()))


if __name__ == "__main__":
    main()
