"""Refusals of models whose inputs lack types or sizes name the options that give them."""

from __future__ import annotations

import re

import pytest

import irloop
from irloop.conversion.targets import find_target, require_readable
from irloop.dialects.openvino import convert, elementwise, search, state
from irloop.errors import UnsupportedError
from irloop.graph.builder import Builder
from irloop.graph.inference import Inference
from irloop.graph.input_types import set_input_shapes, set_input_types
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType


def model(type: TensorType) -> Model:
    b = Builder(Graph("g"))
    x = b.parameter("x", type, ("x",))
    promoted = b.emit(convert.ConvertPromoteTypes(), x, b.constant(2, ElementType.I32)).outputs
    product = b(elementwise.Multiply(), *promoted)
    b.result(
        b.emit(search.TopK11(0, "max", "value"), product, b.i64(1), n_outputs=2).outputs[0], "y"
    )
    return Model(b.graph, "openvino", 11)


def test_the_options_that_a_refusal_names_make_the_model_convert() -> None:
    with pytest.raises(UnsupportedError) as caught:
        irloop.convert(model(TensorType(ElementType.DYNAMIC, Shape(None))))
    fixes = {item.fix for item in caught.value.diagnostics}
    assert fixes == {"give the inputs what is not known of them: --type x=f32 --shape x=N,..."}
    given = model(TensorType(ElementType.DYNAMIC, Shape(None)))
    set_input_types(given, {"x": "f32"})
    set_input_shapes(given, {"x": [5]})
    assert irloop.convert(given)[0].graph.outputs


def test_no_options_are_named_if_all_types_are_known() -> None:
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(2)), ("x",))
    b.result(b(state.ReadValue("v"), x), "y")
    with pytest.raises(UnsupportedError) as caught:
        irloop.convert(Model(b.graph, "openvino", 11))
    assert not any("--shape" in item.fix for item in caught.value.diagnostics)


def test_a_target_with_static_shapes_names_the_inputs_and_their_option() -> None:
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(None, 3)), ("x",))
    b.result(b(elementwise.Add(), b(elementwise.Tanh(), x), x), "y")
    dynamic = Model(b.graph, "openvino", 10)
    Inference().run(dynamic.graph)
    with pytest.raises(UnsupportedError) as caught:
        require_readable(dynamic, find_target("openvino-2021.4"))
    (item,) = caught.value.diagnostics
    assert re.search(r"--shape x=N,3$", item.fix)
