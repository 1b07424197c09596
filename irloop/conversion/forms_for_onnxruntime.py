"""Lists the passes that rewrite models into forms that ONNX Runtime runs correctly.

Each pass avoids a fault of ONNX Runtime. It replaces operations that ONNX Runtime refuses or
computes wrongly by others with the same meaning.
"""

from __future__ import annotations

from irloop.conversion.elements.gathered_strings import GatherSingleStrings
from irloop.conversion.engine_form import Form, has, single
from irloop.conversion.loops.scan_axes import ScanAlongFront, divides_by_zero
from irloop.conversion.neural.mixed_norms import SquareByProducts
from irloop.conversion.tensors.column_products import ColumnsForVectors
from irloop.hazards.mixed_norms import squares_widened_data
from irloop.hazards.strings import gathers_parts_of_strings

__all__ = ["onnxruntime_forms"]


def onnxruntime_forms() -> list[Form]:
    """The passes that write the forms ONNX Runtime needs, in the order in which they run."""
    return [
        # ONNX Runtime crashes if a Scan has to transpose a tensor without elements.
        Form(ScanAlongFront(), lambda node, _: divides_by_zero(node)),
        # ONNX Runtime ignores the Transpose of a matrix that is multiplied by a vector.
        Form(ColumnsForVectors(), has("ORT118")),
        # ONNX Runtime fuses a LayerNormalization of two types, which it then refuses.
        single(SquareByProducts(), squares_widened_data),
        # ONNX Runtime copies only the first string of each part that Gather selects.
        Form(GatherSingleStrings(), lambda node, _: gathers_parts_of_strings(node)),
    ]
