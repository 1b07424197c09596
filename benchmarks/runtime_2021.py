"""irloop's `--target openvino-2021.4` in the real runtime: the Inference Engine 2021.4.2, CPU.

    python -m benchmarks.runtime_2021 --python PATH [--corpus DIR | --operations DIR]
        [--fix-inputs] [--only test_lstm] [-v]

PATH is a Python 3.7 to 3.9 with openvino==2021.4.2. By default the backend tests of the installed
onnx package, except those with random outputs, are converted, run and compared with their expected
outputs; with --corpus, every IR of the recorded cases; with --operations, every IR of an operation
suite. Inputs of unknown shape get the shape of the data, because the runtime needs static shapes.
Outputs are compared in the types that it returns: i32 for integers of more than 16 bits, f32 for
everything else.

With --fix-inputs a model that is refused because its shapes follow from an input (axes, sizes) is
tried again with that input as a constant (the pass fix_input); these are counted separately.
"""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

import irloop
from benchmarks.backend_conversion import model_file
from benchmarks.cases import (
    CorpusCase,
    OperationCase,
    corpus_cases,
    differences,
    operation_cases,
)
from benchmarks.corpus_conversion import positions
from benchmarks.engines import Child, EngineError, same_but_empty
from benchmarks.onnx_backend import KINDS, RANDOM, sets
from irloop.errors import IrloopError, UnsupportedError
from irloop.graph.types import TensorType
from irloop.passes import Manager
from irloop.passes.common import FixInput

TARGET = "openvino-2021.4"
WORKER = Path(__file__).with_name("inference_engine_worker.py")
VERSION = "2021.4.2"

#: Relative and absolute tolerance: two units in the last place of narrow types.
LIMITS = {"bfloat16": (8e-3, 1e-3), "float16": (2e-3, 1e-4)}

DataSet = tuple[list[Any], list[Any]]
Case = Callable[[], tuple[irloop.Model, list[DataSet]]]


class InferenceEngine(Child):
    """The old runtime in a separate Python."""

    def __init__(self, python: str) -> None:
        super().__init__([python, str(WORKER)])

    def run(self, model: Path, given: Sequence[Any], count: int, folder: Path) -> list[Any]:
        """The `count` outputs of an IR.

        Raises:
            EngineError: with the engine's message, or "crash", or "time-out".
        """
        stored, made = folder / "job_in.npz", folder / "job_out.npz"
        arrays = {f"in{at}": _plain(value) for at, value in enumerate(given)}
        np.savez(stored, **arrays)
        self.ask({"model": str(model), "inputs": str(stored), "outputs": str(made)})
        with np.load(made) as data:
            return [data[f"out{at}"] for at in range(count)]


def _plain(value: Any) -> Any:
    """An array in a type that old versions of NumPy have."""
    array = np.asarray(value)
    return array if array.dtype.kind in "fiub" else array.astype(np.float32)


