"""Pages in a real Chromium: bodies open, the slider changes values, the search finds nodes, and
there are no errors on the console.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import irloop
from tests.archives import unpacked
from tests.pages.browser import PATIENCE, Browser, chromium
from tests.pages.models import counting, embedded, long_chain, saved

RECURRENT = Path(__file__).parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>\u202egnp"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def counted(browser: Browser, tmp_path: Path) -> Browser:
    """Open the page of the counting loop with the values of three iterations."""
    inputs = {"n": np.int64(3), "x": np.array([1, 2], np.float32)}
    irloop.view(counting(tmp_path), tmp_path / "page.html", inputs)
    browser.open(tmp_path / "page.html")
    return browser


def test_a_body_opens_and_closes(counted: Browser) -> None:
    # The whole model is small, so it is open at first.
    assert "acc" in counted.texts(".box .title")
    counted.click("[data-toggle]")
    counted.wait("return !document.querySelector('.box.operation')")
    assert "acc" not in counted.texts(".box .title")
    counted.click("[data-toggle]")
    counted.wait("return Boolean(document.querySelector('.box.operation'))")
    # There are two states, one of them the condition; each back edge has its own colour.
    colours = counted.run(
        "return [...document.querySelectorAll('.canvas .wire.back')]"
        ".map(item => getComputedStyle(item.querySelector('path')).stroke)"
    )
    assert len(colours) == len(set(colours)) == 2
    assert len(counted.texts(".canvas .wire.state")) == 2
    assert counted.texts(".box.parameter .line").count("state") == 2
    assert counted.complaints() == []


def numbered(page: Path, path: str) -> int:
    """The number in a page of the node with this path."""
    (model,) = embedded(page.read_text(encoding="utf-8"))["models"]
    return [node["path"] for node in model["nodes"]].index(path)


def test_the_slider_changes_values(counted: Browser, tmp_path: Path) -> None:
    number = numbered(tmp_path / "page.html", "count/body/move")
    move = f"[data-id='n{number}']"
    assert counted.texts(f"{move} .value") == ["[1, 2]"]
    counted.click(move)
    counted.run(
        "const slider = document.getElementById('iteration');"
        "slider.value = 2; slider.dispatchEvent(new Event('input'))"
    )
    # The values are 1 + (0 + 10) + (1 + 10) + 2, and NaN because of w.
    assert counted.texts(f"{move} .value") == ["[24, nan]"]
    assert counted.texts(".slider output") == ["iteration 2 of 0 to 2"]
    assert counted.texts("aside .values pre") == ["[24, nan]"]
    assert counted.complaints() == []


def test_a_click_shows_weights(counted: Browser, tmp_path: Path) -> None:
    counted.click(f"[data-id='n{numbered(tmp_path / 'page.html', 'count')}']")
    (text,) = counted.texts("aside .constant")
    assert "10 … 10" in text
    assert "NaN1" in text
    (title,) = counted.texts("aside h2")
    assert title.startswith("Loop-")


def test_the_search_opens_the_block_that_contains_a_node(browser: Browser, tmp_path: Path) -> None:
    irloop.view(long_chain(tmp_path, 1000), tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert browser.texts(".box.repeated .title") == ["Add  × 1000"]
    assert "add_777" not in browser.texts(".box .line")
    browser.run(
        "const input = document.querySelector('.search input');"
        "input.value = 'add_777'; input.dispatchEvent(new Event('input'))"
    )
    assert browser.texts(".found button span") == ["add_777"]
    browser.click(".found button")
    browser.wait("return Boolean(document.querySelector('.selected'))")
    assert "add_777" in browser.texts(".selected .line")
    assert browser.texts("aside .path")[0] == "add_777"
    # The other copies are in boxes of 50.
    assert "copies 1 to 50" in browser.texts(".box .title")
    assert browser.complaints() == []


def layers(path: Path, count: int, scope: str = "/encoder/layer.{}/") -> Path:
    """A page of a model with `count` layers of five operations."""
    b = irloop.Builder("onnx", opset=17)
    value = b.op("Tanh", b.input("x", "f32", [4, 4]), name="/stem/tanh")
    for at in range(count):
        prefix = scope.format(at)
        inner = b.op("MatMul", value, value, name=f"{prefix}scores")
        inner = b.op("Softmax", inner, axis=-1, name=f"{prefix}softmax")
        inner = b.op("MatMul", inner, value, name=f"{prefix}values")
        inner = b.op("Relu", inner, name=f"{prefix}relu")
        value = b.op("Add", value, inner, name=f"{prefix}sum")
    b.output("y", value)
    irloop.view(b.model(), path)
    return path


def test_the_first_picture_names_repeated_layers(browser: Browser, tmp_path: Path) -> None:
    browser.open(layers(tmp_path / "page.html", 88))
    assert browser.texts(".box.repeated .title") == ["encoder/layer/0 … encoder/layer/87  × 88"]
    # The block is drawn once, with the operations of the first layer.
    assert browser.texts(".box.operation .title") == [
        "Tanh", "MatMul", "Softmax", "MatMul", "Relu", "Add",
    ]  # fmt: skip
    browser.click("[data-toggle='g0*']")
    assert "copies 51 to 88" in browser.texts(".box .title")
    assert browser.complaints() == []


def test_a_large_graph_is_drawn_as_a_whole(browser: Browser, tmp_path: Path) -> None:
    # All scopes differ, so nothing repeats.
    kinds = ["Relu", "Tanh", "Exp", "Abs", "Neg", "Sin", "Cos"]
    b = irloop.Builder("onnx", opset=17)
    value = b.input("x", "f32", [2])
    for at in range(2000):
        value = b.op(kinds[(at * at + at // 7) % 7], value, name=f"block{at // 50}/op{at}")
    b.output("y", value)
    irloop.view(b.model(), tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert len(browser.texts(".box")) <= 60
    browser.run(press("Open all"))
    assert len(browser.texts(".box:not(.group)")) == 2002
    # Everything is within the canvas, and the names of scopes are still written.
    assert browser.run(
        "const a = document.querySelector('.world').getBoundingClientRect();"
        "const b = document.querySelector('.canvas').getBoundingClientRect();"
        "return a.top >= b.top - 1 && a.bottom <= b.bottom + 1 && a.width > 0"
    )
    assert browser.run("return document.querySelector('.canvas').dataset.level") == "names"
    assert browser.complaints() == []


def press(words: str) -> str:
    """A script that presses a button."""
    found = f"[...document.querySelectorAll('.bar button')].find(b => b.textContent === '{words}')"
    return f"{found}.click()"


#: Counts the points of wires that lie on the text of a title.
CROSSINGS = """
document.querySelector('.canvas').dataset.level = 'texts';
const titles = [...document.querySelectorAll('.box .title, .box .line')]
  .map(item => item.getBoundingClientRect()).filter(item => item.width > 0);
