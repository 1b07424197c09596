"""SVMClassifier in irloop's executor, and as IR in OpenVINO, against ONNX Runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.conversion.both_engines import F32, needs_engines

pytestmark = needs_engines

FEATURES = 3


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def written(folder: Path, *, strings: bool = False, **attributes: Any) -> Path:
    node = helper.make_node(
        "SVMClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", **attributes
    )
    tensor = helper.make_tensor_value_info
    kind = onnx.TensorProto.STRING if strings else onnx.TensorProto.INT64
    graph = helper.make_graph(
        [node],
        "g",
        [tensor("x", onnx.TensorProto.FLOAT, ["N", FEATURES])],
        [tensor("label", kind, ["N"]), tensor("scores", onnx.TensorProto.FLOAT, ["N", "C"])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def drawn(seed: int, classes: int, *, probabilities: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    per_class = [int(item) for item in rng.integers(1, 4, classes)]
    vectors, pairs = sum(per_class), classes * (classes - 1) // 2
    attributes: dict[str, Any] = {
        "coefficients": rng.normal(size=(classes - 1) * vectors).tolist(),
        "kernel_params": [0.5, 0.1, 2.0],
        "rho": (rng.normal(size=pairs) / 10).tolist(),
        "support_vectors": rng.normal(size=vectors * FEATURES).tolist(),
        "vectors_per_class": per_class,
    }
    if probabilities:
        attributes["prob_a"] = (-np.abs(rng.normal(size=pairs))).tolist()
        attributes["prob_b"] = rng.normal(size=pairs).tolist()
    return attributes


X = np.random.default_rng(9).normal(size=(20, FEATURES)).astype(F32)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_classes_are_chosen_by_votes_of_pairs(
    kernel: str, classes: int, transform: str, engines: Engines, tmp_path: Path
) -> None:
    path = written(
        tmp_path,
        classlabels_ints=list(range(10, 10 + classes)),
        kernel_type=kernel,
        post_transform=transform,
        **drawn(classes, classes),
    )
    label, scores = engines.run("onnxruntime", path, [X], tmp_path)
    own = list(Session(irloop.read_model(path)).run([X]).values())
    assert own[0].tolist() == label.tolist()
    np.testing.assert_allclose(own[1], scores, 1e-4, 1e-5)
    ir = tmp_path / "model.xml"
    irloop.save_model(irloop.convert(path)[0], ir, ir_version=11)
    found = engines.run("openvino", ir, [X], tmp_path)
    assert found[0].tolist() == label.tolist()
    np.testing.assert_allclose(found[1], scores, 1e-4, 1e-5)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_probabilities_and_string_labels(classes: int, engines: Engines, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        strings=True,
        classlabels_strings=[f"class {item}" for item in range(classes)],
        kernel_type="RBF",
        **drawn(classes, classes, probabilities=True),
    )
    ir, back = tmp_path / "model.xml", tmp_path / "back.onnx"
    irloop.save_model(irloop.convert(path)[0], ir, ir_version=11)
    irloop.save_model(irloop.convert(ir)[0], back)
    for rows in (X, X[3:4], X[:0]):
        label, scores = engines.run("onnxruntime", path, [rows], tmp_path)
        own = list(Session(irloop.read_model(path)).run([rows]).values())
        assert own[0].tolist() == label.tolist()
        np.testing.assert_allclose(own[1], scores, 1e-3, 1e-4)
        for engine, converted in (("openvino", ir), ("onnxruntime", back)):
            found = engines.run(engine, converted, [rows], tmp_path)
            assert np.asarray(found[0]).astype(str).tolist() == label.astype(str).tolist()
            np.testing.assert_allclose(found[1], scores, 1e-4, 1e-5)


def test_probabilities_of_many_classes_are_refused(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        classlabels_ints=list(range(65)),
        kernel_type="LINEAR",
        **drawn(3, 65, probabilities=True),
    )
    with pytest.raises(irloop.UnsupportedError, match="probabilities of 65 classes"):
        irloop.convert(path)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_without_support_vectors(
    sign: int, classes: int, engines: Engines, tmp_path: Path
) -> None:
    weights = np.abs(np.random.default_rng(5).normal(size=classes * FEATURES))
    path = written(
        tmp_path,
        classlabels_ints=list(range(classes)),
        coefficients=(weights * sign).tolist(),
        kernel_type="LINEAR",
        kernel_params=[0.0, 0.0, 0.0],
        rho=[0.1],
    )
    label, scores = engines.run("onnxruntime", path, [X], tmp_path)
    own = list(Session(irloop.read_model(path)).run([X]).values())
    np.testing.assert_allclose(own[1], scores, 1e-5, 1e-6)
    assert own[0].tolist() == label.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rho": [0.1, 0.2]}, "rho does not have one value per pair of classes"),
        ({"coefficients": [1.0]}, "a coefficient for each support vector and other class"),
        ({"vectors_per_class": [3]}, "vectors_per_class must have a count for each label"),
        ({"support_vectors": [1.0, 2.0]}, "the coefficients cannot be divided into rows"),
        ({"kernel_type": "CUBIC"}, "kernel_type is not known"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    attributes = {"classlabels_ints": [0, 1, 2], "kernel_type": "RBF", **drawn(1, 3), **change}
    with pytest.raises(irloop.InferenceError, match=message):
        irloop.convert(written(tmp_path, **attributes))
