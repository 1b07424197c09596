"""Layers of neural networks in the other dialect."""
