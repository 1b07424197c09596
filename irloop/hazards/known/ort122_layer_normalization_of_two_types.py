"""ORT122: a layer normalisation of 16-bit data with a wider scale."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.elementwise import Pow
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.mixed_norms import squares_widened_data

__all__ = ["LayerNormalizationOfTwoTypes"]


class LayerNormalizationOfTwoTypes(
    Hazard,
    code="ORT122",
    engine="onnxruntime",
    versions=("1.32.0",),
    title="A layer normalisation of 16-bit data with a wider scale",
    effect=Effect.REFUSAL,
    case="layer_normalization_of_two_types",
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
