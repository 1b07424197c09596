"""Conversion of feature operations of ai.onnx.ml to OpenVINO: results computed by hand, and
refusals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from irloop.conversion import pipelines
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.graph.model import Model

NAN = float("nan")
ROWS = np.array([[1, -2, 4], [0, 0, 0]], np.float32)
HOLES = np.array([[NAN, 1], [2, NAN]], np.float32)
NUMBERS = np.array([[3, 4]], np.int64)


#: x0 <= 2 ? node 1 : (x1 > 3 ? node 3 : node 4); each leaf has a vote for a target.
TREE: dict[str, Any] = {
    "nodes_treeids": [0] * 5,
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_featureids": [0, 0, 1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_values": [2.0, 0.0, 3.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 3, 0, 0],
    "nodes_falsenodeids": [2, 0, 4, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0],
    "target_treeids": [0] * 4,
    "target_nodeids": [1, 3, 4, 4],
    "target_ids": [0, 1, 0, 1],
    "target_weights": [1.0, 2.0, 3.0, -4.0],
}
#: Each of 70 nodes leads to the next node and to the last leaf.
DEEP: dict[str, Any] = {
    "nodes_treeids": [0] * 71,
    "nodes_nodeids": list(range(71)),
    "nodes_featureids": [0] * 71,
    "nodes_modes": ["BRANCH_LEQ"] * 70 + ["LEAF"],
    "nodes_values": [0.0] * 71,
    "nodes_truenodeids": [*range(1, 71), 0],
    "nodes_falsenodeids": [70] * 71,
    "n_targets": 1,
    "target_treeids": [0],
    "target_nodeids": [70],
    "target_ids": [0],
    "target_weights": [1.0],
}
CLASSES: dict[str, Any] = {name.replace("target_", "class_"): items for name, items in TREE.items()}
ONE_SIDED = {**CLASSES, "class_ids": [0] * 4, "class_weights": [0.25, 1.0, 0.75, 0.0]}
POINTS = np.array([[1, 9], [3, 4], [3, 1], [NAN, 9]], np.float32)
LABELS = {"classlabels_ints": [5, 9]}
VECTORS = {
    "support_vectors": [1.0, 1.0, 1.0, 0.0],
    "n_supports": 2,
    "coefficients": [1.0, -1.0],
    "rho": [1.0],
    "kernel_params": [0.5, 1.0, 2.0],
}


def model(type: str, inputs: list[Any], **attributes: Any) -> Model:
    names = [f"in{at}" for at in range(len(inputs))]
    node = helper.make_node(type, names, ["out"], domain="ai.onnx.ml", **attributes)
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info("out")])
    return reader.from_proto(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3)])
    )


BOTH = [[1, 0], [0, 2], [3, -4], [1, 0]]

CASES: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
    ("Normalizer", [ROWS], {"norm": "MAX"}, [[0.25, -0.5, 1], [0, 0, 0]]),
    ("Normalizer", [ROWS], {"norm": "L1"}, [[1 / 7, -2 / 7, 4 / 7], [0, 0, 0]]),
    ("Normalizer", [NUMBERS], {"norm": "L2"}, [[0.6, 0.8]]),
    ("Scaler", [NUMBERS], {"offset": [1.0], "scale": [0.5, 2.0]}, [[1, 6]]),
    (
        "Imputer",
        [HOLES],
        {"replaced_value_float": NAN, "imputed_value_floats": [8.0, 9.0]},
        [[8, 1], [2, 9]],
    ),
    ("Imputer", [NUMBERS], {"replaced_value_int64": 3, "imputed_value_int64s": [5]}, [[5, 4]]),
    ("Binarizer", [ROWS], {"threshold": 0.5}, [[1, 0, 1], [0, 0, 0]]),
    ("Binarizer", [NUMBERS], {"threshold": 3.5}, [[0, 1]]),
    ("ArrayFeatureExtractor", [NUMBERS[0], np.array([1, 0, 1])], {}, [[4, 3, 4]]),
    (
        "FeatureVectorizer",
        [ROWS, ROWS[:, :1]],
        {"inputdimensions": [2, 2]},
        [[1, -2, 1, 0], [0, 0, 0, 0]],
    ),
    ("OneHotEncoder", [NUMBERS], {"cats_int64s": [4, 3]}, [[[0, 1], [1, 0]]]),
    (
        "LinearRegressor",
        [NUMBERS],
        {"coefficients": [1.0, 2.0, 0.5, 0.0], "intercepts": [1.0, 0.0], "targets": 2},
        [[12, 1.5]],
    ),
    ("LinearClassifier", [NUMBERS], {"coefficients": [1.0, 2.0, 3.0, 4.0], **LABELS}, [9]),
    (
        "LabelEncoder",
        [NUMBERS],
        {"keys_int64s": [4, 3, 4], "values_floats": [7.0, 8.0, 9.0]},
        [[8, 9]],
    ),
    (
        "LabelEncoder",
        [HOLES],
        {"keys_floats": [NAN, 2.0], "values_int64s": [5, 6], "default_int64": -3},
        [[5, -3], [6, 5]],
    ),
    ("TreeEnsembleRegressor", [POINTS], {**TREE, "n_targets": 2}, BOTH),
    (
        "TreeEnsembleRegressor",
        [POINTS],
        {**TREE, "n_targets": 2, "aggregate_function": "MIN", "base_values": [1.0, 2.0]},
        [[2, 2], [1, 4], [4, -2], [2, 2]],
    ),
    (
        "TreeEnsembleClassifier",
        [POINTS],
        {**CLASSES, "classlabels_int64s": [5, 9]},
        [5, 9, 5, 5],
    ),
    (
        "TreeEnsembleClassifier",
        [POINTS],
        {**ONE_SIDED, "classlabels_int64s": [5, 9]},
        [5, 9, 9, 5],
    ),
    # Half of 7 plus one is 4.5, half of 3 plus one is 2.5; both are squared.
    ("SVMRegressor", [NUMBERS], {**VECTORS, "kernel_type": "POLY"}, [[20.25 - 6.25 + 1]]),
    ("SVMRegressor", [NUMBERS], {**VECTORS, "kernel_type": "LINEAR"}, [[7 - 3 + 1]]),
    (
        "SVMRegressor",
        [NUMBERS],
        {**VECTORS, "kernel_type": "RBF"},
        [[np.exp(-6.5) - np.exp(-10) + 1]],
    ),
    (
        "SVMRegressor",
        [NUMBERS],
        {**VECTORS, "kernel_type": "SIGMOID", "one_class": 1},
        [[1]],
    ),
    (
        "LinearClassifier",
        [ROWS],
        {"coefficients": [1.0, 0.0, 0.0], "intercepts": [0.0], **LABELS},
        [9, 5],
    ),
]


@pytest.mark.parametrize(("type", "inputs", "attributes", "expected"), CASES)
def test_imports(
    type: str, inputs: list[Any], attributes: dict[str, Any], expected: list[Any]
) -> None:
    converted, _ = pipelines.to_openvino(model(type, inputs, **attributes), opset=8)
    (found,) = Session(converted).run(inputs).values()
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-6)


NAMES = {"classlabels_strings": ["no", "yes"]}


@pytest.mark.parametrize(
    ("type", "inputs", "attributes", "expected"),
    [
        (
            "LinearClassifier",
            [ROWS],
            {"coefficients": [1.0, 0.0, 0.0], "intercepts": [0.0], **NAMES},
            ["yes", "no"],
        ),
        (
            "LinearClassifier",
            [ROWS],
            {"coefficients": [0.0, 1.0, 0.0, 1.0, 0.0, 0.0], "intercepts": [0.0, -0.5], **NAMES},
            ["yes", "no"],
        ),
        # the rows reach the leaves 1, 3, 4 and 1: votes for the classes 0, 1, 0 and 0
        ("TreeEnsembleClassifier", [POINTS], {**CLASSES, **NAMES}, ["no", "yes", "no", "no"]),
        (
            "LabelEncoder",
            [np.array([[3, 4], [5, 3]])],
            {"keys_int64s": [3, 5], "values_strings": ["c", "é"], "default_string": "?"},
            [["c", "?"], ["é", "c"]],
        ),
    ],
)
def test_labels_that_are_strings(
    type: str, inputs: list[Any], attributes: dict[str, Any], expected: list[Any]
) -> None:
    converted, _ = pipelines.to_openvino(model(type, inputs, **attributes), opset=8)
    (labels,) = Session(converted).run(inputs).values()
    assert labels.tolist() == expected


def test_an_element_without_a_category_gives_zeros() -> None:
    encoder = model("OneHotEncoder", [NUMBERS], cats_int64s=[4, 7], zeros=0)
    converted, _ = pipelines.to_openvino(encoder, opset=8)
    (rows,) = Session(converted).run([NUMBERS]).values()
    assert rows.tolist() == [[[0, 0], [1, 0]]]


@pytest.mark.parametrize(
    ("type", "attributes", "reason"),
    [
        ("TreeEnsembleRegressor", DEEP, "deep"),
        ("TreeEnsembleRegressor", {**TREE, "target_ids": [0]}, "contradict each other"),
    ],
)
def test_attributes_that_openvino_cannot_express_are_refused(
    type: str, attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        pipelines.to_openvino(model(type, [NUMBERS], **attributes), opset=8)


@pytest.mark.parametrize(
    ("type", "attributes", "reason"),
    [
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "does not compare"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, "does not compute with strings"),
    ],
)
def test_strings_that_must_be_compared_are_refused(
    type: str, attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        pipelines.to_openvino(model(type, [np.array(["a", "b"], object)], **attributes), opset=8)
