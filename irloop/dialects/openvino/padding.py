"""Padding in OpenVINO."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference, pads
from irloop.dialects.openvino.base import PAD_MODES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import Dim, ElementType, TensorType, ValueType

__all__ = ["Pad", "Pad12"]


def _infer(args: Arguments, mode: str, *, negative: bool) -> list[ValueType]:
    element = inference.same_element(args, 0, 3) if args.has(3) else args.element(0)
    if mode not in PAD_MODES:
        raise args.error("pad_mode is not known", ", ".join(PAD_MODES), mode, kind="range")
    begins, ends = args.dims(1), args.dims(2)
    sizes = [n for n in (*(begins or ()), *(ends or ())) if isinstance(n, int)]
    if not negative and min(sizes, default=0) < 0:
        raise args.error(
            "padding is negative", "0 or more before opset12", str(min(sizes)), kind="range"
        )
    if element is ElementType.STRING and mode != "constant":
        raise args.error("strings are padded with a constant only", "constant", mode, kind="range")
    result = pads.padded(args, args.shape(0), begins, ends)
    _check_reach(args, mode, begins, ends)
    return [TensorType(element, result)]


def _check_reach(
    args: Arguments, mode: str, begins: tuple[Dim, ...] | None, ends: tuple[Dim, ...] | None
) -> None:
    """Check that every axis has the elements that are repeated or mirrored.

    Raises:
        InferenceError: when one has not.
    """
    if mode == "constant" or begins is None or ends is None:
        return
    for dim, *both in zip(args.shape(0).dims or (), begins, ends, strict=False):
        if not isinstance(dim, int):
            continue
        known = [pad for pad in both if isinstance(pad, int)]
        least = {"reflect": max(known, default=0) + 1, "symmetric": max(known, default=0)}
        if dim < max(1, least.get(mode, 0)):
            found = f"{dim} elements and padding {known}"
            raise args.error(f"an axis is too short for the mode {mode}", "more elements", found)


class _Pad(OpenVinoOp):
    """Base of the versions of Pad; negative numbers of elements are allowed if `negative`."""

    expands = True

    operands = "data: T, pads begin: integer, pads end: integer, value?: T -> T where T: any"
    shapes = "*, ?, ?, ()"
    meanings = (Sizes(1), Sizes(2))

    negative: ClassVar[bool]
    pad_mode: str = attribute(default="constant", words=PAD_MODES)

    def infer(self, args: Arguments) -> list[ValueType]:
        return _infer(args, self.pad_mode.lower(), negative=self.negative)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.padding.openvino_pad(self.pad_mode.lower())


class Pad(_Pad, type="Pad", since=1, inputs=(3, 4)):
    """Adds elements at both ends of each axis; inputs data, begins, ends, value (Pad-1).

    `pad_mode` is constant, edge, reflect or symmetric.
    """

    negative: ClassVar[bool] = False


class Pad12(_Pad, type="Pad", since=12, inputs=(3, 4)):
    """Adds elements at both ends of each axis; negative numbers remove elements (Pad-12).

    Inputs: data, begins, ends, value. `pad_mode` is constant, edge, reflect or symmetric.
    """

    negative: ClassVar[bool] = True
