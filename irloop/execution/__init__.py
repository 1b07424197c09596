"""Runs models: a graph is compiled once to a flat program, which NumPy alone runs."""
