"""IRL117: model inputs or outputs share a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer, Port
from irloop.formats.openvino.markup import parse_names
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_layer, describe
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.validation.context import Context
from irloop.validation.rule import NET, Rule

#: Between a cell and a result of the body, OpenVINO expects at most one of these.
_RESHAPES = frozenset({"squeeze", "unsqueeze", "reshape"})

#: The port of a Parameter that declares none.
_UNDECLARED = Port(None, None, None, (), 0)


class NameCollision(
    Rule,
    code="IRL117",
    severity=Severity.ERROR,
    title="model inputs or outputs share a name",
    requires=("IRL2",),
    scope=NET,
):
    """Two different inputs or outputs of a version 10 model get the same tensor name.

    What it does:
        Collects the names that OpenVINO gives to inputs and outputs in version 10: the Parameter's
        layer name, the name of the layer that feeds each Result (with `.K` for output K of
        several), and the tensor names of both. It reports a name that refers to two tensors. It
        also reports a named tensor that feeds two Results, or a Result and is a Parameter's output,
        and a TensorIterator of one cell whose outputs have another order than those of a sequence.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("names have collisions"). OpenVINO 2021.4 reads it, but
        users who ask for that name get either of the two. In version 11 files this does not happen.
        A Parameter that is connected directly to a Result is only a warning if the tensor has the
        Parameter's name: OpenVINO writes such files itself, and reads them. The TensorIterator is
        only a warning, too, because irloop converts it rightly: Model Optimizer wrote it for
        dynamic_rnn of TensorFlow.
    Bad example:
        <layer id="0" name="x" type="Parameter" .../> <layer id="1" name="x" type="Parameter" .../>
    Good example:
        <layer id="0" name="x" type="Parameter" .../> <layer id="1" name="y" type="Parameter" .../>
    Fix:
        Rename one of the layers; insert an operation that changes nothing between a tensor and its
        second Result, or remove the tensor names.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield findings for model inputs and outputs that share a name, in IR version 10 only.

        A tensor has the name of its layer and those in `names`. There is one finding for each name
        that an earlier input or output tensor already has. There is also one for each Result that
        reads a tensor with `names` if the tensor is a model input or if an earlier Result reads it.
        """
        if context.version != 10:
            return
        yield from self._doubled(context.root)
        yield from self._renumbered(context)
        owners: dict[str, tuple[Layer, str]] = {}
        for layer, port in _tensors(context.root):
            tensor = f"{layer.id}:{port.id}"
            for name in _names(layer, port):
                first, other = owners.setdefault(name, (layer, tensor))
                if other == tensor:
                    continue
                yield self.found(
                    at_layer(layer),
                    f"the name {name!r} already means {describe(first)}",
                    expected="different names for model inputs and outputs",
                    found=f"{name!r} for two tensors",
                    cause="version 10 names inputs and outputs after layers",
                    fix="rename one of the two layers",
                )

    def _renumbered(self, context: Context) -> Iterator[Diagnostic]:
        """Report a TensorIterator that becomes a sequence whose outputs have other numbers.

        Output K of the TensorIterator has the name `NAME.K`, and so has output K of the sequence.
        It is a warning, because irloop reads and converts such files rightly.
        """
        sources = filter(None, map(context.root.source, context.root.results))
        direct = {(layer.id, port.id) for layer, port in sources}
        for layer in context.root.of_type("tensoriterator"):
            (wiring,) = context.wirings(context.root, layer)
            numbers = _sequence_numbers(wiring)
            shown = {at for at, port in enumerate(layer.outputs) if (layer.id, port.id) in direct}
            moved = (at for at in sorted(shown & numbers.keys()) if at != numbers[at] in shown)
            output = next(moved, None)
            if output is None:
                continue
            finding = self.found(
                at_layer(layer),
                f"{describe(layer)}: the names of outputs {output} and {numbers[output]} collide",
                expected="in this order: all hidden states, the last one, the last cell state",
                found=f"output {output} is output {numbers[output]} of a sequence",
                cause="OpenVINO replaces it by a sequence, which names its outputs by number",
                fix="irloop convert MODEL.xml -o NEW.xml --ir-version 11",
            )
            yield replace(finding, severity=Severity.WARNING)

    def _doubled(self, index: NetIndex) -> Iterator[Diagnostic]:
        """Report each Result that reads a tensor which is a model input or output already.

        This means that a Parameter produces the tensor, or that an earlier Result reads it. Only
        tensors that have tensor names (`names`) are reported.
        """
        first: dict[tuple[str | None, str | None], Layer] = {
            (layer.id, port.id): layer for layer in index.parameters for port in layer.outputs[:1]
        }
        for result in index.results:
            source = index.source(result)
            if source is None:
                continue
            layer, port = source
            other = first.setdefault((layer.id, port.id), result)
            if other is not result and port.names:
                finding = self.found(
                    at_layer(result),
                    f"the tensor {port.names!r} is {describe(other)} already",
                    expected="a tensor of its own for each model input and output",
                    found=f"output {port.id} of {describe(layer)} is used for both",
                    cause="version 10 gives the names of a tensor to one input or output only",
                    fix="insert an operation that does not change the value, or remove the names",
                )
                if other.type == "Parameter" and other.name in parse_names(port.names):
                    finding = replace(finding, severity=Severity.WARNING)
                yield finding


def _sequence_numbers(wiring: Wiring) -> dict[int, int]:
    """The number that each output of a TensorIterator has in the sequence that replaces it.

    Empty if OpenVINO does not replace it: the body must be one cell, the first input a slice, and
    an output all hidden states.
    """
    body, first = wiring.body, next(iter(wiring.inputs), None)
    cells = [] if body is None else body.of_type("lstmcell", "grucell", "rnncell")
    if body is None or len(cells) != 1 or first is None or not first.has_axis or first.position:
        return {}
    states = [(cells[0].id, port.id) for port in cells[0].outputs]
    numbers: dict[int, int] = {}
    for entry in wiring.outputs:
        source = None if entry.inner is None else body.source(entry.inner)
        if source is not None and (source[0].type or "").lower() in _RESHAPES:
            source = body.source(source[0])
        key = None if source is None else (source[0].id, source[1].id)
        if key in states and entry.position is not None:
            numbers[entry.position] = 0 if entry.has_axis else 1 + states.index(key)
    return numbers if 0 in numbers.values() else {}


def _tensors(index: NetIndex) -> Iterator[tuple[Layer, Port]]:
    """Yield the output ports of Parameters and the ports that feed Results, each port once.

    Each port comes with its layer. In the main graph, these are the inputs and outputs of the
    model. A Parameter that declares no port has an output nevertheless.
    """
    seen: set[tuple[str | None, str | None]] = set()
    sources = [
        (layer, layer.outputs[0] if layer.outputs else _UNDECLARED) for layer in index.parameters
    ]
    fed = (index.source(layer) for layer in index.results)
    for layer, port in (*sources, *(source for source in fed if source is not None)):
        if (layer.id, port.id) not in seen:
            seen.add((layer.id, port.id))
            yield layer, port


def _names(layer: Layer, port: Port) -> set[str]:
    name = layer.name or ""
    if len(layer.outputs) > 1:
        number = next(k for k, item in enumerate(layer.outputs) if item is port)
        name = f"{name}.{number}"
    return {name, *parse_names(port.names)}
