"""OVN102: a state computed in place in the memory of a slice."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ViewComputedInPlace"]


class ViewComputedInPlace(
    Hazard,
    code="OVN102",
    engine="openvino",
    versions=("2026.4.1",),
    title="A state computed in place in the memory of a slice",
    effect=Effect.WRONG,
    case="iterator_reads_a_view_of_a_slice",
    fix="irloop transform --pass body_barriers",
):
    """A state computed in place in the memory of a slice.

    What happens:
        The plugin takes a view of a sliced parameter for memory that it may write to, and cuts the
        next slice into it before the back edge is carried out: a state holds the wrong slice.
    Where:
        A state continues with a value that is computed element by element from a Reshape, Squeeze,
        Unsqueeze or Transpose of a slice or of another state.
    What irloop does:
        Conversion to IR copies the value in the body; the pass body_barriers does so in an IR.
    """
