"""Removes axes that a body takes away and adds again."""

from __future__ import annotations

from irloop.passes.common.identity_elimination import SQUEEZES, UNSQUEEZES, IdentityElimination

__all__ = ["PairedReshapes"]


class PairedReshapes(IdentityElimination):
    """Removes Squeeze and Unsqueeze where what is before them has the shape that comes out.

    Given::

        Loop(x [5,2]):  s [1,2]: x[axis 0]    y = Relu(Unsqueeze(Squeeze(s, 0), 0))

    Result::

        Loop(x [5,2]):  s [1,2]: x[axis 0]    y = Relu(s)

    Other operations without effect may be there for the sake of an engine.
    """

    name = "paired_reshapes"
    operations = (*SQUEEZES, *UNSQUEEZES)
