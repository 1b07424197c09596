"""ORT110: a Loop joins one tensor of strings more than once.

A scan output of a Loop joins the values that one result of the body has in all iterations. For
strings, ONNX Runtime moves them into the scan output instead of copying them. If two scan outputs
join the same tensor, or if one joins an input of the body, the strings are therefore empty when
they are used again.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.results import joined_strings
from irloop.dialects.onnx import control_flow as onnx
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Node

__all__ = ["StringsJoinedTwice"]


class StringsJoinedTwice(
    Fault,
    code="ORT110",
    engine="onnxruntime",
    title="A Loop joins one tensor of strings more than once",
    effect=Effect.WRONG,
    rule="ONX313",
    passes=("separate_results",),
):
    """A Loop joins one tensor of strings more than once.

    What happens:
        Strings are moved into the concatenated tensor, so the second copy contains empty strings.
    Where:
        A scan output of strings is an input of the body, or another scan output.
    What irloop does:
        Conversion to ONNX copies the value in the body.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, onnx.Loop):
            for result in joined_strings(node.body()):
                yield f"the strings of result {result.name!r} of the body have another use"


@StringsJoinedTwice.case(
    "loop_exchanges_states_of_string",
    "Element types",
    "ONNX Loop-16",
    "The loop operation returns the output value of the output variable produced by the final "
    "iteration.",
    run([3, ["a", ""], ["it", "é"]], [["it", "é"], ["a", ""], [["a", ""], ["it", "é"], ["a", ""]]]),
    run([2, ["a", ""], ["it", "é"]], [["a", ""], ["it", "é"], [["a", ""], ["it", "é"]]]),
)
def smallest() -> str:
    return onnx_text("""
g (int64 n, string[2] x, string[2] y) => (string[2] p, string[2] q, string[k, 2] z) {
  p, q, z = Loop <body = b (int64 i, bool c, string[2] a, string[2] e)
      => (bool d, string[2] r, string[2] s, string[2] t) {
    d = Identity (c)  r = Identity (e)  s = Identity (a)  t = Identity (a)
  }> (n, "", x, y)
}""")
