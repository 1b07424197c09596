"""The base class of ONNX operations.

`since` is the ai.onnx opset that introduced this version of the operation. Versions that only allow
more element types share one class.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.dialects.attributes import attributes_of
from irloop.dialects.operand_shapes import check_shapes
from irloop.graph.arguments import Arguments
from irloop.graph.op import Op, Registry
from irloop.graph.types import ElementType

__all__ = [
    "BF16",
    "NARROW",
    "ONNX",
    "RUNTIME_DOMAIN",
    "SHORTS",
    "TINY_FLOATS",
    "TINY_INTEGERS",
    "OnnxOp",
]

ONNX = Registry()

#: The domain of the operations that only ONNX Runtime has.
RUNTIME_DOMAIN = "com.microsoft"

BF16 = frozenset({ElementType.BF16})
SHORTS = frozenset({ElementType.I16, ElementType.U16})
TINY_INTEGERS = frozenset({ElementType.I4, ElementType.U4, ElementType.I2, ElementType.U2})
TINY_FLOATS = BF16 | {
    ElementType.F8E4M3,
    ElementType.F8E5M2,
    ElementType.F8E4M3FNUZ,
    ElementType.F8E5M2FNUZ,
    ElementType.F8E8M0,
    ElementType.F4E2M1,
}
NARROW = TINY_INTEGERS | TINY_FLOATS - BF16


class OnnxOp(Op):
    """Base of the operations of an ONNX domain ("" is ai.onnx)."""

    registry: ClassVar[Registry | None] = ONNX
    #: Whether only ONNX Runtime has the operation. Some of these are in the standard's domain.
    of_runtime: ClassVar[bool] = False
    #: Element types that the standard or ONNX Runtime does not allow here, although the operation
    #: only moves its data. Conversion casts such data to a wider type and back.
    not_moved: ClassVar[frozenset[ElementType]] = frozenset()

    def check(self, args: Arguments) -> None:
        super().check(args)
        for name, known in attributes_of(type(self)).items():
            word = getattr(self, name, None)
            # In ONNX the case of letters matters.
            if known.kind == "word" and word is not None and word not in known.words:
                expected = ", ".join(known.words)
                raise args.error(f"{name} is not known", expected, word, kind="range")
        check_shapes(args, type(self))
