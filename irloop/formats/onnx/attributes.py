"""Converts attributes between AttributeProto, plain Python values and operation class fields.

An attribute in a file becomes an int, float, str (bytes if it is not UTF-8) or Tensor, or a list of
one of these. Anything else (types, an empty list of floats) becomes `Opaque` and is kept unchanged.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

import onnx

from irloop.errors import ReadError, WriteError
from irloop.formats.onnx.external import ExternalFiles
from irloop.formats.onnx.tensors import sparse_from_proto, tensor_from_proto
from irloop.formats.onnx.types import DATA_TYPES, ELEMENT_TYPES, data_type_name
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType

__all__ = [
    "FieldCodec",
    "Opaque",
    "codec_of",
    "op_from_attributes",
    "read_value",
    "to_proto",
]

A = onnx.AttributeProto


class Opaque(Record):
    """An attribute that has no plain Python form, as the bytes of its AttributeProto."""

    data: bytes


def kind_of(proto: onnx.AttributeProto) -> int:
    """Return the AttributeProto.type of an attribute.

    Old files do not store this type; it is then the type of the field that is set.
    """
    if proto.type != A.UNDEFINED:
        return int(proto.type)
    singles = (("f", A.FLOAT), ("i", A.INT), ("s", A.STRING), ("t", A.TENSOR), ("g", A.GRAPH))
    for field, kind in singles:
        if proto.HasField(field):
            return int(kind)
    lists = (
        ("floats", A.FLOATS),
        ("ints", A.INTS),
        ("strings", A.STRINGS),
        ("tensors", A.TENSORS),
        ("graphs", A.GRAPHS),
    )
    for field, kind in lists:
        if len(getattr(proto, field)):
            return int(kind)
    return int(A.UNDEFINED)


def read_value(proto: onnx.AttributeProto, files: ExternalFiles, where: str) -> Any:
    """The plain Python value of an attribute that is not a graph.

    Raises:
        ReadError: for a damaged tensor.
    """
    kind = kind_of(proto)
    if kind == A.INT:
        return int(proto.i)
    if kind == A.FLOAT:
        return float(proto.f)
    if kind == A.STRING:
        return _text(proto.s)
    if kind == A.TENSOR:
        return tensor_from_proto(proto.t, files, where)
    if kind == A.SPARSE_TENSOR:
        return sparse_from_proto(proto.sparse_tensor, files, where)
    values: list[Any] = []
    if kind == A.INTS:
        # An empty list does not show its type; the writer makes every empty list a list of
        # integers.
        return list(map(int, proto.ints))
    if kind == A.FLOATS:
        values = list(map(float, proto.floats))
    elif kind == A.STRINGS:
        values = [_text(item) for item in proto.strings]
    elif kind == A.TENSORS:
        values = [tensor_from_proto(item, files, where) for item in proto.tensors]
    return values or Opaque(proto.SerializeToString(deterministic=True))


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


class FieldCodec(Record):
    """Converts one field of an operation class to an attribute in a file, and back.

    `kind` is the type of the attribute: int, float, str, bytes, Tensor or ElementType; if `many`,
    it is the type of each item. A bool is written as an int, and a member of an enumeration as its
    value. When a file is read, `wrap` converts this int or value back to the bool or member.
    """

    field: str
    name: str
    kind: type
    many: bool
    optional: bool
    default: Any
    wrap: Any = None

    def load(self, value: Any, where: str) -> Any:
        """Convert the plain Python value from the file to the value of the field.

        Raises:
            ReadError: when the value in the file has the wrong type.
        """
        if self.many:
            kind = kind_of(A.FromString(value.data)) if isinstance(value, Opaque) else None
            items = [] if kind in (A.FLOATS, A.STRINGS, A.TENSORS) else value
            if not isinstance(items, list):
                raise self._mismatch(value, where)
            return tuple(self._item(item, where) for item in items)
        return self._item(value, where)

    def _item(self, value: Any, where: str) -> Any:
        if self.kind is ElementType:
            if not isinstance(value, int) or value not in ELEMENT_TYPES:
                raise self._mismatch(value, where)
            return ELEMENT_TYPES[value]
        if not isinstance(value, self.kind):
            raise self._mismatch(value, where)
        if self.wrap is None:
            return value
        try:
            return self.wrap(value)
        except ValueError:
            raise ReadError(
                f"{where} is not a valid value of this attribute",
                expected=_choices(self.wrap),
                found=repr(value)[:80],
            ) from None

    def _mismatch(self, value: Any, where: str) -> ReadError:
        expected = f"a list of {self.kind.__name__}" if self.many else self.kind.__name__
        if self.kind is ElementType:
            actual = data_type_name(value) if isinstance(value, int) else type(value).__name__
        else:
            actual = type(value).__name__
        return ReadError(f"{where} has the wrong attribute type", expected=expected, found=actual)

    def dump(self, value: Any) -> Any:
        """Convert the field's value to a plain Python value for the file."""
        if self.many:
            return [self._plain(item) for item in value]
        return self._plain(value)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, ElementType):
            return DATA_TYPES.get(value, 0)
        if isinstance(value, enum.Enum):
            value = value.value
        return int(value) if isinstance(value, bool) else value


