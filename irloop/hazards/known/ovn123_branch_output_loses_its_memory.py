"""OVN123: an output of an If whose size is known only at run time."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import loses_its_memory

__all__ = ["BranchOutputLosesItsMemory"]


class BranchOutputLosesItsMemory(
    Hazard,
    code="OVN123",
    engine="openvino",
    versions=("2026.4.1",),
    title="An output of an If whose size is known only at run time",
    effect=Effect.WRONG,
    case="openvino_if_is_an_output",
    fix="Read the output through a Slice from 0 to its ShapeOf.",
):
    """An output of an If whose size is known only at run time.

    What happens:
        Before the plugin computes the operations after the If, it infers their shapes and allocates
        their memory, up to an operation whose shape depends on values. It ignores that these
        operations still have to read the output of the If, and lets another value use the memory of
        this output. The output is lost if that value is larger than in any earlier inference or
        iteration. This also happens to an output of the model that the If computes, if the plugin
        converts its element type, because the conversion is an operation after the If.
    Where:
        An If has an output of unknown size, and an operation other than ShapeOf or Slice reads it.
    What irloop does:
        Conversion to IR lets operations read such an output through a Slice of the whole output.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            if loses_its_memory(value):
                yield f"output {value.index} of the If has a size that is known only at run time"
