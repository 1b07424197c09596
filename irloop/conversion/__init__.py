"""Converts between the OpenVINO and ONNX dialects; `pipelines` holds both directions."""
