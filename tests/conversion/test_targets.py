"""`--target` writes what releases of a version can read, and avoids the faults that they have."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.conversion.targets import find_target
from irloop.dialects.onnx.elementwise import Mul, Pow
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Abs
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.catalogue import avoided_faults, faults, faults_of
from irloop.faults.measured import FIRST, releases
from irloop.formats.onnx.reader import from_proto
from irloop.graph.types import ElementType

#: OpenVINO computes the Abs in the memory of the Concat since 2024.2 (OVN133).
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[4] y, float[4] z) {
  y = Concat <axis = 0> (x, x)  z = Abs (y)
}"""


def producers(target: str | None) -> list[type]:
    """What the operand of the Abs comes from, in the IR for a target."""
    model = from_proto(onnx.parser.parse_model(TEXT))
    result, _ = irloop.convert(model, "openvino", target=target)
    operands = [node.inputs[0] for node in result.graph.nodes if isinstance(node.op, Abs)]
    return [type(value.producer.op) for value in operands if value is not None]


@pytest.mark.parametrize(
    ("target", "producer"),
    [
        (None, Unsqueeze),
        ("openvino-2024.1", Concat),
        ("openvino-2024.2", Unsqueeze),
        ("openvino-2024", Unsqueeze),
        ("openvino-2026", Unsqueeze),
    ],
)
def test_a_fault_is_avoided_only_for_releases_that_have_it(
    target: str | None, producer: type
) -> None:
    assert producers(target) == [producer]


def test_a_fault_that_the_case_does_not_show_is_avoided() -> None:
    """The case of OVN150 is right in 2024.6, which says nothing about larger models."""
    assert not faults()["OVN150"].minimal
    assert "OVN150" in {item.code for item in avoided_faults("openvino-2024.6")}
    assert "OVN150" not in {item.code for item in faults_of("openvino-2024.6")}


def test_a_release_that_cannot_run_the_case_may_have_the_fault() -> None:
    """OpenVINO 2023.0 has no 8-bit floats."""
    (release,) = (item for item in releases("openvino") if item.version == "2023.0.2")
    assert release.verdicts["OVN125"] == "not run"
    assert "OVN125" in {item.code for item in avoided_faults("openvino-2023.0")}
    assert "OVN125" not in {item.code for item in faults_of("openvino-2023.0")}


def test_without_a_target_only_faults_of_old_releases_are_left() -> None:
    left = [item for item in faults().values() if item.on_target]
    assert {item.code for item in left} == {"OVN202", "OVN205"}
    for item in left:
        assert not releases(item.engine)[-1].has(item.code)
        assert item not in avoided_faults(item.engine)


def counting(target: str | None) -> irloop.Model:
    """The IR of a Loop that may run zero times, and returns its state."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[2] x) => (float[2] y) {
      y = Loop (n, , x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t) {
        on = Identity (go)  t = Add (s, s)
      }>
    }"""
    model = from_proto(onnx.parser.parse_model(text))
    return irloop.convert(model, "openvino", target=target)[0]


@pytest.mark.parametrize("target", ["openvino-2023.0", "openvino-2025.4", "openvino-2026.2"])
def test_initial_states_are_selected_for_releases_that_lose_them(target: str) -> None:
    """Until 2026.2, a Loop without iterations returns states of an earlier inference (OVN202)."""
    (result,) = (node.inputs[0] for node in counting(target).graph.results)
    assert result is not None
    assert isinstance(result.producer.op, Select)
    # An IR for the target stays as it is.
    again, _ = irloop.convert(counting(target), "openvino", target=target)
    assert sum(isinstance(node.op, Select) for node in again.graph.nodes) == sum(
        isinstance(node.op, Select) for node in counting(target).graph.nodes
    )


@pytest.mark.parametrize("target", [None, "openvino-2026.4"])
def test_initial_states_are_not_selected_for_the_newest_release(target: str | None) -> None:
    (result,) = (node.inputs[0] for node in counting(target).graph.results)
    assert result is not None
    assert isinstance(result.producer.op, Loop)


