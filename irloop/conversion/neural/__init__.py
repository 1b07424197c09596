"""Conversion of layers of neural networks."""
