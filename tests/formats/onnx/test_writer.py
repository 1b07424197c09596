"""The writer: names, versions, types, attributes; files are written completely or not at all."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irloop.dialects.onnx.activation import Elu
from irloop.dialects.onnx.control_flow import If
from irloop.dialects.onnx.elementwise import Add
from irloop.errors import IrloopError, ReadError, UsageError, VerifyError, WriteError
from irloop.files import replacing
from irloop.formats.onnx import reader, writer
from irloop.graph.builder import Builder
from irloop.graph.loops import Invariant, LastValue, PortMap
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.op import UnknownOp
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify

F32 = TensorType(ElementType.F32, Shape.of(2))
UNRANKED = TensorType(ElementType.F32, Shape(None))


def model(graph: Graph, opset: int = 17) -> Model:
    verify(graph)
    return Model(graph, "onnx", 0, {"": opset})


def one_input() -> tuple[Graph, Value]:
    graph = Graph("g")
    return graph, graph.add_parameter("x", F32, ("x",))


def written(graph: Graph, opset: int = 17) -> onnx.ModelProto:
    proto = writer.to_proto_model(model(graph, opset))
    onnx.checker.check_model(proto, full_check=True)
    return proto


def add(graph: Graph, value: Value, name: str, *names: str) -> Value:
    node = graph.add_node(Add(), name, (value, value), 1, types=(F32,), names=(names,))
    return node.output


def test_tensor_names_are_value_names_and_results_name_outputs() -> None:
    graph, x = one_input()
    graph.add_result(add(graph, x, "layer", "t", "other"), "out/sink_port_0")
    proto = written(graph)
    assert proto.graph.node[0].name == "layer"
    assert list(proto.graph.node[0].output) == ["t"]
    assert [item.name for item in proto.graph.output] == ["t"]


def test_a_result_keeps_its_name_if_the_value_has_the_same() -> None:
    graph, x = one_input()
    graph.add_result(add(graph, x, "layer", "t", "other"), "other")
    assert [item.name for item in written(graph).graph.output] == ["other"]


def test_a_value_without_names_is_named_after_the_result() -> None:
    graph, x = one_input()
    graph.add_result(add(graph, x, "layer"), "out")
    assert list(written(graph).graph.node[0].output) == ["out"]


def test_two_outputs_of_one_value() -> None:
    graph, x = one_input()
    value = add(graph, x, "layer", "a", "b")
    graph.add_result(value, "a")
    graph.add_result(value, "b")
    graph.add_result(value, "c")
    proto = written(graph)
    assert [item.name for item in proto.graph.output] == ["a", "b", "c"]
    assert [node.op_type for node in proto.graph.node] == ["Add", "Identity", "Identity"]


def test_an_input_that_is_an_output() -> None:
    graph, x = one_input()
    graph.add_result(x, "x")
    graph.add_result(x, "copy")
    proto = written(graph)
    assert [item.name for item in proto.graph.output] == ["x", "copy"]
    assert [list(node.output) for node in proto.graph.node] == [["copy"]]


def test_colliding_names_are_renamed_except_inputs_and_outputs() -> None:
    graph, x = one_input()
    first = add(graph, x, "first", "x")
    second = add(graph, first, "second", "y")
    graph.add_result(add(graph, second, "third", "y"), "y")
    proto = written(graph)
    assert [item.name for item in proto.graph.input] == ["x"]
    assert [item.name for item in proto.graph.output] == ["y"]
    made = [node.output[0] for node in proto.graph.node]
    assert len({"x", *made}) == 4
    assert made[-1] == "y"


@pytest.mark.parametrize(
    ("opset", "version"), [(7, 3), (9, 4), (11, 6), (13, 7), (15, 8), (17, 8), (18, 8), (21, 10)]
)
def test_the_ir_version_fits_the_opset(opset: int, version: int) -> None:
    # The versions are those of the table of releases in onnx's Versioning document.
    graph, x = one_input()
    graph.add_result(add(graph, x, "layer"), "y")
    assert written(graph, opset).ir_version == version


def test_constants_of_old_ir_versions_are_nodes() -> None:
    graph, x = one_input()
    constant = graph.add_constant(ArrayTensor(np.ones(2, np.float32)), "c")
    graph.add_result(graph.add_node(Add(), "a", (x, constant), 1, types=(F32,)).output, "y")
    proto = written(graph, 7)
    assert not proto.graph.initializer
    assert [node.op_type for node in proto.graph.node] == ["Constant", "Add"]


def test_default_values_of_inputs_stay() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1] w = {2.0}, float[1] x) => (float[1] y) { y = Add (x, w) }"""
    found = reader.from_proto(onnx.parser.parse_model(text))
    # The default value of x is a constant, as every runtime may treat it.
    assert [node.name for node in found.graph.parameters] == ["x"]
    proto = writer.to_proto_model(found)
    assert {item.name for item in proto.graph.input} == {"x", "w"}
    assert [item.name for item in proto.graph.initializer] == ["w"]


