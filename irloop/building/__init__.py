"""Builds models from Python: operations by name, loops and branches as `with` blocks."""
