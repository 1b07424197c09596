"""IRL303: constant has fewer bytes than its elements need."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.formats.openvino.weights import strings_in
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.declared import Constant
from irloop.validation.rule import Rule


class ConstantTooSmall(
    Rule,
    code="IRL303",
    severity=Severity.ERROR,
    title="constant has fewer bytes than its elements need",
):
    """The `size` of a constant is smaller than its shape and element type need.

    What it does:
        Compares `size` with the number of elements times the bits per element, rounded up to bytes.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("Attribute and shape size are inconsistent for Const").
    Bad example:
        <data element_type="f32" shape="4" offset="0" size="8"/>
    Good example:
        <data element_type="f32" shape="4" offset="0" size="16"/>
    Fix:
        Correct whichever of shape, element type and size is wrong: the three must agree.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per constant that is too small for its elements or has malformed strings."""
        for const in context.constants:
            needed = const.needed
            if needed is not None and const.size is not None and const.size < needed:
                yield self.from_problem(problems.too_few_bytes(const.layer, needed, const.size))
            elif const.element is ElementType.STRING:
                yield from self._strings(context, const)

    def _strings(self, context: Context, const: Constant) -> Iterator[Diagnostic]:
        count, offset, size = const.elements, const.offset, const.size
        if count is None or offset is None or size is None or context.weights.disguise is not None:
            return
        if offset + size > (context.weights.size or 0):  # IRL302 reports these
            return
        strings = strings_in(context.weights.read(offset, size), count)
        if isinstance(strings, str):
            yield self.from_problem(problems.bad_strings(const.layer, strings))
