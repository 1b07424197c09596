"""ORT102: a Scan body returns one value as two results."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ValueReturnedTwice"]


class ValueReturnedTwice(
    Hazard,
    code="ORT102",
    engine="onnxruntime",
    versions=("1.31.1",),
    title="A Scan body returns one value as two results",
    effect=Effect.WRONG,
    case="scan_body_returns_a_value_as_state_and_scan_output",
    rule="ONX310",
    fix="Compute a copy of the value in the body: irloop transform --pass separate_results.",
):
    """A Scan body returns one value as two results.

    What happens:
        One of the two results is never written: the last state of a Scan
        holds garbage.
    Where:
        Two results of a Scan body are the same value, for example a state that
        is also a scan output.
    What irloop does:
        Conversion to ONNX copies the value for one of the two results.
    """
