"""OVN128: a Convert without effect from an input to an output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import taken_over
from irloop.analysis.plugin import is_result
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Abs, Maximum
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ConvertWithoutEffect"]


class ConvertWithoutEffect(
    Fault,
    code="OVN128",
    engine="openvino",
    title="A Convert without effect from an input to an output",
    effect=Effect.WRONG,
    fix="Replace the Convert by Maximum(x, x).",
):
    """A Convert without effect from an input to an output.

    What happens:
        The plugin removes the Convert and uses the memory of the input as the memory of the output.
        The next inference writes its output into the memory of the earlier input, which the caller
        may have freed, so the output has wrong values.
    Where:
        A Convert leads from an input of the model to an output. It converts to the element type
        that the input has already: f32, i32, i8 or u8. The size of the input is unknown.
    What irloop does:
        Conversion to IR writes the maximum of the input with itself.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if self.is_repaired(node) and not shape_of(node.output).is_static:
            yield f"Convert {node.name!r} returns an input of the model unchanged"

    def is_repaired(self, node: Node) -> bool:
        """Return whether a Convert only passes an input of the model to an output.

        The plugin must use the memory of the input without a copy (`taken_over`). A static shape
        does no harm, but the user may change it in the IR.
        """
        data = node.inputs[0] if isinstance(node.op, Convert) else None
        if data is None or node.owner is not None:
            return False
        keeps = element_of(data) is element_of(node.output)
        return keeps and taken_over(data) and is_result(node.output)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace the Convert by the maximum of the input with itself."""
        (given,) = node.inputs
        assert given is not None
        w.rewriter.replace_node(node, [w(Maximum(), given, given)])


@ConvertWithoutEffect.case(
    "convert_without_effect",
    "IR: rare forms",
    "OpenVINO Convert-1",
    "An input in the type that it has already is the output as it is.",
    run([[1, 2], [-3]], [[1, 2], [3]]),
    run([[4], [-5]], [[4], [5]]),
)
def smallest() -> Model:
    m = IrModel()
    x, y = m.input("x", None), m.input("y", None)
    return m.done(m(Convert(ElementType.F32), x), m(Abs(), y))
