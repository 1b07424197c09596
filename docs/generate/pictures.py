"""Pictures in pages: a model, or a model and its conversion.

``<!-- picture: loop -->`` shows the model `loop` of `examples`, ``loop to onnx`` and ``loop to onnx
as scan`` its conversion as well, ``loop and unrolled`` what the pass `unroll` makes of it. The
second picture is drawn from the actual result of the converter or the pass.
"""

from __future__ import annotations

import re
from typing import Literal

import irloop
from docs.generate.examples import EXAMPLES
from irloop.drawing.scene import Style
from irloop.drawing.svg import svg
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.graph.walk import all_nodes
from irloop.passes import Manager
from irloop.passes.common import Unroll

__all__ = ["drawn", "picture"]

_FORMATS = {"onnx": "ONNX", "openvino": "OpenVINO IR"}

#: The parts that make a picture a separate file; on a page it uses the page's colours.
_OWN_COLOURS = re.compile(r"<style>.*?</style>\n|<rect [^>]*fill=\"#ffffff\"/>\n", re.DOTALL)


def picture(request: str) -> str:
    """The picture that a page requests, as one HTML block.

    Raises:
        KeyError: for a model that `examples` does not have.
    """
    name, way, what = [*request.split(" ", 2), "", ""][:3]
    parts = [_captioned(_model(name))]
    if way == "to":
        target, _, prefer = what.partition(" as ")
        parts.append(_captioned(_converted(_model(name), target, prefer)))
    elif way == "and":
        unrolled = _model(name)
        Manager([Unroll()]).run_passes(unrolled)
        parts.append(_captioned(unrolled, what))
    return f'<div class="pictures">{"".join(parts)}</div>'


def drawn(model: Model) -> str:
    """The picture of a model whose types are inferred, as HTML of one block."""
    return f'<div class="pictures">{_captioned(model)}</div>'


def _model(name: str) -> Model:
    model = EXAMPLES[name]()
    irloop.infer(model)
    return model


def _converted(model: Model, target: str, prefer: str) -> Model:
    wish: Literal["scan"] | None = "scan" if prefer == "scan" else None
    if target == "onnx":
        return irloop.convert(model, "onnx", loops=wish)[0]
    return irloop.convert(model, "openvino")[0]


def _captioned(model: Model, caption: str = "") -> str:
    image = _OWN_COLOURS.sub("", svg(model.graph, Style(types=False)))
    words = caption or _FORMATS[model.dialect]
    told = f"{words}: {', '.join(_operations(model))}"
    opening = f'<svg class="picture" role="img" aria-label="{told}" '
    lines = image.replace("<svg ", opening, 1).replace("\n", "")
    return f"<figure><figcaption>{words}</figcaption>{lines}</figure>"


def _operations(model: Model) -> list[str]:
    """The operations in order, including those in bodies, for people who cannot see the picture."""
    nodes = all_nodes(model.graph)
    return [node.op.type for node in nodes if not isinstance(node.op, Constant)]
