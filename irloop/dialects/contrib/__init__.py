"""ONNX Runtime's own operations: the domain com.microsoft, and what it adds to ai.onnx.

They belong to the ONNX dialect: a model holds them beside the operations of the standard, in the
same registry. Each is one class. What it computes is written once, in `decompose`, with operations
of the standard; its kernel runs these (`arrays`), the pass `standardize` and the import to IR put
them into the graph instead of it (`nodes`).

To add an operation:

1. Write its class into the module of its family, from the published definition (ContribOperators):
   every attribute a field, `inputs` the fewest and the most, `operands` for people. Omitted inputs
   are None in `decompose`::

       class QuickGelu(ContribOp, type="QuickGelu", inputs=1):
           \"\"\"x * sigmoid(alpha * x).\"\"\"

           operands = "x: float -> float"

           alpha: float = 1.7020000219345093

           def decompose(self, s: Steps, x: Term) -> Term:
               return x * s.op("Sigmoid", x * self.alpha)

   `Term` has arithmetic and ``@``; `Steps` the rest, down to ``s.op("Erf", x)`` for any operation
   of ai.onnx. Write what ONNX Runtime computes, in its order and precision: many kernels widen f16.
   Raise `CannotDecomposeError` with the reason for what standard operations cannot compute.
2. Give `infer` where named dimensions have to pass, or where the operation is frequent: without it
   the types are those that the decomposition finds.
3. Import a new module below. Take the type out of `irloop/dialects/contrib/refused.py` if it is
   there.
4. Add drawn cases to `tests/ops/contrib/`: the executor, the model written with ``--standard`` and
   the IR on OpenVINO are held against ONNX Runtime.
"""

from __future__ import annotations

from irloop.dialects.contrib import (
    activation,
    attention,
    convolution,
    decoder_attention,
    group_query,
    matmul,
    normalization,
    quantize,
    quantized_elements,
    quantized_matmul,
    rotary,
    tensors,
)
from irloop.dialects.contrib.base import DOMAIN, ContribOp
from irloop.dialects.onnx.base import ONNX

__all__ = [
    "DOMAIN",
    "ContribOp",
    "activation",
    "attention",
    "convolution",
    "decoder_attention",
    "group_query",
    "matmul",
    "normalization",
    "quantize",
    "quantized_elements",
    "quantized_matmul",
    "rotary",
    "tensors",
]


def __getattr__(name: str) -> type[ContribOp]:
    """An operation by the name of its class, in any module: ``BiasGelu``."""
    for cls in ONNX.registered():
        if issubclass(cls, ContribOp) and cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
