"""Element types of inputs: irloop allows those that the definitions of ONNX Runtime allow.

The definitions are the schemas that ONNX Runtime exposes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import irloop
from irloop.dialects.contrib.base import DOMAIN, ContribOp
from irloop.dialects.onnx.base import ONNX
from irloop.errors import ExecutionError, InferenceError, IrloopError
from irloop.execution.session import Session
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType
from tests.ops.contrib.against_runtime import Case, model_of

#: The names that ONNX Runtime gives element types.
ELEMENTS = {
    "tensor(double)": ElementType.F64,
    "tensor(float)": ElementType.F32,
    "tensor(float16)": ElementType.F16,
    "tensor(bfloat16)": ElementType.BF16,
    "tensor(bool)": ElementType.BOOLEAN,
    "tensor(string)": ElementType.STRING,
    "tensor(float4e2m1)": ElementType.F4E2M1,
    "tensor(float8e4m3fn)": ElementType.F8E4M3,
    "tensor(float8e4m3fnuz)": ElementType.F8E4M3FNUZ,
    "tensor(float8e5m2)": ElementType.F8E5M2,
    "tensor(float8e5m2fnuz)": ElementType.F8E5M2FNUZ,
    **{
        f"tensor({sign}int{bits})": ElementType(f"{sign or 'i'}{bits}")
        for sign in ("", "u")
        for bits in (4, 8, 16, 32, 64)
    },
}


class Input(NamedTuple):
    """An input of a schema: its type parameter, and the element types that it may have."""

    name: str
    parameter: str
    allowed: frozenset[ElementType]


def schemas() -> dict[str, list[Input]]:
    """The inputs of each operation of com.microsoft, from ONNX Runtime."""
    runtime = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    found = {}
    for schema in runtime.get_all_operator_schema():
        if schema.domain != DOMAIN:
            continue
        given = {item.type_param_str: item.allowed_type_strs for item in schema.type_constraints}
        found[schema.name] = [
            Input(
                item.name,
                item.typeStr,
                frozenset(
                    ELEMENTS[text]
                    for text in given.get(item.typeStr, [item.typeStr])
                    if text in ELEMENTS
                ),
            )
            for item in schema.inputs
        ]
    return found


SCHEMAS = schemas()
CLASSES = [
    cls
    for cls in ONNX.all()
    if issubclass(cls, ContribOp) and cls.domain == DOMAIN and cls.type in SCHEMAS
]


def made(cls: type[ContribOp]) -> ContribOp:
    """An operation of the class, with some value for each required attribute."""
    hints = cls.attribute_types()
    values = {int: 1, float: 1.0, str: "", ElementType: ElementType.F32}
    required = [item.name for item in fields(cls) if item.default is MISSING]
    return cls(**{name: values.get(hints[name], (1,)) for name in required})


def allows(cls: type[ContribOp], elements: list[ElementType]) -> bool:
    """Whether irloop allows inputs of these element types, whose shapes are unknown."""
    builder = Builder(Graph("graph"))
    values = [
        builder.parameter(f"x{at}", TensorType(element, Shape(None)))
        for at, element in enumerate(elements)
    ]
    try:
        builder.emit(made(cls), *values, n_outputs=cls.n_outputs or 1)
    except InferenceError as error:
        return error.kind != "elements"
    return True


def usual(inputs: list[Input]) -> list[ElementType]:
    """One allowed element type for each input, the same for all inputs of a type parameter."""
    return [
        ElementType.F32 if ElementType.F32 in item.allowed else min(item.allowed, key=str)
        for item in inputs
    ]


def changed(inputs: list[Input], at: int, element: ElementType) -> Iterator[list[ElementType]]:
    """The usual types with another one at `at`, alone and with all inputs of its parameter."""
    alone = usual(inputs)
    alone[at] = element
    yield alone
    yield [
        element if item.parameter == inputs[at].parameter else given
        for item, given in zip(inputs, alone, strict=True)
    ]


def is_valid(inputs: list[Input], elements: list[ElementType]) -> bool:
    """Whether ONNX Runtime's definition allows these element types together."""
    bound: dict[str, ElementType] = {}
    return all(
        element in item.allowed and bound.setdefault(item.parameter, element) is element
        for item, element in zip(inputs, elements, strict=True)
    )


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.type)
def test_element_types_are_those_of_onnx_runtimes_definition(cls: type[ContribOp]) -> None:
    inputs = SCHEMAS[cls.type]
    assert allows(cls, usual(inputs))
    for at in range(len(inputs)):
        for element in ELEMENTS.values():
            for elements in changed(inputs, at, element):
                assert allows(cls, elements) == is_valid(inputs, elements), (
                    f"{inputs[at].name}: {[str(item) for item in elements]}"
                )


def test_a_product_of_f32_and_f16_is_refused_by_all_commands(tmp_path: Path) -> None:
    arrays: list[Any] = [np.ones((2, 3), np.float32), np.ones((3, 4), np.float16)]
    file = tmp_path / "model.onnx"
    file.write_bytes(model_of(Case("FusedMatMul", arrays)).SerializeToString())
    message = "'a' and 'b' differ in element type"
    assert any(message in item.message for item in irloop.validate(file))
    model = irloop.read_model(file)
    with pytest.raises(IrloopError, match=message):
        irloop.convert(model)
    with pytest.raises(IrloopError, match=message):
        irloop.convert(model, "onnx", standard=True)
    with pytest.raises(ExecutionError, match=message):
        Session(model).run(arrays)
