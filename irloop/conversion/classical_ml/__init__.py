"""Decision trees, linear models and features of ai.onnx.ml in the other dialect."""
