"""Whole models of realistic shape, with random weights, as exporters write them.

One file a model; `MODELS` has them all. `layers.py` is what they are built with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import onnx

from tests.models import classifier, crnn, detector, encoder, translator

__all__ = ["MODELS", "WholeModel"]


@dataclass(frozen=True)
class WholeModel:
    """A model and the sets of inputs it is tried with."""

    build: Callable[[], onnx.ModelProto]
    inputs: Callable[[], list[list[Any]]]


MODELS = {
    "classifier": WholeModel(classifier.build, classifier.inputs),
    "detector": WholeModel(detector.build, detector.inputs),
    "encoder": WholeModel(encoder.build, encoder.inputs),
    "crnn": WholeModel(crnn.build, crnn.inputs),
    "translator": WholeModel(translator.build, translator.inputs),
}
