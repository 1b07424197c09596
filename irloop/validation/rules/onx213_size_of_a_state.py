"""ONX213: a state is declared with a size that a branch changes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node, shape_of
from irloop.validation.rule import OnnxRule


class SizeOfAState(
    OnnxRule,
    code="ONX213",
    severity=Severity.WARNING,
    title="state is declared with a size that a branch changes",
    requires=("ONX201", "ONX209", "ONX210"),
):
    """An If in the body of a Loop returns a state with another size than the body declares.

    What it does:
        Assumes that the states have their declared shapes, and infers the outputs of each If.
    Why is this bad:
        ONNX Runtime 1.32 computes the size of the branch's output from the declared size of the
        state, and fails if the branch returns another size ("The output OrtValue provided for
        output has shape {1} but the computed output shape for this run is {2}"). The exporter of
        TorchScript declares a list that grows in a branch as float[0].
    Bad example:
        body (int64 i, bool c, float[0] s), and a branch that returns Concat (s, x)
    Good example:
        body (int64 i, bool c, float[n] s)
    Fix:
        Declare the dimension without a size.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each Loop state whose size changes in a branch of the loop body.

        This means that an If in the body returns the state with a size that differs from the size
        that the body declares.
        """
        for typed in context.bodies:
            if typed.node.type != "Loop":
                continue
            for index, shape in typed.resized_states():
                yield self.found(
                    at_node(typed.node),
                    f"the body of Loop {typed.node.label!r} declares its state "
                    f"{typed.body.inputs[index]!r} with a size that a branch changes",
                    expected="dimensions without sizes",
                    found=f"{shape_of(typed.body.input_types[index])}, and then {shape}",
                    fix="declare the dimension of the state without a size",
                )
