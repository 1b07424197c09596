"""Random valid nodes of each ONNX Runtime operation that its CPU provider runs."""

from __future__ import annotations

from tests.ops.contrib.drawing import attention, elements, products, quantized, tensors
from tests.ops.contrib.drawing.draw import Draw, Drawer

__all__ = ["DRAWERS", "Draw", "Drawer"]

#: The function that generates a random node, by type.
DRAWERS: dict[str, Drawer] = {
    **elements.DRAWERS,
    **products.DRAWERS,
    **attention.DRAWERS,
    **quantized.DRAWERS,
    **tensors.DRAWERS,
}
