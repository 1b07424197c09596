"""Prior boxes in ONNX: the constant that they are once the sizes are known."""

from __future__ import annotations

from irloop.conversion.framework import Conversion, exports
from irloop.dialects.openvino import prior_box as ov
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.PriorBox, ov.PriorBox8, ov.PriorBoxClustered)
def export_priors(c: Conversion, op: ov.Priored, layer: Value, image: Value) -> Value:
    """PriorBox, PriorBoxClustered -> a constant."""
    sizes = [c.constant_of(layer), c.constant_of(image)]
    if any(size is None for size in sizes):
        raise c.refuse(
            "the size of its layer or image is known only when the model runs",
            "give the input a static shape",
        )
    return c.constant(op.kernel()(*sizes), ElementType.F32)
