"""The first line of a comparison names faults in nested loops, and in loops that never end.

As in `test_cause`, the words that are expected follow from the fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from lxml import etree

import irloop

#: A loop whose state is read by both branches of an If, and by a Scan that sums rows.
NESTED = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[4,3] x, float[3] start) => (float[3] last, float[n,4,3] all) {
   trip = Constant <value = int64 {4}> ()
   go = Constant <value = bool {1}> ()
   two = Constant <value = int64 {2}> ()
   none = Constant <value = int64 {0}> ()
   [outer] last, all = Loop (trip, go, start) <body = step
      (int64 i, bool c, float[3] total) => (bool more, float[3] total_next, float[4,3] sums) {
      more = Identity (c)
      part = Mod (i, two)
      even = Equal (part, none)
      [rows] sum, sums = Scan <num_scan_inputs = 1, body = add
         (float[3] acc, float[3] row) => (float[3] acc_next, float[3] square) {
         acc_next = Add (acc, row)
         square = Mul (acc_next, row)
      }> (total, x)
      [branch] chosen = If (even) <
         then_branch = plus () => (float[3] more_of_it) { more_of_it = Add (total, sum) },
         else_branch = minus () => (float[3] less_of_it) { less_of_it = Sub (total, sum) }
      >
      total_next = Tanh (chosen)
   }>
}
"""

#: A loop that ends when its state exceeds a limit.
WHILE = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[1] x, float[1] limit) => (float[1] last) {
   go = Constant <value = bool {1}> ()
   one = Constant <value = float[1] {1.0}> ()
   axes = Constant <value = int64[1] {0}> ()
   [loop] last = Loop (, go, x) <body = step
      (int64 i, bool c, float[1] v) => (bool more, float[1] v_next) {
      v_next = Add (v, one)
      lower = Less (v_next, limit)
      more = Squeeze (lower, axes)
   }>
}
"""

#: A body without operations: it delays its input by two iterations.
DELAY = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[5,2] x, float[2] a, float[2] b) => (float[2] a_last, float[2] b_last, float[5,2] y) {
   [delay] a_last, b_last, y = Scan <num_scan_inputs = 1, body = step
      (float[2] newer, float[2] older, float[2] row)
      => (float[2] newer_next, float[2] older_next, float[2] out) {
      newer_next = Identity (row)
      older_next = Identity (newer)
      out = Identity (older)
   }> (a, b, x)
}
"""

Edit = Callable[[etree._Element], None]


def layer(root: etree._Element, name: str) -> etree._Element:
    (found,) = [item for item in root.iter("layer") if item.get("name") == name]
    return found


def within(loop: etree._Element, name: str) -> str:
    """The id of a parameter of a body."""
    layers = loop.findall("./body/layers/layer")
    (found,) = [item.attrib["id"] for item in layers if item.get("name") == name]
    return str(found)


def back_edge(loop: etree._Element, name: str) -> etree._Element:
    edges = loop.findall("./back_edges/edge")
    (found,) = [item for item in edges if item.get("to-layer") == within(loop, name)]
    return found


def lose(name: str, state: str) -> Edit:
    """Remove the back edge of a state."""

    def edit(root: etree._Element) -> None:
        loop = layer(root, name)
        edges = loop.find("back_edges")
        assert edges is not None
        edges.remove(back_edge(loop, state))
        if not len(edges):
            loop.remove(edges)

    return edit


def swap(name: str, first: str, second: str) -> Edit:
    """Exchange the back edges of two states."""

    def edit(root: etree._Element) -> None:
        loop = layer(root, name)
        one, other = back_edge(loop, first), back_edge(loop, second)
        one.attrib["from-layer"], other.attrib["from-layer"] = (
            other.attrib["from-layer"],
            one.attrib["from-layer"],
        )

    return edit


def entry(name: str, kind: str, **attributes: str | None) -> Edit:
    """Change the only port map entry of a kind that has an axis."""

    def edit(root: etree._Element) -> None:
        entries = layer(root, name).findall(f"./port_map/{kind}")
        (found,) = [item for item in entries if item.get("axis") is not None]
        for attribute, value in attributes.items():
            if value is None:
                found.attrib.pop(attribute)
            else:
                found.set(attribute, value)

    return edit


REVERSED = {"start": "-1", "end": "0", "stride": "-1"}
LAST: dict[str, str | None] = dict.fromkeys(("axis", "start", "end", "stride", "part_size"))

