"""Shrinks two models that differ to the smallest models that still differ."""
