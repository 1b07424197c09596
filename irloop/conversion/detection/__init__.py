"""Boxes, suppression and regions of interest in the other dialect."""
