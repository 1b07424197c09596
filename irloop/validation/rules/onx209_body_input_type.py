"""ONX209: body input is declared with a different type than it gets."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_bodies import kind_of
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class BodyInputType(
    OnnxRule,
    code="ONX209",
    severity=Severity.ERROR,
    title="body input is declared with a different type than it gets",
    requires=("ONX201",),
):
    """An input of a Loop or Scan body has a different element type than the value it receives.

    What it does:
        Compares the declared types of body inputs with those of the iteration number (int64), the
        condition (bool), and the inferred initial states and scanned elements.
    Why is this bad:
        The specification demands the same type. onnx.checker (full check) and ONNX Runtime refuse
        the model ("Inferred elem type differs from existing elem type").
    Bad example:
        a Loop body (int32 i, bool c, float[2] s)
    Good example:
        a Loop body (int64 i, bool c, float[2] s)
    Fix:
        Correct the declaration; insert a Cast where the body needs another type.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each Loop or Scan body input whose value has another element type."""
        for typed in context.bodies:
            names = typed.body.inputs
            types = typed.body.input_types
            for name, declared, given in zip(names, types, typed.given, strict=False):
                left, right = kind_of(declared), kind_of(given)
                if left and right and left != right:
                    yield self.found(
                        at_node(typed.node),
                        f"the body of {typed.node.type} {typed.node.label!r} declares its input "
                        f"{name!r} with a different type than it gets",
                        expected=right,
                        found=left,
                        fix="correct the declaration, or insert a Cast",
                    )
