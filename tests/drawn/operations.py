"""Models of one OpenVINO operation; their export, run by ONNX Runtime, is compared with the
executor.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pytest

from benchmarks.engines import Engines
from irloop.conversion import pipelines
from irloop.execution.session import Session
from irloop.formats.onnx import writer
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_DIM, Shape, TensorType, element_type_of

__all__ = ["Draw", "check_operation", "everything", "model_of", "run_onnxruntime", "run_openvino"]

T = TypeVar("T")

Array = np.ndarray[Any, np.dtype[Any]]


class Draw:
    """Random attributes and arrays, determined by a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def choice(self, items: Sequence[T]) -> T:
        """A random element of `items`."""
        return items[int(self.rng.integers(len(items)))]

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < share)


def model_of(
    op: Op,
    arrays: Sequence[Array | None],
    *,
    constants: Collection[int] = (),
    dynamic: Collection[int] = (),
) -> Model:
    """A model of one operation; `dynamic` inputs have unknown dimensions, and None is an absent
    input.
    """
    builder = Builder(Graph("g"))
    values: list[Value | None] = []
    for at, array in enumerate(arrays):
        if array is None:
            values.append(None)
            continue
        element = element_type_of(array.dtype)
        if at in constants:
            values.append(builder.constant(array, element))
            continue
        dims = (UNKNOWN_DIM,) * array.ndim if at in dynamic else array.shape
        values.append(builder.parameter(f"in{at}", TensorType(element, Shape(dims))))
    node = builder.emit(op, *values, name="op")
    for at, value in enumerate(node.outputs):
        builder.result(value, f"out{at}")
    return Model(builder.graph, "openvino", 11, {}, {})


def run_onnxruntime(model: Model, given: Sequence[Array]) -> list[Any]:
    """The outputs of ONNX Runtime for a model that onnx.checker accepts."""
    onnx = pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    proto = writer.to_proto_model(model)
    onnx.checker.check_model(proto, full_check=True)
    onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=True)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"]
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=providers)
    names = [item.name for item in session.get_inputs()]
    return list(session.run(None, dict(zip(names, given, strict=True))))


def _compare(found: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float) -> None:
    for array, wanted in zip(found, expected, strict=True):
        assert array.dtype == wanted.dtype
        assert array.shape == wanted.shape
        wide, reference = array.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_allclose(wide, reference, rtol, atol)


@cache
def _engines() -> Engines:
    return Engines()


def run_openvino(model: Model, given: Sequence[Array]) -> list[Any]:
    """The outputs of OpenVINO's CPU plugin for an IR, computed in a child process."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        ir_writer.write(model, path)
        return _engines().run("openvino", path, list(given), Path(folder))


def everything(outputs: list[Any]) -> list[Any]:
    """Keep all outputs of an operation."""
    return outputs


def check_operation(
    op: Op,
    arrays: Sequence[Array | None],
    *,
    opset: int = 17,
    constants: Collection[int] = (),
    dynamic: Collection[int] = (),
    rtol: float = 1e-4,
    atol: float = 1e-4,
    openvino: Callable[[list[Any]], list[Any]] | None = None,
) -> list[Any]:
    """Compare the operation with its export and with the IR made from that export.

    ONNX Runtime runs the export, the executor the export and the IR made of it. With `openvino`, a
    function that selects the specified parts of the outputs, OpenVINO also runs both IRs.
    """
    model = model_of(op, arrays, constants=constants, dynamic=dynamic)
    given = [a for at, a in enumerate(arrays) if a is not None and at not in constants]
    expected = list(Session(model).run(given).values())
    exported, _ = pipelines.to_onnx(model, opset=opset)
    _compare(run_onnxruntime(exported, given), expected, rtol, atol)
    _compare(list(Session(exported).run(given).values()), expected, rtol, atol)
    again, _ = pipelines.to_openvino(exported)
    _compare(list(Session(again).run(given).values()), expected, rtol, atol)
    if openvino is not None and importlib.util.find_spec("openvino") is not None:
        # Not every operation of the CPU plugin supports unknown shapes.
        fixed = model_of(op, arrays, constants=constants)
        again, _ = pipelines.to_openvino(pipelines.to_onnx(fixed, opset=opset)[0])
        for ir in (fixed, again):
            found = openvino(run_openvino(ir, given))
            _compare(found, openvino(expected), 10 * rtol, 10 * atol)
    return expected
