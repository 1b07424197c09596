"""Runs models with NumPy only: a graph is compiled once to a flat program, which is then run."""
