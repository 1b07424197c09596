"""Files that are not ONNX models, and hostile files, raise a ReadError and no other exception."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from irloop.errors import ReadError
from irloop.formats.onnx import reader, writer
from irloop.formats.onnx.wire_format import Encoded, Tokens, cut
from irloop.graph.verify import verify

HEAD = '<ir_version: 8, opset_import: ["" : 17, "my" : 1]>\n'


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


#: A model with everything: nested bodies, captured values, tensors, strings, sparse tensors,
#: attributes.
EVERYTHING = """
g (int64 n, bool p, float[N,2] x) => (float[M,2] y, float[k,2,2] s, seq(float[2]) q)
<float[2] w = {1.0, 2.0}, string[2] names = {"a", "b"}, int8[3] small = {1, 2, 3}>
{
  h = Add (x, w)
  z, s = Loop (n, p, h) <body = outer
    (int64 i, bool c, float[2,2] a) => (bool d, float[2,2] b, float[2,2] e)
    { d = Identity (c)
      b = If (p) <
        then_branch = yes () => (float[2,2] t) { t = Mul (a, w) },
        else_branch = no () => (float[2,2] f) { f = Identity (h) }
      >
      e = Identity (b) }>
  seq = SplitToSequence <keepdims = 0> (x)
  q = SequenceMap <body = each (float[2] v) => (float[2] u) { u = Add (v, w) }> (seq)
  r = Reshape <allowzero = 1> (z, shape)
  y = my.Op <alpha = 0.5, axes = [1, 2], mode = "text", t = float[2] {1.0, 2.0}> (r)
  shape = Constant <value_ints = [-1, 2]> ()
}
"""


def blobs() -> list[bytes]:
    first = parsed(EVERYTHING)
    second = parsed(
        """
        g (float[2] s, float[3,2] a) => (float[2] t, float[2,3] u) {
          t, u = Scan <num_scan_inputs = 1, scan_output_axes = [1], body = f
            (float[2] p, float[2] q) => (float[2] v, float[2] v) { v = Add (p, q) }> (s, a)
        }"""
    )
    values = helper.make_tensor("sp", TensorProto.FLOAT, [1], [3.0])
    places = helper.make_tensor("", TensorProto.INT64, [1], [2])
    second.graph.sparse_initializer.add().CopyFrom(helper.make_sparse_tensor(values, places, [4]))
    third = onnx.parser.parse_model(
        HEAD.replace('"my"', '"local"')
        + "g (float[2] x) => (float[2] y) { y = local.f <alpha = 0.5> (x) }\n"
        '<domain: "local", opset_import: ["" : 17]> f <alpha> (a) => (b)'
        "{ b = LeakyRelu <alpha: float = @alpha> (a) }"
    )
    return [proto.SerializeToString() for proto in (first, second, third)]


def mutated(data: bytes, rng: random.Random) -> bytes:
    result = bytearray(data)
    if rng.random() < 0.1:
        return bytes(result[: rng.randrange(len(result))])
    if rng.random() < 0.2:
        start, place = rng.randrange(len(data)), rng.randrange(len(data))
        result[place:place] = data[start : start + rng.randrange(100)]
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        place = rng.randrange(len(result))
        flipped = result[place] ^ 1 << rng.randrange(8)
        result[place] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256), flipped))
    return bytes(result)


def test_the_seeds_are_read(tmp_path: Path) -> None:
    for number, data in enumerate(blobs()):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(data)
        verify(reader.read(path).graph)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    seeds = blobs()
    path, copy = tmp_path / "mutated.onnx", tmp_path / "copy.onnx"
    outcomes = {True: 0, False: 0}
    for _ in range(1500):
        path.write_bytes(mutated(rng.choice(seeds), rng))
        try:
            model = reader.read(path)
        except ReadError:
            outcomes[False] += 1
            continue
        # A model that can be read is a valid graph, and can be read again after it was written.
        verify(model.graph)
        outcomes[True] += 1
        if rng.random() < 0.2:
            writer.write(model, copy, check=False)
            verify(reader.read(copy).graph)
    assert min(outcomes.values()) > 50


def test_weights_of_damaged_files_are_located_in_finite_time() -> None:
    rng = random.Random(0)  # noqa: S311
    tensor = TensorProto(name="w", data_type=1, dims=[1 << 15], raw_data=bytes(1 << 17))
    proto = parsed("g () => (float[N] w) { }")
    proto.graph.initializer.add().CopyFrom(tensor)
    data = proto.SerializeToString()
    heads = 0
    for _ in range(400):
        damaged = mutated(data[:200], rng) + data[200:]
        try:
            _, windows = cut(Encoded(damaged), Tokens())
        except ValueError:
            continue
        heads += 1
        for offset, size in windows.values():
            assert 0 <= offset <= offset + size <= len(damaged)
    assert heads > 10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"\n<!DOCTYPE html><html></html>", "a web page"),
        (b'<?xml version="1.0"?><net name="n" version="10"></net>', "an XML file"),
        (b'<net name="n" version="10"></net>', "an OpenVINO IR"),
        (b"PK\x03\x04rest", "a ZIP archive"),
        (b'{"graph": {}}', "a JSON file"),
        (b"\x93NUMPY\x01\x00", "a NumPy array"),
        (b"\xff" * 64, "the protobuf cannot be decoded"),
        (b"\x08\x08", "there is no graph in it"),
        (bytes(64), "not an ONNX model"),
    ],
)
def test_other_files_are_named_by_their_kind(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ReadError, match=message) as error:
        reader.read(path)
    assert error.value.diagnostics[0].location.file == str(path)


def test_the_kind_of_a_big_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"<!doctype html>" + b" " * (1 << 21))
    with pytest.raises(ReadError, match="a web page"):
        reader.read(path)


def test_a_cut_off_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    data = blobs()[0]
    for size in range(1, len(data), 7):
        path.write_bytes(data[:size])
        with pytest.raises(ReadError):
            reader.read(path)


@pytest.mark.parametrize("path", ["missing.onnx", ".", "a\0b"])
def test_paths_that_cannot_be_opened_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ReadError, match="cannot be read"):
        reader.read(tmp_path / path)


def test_files_that_cannot_be_protobufs_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with open(path, "wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(ReadError, match="bigger than any protobuf"):
        reader.read(path)


def changed(change: Any) -> onnx.ModelProto:
    proto = parsed(
        "g (float[1] x) => (float[1] y) <float[1] w = {1.0}>"
        "{ [first] h = Add (x, w) [second] y = Elu <alpha = 0.5> (h) }"
    )
    change(proto)
    return proto


def duplicate_attribute(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].attribute.append(proto.graph.node[1].attribute[0])


def reference(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].attribute[0].ref_attr_name = "alpha"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: setattr(p, "ir_version", 99), "IR version 99 is not known"),
        (lambda p: setattr(p, "ir_version", 0), "IR version 0 is not known"),
        (lambda p: setattr(p.opset_import[0], "version", 99), "opset 99 is not known"),
        (lambda p: setattr(p.opset_import[0], "version", 0), "opset 0 is not known"),
        (lambda p: p.opset_import.add(domain="ai.onnx", version=3), "two versions of the domain"),
        (lambda p: setattr(p.graph.node[0], "domain", "other"), "does not import"),
        (lambda p: p.graph.node[1].output.append("h"), "'h' is defined twice"),
        (lambda p: p.graph.node[1].output.append("w"), "'w' is defined twice"),
        (lambda p: p.graph.node[1].output.append("x"), "'x' is defined twice"),
        (lambda p: setattr(p.graph.output[0], "name", "ghost"), "'ghost', which is not defined"),
        (lambda p: setattr(p.graph.output[0], "name", ""), "without a name"),
        (lambda p: p.graph.input.add(), "without a name"),
        (duplicate_attribute, "'alpha' occurs twice"),
        (reference, "outside of a function"),
    ],
)
def test_contradictions_are_named(change: Any, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        reader.from_proto(changed(change))


def test_functions_that_call_themselves_are_refused() -> None:
    proto = parsed("g (float[1] x) => (float[1] y) { y = my.f (x) }")
    for name, other in (("f", "h"), ("h", "f")):
        node = helper.make_node(other, ["a"], ["b"], domain="my")
        proto.functions.append(
            helper.make_function("my", name, ["a"], ["b"], [node], list(proto.opset_import))
        )
    with pytest.raises(ReadError, match="calls itself"):
        reader.from_proto(proto)


def test_functions_that_expand_exponentially_are_refused() -> None:
    proto = parsed("g (float[1] x) => (float[1] y) { y = my.f30 (x) }")
    for level in range(31):
        name, inner = f"f{level}", f"f{level - 1}"
        nodes = [
            helper.make_node(inner, ["a"], ["c"], domain="my"),
            helper.make_node(inner, ["c"], ["b"], domain="my"),
        ]
        if level == 0:
            nodes = [helper.make_node("Neg", ["a"], ["b"])]
        proto.functions.append(
            helper.make_function("my", name, ["a"], ["b"], nodes, list(proto.opset_import))
        )
    with pytest.raises(ReadError, match="too many nodes"):
        reader.from_proto(proto)
