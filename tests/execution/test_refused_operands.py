"""Operands that the specification does not allow are refused by the executor and by `validate`.

ONNX Runtime is the judge: it refuses every damaged operand here, and runs the sound one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import irloop

ort: Any = pytest.importorskip("onnxruntime")


class Case(NamedTuple):
    """An operation, its sound operands, and the operands that replace one of them."""

    type: str
    operands: tuple[Any, ...]
    position: int
    damaged: tuple[Any, ...]
    attributes: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    opset: int = 17
    outputs: int = 1


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8


def floats_of(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def recurrent(type: str, gates: int) -> Case:
    weights = floats(1, gates * 2, 2)
    lengths = [np.array(item, np.int32) for item in ([3, 1], [4, 1], [-1, 1])]
    operands = (floats(3, 2, 2), weights, weights, None, lengths[0])
    return Case(type, operands, 4, tuple(lengths[1:]), {"hidden_size": 2}, outputs=2)


DATA = floats(3, 2)
IMAGE = floats(1, 1, 2, 2)
BOXES = (floats(1, 3, 4), floats(1, 1, 3), ints(2))
CASES = {
    "k": Case("TopK", (floats(3), ints(2)), 1, (ints(4), ints(-1), np.int64(2)), outputs=2),
    "index": Case("Gather", (DATA, ints(2)), 1, (ints(3), ints(-4))),
    "index of elements": Case("GatherElements", (DATA, ints(2, 0).reshape(1, 2)), 1,
                              (ints(3, 0).reshape(1, 2), ints(2, 0), ints(0, 0, 0).reshape(1, 3))),
    "coordinates": Case("GatherND", (DATA, ints(2).reshape(1, 1)), 1,
                        (ints(3).reshape(1, 1), ints(0, 0, 0).reshape(1, 3))),
    "updates": Case("ScatterElements", (DATA, ints(0, 1).reshape(1, 2), floats(1, 2)), 2,
                    (floats(1, 1), floats(2, 2))),
    "index of updates": Case("ScatterElements", (DATA, ints(0, 1).reshape(1, 2), floats(1, 2)), 1,
                             (ints(0, 3).reshape(1, 2), ints(0, -4).reshape(1, 2))),
    "repeats": Case("Tile", (DATA, ints(2, 1)), 1, (ints(2), ints(1, 2, 3), ints(-1, 1))),
    "new axes": Case("Unsqueeze", (DATA, ints(-3)), 1, (ints(4), ints(-4), ints(0, 0))),
    "axes": Case("ReduceMax", (DATA, ints(-2)), 1, (ints(2), ints(-3)), opset=18),
    "axis": Case("CumSum", (DATA, np.int64(-2)), 1, (np.int64(2), np.int64(-3))),
    "reflection": Case("Pad", (DATA, ints(2, 1, 0, 0)), 1, (ints(0, 2, 0, 0), ints(0, 0, 3, 0)),
                       {"mode": "reflect"}),
    "pads": Case("Pad", (DATA, ints(0, 1, 0, 0)), 1, (ints(1, 1, 1), ints(-4, 0, 0, 0))),
    "pad value": Case("Pad", (DATA, ints(0, 1, 0, 0), np.float32(1)), 2, (floats(2),)),
    "parts": Case("Split", (floats(4, 2), ints(1, 3)), 1, (ints(5, -1), ints(1, 2)), outputs=2),
    "depth": Case("OneHot", (ints(0, 1), np.int64(3), floats(2)), 1, (np.int64(-1), np.int64(0))),
    "reversed lengths": Case("ReverseSequence", (DATA, ints(3, 0)), 1,
                             (ints(-1, 1), ints(4, 1), ints(1))),
    "lengths of an LSTM": recurrent("LSTM", 4),
    "lengths of a GRU": recurrent("GRU", 3),
    "lengths of an RNN": recurrent("RNN", 1),
    "overlap": Case("NonMaxSuppression", (*BOXES, floats_of(0.5)), 3,
                    tuple(floats_of(item) for item in (1.5, -0.5, np.nan))),
    "boxes": Case("NonMaxSuppression", BOXES, 0, (floats(1, 3, 5), floats(2, 3, 4))),
    "scales": Case("Resize", (IMAGE, None, floats_of(1, 1, 2, 2)), 2,
                   tuple(floats_of(1, 1, item, 1) for item in (-1, 0))),
    "regions": Case("RoiAlign", (IMAGE, floats(1, 4), ints(0)), 2, (ints(1), ints(-1))),
    "size of a grid": Case("AffineGrid", (floats(1, 2, 3), ints(1, 1, 2, 2)), 1,
                           (ints(2, 1, 2, 2), ints(1, 1, 0, 2)), opset=20),
    "length of a window": Case("HannWindow", (np.int64(4),), 0, (np.int64(-1),)),
    "frame step": Case("STFT", (floats(1, 9, 1), np.int64(2), None, np.int64(4)), 1,
                       (np.int64(-1),)),
    "ratio": Case("Dropout", (floats(3), np.float32(0.5)), 1, (np.float32(1), np.float32(-1))),
    "scale of groups": Case("GroupNormalization", (floats(1, 4, 3), floats(2), floats(2)), 1,
                            (floats(4),), {"num_groups": 2}, opset=18),
    "scale of channels": Case("InstanceNormalization", (floats(1, 3, 2), floats(3), floats(3)), 1,
                              (floats(2), floats(3, 1))),
    "bias": Case("Conv", (floats(1, 3, 4, 4), floats(2, 3, 3, 3), floats(2)), 2,
                 (floats(1), floats(2, 1))),
    "position in a cache": Case("TensorScatter", (floats(2, 4, 3), floats(2, 1, 3), ints(3, 0)), 2,
                                (ints(4, 0), ints(-1, 0)), opset=24),
    "number of keys": Case("Attention", (*[floats(1, 2, 4, 4)] * 3, None, None, None, ints(4)), 6,
                           (ints(5), ints(-1)), opset=24),
}  # fmt: skip
DAMAGED = [(name, at) for name, case in CASES.items() for at in range(len(case.damaged))]


def model(case: Case, operands: list[Any], constant: int | None = None) -> onnx.ModelProto:
    """A model of one operation whose operands are inputs of unknown sizes.

    Operand `constant` is a constant instead; the other operands then have known sizes.
    """
    names, inputs, constants = [], [], []
    for at, item in enumerate(operands):
        names.append("" if item is None else f"i{at}")
        if item is None:
            continue
        array = np.asarray(item)
        if at == constant:
            constants.append(numpy_helper.from_array(array, f"i{at}"))
            continue
        dims = [f"d{at}_{axis}" for axis in range(array.ndim)]
        element = helper.np_dtype_to_tensor_dtype(array.dtype)
        shape = dims if constant is None else list(array.shape)
        inputs.append(helper.make_tensor_value_info(f"i{at}", element, shape))
    outputs = [f"o{at}" for at in range(case.outputs)]
    node = helper.make_node(case.type, names, outputs, name="node", **case.attributes)
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "g", inputs, results, constants)
    imports = [helper.make_opsetid("", case.opset)]
    made: onnx.ModelProto = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return made


def given(operands: list[Any]) -> dict[str, np.ndarray[Any, Any]]:
    return {f"i{at}": np.asarray(item) for at, item in enumerate(operands) if item is not None}


def operands_of(case: Case, damage: int | None) -> list[Any]:
    operands = list(case.operands)
    if damage is not None:
        operands[case.position] = case.damaged[damage]
    return operands


def run_engine(made: onnx.ModelProto, inputs: dict[str, Any]) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    content = made.SerializeToString()
    ort.InferenceSession(content, options, ["CPUExecutionProvider"]).run(None, inputs)


@pytest.mark.parametrize("name", CASES)
def test_sound_operands_are_accepted(name: str, tmp_path: Path) -> None:
    case, path = CASES[name], tmp_path / "m.onnx"
    operands = operands_of(case, None)
    for made in (model(case, operands), model(case, operands, case.position)):
        path.write_bytes(made.SerializeToString())
        names = {item.name for item in made.graph.input}
        inputs = {key: value for key, value in given(operands).items() if key in names}
        run_engine(made, inputs)
        irloop.run(path, inputs)
        assert not [item for item in irloop.validate(path) if item.severity.value == "error"]


@pytest.mark.parametrize(("name", "damage"), DAMAGED)
def test_damaged_operands_are_refused_when_the_model_runs(
    name: str, damage: int, tmp_path: Path
) -> None:
    case, path = CASES[name], tmp_path / "m.onnx"
    operands = operands_of(case, damage)
    made = model(case, operands)
    path.write_bytes(made.SerializeToString())
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run_engine(made, given(operands))
    with pytest.raises(irloop.ExecutionError, match="'node'"):
        irloop.run(path, given(operands))


@pytest.mark.parametrize(("name", "damage"), DAMAGED)
def test_damaged_constants_are_refused_by_validate(name: str, damage: int, tmp_path: Path) -> None:
    case, path = CASES[name], tmp_path / "m.onnx"
    made = model(case, operands_of(case, damage), case.position)
    path.write_bytes(made.SerializeToString())
    errors = [item.code for item in irloop.validate(path) if item.severity.value == "error"]
    assert errors == ["ONX201"]


def test_operands_are_judged_in_each_iteration(tmp_path: Path) -> None:
    """TopK of 0, 1, 2, 3 and 4 elements: the fifth iteration has more than there are."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[m] x) => (float[k] y) {
      e = Constant <value = float[0] {}> ()
      y = Loop (n, , e) <body = b (int64 i, bool c, float[a] s) => (bool d, float[b] t) {
        d = Identity (c)
        z = Constant <value = int64[1] {0}> ()
        k = Unsqueeze (i, z)
        t, u = TopK (x, k)
      }>
    }"""
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    x = np.array([2, 3, 1], np.float32)
    found = irloop.run(path, [np.int64(4), x])["y"]
    np.testing.assert_array_equal(found, [3, 2, 1])
    with pytest.raises(irloop.ExecutionError, match="iteration 4: k is larger than the axis"):
        irloop.run(path, [np.int64(5), x])
