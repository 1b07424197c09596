"""OVN142: a Concat of a loop output with itself."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import joined_repeatedly

__all__ = ["ConcatOfOneLoopOutput"]


class ConcatOfOneLoopOutput(
    Hazard,
    code="OVN142",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Concat of a loop output with itself",
    effect=Effect.STALE,
    minimal=False,
    case="openvino_loop_concat_of_one_output",
    fix="Let the Concat read Maximum(y, y).",
):
    """A Concat of a loop output with itself.

    What happens:
        In requests other than the first, only one part of the result has the values of the current
        inference; the others have those of an earlier one, or memory that nothing has written. With
        one request for all inferences, as in the conformance suite, the results are right.
    Where:
        A Concat gets an output of a Loop or TensorIterator more than once, directly or through
        reshapes and other Concats. The output has a known size, but another output or an input of
        the loop has an unknown one.
    What irloop does:
        Conversion to IR and `transform` let the Concat read a copy.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            if joined_repeatedly(value):
                yield f"a Concat gets output {value.index} more than once"
