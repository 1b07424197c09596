"""ORT122: a layer normalisation of 16-bit data with a wider scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.elementwise import Div, Mul, Pow, Sub
from irloop.dialects.onnx.reduction import ReduceMean1, ReduceMean18
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["LayerNormalizationOfTwoTypes"]

_NARROW = frozenset({ElementType.F16, ElementType.BF16})


class LayerNormalizationOfTwoTypes(
    Fault,
    code="ORT122",
    engine="onnxruntime",
    title="A layer normalisation of 16-bit data with a wider scale",
    effect=Effect.REFUSAL,
    fix="Write the square as Mul(d, d) instead of Pow(d, 2): ONNX Runtime then fuses nothing.",
):
    """A layer normalisation of 16-bit data with a wider scale.

    What happens:
        The optimiser fuses the operations, and the Cast of the data before them, to a
        LayerNormalization. Its data are f16 and its scale f32, so the model does not load: "Type
        parameter (T) of Optype (LayerNormalization) bound to different types".
    Where:
        From opset 17 on, data that are cast from f16 or bf16 are normalised by ReduceMean, Sub,
        Pow, Sqrt and Div, and multiplied by a scale in the wider type.
    What irloop does:
        Conversion to ONNX squares the differences d by Mul(d, d) instead of Pow(d, 2).
    """

    operations = (Pow,)

    def find(self, node: Node) -> Iterator[str]:
        if squares_widened_data(node):
            yield f"Pow {node.name!r} squares 16-bit data that were cast"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Square the differences of a layer normalisation with Mul instead of Pow.

        Given::

            x = Cast(h f16, f32)    d = Sub(x, ReduceMean(x))    p = Pow(d, 2)

        Result::

            x = Cast(h f16, f32)    d = Sub(x, ReduceMean(x))    p = Mul(d, d)

        ONNX Runtime would fuse the operations of the first form to an invalid LayerNormalization.
        """
        centred = node.inputs[0]
        assert centred is not None

        w.rewriter.replace_node(node, [w(Mul(), centred, centred)])


def squares_widened_data(node: Node) -> bool:
    """Return whether `node` is the Pow(x - mean, 2) of a layer normalisation with widened data.

    Widened means that x is cast from 16 bits to a wider type, for example from f16 to f32. The
    normalised data must also be multiplied by something, usually the scale.
    """
    if not isinstance(node.op, Pow) or not _is_two(node.inputs[1]):
        return False
    centred = node.inputs[0]
    if centred is None or not isinstance(centred.producer.op, Sub):
        return False
    data, mean = centred.producer.inputs
    if data is None or mean is None or not _is_widened(data):
        return False
    if (
        not isinstance(mean.producer.op, ReduceMean1 | ReduceMean18)
        or mean.producer.inputs[0] is not data
    ):
        return False
    quotients = [user for user, at in centred.uses if isinstance(user.op, Div) and at == 0]
    return any(isinstance(user.op, Mul) for item in quotients for user, _ in item.output.uses)


def _is_two(value: Value | None) -> bool:
    if value is None or not isinstance(value.producer.op, Constant):
        return False
    tensor = value.producer.op.tensor
    return tensor.count == 1 and float(tensor.numpy().reshape(-1)[0]) == 2


def _is_widened(value: Value) -> bool:
    node = value.producer
    given = node.inputs[0] if isinstance(node.op, Cast6) else None
    return given is not None and element_of(given) in _NARROW and element_of(value) not in _NARROW


@LayerNormalizationOfTwoTypes.case(
    "layer_normalization_of_two_types",
    "ONNX: products",
    "ONNX Cast-13",
    "The operator casts the elements to the data type specified by `to`.",
    # [2, 6] has the mean 4 and the deviation 2: in f32, the small number does not change it.
    run([[[2, 6]], [3, 5], [10, 20]], [[[7, 25]]]),
)
def smallest() -> str:
    return onnx_text("""
g (float16[1, 2] x, float[2] scale, float[2] bias) => (float[1, 2] y)
<float two = {2.0}, float small = {0.0000001}> {
  wide = Cast <to = 1> (x)
  mean = ReduceMean <axes = [-1]> (wide)
  centred = Sub (wide, mean)
  squares = Pow (centred, two)
  variance = ReduceMean <axes = [-1]> (squares)
  more = Add (variance, small)
  deviation = Sqrt (more)
  unit = Div (centred, deviation)
  scaled = Mul (unit, scale)
  y = Add (scaled, bias)
}""")
