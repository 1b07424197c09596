"""Comparison: two models, the same inputs, and what differs, where and since which iteration."""
