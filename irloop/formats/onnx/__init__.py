"""ONNX files; the only package that imports onnx."""
