"""The base class of OpenVINO operations.

`since` is the opset that introduced this version of the operation; the writer puts it into the
file. Type names are matched case-insensitively, as in OpenVINO's reader.
"""

from __future__ import annotations

from typing import Any, ClassVar

from irloop.dialects.elements import check_elements
from irloop.dialects.operand_shapes import check_shapes
from irloop.graph.arguments import Arguments
from irloop.graph.op import Op, Registry

__all__ = [
    "BROADCASTS",
    "INDICES",
    "OPENVINO",
    "PADDINGS",
    "PAD_MODES",
    "REDUCTIONS",
    "RESIZE_MODES",
    "OpenVinoOp",
]

# Values of attributes that several operations share.

#: Words of `auto_broadcast`, and of `mode` of Broadcast.
BROADCASTS = ("none", "numpy", "pdpd", "explicit", "bidirectional")

#: Element types of indices and counts.
INDICES = ("i32", "i64")

#: Words of `auto_pad` of convolutions and poolings.
PADDINGS = ("explicit", "same_upper", "same_lower", "valid", "notset")

#: Words of `pad_mode` of Pad.
PAD_MODES = ("constant", "edge", "reflect", "symmetric")

#: Words of `reduction` of the scatter operations.
REDUCTIONS = ("none", "sum", "prod", "min", "max", "mean", "sub")

#: Words of `mode` of Interpolate.
RESIZE_MODES = (
    "nearest",
    "linear",
    "linear_onnx",
    "cubic",
    "area",
    "bilinear_pillow",
    "bicubic_pillow",
)


OPENVINO = Registry(ignore_case=True)


class OpenVinoOp(Op):
    """Base of the operations of OpenVINO's opset1, opset2, ...; the `domain` is empty."""

    registry: ClassVar[Registry | None] = OPENVINO
    #: Opsets after `since` that lack the type in OpenVINO.
    not_in: ClassVar[frozenset[int]] = frozenset()
    #: True if files from before opset6 give its version as "experimental" or "extension".
    once_experimental: ClassVar[bool] = False

    def check(self, args: Arguments) -> None:
        super().check(args)
        if self.n_outputs is not None and args.n_outputs > self.n_outputs:
            found = str(args.n_outputs)
            raise args.error("it has too many outputs", str(self.n_outputs), found)
        check_elements(args, type(self), "OpenVINO")
        check_shapes(args, type(self))

    def check_pads(self, args: Arguments, *names: str) -> None:
        """Check that the pads in `names` are not negative, unless `auto_pad` replaces them.

        Raises:
            InferenceError: naming the attribute.
        """
        known: Any = self
        if known.auto_pad.lower() not in ("explicit", "notset"):
            return
        for name in names:
            pads = getattr(self, name)
            if min(pads, default=0) < 0:
                raise args.error(f"{name} is negative", "0 or more", str(pads), kind="range")

    def check_words(self, args: Arguments, *names: str) -> None:
        """Check that the attributes in `names` have one of their allowed words or element types.

        Raises:
            InferenceError: naming the attribute and its allowed words.
        """
        # The type checker does not know that every operation is a dataclass, so use Any.
        known: Any = self.__class__
        for name in names:
            words = known.__dataclass_fields__[name].metadata["words"]
            found = str(getattr(self, name))
            if found.lower() not in words:
                raise args.error(f"{name} is not known", ", ".join(words), found, kind="range")
