"""Every version of every ONNX operation has a class that fits its schema, or a stated reason.

Differences between versions are compared with ONNX Runtime, which runs all versions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.defs import OpSchema

from irloop.dialects.onnx import ONNX
from irloop.dialects.onnx.control_flow import If, Loop, Scan, Scan8
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.formats.onnx.attributes import codec_of

ML, PREVIEW, TRAINING = "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"

#: The domain and type of each operation without a class, and the reason.
WITHOUT_A_CLASS = {
    ("", "Constant"): "the reader makes a constant of it",
    ("", "SequenceMap"): "the reader writes it out as the Loop that defines it",
    (PREVIEW, "FlexAttention"): "the reader writes it out as the function that defines it",
    **{
        (TRAINING, name): "training: an IR is for inference only"
        for name in ("Adagrad", "Adam", "Gradient", "Momentum")
    },
    (ML, "CastMap"): "it reads a map, and there are no maps here",
    (ML, "DictVectorizer"): "it reads a map, and there are no maps here",
}

#: Versions that only declare the operation deprecated.
ENDED = {("Scatter", 11), ("Upsample", 10)}

#: Attributes that have no field in the class; the node keeps them and they are written back.
KEPT_BY_THE_NODE = {("Optional", "type"): "declares what an empty optional would hold"}

#: The attributes of these classes are bodies, and lists that belong to the bodies.
CONTROL_FLOW = (If, Loop, Scan, Scan8)


def _schemas() -> Iterator[OpSchema]:
    """All versions of all operations; for ai.onnx those in opset 7 or later."""
    versions: dict[tuple[str, str], list[OpSchema]] = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        versions[schema.domain, schema.name].append(schema)
    for (domain, _), found in sorted(versions.items()):
        old = [schema.since_version for schema in found if schema.since_version <= 7]
        first = max(old, default=0) if domain == "" else 0
        yield from (schema for schema in found if schema.since_version >= first)


def _covered() -> list[Any]:
    return [
        pytest.param(schema, id=f"{schema.domain}.{schema.name}-{schema.since_version}".strip("."))
        for schema in _schemas()
        if (schema.domain, schema.name) not in WITHOUT_A_CLASS
        and (schema.name, schema.since_version) not in ENDED
    ]


@pytest.mark.parametrize("schema", _covered())
def test_a_class_fits_the_schema(schema: OpSchema) -> None:
    cls = ONNX.find(schema.name, schema.since_version, schema.domain)
    assert cls is not None
    if cls in CONTROL_FLOW:
        return
    fields = {codec.name for codec in codec_of(cls)}
    kept = {name for type, name in KEPT_BY_THE_NODE if type == schema.name}
    assert set(schema.attributes) <= fields | kept
    fewest, most = cls.arity
    assert fewest <= schema.min_input
    assert most is None or most >= schema.max_input
    assert cls.n_outputs is None or cls.n_outputs >= schema.max_output


def test_operations_without_a_class_are_listed_once() -> None:
    described = {(schema.domain, schema.name) for schema in _schemas()}
    assert set(WITHOUT_A_CLASS) <= described
    assert not [key for key in WITHOUT_A_CLASS if ONNX.versions(key[1], key[0])]
    assert not [key for key in ENDED if ONNX.find(*key) is not None]


F = np.float32
RANDOM = np.random.default_rng(7)


def data(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(F)


def ints(*items: int) -> Any:
    return np.array(items, np.int64)


IMAGE, CUBE, NONE = data(1, 2, 5, 7), data(2, 3, 4), np.zeros(0, F)
TWICE = np.array([1, 1, 2, 3], F)
BOXES = np.array(
    [[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 101, 0, 100]]], F
)
SCORES = np.array([[[0.9, 0.75, 0.6, 0.95, 0.3]]], F)
REGIONS = np.array([[0, 0, 3, 3], [1, 1, 4, 4.5]], F)
GRID = (RANDOM.random((1, 3, 4, 2)) * 2.6 - 1.3).astype(F)
PLACES = np.array([[0, -1, 2, 1], [2, 0, 1, -3]], np.int64)

Case = tuple[str, Sequence[int], list[Any], dict[str, Any], int]

#: The type, opsets, inputs, attributes and number of outputs.
CASES: list[Case] = [
    ("Slice", [7], [CUBE], {"starts": [0, -3], "ends": [1, 100], "axes": [0, 2]}, 1),
    ("Slice", [10, 11, 13], [CUBE, ints(-1), ints(-100), ints(-1), ints(-1)], {}, 1),
    ("Pad", [7], [IMAGE], {"mode": "reflect", "pads": [0, 0, 1, 2, 0, 0, 2, 1]}, 1),
    ("Pad", [11, 13, 18, 19], [IMAGE, ints(0, 0, 1, -2, 0, 0, 2, 1)], {"mode": "edge"}, 1),
    ("Pad", [18, 19], [IMAGE, ints(2, 1, -1, 3), None, ints(3, -2)], {"mode": "constant"}, 1),
    ("Pad", [19], [IMAGE, ints(-1, 9), None, ints(-1)], {"mode": "wrap"}, 1),
    ("Squeeze", [7, 11], [data(1, 3, 1)], {"axes": [0, 2]}, 1),
    ("Squeeze", [13], [data(1, 3, 1), ints(-1)], {}, 1),
    ("Unsqueeze", [7, 11], [CUBE], {"axes": [0, 4]}, 1),
    ("Unsqueeze", [13], [CUBE, ints(-1, 0)], {}, 1),
    ("Flatten", [11, 13], [CUBE], {"axis": -1}, 1),
    ("Softmax", [7, 11, 13], [CUBE], {}, 1),
    ("Softmax", [7, 11, 13], [CUBE], {"axis": 0}, 1),
    ("LogSoftmax", [7, 11, 13], [CUBE], {"axis": 1}, 1),
    ("Hardmax", [7, 11, 13], [CUBE], {}, 1),
    ("Split", [7, 11], [data(6, 2)], {"split": [1, 5]}, 2),
    ("Split", [13], [data(6, 2), ints(1, 5)], {}, 2),
    ("Split", [18], [data(7, 2)], {"num_outputs": 3}, 3),
    ("TopK", [7], [CUBE], {"k": 2}, 2),
    ("TopK", [10], [CUBE, ints(2)], {"axis": 1}, 2),
    ("TopK", [11], [CUBE, ints(2)], {"axis": -2, "largest": 0}, 2),
    ("Upsample", [7], [IMAGE], {"mode": "linear", "scales": TWICE.tolist()}, 1),
    ("Upsample", [9], [IMAGE, TWICE], {"mode": "nearest"}, 1),
    ("Resize", [10], [IMAGE, np.array([1, 1, 0.5, 1.5], F)], {"mode": "linear"}, 1),
    ("Resize", [11], [IMAGE, NONE, np.array([1, 1, 0.5, 1.5], F)], {"mode": "cubic"}, 1),
    (
        "Resize",
        [11],
        [IMAGE, NONE, TWICE],
        {"mode": "linear", "coordinate_transformation_mode": "tf_half_pixel_for_nn"},
        1,
    ),
    (
        "Resize",
        [11, 13, 18, 19],
        [IMAGE, NONE, TWICE],
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        1,
    ),
    (
        "Resize",
        [13, 18, 19],
        [IMAGE, None, None, ints(1, 2, 3, 9)],
        {"mode": "nearest", "nearest_mode": "ceil"},
        1,
    ),
    (
        "Resize",
        [18],
        [IMAGE, None, np.array([0.6, 0.5], F)],
        {"axes": [2, 3], "mode": "linear", "antialias": 1},
        1,
    ),
    (
        "Resize",
        [18, 19],
        [IMAGE, None, None, ints(3, 3)],
        {"axes": [2, 3], "mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
        1,
    ),
    (
        "AveragePool",
        [7, 10, 11, 19, 22],
        [IMAGE],
        {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 1, 1, 0], "count_include_pad": 1},
        1,
    ),
    (
        "AveragePool",
        [10, 11, 19, 22],
        [IMAGE],
        {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1},
        1,
    ),
    ("AveragePool", [19, 22], [IMAGE], {"kernel_shape": [2, 2], "dilations": [2, 2]}, 1),
    ("MaxPool", [8, 10, 11, 12, 22], [IMAGE], {"kernel_shape": [3, 2], "storage_order": 1}, 2),
    ("MaxPool", [10, 11, 12], [IMAGE], {"kernel_shape": [2, 2], "dilations": [2, 1]}, 2),
    ("LpPool", [7, 11, 18], [IMAGE], {"kernel_shape": [2, 3], "p": 3, "pads": [1, 0, 0, 1]}, 1),
    ("LpPool", [18], [IMAGE], {"kernel_shape": [2, 2], "dilations": [2, 2]}, 1),
    (
        "ConvTranspose",
        [7, 11],
        [IMAGE, data(2, 3, 3, 3), data(3)],
        {"strides": [2, 2], "output_shape": [11, 15], "auto_pad": "SAME_UPPER"},
        1,
    ),
    (
        "ConvTranspose",
        [7, 11],
        [IMAGE, data(2, 3, 3, 3)],
        {"strides": [2, 2], "output_padding": [1, 0]},
        1,
    ),
    ("BatchNormalization", [7, 9, 14, 15], [IMAGE, *(abs(data(2)) for _ in range(4))], {}, 1),
    (
        "BatchNormalization",
        [14, 15],
        [IMAGE, *(abs(data(2)) for _ in range(4))],
        {"training_mode": 1, "momentum": 0.8},
        3,
    ),
    ("LayerNormalization", [17], [CUBE, data(4), data(4)], {}, 3),
    ("GroupNormalization", [18], [data(2, 4, 3), data(2), data(2)], {"num_groups": 2}, 1),
    ("GroupNormalization", [21], [data(2, 4, 3), data(4), data(4)], {"num_groups": 2}, 1),
    ("Dropout", [7], [CUBE], {"ratio": 0.5}, 1),
    ("Dropout", [12, 13], [CUBE, np.array(0.3, F)], {}, 2),
    ("Scatter", [9], [data(3, 4), abs(PLACES) % 3, data(2, 4)], {}, 1),
    ("ScatterElements", [11, 13], [data(3, 4), PLACES, data(2, 4)], {"axis": -2}, 1),
    ("ScatterElements", [16, 18], [data(3, 4), PLACES, data(2, 4)], {"reduction": "add"}, 1),
    ("ScatterElements", [18], [data(3, 4), PLACES, data(2, 4)], {"reduction": "max"}, 1),
    ("ScatterND", [16, 18], [data(3, 4), ints(0, 2, 0)[:, None], data(3, 4)], {}, 1),
    ("GatherND", [12, 13], [CUBE, ints(0, 2)[:, None]], {"batch_dims": 1}, 1),
    ("GridSample", [16], [IMAGE, GRID], {"mode": "bicubic", "padding_mode": "reflection"}, 1),
    ("GridSample", [20, 22], [IMAGE, GRID], {"mode": "cubic", "padding_mode": "border"}, 1),
    ("NonMaxSuppression", [10, 11], [BOXES, SCORES, ints(3), np.array([0.5], F)], {}, 1),
    ("NonMaxSuppression", [10, 11], [BOXES, SCORES], {}, 1),
    ("RoiAlign", [10, 16], [IMAGE, REGIONS, ints(0, 0)], {"output_width": 3}, 1),
    ("DepthToSpace", [11, 13], [data(1, 8, 2, 3)], {"blocksize": 2, "mode": "CRD"}, 1),
    ("QuantizeLinear", [10, 13, 19], [CUBE, np.array(0.05, F), np.array(3, np.uint8)], {}, 1),
    ("QuantizeLinear", [13], [CUBE, abs(data(3)), np.array([1, 2, 3], np.int8)], {"axis": 1}, 1),
    (
        "QuantizeLinear",
        [21, 23],
        [data(4, 6), abs(data(2, 6)) + F(0.1)],
        {"axis": 0, "block_size": 2, "output_dtype": 3},
        1,
    ),
    (
        "DequantizeLinear",
        [21, 23],
        [np.arange(24, dtype=np.int8).reshape(4, 6), abs(data(2, 6))],
        {"axis": 0, "block_size": 2},
        1,
    ),
    ("Clip", [7], [CUBE], {"min": -0.5, "max": 0.5}, 1),
    ("Clip", [11, 12, 13], [CUBE, np.array(-0.5, F), np.array(0.5, F)], {}, 1),
    ("Clip", [12, 13], [np.array([1, -5, 9], np.int8), np.array(-2, np.int8)], {}, 1),
    ("ReduceMax", [7, 11, 12, 13], [CUBE], {"axes": [1], "keepdims": 0}, 1),
    ("ReduceMean", [18], [CUBE], {"noop_with_empty_axes": 1}, 1),
    ("ReduceSum", [13], [CUBE, ints(-1)], {}, 1),
    ("ReduceL2", [18], [np.array([2**31 - 1, 5], np.int32), ints(0)], {}, 1),
    ("ReduceLogSum", [18], [np.array([2**31 - 1, 5], np.int32), ints(0)], {}, 1),
    ("ArgMax", [12, 13], [np.array([1, 3, 3, 1], F)], {"select_last_index": 1}, 1),
    ("CumSum", [11, 14], [CUBE, np.array(-1)], {"exclusive": 1, "reverse": 1}, 1),
    ("Gemm", [7, 9, 11, 13], [data(3, 4), data(5, 4), data(5)], {"transB": 1, "alpha": 0.5}, 1),
    ("PRelu", [7, 9, 16], [IMAGE, data(2, 1, 1)], {}, 1),
    ("Shape", [15], [IMAGE], {"start": -3, "end": -1}, 1),
    ("Reshape", [14], [np.zeros((0, 3), F), ints(3, 0)], {"allowzero": 1}, 1),
    ("Pow", [12, 13, 15], [np.array([2, -3], np.int32), np.array([3, 2], F)], {}, 1),
    ("Einsum", [12], [data(2, 3, 4), data(2, 4, 5)], {"equation": "bij,bjk->bik"}, 1),
    ("DFT", [17], [data(1, 5, 1)], {"axis": 1, "onesided": 1}, 1),
    ("DFT", [20], [data(1, 5, 2), None, np.array(1)], {"inverse": 1}, 1),
]


def _recurrent() -> Iterator[Case]:
    for type, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        weights = [data(2, 5 * gates, 3), data(2, 5 * gates, 5), data(2, 10 * gates)]
        inputs = [data(4, 2, 3), *weights, np.array([4, 2], np.int32)]
        attributes = {"hidden_size": 5, "direction": "bidirectional", "clip": 0.5}
        yield type, [7, 14, 22], inputs, attributes, 3 if type == "LSTM" else 2


def _edges() -> Iterator[Case]:
    """Overflow, NaN, infinities, signs of remainders, shifts by more bits than the type has."""
    odd = np.array([1, np.nan, -np.inf, np.inf, -0.0, 0.0, 2.5, -3], F)
    other = np.array([np.nan, 2, np.inf, -np.inf, 0.0, -0.0, 2.5, 3], F)
    for type in ("Max", "Min"):
        yield type, [8, 12, 13], [odd, other], {}, 1
    yield "Round", [11], [np.array([0.5, 1.5, 2.5, -0.5, -1.5, np.nan, 1e20], F)], {}, 1
    for kind in (np.int8, np.int32, np.int64, np.uint8, np.uint16):
        left = np.array([7, -7, 7, -7], np.int64).astype(kind)
        right = np.array([3, 3, -3, -3], np.int64).astype(kind)
        for fmod in (0, 1):
            yield "Mod", [10, 13], [left, right], {"fmod": fmod}, 1
        limits = np.iinfo(kind)
        extremes = np.array([limits.min, limits.max], kind)
        yield "Abs", [13], [extremes], {}, 1
        for type in ("Add", "Sub", "Mul"):
            yield type, [14], [extremes, np.array([3, 2], kind)], {}, 1
    for bits in (8, 32, 64):
        shifts = np.array([1, bits - 1, bits, bits + 3], f"u{bits // 8}")
        for direction in ("LEFT", "RIGHT"):
            ones = np.full_like(shifts, 255)
            yield "BitShift", [11], [ones, shifts], {"direction": direction}, 1
    big = np.array([0, -0.0, 1.5, -1.5, 127.9, 300, -300, 1e10, -1e10, np.nan, np.inf], F)
    for to in (2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13):
        yield "Cast", [9, 13], [big], {"to": to}, 1
        yield "Cast", [9, 13], [np.array([0, 300, -300, 2**40, 2**63 - 1], np.int64)], {"to": to}, 1
    steps = np.array([0.5, 1.5, 2.5, -0.5, 1e9, -1e9, np.inf, -np.inf], F)
    yield "QuantizeLinear", [10, 13], [steps, np.array(1, F), np.array(0, np.uint8)], {}, 1


def _model(type: str, opset: int, inputs: list[Any], attributes: dict[str, Any], n: int) -> Any:
    names = ["" if x is None else f"in{at}" for at, x in enumerate(inputs)]
    results = [f"out{at}" for at in range(n)]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
        if name
    ]
    graph = helper.make_graph(
        [helper.make_node(type, names, results, **attributes)],
        "g",
        given,
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=min(10, 3 + opset // 3))


def _each() -> list[Any]:
    return [
        pytest.param(*case[:1], opset, *case[2:], id=f"{case[0]}-{opset}-{number}")
        for number, case in enumerate([*CASES, *_recurrent(), *_edges()])
        for opset in case[1]
    ]


@pytest.mark.parametrize(("type", "opset", "inputs", "attributes", "n_outputs"), _each())
def test_onnx_runtime_agrees(
    type: str, opset: int, inputs: list[Any], attributes: dict[str, Any], n_outputs: int
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    proto = _model(type, opset, inputs, attributes, n_outputs)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    given = [x for x in inputs if x is not None]
    names = [item.name for item in session.get_inputs()]
    wanted = session.run(None, dict(zip(names, given, strict=True)))
    found = Session(reader.from_proto(proto)).run(given).values()
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(ours, theirs)
