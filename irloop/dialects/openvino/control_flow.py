"""TensorIterator, Loop and If; how they are wired is in the port maps of their bodies."""

from __future__ import annotations

from irloop.dialects.openvino.base import OpenVinoOp

__all__ = ["If", "Loop", "TensorIterator"]


class TensorIterator(OpenVinoOp, type="TensorIterator", since=1, inputs=(0, None), outputs=None):
    """Runs its body once for each slice (TensorIterator-1)."""


class Loop(OpenVinoOp, type="Loop", since=5, inputs=(2, None), outputs=None):
    """Runs its body while the trip count and the condition allow (Loop-5).

    Input 0 is the trip count (-1: no limit), input 1 the condition before the first iteration.
    """


class If(OpenVinoOp, type="If", since=8, inputs=(1, None), outputs=None):
    """Runs one of its bodies, labelled then and else (If-8). Input 0 is the condition."""
