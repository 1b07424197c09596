"""Reading .xml and .bin: order, ports, port maps, types, and refused files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from irloop.dialects.openvino.control_flow import If, Loop, TensorIterator
from irloop.dialects.openvino.elementwise import Add
from irloop.errors import ReadError
from irloop.formats.openvino.reader import read
from irloop.graph.loops import (
    Carried,
    Concatenated,
    Invariant,
    LastValue,
    PortMap,
    Sliced,
)
from irloop.graph.model import Graph, Node
from irloop.graph.op import UnknownOp
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    DynamicDim,
    ElementType,
    Shape,
    TensorType,
)
from irloop.graph.verify import verify

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "ir"
IrFile = Callable[..., Path]

VECTOR = TensorType(ElementType.F32, Shape((2,)))


def parameter(id: int, name: str = "", data: str = 'shape="2" element_type="f32"') -> str:
    return (
        f'<layer id="{id}" name="{name or f"p{id}"}" type="Parameter" version="opset1">'
        f'<data {data}/><output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>'
    )


def layer(id: int, type: str, inputs: str, outputs: str = "9", more: str = "", **extra: str) -> str:
    """A layer whose ports have these ids; `more` is inserted into it."""
    ins = "".join(f'<port id="{port}"/>' for port in inputs.split())
    outs = "".join(
        f'<port id="{port}" precision="FP32"><dim>2</dim></port>' for port in outputs.split()
    )
    name = extra.get("name", f"n{id}")
    version = extra.get("version", "opset1")
    return (
        f'<layer id="{id}" name="{name}" type="{type}" version="{version}">{extra.get("data", "")}'
        f"{f'<input>{ins}</input>' if ins else ''}{f'<output>{outs}</output>' if outs else ''}"
        f"{more}</layer>"
    )


def result(id: int, name: str = "") -> str:
    return layer(id, "Result", "0", "", name=name or f"r{id}")


def nodes(graph: Graph) -> list[Node]:
    return list(graph.nodes)


def fails(path: Path) -> ReadError:
    with pytest.raises(ReadError) as caught:
        read(path)
    return caught.value


def test_loop_of_model_optimizer() -> None:
    model = read(FIXTURES / "loop_mo2021.xml")
    verify(model.graph)
    assert (model.dialect, model.version, model.graph.name) == ("openvino", 10, "sum_loop")
    assert [node.name for node in model.graph.parameters] == ["x", "start"]
    assert model.graph.inputs[1].names == ("start,0", "s")
    # Results have the order of the file, whatever their ids are.
    assert [value.names for value in model.graph.outputs] == [("total",), ("all",)]
    # A layer without readers is not read, so errors in it do not matter.
    assert [node.name for node in nodes(model.graph)] == ["cond", "trip", "loop"]
    loop = nodes(model.graph)[-1]
    assert loop.op == Loop()
    body = loop.body()
    assert body.ports == PortMap(
        (Carried(3, 0, 0), Sliced(2, 1, 0)),
        (Concatenated(1, 1, 0), LastValue(0, 0)),
        iteration=2,
        condition=2,
    )
    assert [node.op for node in nodes(body.graph)].count(Add()) == 1
    assert body.graph.inputs[1].type == TensorType(ElementType.F32, Shape((1, 2)))
    assert model.metadata == {
        "meta_data": '<meta_data>\n\t<MO_version value="2021.4.2"/>\n\t<cli_parameters>\n'
        '\t\t<batch value="1"/>\n\t\t<unset unset_cli_parameters="a, b"/>\n'
        "\t</cli_parameters>\n</meta_data>"
    }


def test_branches() -> None:
    model = read(FIXTURES / "if_ser.xml")
    verify(model.graph)
    (choose,) = nodes(model.graph)
    assert choose.op == If()
    assert [body.label for body in choose.bodies] == ["then", "else"]
    assert choose.body("then").ports == PortMap(
        (Invariant(1, 0), Invariant(2, 1)), (LastValue(0, 0),)
    )
    assert choose.body("else").ports == PortMap((Invariant(2, 0),), (LastValue(0, 0),))


def test_reversed_slices() -> None:
    (node,) = nodes(read(FIXTURES / "iterator_reverse.xml").graph)
    assert node.op == TensorIterator()
    assert node.body().ports == PortMap(
        (Sliced(0, 0, 1, -1, 0, -2, 2), Carried(1, 1, 0)),
        (Concatenated(0, 0, 1, -1, 0, -2, 2), LastValue(0, 1)),
    )


def test_runtime_information_and_open_shapes() -> None:
    model = read(FIXTURES / "info_v11.xml")
    anything, ranged = model.graph.inputs
    assert anything.names == ("a,b", "c d")
    assert anything.type == TensorType(ElementType.F32, UNKNOWN_SHAPE)
    dims = (DynamicDim(1, 5), UNKNOWN_DIM, DynamicDim(2, None), DynamicDim(0, 9))
    assert ranged.type == TensorType(ElementType.F16, Shape(dims))
    assert ranged.info == {"layout": {"version": "0", "layout": "[N,C,H,W]"}}
    relu, shape = nodes(model.graph)
    # In a net with unknown shapes, a port without dimensions may have any rank.
    assert relu.output.type == TensorType(ElementType.F32, UNKNOWN_SHAPE)
    assert relu.info == {
        "fused_names_0": {"version": "0", "value": "Relu_3, <x>"},
        "<custom>": '<custom level="2">text\n\t<inner/>\n</custom>',
    }
    assert shape.output.type == TensorType(ElementType.I32, Shape((4,)))
    assert model.graph.results[0].attributes == {"output_names": "res,second"}
    assert list(model.metadata) == ["rt_info", "quantization_parameters"]


def test_version_10_has_no_runtime_information(tmp_path: Path) -> None:
    text = (FIXTURES / "info_v11.xml").read_text(encoding="utf-8")
    path = tmp_path / "v10.xml"
    path.write_text(text.replace('version="11"', 'version="10"'), encoding="utf-8")
    model = read(path)
    assert not any(node.info for node in nodes(model.graph))
    assert not any(value.info for value in model.graph.inputs)
    assert not model.graph.results[0].attributes


def test_input_ports_are_numbered_by_position(ir_file: IrFile) -> None:
    layers = parameter(0) + parameter(1) + layer(2, "Subtract", "7 3", "9") + result(3)
    graph = read(ir_file(layers, "0.0 > 2.3; 1.0 > 2.7; 2.9 > 3.0")).graph
    (subtract,) = nodes(graph)
    assert [value.producer.name for value in subtract.inputs if value] == ["p1", "p0"]


def test_types_match_in_any_case(ir_file: IrFile) -> None:
    layers = parameter(0) + layer(1, "RELU", "0") + result(2)
    (relu,) = nodes(read(ir_file(layers, "0.0 > 1.0; 1.9 > 2.0")).graph)
    assert relu.op.type == "ReLU"


def test_unknown_operations_are_kept(ir_file: IrFile) -> None:
    layers = (
        parameter(0)
        + layer(1, "Mystery", "0", "5 6", version="extension", data='<data a="1" b="x, y"/>')
        + layer(2, "Add", "0 1", version="opset77")
        + result(3)
    )
    graph = read(ir_file(layers, "0.0 > 1.0; 1.5 > 2.0; 1.6 > 2.1; 2.9 > 3.0")).graph
    mystery, add = nodes(graph)
    assert mystery.op == UnknownOp("Mystery", "extension", {"a": "1", "b": "x, y"})
    assert [value.type for value in mystery.outputs] == [VECTOR, VECTOR]
    assert add.op == UnknownOp("Add", "opset77")


def test_unknown_attributes_are_kept(ir_file: IrFile) -> None:
    layers = parameter(0) + layer(1, "ReLU", "0", data='<data zzz="1"/>') + result(2)
    (relu,) = nodes(read(ir_file(layers, "0.0 > 1.0; 1.9 > 2.0")).graph)
    assert relu.attributes == {"zzz": "1"}


def test_layers_are_sorted_if_the_file_is_unordered(ir_file: IrFile) -> None:
    layers = (
        result(9)
        + layer(5, "Tanh", "0")
        + layer(4, "Sigmoid", "0")
        + parameter(8)
        + layer(3, "ReLU", "0")
    )
    edges = "8.0 > 3.0; 3.9 > 4.0; 4.9 > 5.0; 5.9 > 9.0; 9.0 > 77.0"
    graph = read(ir_file(layers, edges)).graph
    assert [node.op.type for node in graph.nodes] == ["ReLU", "Sigmoid", "Tanh"]
    verify(graph)


def test_a_long_chain_against_the_order(ir_file: IrFile) -> None:
    count = 5000
    layers = parameter(0) + "".join(layer(i, "ReLU", "0") for i in range(count, 0, -1))
    edges = "0.0 > 1.0;" + ";".join(f"{i}.9 > {i + 1}.0" for i in range(1, count))
    path = ir_file(layers + result(count + 1), f"{edges};{count}.9 > {count + 1}.0")
    assert len(read(path).graph) == count


def test_unused_parameters_are_kept_and_unreachable_layers_are_dropped(ir_file: IrFile) -> None:
    layers = parameter(0) + parameter(1) + layer(2, "ReLU", "0") + layer(3, "Tanh", "0") + result(4)
    edges = "1.0 > 2.0; 2.9 > 4.0; 3.9 > 3.0"
    graph = read(ir_file(layers, edges)).graph
    assert [node.name for node in graph.parameters] == ["p0", "p1"]
    assert [node.op.type for node in graph.nodes] == ["ReLU"]


def test_an_assign_is_a_sink(ir_file: IrFile) -> None:
    layers = (
        parameter(0)
        + layer(1, "ReadValue", "0", version="opset6", data='<data variable_id="v"/>')
        + layer(2, "Assign", "0", version="opset6", data='<data variable_id="v"/>')
    )
    graph = read(ir_file(layers, "0.0 > 1.0; 1.9 > 2.0")).graph
    assert [node.name for node in graph.nodes] == ["n1", "n2"]
    assert not graph.results


@pytest.mark.parametrize(
    ("layers", "edges", "code", "says"),
    [
        ("", "", "IRL108", "no layers"),
        (parameter(0) + layer(1, "result", "0", ""), "0.0 > 1.0", "IRL108", "no Result"),
        (parameter(0) + result(0), "", "IRL105", "already taken"),
        (parameter(0) + result(1), "5.0 > 1.0", "IRL201", "does not exist"),
        (parameter(0) + result(1), "0.4 > 1.0", "IRL203", "output port 4"),
        (parameter(0) + result(1), "0.0 > 1.4", "IRL203", "input port 4"),
        (parameter(0) + result(1), "", "IRL406", "0 connected inputs"),
        (
            parameter(0) + layer(1, "Add", "0 1") + result(2),
            "0.0 > 1.1; 1.9 > 2.0",
            "IRL204",
            "no edge",
        ),
        (
            parameter(0) + layer(1, "Add", "0 1") + result(2),
            "0.0 > 1.1; 0.0 > 1.1; 1.9 > 2.0",
            "IRL206",
            "already has an edge",
        ),
        (
            parameter(0) + layer(1, "Add", "0 0") + result(2),
            "0.0 > 1.0; 0.0 > 1.0; 1.9 > 2.0",
            "IRL106",
            "two ports with id 0",
        ),
        (
            parameter(0) + layer(1, "Add", "0 1") + layer(2, "ReLU", "0") + result(3),
            "0.0 > 1.0; 2.9 > 1.1; 1.9 > 2.0; 2.9 > 3.0",
            "IRL207",
            "cycle: n",
        ),
        (
            parameter(0) + parameter(1) + result(2),
            "0.0 > 1.0; 1.0 > 2.0",
            "IRL208",
            "into Parameter",
        ),
        (layer(0, "Constant", "", "0") + result(1), "0.0 > 1.0", "IRL110", "type Const"),
        (parameter(0, data='shape="1,,2"') + result(1), "0.0 > 1.0", "IRL112", "shape"),
        (parameter(0, data='element_type="FP32"') + result(1), "0.0 > 1.0", "IRL111", "element"),
        (parameter(-6) + result(1), "", "IRL104", "not an integer"),
        (
            parameter(0) + layer(1, "Concat", "0", data='<data axis="x"/>') + result(2),
            "0.0 > 1.0; 1.9 > 2.0",
            "IRL115",
            "axis",
        ),
        (
            (parameter(0) + layer(1, "ReLU", "0") + result(2)).replace("<dim>2", "<dim>?"),
            "0.0 > 1.0; 1.9 > 2.0",
            "IRL113",
            "dim",
        ),
        (
            parameter(0) + layer(1, "ReLU", "0").replace("FP32", "fp32") + result(2),
            "0.0 > 1.0; 1.9 > 2.0",
            "IRL111",
            "precision",
        ),
        (
            parameter(0) + layer(1, "ReLU", "0").replace(' version="opset1"', "") + result(2),
            "0.0 > 1.0; 1.9 > 2.0",
            "IRL103",
            "version",
        ),
        (parameter(0).replace(' name="p0"', "") + result(1), "0.0 > 1.0", "IRL103", "name"),
    ],
)
def test_invalid_layers_are_refused(
    ir_file: IrFile, layers: str, edges: str, code: str, says: str
) -> None:
    error = fails(ir_file(layers, edges))
    (finding,) = error.diagnostics
    assert finding.code == code
    assert says in finding.message
    assert finding.location.file is not None
    assert finding.location.line is not None


def test_an_error_names_layer_line_and_values(ir_file: IrFile) -> None:
    layers = parameter(0) + "\n" + layer(1, "Add", "0 1", name="sum") + result(2)
    (finding,) = fails(ir_file(layers, "0.0 > 1.0; 0.0 > 1.7; 1.9 > 2.0")).diagnostics
    assert "Add 'sum' (layer 1)" in finding.message
    assert finding.location.element == "net/edges/edge[2]"
    assert finding.expected == "one of 0, 1"
    assert finding.found == "port 7"


@pytest.mark.parametrize("version", ["12", "abc", "9999999999999999999999"])
def test_refuses_other_versions(ir_file: IrFile, version: str) -> None:
    error = fails(ir_file(parameter(0) + result(1), "0.0 > 1.0", version=version))
    assert error.diagnostics[0].code == "IRL102"


def iterator(port_map: str, back_edges: str = "", ports: str = "0 1", outputs: str = "2 3") -> str:
    """A TensorIterator that reads Parameters 0 and 1; its body has Parameters 0 and 1 and Results 3
    and 4.
    """
    body = parameter(0) + parameter(1) + layer(2, "Add", "0 1", "2") + result(3) + result(4)
    edges = "".join(
        f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>'
        for a, b, c, d in ((0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), (0, 0, 4, 0))
    )
    more = (
        f"<port_map>{port_map}</port_map><back_edges>{back_edges}</back_edges>"
        f"<body><layers>{body}</layers><edges>{edges}</edges></body>"
    )
    return (
        parameter(0)
        + parameter(1)
        + layer(2, "TensorIterator", ports, outputs, more=more)
        + result(3)
        + result(4)
    )


def entry(kind: str, external: int, internal: int, more: str = "") -> str:
    return f'<{kind} external_port_id="{external}" internal_layer_id="{internal}" {more}/>'


OUTPUTS = entry("output", 2, 3) + entry("output", 3, 4)
EDGES = "0.0 > 2.0; 1.0 > 2.1; 2.2 > 3.0; 2.3 > 4.0"


def ports_of(path: Path) -> PortMap:
    graph = read(path).graph
    verify(graph)
    return nodes(graph)[0].body().ports


def test_precedence_of_input_entries(ir_file: IrFile) -> None:
    maps = entry("input", 0, 0, 'axis="0"') + entry("input", 1, 1) + OUTPUTS
    # The first back edge to a Parameter wins; a back edge to a sliced Parameter has no effect.
    back = (
        '<edge from-layer="3" to-layer="0"/><edge from-layer="4" to-layer="1"/>'
        '<edge from-layer="3" to-layer="1"/>'
    )
    ports = ports_of(ir_file(iterator(maps, back), EDGES))
    assert ports.inputs == (Sliced(0, 0, 0), Carried(1, 1, 1))


def test_external_port_ids_of_inputs_are_indices_if_possible(ir_file: IrFile) -> None:
    maps = entry("input", 1, 0) + entry("input", 0, 1) + OUTPUTS
    ports = ports_of(
        ir_file(
            iterator(maps, ports="10 11"), EDGES.replace("2.0;", "2.10;").replace("2.1;", "2.11;")
        )
    )
    assert ports.inputs == (Invariant(1, 0), Invariant(0, 1))


def test_external_port_ids_of_inputs_are_port_ids_if_they_cannot_be_indices(
    ir_file: IrFile,
) -> None:
    maps = entry("input", 11, 0) + entry("input", 10, 1) + OUTPUTS
    ports = ports_of(
        ir_file(
            iterator(maps, ports="10 11"), EDGES.replace("2.0;", "2.10;").replace("2.1;", "2.11;")
        )
    )
    assert ports.inputs == (Invariant(1, 0), Invariant(0, 1))


INPUTS = entry("input", 0, 0) + entry("input", 1, 1)


def test_outputs_are_ordered_by_id_if_they_name_no_port(ir_file: IrFile) -> None:
    maps = INPUTS + entry("output", 100, 3) + entry("output", 50, 4)
    ports = ports_of(ir_file(iterator(maps), EDGES))
    assert ports.outputs == (LastValue(0, 1), LastValue(1, 0))


def test_outputs_are_ordered_by_id_if_ports_do_not_ascend(ir_file: IrFile) -> None:
    maps = INPUTS + entry("output", 7, 3) + entry("output", 5, 4)
    edges = EDGES.replace("2.2 >", "2.7 >").replace("2.3 >", "2.5 >")
    ports = ports_of(ir_file(iterator(maps, outputs="7 5"), edges))
    assert ports.outputs == (LastValue(0, 1), LastValue(1, 0))


def test_the_first_of_two_outputs_wins(ir_file: IrFile) -> None:
    maps = INPUTS + entry("output", 2, 3) + entry("output", 2, 4) + entry("output", 3, 4)
    ports = ports_of(ir_file(iterator(maps), EDGES))
    assert ports.outputs == (LastValue(0, 0), LastValue(1, 1))


def test_a_result_may_have_several_outputs(ir_file: IrFile) -> None:
    maps = INPUTS + entry("output", 2, 3) + entry("output", 3, 3, 'axis="-1" stride="-1"')
    ports = ports_of(ir_file(iterator(maps), EDGES))
    assert ports.outputs == (LastValue(0, 0), Concatenated(0, 1, -1, 0, -1, -1, 1))


@pytest.mark.parametrize(
    ("maps", "back", "code"),
    [
        (entry("input", 0, 99) + OUTPUTS, "", "IRL509"),
        (entry("input", 0, 3) + OUTPUTS, "", "IRL510"),
        (INPUTS + entry("output", 2, 0), "", "IRL510"),
        (entry("input", 5, 0) + OUTPUTS, "", "IRL503"),
        (entry("input", 0, 0) + entry("input", 1, 0) + OUTPUTS, "", "IRL511"),
        (INPUTS + OUTPUTS, '<edge from-layer="2" to-layer="0"/>', "IRL515"),
        (INPUTS + OUTPUTS, '<edge from-layer="3" to-layer="2"/>', "IRL516"),
        (entry("input", 0, 0) + OUTPUTS, '<edge from-layer="3" to-layer="1"/>', "IRL519"),
        (entry("input", 0, 0, 'axis="-"') + INPUTS + OUTPUTS, "", "IRL104"),
        (entry("input", 0, 0, 'axis="0" stride="x"') + OUTPUTS, "", "IRL104"),
        ('<input internal_layer_id="0"/>' + OUTPUTS, "", "IRL103"),
        ('<input external_port_id="0"/>' + OUTPUTS, "", "IRL103"),
        (INPUTS + entry("output", 2, 3, 'axis=""'), "", "IRL104"),
    ],
)
def test_invalid_port_maps_are_refused(ir_file: IrFile, maps: str, back: str, code: str) -> None:
    (finding,) = fails(ir_file(iterator(maps, back), EDGES)).diagnostics
    assert finding.code == code
    assert (finding.location.path, finding.location.layer_id) == ("n2", "2")


def test_a_loop_needs_its_condition(tmp_path: Path) -> None:
    text = (FIXTURES / "loop_mo2021.xml").read_text(encoding="utf-8")
    path = tmp_path / "loop.xml"
    path.write_text(text.replace("execution_condition", "exec_cond"), encoding="utf-8")
    path.with_suffix(".bin").write_bytes((FIXTURES / "loop_mo2021.bin").read_bytes())
    assert fails(path).diagnostics[0].code == "IRL601"


def test_a_loop_without_port_map(tmp_path: Path) -> None:
    text = (FIXTURES / "iterator_reverse.xml").read_text(encoding="utf-8")
    start, end = text.index("<port_map>"), text.index("</port_map>") + len("</port_map>")
    path = tmp_path / "loop.xml"
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    assert fails(path).diagnostics[0].code == "IRL502"
