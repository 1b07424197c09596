"""Models and results in notebooks: well-formed tables, and harmless names."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import irloop
from tests.pages.models import counting, read

RECURRENT = Path(__file__).parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"
HOSTILE = "</td><script>alert(1)</script>\u202e<img src=x onerror=alert(1)>"


class Tables(HTMLParser):
    """Collects the tags and the cells of a text; tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def shown(item: Any) -> Tables:
    found = Tables(item._repr_html_())
    assert found.tags <= {
        *("table", "thead", "tbody", "tr", "th", "td"),
        *("p", "b", "div", "details", "summary", "img"),
    }
    return found


def picture(item: Any) -> str:
    """The SVG in the image of a text; also asserts that the text loads nothing."""
    text = item._repr_html_()
    assert "http" not in text.replace("base64,", "")
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', text)
    return base64.b64decode(data).decode()


def test_a_small_model_is_drawn_with_its_body() -> None:
    root = etree.fromstring(picture(irloop.read_model(RECURRENT)).encode())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {text for item in root.iter() for text in item.itertext()}
    # The picture shows the loop, an operation of its body, and a state.
    assert {"rnn", "h_next", "h"} <= {word for text in texts for word in text.split()}


def test_a_graph_with_more_operations_than_a_notebook_can_show_is_not_drawn() -> None:
    b = irloop.Builder("openvino", opset=8)
    value = b.input("x", "f32", [2])
    for _ in range(70):
        value = b.op("Tanh", value)
    b.output("y", value)
    text = b.model()._repr_html_()
    assert "<img" not in text
    assert text.count("Tanh-1") == 70


def test_a_model_has_a_picture_and_tables_in_a_notebook() -> None:
    rows = shown(irloop.read_model(RECURRENT)).rows
    assert ["input", "x", "f32[1,6,3]"] in rows
    assert ["output", "states", "f32[1,6,4]"] in rows
    assert ["TensorIterator-1", "rnn", "x, h0", "f32[1,6,4], f32[1,4]"] in rows
    # The table shows the port map and the back edge of the file.
    assert ["Sliced", "input 0", "x_t"] in rows
    assert ["Carried", "input 1", "h"] in rows
    assert ["back edge", "last_h", "h"] in rows
    assert ["Concatenated", "all_h", "output 0"] in rows


def test_a_large_model_is_cut() -> None:
    from irloop.diagnostics import SHOWN_ROWS
    from irloop.graph.model import Graph, Model
    from irloop.graph.op import UnknownOp

    graph = Graph("large")
    for at in range(SHOWN_ROWS + 5):
        graph.add_node(UnknownOp("Any", "1"), f"node{at}", (), 0)
    text = Model(graph, "openvino", 11)._repr_html_()
    assert f"node{SHOWN_ROWS - 1}<" in text
    assert f"node{SHOWN_ROWS}<" not in text
    assert "and 5 more operations" in text


def test_results(tmp_path: Path) -> None:
    inputs = {"n": np.int64(3), "x": np.array([1, 2], np.float32)}
    path = counting(tmp_path)
    compared = irloop.compare(path, path, inputs=inputs, engines="numpy")
    rows = shown(compared).rows
    assert rows[1][:4] == ["last", "float32[2]", "yes", "0"]
    changed = read(path)
    changed.graph.results[0].name = "renamed"
    assert ["output", "renamed", "was called 'last'"] in shown(
        irloop.diff(read(path), changed)
    ).rows
    assert "no findings" in irloop.validate(RECURRENT)._repr_html_()


@pytest.mark.parametrize("kind", ["model", "report", "comparison", "diff"])
def test_hostile_names(kind: str, tmp_path: Path) -> None:
    models = [read(counting(tmp_path)) for _ in range(2)]
    models[1].graph.name = HOSTILE
    for node in (*models[1].graph.nodes, *models[1].graph.results):
        node.name = HOSTILE
    inputs = {"n": np.int64(3), "x": np.array([1, 2], np.float32)}
    item: Any = models[1]
    if kind == "report":
        item = irloop.Report([irloop.Diagnostic("IRL000", irloop.Severity.ERROR, HOSTILE)])
    elif kind == "comparison":
        item = irloop.compare(*models, inputs=inputs, engines="numpy")
    elif kind == "diff":
        item = irloop.diff(*models)
    found = shown(item)
    assert any(HOSTILE.replace("\u202e", r"\u202e") in cell for row in found.rows for cell in row)
