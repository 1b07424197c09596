"""The rules, one module per code."""
