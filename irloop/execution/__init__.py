"""Execution: a graph is compiled once to a flat program and run with NumPy alone."""
