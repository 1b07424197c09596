"""ORT120: a branch changes the declared size of a state."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["SizeOfAState"]


class SizeOfAState(
    Hazard,
    code="ORT120",
    engine="onnxruntime",
    versions=("1.32.0",),
    title="A branch changes the declared size of a state",
    effect=Effect.REFUSAL,
    case="state_grows_in_a_branch",
    rule="ONX213",
    fix="Declare the dimension of the state without a size.",
):
    """A branch changes the declared size of a state.

    What happens:
        ONNX Runtime assumes that the state has its declared size in every iteration. It allocates
        the output of the If with the size that follows from this, and the inference fails if the
        branch returns another size.
    Where:
        The body of a Loop declares the size of a state, and an If in the body returns the state
        with another size. The exporter of TorchScript declares a list that grows in a branch as
        float[0].
    What irloop does:
        Conversion to IR and back declares the dimension without a size.
    """
