"""The first line names the fault when one format copies a value, or moves an axis, and the other
does not.

The conversion to IR removes an Identity and gives its name to the value that it copied. It keeps
the axis of a slice until a Squeeze removes it. As in `test_cause_nested`, the words follow from the
fault.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import irloop
from irloop.comparison.reduction.changes import operations
from tests.comparison.test_cause_nested import Edit, edited, layer, lose, written

#: The state `b` takes over `a`, so the parameter `a` of the IR has the name of the Identity, `b2`.
COPIED = """
<ir_version: 8, opset_import: ["" : 17]>
m (int64 reps, float[2,3] tab, float[3] acc0, float[3] alt0) => (float[3] acc, float[3] alt) {
   t = Constant <value = bool {1}> ()
   [main] acc, alt = Loop (reps, t, acc0, alt0) <body = mb
      (int64 k, bool c, float[3] a, float[3] b) => (bool c2, float[3] a2, float[3] b2) {
      c2 = Identity (c)
      two = Constant <value = int64 {2}> ()
      r = Mod (k, two)
      row = Gather <axis = 0> (tab, r)
      nil = Constant <value = int64 {0}> ()
      even = Equal (r, nil)
      [sel] a2 = If (even) <
        then_branch = tb () => (float[3] ta) { ta = Add (a, row) },
        else_branch = eb () => (float[3] el) { el = Sub (a, b) }
      >
      b2 = Identity (a)
   }>
}
"""

#: The conversion decomposes Softsign into operations without a counterpart.
SLICED = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[2,3] tab, float[3] acc0) => (float[3] acc) {
   [inner] acc = Scan <num_scan_inputs = 1, body = ib
      (float[3] q, float[3] x) => (float[3] q2) {
      s = Softsign (x)
      q2 = Sub (q, s)
   }> (acc0, tab)
}
"""

#: A state of the wrong shape makes the condition of an If inside a branch fail.
BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[5,3] feed, float[3] acc0) => (float[3] acc_end) {
   [walk] acc_end = Scan <num_scan_inputs = 1, body = wb
      (float[3] acc, float[3] row) => (float[3] acc2) {
      z = Constant <value = float {-9.0}> ()
      s = ReduceSum <keepdims = 0> (row)
      pos = Greater (s, z)
      [outer] acc2 = If (pos) <
        then_branch = ot () => (float[3] po) {
           ax = Constant <value = int64[1] {0}> ()
           s2 = ReduceMean <axes = [0], keepdims = 0> (acc)
           one = Constant <value = float {1.0}> ()
           small = Less (s2, one)
           [inner] po = If (small) <
             then_branch = it () => (float[3] pi) { pi = Add (acc, row) },
             else_branch = ie () => (float[3] pe) { pe = Sub (acc, row) }
           > },
        else_branch = oe () => (float[3] qo) { qo = Neg (row) }
      >
   }> (acc0, feed)
}
"""

ORDERS = pytest.mark.parametrize("is_second", [True, False], ids=["second", "first"])


def lines_of(text: str, edit: Edit, folder: Path, *, is_second: bool) -> tuple[str, list[Path]]:
    right = written(text, folder)
    pair = [right.with_suffix(".onnx"), edited(right, edit)]
    if not is_second:
        pair.reverse()
    return str(irloop.compare(*pair, engines="numpy")).splitlines()[0], pair


def exchange(root: etree._Element) -> None:
    """Exchange the initial values of both states."""
    entries = [
        item
        for item in layer(root, "main").findall("./port_map/input")
        if item.get("external_port_id") in ("2", "3")
    ]
    one, other = (item.attrib for item in entries)
    one["external_port_id"], other["external_port_id"] = (
        other["external_port_id"],
        one["external_port_id"],
    )


@ORDERS
@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lose("main", "a"), "`a` of loop `main` is not carried: port 2 has no back edge"),
        (exchange, "`a` of loop `main` starts from `alt0` (port 3"),
    ],
    ids=["back edge", "initial values"],
)
def test_a_state_that_an_identity_copies(
    tmp_path: Path, edit: Edit, words: str, is_second: bool
) -> None:
    line, pair = lines_of(COPIED, edit, tmp_path, is_second=is_second)
    told = words if is_second else words.replace("`a` of loop `main`", "it")
    assert told in line
    found = irloop.reduce(*pair)
    assert max(operations(found.first), operations(found.second)) <= 3


@ORDERS
def test_an_operation_that_only_the_conversion_writes_is_named_with_its_type(
    tmp_path: Path, is_second: bool
) -> None:
    """A trip count is at least 0 in ONNX; OpenVINO takes a negative one as no limit."""

    def minimum(root: etree._Element) -> None:
        layer(root, "main/Maximum").attrib["type"] = "Minimum"

    line, _ = lines_of(COPIED, minimum, tmp_path, is_second=is_second)
    assert "the trip count of `main` is " in line
    assert "Minimum-1 `main/Maximum` in wrong.xml" in line


def with_other_axis(right: Path, constant: str) -> Path:
    """The IR with 1 instead of 0 in a constant."""

    def other(root: etree._Element) -> None:
        data = layer(root, constant).find("data")
        assert data is not None
        data.attrib["offset"] = str(right.with_suffix(".bin").stat().st_size)

    wrong = edited(right, other)
    weights = wrong.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes() + np.array([1], np.int64).tobytes())
    return wrong


@ORDERS
def test_the_squeeze_of_a_slice(tmp_path: Path, is_second: bool) -> None:
    """Squeeze keeps an axis whose size is not 1, so only the shapes show the wrong constant."""
    right = written(SLICED, tmp_path)
    wrong = with_other_axis(right, "inner/Const")
    pair = [right.with_suffix(".onnx"), wrong]
    if not is_second:
        pair.reverse()
    line = str(irloop.compare(*pair, engines="numpy")).splitlines()[0]
    assert "`inner/Squeeze`" in line
    assert "has shape [1, 3]" in line


def test_a_captured_value_is_followed_out_of_a_branch_that_fails(tmp_path: Path) -> None:
    """The outer If does not end, so it does not report what it reads."""
    right = written(BRANCHES, tmp_path)
    wrong = with_other_axis(right, "walk/Const")
    line = str(irloop.compare(right, wrong, engines="numpy")).splitlines()[0]
    assert "constant `walk/Const` of wrong.xml" in line
    assert "1, not 0" in line