def _choices(wrap: Any) -> str:
    if isinstance(wrap, _OneOf):
        return ", ".join(map(repr, wrap.values))
    if isinstance(wrap, type) and issubclass(wrap, enum.Enum):
        return ", ".join(repr(item.value) for item in wrap)
    return "0 or 1"


class _OneOf(Record):
    """Checks that a value is one of `values`.

    A call returns such a value unchanged, and raises ValueError for any other.
    """

    values: tuple[Any, ...]

    def __call__(self, value: Any) -> Any:
        if value not in self.values:
            raise ValueError(value)
        return value


def codec_of(cls: type[Op]) -> tuple[FieldCodec, ...]:
    """Return the codec of each attribute of an operation class, in the order of its fields.

    Raises:
        TypeError: when a field has a type that no attribute can represent.
    """
    return _codec_of(typing.cast("Any", cls))


@cache
def _codec_of(cls: type[Any]) -> tuple[FieldCodec, ...]:
    hints = cls.attribute_types()
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cls)
    return tuple(_field_codec(cls, field, hints[field.name]) for field in fields)


def _field_codec(cls: type[Op], field: dataclasses.Field[Any], hint: Any) -> FieldCodec:
    options = [hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        options = [item for item in typing.get_args(hint) if item is not types.NoneType]
    optional = type(None) in typing.get_args(hint)
    (inner,) = options if len(options) == 1 else (None,)
    many = typing.get_origin(inner) is tuple
    if many:
        inner = typing.get_args(inner)[0]
    wrap: Any = None
    if typing.get_origin(inner) is typing.Literal:
        wrap = _OneOf(typing.get_args(inner))
        inner = type(wrap.values[0])
    elif isinstance(inner, type) and issubclass(inner, enum.Enum) and inner is not ElementType:
        wrap = inner
        inner = type(next(iter(inner)).value)
    elif inner is bool:
        wrap, inner = _is_one if field.name in _ONE_ONLY else bool, int
    if inner not in (int, float, str, bytes, Tensor, ElementType):
        raise TypeError(f"{cls.__name__}.{field.name}: no attribute of ONNX is a {hint}")
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    name = field.metadata.get("name") or field.name
    return FieldCodec(field.name, name, inner, many, optional, default, wrap)


#: Booleans that ONNX Runtime takes for true only if they are 1, and not for any other number.
_ONE_ONLY = frozenset({"keepdims", "noop_with_empty_axes"})


def _is_one(number: int) -> bool:
    return number == 1


def op_from_attributes(
    cls: type[Op], attributes: Mapping[str, Any], where: str
) -> tuple[Op, dict[str, Any]]:
    """Create an operation from the attributes of a file; also return unknown attributes.

    Raises:
        ReadError: when a required attribute is missing, or an attribute has the wrong type.
    """
    rest = dict(attributes)
    values = {}
    for codec in codec_of(cls):
        if codec.name in rest:
            place = f"{where}: attribute {codec.name!r}"
            values[codec.field] = codec.load(rest.pop(codec.name), place)
        elif codec.default is dataclasses.MISSING:
            raise ReadError(
                f"{where}: the attribute {codec.name!r} of {cls.type} is missing",
                expected=f"{codec.name}, which opset {cls.since} made mandatory",
            )
    return cls(**values), rest


def to_proto(name: str, value: Any, kind: Any, where: str) -> onnx.AttributeProto:
    """The AttributeProto of a plain Python value that is not a tensor.

    `kind` is the type in the schema, which is used where the value alone is ambiguous.

    Raises:
        WriteError: for a value that no attribute can represent.
    """
    proto = onnx.AttributeProto()
    if isinstance(value, Opaque):
        proto.ParseFromString(value.data)
        return proto
    proto.name = name
    try:
        _fill(proto, value, kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise WriteError(f"{where}: attribute {name!r} cannot be written: {error}") from None
    return proto


def _fill(proto: onnx.AttributeProto, value: Any, kind: Any) -> None:
    if isinstance(value, str | bytes):
        proto.type, proto.s = A.STRING, _bytes(value)
    elif isinstance(value, bool | int) and kind != A.FLOAT:
        proto.type, proto.i = A.INT, int(value)
    elif isinstance(value, int | float):
        proto.type, proto.f = A.FLOAT, float(value)
    elif isinstance(value, list | tuple):
        _fill_list(proto, list(value), kind)
    else:
        raise TypeError(f"ONNX has no attribute type for a Python {type(value).__name__}")


def _fill_list(proto: onnx.AttributeProto, values: list[Any], kind: Any) -> None:
    if not values:
        proto.type = A.INTS if kind is None else kind
    elif all(isinstance(item, str | bytes) for item in values):
        proto.type = A.STRINGS
        proto.strings.extend(map(_bytes, values))
    elif all(isinstance(item, int) for item in values) and kind != A.FLOATS:
        proto.type = A.INTS
        proto.ints.extend(map(int, values))
    else:
        proto.type = A.FLOATS
        proto.floats.extend(map(float, values))


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8")
