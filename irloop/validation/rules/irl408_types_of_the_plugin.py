"""IRL408: inputs and element types for which OpenVINO's CPU plugin has no code."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_layer, describe
from irloop.graph.types import UNKNOWN_SHAPE, ElementType
from irloop.validation.context import Context
from irloop.validation.rule import Rule


def _types(text: str) -> frozenset[ElementType]:
    return frozenset(map(ElementType, text.split()))


#: Inputs of a model that are never compiled.
_NO_INPUT = _types("u1 u3 u6")
#: Nothing is converted to these.
_NEVER = _types("u3 u6 string dynamic")
#: Only f32, f16, bf16 and the type itself are converted to these.
_SCALES = _types("nf4 f8e8m0 f4e2m1")
#: What each type can be converted to; what is missing here is converted to all but `_SCALES`.
_FOUR_BITS = _types("f16 f32 f64 bf16 i4 i8 u4 u8")
_ALL = frozenset(ElementType) - _NEVER
_NUMBERS_OF_ANY = _ALL - _SCALES - _types("boolean")
_TARGETS = {
    **dict.fromkeys(_types("f16 f32 bf16"), _ALL),
    **dict.fromkeys(_types("u2 f8e4m3 f8e5m2"), _NUMBERS_OF_ANY),
    ElementType.NF4: _FOUR_BITS | {ElementType.NF4},
    ElementType.F4E2M1: _FOUR_BITS | {ElementType.F4E2M1},
    ElementType.F8E8M0: _types("f16 f32 f64 bf16 f8e8m0"),
    ElementType.STRING: frozenset(),
}

#: Element types that no reduction over computed axes takes.
_SMALL = _types("u2 nf4 f4e2m1")
_BYTES = _types("bf16 i4 i8 u4 u8")
_INTEGERS = _types("i4 i8 i16 i32 i64 u4 u8 u16 u32 u64")
#: Element types of data that a reduction over computed axes does not take.
_COMPUTED_AXES = {
    "reducesum": _BYTES,
    "reducemean": _BYTES,
    "reduceprod": _BYTES,
    "reducemax": _types("bf16"),
    "reducemin": _types("bf16"),
    "reducel1": _BYTES - _types("bf16"),
    "reducel2": _INTEGERS,
}


class TypesOfThePlugin(
    Rule,
    code="IRL408",
    severity=Severity.ERROR,
    title="inputs and element types for which OpenVINO's CPU plugin has no code",
    requires=("IRL1", "IRL2", "IRL406"),
):
    """OpenVINO reads the model, but its CPU plugin cannot compile it.

    The reason is an element type, or an input of unknown rank.

    What it does:
        Looks for inputs of the model of type u1, u3, u6 or dynamic; for conversions of strings, to
        strings, and to or from types of less than 8 bits that the plugin lacks; for strings among
        the outputs of version 10, which are converted; and for reductions of small types over axes
        that are no constant. Also looks for inputs of unknown rank (`...`). These and inputs of
        type dynamic are warnings, because --shape and --type give them a rank and a type.
    Why is this bad:
        OpenVINO 2026.4 fails when it compiles the model ("cpu_convert can't convert from",
        "Input image format u1 is not supported", "Memory has not been allocated", "Second tensor is
        not constant", "doesn't support Parameter operation with dynamic rank"). An operation on
        constants is not reported, because OpenVINO computes it in advance.
    Bad example:
        <data shape="1,2" element_type="u1"/> of a Parameter of the model
    Good example:
        <data shape="1,2" element_type="f32"/>
    Fix:
        Give the input or the result another element type, such as f32; make the axes a constant.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each input and each operation that the plugin cannot compile."""
        for layer in context.root.parameters:
            found = context.parameter(layer)
            name = texts.element_of_name(layer.data.get("element_type"))
            if name in _NO_INPUT or (name is ElementType.DYNAMIC and 0 not in (found.dims or ())):
                finding = self._of(layer, f"takes no input of type {name}", name)
                # A user may give an input of unknown type a type (--type), so that it runs.
                is_known = name is not ElementType.DYNAMIC
                yield finding if is_known else replace(finding, severity=Severity.WARNING)
            if texts.parameter_shape(layer.data.get("shape", "")) == UNKNOWN_SHAPE:
                yield self._rank(layer)
        for layer in context.root.results if context.version == 10 else ():
            element = context.operand(context.root, layer, 0).element
            if element is ElementType.STRING and _is_computed(context.root, layer, 0):
                finding = self._of(layer, "has no strings among the outputs of version 10", element)
                yield replace(
                    finding,
                    cause="the reader of version 10 converts outputs, which fails for strings",
                    fix="irloop convert MODEL.xml -o NEW.xml --ir-version 11 --no-validate",
                )
        for index, layer in context.layers("convert"):
            yield from self._convert(context, index, layer)
        for layer in context.root.of_type(*_COMPUTED_AXES):
            yield from self._reduction(context, layer)

    def _convert(self, context: Context, index: NetIndex, layer: Layer) -> Iterator[Diagnostic]:
        after = texts.element_of_name(layer.data.get("destination_type"))
        if after is None or not _is_computed(index, layer, 0):
            return
        before = context.operand(index, layer, 0).element
        targets = _ALL if before is None else _TARGETS.get(before, _ALL - _SCALES)
        if after not in targets:
            yield self._of(layer, f"converts no {before or 'values'} to {after}", after)

    def _reduction(self, context: Context, layer: Layer) -> Iterator[Diagnostic]:
        data = context.operand(context.root, layer, 0).element
        if data not in _COMPUTED_AXES[(layer.type or "").lower()] | _SMALL:
            return
        if all(_is_computed(context.root, layer, position) for position in (0, 1)):
            yield self._of(layer, f"has no {layer.type} of {data} over computed axes", data)

    def _rank(self, layer: Layer) -> Diagnostic:
        finding = self.found(
            at_layer(layer),
            f"{describe(layer)}: OpenVINO's CPU plugin takes no input of unknown rank",
            expected="a shape with a known number of axes, such as 1,3,?,?",
            found="...",
            cause="the model was exported without the shape of its input",
            fix=f"irloop convert MODEL -o NEW.xml --shape {shlex.quote(layer.name or '')}=1,3,?,?",
        )
        return replace(finding, severity=Severity.WARNING)

    def _of(self, layer: Layer, what: str, element: ElementType | None) -> Diagnostic:
        return self.found(
            at_layer(layer),
            f"{describe(layer)}: OpenVINO's CPU plugin {what}",
            expected="an element type that it computes with, such as f32",
            found=str(element),
            cause="the plugin has no code for this element type",
            fix="use another element type",
        )


def _is_computed(index: NetIndex, layer: Layer, position: int) -> bool:
    """Return whether an input that OpenVINO cannot know in advance feeds a layer that it keeps."""
    source = index.source(layer, position)
    return source is not None and source[0].id in index.computed and index.is_used(layer)