let count = 0;
for (const path of document.querySelectorAll('.canvas .wire path:not(.arrow)')) {
  const matrix = path.getScreenCTM();
  const length = path.getTotalLength();
  for (let at = 0; at <= length; at += 3) {
    const p = path.getPointAtLength(at).matrixTransform(matrix);
    count += titles.some(t => p.x > t.left && p.x < t.right && p.y > t.top && p.y < t.bottom);
  }
}
return [count, titles.length];
"""


@pytest.mark.parametrize("sideways", [False, True])
@pytest.mark.parametrize("name", ["counting", "recurrent", "branches", "layers"])
def test_no_wire_crosses_a_title(
    browser: Browser, tmp_path: Path, name: str, *, sideways: bool
) -> None:
    page = tmp_path / "page.html"
    if name == "layers":
        layers(page, 20, scope="/net.{}/")
    else:
        models = {"counting": counting, "recurrent": lambda _: RECURRENT, "branches": branches}
        irloop.view(models[name](tmp_path), page)
    browser.open(page)
    if sideways:
        browser.run("document.querySelector('[name=sideways]').click()")
    browser.run(press("Open all"))
    for _ in range(4):
        browser.run(press("+"))
    found, titles = browser.run(CROSSINGS)
    assert (found, titles > 8) == (0, True)


def test_boxes_show_what_is_chosen(browser: Browser, tmp_path: Path) -> None:
    irloop.view(RECURRENT, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")

    def lines(name: str = "") -> list[str]:
        if name:
            browser.run(f"document.querySelector('[name={name}]').click()")
        return browser.texts("[data-id] .line")

    first = lines()
    assert {"drop_time", "b ⟨3×4⟩", "f32[1,3]"} <= {*first}
    assert "drop_time" not in lines("names")
    assert "b ⟨3×4⟩" not in lines("constants")
    assert lines("types") == ["slice, axis 1", "state"]
    lines("names")
    lines("constants")
    lines("types")
    browser.click(".box.of-pooling, .box.of-activation")
    places = (
        "const at = (text) => [...document.querySelectorAll('[data-id]')].find(item =>"
        " item.querySelector('.title').textContent === text).getBoundingClientRect();"
        "const [a, b] = [at('Squeeze'), at('Unsqueeze')]; return [b.left - a.left, b.top - a.top]"
    )
    right, down = browser.run(places)
    assert down > abs(right)
    lines("sideways")
    right, down = browser.run(places)
    assert right > abs(down)
    # Arrows follow the wires in this direction, too.
    from selenium.webdriver.common.keys import Keys

    assert browser.texts(".selected .title") == ["Tanh"]
    canvas = browser.driver.find_element("css selector", ".canvas")
    canvas.send_keys(Keys.ARROW_LEFT)
    assert browser.texts(".selected .title") == ["Add"]
    assert browser.complaints() == []


def test_boxes_show_attributes_on_request(counted: Browser) -> None:
    assert counted.texts(".box .line.constant") == []
    counted.click(".of-types")
    rows = counted.run("return document.querySelector('aside dl').innerText.split('\\n')")
    assert rows[:2] == ["to", "f32"]
    counted.run("document.querySelector('[name=attributes]').click()")
    assert counted.texts(".box .line.constant") == ["to = f32"]


def test_a_block_drawn_once_shows_what_its_copies_pass_on(browser: Browser, tmp_path: Path) -> None:
    browser.open(layers(tmp_path / "page.html", 12))
    # The sum of a layer is read by two products and the sum of the next one.
    assert browser.texts(".canvas .wire.copy title") == ["to the next copy"] * 3
    assert "from one copy of a block to the next" in browser.texts(".legend .row")
    browser.click("[data-toggle='g0*']")
    assert browser.texts(".canvas .wire.copy") == []
    assert browser.complaints() == []


def test_layers_of_an_old_ir_are_those_of_the_file(browser: Browser, tmp_path: Path) -> None:
    port = "<dim>1</dim><dim>2</dim><dim>4</dim><dim>4</dim></port>"
    (tmp_path / "old.xml").write_text(
        f"""<net batch="1" name="x" version="6"><layers>
