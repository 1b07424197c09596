"""Differences between models of one format: which ones count, and how they are reported."""

from __future__ import annotations

import struct
from pathlib import Path

import onnx
import pytest

import irloop
from irloop.comparison.diff import ModelDiff, diff
from irloop.errors import UsageError

MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "models"
SOURCE = MODELS / "recurrent" / "model.xml"


def changed(folder: Path, *edits: tuple[str, str], weights: bytes | None = None) -> ModelDiff:
    """The changes that `diff` reports when the text of the recurrent model was edited."""
    text = SOURCE.read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "new.xml"
    path.write_text(text, encoding="utf-8")
    data = SOURCE.with_suffix(".bin").read_bytes() if weights is None else weights
    path.with_suffix(".bin").write_bytes(data)
    return diff(irloop.read_model(SOURCE), irloop.read_model(path))


def in_layer(name: str, old: str, new: str) -> tuple[str, str]:
    """An edit of the first `old` after the name of a layer."""
    text = SOURCE.read_text(encoding="utf-8")
    start = text.index(f'name="{name}"')
    before = text[start : text.index(old, start) + len(old)]
    return before, before.removesuffix(old) + new


def said(found: ModelDiff) -> list[tuple[str, str, str]]:
    return [(item.kind, item.path, item.message) for item in found.changes]


def test_a_model_is_the_same_as_itself(tmp_path: Path) -> None:
    found = changed(tmp_path)
    assert found.same
    assert str(found) == "the same"


def test_new_layer_ids_and_weights_in_another_order_are_no_difference(tmp_path: Path) -> None:
    model = irloop.read_model(SOURCE)
    path = tmp_path / "again.xml"
    irloop.save_model(model, path)
    assert diff(model, irloop.read_model(path)).changes == ()


def test_a_renaming_is_reported_but_is_not_a_difference(tmp_path: Path) -> None:
    found = changed(tmp_path, ('name="x_W"', 'name="product"'))
    assert found.same
    assert said(found) == [("renamed", "rnn/body/product", "was called 'x_W'")]


def test_a_changed_attribute_is_one_line(tmp_path: Path) -> None:
    found = changed(tmp_path, in_layer("h_R", 'transpose_b="false"', 'transpose_b="true"'))
    assert not found.same
    assert said(found) == [("changed", "rnn/body/h_R", "transpose_b False -> True")]


def test_another_operation_is_one_change(tmp_path: Path) -> None:
    found = changed(tmp_path, ('name="h_next" type="Tanh"', 'name="h_next" type="Sigmoid"'))
    # Nodes that only depend on the change are not reported as changed.
    assert said(found) == [("changed", "rnn/body/h_next", "Tanh-1 -> Sigmoid-1")]


def test_another_operation_under_another_name(tmp_path: Path) -> None:
    found = changed(tmp_path, ('name="h_next" type="Tanh"', 'name="squashed" type="Sigmoid"'))
    assert ("changed", "rnn/body/squashed", "Tanh-1 -> Sigmoid-1") in said(found)
    assert {item.kind for item in found.changes} == {"changed", "renamed"}


def test_a_lost_back_edge(tmp_path: Path) -> None:
    found = changed(tmp_path, ('<edge from-layer="15" to-layer="1"/>', ""))
    (only,) = said(found)
    assert only[:2] == ("changed", "rnn/body")
    assert only[2].startswith("`h` is not carried: port 1 has no back edge, line ")
    assert "in the old model it is carried from `h_next` (back edge of port 1, line " in only[2]


def test_changes_are_not_shown_as_python_objects(tmp_path: Path) -> None:
    found = changed(
        tmp_path,
        ('internal_layer_id="14" axis="1"', 'internal_layer_id="14" axis="0"'),
        ('<edge from-layer="15" to-layer="1"/>', '<edge from-layer="14" to-layer="1"/>'),
    )
    text = str(found)
    for word in ("Carried(", "Sliced(", "Invariant(", "Concatenated(", "external=", "<", "None"):
        assert word not in text


