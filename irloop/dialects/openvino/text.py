"""String operations in OpenVINO: packing bytes into strings, and unpacking strings to bytes."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["StringTensorPack", "StringTensorUnpack"]


class StringTensorPack(OpenVinoOp, type="StringTensorPack", since=15, inputs=3):
    """Strings that are cut out of a list of UTF-8 bytes (StringTensorPack-15).

    String i consists of the bytes from position begins[i] up to, but excluding, ends[i]. Begins and
    ends have the shape of the result; the bytes are a list of u8.
    """

    operands = "begins: I, ends: I, symbols: u8 -> string where I: i32 | i64"
    shapes = "B..., B..., ?"

    def infer(self, args: Arguments) -> list[ValueType]:
        for position in (0, 1):
            if args.element(position) not in (
                ElementType.I32,
                ElementType.I64,
                ElementType.DYNAMIC,
            ):
                found = str(args.element(position))
                message = f"input {position} has the wrong element type for positions"
                raise args.error(message, "i32 or i64", found)
        if args.element(2) not in (ElementType.U8, ElementType.DYNAMIC):
            message = "input 2 has the wrong element type for bytes"
            raise args.error(message, "u8", str(args.element(2)))
        if args.rank(2) not in (None, 1):
            raise args.error("the bytes are not a list", "rank 1", str(args.shape(2)))
        shape = args.shape(0) if args.shape(0).dims is not None else args.shape(1)
        return [TensorType(ElementType.STRING, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.text.packed


class StringTensorUnpack(OpenVinoOp, type="StringTensorUnpack", since=15, inputs=1, outputs=3):
    """Begins, ends and the concatenated UTF-8 bytes of strings (StringTensorUnpack-15)."""

    operands = "data: string -> begins: i32, ends: i32, symbols: u8"

    def infer(self, args: Arguments) -> list[ValueType]:
        place = TensorType(ElementType.I32, args.shape(0))
        return [place, place, TensorType(ElementType.U8, Shape.of(None))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.text.unpacked
