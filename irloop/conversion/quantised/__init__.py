"""Writes ONNX's operations for integers of 8 bits, which ONNX Runtime runs on integer kernels."""
