"""Work grows with the size of a file, not with its square: models of strangers cannot take hours.

Each family has a size; eight times the size may take at most 24 times the processor time. Linear
work takes eight times and quadratic work 64 times, so a clock that is wrong by a factor of two
changes no result: on a busy machine, a shared cache or a collection of garbage makes one of two
equal runs that much slower. Of several runs the shortest counts.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import onnx
import pytest
from lxml import etree
from onnx import helper

import irloop
from irloop.messages.explain import all_messages
from tests.rule_fixtures import Fixture, fixtures

#: How much larger the large file is, the largest ratio of the processor times, and times that are
#: too short to tell anything.
TIMES, MOST, SHORT = 8, 24.0, 0.1
TRIES = 4

Step = Callable[[Path], object]


def seconds(step: Step, path: Path) -> float:
    start = time.process_time()
    with suppress(irloop.IrloopError):
        step(path)
    return time.process_time() - start


def require_linear(step: Step, small: Path, large: Path) -> None:
    """Require that a step's time grows with the size; `large` is `TIMES` as large as `small`."""
    before = after = float("inf")
    for _ in range(TRIES):
        before, after = min(before, seconds(step, small)), min(after, seconds(step, large))
        if after < SHORT or after <= MOST * before:
            return
    raise AssertionError(f"{TIMES} times the size takes {after / before:.1f} times as long")


def repeated(text: bytes, times: int) -> bytes:
    """The layers and edges of an IR, several times side by side."""
    root = etree.fromstring(text, etree.XMLParser(huge_tree=True))
    for tag in ("layers", "edges"):
        section = root.find(tag)
        if section is None:
            continue
        for element in list(section):
            for number in range(1, times):
                section.append(_renamed(copy.deepcopy(element), number))
    return etree.tostring(root)


def _renamed(element: etree._Element, number: int) -> etree._Element:
    for key in ("id", "from-layer", "to-layer", "name"):
        found = element.get(key)
        if found is not None:
            is_number = found.isdigit() and key != "name"
            element.set(key, str(int(found) + number * 1000) if is_number else f"{found}_{number}")
    return element


def _scalable() -> Iterator[Fixture]:
    for fixture in fixtures():
        if fixture.is_bad and fixture.path.suffix == ".xml":
            try:
                root = etree.fromstring(fixture.path.read_bytes())
            except (etree.LxmlError, ValueError):
                continue
            if len(root.findall("layers/layer")) > 0:
                yield fixture