<layer id="0" name="in" precision="FP32" type="Input"><output><port id="0">{port}</output></layer>
<layer id="1" name="scaled" precision="FP32" type="ScaleShift">
<input><port id="0">{port}</input><output><port id="1">{port}</output>
<blobs><weights offset="0" size="8"/><biases offset="8" size="8"/></blobs></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"""
    )
    np.array([2, 3, 4, 5], np.float32).tofile(tmp_path / "old.bin")
    irloop.view(tmp_path / "old.xml", tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert browser.texts(".box.group .title") == ["ScaleShift"]
    assert browser.texts(".box.operation .title") == ["Multiply", "Add"]
    browser.click(".box.group")
    assert browser.texts("aside .place") == ["line 3, layer 1"]
    assert 'type="ScaleShift"' in browser.texts("aside pre")[0]
    browser.click(".box.group [data-toggle]")
    assert browser.texts(".box .title") == ["in", "ScaleShift", "scaled"]
    # All layers of this one are in one line.
    loop = unpacked("legacy_ir") / "synthetic" / "TensorIterator__lstmcell_bwd" / "model.xml"
    irloop.view(loop, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert "TensorIterator" not in browser.texts(".box.group .title")
    assert browser.texts(".format") == ["OpenVINO IR v11, read from IR version 5"]
    assert browser.complaints() == []


def branches(folder: Path) -> Path:
    """A wide model whose last operation is an If with two large branches."""
    from onnx import TensorProto, helper

    def branch(kind: str) -> Any:
        nodes = [helper.make_node(kind, ["s"], [f"{kind}{at}"]) for at in range(6)]
        nodes.append(helper.make_node("Sum", [f"{kind}{at}" for at in range(6)], ["out"]))
        return helper.make_graph(
            nodes, kind, [], [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2])]
        )

    wide = [helper.make_node("Relu", ["x"], [f"r{at}"], name=f"relu_{at}") for at in range(12)]
    total = helper.make_node("Sum", [f"r{at}" for at in range(12)], ["s"], name="total")
    branching = helper.make_node(
        "If", ["c"], ["y"], name="choice", then_branch=branch("Sin"), else_branch=branch("Cos")
    )
    graph = helper.make_graph(
        [*wide, total, branching],
        "branches",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    return saved(graph, folder / "branches.onnx")


def test_an_opened_body_stays_in_sight(browser: Browser, tmp_path: Path) -> None:
    irloop.view(branches(tmp_path), tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.run(press("Close all"))
    browser.run(
        "const input = document.querySelector('.search input');"
        "input.value = 'choice'; input.dispatchEvent(new Event('input'));"
        "document.querySelector('.found button').click()"
    )
    in_sight = (
        "const a = document.querySelector('.box.owner').getBoundingClientRect();"
        "const b = document.querySelector('.canvas').getBoundingClientRect();"
        "return [a.left < b.right && a.right > b.left, a.top >= b.top && a.top < b.bottom - 60]"
    )
    for _ in range(3):
        browser.click(".box.owner [data-toggle]")
        assert browser.run(in_sight) == [True, True]
    assert "then" in browser.texts(".box.body .title")
    browser.run(press("Open all"))
    assert browser.run(in_sight)[0]
    assert browser.complaints() == []


def test_the_keyboard_walks_through_the_graph(browser: Browser, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(layers(tmp_path / "page.html", 30))
    canvas = browser.driver.find_element("css selector", ".canvas")

    def selected(*keys: str) -> list[str]:
        for key in keys:
            canvas.send_keys(key)
        return browser.texts(".selected .title")

    browser.run("document.querySelector('.canvas').focus()")
    assert selected(Keys.ARROW_DOWN) == ["x"]
    assert selected(Keys.ARROW_DOWN) == ["Tanh"]
    assert selected(Keys.ARROW_DOWN, Keys.ARROW_DOWN) == ["Softmax"]
    assert selected(Keys.ARROW_UP) == ["MatMul"]
    assert selected(Keys.BACKSPACE) == ["encoder/layer/0 … encoder/layer/29  × 30"]
    assert selected(Keys.ENTER) == ["encoder/layer/0 … encoder/layer/29  × 30"]
    assert "Softmax" not in browser.texts(".box .title")
    assert selected(Keys.ESCAPE) == []
    assert "Metadata" in browser.texts("aside h3") or "Keys" in browser.texts("aside h3")
    assert browser.complaints() == []


def test_pictures_and_values_are_saved(browser: Browser, tmp_path: Path) -> None:
    irloop.view(counting(tmp_path), tmp_path / "page.html")
    browser.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path / "got")}
    )
    browser.open(tmp_path / "page.html")
    browser.run(press("SVG"))
    root = etree.fromstring(waited(tmp_path / "got" / "counting.onnx.svg"))
    assert {"Loop", "Cast", "Add", "x"} <= {
        text for item in root.iter() for text in item.itertext()
    }
    browser.run(press("PNG"))
    assert waited(tmp_path / "got" / "counting.onnx.png")[:8] == b"\x89PNG\r\n\x1a\n"
    number = browser.run("return document.querySelector('.box.owner').dataset.id")
    browser.click(f"[data-id='{number}']")
    browser.click("aside .constant .npy")
    waited(tmp_path / "got" / "w.npy")
    array = np.load(tmp_path / "got" / "w.npy")
    np.testing.assert_array_equal(array, np.array([10, np.nan], np.float32), strict=True)
    assert browser.complaints() == []


def test_large_weights_are_saved_on_request(browser: Browser, tmp_path: Path) -> None:
    weight = np.random.default_rng(1).standard_normal((512, 600), np.float32)
    b = irloop.Builder("onnx", opset=17)
    b.output("y", b.op("MatMul", b.input("x", "f32", [1, 512]), b.constant(weight)))
    irloop.save_model(b.model(), tmp_path / "m.onnx")
    command = [sys.executable, "-m", "irloop", "view", str(tmp_path / "m.onnx")]
    command += ["-o", str(tmp_path / "page.html")]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "page.html").stat().st_size < 200_000
    subprocess.run([*command, "--whole-weights"], check=True, capture_output=True)
    browser.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path / "got")}
    )
    browser.open(tmp_path / "page.html")
    browser.click(".of-weights")
    browser.click("aside .constant .npy")
    (file,) = waited_for(tmp_path / "got", "*.npy")
    np.testing.assert_array_equal(np.load(file), weight, strict=True)
    assert browser.complaints() == []


def waited_for(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern when there are some."""
    end = time.monotonic() + PATIENCE
    while not list(folder.glob(pattern)) and time.monotonic() < end:
        time.sleep(0.05)
    return list(folder.glob(pattern))


