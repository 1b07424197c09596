"""IRL106: two ports of a layer have the same id."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class DuplicatePortId(
    Rule,
    code="IRL106",
    severity=Severity.ERROR,
    title="two ports of a layer have the same id",
    legacy=True,
):
    """Two input ports, or two output ports, of a layer have the same id.

    What it does:
        Compares the port ids inside `input` and inside `output` of each layer.
    Why is this bad:
        Edges name ports by id. OpenVINO 2026.4 fails with "Can not find ... port with id".
    Bad example:
        <input><port id="0"/><port id="0"/></input>
    Good example:
        <input><port id="0"/><port id="1"/></input>
    Fix:
        Number the inputs 0, 1, ..., and continue with the outputs; correct the edges.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per port that has the same id as an earlier port of its layer.

        Input ports are compared only with input ports, and output ports only with output ports.
        """
        for index in context.nets:
            for layer in index.ports.repeating:
                for ports in (layer.inputs, layer.outputs):
                    yield from map(self.from_problem, problems.duplicate_port(layer, ports))
