"""Translating a graph node by node, and what every conversion shares."""
