"""Classical machine learning against ONNX's own values, ONNX Runtime and results by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from irloop.dialects.onnx import features, labels, linear_models, trees
from irloop.errors import InferenceError
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType

BACKEND_DOMAIN = "ai.onnx.ml"
BACKEND_OPS = "ArrayFeatureExtractor Binarizer LabelEncoder TreeEnsemble"

F32, I64, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
ROWS = np.array([[1, -2, 3], [0, 0, 0], [np.nan, 4, -0.5]], np.float32)
NUMBERS = np.array([[3, 1], [2, 7]], np.int64)
NAMES = np.array([["a", "b"], ["c", "a"]], dtype=object)

#: Two trees over three features; the second is a single leaf.
NODES: dict[str, Any] = {
    "nodes_treeids": [4, 4, 4, 4, 4, 9],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0],
    "nodes_featureids": [0, 1, 0, 0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "LEAF"],
    "nodes_values": [0.5, -1.0, 0.0, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 3, 0, 0, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0],
    "target_treeids": [4, 4, 4, 9, 4],
    "target_nodeids": [2, 3, 4, 0, 3],
    "target_ids": [0, 1, 0, 1, 0],
    "target_weights": [1.0, 2.0, -4.0, 0.25, 8.0],
    "n_targets": 2,
}


def tree_classifier(labels: list[Any], votes: list[tuple[int, int, float]]) -> dict[str, Any]:
    """The attributes of one split at 1.0 into the leaves 1 and 2; votes are (leaf, class,
    weight).
    """
    nodes, ids, weights = (list(items) for items in zip(*votes, strict=True))
    kind = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [1.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [0] * len(votes),
        "class_nodeids": nodes,
        "class_ids": ids,
        "class_weights": weights,
        kind: labels,
    }


THREE = tree_classifier(["a", "b", "c"], [(1, 0, -0.4), (1, 1, 0.3), (2, 2, 0.8)])
SHARES = tree_classifier([5, 7], [(1, 0, 0.4), (2, 0, 0.8)])
MIXED = tree_classifier([5, 7], [(1, 0, -0.4), (2, 0, 0.8)])
MANY = {"coefficients": [0.5, -0.2, 0.3, 0.4, -1.0, 2.0], "intercepts": [0.1, 0.2]}
LINES = {"coefficients": [0.5, -0.2, 0.3], "intercepts": [0.1], "classlabels_ints": [5, 7]}
VECTORS = {
    "support_vectors": [1.0, 0.5, -1.0, 0.25, 0.0, 2.0],
    "n_supports": 2,
    "coefficients": [0.75, -0.5],
    "rho": [0.125],
    "kernel_params": [0.5, 0.25, 3.0],
}
PLAIN = {
    "coefficients": [1.0, 2.0, 3.0],
    "rho": [0.5],
    "kernel_type": "LINEAR",
    "kernel_params": [0.0, 0.0, 0.0],
}
PLANES = {**MANY, "classlabels_ints": [3, 9]}


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


@pytest.mark.parametrize(
    ("type", "version", "out", "inputs", "attributes"),
    [
        ("Normalizer", 1, F32, [ROWS[:2]], {"norm": "MAX"}),
        ("Normalizer", 1, F32, [ROWS[:2]], {"norm": "L1"}),
        ("Normalizer", 1, F32, [NUMBERS], {"norm": "L2"}),
        ("Scaler", 1, F32, [ROWS], {"offset": [1.0, 2.0, 3.0], "scale": [2.0, 0.5, 3.0]}),
        ("Scaler", 1, F32, [NUMBERS], {"offset": [1.0], "scale": [0.5]}),
        (
            "Imputer",
            1,
            F32,
            [ROWS],
            {"replaced_value_float": float("nan"), "imputed_value_floats": [7.0, 8.0, 9.0]},
        ),
        ("Imputer", 1, I64, [NUMBERS], {"replaced_value_int64": 7, "imputed_value_int64s": [5]}),
        ("Binarizer", 1, F32, [ROWS[:2]], {"threshold": 0.0}),
        ("ArrayFeatureExtractor", 1, I64, [NUMBERS[0], np.array([1, 0, 1])], {}),
        ("FeatureVectorizer", 1, F32, [ROWS, ROWS[:, :2]], {"inputdimensions": [3, 2]}),
        ("OneHotEncoder", 1, F32, [NUMBERS], {"cats_int64s": [7, 3, 2]}),
        ("OneHotEncoder", 1, F32, [NAMES], {"cats_strings": ["b", "a"]}),
        ("CategoryMapper", 1, I64, [NAMES], {"cats_strings": ["a", "b"], "cats_int64s": [5, 6]}),
        ("CategoryMapper", 1, TEXT, [NUMBERS], {"cats_strings": ["a", "b"], "cats_int64s": [3, 7]}),
        ("LabelEncoder", 1, I64, [NAMES], {"classes_strings": ["b", "a"]}),
        ("LabelEncoder", 2, F32, [NAMES], {"keys_strings": ["a"], "values_floats": [2.5]}),
        ("LabelEncoder", 2, TEXT, [NUMBERS], {"keys_int64s": [1, 7], "values_strings": ["x", "y"]}),
        (
            "LabelEncoder",
            2,
            I64,
            [ROWS],
            {"keys_floats": [-0.5, 4.0, 0.0], "values_int64s": [10, 11, 12]},
        ),
        ("TreeEnsembleRegressor", 1, F32, [ROWS], {**NODES, "aggregate_function": "SUM"}),
        ("TreeEnsembleRegressor", 1, F32, [ROWS], {**NODES, "aggregate_function": "AVERAGE"}),
        ("TreeEnsembleRegressor", 1, F32, [ROWS], {**NODES, "aggregate_function": "MAX"}),
        ("TreeEnsembleRegressor", 1, F32, [ROWS], {**NODES, "aggregate_function": "MIN"}),
        ("TreeEnsembleRegressor", 1, F32, [ROWS], {**NODES, "base_values": [0.5, -0.5]}),
        ("TreeEnsembleRegressor", 1, F32, [ROWS], {**NODES, "post_transform": "SOFTMAX"}),
        ("TreeEnsembleRegressor", 1, F32, [ROWS], {**NODES, "post_transform": "LOGISTIC"}),
        ("TreeEnsembleClassifier", 1, TEXT, [ROWS], THREE),
        ("TreeEnsembleClassifier", 1, TEXT, [ROWS], {**THREE, "post_transform": "SOFTMAX"}),
        ("TreeEnsembleClassifier", 1, TEXT, [ROWS], {**THREE, "base_values": [0.1, 0.2, 0.3]}),
        ("TreeEnsembleClassifier", 1, I64, [ROWS], SHARES),
        ("TreeEnsembleClassifier", 1, I64, [ROWS], MIXED),
        ("TreeEnsembleClassifier", 1, I64, [ROWS], {**MIXED, "post_transform": "LOGISTIC"}),
        ("LinearRegressor", 1, F32, [ROWS[:2]], {**MANY, "targets": 2}),
        ("LinearRegressor", 1, F32, [ROWS], {**MANY, "targets": 2, "post_transform": "SOFTMAX"}),
        ("SVMRegressor", 1, F32, [ROWS[:2]], {**VECTORS, "kernel_type": "LINEAR"}),
        ("SVMRegressor", 1, F32, [ROWS[:2]], {**VECTORS, "kernel_type": "POLY"}),
        ("SVMRegressor", 1, F32, [ROWS[:2]], {**VECTORS, "kernel_type": "RBF"}),
        ("SVMRegressor", 1, F32, [ROWS[:2]], {**VECTORS, "kernel_type": "SIGMOID"}),
        ("SVMRegressor", 1, F32, [ROWS[:2]], {**VECTORS, "kernel_type": "RBF", "one_class": 1}),
        ("SVMRegressor", 1, F32, [ROWS[:2]], PLAIN),
        ("LinearClassifier", 1, I64, [ROWS[:2]], PLANES),
        ("LinearClassifier", 1, I64, [ROWS[:2]], {**PLANES, "post_transform": "LOGISTIC"}),
        ("LinearClassifier", 1, I64, [ROWS[:2]], LINES),
        ("LinearClassifier", 1, I64, [ROWS[:2]], {**LINES, "post_transform": "LOGISTIC"}),
    ],
)
def test_onnx_runtime_agrees(
    type: str, version: int, out: int, inputs: list[Any], attributes: dict[str, Any]
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    names = [f"in{at}" for at in range(len(inputs))]
    results = ["out", "scores"] if type.endswith("Classifier") else ["out"]
    node = helper.make_node(type, names, results, domain="ai.onnx.ml", **attributes)
    given = [
        helper.make_tensor_value_info(
            name,
            TEXT if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype),
            list(x.shape),
        )
        for name, x in zip(names, inputs, strict=True)
    ]
    kinds = [out, F32][: len(results)]
    infos = list(map(helper.make_tensor_value_info, results, kinds, [None] * len(results)))
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", version)]
    proto = helper.make_model(
        helper.make_graph([node], "g", given, infos), opset_imports=opsets, ir_version=8
    )
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, dict(zip(names, inputs, strict=True)))
    found = Session(reader.from_proto(proto)).run(inputs).values()
    for ours, theirs, kind in zip(found, wanted, kinds, strict=True):
        # ONNX Runtime returns labels as a list.
        plain = np.asarray(theirs)
        assert ours.shape == plain.shape
        if kind == TEXT:
            assert ours.tolist() == plain.tolist()
        else:
            assert ours.dtype == plain.dtype
            np.testing.assert_allclose(ours, plain, rtol=2e-6, atol=1e-6)


def test_the_last_of_equal_keys_counts() -> None:
    """LabelEncoder-4 specifies this; NaN is found whatever its bits are."""
    keys = ArrayTensor(np.array([1.5, np.nan, 1.5]))
    values = ArrayTensor(np.array([1, 2, 3], np.int16))
    op = labels.LabelEncoder4(keys_tensor=keys, values_tensor=values)
    found = op.kernel()(np.array([np.nan, 1.5, 0.0]))
    assert found.dtype == np.int16
    assert found.tolist() == [2, 3, -1]


def test_a_strict_encoder_refuses_unknown_categories() -> None:
    run = features.OneHotEncoder(cats_int64s=(1, 2), zeros=0).kernel()
    with pytest.raises(ValueError, match="not one of the categories"):
        run(np.array([1, 3]))


def tree(**changes: Any) -> trees.TreeEnsemble:
    """A tree with x0 <= 1 ? leaf 0 : (x1 in {2, 3} ? leaf 1 : leaf 2)."""
    values: dict[str, Any] = {
        "leaf_targetids": (0, 1, 1),
        "leaf_weights": ArrayTensor(np.array([10, 20, 30], np.float32)),
        "membership_values": ArrayTensor(np.array([2, 3, np.nan], np.float32)),
        "n_targets": 2,
        "nodes_falseleafs": (0, 1),
        "nodes_falsenodeids": (1, 2),
        "nodes_featureids": (0, 1),
        "nodes_modes": ArrayTensor(np.array([0, 6], np.uint8)),
        "nodes_splits": ArrayTensor(np.array([1, 0], np.float32)),
        "nodes_trueleafs": (1, 1),
        "nodes_truenodeids": (0, 1),
        "tree_roots": (0,),
    }
    return trees.TreeEnsemble(**{**values, **changes})


X = np.array([[1, 2], [2, 3], [2, 4], [np.nan, 2]], np.float32)


def test_leaves_of_a_tree() -> None:
    assert tree().kernel()(X).tolist() == [[10, 0], [0, 20], [0, 30], [0, 20]]
    tracked = tree(nodes_missing_value_tracks_true=(1, 0))
    assert tracked.kernel()(X).tolist()[3] == [10, 0]


def test_a_target_without_votes_is_zero() -> None:
    assert tree(aggregate_function=2).kernel()(X[:1]).tolist() == [[10, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_truenodeids": (0, 1), "nodes_falsenodeids": (0, 2)}, "cycle"),
        ({"nodes_featureids": (0, 2)}, "features 0 to 2 do not all exist in 2 features"),
        ({"nodes_falsenodeids": (1, 5)}, "does not exist"),
        ({"membership_values": None}, "test membership, but there are 0 sets"),
        ({"leaf_targetids": (0, 1)}, "differ in length"),
    ],
)
def test_contradictory_trees_are_refused(change: dict[str, Any], message: str) -> None:
    run = tree(**change).kernel()
    with pytest.raises(ValueError, match=message):
        run(X)


def test_two_voted_classes_are_compared() -> None:
    votes = [(1, 0, 0.7), (1, 1, 0.3), (2, 0, 0.2), (2, 1, 0.8)]
    attributes: dict[str, Any] = {
        name: tuple(items) for name, items in tree_classifier([5, 7], votes).items()
    }
    op = trees.TreeEnsembleClassifier1(**attributes)
    found, scores = op.kernel(2)(np.array([[0.0], [2.0]], np.float32))
    assert found.tolist() == [5, 7]
    np.testing.assert_allclose(scores, [[0.7, 0.3], [0.2, 0.8]], rtol=1e-6)


def inferred(op: Op, element: ElementType, *dims: int | None) -> str:
    builder = Builder(Graph("g"))
    value = builder.parameter("x", TensorType(element, Shape.of(*dims)))
    return str(builder(op, value).type)


def test_inference() -> None:
    assert inferred(tree(), ElementType.F64, None, 2) == "f64[?,2]"
    assert inferred(features.Normalizer(), ElementType.I64, 2, 3) == "f32[2,3]"
    assert inferred(features.OneHotEncoder((1, 2)), ElementType.I64, 4) == "f32[4,2]"
    encoder = labels.LabelEncoder2(keys_strings=("a",), values_int64s=(1,))
    assert inferred(encoder, ElementType.STRING, None) == "i64[?]"
    assert inferred(labels.LabelEncoder1(), ElementType.I64, 3) == "string[3]"


@pytest.mark.parametrize(
    ("op", "element"),
    [
        (labels.LabelEncoder2(keys_strings=("a",), values_int64s=(1, 2)), ElementType.STRING),
        (labels.LabelEncoder2(keys_strings=("a",), values_int64s=(1,)), ElementType.I64),
        (labels.CategoryMapper(cats_strings=("a",)), ElementType.I64),
        (features.Scaler((1.0,), (1.0, 2.0, 3.0)), ElementType.F32),
        (features.Normalizer("L3"), ElementType.F32),
        (features.OneHotEncoder((1,)), ElementType.STRING),
        (trees.TreeEnsembleRegressor1(aggregate_function="sum"), ElementType.F32),
        (tree(), ElementType.I64),
        (linear_models.LinearRegressor((1.0, 2.0, 3.0)), ElementType.F32),
        (linear_models.LinearClassifier((1.0, 2.0)), ElementType.F32),
        (linear_models.SVMRegressor((1.0, 2.0), kernel_type="rbf"), ElementType.F32),
        (linear_models.SVMRegressor((1.0,), n_supports=1), ElementType.F32),
        (linear_models.LinearClassifier((1.0, 2.0), (3, 4, 5), (), (0.0,)), ElementType.F32),
    ],
)
def test_contradictions(op: Op, element: ElementType) -> None:
    with pytest.raises(InferenceError):
        inferred(op, element, 1, 2)
