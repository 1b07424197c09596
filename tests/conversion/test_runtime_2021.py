"""IRs for `openvino-2021.4` in the real runtime, whose interpreter IRLOOP_PYTHON_2021 names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irloop
from benchmarks.engines import EngineError
from benchmarks.runtime_2021 import VERSION, InferenceEngine, version_of
from irloop.conformance.suite import arrays_of, write_case
from irloop.dialects.openvino import (
    activation,
    comparison,
    control_flow,
    convert,
    elementwise,
    gather,
    reduction,
    slicing,
)
from irloop.faults.case import Run
from irloop.faults.catalogue import faults_of
from irloop.faults.fault import Fault
from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, Invariant, LastValue, PortMap
from irloop.graph.model import Body, Model, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, element_type_of
from tests.passes.openvino_models import Build, model_of

F32 = ElementType.F32
X = np.array([[3, -1, 2], [0, 5, 4]], np.float32)


@pytest.fixture(scope="module")
def engine() -> Iterator[InferenceEngine]:
    python = os.environ.get("IRLOOP_PYTHON_2021", "")
    if not python or version_of(python) != VERSION:
        pytest.skip(f"IRLOOP_PYTHON_2021 names no Python with openvino {VERSION}")
    engine = InferenceEngine(python)
    yield engine
    engine.close()


def choice(b: Builder, x: Value) -> Value:
    """-x if the largest element is greater than 4, else x * x."""
    most = b(reduction.ReduceMax(), x, b.i64([0, 1]))
    condition = b(comparison.Less(), b.constant(4, F32), most)
    bodies = []
    for label in ("then", "else"):
        inner = b.nested(label)
        p = inner.parameter("p", x.type)
        then = label == "then"
        made = inner(elementwise.Negative(), p) if then else inner(elementwise.Multiply(), p, p)
        inner.result(made, f"{label}/out")
        bodies.append(Body(label, inner.graph, PortMap((Invariant(1, 0),), (LastValue(0, 0),))))
    return b.emit(control_flow.If(), condition, x, n_outputs=1, bodies=tuple(bodies)).output


def counting(b: Builder, x: Value, trip: Value) -> Value:
    """x + the number of iterations, computed by a loop."""
    inner = b.nested("body")
    new = inner(elementwise.Add(), inner.parameter("a", x.type), inner.constant(1, F32))
    inner.result(inner.constant(True, ElementType.BOOLEAN), "go")
    inner.result(new, "new")
    body = Body("body", inner.graph, PortMap((Carried(2, 0, 1),), (LastValue(1, 0),), None, 0))
    start = b.constant(True, ElementType.BOOLEAN)
    return b.emit(control_flow.Loop(), trip, start, x, n_outputs=1, bodies=(body,)).output


def packed(b: Builder, x: Value) -> Value:
    codes = np.array([[1, 2, 3], [4, 5, 15]]).astype(ml_dtypes.uint4)
    weights = b.tensor(ArrayTensor(codes, ElementType.U4))
    return b(elementwise.Multiply(), x, b(convert.Convert(F32), weights))


def without_elements(b: Builder, x: Value) -> Value:
    lengths = b.i64([3, 0])
    whole, empty = b.emit(slicing.VariadicSplit(), x, b.i64(1), lengths, n_outputs=2).outputs
    return b(slicing.Concat(1), empty, b(elementwise.Negative(), whole), empty, x)


def numbers(*lists: list[int]) -> list[Any]:
    return [np.array(item, np.uint8) for item in lists]


SIX = np.arange(12, dtype=np.float32).reshape(1, 3, 1, 1, 2, 2)

CASES: list[tuple[str, Build, list[Any], Any]] = [
    ("gather", lambda b, x: b(gather.Gather8(), x, b.i64([-1, 0]), b.i64(1)), [X], X[:, [-1, 0]]),
    (
        "slice",
        lambda b, x: b(slicing.Slice(), x, *map(b.i64, ([-1], [-4], [-2], [1]))),
        [X],
        X[:, ::-2],
    ),
    (
        "softmax",
        lambda b, x: b(activation.SoftMax8(-1), x),
        [X],
        np.exp(X) / np.exp(X).sum(1, keepdims=True),
    ),
    ("then", choice, [X], -X),
    ("else", choice, [X - 2], (X - 2) ** 2),
    ("three iterations", counting, [X, np.array(3)], X + 3),
    ("no iteration", counting, [X, np.array(0)], X),
    ("u4", packed, [X], X * [[1, 2, 3], [4, 5, 15]]),
    (
        "least",
        lambda b, x, y: b(elementwise.Minimum(), x, y),
        numbers([250, 3, 7], [4, 200, 7]),
        [4, 3, 7],
    ),
    (
        "aligned",
        lambda b, x, y: b(elementwise.Add("pdpd", 0), x, y),
        [X, np.array([10, 20], np.float32)],
        X + np.array([[10], [20]]),
    ),
    (
        "a choice of six dimensions",
        lambda b, x, row: b(
            comparison.Select(), b(comparison.Greater(), x, b.constant(2, F32)), x, row
        ),
        [SIX, np.array([[-1], [-2]], np.float32)],
        np.where(SIX > 2, SIX, [[-1], [-2]]),
    ),
    ("parts without elements", without_elements, [X], np.concatenate([-X, X], 1)),
]


@pytest.mark.parametrize(("name", "build", "given", "wanted"), CASES, ids=[c[0] for c in CASES])
def test_the_runtime_computes_the_model_correctly(
    name: str, build: Build, given: list[Any], wanted: Any, engine: InferenceEngine, tmp_path: Path
) -> None:
    inputs = [(element_type_of(item.dtype), item.shape) for item in given]
    result, _ = irloop.convert(model_of(build, *inputs), target="openvino-2021.4")
    path = tmp_path / "model.xml"
    irloop.save_model(result, path)
    (got,) = engine.run(path, given, 1, tmp_path)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def _near(found: Any, wanted: Any, declared: Value) -> bool:
    (array,) = arrays_of([wanted], [declared])
    if np.shape(found) != array.shape:
        return False
    return np.allclose(np.asarray(found, np.float64), array.astype(np.float64), atol=1e-5)


@pytest.mark.parametrize("fault", faults_of("openvino-2021.4"), ids=lambda item: item.code)
def test_the_target_avoids_the_faults_of_its_version_or_names_them(
    fault: type[Fault], engine: InferenceEngine, tmp_path: Path
) -> None:
    """The old runtime computes the minimal model wrongly, and the written model correctly."""
    case = fault.smallest

    def is_right(path: Path, item: Run, inputs: list[Any]) -> bool:
        try:
            got = engine.run(path, inputs, len(item.outputs), tmp_path)
        except EngineError:
            return False
        pairs = zip(got, item.outputs, model.graph.outputs, strict=True)
        return all(wanted is not None and _near(x, wanted, value) for x, wanted, value in pairs)

    rights = []
    for item in case.runs:
        model, _ = write_case(case, tmp_path)
        path = tmp_path / "as_it_is.xml"
        irloop.save_model(Model(model.graph, "openvino", 10), path, ir_version=10)
        inputs = arrays_of(item.inputs, model.graph.inputs)
        rights.append(is_right(path, item, inputs))
        try:
            result, notes = irloop.convert(model, "openvino", target="openvino-2021.4")
        except irloop.UnsupportedError:
            # Conversion names every operation that prevents it, and nothing is written.
            continue
        if any(f"({fault.code})" in note.message for note in notes):
            continue
        written = tmp_path / "written.xml"
        irloop.save_model(result, written)
        assert is_right(written, item, inputs) or not fault.concerns_conversion
    assert not all(rights)
