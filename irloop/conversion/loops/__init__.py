"""Conversion of Loop, TensorIterator, Scan, If, sequences and recurrent operations."""