FAULTS = {
    "outer state": (NESTED, lose("outer", "total"), "`total` of loop `outer` is not carried"),
    "inner state": (NESTED, lose("rows", "acc"), "`acc` of loop `rows` is not carried"),
    "inner slices": (
        NESTED,
        entry("rows", "input", **REVERSED),
        "`row` of loop `rows` is sliced along axis 0, backwards",
    ),
    "inner slices skipped": (
        NESTED,
        entry("rows", "input", stride="2", part_size="2"),
        "`row` of loop `rows` is sliced along axis 0, forwards in steps of 2 in parts of 2",
    ),
    "inner output": (
        NESTED,
        entry("rows", "output", **REVERSED),
        "`sums` of loop `rows` joins `rows/Unsqueeze` along axis 0, backwards",
    ),
    "inner output axis": (
        NESTED,
        entry("rows", "output", axis="1"),
        "`sums` of loop `rows` joins `rows/Unsqueeze` along axis 1, forwards",
    ),
    "outer output": (
        NESTED,
        entry("outer", "output", **REVERSED),
        "`all` of loop `outer` joins `outer/Unsqueeze` along axis 0, backwards",
    ),
    "outer output is the last": (
        NESTED,
        entry("outer", "output", **LAST),
        "`all` of loop `outer` is the last `outer/Unsqueeze`",
    ),
    "no operations, lost": (
        DELAY,
        lose("delay", "older"),
        "`older` of loop `delay` is not carried",
    ),
    "no operations, slices": (
        DELAY,
        entry("delay", "input", **REVERSED),
        "`row` of loop `delay` is sliced along axis 0, backwards",
    ),
}


def written(text: str, folder: Path) -> Path:
    """The model as an IR."""
    onnx.save(onnx.parser.parse_model(text), folder / "model.onnx")
    converted, _ = irloop.convert(irloop.read_model(folder / "model.onnx"))
    irloop.save_model(converted, folder / "model.xml")
    return folder / "model.xml"


def edited(right: Path, edit: Edit) -> Path:
    tree = etree.parse(right)
    root = tree.getroot()
    edit(root)
    wrong = right.with_name("wrong.xml")
    tree.write(str(wrong))
    wrong.with_suffix(".bin").write_bytes(right.with_suffix(".bin").read_bytes())
    return wrong


