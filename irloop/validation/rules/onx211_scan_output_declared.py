"""ONX211: Scan body output is declared with a different rank than it has."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node, shape_of
from irloop.validation.rule import OnnxRule


class ScanOutputRank(
    OnnxRule,
    code="ONX211",
    severity=Severity.ERROR,
    title="Scan body output is declared with a different rank than it has",
    requires=("ONX201",),
):
    """An output of a Scan body is declared with a different rank than its value has.

    What it does:
        Infers the ranks of the outputs of Scan bodies, and compares them with the declared ones.
    Why is this bad:
        ONNX Runtime allocates the outputs as declared, and fails when it runs
        ("Output OrtValue has not been created"); onnx.checker (full check) refuses the model.
    Bad example:
        a body output that is declared float[2,1] and is Neg of a float[2]
    Good example:
        the same output declared float[2]
    Fix:
        Correct the declaration, or reshape the value.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Scan body output whose declared rank differs from the inferred one."""
        for inferred in context.bodies:
            if inferred.node.type != "Scan":
                continue
            names, types = inferred.body.outputs, inferred.body.output_types
            for name, declared, computed in zip(names, types, inferred.computed, strict=True):
                left, right = shape_of(declared), shape_of(computed)
                if left is None or right is None or left.rank == right.rank:
                    continue
                yield self.found(
                    at_node(inferred.node),
                    f"the body of Scan {inferred.node.label!r} declares its output {name!r} with a "
                    "different rank than its value has",
                    expected=str(right),
                    found=str(left),
                    fix="correct the declaration, or reshape the value",
                )
