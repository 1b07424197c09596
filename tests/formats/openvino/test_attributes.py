"""Texts of attributes, and how OpenVINO 2026.4 was measured to read them."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest

from irloop.dialects.openvino import OPENVINO
from irloop.dialects.openvino.recurrent import GRUSequence, LSTMSequence, RNNCell, RNNSequence
from irloop.formats.openvino.attributes import AttributeProblem, Codec, codec_of
from irloop.formats.openvino.texts import (
    element_of_name,
    element_of_precision,
    parse_dim,
    parse_shape,
    precision_of,
    shape_text,
)
from irloop.graph.op import Op, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, DynamicDim, ElementType, Shape


class Everything(Op, type="Everything"):
    flag: bool = True
    count: int = 7
    ratio: float = 0.5
    text: str = "t"
    ints: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    words: tuple[str, ...] = ()
    element: ElementType = ElementType.F32
    shape: Shape = Shape(())
    maybe: int | None = None
    mode: Literal["floor", "ceil_torch"] = "floor"
    hyphen: bool = attribute(default=False, name="exclude-pad")


class Needs(Op, type="Needs"):
    axis: int


def value(name: str, text: str) -> Any:
    op, unknown = Codec(Everything).read({name: text})
    assert not unknown
    return getattr(op, "hyphen" if name == "exclude-pad" else name)


@pytest.mark.parametrize(
    ("op", "written"),
    [
        (LSTMSequence(4), "sigmoid,tanh,tanh"),
        (GRUSequence(4), "sigmoid,tanh"),
        (RNNSequence(4), "tanh"),
        (RNNSequence(4, ("relu",)), "relu"),
        # OpenVINO knows the default activations of cells.
        (RNNCell(4), None),
    ],
)
def test_default_activations_of_sequences_are_written(op: Op, written: str | None) -> None:
    assert codec_of(type(op)).write(op).get("activations") == written


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("flag", "false", False),
        ("flag", "FALSE", False),
        ("flag", "0", False),
        ("flag", "1", True),
        # A text that is not a boolean is ignored: the default applies.
        ("flag", "yes", True),
        ("flag", "", True),
        ("flag", "2", True),
        ("flag", " false", True),
        ("exclude-pad", "true", True),
        ("count", "-3", -3),
        ("count", "1.7", 1),
        ("count", "1 ", 1),
        ("ratio", "1e-3", 0.001),
        ("ratio", "-inf", -math.inf),
        ("ratio", "1,5", 1.0),
        ("ratio", "1.0f", 1.0),
        ("ratio", "0x10", 0.0),
        ("ratio", "+.5", 0.5),
        ("ratio", "1e5x", 1e5),
        ("ratio", "inf ", math.inf),
        ("ratio", "0.30000001192092896", 0.30000001192092896),
        ("text", " as it is ", " as it is "),
        ("ints", "1,2", (1, 2)),
        ("ints", " 1 , 2 ", (1, 2)),
        ("ints", "1,2,", (1, 2)),
        ("ints", "1;2", (1,)),
        ("ints", "", ()),
        ("floats", "1, 2.5", (1.0, 2.5)),
        ("words", " a, ,b ", ("a", "b")),
        ("element", "BF16", ElementType.BF16),
        ("element", "undefined", ElementType.DYNAMIC),
        ("shape", "1, ?", Shape((1, UNKNOWN_DIM))),
        ("maybe", "4", 4),
        ("mode", "CEIL_TORCH", "ceil_torch"),
    ],
)
def test_attribute_texts_are_read(name: str, text: str, expected: Any) -> None:
    assert value(name, text) == expected


def test_nan_is_read() -> None:
    assert math.isnan(value("ratio", "nan"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("count", "+1"),
        ("count", ""),
        ("count", "one"),
        ("count", "99999999999999999999"),
        ("ratio", "NaN"),
        ("ratio", "INF"),
        ("ratio", "+inf"),
        ("ratio", "infx"),
        ("ratio", "12e"),
        ("ratio", "1e+"),
        ("ratio", "1e309"),
        ("ratio", ""),
        ("ratio", "a"),
        ("ints", "1,,2"),
        ("ints", "a"),
        ("element", "FP32"),
        ("element", "float"),
        ("element", ""),
        ("element", "c64"),
        ("element", "i2"),
        ("shape", "1,,2"),
        ("mode", "round"),
        ("mode", ""),
    ],
)
def test_invalid_attribute_texts_are_refused(name: str, text: str) -> None:
    with pytest.raises(AttributeProblem) as caught:
        value(name, text)
    assert name in str(caught.value)
    assert caught.value.expected
    assert caught.value.name == name


def test_a_missing_mandatory_attribute_is_refused() -> None:
    with pytest.raises(AttributeProblem, match="missing"):
        Codec(Needs).read({})


def test_unknown_attributes_are_returned() -> None:
    op, unknown = Codec(Needs).read({"axis": "1", "zzz": "kept"})
    assert op == Needs(1)
    assert unknown == {"zzz": "kept"}


def test_attributes_are_written_in_one_form() -> None:
    op = Everything(
        flag=False,
        count=-3,
        ratio=0.1,
        ints=(1, 2),
        floats=(1.0, math.inf, -math.inf),
        words=("a", "b"),
        element=ElementType.BOOLEAN,
        shape=Shape((2, DynamicDim(1, 5))),
    )
    assert Codec(Everything).write(op) == {
        "flag": "false",
        "count": "-3",
        "ratio": "0.1",
        "text": "t",
        "ints": "1,2",
        "floats": "1,inf,-inf",
        "words": "a,b",
        "element": "boolean",
        "shape": "2,1..5",
        "mode": "floor",
        "exclude-pad": "false",
    }


@pytest.mark.parametrize("number", [0.1, 1e-30, 2.0, 1e300, -0.0, 0.30000001192092896, 5e-324])
def test_floats_survive_writing_and_reading(number: float) -> None:
    op, _ = Codec(Everything).read(Codec(Everything).write(Everything(ratio=number)))
    assert isinstance(op, Everything)
    assert (op.ratio, math.copysign(1, op.ratio)) == (number, math.copysign(1, number))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("1,2", Shape((1, 2))),
        ("1, 2", Shape((1, 2))),
        ("[1,2]", Shape((1, 2))),
        ("", Shape(())),
        ("?,-1", Shape((UNKNOWN_DIM, UNKNOWN_DIM))),
        ("1..5,1..,..5", Shape((DynamicDim(1, 5), DynamicDim(1, None), DynamicDim(0, 5)))),
        ("3..3", Shape((3,))),
        ("..", Shape((UNKNOWN_DIM,))),
        ("...", UNKNOWN_SHAPE),
        ("0", Shape((0,))),
    ],
)
def test_shape_texts_are_read(text: str, shape: Shape) -> None:
    assert parse_shape(text) == shape
    assert parse_shape(shape_text(shape)) == shape


@pytest.mark.parametrize(
    "text",
    ["1,,2", "1,2,", "a", "1x2", "1.5", "?,...", "-2", "5..1", "9" * 30, "..18446744073709551616"],
)
def test_invalid_shape_texts_are_refused(text: str) -> None:
    assert parse_shape(text) is None


@pytest.mark.parametrize(
    ("text", "dim"), [("2", 2), (" 2 ", 2), ("2.7", 2), ("2x", 2), ("0", 0), ("-1", UNKNOWN_DIM)]
)
def test_dim_texts_are_read(text: str, dim: object) -> None:
    assert parse_dim(text) == dim


@pytest.mark.parametrize("text", ["?", "", "-2", "x", "9" * 30])
def test_invalid_dim_texts_are_refused(text: str) -> None:
    assert parse_dim(text) is None


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("FP32", ElementType.F32),
        ("f32", ElementType.F32),
        ("BOOL", ElementType.BOOLEAN),
        ("BIN", ElementType.U1),
        ("U1", ElementType.U1),
        ("NF4", ElementType.NF4),
        ("F8E4M3", ElementType.F8E4M3),
        ("STRING", ElementType.STRING),
        ("UNSPECIFIED", ElementType.DYNAMIC),
        ("undefined", ElementType.DYNAMIC),
        ("dynamic", ElementType.DYNAMIC),
    ],
)
def test_precisions_are_read(name: str, element: ElementType) -> None:
    assert element_of_precision(name) is element


@pytest.mark.parametrize("name", ["fp32", "MIXED", "CUSTOM", "Q78", "UNDEFINED", "", "C64", "I2"])
def test_unknown_precisions_are_refused(name: str) -> None:
    assert element_of_precision(name) is None


def test_precision_names_survive_writing_and_reading() -> None:
    for element in ElementType:
        name = precision_of(element)
        if name is not None:
            assert element_of_precision(name) is element
            assert element_of_name(str(element)) is element


def test_every_op_class_has_text_forms() -> None:
    for cls in OPENVINO.all():
        codec = codec_of(cls)
        assert len(codec.names) == len(codec.fields)
