"""Pages in a real Chromium: bodies open, the slider changes values, the search finds nodes, and
there are no errors on the console.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import irloop
from tests.pages.browser import Browser, chromium
from tests.pages.models import counting, long_chain

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
    counted.settle()
    assert "acc" not in counted.texts(".box .title")
    counted.click("[data-toggle]")
    counted.wait("return Boolean(document.querySelector('.box.operation'))")
    counted.settle()
    # There are two states, one of them the condition; each back edge has its own colour.
    colours = counted.run(
        "return [...document.querySelectorAll('.canvas .wire.back')]"
        ".map(item => getComputedStyle(item.querySelector('path')).stroke)"
    )
    assert len(colours) == len(set(colours)) == 2
    assert counted.texts(".canvas .wire.state .words") == ["state", "state"]
    assert counted.complaints() == []


def test_the_slider_changes_values(counted: Browser) -> None:
    number = counted.run(
        "const data = JSON.parse(document.getElementById('data').textContent);"
        "return data.models[0].nodes.findIndex(node => node.path === 'count/body/move')"
    )
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


def test_a_click_shows_weights(counted: Browser) -> None:
    found = counted.run(
        "const data = JSON.parse(document.getElementById('data').textContent);"
        "return data.models[0].nodes.findIndex(node => node.name === 'count')"
    )
    counted.click(f"[data-id='n{found}']")
    (text,) = counted.texts("aside .constant")
    assert "10 … 10" in text
    assert "NaN1" in text
    (title,) = counted.texts("aside h2")
    assert title.startswith("Loop-")


def test_the_search_opens_the_body_that_contains_a_node(browser: Browser, tmp_path: Path) -> None:
    irloop.view(long_chain(tmp_path, 1000), tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert len(browser.texts(".box.group")) >= 2
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
    assert browser.complaints() == []


def test_5000_operations_open_as_groups(browser: Browser, tmp_path: Path) -> None:
    irloop.view(long_chain(tmp_path, 5000), tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    # The page is fast because it has few boxes at first; the time itself depends on the machine.
    assert len(browser.texts(".box")) <= 60
    assert browser.complaints() == []


def test_a_browser_without_workers(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    irloop.view(counting(tmp_path), tmp_path / "page.html")
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        browser.driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.Worker"}
        )
        browser.open(tmp_path / "page.html")
        assert browser.run("return typeof Worker") == "undefined"
        assert "acc" in browser.texts(".box .title")
        assert browser.complaints() == []


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
