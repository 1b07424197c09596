"""Stores constants of narrow element types in a type that every runtime reads."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.dialects.unpacked import STAND_INS, UnpackedTensor
from irloop.errors import UsageError
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.options import option

__all__ = ["UnpackConstants"]

CONVERSIONS = (ov.Convert, onnx.Cast6, onnx.Cast1)


@dataclass(eq=False)
class UnpackConstants(NodePass):
    """Widens constants of 1 to 6 bits, 8-bit floats, nf4 and bf16 that only conversions read.

    Given::

        w = Convert(Const u4 [2, 8], f16)    z = Convert(Const nf4, f32)

    Result::

        w = Convert(Const u8 [2, 8], f16)    z = Convert(Const f32, f32)

    Runtimes disagree about these types: OpenVINO 2021.4 reads the two halves of a u4 byte in
    reverse order, and does not support 8-bit floats. The values stay exactly the same, but the file
    grows. A constant that has a reader other than a conversion is not changed.
    """

    name = "unpack_constants"

    types: tuple[str, ...] = option(
        (), "only these element types, such as u4; if none is given, all"
    )

    def __post_init__(self) -> None:
        known = [str(element) for element in STAND_INS]
        for name in self.types:
            if name not in known:
                raise UsageError(f"{name!r} is not a narrow type", expected=", ".join(known))

    operations = (Constant,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        assert isinstance(node.op, Constant)
        tensor = node.op.tensor
        element: ElementType = tensor.element
        if element not in STAND_INS or (self.types and str(element) not in self.types):
            return None
        if not all(isinstance(user.op, CONVERSIONS) for user, _ in node.output.uses):
            return None
        return w.rewriter.insert_constant(UnpackedTensor(tensor), before=node, name=node.name)
