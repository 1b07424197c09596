"""Random valid nodes of each operation of ONNX Runtime that its CPU provider runs."""

from __future__ import annotations

from tests.ops.contrib.drawing import attention, elements, products, quantized, tensors
from tests.ops.contrib.drawing.draw import Draw, Drawer

__all__ = ["DRAWERS", "Draw", "Drawer"]

#: By type: a function that draws a node.
DRAWERS: dict[str, Drawer] = {
    **elements.DRAWERS,
    **products.DRAWERS,
    **attention.DRAWERS,
    **quantized.DRAWERS,
    **tensors.DRAWERS,
}
