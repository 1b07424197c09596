"""A pair that differs is reduced, and the reduced pair still differs."""

from __future__ import annotations

import onnx
import pytest

from irloop.comparison.reduction.reduce import reduce
from irloop.errors import UsageError
from irloop.formats.onnx import reader
from irloop.graph.model import Model


def model(text: str) -> Model:
    header = '<ir_version: 8, opset_import: ["" : 16]>'
    return reader.from_proto(onnx.parser.parse_model(header + text))


CHAIN = """
m (float[2,3] x) => (float[2,3] y, float[2,3] z) {
   a = Abs (x)
   b = Exp (a)
   c = OP (b)
   d = Tanh (c)
   y = Neg (d)
   z = Neg (x)
}
"""


def test_a_chain_is_cut_to_the_operation_that_differs() -> None:
    found = reduce(model(CHAIN.replace("OP", "Sqrt")), model(CHAIN.replace("OP", "Log")))
    for side, name in ((found.first, "Sqrt"), (found.second, "Log")):
        assert [node.op.type for node in side.graph.nodes] == [name]
        assert [node.name for node in side.graph.parameters] == ["b"]
    assert not found.comparison.equal
    assert found.comparison.compared
    assert "cut around c: 1 and 1 operations" in found.steps


LOOP = """
m (int64 trip, float[2] x) => (float[2] last) {
   [loop] last = Loop (trip, , x) <body = step (int64 i, bool c, float[2] s)
      => (bool c, float[2] n) {
      n1 = Cast <to = 1> (i)
      a = Add (s, n1)
      LINE
      n = Tanh (b)
   }>
}
"""


def test_a_divergence_in_a_later_iteration_is_taken_out_of_its_loop() -> None:
    first = model(LOOP.replace("LINE", "b = Add (a, n1)"))
    # The iteration number makes a difference only from the second iteration on.
    second = model(LOOP.replace("LINE", "b = Sub (a, n1)"))
    found = reduce(first, second)
    assert [node.op.type for node in found.first.graph.nodes] == ["Add"]
    assert [node.op.type for node in found.second.graph.nodes] == ["Sub"]
    assert {node.name for node in found.first.graph.parameters} == {"a", "n1"}
    assert not found.comparison.equal


def test_an_uncuttable_model_keeps_one_output_and_the_smallest_trip_count() -> None:
    text = """
    m (int64 trip, float[2] x) => (float[2] PREFIXa, float[2] PREFIXb) {
       PREFIXa = Loop (trip, , x) <body = PREFIXf (int64 PREFIXi, bool PREFIXc, float[2] PREFIXs)
          => (bool PREFIXc, float[2] PREFIXn) { PREFIXn = OP (PREFIXs, PREFIXs) }>
       PREFIXb = Abs (x)
    }
    """
    first = model(text.replace("PREFIX", "p").replace("OP", "Add"))
    second = model(text.replace("PREFIX", "q").replace("OP", "Mul"))
    found = reduce(first, second)
    assert [node.name for node in found.first.graph.results] == ["pa"]
    assert int(found.inputs[0][0]) == 1
    assert not found.comparison.equal


def test_models_that_do_not_differ_are_refused() -> None:
    with pytest.raises(UsageError, match="do not differ"):
        reduce(model(CHAIN.replace("OP", "Log")), model(CHAIN.replace("OP", "Log")))