def test_every_measured_release_is_a_target() -> None:
    """By the release notes, 2023.0 has opset11, 2024.6 opset15 and 2026.0 opset16."""
    for item in releases("openvino"):
        if item.number >= FIRST["openvino"]:
            assert find_target(f"openvino-{item.version}").opset == item.opset
    assert find_target("openvino-2023.0").opset == 11
    assert find_target("openvino-2024.6").opset == 15
    assert find_target("openvino-2026").opset == 16
    assert ElementType.STRING in find_target("openvino-2023.0").types
    assert ElementType.STRING not in find_target("openvino-2024.6").types


@pytest.mark.parametrize("name", ["openvino-2027", "openvino", "openvino-2022.3", "tensorrt-10"])
def test_other_targets_are_refused_with_the_list(name: str) -> None:
    with pytest.raises(irloop.UsageError, match="no target is called") as caught:
        find_target(name)
    assert "openvino-2021.4, openvino-2023.0" in str(caught.value)
    assert "openvino-2024.6" in str(caught.value)


@pytest.mark.parametrize(
    ("target", "squares"),
    [(None, Mul), ("onnxruntime-1.18", Pow), ("onnxruntime-1.20", Mul), ("onnxruntime-1", Mul)],
)
def test_a_fault_of_onnxruntime_is_avoided_only_for_releases_that_have_it(
    target: str | None, squares: type
) -> None:
    """ORT122: 1.18 and 1.19 load a layer normalisation of f16 data with an f32 scale."""
    text = faults()["ORT122"].smallest.model
    assert isinstance(text, str)
    model, _ = irloop.convert(from_proto(onnx.parser.parse_model(text)))
    result, _ = irloop.convert(model, target=target)
    assert result.dialect == "onnx"
    assert {type(node.op) for node in result.graph.nodes} & {Mul, Pow} == {Mul, squares}


GELU = """<ir_version: 11, opset_import: ["" : 23]>
g (float[2] x) => (float[2] y) { y = Gelu (x) }"""


def test_a_model_is_written_in_an_opset_that_the_release_has() -> None:
    """ONNX Runtime 1.16 has opset 19, and with it IR version 9; Gelu is of opset 20."""
    model = from_proto(onnx.parser.parse_model(GELU))
    result, _ = irloop.convert(model, target="onnxruntime-1.16")
    assert result.opsets[""] == 19
    assert result.version <= 9
    assert "Gelu" not in {node.op.type for node in result.graph.nodes}
    same, _ = irloop.convert(model, target="onnxruntime-1.23")
    assert [node.op.type for node in same.graph.nodes] == ["Gelu"]
    x = np.array([-1.0, 2.0], np.float32)
    for made in (result, same):
        expected = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()]
        np.testing.assert_allclose(irloop.run(made, {"x": x})["y"], expected, rtol=1e-6)


def test_the_opset_of_a_target_is_that_of_its_oldest_release() -> None:
    assert find_target("onnxruntime-1.16").opset == 19
    assert find_target("onnxruntime-1").opset == 19


def test_no_opset_after_that_of_the_release_is_chosen() -> None:
    """Weights of 4 bits keep their type from opset 21 on, which 1.18 has."""
    m = IrModel()
    weights = m.constant([1, 2], ElementType.U4)
    model = m.done(m(Convert(ElementType.F32), weights))
    for target, opset in (("onnxruntime-1.17", 17), ("onnxruntime-1.18", 21), (None, 21)):
        result, _ = irloop.convert(model, target=target)
        assert result.opsets[""] == opset


def test_a_target_of_the_other_format_is_refused() -> None:
    model = from_proto(onnx.parser.parse_model(TEXT))
    with pytest.raises(irloop.UsageError, match="target is an option for ONNX, but"):
        irloop.convert(model, "openvino", target="onnxruntime-1.18")
    with pytest.raises(irloop.UsageError, match=r"no target is called 'onnxruntime-1\.1'"):
        irloop.convert(model, target="onnxruntime-1.1")
