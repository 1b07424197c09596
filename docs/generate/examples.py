"""Small models for the pictures of conversions, one per construct."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx.parser

import irloop
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.control_flow import If, Loop, TensorIterator
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.graph.builder import Builder
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType

__all__ = ["EXAMPLES"]

F32, BOOL, I64 = ElementType.F32, ElementType.BOOLEAN, ElementType.I64


def _f32(*dims: int) -> TensorType:
    return TensorType(F32, Shape.of(*dims))


class _Sketch(Builder):
    """An IR with one loop; the body is built first, then its port map."""

    def __init__(self) -> None:
        super().__init__(Graph("example"))
        self.body = self.nested("body")

    def wired(
        self,
        op: Op,
        inputs: Iterable[Value],
        results: Mapping[str, Value],
        ports: tuple[InputPort | OutputPort, ...],
        outputs: Iterable[str],
        *,
        iteration: int | None = None,
        condition: int | None = None,
    ) -> Model:
        """The model: `results` are results of the body, `outputs` names the outputs of the loop."""
        for name, value in results.items():
            self.body.result(value, name)
        entering = tuple(port for port in ports if isinstance(port, InputPort))
        leaving = tuple(port for port in ports if isinstance(port, OutputPort))
        body = Body("body", self.body.graph, PortMap(entering, leaving, iteration, condition))
        names = tuple(outputs)
        made = self.emit(op, *inputs, n_outputs=len(names), name="loop", bodies=(body,))
        for name, value in zip(names, made.outputs, strict=True):
            self.result(value, name)
        return Model(self.graph, "openvino", 10)


def _iterator(steps: int) -> Model:
    b = _Sketch()
    x, h0 = b.parameter("x", _f32(steps, 2)), b.parameter("h0", _f32(1, 2))
    part, h = b.body.parameter("x_t", _f32(1, 2)), b.body.parameter("h", _f32(1, 2))
    new = b.body(Add(), h, part)
    ports = (Sliced(0, 0, axis=0), Carried(1, 1, 1), Concatenated(0, 0, axis=0), LastValue(1, 1))
    results = {"all": new, "new": new}
    return b.wired(TensorIterator(), (x, h0), results, ports, ("all_h", "last_h"))


def _in_slices(port: Sliced, joined: Concatenated) -> Model:
    b = _Sketch()
    x = b.parameter("x", _f32(6, 2))
    part = b.body.parameter("x_t", _f32(port.part_size, 2))
    new = b.body(Multiply(), part, b.body.constant([[2.0]], F32))
    return b.wired(TensorIterator(), (x,), {"new": new}, (port, joined), ("y",))


def _parts() -> Model:
    return _in_slices(
        Sliced(0, 0, axis=0, stride=2, part_size=2),
        Concatenated(0, 0, axis=0, stride=2, part_size=2),
    )


def _range() -> Model:
    return _in_slices(Sliced(0, 0, axis=0, start=1), Concatenated(0, 0, axis=0))


def _counted() -> Model:
    b = _Sketch()
    x = b.parameter("x", _f32(1, 2))
    a = b.body.parameter("a", _f32(1, 2))
    new = b.body(Multiply(), a, b.body.constant([[2.0]], F32))
    ports = (Carried(0, 0, 0), Concatenated(0, 0, axis=0, start=0, end=4))
    return b.wired(TensorIterator(), (x,), {"new": new}, ports, ("all",))


def _loop() -> Model:
    b = _Sketch()
    trip = b.parameter("trip", TensorType(ElementType.I32, Shape(())))
    truth = b.constant(True, BOOL)
    x, k = b.parameter("x", _f32(1, 2)), b.parameter("k", _f32(1, 2))
    a, factor = b.body.parameter("a", _f32(1, 2)), b.body.parameter("k", _f32(1, 2))
    number = b.body.parameter("i", TensorType(I64, Shape(())))
    new = b.body(Add(), b.body(Multiply(), a, factor), b.body(Convert(F32), number))
    total = b.body(ReduceSum(), new, b.body.i64([0, 1]))
    goes_on = b.body(Less(), total, b.body.constant(9.0, F32))
    ports = (Carried(2, 0, 1), Invariant(3, 1), LastValue(1, 0), Concatenated(1, 1, axis=0))
    results = {"goes_on": goes_on, "new": new}
    return b.wired(
        Loop(), (trip, truth, x, k), results, ports, ("last", "all"), iteration=2, condition=0
    )


def _endless() -> Model:
    b = _Sketch()
    x = b.parameter("x", _f32(1, 2))
    a = b.body.parameter("a", _f32(1, 2))
    new = b.body(Multiply(), a, b.body.constant([[0.5]], F32))
    total = b.body(ReduceSum(), new, b.body.i64([0, 1]))
    goes_on = b.body(Less(), b.body.constant(1.0, F32), total)
    inputs = (b.i64(-1), b.constant(True, BOOL), x)
    ports = (Carried(2, 0, 1), LastValue(1, 0))
    return b.wired(Loop(), inputs, {"goes_on": goes_on, "new": new}, ports, ("last",), condition=0)


def _sliced_loop() -> Model:
    b = _Sketch()
    x = b.parameter("x", _f32(6, 2))
    part = b.body.parameter("x_t", _f32(1, 2))
    new = b.body(Multiply(), part, b.body.constant([[2.0]], F32))
    inputs = (b.i64(6), b.constant(True, BOOL), x)
    ports = (Sliced(2, 0, axis=0), Concatenated(1, 0, axis=0))
    results = {"goes_on": b.body.constant(True, BOOL), "new": new}
    return b.wired(Loop(), inputs, results, ports, ("y",), condition=0)


def _last() -> Model:
    b = _Sketch()
    x = b.parameter("x", _f32(6, 2))
    part = b.body.parameter("x_t", _f32(1, 2))
    new = b.body(Multiply(), part, b.body.constant([[2.0]], F32))
    ports = (Sliced(0, 0, axis=0), LastValue(0, 0))
    return b.wired(TensorIterator(), (x,), {"new": new}, ports, ("last",))


def _joined() -> Model:
    b = _Sketch()
    x = b.parameter("x", _f32(2, 2))
    a = b.body.parameter("a", _f32(2, 2))
    new = b.body(Multiply(), a, b.body.constant([[0.5]], F32))
    inputs = (b.i64(3), b.constant(True, BOOL), x)
    back = Concatenated(1, 0, axis=1, start=-1, end=0, stride=-2, part_size=2)
    results = {"goes_on": b.body.constant(True, BOOL), "new": new}
    return b.wired(Loop(), inputs, results, (Carried(2, 0, 1), back), ("all",), condition=0)


def _branches() -> Model:
    b = Builder(Graph("example"))
    condition = b.parameter("condition", TensorType(BOOL, Shape(())))
    x, y = b.parameter("x", _f32(2)), b.parameter("y", _f32(2))
    then, other = b.nested("then"), b.nested("else")
    then.result(then(Add(), then.parameter("x", _f32(2)), then.parameter("y", _f32(2))), "sum")
    half = other.constant([0.5], F32)
    other.result(other(Multiply(), other.parameter("x", _f32(2)), half), "half")
    bodies = (
        Body("then", then.graph, PortMap((Invariant(1, 0), Invariant(2, 1)), (LastValue(0, 0),))),
        Body("else", other.graph, PortMap((Invariant(1, 0),), (LastValue(0, 0),))),
    )
    made = b.emit(If(), condition, x, y, n_outputs=1, name="if", bodies=bodies)
    b.result(made.output, "z")
    return Model(b.graph, "openvino", 10)


def _onnx(text: str) -> Callable[[], Model]:
    def read() -> Model:
        model = onnx.parser.parse_model(text)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "example.onnx"
            path.write_bytes(model.SerializeToString())
            return irloop.read_model(path)

    return read


_HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

_ONNX_LOOP = (
    _HEAD
    + """