def test_an_operand_from_another_value_is_reported(tmp_path: Path) -> None:
    """The bias is added to itself instead of to the sum."""
    old, new = (
        f'<edge from-layer="{layer}" from-port="{port}" to-layer="10" to-port="0"/>'
        for layer, port in ((8, 2), (9, 0))
    )
    found = changed(tmp_path, (old, new))
    assert ("changed", "rnn/body/biased", "input 0 comes from 'b', was 'sum'") in said(found)


def test_a_changed_port_map_is_described_in_words(tmp_path: Path) -> None:
    found = changed(
        tmp_path,
        (
            'internal_layer_id="0" axis="1" start="0" end="-1" stride="1"',
            'internal_layer_id="0" axis="1" start="-1" end="0" stride="-1"',
        ),
    )
    (only,) = said(found)
    assert only[:2] == ("changed", "rnn/body")
    new, old = only[2].split("; in the old model it ")
    assert new.startswith("`x_t` is sliced along axis 1, backwards (port 0, line ")
    assert old.startswith("is sliced along axis 1, forwards (port 0, line ")


def test_differences_of_weights_are_measured(tmp_path: Path) -> None:
    data = bytearray(SOURCE.with_suffix(".bin").read_bytes())
    # W is the first constant of the body; h0 (16 bytes) and an axis (8 bytes) precede it.
    (old,) = struct.unpack_from("<f", data, 24)
    struct.pack_into("<f", data, 24, old + 0.5)
    found = changed(tmp_path, weights=bytes(data))
    assert not found.same
    (only,) = said(found)
    assert only[:2] == ("changed", "rnn/body/W")
    assert only[2].startswith("1 of 12 elements of f32[3,4] differ, by 0.5 at most; norm ")


def test_inputs_outputs_and_the_version(tmp_path: Path) -> None:
    found = changed(
        tmp_path,
        ('name="x" type="Parameter"', 'name="y" type="Parameter"'),
        ('version="10"', 'version="11"'),
    )
    assert said(found) == [
        ("model", "version", "10 -> 11"),
        ("input", "y", "was called 'x'"),
    ]
    assert not found.same


def test_other_formats_are_refused() -> None:
    model = irloop.read_model(SOURCE)
    converted, _ = irloop.convert(model)
    with pytest.raises(UsageError, match="one format"):
        diff(model, converted)


def test_changes_convert_to_plain_data(tmp_path: Path) -> None:
    found = changed(tmp_path, ('name="x_W"', 'name="product"'))
    assert found.to_dict() == {
        "same": True,
        "changes": [{"kind": "renamed", "path": "rnn/body/product", "message": "was called 'x_W'"}],
    }


def test_the_change_of_a_one_element_constant_names_the_old_and_the_new_number(
    tmp_path: Path,
) -> None:
    source = SOURCE.parents[1] / "halving" / "model.xml"
    text = source.read_text(encoding="utf-8")
    offset = 9
    assert 'name="half" type="Const" version="opset1">' in text
    assert f'element_type="f32" shape="1,1" offset="{offset}"' in text
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(text, encoding="utf-8")
    data = bytearray(source.with_suffix(".bin").read_bytes())
    (old,) = struct.unpack_from("<f", data, offset)
    struct.pack_into("<f", data, offset, old + 1)
    wrong.with_suffix(".bin").write_bytes(data)
    messages = [item.message for item in irloop.diff(source, wrong).changes]
    assert messages == [f"{old} -> {old + 1}"]


def test_two_outputs_that_were_exchanged_are_told_apart(tmp_path: Path) -> None:
    """In both models, each result has the name of the value that it returns."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[4] x) => (float[2] left, float[2] right) { [cut] left, right = Split (x) }
    """
    old = onnx.parser.parse_model(text)
    new = onnx.parser.parse_model(text.replace("[cut] left, right", "[cut] right, left"))
    paths = tmp_path / "old.onnx", tmp_path / "new.onnx"
    for model, path in zip((old, new), paths, strict=True):
        onnx.save(model, path)
    assert said(irloop.diff(*paths)) == [
        ("changed", "left (result 0)", "comes from output 1 of 'cut', was output 0 of 'cut'"),
        ("changed", "right (result 1)", "comes from output 0 of 'cut', was output 1 of 'cut'"),
    ]
