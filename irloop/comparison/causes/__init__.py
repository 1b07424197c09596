"""Finds the cause of a difference between two models."""