example (float[2] x, float[2] w) => (float[2] last, float[n, 2] all) {
  last, all = Loop ("", "", x) <body = step (int64 i, bool go, float[2] a)
                                => (bool go_on, float[2] a_next, float[2] seen) {
    a_next = Add (a, w)
    nine = Constant <value_float = 9.0> ()
    total = ReduceSum <keepdims = 0> (a_next)
    go_on = Less (total, nine)
    seen = Identity (a_next)
  }>
}
"""
)

_ONNX_TRIP = (
    _HEAD
    + """
example (int64 m, float[2] x) => (float[2] last) {
  last = Loop (m, "", x) <body = step (int64 i, bool go, float[2] a)
                           => (bool go_on, float[2] a_next) {
    go_on = Identity (go)
    a_next = Add (a, a)
  }>
}
"""
)

_ONNX_ZERO = (
    _HEAD
    + """
example (float[2] x) => (float[2] last, float[n, 2] all) {
  m = Constant <value_int = 0> ()
  last, all = Loop (m, "", x) <body = step (int64 i, bool go, float[2] a)
                                => (bool go_on, float[2] a_next, float[2] seen) {
    go_on = Identity (go)
    a_next = Add (a, a)
    seen = Identity (a)
  }>
}
"""
)

_ONNX_SWAP = (
    _HEAD
    + """
