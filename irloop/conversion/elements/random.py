"""Refuses to convert operations that generate random numbers or access variables of a model.

Each runtime has its own generator, so the numbers would differ. Variables keep a value from one run
of an OpenVINO model to the next; ONNX has none.
"""

from __future__ import annotations

from irloop.conversion.framework.translation import EXPORTS, IMPORTS, no_counterpart
from irloop.dialects.onnx import random as onnx
from irloop.dialects.openvino import random as ov
from irloop.dialects.openvino import state as ov_state

__all__: list[str] = []

_AS_INPUT = "make the random numbers an input of the model"

no_counterpart(
    EXPORTS,
    ov.RandomUniform,
    ov.Multinomial,
    reason="ONNX does not specify the generator, so the numbers would differ",
    fix=_AS_INPUT,
)

no_counterpart(
    IMPORTS,
    onnx.RandomNormal,
    onnx.RandomNormalLike,
    onnx.RandomUniform,
    onnx.RandomUniformLike,
    onnx.Bernoulli,
    onnx.Multinomial,
    reason="its numbers depend on the generator of the runtime, and OpenVINO uses another one",
    fix=_AS_INPUT,
)

no_counterpart(
    EXPORTS,
    ov_state.ReadValue,
    ov_state.ReadValue6,
    ov_state.Assign,
    ov_state.Assign6,
    reason="ONNX has no variables that live from one run to the next",
    fix="convert it to an input and an output: irloop convert --stateless",
)
