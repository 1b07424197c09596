"""A function of onnxscript, which reads its own source."""

from onnxscript import FLOAT, script
from onnxscript import opset17 as op


@script()
def doubled(x: FLOAT) -> FLOAT:
    """2 * x."""
    return op.Add(x, x)