def test_an_unknown_rank_is_written_without_a_shape(tmp_path: Path) -> None:
    graph = Graph("g")
    x = graph.add_parameter("x", UNRANKED, ("x",))
    node = graph.add_node(Add(), "a", (x, x), 1, types=(UNRANKED,), names=(("y",),))
    graph.add_result(node.output, "y")
    path = tmp_path / "m.onnx"
    writer.write(model(graph), path)
    assert not onnx.load(path).graph.output[0].type.tensor_type.HasField("shape")
    assert reader.read(path).graph.outputs[0].type == UNRANKED


def test_dimensions_keep_their_names() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[batch,?,3] x) => (float[batch,M,3] y) { y = Neg (x) }"""
    proto = onnx.parser.parse_model(text)
    again = writer.to_proto_model(reader.from_proto(proto))
    assert again.graph.input[0].type == proto.graph.input[0].type
    assert again.graph.output[0].type == proto.graph.output[0].type


def test_types_that_a_graph_cannot_express_are_kept() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 1]>
    g (float[N,2] x) => (seq(map(int64, float)) y)
    { y = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2]> (x) }"""
    proto = onnx.parser.parse_model(text)
    again = writer.to_proto_model(reader.from_proto(proto))
    assert again.graph.output[0].type == proto.graph.output[0].type


def test_declared_types_of_inner_values_stay() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) <float[2] h> { h = Neg (x)  k = Neg (h)  y = Neg (k) }"""
    proto = onnx.parser.parse_model(text)
    again = writer.to_proto_model(reader.from_proto(proto))
    assert [item.name for item in again.graph.value_info] == ["h"]
    assert again.graph.value_info[0].type == proto.graph.value_info[0].type


def test_everything_outside_of_the_graph_is_kept() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17, "my" : 3], producer_name: "p",
        producer_version: "1", domain: "d", model_version: 7, doc_string: "text",
        metadata_props: ["k" : "v"]>
        g (float[2] x) => (float[2] y) { [n] y = Neg (x) }"""
    )
    proto.graph.doc_string = "of the graph"
    proto.graph.node[0].doc_string = "of the node"
    proto.graph.node[0].metadata_props.add(key="a", value="b")
    annotation = proto.graph.quantization_annotation.add(tensor_name="y")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    again = writer.to_proto_model(reader.from_proto(proto))
    # The parser writes the name of the default domain explicitly.
    proto.graph.node[0].ClearField("domain")
    assert again == proto


