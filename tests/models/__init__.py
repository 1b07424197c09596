"""Realistic whole models with random weights, written as by exporters.

Each file has one model; `MODELS` lists all of them. `layers.py` contains their building blocks.
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
    """A model, and sets of inputs to run it with."""

    build: Callable[[], onnx.ModelProto]
    inputs: Callable[[], list[list[Any]]]


MODELS = {
    "classifier": WholeModel(classifier.build, classifier.inputs),
    "detector": WholeModel(detector.build, detector.inputs),
    "encoder": WholeModel(encoder.build, encoder.inputs),
    "crnn": WholeModel(crnn.build, crnn.inputs),
    "translator": WholeModel(translator.build, translator.inputs),
}
