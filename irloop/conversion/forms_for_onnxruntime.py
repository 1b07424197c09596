"""Lists the passes that rewrite models into forms that ONNX Runtime runs correctly."""

from __future__ import annotations

from irloop.conversion.engine_form import Form, has
from irloop.conversion.loops.scan_axes import ScanAlongFront, divides_by_zero
from irloop.conversion.tensors.column_products import ColumnsForVectors

__all__ = ["onnxruntime_forms"]


def onnxruntime_forms() -> list[Form]:
    """The passes that write the forms ONNX Runtime needs, in the order in which they run."""
    return [
        # ONNX Runtime crashes if a Scan has to transpose a tensor without elements.
        Form(ScanAlongFront(), lambda node, _: divides_by_zero(node)),
        # ONNX Runtime ignores the Transpose of a matrix that is multiplied by a vector.
        Form(ColumnsForVectors(), has("ORT118")),
    ]
