"""irloop: OpenVINO IR to ONNX and back, loops included, proved by running both."""
