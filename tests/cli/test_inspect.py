"""``irloop inspect``, ``ops``, ``rules``, ``explain``: their output as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import irloop as api
from tests.pages.models import embedded

Irloop = Callable[..., Result]


def test_bodies_are_indented_and_wires_are_in_words(irloop: Irloop, recurrent: Path) -> None:
    result = irloop("inspect", recurrent)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f'{recurrent}: OpenVINO IR v10 "recurrent"'
    assert "  0  x  f32[1,6,3]" in lines
    assert "    runs 6 times, once for each slice of input 0" in lines
    assert "      x_t       slices of input 0 (x) along axis 1" in lines
    assert (
        "      h         state: starts from input 1 ([[0, 0, 0, 0]]), "
        "next = result 1 (last_h = h_next)" in lines
    )
    assert (
        "      output 0  result 0 (all_h = with_time) of every iteration, joined along axis 1"
        in lines
    )
    assert '      Tanh-1 "h_next" (biased) -> f32[1,4]' in lines


def test_the_end_of_a_loop_is_described(irloop: Irloop, halving: Path) -> None:
    lines = irloop("inspect", halving).stdout.splitlines()
    stop = "while result 2 (condition = still_large) is true"
    assert f"    runs at most 50 times, {stop}" in lines


def test_the_option_depth_omits_deeper_bodies(irloop: Irloop, recurrent: Path) -> None:
    result = irloop("inspect", recurrent, "--depth", 0)
    assert "TensorIterator" in result.stdout
    assert 'Tanh-1 "' not in result.stdout


def test_reversed_slices_and_ranges(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    text = recurrent.read_text(encoding="utf-8")
    whole = 'start="0" end="-1" stride="1"'
    path = tmp_path / "m.xml"
    path.write_text(text.replace(whole, 'start="-1" end="0" stride="-1"'), "utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    result = irloop("inspect", path)
    assert "slices of input 0 (x) along axis 1, reversed" in result.stdout
    assert "joined along axis 1, reversed" in result.stdout


def test_json_has_the_same_tree(irloop: Irloop, recurrent: Path) -> None:
    tree = json.loads(irloop("inspect", recurrent, "--json").stdout)
    assert (tree["schema"], tree["dialect"], tree["version"]) == (
        "irloop-inspect/1", "openvino", 10,
    )  # fmt: skip
    assert tree["inputs"] == [{"name": "x", "type": "f32[1,6,3]"}]
    (loop,) = [node for node in tree["operations"] if "bodies" in node]
    assert (loop["op"], loop["version"], loop["name"]) == (
        "TensorIterator", "TensorIterator-1", "rnn",
    )  # fmt: skip
    (body,) = loop["bodies"]
    assert [wire["what"] for wire in body["wires"]] == ["x_t", "h", "output 0", "output 1"]
    assert "h_next" in [node["name"] for node in body["operations"]]


def test_a_broken_model_is_a_finding(irloop: Irloop, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text("<net", "utf-8")
    result = irloop("inspect", path)
    assert result.exit_code == 1
    assert "error IRL101" in result.stdout


def test_every_operation_is_listed_with_what_can_be_done(irloop: Irloop) -> None:
    result = irloop("ops", "--format", "json")
    rows = json.loads(result.stdout)["ops"]
    assert len(rows) == len(api.operations())
    found = {(row["dialect"], row["type"], row["since"]): row for row in rows}
    add = found["openvino", "Add", 1]
    assert (add["infer"], add["run"], add["export"], add["import"]) == (True, True, True, None)
    assert found["openvino", "Loop", 5]["run"]
    text = irloop("ops", "--dialect", "onnx").stdout.splitlines()
    assert text[0].split() == [
        "dialect", "operation", "opsets", "infer", "run", "export", "import", "notes",
    ]  # fmt: skip
    assert not [line for line in text[1:-1] if not line.startswith("onnx")]
    assert text[-1] == f"{len(text) - 2} operations"


def test_operations_by_name_and_opset(irloop: Irloop) -> None:
    asked = irloop("ops", "gather", "loop*", "--dialect", "openvino", "--opset", "7")
    lines = asked.stdout.splitlines()
    assert [line.split()[1:3] for line in lines[1:3]] == [["Gather-7", "7"], ["Loop-5", "5+"]]
    assert lines[3] == "2 operations"
    assert "  attribute  batch_dims  int; default 0" in lines[4:]
    given = ("ops", "RandomUniform", "--dialect", "openvino", "--missing")
    refused = irloop(*given).stdout.splitlines()
    assert refused[2] == "1 operation"
    assert refused[1].endswith("ONNX does not specify the generator, so the numbers would differ")


def test_an_operation_that_does_not_exist(irloop: Irloop) -> None:
    result = irloop("ops", "Gathre")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Gathre" in result.stderr


def test_every_rule_is_listed_and_explained(irloop: Irloop) -> None:
    rows = json.loads(irloop("rules", "--format", "json").stdout)["rules"]
    assert len(rows) == len(api.rules()) > 50
    assert "IRL203  error    edge names a port that does not exist" in irloop("rules").stdout
    for row in rows:
        result = irloop("explain", row["code"])
        assert result.exit_code == 0
        assert result.stdout.startswith(f"{row['code']}: {row['title']} ({row['severity']})")


@pytest.mark.parametrize(
    ("code", "said"), [("CNV001", "has no counterpart in the other format"), ("run002", "limit")]
)
def test_codes_of_errors_are_explained_too(irloop: Irloop, code: str, said: str) -> None:
    result = irloop("explain", code)
    assert result.exit_code == 0
    assert said in result.stdout


def test_a_code_that_does_not_exist(irloop: Irloop) -> None:
    result = irloop("explain", "IRL999")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "IRL999" in result.stderr


def test_a_fault_is_written_as_a_report(irloop: Irloop, tmp_path: Path) -> None:
    result = irloop("explain", "ovn133", "--reproduce", tmp_path / "report")
    script = tmp_path / "report" / "reproduce.py"
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith(f"Reproduce:\n    python {script}\n")
    assert script.read_text().startswith('"""OVN133: ')
    refused = irloop("explain", "CNV001", "--reproduce", tmp_path / "other")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "no fault has the code 'CNV001'" in refused.stderr