def test_attributes_of_every_kind_stay() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17, "my" : 3]>
        g (float[2] x) => (float[2] y) { y = my.Op
          <i = 1, f = 0.1, s = "text", t = float[2] {1.0, 2.0},
           li = [1, 2], lf = [0.1, 0.2], ls = ["a", "b"]> (x) }"""
    )
    node = proto.graph.node[0]
    node.name = "n"
    node.attribute.add(name="bytes", type=onnx.AttributeProto.STRING, s=b"\xff\x00")
    node.attribute.add(name="none_f", type=onnx.AttributeProto.FLOATS)
    node.attribute.add(name="none_s", type=onnx.AttributeProto.STRINGS)
    node.attribute.add(name="none_i", type=onnx.AttributeProto.INTS)
    typed = node.attribute.add(name="tp", type=onnx.AttributeProto.TYPE_PROTO)
    typed.tp.tensor_type.elem_type = 1
    tensors = node.attribute.add(name="ts", type=onnx.AttributeProto.TENSORS)
    tensors.tensors.add(data_type=7, dims=[1], raw_data=bytes(8))
    found = reader.from_proto(proto)
    (unknown,) = found.graph.nodes
    assert isinstance(unknown.op, UnknownOp)
    assert unknown.op.attributes["li"] == [1, 2]
    assert unknown.op.attributes["bytes"] == b"\xff\x00"
    again = writer.to_proto_model(found).graph.node[0]
    values = [{item.name: value_of(item) for item in one.attribute} for one in (node, again)]
    assert values[0] == values[1]


def value_of(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return (attribute.type, onnx.numpy_helper.to_array(value).tolist())
    return (attribute.type, str(value))


def test_an_attribute_with_its_default_value_may_be_left_out() -> None:
    graph, x = one_input()
    graph.add_result(graph.add_node(Elu(), "a", (x,), 1, types=(F32,)).output, "y")
    assert not written(graph).graph.node[0].attribute
    graph, x = one_input()
    graph.add_result(graph.add_node(Elu(0.5), "a", (x,), 1, types=(F32,)).output, "y")
    assert written(graph).graph.node[0].attribute[0].f == 0.5


def test_unknown_attributes_are_kept() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { y = Elu <alpha = 0.5, extra = 3> (x) }"""
    found = reader.from_proto(onnx.parser.parse_model(text))
    (node,) = found.graph.nodes
    assert node.op == Elu(0.5)
    assert dict(node.attributes) == {"extra": 3}
    attributes = writer.to_proto_model(found).graph.node[0].attribute
    assert {item.name for item in attributes} == {"alpha", "extra"}


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("alpha = 1", "'alpha' has the wrong attribute type"),
        ('alpha = "text"', "'alpha' has the wrong attribute type"),
        ("alpha = [0.5]", "'alpha' has the wrong attribute type"),
    ],
)
def test_attributes_of_another_kind_are_refused(attribute: str, message: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) {{ [n] y = Elu <{attribute}> (x) }}"""
    with pytest.raises(ReadError, match=f"Elu 'n': attribute {message}"):
        reader.from_proto(onnx.parser.parse_model(text))


def test_parts_of_the_file_that_irloop_does_not_read_are_kept() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 11, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) { y = Neg (x) }"""
    )
    proto.training_info.add().initialization.name = "start"
    if hasattr(proto, "configuration"):
        proto.configuration.add(name="two", num_devices=2)
    again = writer.to_proto_model(reader.from_proto(proto))
    assert again.training_info == proto.training_info
    if hasattr(proto, "configuration"):
        assert again.configuration == proto.configuration


def test_a_model_of_another_dialect_is_refused() -> None:
    graph, x = one_input()
    graph.add_result(x, "x")
    with pytest.raises(UsageError, match="found dialect 'openvino'"):
        writer.to_proto_model(Model(graph, "openvino", 10))


def test_a_graph_that_breaks_its_rules_is_refused() -> None:
    graph, x = one_input()
    first = add(graph, x, "first")
    graph.add_result(first, "y")
    first.producer.inputs = (first, x)
    with pytest.raises(VerifyError):
        writer.to_proto_model(Model(graph, "onnx", 0, {"": 17}))


def test_operations_of_another_opset_are_refused_by_name() -> None:
    graph, x = one_input()
    graph.add_result(add(graph, x, "layer"), "y")
    with pytest.raises(
        WriteError,
        match=r"Add-7 'layer' is another version of the operation than the one in opset 6",
    ):
        writer.to_proto_model(model(graph, 6))


