"""IRL520: ports of a loop or branch are not numbered 0, 1, 2, ...."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.places import at_port, describe
from irloop.formats.openvino.xml import Layer, Port
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class PortsNotCanonical(
    Rule,
    code="IRL520",
    severity=Severity.ERROR,
    title="ports of a loop or branch are not numbered 0, 1, 2, ...",
    requires=("IRL104", "IRL106"),
):
    """The ports of a TensorIterator, Loop or If are not numbered in order.

    What it does:
        Checks that input ports are 0 ... n-1 and output ports follow in ascending order, both in
        document order.
    Why is this bad:
        Edges use port ids; the port map uses the index of an input, and the position of an output's
        id among the sorted ids. They agree only if the ports are numbered in order: with inputs 10,
        11, 12 OpenVINO 2026.4 refuses the file, with
        outputs 7, 5 it silently swaps the outputs.
    Bad example:
        <output><port id="7"/><port id="5"/></output>
    Good example:
        <output><port id="5"/><port id="7"/></output>
    Fix:
        Renumber the ports and correct the edges and the port map.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per side of a layer."""
        for _, layer in context.layers("tensoriterator", "loop", "if"):
            inputs = [unsigned(port.id) for port in layer.inputs]
            if None not in inputs and inputs != list(range(len(inputs))):
                wanted = f"input ports 0 to {len(inputs) - 1} in order"
                yield self._wrong(layer, layer.inputs, "input", wanted)
            outputs = [value for port in layer.outputs if (value := unsigned(port.id))]
            if outputs != sorted(outputs):
                yield self._wrong(layer, layer.outputs, "output", "output ports in ascending order")

    def _wrong(self, layer: Layer, ports: list[Port], side: str, wanted: str) -> Diagnostic:
        return self.found(
            at_port(layer, ports[0]),
            f"the {side} ports of {describe(layer)} are not in order",
            expected=wanted,
            found=", ".join(str(port.id) for port in ports),
            cause="edges use port ids, the port map uses positions",
            fix="number the ports again and correct edges and port map",
        )
