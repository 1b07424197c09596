"""IRL112: malformed shape."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.places import at_data, describe
from irloop.graph.types import LARGEST_SIZE
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BadShape(Rule, code="IRL112", severity=Severity.ERROR, title="malformed shape"):
    """The `shape` of a Parameter, a Const or a variable is malformed.

    What it does:
        Reads `1,2`, `[1, 2]`, the empty text (a scalar), `?` and `-1` (dynamic), ranges
        (`1..5`, `..5`, `1..`) and a single `...` (dynamic rank); everything else is reported.
        So is the size 2**63 - 1 of an input in version 10.
    Why is this bad:
        OpenVINO 2026.4 refuses most malformed shapes; `-2` in a Parameter is silently read as 0 (a
        warning), and `5..1` fails only later. OpenVINO 2021.4 accepts static shapes only.
    Bad example:
        <data shape="1,,2" element_type="f32"/>
    Good example:
        <data shape="1,2" element_type="f32"/>
    Fix:
        Write non-negative numbers separated by commas.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per layer with a malformed shape or variable_shape in its data."""
        for name, layer in _shaped(context):
            problem = problems.bad_shape(layer, name)
            if problem is not None:
                yield self.from_problem(problem)
        for layer in context.root.parameters if context.version == 10 else ():
            if LARGEST_SIZE in (context.parameter(layer).dims or ()):
                yield self.found(
                    at_data(layer, "shape"),
                    f"{describe(layer)} has a size that OpenVINO takes for a dynamic one",
                    expected=f"less than {LARGEST_SIZE}",
                    found=repr(layer.data.get("shape")),
                    cause="the reader of version 10 then finds that shapes differ",
                    fix="correct the shape",
                )


def _shaped(context: Context) -> Iterator[tuple[str, Layer]]:
    """Yield (attribute, layer) for each layer that has a shape among its attributes.

    The attribute is "shape" for Parameter and Const, and "variable_shape" for ReadValue and Assign.
    """
    for index in context.nets:
        for layer in index.net.layers:
            if layer.type in ("Parameter", "Const"):
                yield "shape", layer
            elif layer.type in ("ReadValue", "Assign"):
                yield "variable_shape", layer