@pytest.mark.parametrize("fixture", [*_scalable()], ids=lambda fixture: fixture.name)
def test_rules_on_many_faults(fixture: Fixture, tmp_path: Path) -> None:
    text = fixture.path.read_bytes()
    layers = len(etree.fromstring(text).findall("layers/layer"))
    paths = []
    for size in (60, 60 * TIMES):
        path = tmp_path / f"{size}.xml"
        path.write_bytes(repeated(text, max(1, size // layers)))
        weights = fixture.weights(tmp_path)
        if weights.exists():
            path.with_suffix(".bin").write_bytes(weights.read_bytes())
        paths.append(path)
    require_linear(lambda path: irloop.validate(path, engines=["openvino"]), *paths)


IR = """<net name="m" version="10"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"{attributes}><data shape="1"
element_type="f32"{data}/><output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>
{layers}<layer id="1" name="r" type="Result" version="opset1"><input><port id="0" precision="FP32">
{dims}</port></input></layer></layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>{edges}</edges>{more}</net>"""

EDGE = '<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'


def ir(**parts: str) -> bytes:
    empty = dict.fromkeys(("attributes", "data", "layers", "edges", "more"), "")
    return IR.format(**(empty | {"dims": "<dim>1</dim>"} | parts)).encode()


IR_FAMILIES: dict[str, Callable[[int], bytes]] = {
    "attributes of a layer": lambda n: ir(attributes="".join(f' a{i}="1"' for i in range(n))),
    "attributes of an operation": lambda n: ir(data="".join(f' a{i}="1"' for i in range(n))),
    "unknown elements": lambda n: ir(more="<foo/>" * n),
    "different unknown elements": lambda n: ir(more="".join(f"<foo{i}/>" for i in range(n))),
    "unknown elements among edges": lambda n: ir(edges="<foo/>" * n),
    "unknown elements among layers": lambda n: ir(layers="<foo/>" * n),
    "one edge again and again": lambda n: ir(edges=EDGE * n),
    "edges from nowhere": lambda n: ir(
        edges="".join(EDGE.replace('from-layer="0"', f'from-layer="{i + 9}"') for i in range(n))
    ),
    "dimensions": lambda n: ir(dims="<dim>1</dim>" * n),
    "comments": lambda n: ir(layers="<!-- irloop: ignore IRL401 -->" * n),
    "comments on lines": lambda n: ir(layers="<!-- irloop: ignore IRL401 -->\n" * n),
    "a comment before empty lines": lambda n: ir(
        layers="<!-- irloop: ignore IRL401 -->" * 50 + "\n" * n
    ),
    "codes in a comment": lambda n: ir(
        layers=f"<!-- irloop: ignore {'IRL401, ' * n}-->", more="<foo/>" * 400
    ),
    "white space in a comment": lambda n: ir(layers=f"<!-- irloop: ignore {' ' * n}? -->"),
    "white space and a code": lambda n: ir(layers=f"<!-- irloop: ignore A{' ' * n}?"),
    "comments that do not end": lambda n: ir(layers="<!-- irloop: ignore <!-- " * n),
    "a long name": lambda n: ir(attributes=f' x="{"a/" * n}"'),
    "runtime information": lambda n: ir(
        more="<rt_info>" + "".join(f'<a{i} value="1"/>' for i in range(n)) + "</rt_info>"
    ),
}


@pytest.mark.parametrize("name", IR_FAMILIES)
def test_files_of_one_kind(name: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{size}.xml" for size in (2000, 2000 * TIMES)]
    for path, size in zip(paths, (2000, 2000 * TIMES), strict=True):
        path.write_bytes(IR_FAMILIES[name](size))
    require_linear(irloop.validate, *paths)


def value(name: str, *dims: int) -> Any:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)


def model(nodes: list[Any], outputs: list[str], **more: Any) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", [value("x", 2)], [value(name, 2) for name in outputs])
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8, **more)


def relu(source: str, target: str, **more: Any) -> Any:
    return helper.make_node("Relu", [source], [target], **more)


def chain(size: int) -> onnx.ModelProto:
    steps = [relu(f"t{i}" if i else "x", f"t{i + 1}", name=f"n{i}") for i in range(size)]
    return model(steps, [f"t{size}"])


def backwards(size: int) -> onnx.ModelProto:
    found = chain(size)
    nodes = list(found.graph.node)[::-1]
    del found.graph.node[:]
    found.graph.node.extend(nodes)
    return found


def ignoring(size: int) -> onnx.ModelProto:
    """Each node ignores a code, and reads a name that does not exist."""
    text = "irloop: ignore ONX301"
    nodes = [relu(f"u{i}", f"t{i}", name=f"n{i}", doc_string=text) for i in range(size)]
    return model(nodes, ["t0"])


def ifs(size: int) -> onnx.ModelProto:
    nodes = [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0)]
    nodes.append(helper.make_node("Cast", ["m"], ["k"], to=onnx.TensorProto.BOOL))
    for number in range(size):
        then, other = (
            helper.make_graph(
                [relu("x", f"{word}{number}")], word, [], [value(f"{word}{number}", 2)]
            )
            for word in ("a", "b")
        )
        nodes.append(
            helper.make_node("If", ["k"], [f"t{number}"], then_branch=then, else_branch=other)
        )
    return model(nodes, [f"t{size - 1}"])


ONNX_FAMILIES: dict[str, Callable[[int], onnx.ModelProto]] = {
    "a chain": chain,
    "a chain in reverse order": backwards,
    "ignored codes of nodes": ignoring,
    "one name": lambda n: model([relu("x", f"t{i}", name="n") for i in range(n)], ["t0"]),
    "one output name": lambda n: model([relu("x", "y") for _ in range(n)], ["y"]),
    "outputs": lambda n: model([relu("x", f"t{i}") for i in range(n)], [f"t{i}" for i in range(n)]),
    "unknown operations": lambda n: model(
        [helper.make_node("Foo", ["x"], [f"t{i}"], domain="bar") for i in range(n)], ["t0"]
    ),
    "attributes": lambda n: model([relu("x", "y", **{f"a{i}": 1 for i in range(n)})], ["y"]),
    "a long text": lambda n: model([relu("x", "y", name="n/" * n)], ["y"], doc_string="x " * n),
    "branches": lambda n: ifs(n // 4),
}

COMMANDS: dict[str, Step] = {
    "validate": lambda path: irloop.validate(path, engines=["onnxruntime"]),
    "read": irloop.read_model,
    "convert": irloop.convert,
    "diff": lambda path: irloop.diff(path, path),
    "view": lambda path: irloop.view(irloop.read_model(path)),
    "transform": lambda path: irloop.transform(irloop.read_model(path), ["simplify"]),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ONNX_FAMILIES)
def test_commands(name: str, command: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{size}.onnx" for size in (300, 300 * TIMES)]
    for path, size in zip(paths, (300, 300 * TIMES), strict=True):
        path.write_bytes(ONNX_FAMILIES[name](size).SerializeToString())
    require_linear(COMMANDS[command], *paths)


@pytest.mark.parametrize("part", ['\\"', "#", "{", "<", "a = "])
def test_reading_a_damaged_text(part: str, tmp_path: Path) -> None:
    """A text of ONNX that begins with a quote, which nothing closes."""
    paths = [tmp_path / f"{size}.onnxtxt" for size in (2000, 2000 * TIMES)]
    for path, size in zip(paths, (2000, 2000 * TIMES), strict=True):
        path.write_text('"' + part * size)
    require_linear(irloop.read_model, *paths)


def _unbounded(pattern: Any) -> bool:
    """Return whether a parsed pattern repeats a part without a limit."""
    for kind, content in pattern:
        repeats = kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
        if repeats and content[1] is _constants.MAXREPEAT:
            return True
        parts = content[1] if kind is _constants.BRANCH else content
        inner = parts if isinstance(parts, (tuple, list)) else ()
        if any(_unbounded(part) for part in inner if isinstance(part, _parser.SubPattern)):
            return True
    return False


@pytest.mark.parametrize("pattern", sorted({message.pattern for message in all_messages()}))
def test_a_pattern_of_messages_has_no_unlimited_repeat(pattern: str) -> None:
    """So a search takes time in proportion to the text, with any text."""
    assert not _unbounded(_parser.parse(pattern))


def test_unlimited_repeats_are_found() -> None:
    for pattern in (r"a+", r"(?:a|b*)", r"(?P<x>\w{1,9} .*)", r"(?!.*a)b", r"(a{2,}){1,3}"):
        assert _unbounded(_parser.parse(pattern)), pattern
    assert not _unbounded(_parser.parse(r"(?P<a>\w{1,300})|b{0,4}(?!c{1,2})"))


@pytest.mark.parametrize(
    "word", ["_", "a", "1", "'", '"', "(", "[", "a ", "While validating node '"]
)
def test_explaining_a_long_text(word: str, tmp_path: Path) -> None:
    texts = [(word * size)[:size] for size in (5000, 5000 * TIMES)]
    paths = [tmp_path / f"{len(text)}.txt" for text in texts]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    require_linear(lambda path: irloop.explain(path.read_text(encoding="utf-8")), *paths)
