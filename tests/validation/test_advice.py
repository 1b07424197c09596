"""The advice for messages: commands that exist, and that work on models with the fault.

The entries of ``fixtures/messages.json`` with a `command` are those that users paste most often in
public issues; the command is what they need, written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click import Context, Group
from click.testing import Result
from onnx import TensorProto, helper

import irloop
from cli.main import main
from irloop.messages.explain import all_messages, explanations
from irloop.messages.message import Message

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "messages.json"
ASKED: list[dict[str, str]] = [
    item for item in json.loads(FIXTURE.read_text(encoding="utf-8")) if "command" in item
]
NUMBERS = np.random.default_rng(0)
Run = Callable[..., Result]


@pytest.mark.parametrize("said", ASKED, ids=lambda said: said["says"][:60])
def test_a_frequent_message_leads_to_its_command(said: dict[str, str]) -> None:
    found = explanations(said["says"])
    assert any(said["command"] in item.advice for item in found), found


@pytest.mark.parametrize("message", all_messages(), ids=lambda message: message.pattern[:50])
def test_the_commands_of_an_advice_exist(message: Message) -> None:
    assert isinstance(main, Group)
    for name, rest in re.findall(r"irloop ([a-z]+)\b([^;:,]*)", message.advice):
        command = main.get_command(Context(main), name)
        assert command is not None, name
        known = {option for item in command.params for option in (*item.opts, *item.secondary_opts)}
        assert set(re.findall(r"(?<!\S)(--[a-z-]+)", rest)) <= known


def model(text: str, folder: Path, *, opset: int = 17) -> Path:
    path = folder / "MODEL.onnx"
    header = f'<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]>\n'
    path.write_bytes(onnx.parser.parse_model(header + text).SerializeToString())
    return path


#: Messages, and a model with the fault: it converts to an IR as the advice says.
CONVERTS = {
    "OpenVINO does not support the following ONNX operations: SequenceEmpty": """
      g (float[2] x, float[3] z) => (float[5] y) {
        s = SequenceConstruct (x, z) y = ConcatFromSequence <axis = 0> (s) }""",
    "OpenVINO does not support the following ONNX operations: com.microsoft.FastGelu": """
      g (float[2] x) => (float[2] y) { y = com.microsoft.FastGelu (x) }""",
    "The provided loop body graph canonical inputs size (2), does not match the sum": """
      g (float[2] x, int64 n) => (float[2] y) {
        y = Loop (n, , x) <body = b (int64 i, bool c, float[2] x) => (bool c2, float[2] z) {
          c2 = Identity (c) z = Add (x, x) }> }""",
    "Accessing out-of-range dimension Summary: -- Conversion is failed for: Loop-13": """
      g (float[2] x, int64 n) => (float[k, 2] y) {
        none = Constant <value = float[0, 2] {}> () zero = Constant <value_ints = [0]> ()
        y = Loop (n, , none) <body = b (int64 i, bool c, float[a, 2] s)
          => (bool c2, float[d, 2] t) {
          c2 = Identity (c) row = Unsqueeze (x, zero) t = Concat <axis = 0> (s, row) }> }""",
}


@pytest.mark.parametrize("said", CONVERTS)
def test_a_model_that_openvino_refuses_converts(
    said: str, tmp_path: Path, irloop_command: Run
) -> None:
    assert any(
        "irloop convert MODEL.onnx -o MODEL.xml" in item.advice for item in explanations(said)
    )
    source = model(CONVERTS[said], tmp_path)
    made = irloop_command("convert", str(source), "-o", str(tmp_path / "MODEL.xml"))
    assert made.exit_code == 0, made.stderr
    assert irloop.read_model(tmp_path / "MODEL.xml").graph.outputs


def test_scan_8_with_lengths_converts(tmp_path: Path, irloop_command: Run) -> None:
    text = """g (int64[1] n, float[1, 2] h, float[1, 3, 2] x)
      => (float[1, 2] y, float[1, 3, 2] ys) {
      y, ys = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] p)
        => (float[2] t, float[2] q) { t = Add (s, p) q = Identity (t) }> (n, h, x) }"""
    (item,) = explanations("Scan-8 `sequence_lens` input is not supported")
    assert "irloop convert MODEL.onnx -o MODEL.xml" in item.advice
    source = model(text, tmp_path, opset=8)
    assert irloop_command("convert", str(source), "-o", str(tmp_path / "m.xml")).exit_code == 0


SHAPES = [
    "Got invalid dimensions for input: x for the following indices index: 0 Got: 5 Expected: 2",
    "cannot be reshaped to the requested shape. Input shape:{5,6}, requested shape:{2,2,3}",
    "The input blob size is not equal to the network input size: got 30 expecting 12",
    "[cpu]reshape: the shape of input data (5.6) conflicts with the reshape pattern (2.2.3)",
]


@pytest.mark.parametrize("said", SHAPES)
def test_set_shape_changes_a_fixed_input_and_the_targets_of_reshapes(
    said: str, tmp_path: Path, irloop_command: Run
) -> None:
    (item,) = explanations(said)
    assert "irloop transform MODEL -o NEW --pass set_shape=NAME=" in item.advice
    text = """g (float[2, 6] x) => (float[2, 2, 3] y) {
      s = Constant <value_ints = [2, 2, 3]> () y = Reshape (x, s) }"""
    source, new = model(text, tmp_path), tmp_path / "NEW.onnx"
    made = irloop_command("transform", str(source), "-o", str(new), "--pass", "set_shape=x=5,6")
    assert made.exit_code == 0, made.stderr
    (found,) = irloop.run(new, [NUMBERS.normal(size=(5, 6)).astype(np.float32)]).values()
    assert found.shape == (5, 2, 3)


@pytest.mark.parametrize("fault", ["unsorted", "unread weight"])
def test_a_model_is_written_in_good_order(fault: str, tmp_path: Path, irloop_command: Run) -> None:
    said, arguments = {
        "unsorted": (
            "input 'a' of node: name: m OpType: Mul is not output of any previous nodes.",
            ["convert"],
        ),
        "unread weight": (
            "Removing initializer 'w'. It is not used by any node and should be removed",
            ["transform", "--pass", "dead_code"],
        ),
    }[fault]
    (item,) = explanations(said)
    assert f"irloop {arguments[0]} MODEL.onnx" in item.advice
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Mul", ["a", "x"], ["y"])]
    graph = helper.make_graph(
        nodes[::-1] if fault == "unsorted" else nodes,
        "g",
        [value("x", TensorProto.FLOAT, [2])],
        [value("y", TensorProto.FLOAT, [2])],
    )
    if fault != "unsorted":
        graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2]))
    source, new = tmp_path / "MODEL.onnx", tmp_path / "NEW.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), source)
    made = irloop_command(*arguments[:1], str(source), "-o", str(new), *arguments[1:])
    assert made.exit_code == 0, made.stderr
    written = onnx.load(new)
    onnx.checker.check_model(written)
    assert not written.graph.initializer


def test_a_weight_that_is_an_input_becomes_a_constant(tmp_path: Path, irloop_command: Run) -> None:
    (item,) = explanations(
        "Initializer w appears in graph inputs and will not be treated as constant value/weight"
    )
    assert "irloop convert MODEL.onnx -o M.xml, then irloop convert M.xml" in item.advice
    text = "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }"
    paths = [str(model(text, tmp_path)), str(tmp_path / "M.xml"), str(tmp_path / "NEW.onnx")]
    assert irloop_command("convert", paths[0], "-o", paths[1]).exit_code == 0
    assert irloop_command("convert", paths[1], "-o", paths[2]).exit_code == 0
    assert [item.name for item in onnx.load(paths[2]).graph.input] == ["x"]


def test_another_opset_is_written(tmp_path: Path, irloop_command: Run) -> None:
    (item,) = explanations(
        "onnx/version_converter/BaseConverter.h:64: adapter_lookup: Assertion `false` failed: No "
        "Adapter For Div"
    )
    assert "irloop convert MODEL.onnx -o NEW.onnx --opset 17" in item.advice
    source = model("g (float[2] x) => (float[2] y) { y = Div (x, x) }", tmp_path, opset=7)
    new = str(tmp_path / "NEW.onnx")
    assert irloop_command("convert", str(source), "-o", new, "--opset", "17").exit_code == 0
    assert onnx.load(new).opset_import[0].version == 17


def test_an_older_version_is_written(tmp_path: Path, irloop_command: Run) -> None:
    (item,) = explanations("Unsupported model IR version: 10, max supported IR version: 9")
    assert "irloop convert MODEL.onnx -o OLD.onnx --opset 17 --ir-version 9" in item.advice
    source = model("g (float[2] x) => (float[2] y) { y = Swish (x) }", tmp_path, opset=24)
    old = str(tmp_path / "OLD.onnx")
    made = irloop_command("convert", str(source), "-o", old, "--opset", "17", "--ir-version", "9")
    assert made.exit_code == 0, made.stderr
    assert (onnx.load(old).ir_version, onnx.load(old).opset_import[0].version) == (9, 17)


def test_ranks_are_given_on_the_command_line(tmp_path: Path, irloop_command: Run) -> None:
    (item,) = explanations(
        "CPU plug-in doesn't support If operation with dynamic rank. Operation name: If_0"
    )
    assert "--shape NAME=" in item.advice
    source = model(
        "g (float[...] x) => (float[...] y) { y = Relu (x) }".replace("[...]", ""), tmp_path
    )
    proto = onnx.load(source)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.ClearField("shape")
    onnx.save(proto, source)
    made = irloop_command("convert", str(source), "-o", str(tmp_path / "m.xml"), "--shape", "x=1,3")
    assert made.exit_code == 0, made.stderr
    types: list[Any] = [value.type for value in irloop.read_model(tmp_path / "m.xml").graph.inputs]
    assert [str(type) for type in types] == ["f32[1,3]"]


def test_missing_domains_are_added(tmp_path: Path, irloop_command: Run) -> None:
    (item,) = explanations("No opset import for domain 'com.microsoft'")
    assert "irloop validate MODEL.onnx --fix" in item.advice
    source = model("g (float[2] x) => (float[2] y) { y = com.microsoft.FastGelu (x) }", tmp_path)
    proto = onnx.load(source)
    del proto.opset_import[1:]
    onnx.save(proto, source)
    irloop_command("validate", str(source), "--fix")
    assert [item.domain for item in onnx.load(source).opset_import] == ["", "com.microsoft"]


def test_nodes_of_one_name_are_told_apart(tmp_path: Path, irloop_command: Run) -> None:
    (item,) = explanations("This is an invalid model. Error: two nodes with same node name (n).")
    assert "irloop transform MODEL -o NEW.onnx --pass simplify" in item.advice
    source = model("g (float[2] x) => (float[2] y) { [n] h = Abs (x) [n] y = Neg (h) }", tmp_path)
    assert "ONX215" in irloop_command("validate", str(source)).stdout
    new = str(tmp_path / "NEW.onnx")
    assert irloop_command("transform", str(source), "-o", new, "--pass", "simplify").exit_code == 0
    assert [node.name for node in onnx.load(new).graph.node] == ["n", ""]
    assert irloop_command("validate", new).exit_code == 0


def test_weights_outside_are_written_inside(tmp_path: Path, irloop_command: Run) -> None:
    (item,) = explanations(
        'Failed to load external data file "./model.onnx_data", error: File not found in preloaded '
        "files."
    )
    assert "irloop transform MODEL -o ONE.onnx --pass simplify" in item.advice
    source = model(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }", tmp_path
    )
    proto = onnx.load(source)
    # Only raw data can be in another file.
    weights = onnx.numpy_helper.to_array(proto.graph.initializer[0])
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(proto, source, save_as_external_data=True, location="w.data", size_threshold=0)
    assert onnx.load(source, load_external_data=False).graph.initializer[0].external_data
    one = str(tmp_path / "ONE.onnx")
    assert irloop_command("transform", str(source), "-o", one, "--pass", "simplify").exit_code == 0
    (weight,) = onnx.load(one, load_external_data=False).graph.initializer
    assert not weight.external_data
    assert onnx.numpy_helper.to_array(weight).tolist() == [1, 2]
