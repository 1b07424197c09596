"""Lists the element types that only newer opsets of ONNX have, and those that OpenVINO lacks.

This is a separate module so that a conversion need not import the forms of both formats.
"""

from __future__ import annotations

from irloop.graph.types import ElementType

__all__ = ["ELEMENT_SINCE", "UNKNOWN_TO_OPENVINO"]

#: The first opset in which Cast supports each newer element type.
ELEMENT_SINCE = {
    ElementType.BF16: 13,
    ElementType.F8E4M3: 19,
    ElementType.F8E5M2: 19,
    ElementType.F8E4M3FNUZ: 19,
    ElementType.F8E5M2FNUZ: 19,
    ElementType.I4: 21,
    ElementType.U4: 21,
    ElementType.F4E2M1: 23,
    ElementType.F8E8M0: 24,
    ElementType.I2: 25,
    ElementType.U2: 25,
}

#: Element types of ONNX that OpenVINO's IR cannot name.
UNKNOWN_TO_OPENVINO = frozenset(
    {
        ElementType.F8E4M3FNUZ,
        ElementType.F8E5M2FNUZ,
        ElementType.C64,
        ElementType.C128,
        ElementType.I2,
    }
)
