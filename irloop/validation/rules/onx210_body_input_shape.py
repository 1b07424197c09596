"""ONX210: body input is declared with a different shape than it gets."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node, shape_of
from irloop.validation.rule import OnnxRule


class BodyInputShape(
    OnnxRule,
    code="ONX210",
    severity=Severity.ERROR,
    title="body input is declared with a different shape than it gets",
    requires=("ONX201", "ONX209"),
):
    """An input of a Loop or Scan body is declared with a different shape than its value has.

    What it does:
        Compares the shape that a body declares for each input with the shape of the value that
        the input gets: the start of a state, the element of a scanned input, or the condition. Of
        the condition of a Loop only the rank is compared. A state of a Loop is reported only if
        operations of the body contradict the declared shape, because its shape may change from
        iteration to iteration. Unknown ranks are not compared.
        The inputs of a SequenceMap body are compared with the elements of its sequences, too.
    Why is this bad:
        onnx.checker (full check) and ONNX Runtime refuse the model ("Inferred shape and existing
        shape differ in rank").
    Bad example:
        a Loop whose condition is bool[1], and a body (int64 i, bool c, float[2] s)
    Good example:
        a scalar condition, or a body (int64 i, bool[1] c, float[2] s)
    Fix:
        Correct the declaration, or reshape the value if the body needs another shape.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each body input that gets a value of another shape than declared.

        In a Loop, an input other than the condition is reported only if inference of the body fails
        with the declared shapes.
        """
        for inferred in context.bodies:
            wrong = inferred.differing_inputs()
            if inferred.node.type == "Loop" and not inferred.contradicts_declared(*wrong):
                wrong = [index for index in wrong if index == 1]
            for index in wrong:
                yield self.found(
                    at_node(inferred.node),
                    f"the body of {inferred.node.type} {inferred.node.label!r} declares its input "
                    f"{inferred.body.inputs[index]!r} with a different shape than it gets",
                    expected=str(shape_of(inferred.given[index])),
                    found=str(shape_of(inferred.body.input_types[index])),
                    fix="correct the declaration, or reshape the given value",
                )
