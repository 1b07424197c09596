"""Builds models in Python: operations by name, loops and branches as `with` blocks."""
