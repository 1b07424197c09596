"""A case of the suite: a model, a few inferences, and the outputs that a specification demands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irloop.graph.model import Model

__all__ = ["Case", "Run", "empty", "onnx_text", "run"]


@dataclass(frozen=True, slots=True)
class Run:
    """One inference: inputs and expected outputs in the order of the model.

    Values are numbers or nested lists, and get the element types that the model declares; None is
    an output that the specification leaves undefined. All runs of a case are successive inferences
    of one compiled model, and an engine must not carry values over from one run to the next.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A model with inferences whose results were calculated by hand.

    `feature` is the row of the conformance table to which the case belongs. `model` is an ONNX
    model in ONNX's text format, or a function that builds an IR. `text` is the sentence of the
    specification that determines the expected outputs, and `source` the operator and version from
    which it is taken. `may_be_refused` is true if no specification allows the model, although such
    files exist: an engine is then right if it refuses the model, and also if it returns the outputs
    of the case. A case with `on_demand` runs only if the user names it. The reason is either that
    all engines, including irloop, deviate from the specification in the same way, or that the case
    alone does not show the fault.
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
    """An array without elements, given by its shape.

    A nested list cannot express such a shape, [2, 0] or [0, 2] for example.
    """

    shape: tuple[int, ...]


def empty(*shape: int) -> Empty:
    """An array of this shape, which must have a dimension of 0."""
    return Empty(shape)


def run(inputs: Sequence[Any], outputs: Sequence[Any]) -> Run:
    """Make a `Run` from lists of inputs and outputs."""
    return Run(tuple(inputs), tuple(outputs))


def onnx_text(graph: str, opset: int = 17) -> str:
    """Make a model in ONNX's text format from the text of its graph."""
    return f'<ir_version: 8, opset_import: ["": {opset}]>\n{graph}'