example (float[2] x, float[2] y) => (float[2] a, float[2] b) {
  m = Constant <value_int = 5> ()
  a, b = Loop (m, "", x, y) <body = step (int64 i, bool go, float[2] p, float[2] q)
                              => (bool go_on, float[2] q_next, float[2] p_next) {
    go_on = Identity (go)
    q_next = Identity (q)
    p_next = Identity (p)
  }>
}
"""
)

_SCAN_BODY = """
step (float[2] h, float[2] e) => (float[2] h_next, float[2] seen) {
    h_next = Add (h, e)
    seen = Identity (h_next)
  }
"""

_ONNX_SCAN = f"""{_HEAD}
example (float[2] h0, float[2, 6] x) => (float[2] last, float[6, 2] all) {{
  last, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
                    body = {_SCAN_BODY}> (h0, x)
}}
"""

_ONNX_SCAN_OPEN = f"""{_HEAD}
example (float[2] h0, float[n, 2] x) => (float[2] last, float[n, 2] all) {{
  last, all = Scan <num_scan_inputs = 1, body = {_SCAN_BODY}> (h0, x)
}}
"""

_ONNX_IF = (
    _HEAD
    + """
example (bool c, float[2] x, float[2] y) => (float[2] z) {
  z = If (c) <
    then_branch = plus () => (float[2] sum) { sum = Add (x, y) },
    else_branch = once () => (float[2] same) { same = Relu (x) }
  >
}
"""
)

_ONNX_LSTM = (
    _HEAD
    + """
example (float[5, 1, 2] x, float[1, 12, 2] w, float[1, 12, 3] r) => (float[5, 1, 1, 3] y) {
  y = LSTM <hidden_size = 3> (x, w, r)
}
"""
)

#: A model for each construct, keyed by the name that pages use for its picture.
EXAMPLES: dict[str, Callable[[], Model]] = {
    "iterator": partial(_iterator, 6),
    "iterator-short": partial(_iterator, 3),
    "iterator-parts": _parts,
    "iterator-range": _range,
    "iterator-counted": _counted,
    "loop": _loop,
    "loop-endless": _endless,
    "loop-sliced": _sliced_loop,
    "last-value": _last,
    "joined": _joined,
    "if": _branches,
    "onnx-loop": _onnx(_ONNX_LOOP),
    "onnx-trip": _onnx(_ONNX_TRIP),
    "onnx-zero": _onnx(_ONNX_ZERO),
    "onnx-swap": _onnx(_ONNX_SWAP),
    "onnx-scan": _onnx(_ONNX_SCAN),
    "onnx-scan-open": _onnx(_ONNX_SCAN_OPEN),
    "onnx-if": _onnx(_ONNX_IF),
    "onnx-lstm": _onnx(_ONNX_LSTM),
}
