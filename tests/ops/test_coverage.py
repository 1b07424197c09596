"""The known gaps of each operation; every operation of opset1 to opset8 has a class."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from irloop import operations
from irloop.dialects.attributes import operands_of
from irloop.dialects.openvino import OPENVINO
from irloop.graph.op import Op
from tests.archives import unpacked

#: Every missing facet with its reason; all other facets of all operations exist.
MISSING: dict[tuple[str, str], dict[str, str]] = {
    ("onnx", "import"): {
        "OpenVINO has another generator of random numbers": """
            Bernoulli-15 Multinomial-7 RandomNormal-1 RandomNormalLike-1 RandomUniform-1
            RandomUniformLike-1
        """,
        "OpenVINO computes nothing on text": """
            RegexFullMatch-20 StringConcat-20 StringNormalizer-10 StringSplit-20
            TfIdfVectorizer-9
        """,
        "OpenVINO decodes no images": "ImageDecoder-20",
        "one side of it is text": "ai.onnx.ml.CategoryMapper-1 ai.onnx.ml.LabelEncoder-1",
    },
    ("openvino", "export"): {
        "ONNX has no variables": "Assign-3 Assign-6 ReadValue-3 ReadValue-6",
        "ONNX leaves the generator of random numbers open": "Multinomial-13 RandomUniform-8",
        "ONNX takes no strings apart": "StringTensorPack-15 StringTensorUnpack-15",
    },
}


@pytest.mark.parametrize("dialect", ["onnx", "openvino"])
@pytest.mark.parametrize("facet", ["infer", "run", "export", "import"])
def test_missing_facets_are_listed(dialect: str, facet: str) -> None:
    fields = {"export": "exported", "import": "imported"}
    found = {
        row.label
        for row in operations()
        if row.dialect == dialect and getattr(row, fields.get(facet, facet)) is False
    }
    named = " ".join(MISSING.get((dialect, facet), {}).values()).split()
    assert found == set(named)


def test_refused_operations_have_a_reason() -> None:
    silent = [row.label for row in operations() if not row.complete and not row.notes]
    assert not silent


def test_versions_of_one_operation_have_adjacent_opsets() -> None:
    rows = [row for row in operations() if (row.dialect, row.type) == ("openvino", "Gather")]
    assert [(row.since, row.until, row.opsets) for row in rows] == [
        (1, 6, "1-6"),
        (7, 7, "7"),
        (8, None, "8+"),
    ]
    (upsample,) = [row for row in operations() if row.label == "Upsample-9"]
    assert upsample.until == 9


def test_an_operation_that_the_standard_defines_by_a_function() -> None:
    (row,) = [row for row in operations() if row.type == "LinearAttention"]
    assert row.imported
    assert "function" in row.notes


@pytest.mark.parametrize("cls", OPENVINO.all(), ids=lambda cls: f"{cls.type}-{cls.since}")
def test_operands_are_as_many_as_inputs_and_outputs(cls: type[Op]) -> None:
    assert cls.operands, "name the inputs and outputs"
    inputs, outputs = operands_of(cls)
    fewest, most = cls.arity
    assert most == (None if inputs[-1:] and inputs[-1].variadic else len(inputs))
    assert fewest >= sum(not item.optional and not item.variadic for item in inputs)
    assert most is None or fewest == sum(not item.optional for item in inputs)
    assert cls.n_outputs == (None if outputs[-1].variadic else len(outputs))


def _classes_of_suite() -> Iterator[tuple[str, int, str]]:
    """The type, first opset and serialized opset of each class that the suite lists for opset1 to
    opset8.
    """
    for line in (unpacked("opconf") / "COVERAGE.md").read_text("utf-8").splitlines():
        for first, serialized in re.findall(r"\[opset(\d+)[-\d]*\] -> opset(\d+)", line):
            if int(first) <= 8:
                yield line.split("|")[1].strip(), int(first), serialized


def test_every_operation_of_opset1_to_opset8_has_a_class() -> None:
    classes = set(_classes_of_suite())
    assert len(classes) == 192
    basics = {"Const", "Parameter", "Result"}
    lacking = [
        f"{type}-{serialized}"
        for type, _, serialized in sorted(classes)
        if type not in basics and OPENVINO.find(type, int(serialized)) is None
    ]
    assert not lacking
