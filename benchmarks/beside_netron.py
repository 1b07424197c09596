"""Pictures of ten models in Netron and on irloop's pages, for the page "Beside Netron".

    python -m benchmarks.beside_netron --netron .netron/bin/netron -o docs/pages/guides/netron

The models are fixtures, archived cases and networks with random weights. Both programs are seen in
one Chromium; the table tells when the first picture is there, and how many boxes it has. Needs the
extras `whole` and `images`, and Netron in an environment of its own: `pip install netron`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from PIL import Image

import irloop
from benchmarks import nets
from tests.archives import unpacked
from tests.pages.browser import Browser, chromium
from tests.pages.test_browser import CROSSINGS, press

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "models"
LOOPS = "loops", "authored"

#: Where Netron serves a model, and how long it may take to draw one.
PORT, PATIENCE = 8097, 60.0

#: Netron asks for consent to report usage before it draws.
NETRON_DREW = """
const message = document.querySelector('#message-button');
if (document.body.className.includes('notification') && message) message.click();
const isDrawn = document.body.className === 'default';
return isDrawn ? document.querySelectorAll('#nodes > .node').length : 0
"""
IRLOOP_DREW = "return document.querySelectorAll('.canvas .box').length"


def archived(archive: str, *names: str) -> Path:
    """A model of the tests."""
    return next(unpacked(archive).joinpath(*names).glob("*.xml"))


def quantised() -> irloop.Model:
    """Eight quantised convolutions with additions around them, in scopes."""
    b = irloop.Builder("onnx", opset=17)
    draw = np.random.default_rng(2)
    scale, zero = b.constant(np.float32(0.05)), b.constant(np.int8(0))

    def rounded(value: Any, name: str) -> Any:
        code = b.op("QuantizeLinear", value, scale, zero, name=f"{name}_quantize")
        return b.op("DequantizeLinear", code, scale, zero, name=f"{name}_dequantize")

    value = rounded(b.input("image", "f32", [1, 8, 16, 16]), "/input")
    for at in range(8):
        scope = f"/stage.{at // 4}/block.{at}"
        codes = b.constant(draw.integers(-127, 127, (8, 8, 3, 3), np.int8))
        weight = b.op("DequantizeLinear", codes, scale, zero, name=f"{scope}/weight_dequantize")
        made = b.op("Conv", value, weight, pads=[1, 1, 1, 1], name=f"{scope}/conv")
        made = rounded(b.op("Relu", made, name=f"{scope}/relu"), f"{scope}/relu")
        value = rounded(b.op("Add", value, made, name=f"{scope}/add"), f"{scope}/add")
    b.output("features", value)
    return b.model()


def woven(count: int = 2000) -> irloop.Model:
    """A graph of operations that read any of the last results; nothing repeats."""
    draw = random.Random(3)  # noqa: S311
    b = irloop.Builder("onnx", opset=17)
    values = [b.input("x", "f32", [4])]
    for at in range(count):
        kind = draw.choice(["Relu", "Add", "Mul", "Tanh", "Max", "Neg"])
        few = 1 if kind in ("Relu", "Tanh", "Neg") else 2
        values.append(b.op(kind, *draw.choices(values[-12:], k=few), name=f"n{at}"))
    b.output("y", values[-1])
    return b.model()


def ten(folder: Path) -> Iterator[tuple[str, Path]]:
    """The models by name."""
    yield "recurrent", FIXTURES / "recurrent" / "model.xml"
    yield "halving", FIXTURES / "halving" / "model.xml"
    yield "nested_loops", archived(*LOOPS, "loop_nested_triangle")
    yield "nested_ifs", archived(*LOOPS, "if_nested")
    yield "old_ir", archived("legacy_ir", "synthetic", "TensorIterator__lstmcell_bwd")
    made: dict[str, Callable[[], Any]] = {
        "resnet18": nets.resnet18,
        "bert_12_layers": lambda: nets.bert_layers(12),
        "unet": nets.unet,
        "quantised": quantised,
        "woven_2000": woven,
    }
    for name, build in made.items():
        model = build()
        path = folder / f"{name}.onnx"
        if isinstance(model, onnx.ModelProto):
            onnx.save(model, path)
        else:
            irloop.save_model(model, path)
        if name == "unet":
            converted, _ = irloop.convert(path)
            path = path.with_suffix(".xml")
            irloop.save_model(converted, path)
        yield name, path


@contextlib.contextmanager
def served(netron: str, model: Path) -> Iterator[str]:
    """Serve a model by Netron; yields the address."""
    command = [netron, "--port", str(PORT), "--verbosity", "quiet", str(model)]
    with subprocess.Popen(command) as running:  # noqa: S603 (the user names the program)
        try:
            yield f"http://localhost:{PORT}/"
        finally:
            running.terminate()


def drawn(browser: Browser, address: str, script: str) -> tuple[float, int]:
    """Open a page; the seconds until the number of boxes stays the same, and this number.

    The number is 0 if there is no box after `PATIENCE` seconds.
    """
    from selenium.common.exceptions import WebDriverException

    begun, seen, changed = time.monotonic(), 0, 0.0
    while time.monotonic() < begun + PATIENCE:
        try:
            browser.driver.get(address)
            break
        except WebDriverException:
            # The server is not there yet.
            begun = time.monotonic()
            time.sleep(0.2)
    while time.monotonic() < begun + PATIENCE and (not seen or time.monotonic() < changed + 1):
        count = int(browser.run(script))
        if count != seen:
            seen, changed = count, time.monotonic()
        time.sleep(0.05)
    return (changed - begun if seen else PATIENCE), seen


def photographed(browser: Browser, path: Path) -> None:
    """Save what the browser shows, with few colours."""
    time.sleep(0.5)
    with Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())) as image:
        image.convert("RGB").quantize(64).save(path, optimize=True)


def main() -> None:
    """Make the pictures, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--netron", default=shutil.which("netron") or "netron")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium(Path(name) / "profile") as browser:
        print("| model | Netron | after | irloop | after | everything | page | over titles |")
        print("|---|---|---|---|---|---|---|---|")
        for model, path in ten(Path(name)):
            with served(options.netron, path) as address:
                first, boxes = drawn(browser, address, NETRON_DREW)
                photographed(browser, options.output / f"{model}_netron.png")
            page = Path(name) / f"{model}.html"
            irloop.view(path, page)
            second, seen = drawn(browser, page.as_uri(), IRLOOP_DREW)
            photographed(browser, options.output / f"{model}_irloop.png")
            whole = browser.run(
                f"const start = performance.now(); {press('Open all')};"
                "document.querySelector('.canvas').getBoundingClientRect();"
                "return performance.now() - start"
            )
            everything = len(browser.texts(".canvas .box"))
            crossings = browser.run(CROSSINGS)[0] if everything < 500 else "-"
            print(
                f"| {model} | {boxes} | {first:.1f} s | {seen} | {second:.1f} s "
                f"| {everything} in {whole / 1000:.2f} s | {page.stat().st_size // 1000} kB "
                f"| {crossings} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