def waited(path: Path) -> bytes:
    """The content of a file when it has been downloaded."""
    waited_for(path.parent, path.name)
    return path.read_bytes()


def test_a_browser_that_cannot_unpack_the_data_says_so(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    irloop.view(counting(tmp_path), tmp_path / "page.html")
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        browser.driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": "delete window.DecompressionStream"},
        )
        browser.driver.get((tmp_path / "page.html").resolve().as_uri())
        (text,) = browser.texts("#page")
        assert text == "The page cannot be shown: DecompressionStream is not defined"


def test_hostile_names_are_only_text(browser: Browser, tmp_path: Path) -> None:
    model = irloop.read_model(counting(tmp_path))
    for graph in (model.graph, model.graph.parameters[0].graph):
        assert graph is not None
        for node in (*graph.parameters, *graph.nodes, *graph.results):
            node.name = HOSTILE
    irloop.view(model, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.click(".box.owner")
    assert browser.run("return document.title") == "counting.onnx · irloop"
    assert browser.run("return document.querySelectorAll('img').length") == 0
    (path,) = browser.texts("aside > .path")
    assert path == HOSTILE.replace("\u202e", r"\u202e")
    assert browser.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_both_schemes(counted: Browser, scheme: str) -> None:
    counted.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    colours = counted.run(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    ink, paper = (sum(map(int, text[4:-1].split(","))) for text in colours)
    assert (ink < paper) is (scheme == "light")
    assert abs(ink - paper) > 450


def test_a_narrow_screen_does_not_scroll_sideways(counted: Browser) -> None:
    counted.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        assert counted.run("return document.documentElement.scrollWidth") <= 390
    finally:
        counted.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
