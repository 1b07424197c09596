"""IRL520: ports of a loop or branch are not numbered 0, 1, 2, ...."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer, Port
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.places import at_edge, at_entry, at_port, describe
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
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
        Edges use port ids. The port map uses the index of an input, and the position of an output's
        id among the sorted ids. They agree only if the ports are numbered in order. With inputs 10,
        11, 12 OpenVINO 2026.4 refuses the file; with outputs 7, 5 it silently swaps the outputs. If
        OpenVINO refuses a file in which the ids have a clear meaning, this is a warning.
    Bad example:
        <output><port id="7"/><port id="5"/></output>
    Good example:
        <output><port id="5"/><port id="7"/></output>
    Fix:
        Renumber the ports and correct the edges and the port map.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Find ports of TensorIterators, Loops and Ifs that are not in canonical order.

        Yields one finding per operation if its input ports are not numbered 0, 1, ... in order, and
        another if its output ports are not in ascending order.
        """
        for index, layer in context.layers("tensoriterator", "loop", "if"):
            listed = layer.listed or layer.inputs
            inputs = [unsigned(port.id) for port in listed]
            if None not in inputs and inputs != list(range(len(inputs))):
                wanted = f"input ports 0 to {len(inputs) - 1} in order"
                finding = self._wrong(layer, listed, "input", wanted)
                sure = layer.listed is not None or _are_read_by_id(context, index, layer)
                yield replace(finding, severity=Severity.WARNING) if sure else finding
            outputs = [value for port in layer.outputs if (value := unsigned(port.id)) is not None]
            if outputs != sorted(outputs):
                yield self._wrong(layer, layer.outputs, "output", "output ports in ascending order")

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Number the ports in order, and correct the edges and the port maps that name them."""
        for index, layer in context.layers("tensoriterator", "loop", "if"):
            inputs = [unsigned(port.id) for port in layer.inputs]
            if None not in inputs and inputs != list(range(len(inputs))):
                numbers = {str(port.id): str(at) for at, port in enumerate(layer.inputs)}
                edges = [edge for edge in index.net.edges if edge.to_layer == layer.id]
                if len(numbers) == len(inputs) and all(e.to_port in numbers for e in edges):
                    edits = [
                        SetAttribute(at_edge(index, edge).element, "to-port", numbers[edge.to_port])
                        for edge in edges
                        if edge.to_port is not None
                    ]
                    edits += _mapped_inputs(context, index, layer)
                    yield self._renumbered(layer, layer.inputs, numbers, edits)
            outputs = [value for port in layer.outputs if (value := unsigned(port.id)) is not None]
            if outputs != sorted(outputs) and len({*outputs}) == len(layer.outputs):
                pairs = zip(layer.outputs, sorted(outputs), strict=True)
                numbers = {str(port.id): str(number) for port, number in pairs}
                edges = [edge for edge in index.net.edges if edge.from_layer == layer.id]
                if not all(edge.from_port in numbers for edge in edges):
                    continue
                edits = [
                    SetAttribute(at_edge(index, edge).element, "from-port", numbers[edge.from_port])
                    for edge in edges
                    if edge.from_port is not None
                ]
                edits += _mapped_outputs(context, index, layer, numbers)
                yield self._renumbered(layer, layer.outputs, numbers, edits)

    def _renumbered(
        self, layer: Layer, ports: list[Port], numbers: dict[str, str], edits: list[SetAttribute]
    ) -> Repair:
        renamed = [
            SetAttribute(at_port(layer, port).element, "id", numbers[str(port.id)])
            for port in ports
            if numbers[str(port.id)] != port.id
        ]
        text = ", ".join(f"{old} is now {new}" for old, new in numbers.items() if old != new)
        return self.repair(
            at_port(layer, ports[0]),
            f"ports: {text}",
            *renamed,
            *edits,
            effect="OpenVINO refuses or swaps these ports now; after the repair each has the "
            "value that the file names",
        )

    def _wrong(self, layer: Layer, ports: list[Port], side: str, wanted: str) -> Diagnostic:
        return self.found(
            at_port(layer, ports[0]),
            f"the {side} ports of {describe(layer)} are not in order",
            expected=wanted,
            found=", ".join(str(port.id) for port in ports),
            cause="edges use port ids, the port map uses positions",
            fix="number the ports again and correct edges and port map",
        )


def _are_read_by_id(context: Context, index: NetIndex, layer: Layer) -> bool:
    """Return whether the numbers in the port maps can only be ids of ports, which then ascend."""
    numbers = [unsigned(port.id) or 0 for port in layer.inputs]
    maps = [*context.wirings(index, layer)]
    return numbers == sorted(numbers) and not any(wiring.inputs_by_index for wiring in maps)


def _mapped_inputs(context: Context, index: NetIndex, layer: Layer) -> Iterator[SetAttribute]:
    """Yield an edit for each port-map input of `layer` that is not numbered by position.

    The edit sets external_port_id to the position of the input port.
    """
    for wiring in context.wirings(index, layer):
        for entry in wiring.inputs:
            number = str(entry.position)
            known = entry.entry.attributes.get("external_port_id")
            if wiring.section is None or entry.position is None or known in (None, number):
                continue
            place = at_entry(layer, wiring.section, entry.entry)
            yield SetAttribute(place.element, "external_port_id", number)


def _mapped_outputs(
    context: Context, index: NetIndex, layer: Layer, numbers: dict[str, str]
) -> Iterator[SetAttribute]:
    """Yield the edits that renumber external_port_id of the output entries of a layer.

    `numbers` maps old ids of output ports to new ones; other entries are not changed.
    """
    for wiring in context.wirings(index, layer):
        for entry in wiring.outputs:
            number = numbers.get(str(entry.entry.attributes.get("external_port_id")))
            if wiring.section is None or number is None:
                continue
            place = at_entry(layer, wiring.section, entry.entry)
            yield SetAttribute(place.element, "external_port_id", number)
