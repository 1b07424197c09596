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
        ONNX Runtime takes the declared size of a state for that of every iteration. It allocates
        what an If returns in the size that follows, and the inference fails if it has another.
    Where:
        The body of a Loop declares a state with a size, and an If in the body returns the state in
        another one. The exporter of TorchScript declares a list that grows in a branch as float[0].
    What irloop does:
        Conversion to IR and back declares the dimension without a size.
    """
