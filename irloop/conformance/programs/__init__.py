"""Random programs with loops: generated from a seed, computed in NumPy, written as models."""
