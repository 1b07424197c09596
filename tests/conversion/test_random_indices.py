"""Index operations with random shapes and indices: the kernels and both IR forms must equal ONNX
Runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import reader as onnx_reader

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

Rng = np.random.Generator
#: The type, opset, attributes and inputs of an operation, and the number of inputs that are not
#: constants.
Case = tuple[str, int, dict[str, Any], list[Any], int]


def _data(rng: Rng, least: int = 1) -> Any:
    shape = rng.integers(least, 5, rng.integers(1, 4))
    return rng.integers(-5, 5, shape).astype(np.float32)


def _axis(rng: Rng, data: Any) -> int:
    return int(rng.integers(-data.ndim, data.ndim))


def pad(rng: Rng) -> Case:
    data, mode = _data(rng, 2), str(rng.choice(["constant", "edge", "reflect", "wrap"]))
    low = -1 if mode == "constant" else 0
    pads = rng.integers(low, 2, 2 * data.ndim)
    return "Pad", 19, {"mode": mode}, [data, pads], 1


def topk(rng: Rng) -> Case:
    data = _data(rng)
    axis = _axis(rng, data)
    attributes = {"axis": axis, "largest": int(rng.integers(2))}
    k = rng.integers(1, data.shape[axis] + 1, 1)
    return "TopK", 13, attributes, [data, k], 1


def scatter_elements(rng: Rng) -> Case:
    data = _data(rng)
    axis = _axis(rng, data)
    shape = list(data.shape)
    shape[axis] = int(rng.integers(1, 4))
    indices = rng.integers(-data.shape[axis], data.shape[axis], shape)
    updates = rng.integers(-5, 5, shape).astype(np.float32)
    reduction = str(rng.choice(["add", "mul", "min", "max"]))
    attributes = {"axis": axis, "reduction": reduction}
    return "ScatterElements", 18, attributes, [data, indices, updates], 3


def gather_elements(rng: Rng) -> Case:
    _, _, attributes, (data, indices, _), _ = scatter_elements(rng)
    return "GatherElements", 13, {"axis": attributes["axis"]}, [data, indices], 2


def scatter_nd(rng: Rng) -> Case:
    data, count = _data(rng), int(rng.integers(1, 4))
    depth = int(rng.integers(1, data.ndim + 1))
    columns = [rng.integers(-size, size, count) for size in data.shape[:depth]]
    updates = rng.integers(-3, 3, (count, *data.shape[depth:])).astype(np.float32)
    reduction = str(rng.choice(["add", "mul", "min", "max"]))
    inputs = [data, np.stack(columns, -1), updates]
    return "ScatterND", 18, {"reduction": reduction}, inputs, 3


def gather_nd(rng: Rng) -> Case:
    _, _, _, inputs, _ = scatter_nd(rng)
    return "GatherND", 13, {}, inputs[:2], 2


def slice_(rng: Rng) -> Case:
    data = _data(rng)
    axes = rng.permutation(data.ndim)[: int(rng.integers(1, data.ndim + 1))]
    bounds = [rng.integers(-7, 8, len(axes)) for _ in range(2)]
    steps = rng.choice([-2, -1, 1, 2], len(axes))
    return "Slice", 13, {}, [data, *bounds, axes, steps], 1


def unique(rng: Rng) -> Case:
    attributes = {"sorted": int(rng.integers(2))}
    data = _data(rng)
    if rng.integers(2):
        attributes["axis"] = _axis(rng, data)
    return "Unique", 11, attributes, [np.abs(data) // 3], 1


def arg_max(rng: Rng) -> Case:
    data = _data(rng)
    flags = {name: int(rng.integers(2)) for name in ("keepdims", "select_last_index")}
    return "ArgMax", 13, {"axis": _axis(rng, data), **flags}, [data], 1


def one_hot(rng: Rng) -> Case:
    indices = rng.integers(-5, 5, rng.integers(1, 4, 2))
    values = np.array([1, 5], np.float32)
    return "OneHot", 11, {"axis": int(rng.integers(-3, 3))}, [indices, np.array([3]), values], 1


OUTPUTS = {"TopK": ["f", "i"], "Unique": ["f", "i", "i", "i"], "ArgMax": ["i"]}


def _model(case: Case) -> Any:
    type_name, opset, attributes, inputs, given = case
    helper, kinds = onnx.helper, {"f": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64}
    names = [f"in{index}" for index in range(len(inputs))]
    outputs = OUTPUTS.get(type_name, ["f"])
    results = [f"out{index}" for index in range(len(outputs))]
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in zip(names[:given], inputs, strict=False)
    ]
    constants = zip(names[given:], inputs[given:], strict=True)
    graph = helper.make_graph(
        [helper.make_node(type_name, names, results, **attributes)],
        "case",
        infos,
        [
            helper.make_tensor_value_info(name, kinds[kind], None)
            for name, kind in zip(results, outputs, strict=True)
        ],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


MAKERS = [
    pad,
    topk,
    scatter_elements,
    gather_elements,
    scatter_nd,
    gather_nd,
    slice_,
    unique,
    arg_max,
    one_hot,
]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_kernels_and_both_ir_forms_equal_onnx_runtime(
    maker: Callable[[Rng], Case], seed: int
) -> None:
    case = maker(np.random.default_rng(seed))
    proto, inputs = _model(case), case[3][: case[4]]
    feeds = {f"in{index}": array for index, array in enumerate(inputs)}
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    _agree(onnx_reader.from_proto(proto), inputs, expected)
    for opset in (7, 16):
        try:
            model, _ = pipelines.to_openvino(onnx_reader.from_proto(proto), opset=opset)
        except UnsupportedError as error:
            refusal = str(error)
        else:
            _agree(model, inputs, expected)
            continue
        # Before opset12, duplicates are combined only if the indices cover the other axes.
        assert "may cover only a part" in refusal


def _agree(model: Any, inputs: list[Any], expected: list[Any]) -> None:
    found = Session(model).run(inputs).values()
    for array, wanted in zip(found, expected, strict=True):
        assert array.dtype == wanted.dtype
        np.testing.assert_allclose(array, wanted, rtol=1e-5, strict=True)
