"""ORT121: the reciprocal of integers times a value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.elementwise import Div, Mul
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import number_of

__all__ = ["IntegerReciprocalTimesAValue"]


class IntegerReciprocalTimesAValue(
    Hazard,
    code="ORT121",
    engine="onnxruntime",
    versions=("1.32.0",),
    title="The reciprocal of integers times a value",
    effect=Effect.WRONG,
    case="integer_reciprocal_times_a_value",
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
