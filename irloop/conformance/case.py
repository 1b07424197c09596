"""A case of the suite: a model, a few inferences, and the outputs a specification asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irloop.graph.model import Model

__all__ = ["Case", "Run", "empty", "run"]


@dataclass(frozen=True, slots=True)
class Run:
    """One inference: inputs and expected outputs in the order of the model.

    Values are numbers or nested lists, and take the element types that the model declares; None
    is an output that the specification leaves undefined. All runs of a case are inferences of one
    compiled model, one after the other: an engine must not keep anything from run to run.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A model with inferences whose results were worked out by hand.

    `feature` is the row of the table. `model` is an ONNX model in ONNX's text format, or a
    function that builds an IR. `text` is the sentence of the specification that the expected
    outputs follow, and `source` the operator and version it is from. What no specification allows
    but files hold all the same `may_be_refused`: to refuse it is right, and so are the outputs.
    A case that is `on_demand` runs only where it is named: all engines, irloop among them, have
    settled on something else than the specification, or the case alone does not show the fault.
    """

    name: str
    feature: str
    source: str
    text: str
    model: str | Callable[[], Model]
    runs: tuple[Run, ...]
    may_be_refused: bool = False
    on_demand: bool = False

    @property
    def format(self) -> str:
        """The format of the model: onnx or openvino."""
        return "onnx" if isinstance(self.model, str) else "openvino"


@dataclass(frozen=True, slots=True)
class Empty:
    """An array without elements: its shape, which a nested list cannot give."""

    shape: tuple[int, ...]


def empty(*shape: int) -> Empty:
    """An array of this shape, which has a dimension of 0."""
    return Empty(shape)


def run(inputs: Sequence[Any], outputs: Sequence[Any]) -> Run:
    """One inference."""
    return Run(tuple(inputs), tuple(outputs))
