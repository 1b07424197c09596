"""Padding in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import indexing, inference, pads
from irloop.dialects.openvino.base import PAD_MODES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import TensorType, ValueType

__all__ = ["Pad", "Pad12"]


def _infer(args: Arguments, mode: str, *, negative: bool) -> list[ValueType]:
    element = inference.same_element(args, 0, 3) if args.has(3) else args.element(0)
    indexing.integers(args, 1, 2)
    if mode not in PAD_MODES:
        raise args.error("pad_mode is not known", ", ".join(PAD_MODES), mode, kind="range")
    begins, ends = args.dims(1), args.dims(2)
    given = [n for n in (*(begins or ()), *(ends or ())) if isinstance(n, int)]
    if not negative and min(given, default=0) < 0:
        raise args.error(
            "padding is negative", "0 or more before opset12", str(min(given)), kind="range"
        )
    return [TensorType(element, pads.padded(args, args.shape(0), begins, ends))]


class Pad(OpenVinoOp, type="Pad", since=1, inputs=(3, 4)):
    """Adds elements at both ends of each axis; inputs data, begins, ends, value (Pad-1).

    `pad_mode` is constant, edge, reflect or symmetric.
    """

    expands = True

    operands = "data: any, pads begin: i32 | i64, pads end: i32 | i64, value?: any -> any"
    meanings = (Sizes(1), Sizes(2))

    pad_mode: str = attribute(default="constant", words=PAD_MODES)

    def infer(self, args: Arguments) -> list[ValueType]:
        return _infer(args, self.pad_mode.lower(), negative=False)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.padding.openvino_pad(self.pad_mode.lower())


class Pad12(OpenVinoOp, type="Pad", since=12, inputs=(3, 4)):
    """Adds elements at both ends of each axis; negative numbers remove elements (Pad-12).

    Inputs: data, begins, ends, value. `pad_mode` is constant, edge, reflect or symmetric.
    """

    expands = True

    operands = "data: any, pads begin: i32 | i64, pads end: i32 | i64, value?: any -> any"
    meanings = (Sizes(1), Sizes(2))

    pad_mode: str = attribute(default="constant", words=PAD_MODES)

    def infer(self, args: Arguments) -> list[ValueType]:
        return _infer(args, self.pad_mode.lower(), negative=True)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.padding.openvino_pad(self.pad_mode.lower())
