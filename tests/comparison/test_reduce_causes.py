"""Faults of different kinds, deep in nested loops and branches, are reduced to few operations."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from lxml import etree

import irloop
from irloop.comparison.reduction.changes import operations
from tests.comparison.test_cause_nested import Edit, edited, layer, lose, written

#: A loop with an early stop around a Scan around an If; each next state depends on all of them.
DEEP = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[3,2] x, float[2] start, float limit) => (float[2] last, float[n,2] all) {
   trip = Constant <value = int64 {6}> ()
   go = Constant <value = bool {1}> ()
   [outer] last, all = Loop (trip, go, start) <body = step
      (int64 i, bool c, float[2] total) => (bool more, float[2] total_next, float[2] kept) {
      [rows] sum = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = add
         (float[2] acc, float[2] row) => (float[2] acc_next) {
         zero = Constant <value = float {0.0}> ()
         whole = ReduceSum <keepdims = 0> (row)
         high = Greater (whole, zero)
         [branch] picked = If (high) <
            then_branch = plus () => (float[2] added) { added = Add (acc, row) },
            else_branch = minus () => (float[2] taken) { taken = Sub (acc, row) }
         >
         acc_next = Tanh (picked)
      }> (total, x)
      half = Constant <value = float {0.5}> ()
      total_next = Mul (sum, half)
      largest = ReduceMax <keepdims = 0> (total_next)
      more = Greater (largest, limit)
      kept = Sub (total_next, total)
   }>
}
"""

#: A loop with two outputs that are joined, and a Transpose.
TWO = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[3,2] x, float[2] a, float[2,2] w) => (float[2] last, float[3,2] ys, float[3,2] zs) {
   [mix] last, ys, zs = Scan <num_scan_inputs = 1, body = step
      (float[2] state, float[2] row) => (float[2] state_next, float[2] y, float[2] z) {
      turned = Transpose <perm = [1, 0]> (w)
      product = MatMul (row, turned)
      state_next = Add (state, product)
      y = Neg (state_next)
      z = Sigmoid (product)
   }> (a, x)
}
"""


def swapped(name: str) -> Edit:
    """Exchange the operands of the operation with this name."""

    def edit(root: etree._Element) -> None:
        own = layer(root, name)
        edges = own.findall("../../edges/edge")
        first, second = (edge for edge in edges if edge.get("to-layer") == own.get("id"))
        ports = first.attrib["to-port"], second.attrib["to-port"]
        first.attrib["to-port"], second.attrib["to-port"] = ports[1], ports[0]

    return edit


def called(name: str, kind: str) -> Edit:
    """Replace the operation with this name by one of another type."""

    def edit(root: etree._Element) -> None:
        layer(root, name).set("type", kind)

    return edit


def outputs_exchanged(root: etree._Element) -> None:
    first, second = (
        item for item in layer(root, "mix").findall("./port_map/output") if item.get("axis")
    )
    ids = first.attrib["internal_layer_id"], second.attrib["internal_layer_id"]
    first.attrib["internal_layer_id"], second.attrib["internal_layer_id"] = ids[1], ids[0]


FAULTS: dict[str, tuple[str, Edit]] = {
    "outer state": (DEEP, lose("outer", "total")),
    "inner state": (DEEP, lose("rows", "acc")),
    "operation before an early stop": (DEEP, called("total_next", "Add")),
    "operands in a branch": (DEEP, swapped("taken")),
    "operands of what is joined": (DEEP, swapped("kept")),
    "joined values": (TWO, outputs_exchanged),
}


@pytest.mark.parametrize("order", ["ONNX", "ONNX as the second"])
@pytest.mark.parametrize("fault", FAULTS)
def test_few_operations_are_left(tmp_path: Path, fault: str, order: str) -> None:
    text, edit = FAULTS[fault]
    source = written(text, tmp_path)
    wrong = edited(source, edit)
    pair = [source.with_suffix(".onnx"), wrong]
    if order == "ONNX as the second":
        pair.reverse()
    before = irloop.compare(*pair, engines="numpy").cause
    found = irloop.reduce(*pair)
    assert max(operations(found.first), operations(found.second)) <= 3
    files = []
    for name, model in (("first", found.first), ("second", found.second)):
        files.append(tmp_path / f"{name}.{'onnx' if model.dialect == 'onnx' else 'xml'}")
        irloop.save_model(model, files[-1])
    again = irloop.compare(*files, inputs=list(found.inputs[0]), engines="numpy")
    assert again.outcome == "different"
    assert before is not None
    assert again.cause is not None
    assert again.cause.kind == before.kind


#: A loop around a buffer to which each iteration appends a row.
BUFFER = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[3,2] buffer, float[5,2] x, float[2] mean) => (float[2] last, float[5,2] all) {
   [push] unread, last, all = Scan <num_scan_inputs = 1, body = step
      (float[3,2] held, float[2] before, float[2] row)
      => (float[3,2] held_next, float[2] mean_next, float[2] change) {
      axis = Constant <value = int64[1] {AXIS}> ()
      zero = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      three = Constant <value = int64[1] {3}> ()
      shape = Constant <value = int64[2] {SHAPE}> ()
      tail = Slice (held, one, three, axis)
      flat = Reshape (row, shape)
      joined = Concat <axis = 0> (tail, flat)
      held_next = Tanh (joined)
      mean_next = ReduceMean <axes = [0], keepdims = 0> (held_next)
      change = Sub (mean_next, before)
   }> (buffer, mean, x)
}
"""


@pytest.mark.parametrize(("axis", "shape"), [("1", "1, 2"), ("0", "1, 3"), ("0", "2, 1")])
def test_a_body_that_cannot_be_computed(tmp_path: Path, axis: str, shape: str) -> None:
    """A wrong constant gives another shape, with which a later operation fails."""
    pair = []
    for name, given in (("first", ("0", "1, 2")), ("second", (axis, shape))):
        text = BUFFER.replace("AXIS", given[0]).replace("SHAPE", given[1])
        pair.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(text), pair[-1])
    found = irloop.reduce(*pair)
    assert max(operations(found.first), operations(found.second)) <= 3
    assert found.comparison.outcome == "different"
    before = irloop.compare(*pair, engines="numpy").cause
    assert before is not None
    assert found.comparison.cause is not None
    assert found.comparison.cause.kind == before.kind
