"""The first line names faults that change only shapes, operands or captured values, in inner loops.

As in `test_cause`, the words that are expected follow from the fault.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import irloop
from tests.comparison.test_cause_nested import Edit, edited, entry, layer, written

#: A Scan along the second axis in a Loop; `w` is captured by both bodies.
SWEEP = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[3,3] grid, float[3] h0, float[3] w) => (float[3] last, float[n,3,3] maps) {
   trip = Constant <value = int64 {3}> ()
   go = Constant <value = bool {1}> ()
   [epochs] last, maps = Loop (trip, go, h0) <body = step
      (int64 i, bool c, float[3] h) => (bool more, float[3] h_next, float[3,3] m) {
      more = Identity (c)
      [sweep] end, m = Scan
         <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body = add
         (float[3] u, float[3] col) => (float[3] u_next, float[3] out) {
         mix = Mul (col, w)
         u_next = Sub (mix, u)
         out = Sigmoid (u_next)
      }> (h, grid)
      both = Sub (end, h)
      h_next = Softsign (both)
   }>
}
"""

#: One operation reads both outputs of an inner loop.
DUO = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[4,2] x, float[2] p, float[2] q) => (float[2] last, float[k,2] all) {
   trip = Constant <value = int64 {2}> ()
   go = Constant <value = bool {1}> ()
   [outer] last, all = Loop (trip, go, p) <body = step
      (int64 i, bool c, float[2] s) => (bool more, float[2] s_next, float[2] kept) {
      more = Identity (c)
      [inner] a_end, b_end = Scan <num_scan_inputs = 1, body = add
         (float[2] a, float[2] b, float[2] row) => (float[2] a_next, float[2] b_next) {
         a_next = Add (a, row)
         b_next = Max (b, row)
      }> (s, q, x)
      kept = Sub (a_end, b_end)
      s_next = Tanh (b_end)
   }>
}
"""


#: A Scan in a Scan, which becomes a Loop; its reversed output becomes a Slice. An Identity returns
#: the older value, and the parameter in the IR has its name.
TURNED = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[2,3,2] cube, float[2] a0, float[2] b0)
   => (float[2] a_end, float[2] b_end, float[2,3,2] all) {
   [slabs] a_end, b_end, all = Scan <num_scan_inputs = 1, body = step
      (float[2] a, float[2] b, float[3,2] slab) => (float[2] a2, float[2] b2, float[3,2] rows) {
      [lines] a2, b2, rows = Scan
         <num_scan_inputs = 1, scan_output_directions = [1], body = add
         (float[2] newer, float[2] older, float[2] line)
         => (float[2] newer_next, float[2] older_next, float[2] out) {
         newer_next = Add (older, line)
         older_next = Identity (newer)
         out = Exp (newer_next)
      }> (a, b, slab)
   }> (a0, b0, cube)
}
"""


def axis_of(name: str, axis: int) -> Edit:
    """Change the axis of an Unsqueeze or Squeeze, which gets its own constant."""

    def edit(root: etree._Element) -> None:
        node = layer(root, name)
        net = node.getparent()
        assert net is not None
        edges = net.getparent().find("edges")  # type: ignore[union-attr]
        assert edges is not None
        (edge,) = [
            item
            for item in edges
            if item.get("to-layer") == node.get("id") and item.get("to-port") == "1"
        ]
        (old,) = [item for item in net if item.get("id") == edge.get("from-layer")]
        new = etree.fromstring(etree.tostring(old))
        new.set("id", "1000")
        new.set("name", "moved")
        new.find("data").set("offset", str(AT[axis]))  # type: ignore[union-attr]
        net.insert(0, new)
        edge.set("from-layer", "1000")

    return edit


#: The offsets of 0, 1 and 2 in the weights, to which `pair_of` appends them.
AT: dict[int, int] = {}


def pair_of(folder: Path, text: str, edit: Edit) -> tuple[Path, Path]:
    """An ONNX model, and its IR with a fault."""
    right = written(text, folder)
    weights = right.with_suffix(".bin")
    content = weights.read_bytes()
    content += bytes(-len(content) % 8)
    for axis in range(3):
        AT[axis] = len(content)
        content += axis.to_bytes(8, "little")
    weights.write_bytes(content)
    return right, edited(right, edit)


def exchange(root: etree._Element) -> None:
    """Exchange the operands of the subtraction `kept`."""
    node = layer(root, "kept")
    found = [
        edge
        for edges in root.iter("edges")
        if edges.getparent() is node.getparent().getparent()  # type: ignore[union-attr]
        for edge in edges
        if edge.get("to-layer") == node.get("id")
    ]
    one, other = found
    one.attrib["to-port"], other.attrib["to-port"] = other.attrib["to-port"], one.attrib["to-port"]


