"""Makes shapes static where an ONNX model declares them, for runtimes that need static shapes."""

from irloop.conversion.declared.assume import assume_declared_shapes

__all__ = ["assume_declared_shapes"]
