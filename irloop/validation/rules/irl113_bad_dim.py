"""IRL113: malformed dim."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.graph.types import LARGEST_RANK
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BadDim(Rule, code="IRL113", severity=Severity.ERROR, title="malformed dim", legacy=True):
    """A `dim` of a port is not a valid dimension.

    What it does:
        Checks that each `dim` is 0 or a positive number, or -1 for a dynamic dimension, and that a
        port has at most 64 of them.
    Why is this bad:
        OpenVINO 2026.4 refuses the file; `?`, ranges and empty elements are not allowed here
        although the shape of a Parameter may contain them. OpenVINO 2021.4 refuses -1 as well.
    Bad example:
        <dim>?</dim>
    Good example:
        <dim>-1</dim>
    Fix:
        Write the number, or -1 for a dynamic dimension.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each `<dim>` that cannot be read as -1 or a non-negative integer.

        Yield one, too, for each port with more than 64 dimensions.
        """
        for layer, port, text, _ in context.dim_problems:
            problem = problems.bad_dim(layer, port, text)
            if problem is not None:
                yield self.from_problem(problem)
        for index in context.nets:
            if max(map(len, index.ports.dims), default=0) <= LARGEST_RANK:
                continue
            for layer in index.net.layers:
                found = (problems.too_many_dims(layer, port) for port in layer.inputs)
                more = (problems.too_many_dims(layer, port) for port in layer.outputs)
                yield from map(self.from_problem, filter(None, (*found, *more)))
