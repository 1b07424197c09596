"""IRL305: constant without its four attributes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_data, describe
from irloop.formats.openvino.xml import Layer
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ConstantIncomplete(
    Rule, code="IRL305", severity=Severity.ERROR, title="constant without its four attributes"
):
    """A constant lacks `element_type`, `shape`, `offset` or `size`, or its shape is dynamic.

    What it does:
        Checks the `data` of each Const.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file: without all four nobody knows the value.
    Bad example:
        <data element_type="f32" shape="?" offset="0" size="16"/>
    Good example:
        <data element_type="f32" shape="4" offset="0" size="16"/>
    Fix:
        Add the attribute; write the shape in numbers.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding a constant and attribute."""
        for _, layer in context.layers("const"):
            if layer.type != "Const":
                continue
            if layer.data_line is None:
                yield self._incomplete(layer, "no data element", "data with four attributes")
                continue
            for name in ("element_type", "shape", "offset", "size"):
                if name not in layer.data:
                    yield self._incomplete(layer, f"no {name}", f"an attribute {name}")
            text = layer.data.get("shape")
            if text is None or texts.shape_problem(text) is not None:
                continue
            if texts.static_shape(text) is None:
                yield self._incomplete(layer, f"the dynamic shape {text!r}", "numbers only")

    def _incomplete(self, layer: Layer, what: str, expected: str) -> Diagnostic:
        return self.found(
            at_data(layer),
            f"{describe(layer)} has {what}",
            expected=expected,
            found=", ".join(layer.data) or "none",
            fix="write element_type, a static shape, offset and size",
        )
