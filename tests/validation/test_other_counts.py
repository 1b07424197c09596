"""Rules must not assume what other rules check: models whose nodes and bodies have other counts.

Each model is a valid loop with inputs and outputs of nodes and bodies removed, repeated or
exchanged. Validation reports findings, and never fails itself.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest
from onnx import TensorProto, helper

import irloop

FIXTURES = Path(__file__).parents[1] / "fixtures"
MODELS = [
    *sorted((FIXTURES / "ir").glob("*.xml")),
    *sorted((FIXTURES / "models").glob("*/model.xml")),
]


def test_a_body_with_an_input_that_nothing_feeds(tmp_path: Path) -> None:
    """ONX213 looked at an input of the body that the node does not have."""
    declare = helper.make_tensor_value_info
    number, condition = declare("i", TensorProto.INT64, []), declare("c", TensorProto.BOOL, [])
    state = declare("s", TensorProto.FLOAT, [2])
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Identity", ["s"], ["s2"])],
        "b",
        [number, condition, state, declare("extra", TensorProto.FLOAT, [2])],
        [declare("c2", TensorProto.BOOL, []), declare("s2", TensorProto.FLOAT, [2])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["M", "", "x"], ["y"], body=body)],
        "g",
        [declare("x", TensorProto.FLOAT, [2]), declare("M", TensorProto.INT64, [])],
        [declare("y", TensorProto.FLOAT, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    codes = {item.code for item in irloop.validate(tmp_path / "m.onnx")}
    assert "ONX208" in codes


def test_more_scan_inputs_than_the_body_has(tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[2] s, float[3,2] x) => (float[2] t, float[3,2] y) {
        t, y = Scan <num_scan_inputs = 2, body = b (float[2] a, float[2] e)
            => (float[2] c, float[2] d) { c = Add (a, e) d = Identity (c) }> (s, x)
    }
    """
    model = onnx.parser.parse_model(text)
    for number in (-1, 0, 3, 9, 1 << 40):
        model.graph.node[0].attribute[0].i = number
        onnx.save(model, tmp_path / "m.onnx")
        irloop.validate(tmp_path / "m.onnx")


def lists(message: Any) -> Iterator[Any]:
    """Yield the lists of inputs, outputs, nodes and attributes in a message."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else (value,):
                yield from lists(item)
        if field.name in ("input", "output", "node", "attribute", "dim", "ints"):
            yield value


def change_list(items: Any, draw: random.Random) -> None:
    at = draw.randrange(len(items))
    way = draw.random()
    is_message = hasattr(items[at], "CopyFrom")
    if way < 0.4:
        del items[at]
    elif way < 0.7 and is_message:
        items.add().CopyFrom(items[at])
        if draw.random() < 0.6 and hasattr(items[-1], "name"):
            items[-1].name += "_2"
    elif way < 0.7:
        items.append(items[draw.randrange(len(items))])
    elif not is_message:
        items[at] = "" if isinstance(items[at], str) else draw.choice((-1, 0, 1, 9))
    else:
        other = draw.randrange(len(items))
        kept = copy.deepcopy(items[at])
        items[at].CopyFrom(copy.deepcopy(items[other]))
        items[other].CopyFrom(kept)


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> list[onnx.ModelProto]:
    path = tmp_path_factory.mktemp("loops") / "m.onnx"
    found = []
    for model in MODELS:
        try:
            irloop.save_model(irloop.convert(model)[0], path)
        except irloop.IrloopError:
            continue
        found.append(onnx.load(path))
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("seed", range(4))
def test_changed_onnx(seed: int, loops: list[onnx.ModelProto], tmp_path: Path) -> None:
    draw = random.Random(seed)  # noqa: S311
    path = tmp_path / "m.onnx"
    for _ in range(150):
        model = copy.deepcopy(draw.choice(loops))
        for _ in range(draw.choice((1, 1, 2))):
            change_list(draw.choice(list(lists(model))), draw)
        onnx.save(model, path)
        irloop.validate(path)


def change_element(root: ElementTree.Element, draw: random.Random) -> None:
    parents = [element for element in root.iter() if len(element)]
    element = draw.choice(parents)
    at = draw.randrange(len(element))
    child = element[at]
    way = draw.random()
    if way < 0.4:
        element.remove(child)
    elif way < 0.7:
        again = copy.deepcopy(child)
        if "id" in again.attrib and draw.random() < 0.7:
            again.set("id", str(draw.randrange(50, 99)))
        element.insert(draw.randrange(len(element) + 1), again)
    elif child.attrib:
        name = draw.choice(list(child.attrib))
        child.set(name, draw.choice(("", "-1", "0", "1", "9", "x")))


@pytest.mark.parametrize("seed", range(4))
def test_changed_ir(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)  # noqa: S311
    path = tmp_path / "m.xml"
    path.with_suffix(".bin").write_bytes(bytes(range(256)) * 16)
    roots = [ElementTree.parse(model).getroot() for model in MODELS]  # noqa: S314 (our own files)
    for _ in range(150):
        root = copy.deepcopy(draw.choice(roots))
        for _ in range(draw.choice((1, 1, 2))):
            change_element(root, draw)
        path.write_bytes(ElementTree.tostring(root))
        irloop.validate(path)
