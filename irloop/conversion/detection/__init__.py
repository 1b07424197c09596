"""Conversion of boxes, suppression and regions of interest."""