def version_of(python: str) -> str:
    """The version of the openvino package of an interpreter; empty if it is not installed."""
    code = "import pkg_resources as p; print(p.get_distribution('openvino').version)"
    try:
        done = subprocess.run(  # noqa: S603
            [python, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()


def converted(model: irloop.Model, first: Sequence[Any], folder: Path) -> Path:
    """The IR for the target, with inputs in the shapes of their first data."""
    shapes = {}
    for node, value in zip(model.graph.parameters, first, strict=False):
        type = node.outputs[0].type
        if isinstance(type, TensorType) and not type.shape.is_static and hasattr(value, "shape"):
            shapes[node.name] = list(value.shape)
    result, _ = irloop.convert(model, "openvino", target=TARGET, shapes=shapes)
    path = folder / "converted.xml"
    irloop.save_model(result, path)
    return path


def with_fixed_inputs(case: Case) -> Case | None:
    """The same case with scalars and short lists as constants; None if no input would remain."""
    model, data = case()
    given = data[0][0]
    small = [
        at
        for at, value in enumerate(given)
        if isinstance(value, np.ndarray) and value.ndim <= 1 and value.size <= 16
    ]
    kept = [at for at in range(len(given)) if at not in small]
    if not small or not kept or len(data) > 1:
        return None
    names = [node.name for node in model.graph.parameters]
    texts = [f"{names[at]}={','.join(map(str, given[at].reshape(-1)))}" for at in small]
    Manager([FixInput(tuple(texts))]).run_passes(model)
    return lambda: (model, [([given[at] for at in kept], data[0][1])])


def judge(case: Case, engine: InferenceEngine, folder: Path) -> str:
    """ "equal", or the class of failure and its message."""
    _, data = case()
    path: Path = folder
    shapes: list[Any] | None = None
    for given, wanted in data:
        seen = [getattr(value, "shape", None) for value in given]
        if shapes != seen:
            path, shapes = converted(case()[0], given, folder), seen
        try:
            # A sequence in ONNX becomes several tensors in an IR.
            wanted = _tensors(wanted)  # noqa: PLW2901
            found = engine.run(path, _tensors(given), len(wanted), folder)
        except EngineError as error:
            return f"engine: {error}"
        for want, got in zip(wanted, found, strict=True):
            narrow = want.astype(got.dtype)
            if same_but_empty(narrow, got):
                continue
            limits = LIMITS.get(want.dtype.name, (1e-3, 1e-5))
            why = differences([narrow], [got], limits=limits)
            if why:
                return f"different: {why}"
    return "equal" if data else "no data"


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def backend_tests(only: Sequence[str], folder: Path) -> Iterator[tuple[str, Case]]:
    """Yield each backend test without random outputs, with a function that reads it."""
    for case in (item for kind in KINDS for item in load_model_tests(kind=kind)):
        if case.name.startswith(tuple(only)) and not any(word in case.name for word in RANDOM):
            yield case.name, partial(_backend_test, case, folder)


def _backend_test(case: TestCase, folder: Path) -> tuple[irloop.Model, list[DataSet]]:
    return irloop.read_model(model_file(case, folder), functions=True), sets(case)


def recorded_irs(only: Sequence[str], corpus: Path) -> Iterator[tuple[str, Case]]:
    """Yield each recorded case that has an IR, with a function that reads it."""
    for case in corpus_cases(corpus):
        family = case.folder.parent.name
        wrong = "negative" in family or "unreadable" in family
        if case.dialect == "openvino" and not wrong and case.name.startswith(tuple(only)):
            yield case.name, partial(_recorded_ir, case)


def _recorded_ir(case: CorpusCase) -> tuple[irloop.Model, list[DataSet]]:
    model = case.read()
    ins = positions(case, "inputs", model.graph.parameters)
    outs = positions(case, "outputs", model.graph.results)
    data = [
        ([given[at] for at in ins], [wanted[at] for at in outs]) for _, given, wanted in case.sets()
    ]
    return model, data


def operation_irs(only: Sequence[str], root: Path) -> Iterator[tuple[str, Case]]:
    """Yield each case of an operation suite with one inference, with a function that reads it."""
    for case in operation_cases(root, only):
        if case.meta.get("steps", 1) == 1:
            yield case.name, partial(_operation_ir, case)


def _operation_ir(case: OperationCase) -> tuple[irloop.Model, list[DataSet]]:
    model = case.read()
    ((named, wanted),) = case.steps()
    return model, [([named[node.name] for node in model.graph.parameters], wanted)]


def verdict(case: Case, engine: InferenceEngine, *, fix: bool = False) -> str:
    """The verdict "equal", or what went wrong; never raises.

    With `fix`, a model refused for unknown shapes is tried again with inputs as constants.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            return judge(case, engine, Path(folder))
        except UnsupportedError as error:
            dynamic = any("static shapes only" in item.message for item in error.diagnostics)
            fixed = with_fixed_inputs(case) if fix and dynamic else None
            if fixed is not None:
                return f"with inputs fixed, {verdict(fixed, engine)}"
            return f"{type(error).__name__}: {error.diagnostics[0].message}"
        except IrloopError as error:
            return f"{type(error).__name__}: {error.diagnostics[0].message}"
        except Exception as error:  # an exception of irloop is a separate failure
            return f"escaped {type(error).__name__}: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="", help="an interpreter that has openvino 2021.4.2")
    parser.add_argument("--corpus", type=Path, help="recorded cases instead of backend tests")
    parser.add_argument("--operations", type=Path, help="an operation suite instead")
    parser.add_argument("--only", action="append", default=[], help="prefix of the name")
    parser.add_argument("--fix-inputs", action="store_true", help="make constants of small inputs")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    version = version_of(options.python)
    if version != VERSION:
        there = f"openvino {version}" if version else "no openvino"
        print(f"--python {options.python!r} has {there}; openvino=={VERSION} is needed there")
        return 2
    engine = InferenceEngine(options.python)
    tally: collections.Counter[str] = collections.Counter()
    only = options.only or [""]
    with tempfile.TemporaryDirectory() as folder:
        if options.corpus:
            cases = recorded_irs(only, options.corpus)
        elif options.operations:
            cases = operation_irs(only, options.operations)
        else:
            cases = backend_tests(only, Path(folder))
        for name, case in cases:
            found = verdict(case, engine, fix=options.fix_inputs)
            tally[found.split(":")[0]] += 1
            if found != "equal" or options.verbose:
                print(f"{name}: {' '.join(found.split())[:300]}", flush=True)
    print(f"== {TARGET}: {tally['equal']} of {tally.total()} equal; {dict(tally)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
