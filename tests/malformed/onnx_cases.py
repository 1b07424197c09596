"""Malformed ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from tests.malformed.cases import Case
from tests.malformed.onnx_bases import flat_onnx, if_onnx, loop_onnx

__all__ = ["CASES"]

_BASES: dict[str, Callable[[], onnx.ModelProto]] = {
    "flat": flat_onnx,
    "loop": loop_onnx,
    "if": if_onnx,
}
Break = Callable[[Any], object]


def _case(base: str, name: str, code: str, path: str, change: Break, *, mild: bool = False) -> Case:
    def make(folder: Path) -> Path:
        model = _BASES[base]()
        change(model)
        target = folder / "model.onnx"
        target.write_bytes(model.SerializeToString())
        return target

    return Case(f"ONNX {base}: {name}", make, code, "", path, mild=mild)


def _bytes(name: str, data: bytes) -> Case:
    def make(folder: Path) -> Path:
        (folder / "model.onnx").write_bytes(data)
        return folder / "model.onnx"

    return Case(f"ONNX: {name}", make, "ONX101")


def _files() -> Iterator[Case]:
    whole = flat_onnx().SerializeToString()
    yield _bytes("truncated", whole[: len(whole) // 2])
    yield _bytes("last byte missing", whole[:-1])
    yield _bytes("a length of 2^60", b"\x08\x08\x3a" + b"\xff" * 8 + b"\x0f")
    yield _bytes("a length of 2^31 - 1", b"\x08\x08\x3a\xff\xff\xff\xff\x07" + bytes(64))
    yield _bytes("a varint that does not end", b"\x08" + b"\xff" * 40)
    yield _bytes("wire type 7", b"\x08\x08\x3f\x3f")
    yield _bytes("a graph inside a graph 5000 times", _nested(5000))
    yield _bytes("a type inside a type 5000 times", _nested_types(5000))
    yield _bytes("only a version", b"\x08\x08")


def _field(number: int, data: bytes) -> bytes:
    length, size = bytearray(), len(data)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([number << 3 | 2]) + bytes(length) + data


def _nested(depth: int) -> bytes:
    graph = b""
    for _ in range(depth):
        # GraphProto.node = 1, NodeProto.op_type = 4 and .attribute = 5, AttributeProto.g = 6
        graph = _field(
            1, _field(4, b"If") + _field(5, _field(1, b"then_branch") + _field(6, graph))
        )
    return b"\x08\x08" + _field(7, graph)


def _nested_types(depth: int) -> bytes:
    kind = b""
    for _ in range(depth):
        kind = _field(4, _field(1, kind))  # TypeProto.sequence_type = 4, .elem_type = 1
    return b"\x08\x08" + _field(7, _field(11, _field(1, b"x") + _field(2, kind)))


def _weight(model: Any, name: str = "w") -> Any:
    return next(item for item in model.graph.initializer if item.name == name)


def _set(target: Callable[[Any], Any], **fields: Any) -> Break:
    def change(model: Any) -> None:
        item = target(model)
        for name, value in fields.items():
            if isinstance(value, list):
                del getattr(item, name)[:]
                getattr(item, name).extend(value)
            else:
                setattr(item, name, value)

    return change


def _node(number: int) -> Callable[[Any], Any]:
    return lambda model: model.graph.node[number]


def _external(**entries: str) -> Break:
    def change(model: Any) -> None:
        weight = _weight(model)
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            weight.external_data.add(key=key, value=value)

    return change


def _flat() -> Iterator[Case]:
    def case(
        name: str, path: str, change: Break, code: str = "ONX101", *, mild: bool = False
    ) -> Case:
        return _case("flat", name, code, path, change, mild=mild)

    yield case("no graph", "", lambda model: model.ClearField("graph"))
    yield case("no opset", "mm", lambda model: model.ClearField("opset_import"), "ONX108")
    yield case("opset 0", "", _set(lambda model: model.opset_import[0], version=0))
    yield case("opset 999", "", _set(lambda model: model.opset_import[0], version=999))
    yield case("IR version 0", "", _set(lambda model: model, ir_version=0))
    yield case("input that nothing gives", "mm", _set(_node(0), input=["gone", "w"]))
    yield case("unknown operation", "mm", _set(_node(0), op_type="MatMulX"), "ONX102")
    yield case("operation without type", "mm", _set(_node(0), op_type=""), "ONX102")
    yield case("unknown domain", "mm", _set(_node(0), domain="no.such"), "ONX108")
    yield case("name given twice", "joined", _set(_node(1), output=["h"]))
    yield case("name of an input given again", "mm", _set(_node(0), output=["x"]))
    yield case(
        "output that nothing gives", "", _set(lambda model: model.graph.output[0], name="gone")
    )
    yield case("cycle", "mm", _set(_node(0), input=["out", "w"]))
    yield case("unsorted", "joined", _reverse, "ONX202", mild=True)
    yield case("one input too few", "mm", _set(_node(0), input=["x"]), "ONX104")
    yield case("one input too many", "mm", _set(_node(0), input=["x", "w", "b"]), "ONX104")
    yield case("mandatory input empty", "mm", _set(_node(0), input=["x", ""]), "ONX104")
    yield case("no output", "mm", _set(_node(0), output=[]), "ONX104")
    yield case(
        "axis missing",
        "joined",
        lambda model: model.graph.node[1].ClearField("attribute"),
        "ONX105",
    )
    yield case(
        "axis of a wrong kind",
        "joined",
        lambda model: model.graph.node[1].attribute[0].CopyFrom(helper.make_attribute("axis", 1.5)),
        "ONX105",
    )
    yield case(
        "axis twice",
        "joined",
        lambda model: model.graph.node[1].attribute.append(helper.make_attribute("axis", 0)),
        "ONX105",
    )
    yield case(
        "axis without a type",
        "joined",
        _set(lambda model: model.graph.node[1].attribute[0], type=0),
        "ONX105",
    )
    yield case(
        "unknown attribute",
        "mm",
        lambda model: model.graph.node[0].attribute.append(helper.make_attribute("zzz", 1)),
        "ONX105",
    )
    yield case(
        "axis out of range",
        "joined",
        _set(lambda model: model.graph.node[1].attribute[0], i=7),
        "ONX201",
    )
    yield case(
        "shapes do not fit",
        "mm",
        _set(lambda m: m.graph.input[0].type.tensor_type.shape.dim[1], dim_value=5),
        "ONX201",
    )
    yield case(
        "input without a type", "", lambda model: model.graph.input[0].ClearField("type"), "ONX106"
    )
    yield case(
        "input of type 99",
        "",
        _set(lambda model: model.graph.input[0].type.tensor_type, elem_type=99),
        "ONX106",
    )
    yield case(
        "negative dimension of an input",
        "",
        _set(lambda model: model.graph.input[0].type.tensor_type.shape.dim[0], dim_value=-3),
        "ONX107",
        mild=True,
    )
    yield case(
        "two inputs of one name", "", lambda model: model.graph.input.append(model.graph.input[0])
    )
    yield case(
        "two initializers of one name",
        "",
        lambda model: model.graph.initializer.append(model.graph.initializer[0]),
    )
    yield case("function that calls itself", "", _recursive)
    yield case("functions that call each other", "", _mutual)
    yield from _weights()


def _reverse(model: Any) -> None:
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _function(name: str, calls: str) -> Any:
    node = helper.make_node(calls, ["a"], ["b"], domain="own")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], [node], opsets)


def _call(model: Any, *functions: Any) -> None:
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node.append(helper.make_node("f", ["x"], ["fx"], domain="own", name="call"))
    model.graph.output.append(helper.make_tensor_value_info("fx", TensorProto.FLOAT, [1, 4]))


def _recursive(model: Any) -> None:
    _call(model, _function("f", "f"))


def _mutual(model: Any) -> None:
    _call(model, _function("f", "g"), _function("g", "f"))


def _weights() -> Iterator[Case]:
    def case(name: str, change: Break) -> Case:
        return _case("flat", name, "ONX101", "", change)

    yield case("weight of too few bytes", _set(_weight, raw_data=bytes(40)))
    yield case("weight of too many bytes", _set(_weight, raw_data=bytes(52)))
    yield case("weight of no bytes", lambda model: _weight(model).ClearField("raw_data"))
    yield case("weight of a negative size", _set(_weight, dims=[-4, 3]))
    yield case("weight that fills the memory", _set(_weight, dims=[1 << 40, 1 << 20]))
    yield case("weight whose size overflows", _set(_weight, dims=[1 << 62, 4]))
    yield case("weight of type 0", _set(_weight, data_type=0))
    yield case("weight of type 99", _set(_weight, data_type=99))
    yield case("weight without a name", _set(_weight, name=""))
    yield case("external data outside the folder", _external(location="../secret.bin"))
    yield case("external data by an absolute path", _external(location="/etc/passwd"))
    yield case("external data missing", _external(location="gone.bin"))
    yield case("external data without a location", _external(offset="0"))
    yield case("external data is a folder", _external(location="."))
    yield case(
        "external data too short", _external(location="model.onnx", offset="0", length="48000")
    )
    yield case("external data at a negative offset", _external(location="model.onnx", offset="-8"))
    yield case("external data at no number", _external(location="model.onnx", offset="ten"))
    yield case(
        "external data beyond 2^64", _external(location="model.onnx", offset="18446744073709551616")
    )


def _body(model: Any) -> Any:
    return next(item.g for item in model.graph.node[0].attribute if item.name == "body")


def _loops() -> Iterator[Case]:
    def case(name: str, code: str, path: str, change: Break, *, mild: bool = False) -> Case:
        return _case("loop", name, code, path, change, mild=mild)

    yield case(
        "no body", "ONX105", "loop", lambda model: model.graph.node[0].ClearField("attribute")
    )
    yield case("empty body", "ONX101", "loop", lambda model: _body(model).Clear())
    yield case(
        "body input too few", "ONX101", "loop/body/add", lambda model: _body(model).input.pop()
    )
    yield case("body output too few", "ONX101", "loop", lambda model: _body(model).output.pop())
    yield case(
        "input without body input",
        "ONX101",
        "loop",
        lambda model: model.graph.node[0].input.append("x"),
    )
    yield case("trip count of floats", "ONX206", "loop", _set(_node(0), input=["x", "go", "x"]))
    yield case("condition of two elements", "ONX311", "loop", _long_condition)
    yield case(
        "body value that nothing gives",
        "ONX101",
        "loop/body/add",
        _set(lambda m: _body(m).node[0], input=["gone", "x"]),
    )
    yield case(
        "body output that nothing gives",
        "ONX101",
        "loop/body",
        _set(lambda m: _body(m).output[1], name="gone"),
    )
    yield case("shadowed name", "ONX203", "loop/body", _shadow)
    yield case(
        "body attribute of a wrong kind",
        "ONX105",
        "loop",
        lambda model: model.graph.node[0].attribute[0].CopyFrom(helper.make_attribute("body", 1)),
    )
    yield case(
        "negative trip count",
        "ONX304",
        "loop",
        _set(lambda m: _weight(m, "trips"), raw_data=b"\xff" * 8),
        mild=True,
    )


def _long_condition(model: Any) -> None:
    _weight(model, "go").CopyFrom(helper.make_tensor("go", TensorProto.BOOL, [2], [1, 1]))


def _shadow(model: Any) -> None:
    body = _body(model)
    body.node[0].input[1] = "state"
    body.node[0].output[0] = "x"
    body.node[2].input[0] = "x"
    body.output[1].name = "x"


def _branches() -> Iterator[Case]:
    def case(name: str, code: str, path: str, change: Break, *, mild: bool = False) -> Case:
        return _case("if", name, code, path, change, mild=mild)

    def branch(model: Any) -> Any:
        return next(a.g for a in model.graph.node[0].attribute if a.name == "else_branch")

    yield case("no else_branch", "ONX105", "if", lambda model: model.graph.node[0].attribute.pop())
    yield case(
        "branches of different outputs", "ONX101", "if", lambda model: branch(model).output.pop()
    )
    yield case(
        "types of branches differ",
        "ONX207",
        "if/else/tanh",
        lambda model: (
            branch(model)
            .node[0]
            .CopyFrom(helper.make_node("Cast", ["x"], ["else_y"], name="tanh", to=6))
        ),
    )
    yield case("condition of floats", "ONX206", "if", _set(_node(0), input=["x"]))
    yield case(
        "branch with an input",
        "ONX208",
        "if/else",
        lambda model: branch(model).input.add(name="extra"),
    )


CASES: list[Case] = [*_files(), *_flat(), *_loops(), *_branches()]
