"""ORT103: a Loop output has an empty name."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["OutputWithoutName"]


class OutputWithoutName(
    Hazard,
    code="ORT103",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A Loop output has an empty name",
    effect=Effect.CRASH,
    case="loop_output_without_name",
    rule="ONX303",
    fix="Give the output a name that nothing reads.",
):
    """A Loop output has an empty name.

    What happens:
        The process crashes with a segmentation fault while the model runs.
    Where:
        A Loop omits one of its outputs by an empty name, as the standard allows.
    What irloop does:
        The ONNX writer names every output of a loop.
    """
