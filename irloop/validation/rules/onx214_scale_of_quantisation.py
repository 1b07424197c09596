"""ONX214: constant scale that makes all quantised values useless."""

from __future__ import annotations

import math
from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class ScaleOfQuantisation(
    OnnxRule,
    code="ONX214",
    severity=Severity.WARNING,
    title="constant scale that makes all quantised values useless",
):
    """A constant scale is infinite or NaN, or it is 0 in a QuantizeLinear.

    What it does:
        Reads the small constants that are the scales of QuantizeLinear and DequantizeLinear.
    Why is this bad:
        The engines accept the model. With an infinite scale or nan, the integers carry no
        information about the numbers, and DequantizeLinear returns nan or infinities. With 0,
        QuantizeLinear returns the smallest or the largest integer. A scale of 0 in DequantizeLinear
        is correct where all weights of a channel are 0, and ONNX Runtime and OpenVINO agree on
        negative scales.
    Bad example:
        a QuantizeLinear whose scale is 0, because the calibration data were all 0
    Good example:
        the smallest positive scale that the tool writes, or 1
    Fix:
        Find out why the tool that quantised the model measured this range; write 1 for data that
        are always 0.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Report each node with a constant scale that makes all quantised values useless.

        The scale is infinite or NaN, or it is 0 in a QuantizeLinear.
        """
        for node in context.nodes("QuantizeLinear", "DequantizeLinear"):
            name = node.inputs[1] if len(node.inputs) > 1 else ""
            scales = node.graph.constant_of(name) if name else None
            divides = node.type == "QuantizeLinear"
            bad = [
                scale
                for scale in scales or ()
                if not math.isfinite(scale) or (divides and scale == 0)
            ]
            if bad:
                yield self.found(
                    at_node(node),
                    f"a scale of {node.type} {node.label!r} is {bad[0]}",
                    expected="finite numbers other than 0" if divides else "finite numbers",
                    found=str(bad[0]),
                    cause="the range that was measured when the model was quantised is empty or "
                    "not finite",
                    fix="correct the measured range, or write 1 for data that are always 0",
                )
