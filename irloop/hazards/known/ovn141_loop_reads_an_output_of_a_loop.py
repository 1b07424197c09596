"""OVN141: a loop that reads an output of another loop."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop
from irloop.hazards.plugin import is_in_loop, is_result, reads_earlier_memory

__all__ = ["LoopReadsAnOutputOfALoop"]


class LoopReadsAnOutputOfALoop(
    Hazard,
    code="OVN141",
    engine="openvino",
    versions=("2026.4.1",),
    title="A loop that reads an output of another loop",
    effect=Effect.STALE,
    minimal=False,
    case="openvino_loop_reads_a_loop",
    fix="Let the loop read Maximum(y, y).",
):
    """A loop that reads an output of another loop.

    What happens:
        The memory of the output moves when the sizes of other values change. A loop whose own sizes
        and trip count stay the same keeps reading the old memory: it computes with values of an
        earlier inference, or with undefined values.
    Where:
        A Loop or TensorIterator reads an output of unknown size of another Loop or TensorIterator,
        a view of it, or the result of arithmetic between it and constants. Whether the memory moves
        depends on the rest of the model.
    What irloop does:
        Conversion to IR and `transform` let the loop read a copy.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            readers = [] if is_result(value) else reads_earlier_memory(value)
            if readers and (not is_in_loop(node) or any(is_loop(user) for user, _ in readers)):
                yield f"another loop reads output {value.index}"
