"""Writing an IR: canonical layers, both versions, no partial files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

from benchmarks.engines import Engines
from irloop.dialects.openvino.control_flow import If, Loop, TensorIterator
from irloop.dialects.openvino.elementwise import Add, Negative
from irloop.errors import IrloopError, UsageError, WriteError
from irloop.formats.openvino import weights as weights_module
from irloop.formats.openvino.reader import read
from irloop.formats.openvino.writer import write
from irloop.graph.loops import (
    Carried,
    Concatenated,
    Invariant,
    LastValue,
    PortMap,
    ScanInput,
    Sliced,
)
from irloop.graph.model import Body, Graph, Model
from irloop.graph.op import UnknownOp
from irloop.graph.tensor import ArrayTensor, StringTensor
from irloop.graph.types import UNKNOWN_DIM, DynamicDim, ElementType, SequenceType, Shape, TensorType
from tests.equality import difference, model_difference

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "ir"
NAMES = ("if_ser", "info_v11", "iterator_reverse", "loop_mo2021")
F32_2 = TensorType(ElementType.F32, Shape((2,)))
BOOL = TensorType(ElementType.BOOLEAN, Shape(()))


def written(graph: Graph, folder: Path, version: int = 10) -> etree._Element:
    xml, _ = write(Model(graph, "openvino", version), folder / "out.xml")
    return etree.parse(str(xml)).getroot()


def attributes(root: etree._Element, path: str) -> list[dict[str, str]]:
    return [dict(element.attrib) for element in root.iterfind(path)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_a_written_model_reads_back_equal(name: str, tmp_path: Path) -> None:
    model = read(FIXTURES / f"{name}.xml")
    xml, binary = write(model, tmp_path / "copy.xml")
    assert model_difference(model, read(xml)) is None
    again, weights = write(read(xml), tmp_path / "again.xml")
    assert again.read_bytes() == xml.read_bytes()
    assert weights.read_bytes() == binary.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_written_in_the_other_ir_version(name: str, tmp_path: Path) -> None:
    model = read(FIXTURES / f"{name}.xml")
    other = 21 - model.version
    xml, _ = write(model, tmp_path / "other.xml", version=other)
    root = etree.parse(str(xml)).getroot()
    assert root.get("version") == str(other)
    if other == 10:
        assert not list(root.iterfind(".//layer/rt_info"))
        assert not list(root.iterfind(".//port/rt_info"))
        assert not attributes(root, ".//layer[@output_names]")
    else:
        assert difference(read(xml).graph, model.graph) is None


def test_the_loop_is_canonical(tmp_path: Path) -> None:
    write(read(FIXTURES / "loop_mo2021.xml"), tmp_path / "out.xml")
    root = etree.parse(str(tmp_path / "out.xml")).getroot()
    assert [e.get("id") for e in root.iterfind("layers/layer")] == [str(n) for n in range(7)]
    kinds = [e.get("type") for e in root.iterfind("layers/layer")]
    assert kinds == ["Parameter", "Parameter", "Const", "Const", "Loop", "Result", "Result"]
    (loop,) = root.iterfind("layers/layer[@type='Loop']")
    assert [e.tag for e in loop] == ["port_map", "back_edges", "input", "output", "body"]
    assert [e.get("id") for e in loop.iterfind("input/port")] == ["0", "1", "2", "3"]
    assert [e.get("id") for e in loop.iterfind("output/port")] == ["4", "5"]
    inner = [e.get("type") for e in loop.iterfind("body/layers/layer")]
    assert inner[:3] == ["Parameter"] * 3
    assert inner[-3:] == ["Result"] * 3
    results = {e.get("id") for e in loop.iterfind("body/layers/layer[@type='Result']")}
    full = {"start": "0", "end": "-1", "stride": "1", "part_size": "1"}
    assert attributes(loop, "port_map/input") == [
        {"external_port_id": "3", "internal_layer_id": "0"},
        {"external_port_id": "2", "internal_layer_id": "1", "axis": "0", **full},
        {"external_port_id": "-1", "internal_layer_id": "2", "purpose": "current_iteration"},
    ]
    assert attributes(loop, "port_map/output") == [
        {"external_port_id": "5", "internal_layer_id": "9", "axis": "0", **full},
        {"external_port_id": "4", "internal_layer_id": "8"},
        {"external_port_id": "-1", "internal_layer_id": "10", "purpose": "execution_condition"},
    ]
    assert results == {"8", "9", "10"}
    assert attributes(loop, "back_edges/edge") == [{"from-layer": "8", "to-layer": "0"}]
    # One byte for the condition and eight for the trip count; neither is shared.
    assert (tmp_path / "out.bin").read_bytes()[:1] == b"\x01"
    shared = [e.get("offset") for e in root.iterfind(".//data[@element_type='boolean']")]
    assert len(shared) == 2
    assert len(set(shared)) == 1


def body_graph() -> Graph:
    graph = Graph("body")
    left = graph.add_parameter("left", F32_2)
    right = graph.add_parameter("right", F32_2)
    node = graph.add_node(Add(), "sum", (left, right), 1, types=(F32_2,))
    graph.add_result(node.output, "sum/out")
    return graph


def test_a_value_used_twice_by_a_body_gets_two_ports(tmp_path: Path) -> None:
    graph = Graph("g")
    unused, twice = graph.add_parameter("unused", F32_2), graph.add_parameter("twice", F32_2)
    ports = PortMap((Invariant(1, 0), Sliced(1, 1, 0)), (LastValue(0, 0),))
    body = Body("body", body_graph(), ports)
    node = graph.add_node(
        TensorIterator(), "ti", (unused, twice), 2, types=(F32_2, F32_2), bodies=(body,)
    )
    graph.add_result(node.outputs[0], "out")
    root = written(graph, tmp_path)
    # The input and the output that the port map does not mention are omitted.
    (layer,) = root.iterfind("layers/layer[@type='TensorIterator']")
    assert [e.get("id") for e in layer.iterfind("input/port")] == ["0", "1"]
    assert [e.get("id") for e in layer.iterfind("output/port")] == ["2"]
    ids = [e["external_port_id"] for e in attributes(layer, "port_map/input")]
    assert ids == ["0", "1"]
    sources = [e["from-layer"] for e in attributes(root, "edges/edge") if e["to-layer"] == "2"]
    assert sources == ["1", "1"]
    (again,) = read(tmp_path / "out.xml").graph.nodes
    assert again.body().ports.inputs == (Invariant(0, 0), Sliced(1, 1, 0))


def test_a_branch_result_used_for_two_outputs_is_written_twice(tmp_path: Path) -> None:
    graph = Graph("g")
    which, x = graph.add_parameter("which", BOOL), graph.add_parameter("x", F32_2)
    bodies = []
    for label in ("then", "else"):
        inside = Graph(label)
        value = inside.add_parameter("x", F32_2)
        node = inside.add_node(Negative(), f"{label}/neg", (value,), 1, types=(F32_2,))
        inside.add_result(node.output, f"{label}/out")
        ports = PortMap((Invariant(1, 0),), (LastValue(0, 0), LastValue(0, 1)))
        bodies.append(Body(label, inside, ports))
    choose = graph.add_node(
        If(), "choose", (which, x), 2, types=(F32_2, F32_2), bodies=tuple(bodies)
    )
    for index, value in enumerate(choose.outputs):
        graph.add_result(value, f"out{index}")
    root = written(graph, tmp_path)
    for label in ("then", "else"):
        (section,) = root.iterfind(f".//{label}_port_map")
        inner = [e["internal_layer_id"] for e in attributes(section, "output")]
        assert len(set(inner)) == 2
        results = attributes(root, f".//{label}_body/layers/layer[@type='Result']")
        assert {e["id"] for e in results} == set(inner)
    (again,) = read(tmp_path / "out.xml").graph.nodes
    assert [len(body.graph.results) for body in again.bodies] == [2, 2]


def test_a_negative_axis_is_counted_from_the_front(tmp_path: Path) -> None:
    graph = Graph("g")
    x = graph.add_parameter("x", F32_2)
    ports = PortMap((Carried(0, 0, 0), Invariant(1, 1)), (Concatenated(0, 0, -1),))
    node = graph.add_node(
        TensorIterator(),
        "ti",
        (x, x),
        1,
        types=(F32_2,),
        bodies=(Body("body", body_graph(), ports),),
    )
    graph.add_result(node.output, "out")
    (entry,) = attributes(written(graph, tmp_path), ".//port_map/output")
    assert entry["axis"] == "0"


def test_shapes_and_names_of_ports(tmp_path: Path) -> None:
    graph = Graph('a<b>&"c"')
    shape = Shape((UNKNOWN_DIM, DynamicDim(1, 5), 3))
    # The range of a dimension can be written only in a Parameter.
    open_type = TensorType(ElementType.BF16, Shape((UNKNOWN_DIM, UNKNOWN_DIM, 3)))
    x = graph.add_parameter("x\n\ty", TensorType(ElementType.BF16, shape), ("a,b", "c\\d", "<e>"))
    node = graph.add_node(
        UnknownOp("My<Op>", "extension", {"k": 'v"\n'}), "n", (x,), 1, types=(open_type,)
    )
    graph.add_result(node.output, "r")
    root = written(graph, tmp_path)
    assert root.get("name") == 'a<b>&"c"'
    (port,) = root.iterfind("layers/layer[@id='0']/output/port")
    assert port.get("names") == "a\\,b,c\\d,<e>"
    assert port.get("precision") == "BF16"
    assert [dim.text for dim in port] == ["-1", "-1", "3"]
    assert root.find("layers/layer/data").get("shape") == "?,1..5,3"  # type: ignore[union-attr]
    assert difference(read(tmp_path / "out.xml").graph, graph) is None


def test_constants_of_every_type_survive_writing_and_reading(tmp_path: Path) -> None:
    graph = Graph("g")
    for element in ElementType:
        if element in (ElementType.DYNAMIC, ElementType.STRING) or "fnuz" in element.value:
            continue
        if element in (ElementType.C64, ElementType.C128, ElementType.I2):
            continue
        array = np.array([[0, 1], [1, 1]]).astype(element.numpy())
        value = graph.add_constant(ArrayTensor(array, element), f"c_{element}")
        graph.add_result(value, f"r_{element}")
    strings = StringTensor((b"hello", "wö".encode(), b""), (3,))
    graph.add_result(graph.add_constant(strings, "c_string"), "r_string")
    scalar = graph.add_constant(ArrayTensor(np.array(2.5, np.float32)), "scalar")
    graph.add_result(scalar, "r_scalar")
    empty = graph.add_constant(ArrayTensor(np.zeros((0, 3), np.int64)), "empty")
    graph.add_result(empty, "r_empty")
    written(graph, tmp_path, 11)
    assert difference(read(tmp_path / "out.xml").graph, graph) is None


def refused(graph: Graph, folder: Path) -> IrloopError:
    target = folder / "out.xml"
    target.write_text("before", encoding="utf-8")
    with pytest.raises(IrloopError) as caught:
        write(Model(graph, "openvino", 10), target)
    assert target.read_text(encoding="utf-8") == "before"
    assert [path.name for path in folder.iterdir()] == ["out.xml"]
    return caught.value


def simple(op: Any, inputs: int = 1, **keywords: Any) -> Graph:
    graph = Graph("g")
    x = graph.add_parameter("x", F32_2)
    node = graph.add_node(op, "bad", (x,) * inputs, 1, types=(F32_2,), **keywords)
    graph.add_result(node.output, "r")
    return graph


def test_models_that_an_ir_cannot_express_are_refused(tmp_path: Path) -> None:
    scan = PortMap((ScanInput(0, 0), Invariant(1, 1)), (LastValue(0, 0),))
    gap = Graph("g")
    x = gap.add_parameter("x", F32_2)
    gap.add_result(gap.add_node(Add(), "bad", (None, x), 1, types=(F32_2,)).output, "r")
    sequence = Graph("g")
    sequence.add_result(sequence.add_parameter("bad", SequenceType(F32_2)), "r")
    complex_type = TensorType(ElementType.C64, Shape((2,)))
    imaginary = Graph("g")
    imaginary.add_result(imaginary.add_parameter("bad", complex_type), "r")
    condition = PortMap((Invariant(0, 0), Invariant(1, 1)), (LastValue(0, 0),))
    control = simple(UnknownOp("bad", "opset1"))
    control.parameters[0].name = "a\0b"
    cases = {
        "not an operation of OpenVINO": simple(UnknownOp("Foo", "1", {}, "ai.onnx")),
        "no input of the kind ScanInput": simple(
            TensorIterator(), 2, bodies=(Body("body", body_graph(), scan),)
        ),
        "no condition": simple(Loop(), 2, bodies=(Body("body", body_graph(), condition),)),
        "omitted": gap,
        "seq": sequence,
        "c64": imaginary,
        "XML cannot represent": control,
    }
    for says, graph in cases.items():
        assert says in refused(graph, tmp_path).message, says


def test_refuses_other_models(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write(Model(Graph("g"), "onnx", 8), tmp_path / "out.xml")
    with pytest.raises(UsageError):
        write(Model(Graph("g"), "openvino", 10), tmp_path / "out.xml", version=7)
    with pytest.raises(WriteError, match="cannot be written"):
        write(Model(simple(Negative()), "openvino", 10), tmp_path / "no" / "folder.xml")
    assert not list(tmp_path.iterdir())


def test_metadata_must_be_xml(tmp_path: Path) -> None:
    for text in ("<rt_info>", "<other/>", '<!DOCTYPE x [<!ENTITY a "b">]><rt_info/>'):
        model = Model(simple(Negative()), "openvino", 10, metadata={"rt_info": text})
        with pytest.raises(WriteError):
            write(model, tmp_path / "out.xml")
    # Metadata of another format is ignored.
    model = Model(simple(Negative()), "openvino", 10, metadata={"producer_name": "x"})
    write(model, tmp_path / "out.xml")
    assert read(tmp_path / "out.xml").metadata == {}


def test_a_model_is_written_over_its_own_files(tmp_path: Path) -> None:
    for suffix in (".xml", ".bin"):
        content = (FIXTURES / f"loop_mo2021{suffix}").read_bytes()
        (tmp_path / f"m{suffix}").write_bytes(content)
    model = read(tmp_path / "m.xml")
    write(model, tmp_path / "m.xml")
    assert model_difference(read(FIXTURES / "loop_mo2021.xml"), read(tmp_path / "m.xml")) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.bin", "m.xml"]


def test_an_interrupted_run_leaves_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = read(FIXTURES / "loop_mo2021.xml")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "m.bin").write_bytes(b"old")
    monkeypatch.setattr(weights_module.WeightsWriter, "place", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(model, tmp_path / "m.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["m.bin"]
    assert (tmp_path / "m.bin").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("parameter", "producer", "out_names", "written_names"),
    [
        # The layer name and the tensor names of the input and the output, as OpenVINO 2026.4
        # accepts them.
        (("x", ("x",)), ("n", ("y",)), 1, (("x", "x"), ("n", "y"))),
        (("x", ("q",)), ("n", ("x",)), 1, (("q", "q"), ("n", "x"))),
        (("x", ()), ("n", ("x",)), 1, (("x", ""), ("n", ""))),
        (("x", ("i",)), ("x", ("o",)), 1, (("x", "i"), ("x_1", "o"))),
        (("x", ("i",)), ("n", ("o",)), 2, (("x", "i"), ("o", ""))),
        (("x", ("i",)), ("n", ()), 2, (("x", "i"), ("n", ""))),
    ],
)
def test_names_that_version_10_can_have(
    tmp_path: Path,
    parameter: tuple[str, tuple[str, ...]],
    producer: tuple[str, tuple[str, ...]],
    out_names: int,
    written_names: tuple[tuple[str, str], tuple[str, str]],
) -> None:
    graph = Graph("g")
    x = graph.add_parameter(parameter[0], F32_2, parameter[1])
    node = graph.add_node(Negative(), producer[0], (x,), 1, types=(F32_2,), names=(producer[1],))
    for index in range(out_names):
        graph.add_result(node.output, f"r{index}")
    for version in (10, 11):
        root = written(graph, tmp_path, version)
        found = tuple(
            (layer.get("name", ""), layer.find("output/port").get("names", ""))  # type: ignore[union-attr]
            for layer in root.iterfind("layers/layer")
            if layer.get("type") != "Result"
        )
        own = ((parameter[0], ",".join(parameter[1])), (producer[0], ",".join(producer[1])))
        assert found == (written_names if version == 10 else own)
    # Only the names in the file differ; those of the model do not change.
    assert node.output.names == producer[1]


@pytest.mark.parametrize(("number", "names"), [(0.0, "inner"), (1.0, "y,inner")])
def test_a_name_that_would_occur_twice_stays_with_the_output(
    number: float, names: str, tmp_path: Path
) -> None:
    # OpenVINO 2026.4 removes an Add of 0, and then y is the name of both a layer and a tensor.
    graph = Graph("g")
    x = graph.add_parameter("x", F32_2, ("x",))
    n = graph.add_node(Negative(), "n", (x,), 1, types=(F32_2,), names=(("y", "inner"),)).output
    zero = graph.add_constant(ArrayTensor(np.array(number, np.float32), ElementType.F32), "c")
    y = graph.add_node(Add(), "y", (n, zero), 1, types=(F32_2,)).output
    graph.add_result(y, "r")
    root = written(graph, tmp_path)
    (port,) = root.iterfind("layers/layer[@name='n']/output/port")
    assert port.get("names") == names
    assert n.names == ("y", "inner")


def test_a_parameter_that_is_a_result_loses_its_tensor_names_in_version_10(tmp_path: Path) -> None:
    graph = Graph("g")
    graph.add_result(graph.add_parameter("x", F32_2, ("x", "y")), "r")
    (port,) = written(graph, tmp_path).iterfind("layers/layer/output/port")
    assert port.get("names") is None
    (port,) = written(graph, tmp_path, 11).iterfind("layers/layer/output/port")
    assert port.get("names") == "x,y"


def test_openvino_runs_a_sequence_whose_activations_were_left_out(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    rng = np.random.default_rng(5)
    shapes = ((1, 3, 2), (1, 1, 4), (1, 4, 2), (1, 4, 4), (1, 4))
    x, h, w, r, b = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    model = read(FIXTURES.parent / "rules" / "irl808" / "bad_none.xml")
    xml, _ = write(model, tmp_path / "out.xml")
    with contextlib.closing(Engines()) as engines:
        inputs = [x, h, np.array([3], np.int32), w, r, b]
        every, last = engines.run_all("openvino", xml, [inputs], tmp_path)[0]
    state, expected = h[0], []
    for step in x[0]:
        state = np.tanh(step @ w[0].T + state @ r[0].T + b[0])
        expected.append(state)
    np.testing.assert_allclose(every[0, 0], np.concatenate(expected), rtol=1e-5)
    np.testing.assert_allclose(last[0], state, rtol=1e-5)
