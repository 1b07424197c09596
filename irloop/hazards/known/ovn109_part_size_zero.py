"""OVN109: a part_size of 0."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["PartSizeZero"]


class PartSizeZero(
    Hazard,
    code="OVN109",
    engine="openvino",
    versions=("2026.4.1",),
    title="A part_size of 0",
    effect=Effect.CRASH,
    rule="IRL615",
    fix="Write the size of a slice.",
):
    """A part_size of 0.

    What happens:
        The process dies while the file is read.
    Where:
        A port map entry has part_size 0.
    What irloop does:
        Validation refuses the file.
    """
