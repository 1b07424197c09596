"""ORT110: a Loop joins one tensor of strings more than once.

A scan output of a Loop joins the values that one result of the body has in all iterations. For
strings, ONNX Runtime moves them into the scan output instead of copying them. If two scan outputs
join the same tensor, or if one joins an input of the body, the strings are therefore empty when
they are used again.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.results import joined_strings

__all__ = ["StringsJoinedTwice"]


class StringsJoinedTwice(
    Hazard,
    code="ORT110",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A Loop joins one tensor of strings more than once",
    effect=Effect.WRONG,
    case="loop_exchanges_states_of_string",
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
