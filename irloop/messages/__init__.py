"""The catalogue of messages of OpenVINO, ONNX Runtime and onnx.checker, and how to explain them."""