@pytest.mark.parametrize("order", ["IR", "ONNX", "ONNX as the second"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_loop_and_the_wire_are_named(tmp_path: Path, fault: str, order: str) -> None:
    text, edit, words = FAULTS[fault]
    right = written(text, tmp_path)
    wrong = edited(right, edit)
    pair = [right if order == "IR" else right.with_suffix(".onnx"), wrong]
    if order == "ONNX as the second":
        pair.reverse()
    line = str(irloop.compare(*pair, engines="numpy")).splitlines()[0]
    told = line.split("; in ")
    # The wrong model is described last if it is the first one.
    part = told[1] if order == "ONNX as the second" else told[0].partition("in wrong.xml ")[2]
    found = re.fullmatch(r"(`.*?`) of loop (`.*?`) (.*)", words)
    assert found is not None
    assert found[1] in line
    assert f"of loop {found[2]} " in line
    assert found[3] in part


@pytest.mark.parametrize("order", ["IR", "ONNX", "ONNX as the second"])
def test_swapped_states(tmp_path: Path, order: str) -> None:
    """Both are wrong from the second iteration on, so either may be named."""
    right = written(DELAY, tmp_path)
    wrong = edited(right, swap("delay", "newer", "older"))
    pair = [right if order == "IR" else right.with_suffix(".onnx"), wrong]
    if order == "ONNX as the second":
        pair.reverse()
    line = str(irloop.compare(*pair, engines="numpy")).splitlines()[0]
    assert re.search(r"`(newer|older)` of loop `delay` is (carried from|not carried)", line)


def test_a_loop_that_never_ends(tmp_path: Path) -> None:
    """Nothing can be compared, but the report names the condition."""
    right = written(WHILE, tmp_path)

    def edit(root: etree._Element) -> None:
        layer(root, "lower").set("type", "NotEqual")

    wrong = edited(right, edit)
    found = irloop.compare(right, wrong, inputs={"x": [0.5], "limit": [3.25]}, engines="numpy")
    assert found.outcome == "inconclusive"
    line = str(found).splitlines()[0]
    assert "`lower` of wrong.xml" in line
    assert "is NotEqual-1" in line
    assert "it is Less-1" in line


def test_a_constant_condition_is_named_first(tmp_path: Path) -> None:
    """A condition that is constant in both models has no other source, but another element."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[2] x) => (float[2] last) {
       trip = Constant <value = int64 {4}> ()
       go = Constant <value = bool {1}> ()
       [loop] last = Loop (trip, go, x) <body = step
          (int64 i, bool c, float[2] v) => (bool more, float[2] v_next) {
          more = Constant <value = bool {VALUE}> ()
          v_next = Add (v, v)
       }>
    }
    """
    models = []
    for name, value in (("right", "1"), ("wrong", "0")):
        path = tmp_path / f"{name}.onnx"
        onnx.save(onnx.parser.parse_model(text.replace("VALUE", value)), path)
        models.append(path)
    line = str(irloop.compare(*models, engines="numpy")).splitlines()[0]
    assert "constant `more` of wrong.onnx" in line
    assert "False, not True; so it runs once, not 4 times" in line


def test_a_model_that_cannot_be_computed(tmp_path: Path) -> None:
    """If nothing else differs, the node that fails is named."""
    right = written(NESTED, tmp_path)
    wrong = edited(right, entry("rows", "input", stride="3", part_size="3"))
    for pair in ((right.with_suffix(".onnx"), wrong), (wrong, right.with_suffix(".onnx"))):
        line = str(irloop.compare(*pair, engines="numpy")).splitlines()[0]
        assert "of loop `rows` is sliced along axis 0, forwards" in line
        assert "in steps of 3 in parts of 3" in line


def test_weights_of_a_decomposed_cell(tmp_path: Path) -> None:
    """The conversion computes an LSTMCell by Gemm; its weights have other names and orders."""
    rng = np.random.default_rng(1)
    w, r = (rng.normal(size=(8, 2)).astype(np.float32) for _ in range(2))
    bias = rng.normal(size=8).astype(np.float32)
    b = irloop.Builder("openvino", opset=5)
    x, h, c = (b.input(name, "f32", (1, 2)) for name in "xhc")
    cell = b.node("LSTMCell", x, h, c, w, r, bias, hidden_size=2, name="cell")
    b.output("h1", cell.outputs[0])
    b.output("c1", cell.outputs[1])
    right = tmp_path / "right.xml"
    irloop.save_model(b.model(), right)
    converted, _ = irloop.convert(right)
    irloop.save_model(converted, tmp_path / "right.onnx")
    data = bytearray(right.with_suffix(".bin").read_bytes())
    at = bytes(data).index(r.tobytes())
    data[at : at + 4] = np.float32(3.5).tobytes()
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(right.read_text())
    wrong.with_suffix(".bin").write_bytes(data)
    line = str(irloop.compare(tmp_path / "right.onnx", wrong, engines="numpy")).splitlines()[0]
    assert "an input of `cell`, has elements that no constant above" in line


@pytest.mark.parametrize(
    ("name", "other", "words"),
    [
        ("a2", "Subtract", "is Subtract-1; in"),
        ("b2", "Add", "is Add-1; in"),
        ("oa", "Abs", "is Abs-1; in"),
        ("ob", "Tanh", "is Tanh-1; in"),
    ],
)
def test_names_that_occur_more_than_once(tmp_path: Path, name: str, other: str, words: str) -> None:
    """In models of one format, values with one name are told apart by their order."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[4,2] xs, float[2] a0, float[2] b0)
    => (float[2] ae, float[2] be, float[4,2] ta, float[4,2] tb) {
       [mix] ae, be, ta, tb = Scan <num_scan_inputs = 1, body = mb
          (float[2] a, float[2] b, float[2] x)
          => (float[2] a2, float[2] b2, float[2] oa, float[2] ob) {
          a2 = Add (a, x)
          b2 = Mul (b, x)
          oa = Neg (b2)
          ob = Sigmoid (a2)
       }> (a0, b0, xs)
    }
    """
    right = written(text, tmp_path)
    pair = [right, edited(right, lambda root: layer(root, name).set("type", other))]
    for path in pair:
        tree = etree.parse(path)
        for body in tree.getroot().iter("body"):
            for item in body.iterfind("./layers/layer"):
                item.set("name", "same")
            for port in body.iter("port"):
                port.attrib.pop("names", "")
        tree.write(str(path))
    line = str(irloop.compare(*pair, engines="numpy")).splitlines()[0]
    assert "`same` of wrong.xml, line " in line
    assert words in line
