"""Passes over bodies that return their inputs, and over conditions of shape [1].

The numbers are worked out by hand; irloop and ONNX Runtime must return them in two runs of one
session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import pytest

import irloop
from irloop.execution.session import run
from irloop.graph.walk import all_nodes
from tests.passes.texts import shown

HEADER = '<ir_version: 8, opset_import: ["" : 13]>\n'

SHOWN_ELEMENT = """
g (float[3, 2] x) => (float[3, 2] y) {
  y = Scan <num_scan_inputs: int = 1, body = b (float[2] e) => (float[2] e) { t = Neg (e) }> (x)
}"""

SHOWN_NUMBER = """
g (float[2] x) => (float[2] y, int64[3] z) {
  n = Constant <value_int = 3> ()
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, int64 i) {
    d = Identity (c)
    r = Neg (a)
  }> (n, "", x)
}"""

#: The body gathers by the iteration number; the element is both added and returned.
GATHERED = """
g (float[3, 2] x, float[2] h) => (float[2] y, float[3, 2] z) {
  n = Constant <value_int = 3> ()
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] e) {
    d = Identity (c)
    e = Gather (x, i)
    r = Add (a, e)
  }> (n, "", h)
}"""

SCANNED_TWICE = """
g (float[3, 2] x) => (float[3, 2] y, float[3, 2] z) {
  y, z = Scan <num_scan_inputs: int = 2,
               body = b (float[2] e, float[2] f) => (float[2] n, float[2] f) {
    n = Neg (e)
  }> (x, x)
}"""

#: The state never changes, so no output is left.
UNCHANGED = """
g (int64 n, bool k, float[2] x, float[2] w) => (float[2] z) {
  y = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] a) { d = Not (c) }>
    (n, k, x)
  z = Add (y, w)
}"""

#: The condition and the iteration number are vectors of one element, and the body reads both.
VECTORS = """
g (float[2] x) => (float[2] y, float[3, 1] z) {
  n = Constant <value_int = 3> ()
  t = Constant <value = bool[1] {1}> ()
  y, z = Loop <body = b (int64[1] i, bool[1] c, float[2] a)
               => (bool[1] d, float[2] r, float[1] s) {
    d = Identity (c)
    zero = Constant <value_int = 0> ()
    one = Gather (c, zero)
    f = Cast <to = 1> (one)
    r = Add (a, f)
    s = Cast <to = 1> (i)
  }> (n, t, x)
}"""

#: The same loop without an initial condition.
OMITTED = VECTORS.replace("(n, t, x)", '(n, "", x)')

#: The loop has no states, so it may become operations over the whole axis.
MAPPED = """
g () => (float[3, 1] z) {
  n = Constant <value_int = 3> ()
  z = Loop <body = b (int64[1] i, bool[1] c) => (bool[1] d, float[1] s) {
    d = Identity (c)
    f = Cast <to = 1> (c)
    m = Cast <to = 1> (i)
    s = Add (f, m)
  }> (n, "")
}"""

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
PAIR = np.array([1, 2], np.float32)
COUNTED = [[4, 5], [[0], [1], [2]]]


def check(text: str, name: str, folder: Path, given: list[list[Any]], wanted: list[Any]) -> str:
    """Run a pass on a model, compare the outputs with irloop and ONNX Runtime, and return the model
    as text.
    """
    source, target = folder / "model.onnx", folder / "changed.onnx"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    model, profile = irloop.transform(source, [name], verify=True)
    assert profile.modified
    irloop.save_model(model, target)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]
    for arrays, arrived in zip(given, wanted, strict=True):
        feeds = dict(zip(model_inputs(source), arrays, strict=True))
        found = run(model, feeds).values()
        assert [value.tolist() for value in found] == arrived
        feeds = {key: feeds[key] for key in names}
        assert [value.tolist() for value in session.run(None, feeds)] == arrived
    return shown(model)


def model_inputs(path: Path) -> list[str]:
    return [item.name for item in onnx.load(path).graph.input]


@pytest.mark.parametrize(
    ("text", "name", "given", "wanted"),
    [
        (SHOWN_ELEMENT, "scan_to_loop", [X], [X.tolist()]),
        (SHOWN_NUMBER, "loop_to_scan", [PAIR], [[-1, -2], [0, 1, 2]]),
        (GATHERED, "loop_to_scan", [X, PAIR], [[10, 14], X.tolist()]),
        (VECTORS, "loop_to_scan", [PAIR], COUNTED),
        (VECTORS, "unroll", [PAIR], COUNTED),
        (OMITTED, "loop_to_scan", [PAIR], COUNTED),
        (OMITTED, "unroll", [PAIR], COUNTED),
        (MAPPED, "vectorize_map_loop", [], [[[1], [2], [3]]]),
        (MAPPED, "loop_to_scan", [], [[[1], [2], [3]]]),
        (MAPPED, "unroll", [], [[[1], [2], [3]]]),
    ],
)
def test_a_pass_keeps_the_numbers(
    text: str, name: str, given: list[Any], wanted: list[Any], tmp_path: Path
) -> None:
    check(text, name, tmp_path, [given, given], [wanted, wanted])


def test_an_element_that_the_body_returns_is_gathered(tmp_path: Path) -> None:
    text = check(SHOWN_ELEMENT, "scan_to_loop", tmp_path, [[X]], [[X.tolist()]])
    assert text == (
        "y = Loop(3, -):\n"
        "  condition_in from -, then true\n"
        "  e_1 is x\n"
        "  y/Gather = Gather(e_1, iteration)\n"
        "  t = Neg(y/Gather)\n"
        "  y stacks y/Gather, axis 0\n"
        "-> y"
    )


def test_one_parameter_is_left_of_two_that_the_body_returns(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + SCANNED_TWICE).SerializeToString())
    model, _ = irloop.transform(path, ["canonical_ports"], verify=True)
    # ONNX Runtime is not run because it loses values that the body of a Scan returns unchanged.
    assert [value.tolist() for value in run(model, [X]).values()] == [(-X).tolist(), X.tolist()]
    assert shown(model) == (
        "y, z = Scan():\n"
        "  e in x, axis 0\n"
        "  n = Neg(e)\n"
        "  y stacks n, axis 0\n"
        "  z stacks e, axis 0\n"
        "-> y, z"
    )


def test_a_loop_without_outputs_is_removed(tmp_path: Path) -> None:
    runs = [(3, True), (0, True), (3, False)]
    given = [[np.array(n), np.array(k), PAIR, PAIR] for n, k in runs]
    text = check(UNCHANGED, "canonical_ports", tmp_path, given, [[[2, 4]]] * 3)
    assert text == "z = Add(x, w)\n-> z"


@pytest.mark.parametrize("loops", ["loop", "scan"])
@pytest.mark.parametrize(
    ("text", "given", "wanted"),
    [
        (SHOWN_ELEMENT, [X], [X.tolist()]),
        (SHOWN_NUMBER, [PAIR], [[-1, -2], [0, 1, 2]]),
        (GATHERED, [X, PAIR], [[10, 14], X.tolist()]),
        (VECTORS, [PAIR], COUNTED),
        (OMITTED, [PAIR], COUNTED),
    ],
)
def test_openvino_runs_both_kinds_of_loops(
    text: str, given: list[Any], wanted: list[Any], loops: Literal["loop", "scan"], tmp_path: Path
) -> None:
    source, target = tmp_path / "model.onnx", tmp_path / "model.xml"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    model, _ = irloop.convert(source, "openvino", loops=loops)
    kinds = {node.op.type for node in all_nodes(model.graph) if node.bodies}
    assert kinds == {"Loop" if loops == "loop" else "TensorIterator"}
    irloop.save_model(model, target)
    openvino = pytest.importorskip("openvino")
    request = openvino.Core().compile_model(target, "CPU").create_infer_request()
    for _ in range(2):
        found = request.infer(given)
        assert [np.asarray(value).tolist() for value in found.values()] == wanted


ENDS_EARLY = """<ir_version: 8, opset_import: ["" : 8]>
g (int64[2] lengths, ELEMENT[2, 1] h, ELEMENT[2, 2, 1] x) => (ELEMENT[2, 1] l, ELEMENT[2, 2, 1] y) {
  l, y = Scan <num_scan_inputs: int = 1, body = b (ELEMENT[1] a, ELEMENT[1] e)
               => (ELEMENT[1] n, ELEMENT[1] m) {
    n = Identity (e)
    m = Identity (a)
  }> (lengths, h, x)
}"""


@pytest.mark.parametrize(
    ("element", "kind"),
    [("bool", "bool"), ("int16", "i2"), ("uint16", "u2"), ("uint64", "u8"), ("float16", "f2")],
)
def test_a_batch_ends_early_in_every_element_type(element: str, kind: str, tmp_path: Path) -> None:
    """ONNX Runtime has no Where for most of these element types."""
    source, target = tmp_path / "model.onnx", tmp_path / "changed.onnx"
    text = ENDS_EARLY.replace("ELEMENT", element)
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    model, _ = irloop.transform(source, ["scan8_to_scan9"], verify=True)
    irloop.save_model(model, target)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
    h, x = np.array([[1], [1]], kind), np.array([[[0], [1]], [[1], [1]]], kind)
    for lengths, last, joined in [
        ([2, 1], [[1], [1]], [[[1], [0]], [[1], [0]]]),
        ([1, 2], [[0], [1]], [[[1], [0]], [[1], [1]]]),
    ]:
        feeds = {"lengths": np.array(lengths), "h": h, "x": x}
        for found in (list(run(model, feeds).values()), session.run(None, feeds)):
            assert [value.tolist() for value in found] == [last, joined]
            assert {value.dtype for value in found} == {h.dtype}


#: The only state never changes; the loop concatenates values that it computes from the state.
ONE_STATE = """<ir_version: 8, opset_import: ["" : OPSET]>
g (int64 n, bool k, float[2] x) => (float[m, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] a, float[2] r) {
    d = Identity (c)
    r = Neg (a)
  }> (n, k, x)
}"""


@pytest.mark.parametrize(("opset", "stays"), [(8, True), (11, False)])
def test_a_loop_keeps_a_state_if_the_opset_requires_one(
    opset: int, stays: bool, tmp_path: Path
) -> None:
    source = tmp_path / "model.onnx"
    text = ONE_STATE.replace("OPSET", str(opset))
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    model, profile = irloop.transform(source, ["canonical_ports"], verify=True)
    assert profile.modified is not stays
    irloop.save_model(model, tmp_path / "changed.onnx")
    for count in (2, 0):
        found = run(model, [np.array(count), np.array(True), PAIR])
        assert [value.tolist() for value in found.values()] == [[[-1, -2]] * count]


def test_a_state_that_grows_stays_in_a_loop(tmp_path: Path) -> None:
    """If a TensorIterator carries the state, OpenVINO returns another shape or fails."""
    text = """
    g (float[2] x) => (float[k] l, int64[j] y) {
      n = Constant <value_int = 3> ()
      one = Constant <value_floats = [1.0]> ()
      l, y = Loop <body = q (int64 i, bool c, float[m] a) => (bool d, float[p] r, int64 s) {
        d = Identity (c)
        s = Identity (i)
        r = Concat <axis = 0> (a, one)
      }> (n, "", x)
    }"""
    source, target = tmp_path / "model.onnx", tmp_path / "model.xml"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    model, _ = irloop.convert(source, "openvino", loops="scan")
    assert {node.op.type for node in all_nodes(model.graph) if node.bodies} == {"Loop"}
    irloop.save_model(model, target)
    openvino = pytest.importorskip("openvino")
    request = openvino.Core().compile_model(target, "CPU").create_infer_request()
    for first in ([1, 2], [5, 6]):
        found = request.infer([np.array(first, np.float32)]).values()
        assert [np.asarray(value).tolist() for value in found] == [[*first, 1, 1, 1], [0, 1, 2]]
