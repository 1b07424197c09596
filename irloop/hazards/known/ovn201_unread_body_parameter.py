"""OVN201: a mapped body parameter that nothing reads."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["UnreadBodyParameter"]


class UnreadBodyParameter(
    Hazard,
    code="OVN201",
    engine="openvino",
    versions=("2021.4.2",),
    title="A mapped body parameter that nothing reads",
    effect=Effect.REFUSAL,
    rule="IRL513",
    fix="irloop transform --pass canonical_ports",
):
    """A mapped body parameter that nothing reads.

    What happens:
        OpenVINO 2021.4 does not read the file.
    Where:
        The port map names a Parameter whose output no layer of the body reads.
    What irloop does:
        Conversion to IR leaves such a parameter out.
    """
