"""ORT110: a Loop joins one tensor of strings more than once."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["StringsJoinedTwice"]


class StringsJoinedTwice(
    Hazard,
    code="ORT110",
    engine="onnxruntime",
    versions=("1.31.1",),
    title="A Loop joins one tensor of strings more than once",
    effect=Effect.WRONG,
    case="loop_exchanges_states_of_string",
    rule="ONX313",
    fix="irloop transform --pass separate_results",
):
    """A Loop joins one tensor of strings more than once.

    What happens:
        Strings are moved into the joined tensor: the second copy holds empty strings.
    Where:
        A scan output of strings is an input of the body, or another scan output.
    What irloop does:
        Conversion to ONNX copies the value in the body.
    """
