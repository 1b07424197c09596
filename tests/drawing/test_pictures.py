"""Pictures of whole models: well-formed, deterministic, bodies inside their owners, complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree

import irloop
from irloop.dialects.openvino.elementwise import Abs, Add
from irloop.drawing.layout import Placed, Shelf, place
from irloop.drawing.scene import Style, scene_of
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "models"
F32 = TensorType(ElementType.F32, Shape.of(2))
SPACE = "{http://www.w3.org/2000/svg}"


def chain(length: int, name: str = "a") -> Model:
    b = Builder(Graph("chain"))
    value = b.parameter("x", F32)
    for number in range(length):
        value = b(Abs(), value, name=f"{name}{number}")
    b.result(value, "out")
    return Model(b.graph, "openvino", 11)


@pytest.fixture(params=["recurrent", "halving"])
def model(request: pytest.FixtureRequest) -> Model:
    found = irloop.read_model(FIXTURES / request.param / "model.xml")
    irloop.infer(found)
    return found


def elements(picture: str, kind: str) -> list[str]:
    """The texts of all elements of one kind."""
    root = etree.fromstring(picture)
    assert root.tag == f"{SPACE}svg"
    return [item.text or "" for item in root.iter(f"{SPACE}{kind}")]


def texts(picture: str) -> list[str]:
    return elements(picture, "text")


def test_a_picture_is_xml_and_the_same_every_time(model: Model) -> None:
    picture = irloop.draw(model)
    assert texts(picture)
    assert irloop.draw(model) == picture


def test_every_operation_is_there_by_name(model: Model) -> None:
    picture = irloop.draw(model)
    shown, titles = set(texts(picture)), elements(picture, "title")
    for graph in (model.graph, *(b.graph for n in model.graph.nodes for b in n.bodies)):
        for node in (*graph.parameters, *graph.nodes, *graph.results):
            if node.op.type != "Const":
                assert node.name in shown
                assert any(path == node.name or path.endswith(f"/{node.name}") for path in titles)


def test_each_back_edge_is_a_line_of_its_own(model: Model) -> None:
    states = sum(len(b.ports.carried) for n in model.graph.nodes for b in n.bodies)
    assert states
    assert irloop.draw(model).count('<path class="k"') == states
    assert irloop.draw(model, "dot").count("constraint=false") == states


def test_no_line_ends_in_a_piece_without_length(model: Model) -> None:
    """Chromium turns the arrowhead of such a line to the right."""
    for path in re.findall(r'<path class="e" d="([^"]+)"', irloop.draw(model)):
        *_, before, last = re.findall(r"[MVC][^MVC]*", path)
        start = float(re.split(r"[ ,]", before[1:])[-1])
        end = float(re.split(r"[ ,]", last[1:])[-1])
        assert end > start


def test_wires_are_named(model: Model) -> None:
    picture = texts(irloop.draw(model))
    assert "state" in picture
    assert "last value" in picture


def boxes(shelf: Shelf, x: float = 0.0, y: float = 0.0) -> Iterator[tuple[Placed, float, float]]:
    for item in shelf.boxes:
        yield item, x + item.x, y + item.y
        for body in item.bodies:
            yield from boxes(body, x + item.x + body.x, y + item.y + body.y)


def test_bodies_are_inside_their_owners_and_boxes_apart(model: Model) -> None:
    shelf = place(scene_of(model.graph, Style()))
    for item, _, _ in boxes(shelf):
        for body in item.bodies:
            assert body.x >= 0
            assert body.x + body.width <= item.width
            assert body.y + body.height <= item.height
    for layer in (shelf, *(body for item in shelf.boxes for body in item.bodies)):
        for number, one in enumerate(layer.boxes):
            for other in layer.boxes[number + 1 :]:
                beside = one.x + one.width <= other.x or other.x + other.width <= one.x
                assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y


def test_types_shapes_and_runtime_information_on_request() -> None:
    model = chain(1)
    node = next(iter(model.graph.nodes))
    node.info = {"layer_origin": "somewhere"}
    assert "→ f32[2]" in texts(irloop.draw(model))
    assert "→ f32" in texts(irloop.draw(model, shapes=False))
    assert "→ [2]" in texts(irloop.draw(model, types=False))
    assert "→ f32[2]" not in texts(irloop.draw(model, shapes=False, types=False))
    assert "layer_origin: somewhere" not in texts(irloop.draw(model))
    assert "layer_origin: somewhere" in texts(irloop.draw(model, info=True))


def test_bodies_are_left_out_below_a_depth_and_beyond_the_limit(model: Model) -> None:
    for picture in (irloop.draw(model, depth=0), irloop.draw(model, limit=len(model.graph))):
        assert any("operations in bodies, not drawn" in text for text in texts(picture))
        assert '<path class="k"' not in picture


def test_a_large_graph_is_cut_with_a_note() -> None:
    shown = texts(irloop.draw(chain(50), limit=20))
    assert "30 more operations are not drawn" in shown
    assert shown.count("Abs-1") == 20


def test_marked_nodes_are_drawn_in_another_colour() -> None:
    picture = irloop.draw(chain(2), marks={"a0": "gone", "a1": "new"})
    assert '<rect class="b operation gone"' in picture
    assert '<rect class="b operation new"' in picture
    assert irloop.draw(chain(2), "dot", marks={"a1": "new"}).count("penwidth=3") == 1


def test_names_are_escaped() -> None:
    model = chain(1, name='<b>"&\\\n\x07')
    picture = irloop.draw(model, title="<i>")
    # A backslash, then the line break and the BEL as escapes.
    assert '<b>"&\\' + r"\n\x07" + "0" in texts(picture)
    dot = irloop.draw(model, "dot")
    assert '\\"&\\\\' in dot
    assert "\x07" not in dot


def test_a_link_over_many_layers_is_drawn_as_a_name() -> None:
    """Otherwise the link to a reader hundreds of layers below would have a bend in each layer."""
    b = Builder(Graph("wide"))
    x = b.parameter("x", F32)
    starts = [b(Abs(), x, name=f"start{number}") for number in range(40)]
    value = x
    for number in range(240):
        value = b(Abs(), value, name=f"a{number}")
    for start in starts:
        value = b(Add(), value, start)
    b.result(value, "out")
    shown = texts(irloop.draw(Model(b.graph, "openvino", 11), limit=2000))
    assert "reads start39" in shown


def test_dot_has_a_cluster_for_each_body(model: Model) -> None:
    text = irloop.draw(model, "dot")
    bodies = [body for node in model.graph.nodes for body in node.bodies]
    assert len(re.findall(r"subgraph cluster_n\d+_\d+_ ", text)) == len(bodies)
    assert text.count("{") == text.count("}")


def test_a_file_is_read_and_inferred() -> None:
    path = FIXTURES / "halving" / "model.xml"
    assert irloop.draw(path, "dot").startswith("digraph ")


def test_another_format_is_refused() -> None:
    with pytest.raises(irloop.UsageError, match="pictures are not drawn as 'png'"):
        irloop.draw(chain(1), "png")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["svg", "dot"])
def test_an_output_without_an_entry_in_the_port_map_is_drawn(tmp_path: Path, format: str) -> None:
    source = FIXTURES.parent / "rules" / "irl506" / "bad_twice.xml"
    weights = tmp_path / "weights.bin"
    weights.write_bytes(bytes(64))
    model = irloop.read_model(source, weights)
    (loop,) = [node for node in model.graph.nodes if node.bodies]
    mapped = {port.external for port in loop.bodies[0].ports.outputs}
    assert len(mapped) < len(loop.outputs)
    assert loop.name in irloop.draw(model, format)  # type: ignore[arg-type]
