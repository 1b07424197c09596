"""Random numbers and variables: what neither dialect can say for the other, and why."""

from __future__ import annotations

from irloop.conversion.framework import Conversion, RefusedError, exports, imports
from irloop.dialects.onnx import random as onnx
from irloop.dialects.openvino import random as ov
from irloop.dialects.openvino import state as ov_state
from irloop.graph.model import Value

__all__: list[str] = []

_FIX = "make the random numbers an input of the model"


@exports(ov.RandomUniform, ov.Multinomial)
def export_random(c: Conversion, op: ov.RandomUniform | ov.Multinomial, *inputs: Value) -> Value:
    raise c.refuse("ONNX leaves the generator open, so the numbers would be others", _FIX)


@imports(
    onnx.RandomNormal,
    onnx.RandomNormalLike,
    onnx.RandomUniform,
    onnx.RandomUniformLike,
    onnx.Bernoulli,
    onnx.Multinomial,
)
def import_random(c: Conversion, op: object, *inputs: Value) -> Value:
    raise c.refuse("its numbers depend on the runtime's generator, OpenVINO's are others", _FIX)


@exports(ov_state.ReadValue, ov_state.ReadValue6, ov_state.Assign, ov_state.Assign6)
def export_state(c: Conversion, op: ov_state.ReadValue, *inputs: Value) -> Value:
    raise _variable(c, op.variable_id)


def _variable(c: Conversion, name: str) -> RefusedError:
    return c.refuse(
        f"ONNX has no variables that live from one run to the next (variable {name!r})",
        "make the state an input and an output of the model",
    )
