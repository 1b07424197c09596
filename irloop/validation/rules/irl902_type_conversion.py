"""IRL902: version 10 changes the type of an input or output."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.places import at_layer
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class TypeConversion(
    Rule,
    code="IRL902",
    severity=Severity.INFO,
    title="version 10 changes the type of an input or output",
):
    """OpenVINO converts an input or output of this version 10 model.

    What it does:
        Looks for model inputs and outputs whose element type `Core.read_model` changes in version
        10. Inputs of type f16 become f32. Outputs of type i64, u64 or u32 become i32, and outputs
        of any other type except i32 become f32. (IRL408 reports strings.)
    Why is this bad:
        The conversion is silent. Numbers beyond 32 bits wrap in OpenVINO 2026.4 and saturate in
        2021.4. Version 11 files keep their types.
    Bad example:
        a version 10 model with an i64 output
    Good example:
        a version 11 model with an i64 output
    Fix:
        Write version 11, or expect the converted type.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per input or output whose element type OpenVINO converts.

        This happens only in models of version 10.
        """
        if context.version != 10:
            return
        index = context.root
        for layer in index.parameters:
            if context.parameter(layer).element is ElementType.F16:
                yield self._converted(layer, "input", ElementType.F16, ElementType.F32)
        for layer in index.results:
            element = context.operand(index, layer, 0).element
            if element in (None, ElementType.F32, ElementType.I32, ElementType.STRING):
                continue
            narrow = element in (ElementType.I64, ElementType.U64, ElementType.U32)
            yield self._converted(
                layer, "output", element, ElementType.I32 if narrow else ElementType.F32
            )

    def _converted(
        self, layer: Layer, side: str, before: ElementType | None, after: ElementType
    ) -> Diagnostic:
        return self.found(
            at_layer(layer),
            f"OpenVINO turns the {side} {layer.name!r} from {before} into {after}",
            expected=str(before),
            found=str(after),
            cause="the reader of version 10 imitates older runtimes",
            fix="write version 11, or expect the converted type",
        )
