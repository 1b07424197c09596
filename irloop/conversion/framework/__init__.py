"""Translates a graph node by node; contains everything that all conversions share."""
