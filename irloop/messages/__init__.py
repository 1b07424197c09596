"""A catalogue of messages of OpenVINO, ONNX Runtime and onnx.checker, and their explanations."""
