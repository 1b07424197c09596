"""OVN168: a NonZero that depends on the size of a state whose size changes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.search import NonZero
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop
from irloop.hazards.states import resizing_states, size_reaches_a_nonzero

__all__ = ["NonzeroOfAChangingSize"]


class NonzeroOfAChangingSize(
    Hazard,
    code="OVN168",
    engine="openvino",
    versions=("2026.4.1",),
    title="A NonZero that depends on the size of a state whose size changes",
    effect=Effect.REFUSAL,
    case="openvino_loop_nonzero_of_a_changing_size",
    fix="Repeat the initial value of the state once by a Tile whose repeats are computed.",
):
    """A NonZero that depends on the size of a state whose size changes.

    What happens:
        OpenVINO computes the NonZero from the initial size of the state, and keeps the result when
        it finds out that the size changes. It refuses the model: the check same_scheme failed.
    Where:
        A loop has a state whose initial size is known and whose later sizes differ. The input of a
        NonZero in its body follows from the size of the state alone. This was measured for next
        values that are repeated 1 + (n - n) times by a Tile, as irloop writes them.
    What irloop does:
        Conversion to IR gives the initial value a size that the plugin does not know. It does so if
        the input of a NonZero depends on the size in any way.
    """

    only_with_body = True
    beside = (NonZero,)

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        for port in resizing_states(node):
            state = node.body().graph.input(port.parameter)
            if size_reaches_a_nonzero(state):
                yield f"state {state.name!r} may change its size, and a NonZero depends on its size"
