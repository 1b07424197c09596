"""Faults in the wires of nested loops are reduced to few operations, also between the formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.comparison.reduction.changes import operations
from tests.comparison.test_cause_nested import (
    NESTED,
    REVERSED,
    Edit,
    edited,
    entry,
    lose,
    written,
)

#: A loop in a loop that may run zero iterations; each next state depends on the inner loop.
COUNTED = """
<ir_version: 8, opset_import: ["" : 17]>
m (int64 n, float[3,2] x, float[2] start) => (float[2] last, float[k,2] all) {
   go = Constant <value = bool {1}> ()
   three = Constant <value = int64 {3}> ()
   [outer] last, all = Loop (n, go, start) <body = step
      (int64 i, bool c, float[2] total) => (bool more, float[2] total_next, float[2] kept) {
      more = Identity (c)
      [inner] end, before = Loop (three, go, total, total) <body = add
         (int64 j, bool d, float[2] acc, float[2] prev)
         => (bool again, float[2] acc_next, float[2] prev_next) {
         again = Identity (d)
         row = Gather <axis = 0> (x, j)
         acc_next = Add (acc, row)
         prev_next = Sub (prev, acc)
      }>
      total_next = Add (end, before)
      kept = Sub (total, before)
   }>
}
"""

FAULTS: dict[str, tuple[str, Edit]] = {
    "outer state": (NESTED, lose("outer", "total")),
    "outer output": (NESTED, entry("outer", "output", **REVERSED)),
    "inner state": (NESTED, lose("rows", "acc")),
    "inner slices": (NESTED, entry("rows", "input", **REVERSED)),
    "inner slices start": (NESTED, entry("rows", "input", start="1")),
    "inner output axis": (NESTED, entry("rows", "output", axis="1")),
    "counted output": (COUNTED, entry("outer", "output", **REVERSED)),
    "counted output axis": (COUNTED, entry("outer", "output", axis="1")),
    "counted inner state": (COUNTED, lose("inner", "prev")),
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
    found = irloop.reduce(*pair)
    assert max(operations(found.first), operations(found.second)) <= 3
    for array in found.inputs[0]:
        # A trip count is an input without dimensions.
        sizes = np.shape(array) or (int(array),)
        assert max(sizes) <= 2
    files = []
    for name, model in (("first", found.first), ("second", found.second)):
        files.append(tmp_path / f"{name}.{'onnx' if model.dialect == 'onnx' else 'xml'}")
        irloop.save_model(model, files[-1])
    again = irloop.compare(*files, inputs=list(found.inputs[0]), engines="numpy")
    assert again.outcome == "different"
    before = irloop.compare(*pair, engines="numpy").cause
    assert before is not None
    assert again.cause is not None
    assert again.cause.kind == before.kind
    # The same loop is at fault.
    assert again.cause.path.rpartition("/")[0] == before.path.rpartition("/")[0]


def test_a_branch_that_the_first_inputs_do_not_take(tmp_path: Path) -> None:
    """Inputs that reach the wrong branch are searched for, as by `compare`."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float gate, float[4,2] x) => (float[a,2] y) {
       zero = Constant <value = float {-3.0}> ()
       high = Greater (gate, zero)
       y = If (high) <
         then_branch = yes () => (float[4,2] plain) { plain = Neg (x) },
         else_branch = no () => (float[b,2] part) {
           start = Constant <value = int64[1] {START}> ()
           end = Constant <value = int64[1] {4}> ()
           part = Slice (x, start, end)
         }
       >
    }
    """
    pair = []
    for number in (1, 2):
        pair.append(tmp_path / f"{number}.onnx")
        onnx.save(onnx.parser.parse_model(text.replace("START", str(number))), pair[-1])
    found = irloop.reduce(*pair)
    assert max(operations(found.first), operations(found.second)) <= 3
    assert found.comparison.outcome == "different"


def test_an_output_that_fails_is_kept(tmp_path: Path) -> None:
    """The output with the wrong axis makes the loop fail; without that output nothing differs."""
    source = written(COUNTED, tmp_path)
    wrong = edited(source, entry("outer", "output", axis="2"))
    found = irloop.reduce(source, wrong)
    assert max(operations(found.first), operations(found.second)) <= 3
    assert "along axis 2" in str(found.comparison).splitlines()[0]


def test_a_first_model_that_fails_is_reduced_as_well(tmp_path: Path) -> None:
    source = written(COUNTED, tmp_path)
    wrong = edited(source, entry("outer", "output", axis="2"))
    found = irloop.reduce(wrong, source)
    assert max(operations(found.first), operations(found.second)) <= 3
    assert "outer" in str(found.comparison)
