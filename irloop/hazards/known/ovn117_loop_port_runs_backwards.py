"""OVN117: a Loop with an input or output that runs backwards."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["LoopPortRunsBackwards"]


class LoopPortRunsBackwards(
    Hazard,
    code="OVN117",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Loop with an input or output that runs backwards",
    effect=Effect.REFUSAL,
    case="openvino_loop_runs_backwards",
    fix="Reverse the value outside of the Loop.",
):
    """A Loop with an input or output that runs backwards.

    What happens:
        The model is not compiled (Check 'start == 0 && stride == 1'): while OpenVINO removes inputs
        that the body does not read, it supports only ports that go forward.
    Where:
        A sliced input or a concatenated output of a Loop has a negative stride.
    What irloop does:
        Conversion to IR reverses the value outside the Loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop):
            return
        ports = node.body().ports
        for port in (*ports.inputs, *ports.outputs):
            if isinstance(port, Sliced | Concatenated) and port.stride < 0:
                kind = "input" if isinstance(port, Sliced) else "output"
                yield f"{kind} {port.external} of the Loop runs backwards"
