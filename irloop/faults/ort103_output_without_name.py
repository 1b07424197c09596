"""ORT103: a Loop output has an empty name."""

from __future__ import annotations

from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault

__all__ = ["OutputWithoutName"]


class OutputWithoutName(
    Fault,
    code="ORT103",
    engine="onnxruntime",
    title="A Loop output has an empty name",
    effect=Effect.CRASH,
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


@OutputWithoutName.case(
    "loop_output_without_name",
    "Loop: scan outputs",
    "ONNX Loop-16",
    "An output that nothing reads may have an empty name.",
    run([2, [1, -2]], [[[-1, 2], [-2, 4]]]),
)
def smallest() -> str:
    return onnx_text("""
g (int64 n, float[2] x) => (float[k, 2] z) {
  "", z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Add (a, a)  s = Neg (a)
  }> (n, "", x)
}""")
