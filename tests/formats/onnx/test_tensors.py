"""Tensors of every element type in every storage format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from irloop.errors import ReadError, WriteError
from irloop.formats.onnx import reader, writer
from irloop.graph.model import Graph, Model
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, MappedTensor, StringTensor, Tensor
from irloop.graph.types import ElementType

NUMERIC = [
    code
    for name, code in TensorProto.DataType.items()
    if name not in ("UNDEFINED", "STRING") and not name.startswith("FLOAT6")
]


def model_with(tensor: onnx.TensorProto, *, opset: int = 26) -> onnx.ModelProto:
    output = helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
    graph = helper.make_graph([], "g", [], [output], initializer=[tensor])
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=13)


def read_tensor(tensor: onnx.TensorProto) -> Tensor:
    (node,) = reader.from_proto(model_with(tensor)).graph.nodes
    assert isinstance(node.op, Constant)
    return node.op.tensor


def sample(code: int) -> Any:
    kind = helper.tensor_dtype_to_np_dtype(code)
    numbers: list[float] = [0, 1, 2, 3, 4]
    if code in (TensorProto.INT2, TensorProto.UINT2, TensorProto.BOOL):
        numbers = [0, 1, 1, 0, 1]
    if code == TensorProto.FLOAT8E8M0:
        # Powers of two only.
        numbers = [0.5, 1, 2, 4, 8]
    return np.array(numbers).astype(kind)


@pytest.mark.parametrize("code", NUMERIC, ids=TensorProto.DataType.Name)
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
def test_every_element_type(code: int, raw: bool) -> None:
    array = sample(code)
    if raw:
        proto = numpy_helper.from_array(array, "t")
    else:
        proto = helper.make_tensor("t", code, [5], array.tolist())
    assert proto.HasField("raw_data") is raw
    tensor = read_tensor(proto)
    np.testing.assert_array_equal(tensor.numpy(), array)
    # onnx's own helper writes the tensor and reads the result.
    written = writer.to_proto_model(reader.from_proto(model_with(proto)))
    np.testing.assert_array_equal(numpy_helper.to_array(written.graph.initializer[0]), array)


def test_int4_is_packed_low_nibble_first() -> None:
    proto = TensorProto(name="t", data_type=TensorProto.INT4, dims=[3], raw_data=b"\x21\x0f")
    assert read_tensor(proto).numpy().tolist() == [1, 2, -1]
    proto = TensorProto(name="t", data_type=TensorProto.INT4, dims=[3])
    proto.int32_data.extend([0x21, 0x0F])
    assert read_tensor(proto).numpy().tolist() == [1, 2, -1]


def test_bfloat16_in_int32_data_is_a_bit_pattern() -> None:
    proto = TensorProto(name="t", data_type=TensorProto.BFLOAT16, dims=[2])
    proto.int32_data.extend([0x3F80, 0xC000])
    array = read_tensor(proto).numpy()
    assert array.dtype == ml_dtypes.bfloat16
    assert array.astype(np.float32).tolist() == [1.0, -2.0]


def test_complex_numbers_are_pairs() -> None:
    proto = TensorProto(name="t", data_type=TensorProto.COMPLEX64, dims=[2])
    proto.float_data.extend([1, 2, 3, -4])
    assert read_tensor(proto).numpy().tolist() == [1 + 2j, 3 - 4j]


def test_strings_keep_their_bytes() -> None:
    proto = TensorProto(name="t", data_type=TensorProto.STRING, dims=[2, 1])
    proto.string_data.extend(["ä".encode(), b"\xff"])
    tensor = read_tensor(proto)
    assert isinstance(tensor, StringTensor)
    assert tensor.values == ("ä".encode(), b"\xff")
    written = writer.to_proto_model(reader.from_proto(model_with(proto)))
    assert list(written.graph.initializer[0].string_data) == ["ä".encode(), b"\xff"]


@pytest.mark.parametrize(
    ("indices", "shape"), [([1, 5], [2]), ([0, 1, 1, 2], [2, 2])], ids=["linear", "coordinates"]
)
def test_sparse_initializers_become_dense(indices: list[int], shape: list[int]) -> None:
    values = helper.make_tensor("s", TensorProto.FLOAT, [2], [3.0, 4.0])
    places = helper.make_tensor("places", TensorProto.INT64, shape, indices)
    sparse = helper.make_sparse_tensor(values, places, [2, 3])
    output = helper.make_tensor_value_info("s", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph([], "g", [], [output], sparse_initializer=[sparse])
    model = reader.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    (node,) = model.graph.nodes
    assert isinstance(node.op, Constant)
    assert node.op.tensor.numpy().tolist() == [[0, 3, 0], [0, 0, 4]]


@pytest.mark.parametrize(
    ("indices", "shape", "dims", "message"),
    [
        ([6, 0], [2], [2, 3], "outside its shape"),
        ([-1, 0], [2], [2, 3], "outside its shape"),
        ([0, 3, 0, 0], [2, 2], [2, 3], "outside its shape"),
        ([0, 1, 2], [3], [2, 3], "have contradictory shapes"),
        ([0, 1], [2], [1 << 20, 1 << 20], "too large"),
    ],
)
def test_hostile_sparse_tensors_are_refused(
    indices: list[int], shape: list[int], dims: list[int], message: str
) -> None:
    values = helper.make_tensor("s", TensorProto.FLOAT, [2], [3.0, 4.0])
    places = helper.make_tensor("places", TensorProto.INT64, shape, indices)
    proto = model_with(helper.make_tensor("t", TensorProto.FLOAT, [1], [0]))
    proto.graph.sparse_initializer.add().CopyFrom(helper.make_sparse_tensor(values, places, dims))
    with pytest.raises(ReadError, match=message):
        reader.from_proto(proto)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("value_int: int = 7", np.array(7, np.int64)),
        ("value_ints: ints = [7, 8]", np.array([7, 8], np.int64)),
        ("value_float: float = 0.5", np.array(0.5, np.float32)),
        ("value_floats: floats = [0.5, 1.5]", np.array([0.5, 1.5], np.float32)),
        ('value_string: string = "a"', np.array("a", object)),
        ('value_strings: strings = ["a", "b"]', np.array(["a", "b"], object)),
        ("value: tensor = float[2] {1.0, 2.0}", np.array([1, 2], np.float32)),
    ],
)
def test_every_form_of_a_constant_node(attribute: str, expected: Any) -> None:
    kind = "string" if expected.dtype == object else expected.dtype.name.replace("float32", "float")
    dims = "" if expected.ndim == 0 else f"[{len(expected)}]"
    proto = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]>'
        f"g () => ({kind}{dims} y) {{ y = Constant <{attribute}> () }}"
    )
    model = reader.from_proto(proto)
    (node,) = model.graph.nodes
    assert isinstance(node.op, Constant)
    array = node.op.tensor.numpy()
    assert array.tolist() == expected.tolist()
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    # In the written model it is still a node.
    written = writer.to_proto_model(model)
    assert [item.op_type for item in written.graph.node] == ["Constant"]
    onnx.checker.check_model(written, full_check=True)


def test_a_sparse_constant_becomes_dense() -> None:
    values = helper.make_tensor("", TensorProto.FLOAT, [1], [3.0])
    places = helper.make_tensor("", TensorProto.INT64, [1], [2])
    node = helper.make_node(
        "Constant", [], ["y"], sparse_value=helper.make_sparse_tensor(values, places, [4])
    )
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    proto = helper.make_model(helper.make_graph([node], "g", [], [output]))
    proto.opset_import[0].version = 17
    (found,) = reader.from_proto(proto).graph.nodes
    assert isinstance(found.op, Constant)
    assert found.op.tensor.numpy().tolist() == [0, 0, 3, 0]


@pytest.mark.parametrize(
    "proto",
    [
        TensorProto(name="t", data_type=1, dims=[3], raw_data=b"\0" * 11),
        TensorProto(name="t", data_type=1, dims=[3], float_data=[1, 2]),
        TensorProto(name="t", data_type=1, dims=[-3], float_data=[1, 2]),
        TensorProto(name="t", data_type=1, dims=[1 << 62, 1 << 62, 0]),
        TensorProto(name="t", data_type=1, dims=[1 << 40], raw_data=b"\0" * 16),
        TensorProto(name="t", data_type=22, dims=[3], raw_data=b"\0"),
        TensorProto(name="t", data_type=8, dims=[2], string_data=[b"a"]),
        TensorProto(name="t", data_type=8, dims=[1], raw_data=b"a"),
        TensorProto(name="t", data_type=0, dims=[1], raw_data=b"a"),
        TensorProto(name="t", data_type=27, dims=[1], raw_data=b"a"),
        TensorProto(name="t", data_type=99, dims=[1], raw_data=b"a"),
        TensorProto(name="t", data_type=1, dims=[1] * 65, float_data=[1]),
    ],
    ids=lambda proto: f"{proto.data_type}-{list(proto.dims)[:3]}",
)
def test_data_that_does_not_fit_the_shape_is_refused(proto: onnx.TensorProto) -> None:
    with pytest.raises(ReadError, match="'t'"):
        read_tensor(proto)


def test_empty_and_scalar_tensors() -> None:
    empty = TensorProto(name="t", data_type=1, dims=[0, 3])
    assert read_tensor(empty).numpy().shape == (0, 3)
    scalar = TensorProto(name="t", data_type=7, int64_data=[-1])
    assert read_tensor(scalar).numpy() == np.array(-1)


def test_element_types_that_onnx_lacks_are_refused_by_name() -> None:
    graph = Graph("g")
    tensor = ArrayTensor(np.zeros(8, np.uint8), ElementType.U1)
    graph.add_result(graph.add_constant(tensor, "bits", ("bits",)), "bits")
    with pytest.raises(WriteError, match=r"'bits' has the element type u1"):
        writer.to_proto_model(Model(graph, "onnx", 0, {"": 17}))


def test_weights_in_a_big_file_are_not_read(tmp_path: Path) -> None:
    # The weights have 2 MB, so they stay in the file; they are unaligned on purpose.
    array = np.arange(1 << 19, dtype=np.float32)
    for node_name in ("a", "abc"):
        tensor = numpy_helper.from_array(array, node_name)
        path = tmp_path / "big.onnx"
        onnx.save(model_with(tensor), path)
        (node,) = reader.read(path).graph.nodes
        assert isinstance(node.op, Constant)
        assert isinstance(node.op.tensor, MappedTensor)
        np.testing.assert_array_equal(node.op.tensor.numpy(), array)
        copied = tmp_path / "copied.onnx"
        writer.write(reader.read(path), copied)
        (initializer,) = onnx.load(copied).graph.initializer
        np.testing.assert_array_equal(numpy_helper.to_array(initializer), array)


def test_big_weights_in_constant_nodes_and_bodies_stay_in_the_file(tmp_path: Path) -> None:
    array = np.arange(1 << 18, dtype=np.float32)
    inner = helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(array, ""))
    output = helper.make_tensor_value_info("w", TensorProto.FLOAT, [1 << 18])
    branches = {
        f"{name}_branch": helper.make_graph([inner], name, [], [output])
        for name in ("then", "else")
    }
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1 << 18])
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], **branches)], "g", [condition], [result]
    )
    path = tmp_path / "big.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    model = reader.read(path)
    (node,) = model.graph.nodes
    for body in node.bodies:
        (constant,) = body.graph.nodes
        assert isinstance(constant.op, Constant)
        assert isinstance(constant.op.tensor, MappedTensor)
        np.testing.assert_array_equal(constant.op.tensor.numpy(), array)


def test_a_big_tensor_of_the_wrong_size_is_refused(tmp_path: Path) -> None:
    tensor = TensorProto(name="t", data_type=1, dims=[1 << 19], raw_data=bytes((1 << 21) - 4))
    path = tmp_path / "big.onnx"
    path.write_bytes(model_with(tensor).SerializeToString())
    with pytest.raises(ReadError, match=r"'t': the size of the data does not match shape"):
        reader.read(path)
