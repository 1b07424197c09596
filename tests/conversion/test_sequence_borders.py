"""Models whose inputs and outputs are sequences or optionals, in IR, which has tensors only."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.conversion.pipelines import only_by_function, to_openvino
from irloop.errors import UnsupportedError, UsageError
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.graph.model import Model

loader = pytest.importorskip("onnx.backend.test.loader")
parser = pytest.importorskip("onnx.parser")

MAPS = [
    "identity_1_sequence",
    "identity_2_sequences",
    "identity_1_sequence_1_tensor",
    "add_2_sequences",
    "add_1_sequence_1_tensor",
    "extract_shapes",
]

NAMES = [
    *(f"test_sequence_map_{name}{suffix}" for name in MAPS for suffix in ("", "_expanded")),
    "test_identity_sequence",
    "test_identity_opt",
    "test_if_seq",
    "test_optional_get_element_optional_tensor",
    "test_optional_get_element_optional_sequence",
    "test_optional_get_element_sequence",
    "test_optional_has_element_tensor_input",
    "test_optional_has_element_optional_input",
    "test_optional_has_element_empty_optional_input",
    "test_sequence_insert_at_back",
    "test_split_to_sequence_2",
    "test_split_to_sequence_nokeepdims",
]


@cache
def cases() -> dict[str, Any]:
    """The node tests of the onnx package by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in loader.load_model_tests(kind="node")}


def held(value: Any) -> list[Any]:
    """The tensors in the value of a test."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", NAMES)
def test_tensors_take_the_place_of_sequences(name: str) -> None:
    case = cases()[name]
    given, wanted = case.data_sets[0]
    inputs = dict(zip((item.name for item in case.model.graph.input), given, strict=True))
    lengths = {
        item.name: len(held(inputs[item.name]))
        for item in case.model.graph.input
        if not item.type.HasField("tensor_type")
    }
    source = reader.from_proto(case.model, expand=only_by_function)
    model, notes = to_openvino(source, lengths=lengths)
    found = list(Session(model).run([array for value in given for array in held(value)]).values())
    expected = [array for value in wanted for array in held(value)]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    sequences = any(not item.type.HasField("tensor_type") for item in case.model.graph.output)
    assert [note.code for note in notes] == ["CNV108"] * sequences * len(wanted)


def model_of(text: str) -> Model:
    """A model from ONNX's text form."""
    header = '<ir_version: 8, opset_import: ["": 17]>'
    return reader.from_proto(parser.parse_model(header + text))


JOINED = "f (float[2] a, seq(float[2]) x, float[2] b) => (float[n] y, seq(float[2]) z) "
JOINED += (
    "{ z = SequenceInsert(x, b)  w = SequenceInsert(z, a)  y = ConcatFromSequence<axis=0>(w) }"
)


def test_tensors_of_a_sequence_take_its_position_and_numbered_names() -> None:
    model, _ = irloop.convert(model_of(JOINED), lengths={"x": 2})
    assert [node.name for node in model.graph.parameters] == ["a", "x_0", "x_1", "b"]
    assert [node.name for node in model.graph.results] == ["y", "z_0", "z_1", "z_2"]
    arrays = [np.full(2, number, np.float32) for number in range(4)]
    y, *z = Session(model).run(arrays).values()
    np.testing.assert_array_equal(y, [1, 1, 2, 2, 3, 3, 0, 0])
    np.testing.assert_array_equal(z, arrays[1:])


def test_an_empty_sequence_input_is_removed() -> None:
    model, _ = irloop.convert(model_of(JOINED), lengths={"x": 0})
    assert [node.name for node in model.graph.parameters] == ["a", "b"]


def test_the_given_model_is_not_changed() -> None:
    source = model_of(JOINED)
    for length in (2, 3):
        model, _ = irloop.convert(source, lengths={"x": length}, shapes={"a": [2]})
        assert len(model.graph.parameters) == length + 2
        assert [node.name for node in source.graph.parameters] == ["a", "x", "b"]
        assert [node.op.type for node in source.graph.nodes] == [
            "SequenceInsert",
            "SequenceInsert",
            "ConcatFromSequence",
        ]


def test_a_missing_length_is_refused() -> None:
    with pytest.raises(UnsupportedError) as caught:
        irloop.convert(model_of(JOINED))
    assert any("--length x=2" in item.fix for item in caught.value.diagnostics)


@pytest.mark.parametrize("lengths", [{"a": 1}, {"none": 2}, {"x": -1}])
def test_lengths_that_an_input_cannot_have_are_refused(lengths: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        irloop.convert(model_of(JOINED), lengths=lengths)
