"""Resizing of tensors along some of their axes (Interpolate, Resize, Upsample)."""
