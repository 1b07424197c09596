"""OVN103: softmax of an invariant value in a loop body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.activation import LogSoftmax, SoftMax1, SoftMax8
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_invariant, owner_of, same_memory

__all__ = ["SoftmaxOfInvariant"]


class SoftmaxOfInvariant(
    Hazard,
    code="OVN103",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="Softmax of an invariant value in a loop body",
    effect=Effect.WRONG,
    case="openvino_loop_softmax_of_an_invariant",
    passes=("hoist_invariants", "body_barriers"),
):
    """Softmax of an invariant value in a loop body.

    What happens:
        The plugin computes the Softmax in place, in the memory of the invariant value: the second
        iteration computes the Softmax of the first one's result.
    Where:
        A SoftMax or LogSoftmax in the body of a Loop or TensorIterator reads an invariant
        parameter.
    What irloop does:
        Conversion to IR computes the Softmax of such a value before the loop, or of a copy of it.
    """

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, SoftMax1 | SoftMax8 | LogSoftmax) or node.inputs[0] is None:
            return
        place = owner_of(node)
        if place is not None and is_invariant(place[1], same_memory(node.inputs[0])):
            yield f"{node.op.type} {node.name!r} reads an invariant input of its loop"
