"""Decision trees, linear models and features of ai.onnx.ml in OpenVINO."""