def test_domains_that_are_not_imported_are_refused_by_name() -> None:
    graph, x = one_input()
    node = graph.add_node(UnknownOp("Op", "1", {}, "my"), "n", (x,), 1, types=(F32,))
    graph.add_result(node.output, "y")
    with pytest.raises(WriteError, match=r"my.Op-1 'n' is of the domain 'my'"):
        writer.to_proto_model(model(graph))


def test_a_model_that_the_checker_refuses_is_not_written(tmp_path: Path) -> None:
    graph, x = one_input()
    # Relu has one input.
    node = graph.add_node(UnknownOp("Relu", "14"), "n", (x, x), 1, types=(F32,))
    graph.add_result(node.output, "y")
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    with pytest.raises(WriteError, match="the ONNX checker refuses the model"):
        writer.write(model(graph), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


#: ONNX Runtime runs this model, but the checker allows bf16 in Cast only from opset 13 on.
EARLY_BF16 = """
<ir_version: 8, opset_import: ["" : 11]>
g (int64 n, float[2] x) => (float[2] y) {
  y = Loop (n, "", x) <body = b (int64 i, bool c, float[2] p) => (bool d, float[2] q) {
    d = Identity (c)  unread = Cast <to = 16> (p)  q = Add (p, x) }>
}"""


def test_bf16_of_a_file_is_written_in_an_opset_that_does_not_list_it(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    path = tmp_path / "m.onnx"
    writer.write(reader.from_proto(onnx.parser.parse_model(EARLY_BF16)), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = np.array([1, -2], np.float32)
    np.testing.assert_array_equal(session.run(None, {"n": np.array(2), "x": x})[0], 3 * x)


def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, x = one_input()
    graph.add_result(add(graph, x, "layer"), "y")
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")

    class FullDisk(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    @contextmanager
    def full(*targets: Path) -> Iterator[list[io.BytesIO]]:
        with replacing(*targets) as streams:
            streams[0].write(b"new")
            yield [FullDisk()]

    monkeypatch.setattr("irloop.formats.onnx.store.replacing", full)
    with pytest.raises(WriteError, match="No space left"):
        writer.write(model(graph), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    graph, x = one_input()
    graph.add_result(add(graph, x, "layer"), "y")
    for path in (tmp_path / "no" / "m.onnx", tmp_path):
        with pytest.raises(IrloopError, match="cannot be written"):
            writer.write(model(graph), path)
    assert list(tmp_path.iterdir()) == []


def nested(depth: int) -> Graph:
    graph = Graph(f"level{depth}")
    condition = graph.add_parameter("c", TensorType(ElementType.BOOLEAN, Shape(())))
    x = graph.add_parameter("x", F32)
    value = add(graph, x, "a")
    if depth:
        ports = PortMap((Invariant(1, 0), Invariant(2, 1)), (LastValue(0, 0),))
        bodies = (Body("then", nested(depth - 1), ports), Body("else", nested(0), ports))
        branch = graph.add_node(
            If(), "i", (condition, condition, value), 1, types=(F32,), bodies=bodies
        )
        value = branch.output
    graph.add_result(value, "y")
    return graph


def test_bodies_may_be_as_deep_as_a_protobuf_allows(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    writer.write(model(nested(31)), path)
    verify(reader.read(path).graph)
    with pytest.raises(WriteError, match="nested too deep"):
        writer.write(model(nested(32)), path)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    files = []
    for number in range(2):
        b = Builder(Graph("g"))
        x = b.parameter("x", F32)
        value = b(Add(), x, b.constant([1.0, 2.0], ElementType.F32), name="layer")
        b.result(value, "y")
        path = tmp_path / f"{number}.onnx"
        writer.write(model(b.graph), path)
        files.append(path.read_bytes())
    assert files[0] == files[1]
