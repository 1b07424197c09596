"""ORT121: the reciprocal of integers times a value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import number_of
from irloop.dialects.onnx.elementwise import Div, Mul
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Node

__all__ = ["IntegerReciprocalTimesAValue"]


class IntegerReciprocalTimesAValue(
    Fault,
    code="ORT121",
    engine="onnxruntime",
    title="The reciprocal of integers times a value",
    effect=Effect.WRONG,
    fix="Write the quotient as Where: x where x is 1 or -1, and 0 elsewhere.",
):
    """The reciprocal of integers times a value.

    What happens:
        The optimiser replaces (1 / x) * y by y / x. For integers the results differ, because 1 / x
        is rounded to 0: (1 / 2) * 6 becomes 3 instead of 0.
    Where:
        The dividend of a Div of integers is the constant 1, and its only reader is a Mul.
    What irloop does:
        Conversion reports it.
    """

    operations = (Div,)
    beside = (Mul,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Div) or number_of(node.inputs[0]) != 1:
            return
        readers = [reader for reader, _ in node.output.uses]
        is_fused = len(readers) == 1 and isinstance(readers[0].op, Mul)
        if is_fused and element_of(node.output).is_integer:
            yield f"Mul {readers[0].name!r} multiplies the reciprocal of integers"


@IntegerReciprocalTimesAValue.case(
    "integer_reciprocal_times_a_value",
    "ONNX: products",
    "ONNX Div-14",
    "Integer division truncates: the quotient of 1 and 2 is 0.",
    run([[2, 1, -1], [6, 7, 8]], [[0, 7, -8]]),
)
def smallest() -> str:
    return onnx_text("""
g (int64[3] x, int64[3] y) => (int64[3] z) <int64 one = {1}> {
  r = Div (one, x)
  z = Mul (r, y)
}""")