def captured_start(root: etree._Element) -> None:
    """Exchange the ports of the initial state and of the captured vector of the outer loop."""
    loop = layer(root, "epochs")
    names = {item.get("id"): item.get("name") for item in loop.findall("./body/layers/layer")}
    entries = [
        item
        for item in loop.findall("./port_map/input")
        if names[item.get("internal_layer_id")] in ("h", "w", "w_1")
    ]
    one, other = entries
    ports = one.attrib["external_port_id"], other.attrib["external_port_id"]
    other.attrib["external_port_id"], one.attrib["external_port_id"] = ports


def subtracted(root: etree._Element) -> None:
    """Softsign is decomposed as x / (1 + |x|)."""
    layer(root, "h_next/Add").set("type", "Subtract")


#: The model, its fault, and what the first line tells of each of the two files.
FAULTS: dict[str, tuple[str, Edit, str, str]] = {
    "axis of the parts of an output": (
        SWEEP,
        axis_of("epochs/Unsqueeze", 1),
        "joins `epochs/Unsqueeze` along axis 0, forwards (parts of shape [3, 1, 3], port",
        "stacks `m` along axis 0, forwards (parts of shape [3, 3], output 1)",
    ),
    "axis of an inner output": (
        SWEEP,
        entry("sweep", "output", axis="0"),
        "`m` of loop `sweep` joins `sweep/Unsqueeze` along axis 0, forwards",
        "stacks `out` along axis 1, forwards",
    ),
    "axis of inner slices": (
        SWEEP,
        axis_of("sweep/Squeeze", 0),
        "`sweep/Squeeze`",
        "has shape [3]",
    ),
    "operands": (
        DUO,
        exchange,
        "input 0 of `kept`",
        "`a_end`",
    ),
    "captured value": (
        SWEEP,
        captured_start,
        "`w_1` of loop `epochs` comes from `h0`",
        "comes from `w` (captured)",
    ),
    "part of a decomposition": (
        SWEEP,
        subtracted,
        "[computed with Subtract-1 `h_next/Add`",
        "Softsign-1 `h_next`",
    ),
    "output that is reversed twice": (
        TURNED,
        entry("lines", "output", start="-1", end="0", stride="-1"),
        "joins `lines/Unsqueeze` along axis 0, backwards, and is reversed afterwards",
        "stacks `out` along axis 0, backwards",
    ),
    "slices along an axis that does not exist": (
        TURNED,
        entry("lines", "input", axis="2"),
        "`line` of loop `lines` is sliced along axis 2, forwards",
        "is sliced along axis 0, forwards",
    ),
    "axis that does not exist": (
        DUO,
        entry("outer", "output", axis="5"),
        "`all` of loop `outer` joins `outer/Unsqueeze` along axis 5, forwards",
        "stacks `kept` along axis 0, forwards",
    ),
}


@pytest.mark.parametrize("order", ["ONNX", "ONNX as the second"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_of_an_ir_made_from_onnx_is_named(tmp_path: Path, fault: str, order: str) -> None:
    text, edit, words, other = FAULTS[fault]
    right, wrong = pair_of(tmp_path, text, edit)
    pair = [right.with_suffix(".onnx"), wrong]
    if order == "ONNX as the second":
        pair.reverse()
    line = str(irloop.compare(*pair, engines="numpy")).splitlines()[0]
    # The name of the wire is told once, in the part of the second model.
    name, separator, rest = words.rpartition(" of loop ")
    assert name in line
    assert rest.rpartition("` ")[2] in line if separator else words in line
    assert other in line


@pytest.mark.parametrize("name", ["epochs/Unsqueeze", "sweep/Squeeze", "sweep/Unsqueeze"])
def test_a_constant_that_changes_only_shapes_is_named(tmp_path: Path, name: str) -> None:
    """Between two IRs it is the constant itself, wherever its shape matters first."""
    right, _ = pair_of(tmp_path, SWEEP, lambda _: None)
    same = edited(right, axis_of(name, 0 if "epochs" in name else 1)).rename(tmp_path / "same.xml")
    same.with_suffix(".bin").write_bytes(right.with_suffix(".bin").read_bytes())
    wrong = edited(right, axis_of(name, 1 if "epochs" in name else 0))
    line = str(irloop.compare(same, wrong, engines="numpy")).splitlines()[0]
    assert "constant `moved` of wrong.xml" in line
