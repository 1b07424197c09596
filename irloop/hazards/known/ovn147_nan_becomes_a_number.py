"""OVN147: a NaN that an operation turns into a number."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.nans import LOSING, MAKING, lost_nans

__all__ = ["NanBecomesANumber"]


class NanBecomesANumber(
    Hazard,
    code="OVN147",
    engine="openvino",
    versions=("2026.4.1",),
    title="A NaN that an operation turns into a number",
    effect=Effect.WRONG,
    case="openvino_exp_of_nan",
    fix="Replace f(x) by Select(IsNaN(x), x, f(x)).",
):
    """A NaN that an operation turns into a number.

    What happens:
        Exp of NaN is inf, ReLU of NaN is 0, Clamp of NaN is its lower bound, and Maximum and
        Minimum of NaN and y are y. So an undefined result looks like a valid one.
    Where:
        An Exp, ReLU, Clamp, HardSigmoid, Maximum or Minimum reads a value that is computed from a
        Softmax of a value with constant infinities. A Softmax of nothing but -inf is NaN, for
        example because a mask excludes every element, or because the range of allowed values is
        empty.
    What irloop does:
        Conversion to IR selects the NaN where the input of the operation is NaN.
    """

    operations = LOSING
    beside = MAKING

    def find(self, node: Node) -> Iterator[str]:
        for value in lost_nans(node):
            yield f"{value.name!r} may be NaN, and {node.name!r} turns it into a number"
