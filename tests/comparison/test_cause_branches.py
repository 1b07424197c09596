"""Branches of an If that were exchanged, and outputs of one branch that were: check and diff."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from lxml import etree

import irloop

#: Different shapes of the outputs, as a branch whose outputs were exchanged shows first there.
PICK = """<ir_version: 8, opset_import: ["" : 17]>
m (float gate, float[2] a, float[3] b) => (float[2] near, float[3] far) {
   zero = Constant <value = float {0.0}> ()
   up = Greater (gate, zero)
   [pick] near, far = If (up) <
      then_branch = yes () => (float[2] y_near, float[3] y_far) {
         y_near = Exp (a)  y_far = Neg (b)
      },
      else_branch = no () => (float[2] n_near, float[3] n_far) {
         n_near = Tanh (a)  n_far = Sin (b)
      }
   >
}
"""


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """The model in both formats; the path is that of the IR."""
    onnx.save(onnx.parser.parse_model(PICK), tmp_path / "right.onnx")
    model, _ = irloop.convert(tmp_path / "right.onnx")
    irloop.save_model(model, tmp_path / "right.xml")
    return tmp_path / "right.xml"


def written(tree: etree._ElementTree, right: Path) -> Path:
    wrong = right.with_name("wrong.xml")
    tree.write(str(wrong))
    wrong.with_suffix(".bin").write_bytes(right.with_suffix(".bin").read_bytes())
    return wrong


@pytest.fixture
def exchanged_branches(right: Path) -> Path:
    tree = etree.parse(str(right))
    (pick,) = tree.iterfind(".//layer[@type='If']")
    for part in ("body", "port_map"):
        then, other = (pick.find(f"{label}_{part}") for label in ("then", "else"))
        assert then is not None
        assert other is not None
        then.tag, other.tag = other.tag, then.tag
    return written(tree, right)


@pytest.fixture
def exchanged_outputs(right: Path) -> Path:
    tree = etree.parse(str(right))
    first, second = tree.iterfind(".//then_port_map/output")
    key = "internal_layer_id"
    one, two = first.attrib[key], second.attrib[key]
    first.set(key, two)
    second.set(key, one)
    return written(tree, right)


@pytest.mark.parametrize("suffix", [".xml", ".onnx"])
def test_exchanged_branches_are_named(right: Path, exchanged_branches: Path, suffix: str) -> None:
    found = irloop.compare(right.with_suffix(suffix), exchanged_branches, engines="numpy")
    assert found.outcome == "different"
    line = str(found).splitlines()[0]
    assert "the branches of If-8 `pick` of wrong.xml" in line
    assert "exchanged" in line


@pytest.mark.parametrize("suffix", [".xml", ".onnx"])
def test_exchanged_outputs_of_a_branch_are_named(
    right: Path, exchanged_outputs: Path, suffix: str
) -> None:
    found = irloop.compare(right.with_suffix(suffix), exchanged_outputs, engines="numpy")
    assert found.outcome == "different"
    line = str(found).splitlines()[0]
    assert "the then branch of If-8 `pick` of wrong.xml" in line
    assert f"returns `y_far` where that of right{suffix}" in line
    assert line.endswith("returns `y_near`")


def test_a_parameter_of_a_branch_is_said_to_be_of_an_if(tmp_path: Path) -> None:
    text = PICK.replace("float[3]", "float[2]").replace("Exp (a)", "Sub (a, b)")
    onnx.save(onnx.parser.parse_model(text), tmp_path / "right.onnx")
    model, _ = irloop.convert(tmp_path / "right.onnx")
    irloop.save_model(model, tmp_path / "right.xml")
    tree = etree.parse(str(tmp_path / "right.xml"))
    first, second = tree.iterfind(".//then_port_map/input")
    key = "external_port_id"
    one, two = first.attrib[key], second.attrib[key]
    first.set(key, two)
    second.set(key, one)
    wrong = written(tree, tmp_path / "right.xml")
    line = str(irloop.compare(tmp_path / "right.xml", wrong, engines="numpy")).splitlines()[0]
    assert "of If `pick` comes from" in line


def test_diff_tells_exchanged_branches_in_one_line(right: Path, exchanged_branches: Path) -> None:
    (change,) = irloop.diff(right, exchanged_branches).changes
    assert (change.kind, change.path) == ("changed", "pick")
    assert "the branches are exchanged" in str(change)


def test_diff_of_one_changed_branch_lists_its_changes(right: Path) -> None:
    tree = etree.parse(str(right))
    (negative,) = tree.iterfind(".//then_body/layers/layer[@type='Negative']")
    negative.set("type", "Abs")
    (change,) = irloop.diff(right, written(tree, right)).changes
    assert change.path == "pick/then/y_far"
    assert "exchanged" not in str(change)
