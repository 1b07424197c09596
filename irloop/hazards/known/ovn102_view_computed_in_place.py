"""OVN102: a state computed in place in the memory of a slice."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop, same_memory
from irloop.hazards.shared_memory import is_copy, may_share, moving

__all__ = ["ViewComputedInPlace"]


class ViewComputedInPlace(
    Hazard,
    code="OVN102",
    engine="openvino",
    versions=("2026.4.1",),
    title="A state computed in place in the memory of a slice",
    effect=Effect.WRONG,
    case="iterator_reads_a_view_of_a_slice",
    passes=("body_barriers",),
):
    """A state computed in place in the memory of a slice.

    What happens:
        The plugin computes the state in the memory of the slice. It then copies the next slice into
        this memory before it copies the state over the back edge: the state has a wrong value.
    Where:
        The next value of a state is computed elementwise from a Reshape, Squeeze, Unsqueeze or
        Transpose of a slice or of another state; or it is computed from a Concat, Split or
        VariadicSplit of them, if only axes of size 1 are in front of the axis of this operation.
    What irloop does:
        Conversion to IR copies the value in the body; for a model that is already IR, the
        pass body_barriers does this.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        others = moving(body)
        for port in body.ports.carried:
            own, value = body.graph.input(port.parameter), body.graph.output(port.result)
            if same_memory(value) in others or is_copy(value):
                continue
            if may_share(value, others - {own}):
                yield f"the next value of state {own.name!r} is computed from a view"
