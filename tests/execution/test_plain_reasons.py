"""Errors at run time explain the fault in the model, not the fault in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import irloop

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
RAW = re.compile(r"\w+Error\b|list index|object has no")


def test_a_concatenated_axis_that_does_not_exist(tmp_path: Path) -> None:
    """Python's own list of dimensions raises the error in the executor."""
    source = FIXTURES / "ir" / "iterator_reverse.xml"
    text, count = re.subn(
        r'(<output [^>]*?axis=)"\d+"', r'\1"7"', source.read_text(encoding="utf-8")
    )
    assert count
    path = tmp_path / "m.xml"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(bytes(4096))
    model = irloop.read_model(path)
    with pytest.raises(irloop.IrloopError) as caught:
        irloop.run(model, irloop.random_inputs(model))
    assert not RAW.search(str(caught.value).replace(str(path), ""))
    assert "IRL622: the tensor has no axis 7" in str(caught.value)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (IndexError("list index out of range"), ""),
        (KeyError("x"), ""),
        (AttributeError("'int' object has no attribute 'shape'"), ""),
        (ValueError("the lists of nodes differ in length"), "the lists of nodes differ in length"),
        (ZeroDivisionError("division by zero"), "division by zero"),
    ],
)
def test_only_texts_for_people_are_passed_on(error: Exception, expected: str) -> None:
    assert irloop.errors.plain_reason(error) == expected


def test_a_kernel_that_fails_names_the_types_of_its_inputs() -> None:
    from irloop.execution.failure import failure_of
    from irloop.graph.model import Graph
    from irloop.graph.types import ElementType, Shape, TensorType

    graph = Graph("g")
    x = graph.add_parameter("x", TensorType(ElementType.F32, Shape((2, 3))))
    node = graph.add_result(x, "y")
    failure = failure_of(node, IndexError("index 5 is out of bounds")).as_error()
    assert "index 5" not in str(failure)
    assert "f32[2,3]" in str(failure)
