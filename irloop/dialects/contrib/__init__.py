"""ONNX Runtime's own operations: the domain com.microsoft, and its additions to ai.onnx.

They belong to the ONNX dialect and are in the same registry as the standard operations. Each
operation is one class. Its method `decompose` defines what it computes, in terms of standard
operations: the kernel runs these operations (`arrays`); the pass `standardize` and the import to IR
put them into the graph in place of the operation (`nodes`).

To add an operation:

1. Write its class into the module of its family, following the published definition
   (ContribOperators). Every attribute is a field, `inputs` gives the smallest and the largest
   number of inputs, `operands` their element types: inputs that ONNX Runtime requires to have one
   type share a variable. Omitted inputs are None in `decompose`::

       class QuickGelu(ContribOp, type="QuickGelu", inputs=1):
           \"\"\"x * sigmoid(alpha * x).\"\"\"

           operands = "x: T -> T where T: bf16 | f16 | f32 | f64"

           alpha: float = 1.7020000219345093

           def decompose(self, s: Steps, x: Value) -> Value:
               return s.multiply(x, s.op("Sigmoid", s.multiply(x, s.scalar(self.alpha, x))))

   `Steps` has the verbs of `OnnxWriter`, with which conversion rules and passes write, too;
   ``s.op("Erf", x)`` emits any operation of ai.onnx that has no verb. Compute the same as ONNX
   Runtime, in its order and precision: many kernels widen f16. Raise `RefusedError` with the
   reason for a case that standard operations cannot compute.
2. Implement `infer` if named dimensions must be kept, or if the operation is frequent:
   otherwise the types are inferred from the decomposition.
3. Import a new module in `families`. Remove the type from `irloop/dialects/contrib/refused.py` if
   it is listed there.
4. Add random cases to `tests/ops/contrib/`: they compare the executor, the model written with
   ``--standard`` and the IR on OpenVINO with ONNX Runtime.
"""

from __future__ import annotations

from importlib import import_module

from irloop.dialects.contrib.base import DOMAIN, ContribOp
from irloop.dialects.onnx.base import ONNX

__all__ = ["DOMAIN", "ContribOp"]


def __getattr__(name: str) -> type[ContribOp]:
    """Look up an operation of any module by the name of its class, such as ``BiasGelu``."""
    if not name.startswith("_"):
        import_module(f"{__name__}.families")
    for cls in ONNX.registered():
        if issubclass(cls, ContribOp) and cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
