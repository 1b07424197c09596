"""Generated programs with loops: drawn from a seed, computed in NumPy, written in a format."""