def test_the_summary_counts_operations_weights_and_work(irloop: Irloop, recurrent: Path) -> None:
    lines = irloop("inspect", recurrent).stdout.splitlines()
    assert lines[1:5] == [
        "  8 operations (7 of them in bodies), 6 constants (160 bytes)",
        "  Add 2, MatMul 2, Squeeze 1, Tanh 1, TensorIterator 1, Unsqueeze 1",
        "  weights: f32 36 (144 bytes), i64 2 (16 bytes)",
        # A row of 3 and one of 4 times 4 columns; 6 and 1 rows of 4, and in the body 3 + 6 * 4.
        "  multiply-adds: 28; results of operations: 220 bytes, the largest 96",
    ]
    summary = json.loads(irloop("inspect", recurrent, "--json").stdout)["summary"]
    assert summary["operations"]["MatMul"] == 2
    assert summary["weights"]["f32"] == {"elements": 36, "bytes": 144}
    assert (summary["multiply_adds"], summary["activation_bytes"]) == (28, 220)


def test_convolutions_are_counted(irloop: Irloop, tmp_path: Path) -> None:
    b = api.Builder("openvino", opset=8)
    x = b.input("x", "f32", [1, 4, 8, 8])
    weights = b.constant([[[[1.0] * 3] * 3] * 4] * 6)
    spread: dict[str, Any] = {
        "strides": (1, 1),
        "pads_begin": (1, 1),
        "pads_end": (1, 1),
        "dilations": (1, 1),
    }
    b.output("y", b.op("Convolution", x, weights, **spread))
    api.save_model(b.model(), tmp_path / "m.xml")
    # 6 channels of 8 x 8 elements, each of 4 x 3 x 3 products.
    assert f"multiply-adds: {6 * 64 * 36:,};" in irloop("inspect", tmp_path / "m.xml").stdout


def test_a_convolution_without_weights_is_shown(irloop: Irloop, tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnxtxt"
    path.write_text(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) { y = Conv (x) }"
    )
    lines = irloop("inspect", path).stdout.splitlines()
    assert any(line.startswith("  multiply-adds: unknown") for line in lines)


@pytest.mark.parametrize("command", ["inspect", "view"])
def test_an_ir_without_its_weights_is_shown(
    irloop: Irloop, recurrent: Path, tmp_path: Path, command: str
) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(recurrent.read_bytes())
    page = tmp_path / "m.html"
    result = irloop(command, path, *(("-o", page) if command == "view" else ()))
    assert result.exit_code == 0
    assert f"{path.with_suffix('.bin')} is absent" in result.stderr
    if command == "view":
        (model,) = embedded(page.read_text("utf-8"))["models"]
        assert "TensorIterator" in [node["label"] for node in model["nodes"]]
        return
    whole = irloop("inspect", recurrent).stdout.replace(str(recurrent), str(path))
    assert result.stdout.splitlines()[:9] == whole.splitlines()[:9]
    with pytest.raises(api.ReadError):
        api.run(api.read_model(path, without_weights=True), api.random_inputs(recurrent))


def test_repeated_blocks_are_shown_once(irloop: Irloop, tmp_path: Path) -> None:
    b = api.Builder("onnx", opset=17)
    value = b.input("x", "f32", [2, 2])
    for at in range(9):
        inner = b.op("Relu", b.op("MatMul", value, value, name=f"/layer.{at}/mul"),
                     name=f"/layer.{at}/relu")  # fmt: skip
        value = b.op("Add", value, inner, name=f"/layer.{at}/add")
    b.output("y", value)
    api.save_model(b.model(), tmp_path / "m.onnx")
    lines = irloop("inspect", tmp_path / "m.onnx").stdout.splitlines()
    at = lines.index("  9 times (layer/0 to layer/8), 3 operations each:")
    assert [line.split('"')[1] for line in lines[at + 1 :]] == [
        "/layer.0/mul", "/layer.0/relu", "/layer.0/add",
    ]  # fmt: skip
    every = irloop("inspect", tmp_path / "m.onnx", "--all").stdout
    assert every.count('"/layer.') == 27
    assert "times" not in every
    tree = json.loads(irloop("inspect", tmp_path / "m.onnx", "--json").stdout)
    assert len(tree["operations"]) == 27
