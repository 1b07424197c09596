"""Random programs with loops, generated from a seed.

They are computed in NumPy and written as models.
"""
