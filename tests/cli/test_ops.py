"""``irloop ops NAME``: inputs, outputs and attributes of an operation, as specified."""

from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result


def test_the_attributes_of_one_operation(irloop: Callable[..., Result]) -> None:
    lines = irloop("ops", "roialign", "--dialect", "openvino").output.splitlines()
    shown = [" ".join(line.split()) for line in lines]
    assert "input batch indices integer" in shown
    assert "attribute pooled_h int; required; 1 or more" in shown
    assert "attribute mode avg, max; required; without it OpenVINO takes avg" in shown
    modes = "asymmetric, half_pixel_for_nn, half_pixel"
    assert f"attribute aligned_mode {modes}; default asymmetric" in shown


def test_the_operands_of_onnx_come_from_its_schemas(irloop: Callable[..., Result]) -> None:
    made = irloop("ops", "CumSum", "--dialect", "onnx", "--format", "json")
    row = json.loads(made.output)["ops"][-1]
    assert [item["name"] for item in row["inputs"]] == ["x", "axis"]
    assert row["inputs"][1]["types"] == "T2: int32 | int64"
    assert {item["name"]: item["default"] for item in row["attributes"]} == {
        "exclusive": 0,
        "reverse": 0,
    }


def test_loops_have_attributes_and_types_by_version(
    irloop: Callable[..., Result],
) -> None:
    lines = irloop("ops", "Loop", "Scan", "If", "--dialect", "onnx").output.splitlines()
    shown = [" ".join(line.split()) for line in lines]
    assert "attribute body graph; required" in shown
    assert "attribute num_scan_inputs int; required" in shown
    assert "attribute scan_input_axes ints; default none" in shown
    assert "attribute then_branch graph; required" in shown
    assert "opset 16 V also bfloat16" in shown
    assert "opset 25 V also optional(tensor(int2 | uint2)) | seq(tensor(int2 | uint2)) | int2" in (
        " ".join(irloop("ops", "Loop", "--dialect", "onnx").output.split())
    )
    made = irloop("ops", "Loop", "--dialect", "onnx", "--format", "json")
    (row,) = json.loads(made.output)["ops"]
    # From the list of type constraints of each version in ONNX's Operators.md.
    assert [entry[:2] for entry in row["later_types"]][:3] == [[13, "V"], [16, "V"], [19, "V"]]
    assert row["later_types"][0][2].startswith("seq(tensor(bool)) | seq(tensor(complex128))")


def test_many_operations_are_not_described(irloop: Callable[..., Result]) -> None:
    assert "attribute" not in irloop("ops", "ROI*").output
