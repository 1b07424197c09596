"""Conversion of Loop, TensorIterator, Scan, If and sequences of tensors."""
