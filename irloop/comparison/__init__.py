"""Compares two models on the same inputs, and locates the first difference."""
