"""`irloop.backend` is an ONNX backend: ONNX's own test runner runs the executor through it."""

from __future__ import annotations

import io
import unittest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop import backend

onnx = pytest.importorskip("onnx")

#: Node tests of all kinds: elementwise, shapes, control flow, sequences, optionals, strings, small
#: types, recurrence.
SELECTED = (
    r"^test_(add|mul|div|softmax_axis_\d|matmul_2d|gather_\d|concat_.*|slice.*|reshape_.*)_cpu",
    r"^test_(loop1[13]|if|if_seq|if_opt|scan9_sum|scan_sum|range_.*_expanded)_cpu",
    r"^test_(sequence_.*|optional_has_element_.*|identity_.*|string_concat.*|string_split.*)_cpu",
    r"^test_(lstm_defaults|gru_defaults|simple_rnn_defaults|cast_FLOAT_to_BFLOAT16|topk.*)_cpu",
    r"^test_(quantizelinear.*|dequantizelinear.*|qlinearmatmul_2D_.*|nonmaxsuppression_.*)_cpu",
)


def test_the_runner_of_onnx() -> None:
    from onnx.backend.test import BackendTest

    with warnings.catch_warnings():
        # The generators of the package's expected values overflow on purpose.
        warnings.simplefilter("ignore")
        runner = BackendTest(backend, __name__)  # type: ignore[arg-type]  # a module, as usual
        for pattern in SELECTED:
            runner.include(pattern)
        suite = unittest.TestSuite(
            unittest.defaultTestLoader.loadTestsFromTestCase(case)
            for case in runner.test_cases.values()
        )
        stream = io.StringIO()
        result = unittest.TextTestRunner(stream).run(suite)
    assert result.wasSuccessful(), stream.getvalue()[-5000:]
    ran = result.testsRun - len(result.skipped)
    assert ran >= 100, f"{ran} of {result.testsRun}"


def model() -> Any:
    helper, tensor = onnx.helper, onnx.TensorProto
    x = helper.make_tensor_value_info("x", tensor.FLOAT, ["n"])
    y = helper.make_tensor_value_info("y", tensor.FLOAT, ["n"])
    node = helper.make_node("Neg", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


X = np.array([1, -2], np.float32)


@pytest.mark.parametrize("form", ["proto", "bytes", "path", "model"])
def test_prepare_takes_a_model_in_every_form(form: str, tmp_path: Path) -> None:
    proto = model()
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    forms = {
        "proto": proto,
        "bytes": proto.SerializeToString(),
        "path": path,
        "model": irloop.read_model(path),
    }
    prepared = backend.prepare(forms[form], device="CPU:0")
    for inputs in ([X], {"x": X}, X):
        (found,) = prepared.run(inputs)
        np.testing.assert_array_equal(found, -X)
    assert backend.is_compatible(forms[form])
    (found,) = backend.run_model(forms[form], [X])
    np.testing.assert_array_equal(found, -X)


def test_run_node() -> None:
    node = onnx.helper.make_node("Split", ["x", "s"], ["a", "b"], axis=0)
    parts = np.array([1, 2], np.int64)
    first, second = backend.run_node(node, [np.arange(3), parts], opset_version=13)
    assert (first.tolist(), second.tolist()) == ([0], [1, 2])
    node = onnx.helper.make_node("Clip", ["x", "", "high"], ["y"])
    (found,) = backend.run_node(node, [X, np.array(0.5, np.float32)])
    assert found.tolist() == [0.5, -2]


def test_run_node_with_values_from_outside() -> None:
    loop = onnx.parser.parse_node(
        """
        y = Loop (m, "", s) <body = b (int64 i, bool c, float t) => (bool d, float u) {
          d = Identity (c)
          u = Add (t, step)
        }>
        """
    )
    m, start, step = np.array(3), np.float32(1), np.float32(2)
    (found,) = backend.run_node(loop, [m, start], context={"step": step, "unread": step})
    assert found.tolist() == 7
    (found,) = backend.run_node(loop, {"m": m, "s": start}, context={"step": step, "s": step})
    assert found.tolist() == 7
    with pytest.raises(irloop.IrloopError, match="step"):
        backend.run_node(loop, [m, start])


def test_devices_and_opsets() -> None:
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA:0")
    assert backend.supports_opset("", 17)
    assert not backend.supports_opset("", 1000)
    with pytest.raises(irloop.UsageError, match="CUDA"):
        backend.prepare(model(), "CUDA")
    with pytest.raises(irloop.UsageError, match="CUDA"):
        backend.run_node(onnx.helper.make_node("Neg", ["x"], ["y"]), [X], "CUDA")


def test_errors_are_those_of_irloop() -> None:
    unknown = model()
    unknown.graph.node[0].op_type = "Nonsense"
    assert not backend.is_compatible(unknown)
    calls: list[Any] = [
        lambda: backend.prepare(unknown),
        lambda: backend.prepare(b"\xff\xff"),
        lambda: backend.prepare(3),  # type: ignore[arg-type]
        lambda: backend.run_node("Neg", [X]),  # type: ignore[arg-type]
        lambda: backend.run_model(model(), [X, X]),
        lambda: backend.run_model(model(), [np.array([b"\xff"], object)]),
    ]
    for call in calls:
        with pytest.raises(irloop.IrloopError) as caught:
            call()
        assert not isinstance(caught.value, irloop.InternalError)
