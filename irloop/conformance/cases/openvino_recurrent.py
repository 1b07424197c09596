"""Cases of recurrent sequences that OpenVINO's CPU plugin computes wrongly."""

from __future__ import annotations

from irloop.conformance.case import Case, run
from irloop.conformance.cases.openvino_faults import FEATURE
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino.recurrent import RNNSequence
from irloop.graph.model import Model
from irloop.graph.types import ElementType

__all__ = ["CASES"]


def _lengths_of_an_unknown_shape() -> Model:
    m = IrModel()
    x, h = m.input("x", 1, None, 1), m.input("h", 1, 1, 1)
    lengths = m.input("lengths", 1, element=ElementType.I64)
    weight, bias = m.constant([[[1]]]), m.constant([[0]])
    op = RNNSequence(hidden_size=1, activations=("relu",))
    node = m.builder.emit(op, x, h, lengths, weight, weight, bias, n_outputs=2)
    return m.done(*node.outputs)


CASES = (
    Case(
        "openvino_lengths_of_an_unknown_shape",
        FEATURE,
        "OpenVINO RNNSequence-5",
        "sequence_lengths: the length of each item of X; the steps beyond it are not computed.",
        _lengths_of_an_unknown_shape,
        (
            # h1 = 3 + 1, h2 = 4 + 2.
            run([[[[1], [2]]], [[[3]]], [1]], [[[[[4], [0]]]], [[[4]]]]),
            run([[[[1], [2]]], [[[3]]], [2]], [[[[[4], [6]]]], [[[6]]]]),
        ),
    ),
)
