"""A file has one reading: that of the protobuf library.

The oracle is `fuzz/readings.py`, which `fuzz/campaign.py onnx-readings` runs on many more files.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import irloop
from fuzz.readings import one_reading, one_reading_in_pieces
from fuzz.wire_changes import DAMAGE, WAYS, changed_wire, varint
from irloop.formats.onnx.outline import outline_of

ROOT = Path(__file__).parents[3]

#: An unknown field that makes a file larger than those that are read as a whole.
PADDING = varint(1001 << 3 | 2) + varint(1 << 20) + bytes(1 << 20)


def model_of(type: str, result: str = "y") -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info(result, TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node(type, ["x"], [result], name=type)], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


RELU = model_of("Relu").SerializeToString()


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def group(number: int, content: bytes = b"", end: int = 0) -> bytes:
    return varint(number << 3 | 3) + content + varint((end or number) << 3 | 4)


def nested(depth: int) -> bytes:
    """Graphs in attributes of nodes: so many messages in the model."""
    found = bytes(1 << 17)
    for at in reversed(range(depth)):
        found = field(7 if not at else (1, 5, 6)[(at - 1) % 3], found if at < depth - 1 else b"")
    return found


#: What is appended to a model with a Relu.
ENDS: dict[str, bytes] = {
    "nothing": b"",
    "an unknown field": field(1000, b"abc"),
    "an unknown group": group(1000),
    "a group with the number of the graph": group(7),
    "a group that looks like JSON": group(15),
    "a group with fields": group(1000, field(7, b"\xff") + b"\x08\x01" + group(9)),
    "a group that does not end": varint(1000 << 3 | 3),
    "an end without a group": varint(1000 << 3 | 4),
    "a group with another number at its end": group(1000, end=1001),
    "a hundred groups": varint(1000 << 3 | 3) * 100 + varint(1000 << 3 | 4) * 100,
    "a group too many": varint(1000 << 3 | 3) * 101 + varint(1000 << 3 | 4) * 101,
    "a thousand groups": varint(1000 << 3 | 3) * 1000 + varint(1000 << 3 | 4) * 1000,
    "a second graph": field(7, model_of("Exp", "z").graph.SerializeToString()),
    "an empty second graph": field(7, b""),
    "the graph as a number": b"\x38\x01",
    "the version as text": field(1, b"8"),
    "another version": b"\x08\x07",
    "a tag of 5 bytes": varint(1 << 3, 5) + b"\x07",
    "a tag of 6 bytes": varint(1 << 3, 6) + b"\x07",
    "a tag of more than 32 bits": varint(1 << 32 | 8) + b"\x07",
    "a length of 5 bytes": varint(1000 << 3 | 2) + varint(3, 5) + b"abc",
    "a length of 6 bytes": varint(1000 << 3 | 2) + varint(3, 6) + b"abc",
    "a long length of the graph": varint(7 << 3 | 2) + varint(0, 5),
    "a number of 10 bytes": b"\x08" + varint(7, 10),
    "a number of 11 bytes": b"\x08" + varint(7, 11),
    "a negative version": b"\x08" + varint(-1),
    "field 0": b"\x00\x01",
    "field 0 with a length": b"\x02\x01a",
    "a wire type that does not exist": b"\x0e\x01",
    "a length of 2 GiB": varint(1000 << 3 | 2) + varint((1 << 31) - 1) + b"abc",
    "a length of 4 GiB": varint(1000 << 3 | 2) + varint(1 << 32) + b"abc",
    "a negative length": varint(1000 << 3 | 2) + varint(-1) + b"abc",
    "a number cut short": b"\x08\x80",
    "a fixed number cut short": varint(1000 << 3 | 1) + bytes(7),
    "junk": b"\x07junk",
    "a string that is not UTF-8": field(2, b"\xff"),
    "a name that is not UTF-8": field(7, field(1, field(3, b"\xff"))),
    "a hundred messages": nested(100),
    "a message too many": nested(101),
    "a thousand messages": nested(1000),
}


@pytest.mark.parametrize("padding", [b"", PADDING], ids=["small", "large"])
@pytest.mark.parametrize("name", ENDS)
def test_what_is_appended_is_read_as_protobuf_reads_it(
    name: str, padding: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    for data in (RELU + padding + ENDS[name], RELU + ENDS[name] + padding, ENDS[name] + RELU):
        path.write_bytes(data)
        one_reading(path)
        one_reading_in_pieces(path)


def test_the_first_bytes_are_never_read_as_the_model(tmp_path: Path) -> None:
    """4,096 bytes with a Relu, a group, and an Exp: ONNX Runtime runs both operations."""
    first = model_of("Relu")
    while (size := first.ByteSize()) < 4096:
        first.doc_string += "p" * max(1, 4096 - size - 3)
    rest = model_of("Exp", "z")
    rest.graph.node[0].input[0] = "y"
    del rest.graph.input[:]
    path = tmp_path / "m.onnx"
    graph = field(7, rest.graph.SerializeToString())
    path.write_bytes(first.SerializeToString() + group(1000) + graph + PADDING)
    assert first.ByteSize() == 4096
    outline = outline_of(path)
    assert [node.type for node in outline.graph.nodes] == ["Relu", "Exp"]
    assert [node.name for node in irloop.read_model(path).graph.results] == ["y", "z"]
    path.write_bytes(first.SerializeToString() + b"\x07" + bytes(2 << 20))
    assert irloop.validate(path).has_errors
    with pytest.raises(irloop.ReadError, match="cannot be decoded"):
        irloop.read_model(path)


def test_weights_that_are_divided_and_repeated(tmp_path: Path) -> None:
    """Of a tensor that is given twice, protobuf joins the dimensions and takes the last bytes."""
    size = 1 << 17
    ones, twos = (np.full(size, number, np.float32).tobytes() for number in (1, 2))
    first = TensorProto(data_type=1, dims=[size], raw_data=ones).SerializeToString()
    last = TensorProto(raw_data=twos).SerializeToString()
    value = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR).SerializeToString()
    node = onnx.NodeProto(op_type="Constant", output=["y"]).SerializeToString()
    node += field(5, value + field(5, first) + group(1000) + field(5, last))
    model = model_of("Relu")
    del model.graph.node[:]
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = size
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString() + field(7, field(1, node)))
    assert path.stat().st_size >= 1 << 20
    one_reading(path)
    (found,) = irloop.run(irloop.read_model(path), {"x": np.zeros(2, np.float32)}).values()
    assert {float(item) for item in found} == {2.0}


@cache
def seeds() -> list[bytes]:
    """The ONNX files of the project, and the small test models of the onnx package."""
    from onnx.backend.test.loader import load_model_tests

    paths = [*ROOT.glob("fuzz/corpus/onnx/*"), *ROOT.glob("fuzz/corpus/readings/*.onnx")]
    paths += ROOT.glob("tests/fixtures/**/*.onnx")
    with warnings.catch_warnings():
        # Some cases compute their expected values with overflows.
        warnings.simplefilter("ignore")
        models = [case.model for kind in ("node", "simple") for case in load_model_tests(kind=kind)]
    found = [path.read_bytes() for path in sorted(paths)]
    return found + [model.SerializeToString() for model in models if model is not None]


def decoded_seeds() -> Iterator[bytes]:
    """The small models that protobuf decodes."""
    for data in seeds():
        if len(data) < 16_000:
            try:
                yield onnx.ModelProto.FromString(data).SerializeToString()
            except Exception:  # noqa: S112 (a damaged seed)
                continue


@pytest.mark.slow
def test_models_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    for data in seeds():
        path.write_bytes(data)
        one_reading_in_pieces(path)


@pytest.mark.parametrize("seed", range(4))
def test_changed_encodings(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)  # noqa: S311
    path = tmp_path / "m.onnx"
    models = list(decoded_seeds())
    decoded = 0
    for number in range(250):
        data = changed_wire(draw.choice(models), onnx.ModelProto.DESCRIPTOR, draw)
        path.write_bytes(data)
        one_reading_in_pieces(path)
        if number % 100 == 0:
            path.write_bytes(data + PADDING)
            one_reading(path)
        decoded += _is_decoded(data)
    assert 100 < decoded < 240


@pytest.mark.parametrize("way", [*WAYS, *DAMAGE], ids=lambda way: way.__name__)
def test_each_change_occurs(way: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change gives other bytes for some model."""
    names = "WAYS" if way in WAYS else "DAMAGE"
    monkeypatch.setattr(f"fuzz.wire_changes.{names}", (way,))
    draw = random.Random(1)  # noqa: S311
    models = list(decoded_seeds())[:200]
    descriptor = onnx.ModelProto.DESCRIPTOR
    assert any(changed_wire(data, descriptor, draw) != data for data in models)


def _is_decoded(data: bytes) -> bool:
    try:
        onnx.ModelProto.FromString(data)
    except Exception:
        return False
    return True
