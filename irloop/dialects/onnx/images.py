"""Encoded images in ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["ImageDecoder"]

FORMATS = ("RGB", "BGR", "Grayscale")


class ImageDecoder(OnnxOp, type="ImageDecoder", since=20, inputs=1):
    """The pixels [height, width, channels] of an encoded image, as u8 (ImageDecoder-20).

    Running it needs Pillow. A stream that cannot be decoded gives an image without pixels.
    """

    pixel_format: str = "RGB"

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.element(0) not in (ElementType.U8, ElementType.DYNAMIC):
            raise args.error("the stream is not u8", "u8", str(args.element(0)))
        if args.rank(0) not in (None, 1):
            raise args.error("the stream has the wrong rank", "1", str(args.shape(0)))
        if self.pixel_format not in FORMATS:
            raise args.error(
                "pixel_format is not known", ", ".join(FORMATS), self.pixel_format, kind="range"
            )
        channels = 1 if self.pixel_format == "Grayscale" else 3
        return [TensorType(ElementType.U8, Shape.of(None, None, channels))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if not kernels.images.available():
            raise NotImplementedError("decoding images needs Pillow: pip install pillow")
        return kernels.images.decoder(self.pixel_format)
