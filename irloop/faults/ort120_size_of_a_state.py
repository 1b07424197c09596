"""ORT120: a branch changes the declared size of a state."""

from __future__ import annotations

from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault

__all__ = ["SizeOfAState"]


class SizeOfAState(
    Fault,
    code="ORT120",
    engine="onnxruntime",
    title="A branch changes the declared size of a state",
    effect=Effect.REFUSAL,
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


@SizeOfAState.case(
    "state_grows_in_a_branch",
    "ONNX outside of the standard: refused, or as meant",
    "ONNX IR",
    (
        "The shape of a state may change between iterations; this body declares it as that of the "
        "first."
    ),
    run([2], [[1]]),
    run([4], [[1, 1, 1]]),
    may_be_refused=True,
)
def smallest() -> str:
    return onnx_text("""
g (int64 n) => (float[k] y) <float[0] none = {}, float[1] one = {1.0}> {
  y = Loop <body = b (int64 i, bool c, float[0] s) => (bool c, float[p] t) {
    later = Cast <to = 9> (i)
    t = If (later) <then_branch = grow () => (float[u] a) { a = Concat <axis = 0> (s, one) },
                    else_branch = keep () => (float[v] b) { b = Identity (s) }>
  }> (n, "", none)
}""")
