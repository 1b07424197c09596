"""Conversion of operations on single elements."""
