"""Small OpenVINO models for the tests of passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify
from irloop.passes import Manager
from irloop.passes.base import Pass

__all__ = ["Build", "after", "model_of"]

Build = Callable[..., Any]


def model_of(build: Build, *inputs: tuple[ElementType, tuple[int | None, ...]]) -> Model:
    """A model with inputs x0, x1, ... and the outputs that `build` returns for a builder and these
    inputs.
    """
    builder = Builder(Graph("g"))
    given = [
        builder.parameter(f"x{at}", TensorType(element, Shape.of(*dims)))
        for at, (element, dims) in enumerate(inputs)
    ]
    made = build(builder, *given)
    for at, value in enumerate(made if isinstance(made, list) else [made]):
        builder.result(value, f"y{at}")
    return Model(builder.graph, "openvino", 10)


def after(model: Model, item: Pass) -> Model:
    """Run a pass, verify the model, assert that a second run changes nothing, and return the
    model.
    """
    Manager([item], check=True).run_passes(model)
    verify(model.graph)
    assert not Manager([item]).run_passes(model)
    return model
