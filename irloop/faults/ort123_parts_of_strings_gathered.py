"""ORT123: a Gather that selects parts of a tensor, such as rows, with several strings each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.dialects.onnx.gather import Gather
from irloop.dialects.onnx.gather import Gather as OnnxGather
from irloop.dialects.onnx.generate import Range, Range27
from irloop.dialects.onnx.shape import Reshape, Reshape14, Size
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["PartsOfStringsGathered"]


class PartsOfStringsGathered(
    Fault,
    code="ORT123",
    engine="onnxruntime",
    title="A Gather of parts with several strings",
    effect=Effect.WRONG,
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

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace a Gather of strings by a Gather of positions; then gathers single strings.

        Given::

            y = Gather<axis = 0>(x [2,3] of strings, i)

        Result::

            numbers [2,3] = 0, 1, ... 5
            y = Gather<axis = 0>(list of x, Gather<axis = 0>(numbers, i))
        """
        data, indices = node.inputs
        assert data is not None
        assert indices is not None
        reshape = Reshape14(allowzero=True) if w.opset >= 14 else Reshape()
        stop = w(Size(), data)
        count = Range27() if w.opset >= 27 else Range()
        numbers = w(count, w.constant(0), stop, w.constant(1))
        placed = w(reshape, numbers, w.shape_of(data))
        strings = w.reshape(data, [-1])
        moved = w(node.op, placed, indices)
        w.rewriter.replace_node(node, [w(Gather(0), strings, moved)])


def gathers_parts_of_strings(node: Node) -> bool:
    """Return whether an ONNX Gather of strings may copy slices that contain several strings."""
    data = node.inputs[0] if isinstance(node.op, OnnxGather) else None
    if data is None or not isinstance(node.op, OnnxGather):
        return False
    if element_of(data) is not ElementType.STRING:
        return False
    dims = shape_of(data).dims
    return dims is None or any(dim != 1 for dim in dims[node.op.axis :][1:])


@PartsOfStringsGathered.case(
    "gather_of_rows_of_strings",
    "ONNX: empty tensors, omitted inputs",
    "ONNX Gather-13",
    "Gather entries of the axis dimension of data indexed by indices.",
    run([[["a", "b"], ["c", "d"]], [1, 0]], [[["c", "d"], ["a", "b"]]]),
)
def smallest() -> str:
    return onnx_text("""
g (string[n, 2] x, int64[m] i) => (string[m, 2] y) { y = Gather <axis = 0> (x, i) }""")
