"""Writes ONNX operations on 8-bit integers, for which ONNX Runtime has integer kernels."""
