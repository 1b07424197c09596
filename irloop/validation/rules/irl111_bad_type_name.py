"""IRL111: unknown precision or element type."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems, texts
from irloop.formats.openvino.document import Layer
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BadTypeName(
    Rule, code="IRL111", severity=Severity.ERROR, title="unknown precision or element type"
):
    """A port's precision, or an element type in `data`, is a name that OpenVINO does not have.

    What it does:
        Checks `precision` of output ports (case-sensitive: FP32, I64, BOOL, or the canonical f32,
        i64, boolean) and the attributes in `data` that hold an element type (canonical
        names in any letter case).
    Why is this bad:
        OpenVINO 2026.4 refuses the file. The two kinds of names are easily confused: `FP32` is a
        precision, `f32` is an element type.
    Bad example:
        <data shape="1,2" element_type="FP32"/>
    Good example:
        <data shape="1,2" element_type="f32"/>
    Fix:
        Write the canonical name in `data` and the precision on ports.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output port or attribute with an unknown element type."""
        for index in context.nets:
            layers = index.net.layers
            if not index.ports.precisions - {None} <= texts.PRECISIONS.keys():
                yield from self._ports(layers)
            for layer in layers:
                if not _ELEMENT_ATTRIBUTES.isdisjoint(layer.data):
                    yield from self._data(layer)

    def _ports(self, layers: list[Layer]) -> Iterator[Diagnostic]:
        for layer in layers:
            for port in layer.outputs:
                problem = problems.unknown_precision(layer, port)
                if problem is not None:
                    yield self.from_problem(problem)

    def _data(self, layer: Layer) -> Iterator[Diagnostic]:
        for name in layer.data:
            problem = None
            if name in _ELEMENT_ATTRIBUTES:
                problem = problems.unknown_element_type(layer, name)
            if problem is not None:
                yield self.from_problem(problem)


_ELEMENT_ATTRIBUTES = frozenset(
    {
        "element_type",
        "destination_type",
        "output_type",
        "index_element_type",
        "count_element_type",
        "classes_index_type",
        "sequence_length_type",
        "convert_type",
        "roi_num_type",
        "u64_integer_promotion_target",
        "variable_type",
    }
)
