"""ORT123: a Gather that selects parts of a tensor, such as rows, with several strings each."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.gather import Gather
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.strings import gathers_parts_of_strings

__all__ = ["PartsOfStringsGathered"]


class PartsOfStringsGathered(
    Hazard,
    code="ORT123",
    engine="onnxruntime",
    versions=("1.32.0",),
    title="A Gather of parts with several strings",
    effect=Effect.WRONG,
    case="gather_of_rows_of_strings",
    fix="Gather along the last axis, or gather from the list of all strings by number.",
):
    """A Gather of parts with several strings.

    What happens:
        Only the first string of each selected part is copied; the others are empty.
    Where:
        Gather selects parts of a string tensor along an axis, and a later axis has more than one
        element. For example, it selects rows of a matrix, each of which has several strings.
    What irloop does:
        Conversion to ONNX applies this Gather to a tensor with the index of each string instead,
        and then gathers each string by its index. `transform` does the same for a Gather that a
        pass made.
    """

    operations = (Gather,)

    def find(self, node: Node) -> Iterator[str]:
        if gathers_parts_of_strings(node):
            yield f"{node.name!r} gathers parts with several strings"
