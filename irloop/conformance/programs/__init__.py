"""Random programs with loops, which are generated from a seed, computed in NumPy and written as
models.
"""
