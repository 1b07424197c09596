"""Conversion of decision trees, linear models and features of ai.onnx.ml to OpenVINO."""
