"""Conversion of operations that read, move or combine parts of tensors."""
