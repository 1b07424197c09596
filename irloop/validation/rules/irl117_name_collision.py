"""IRL117: model inputs or outputs share a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer, Port
from irloop.formats.openvino.markup import parse_names
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import NET, Rule

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
        also reports a named tensor that feeds two Results, or a Result and is a Parameter's output.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("names have collisions"). OpenVINO 2021.4 reads it, but
        users who ask for that name get either of the two. In version 11 files this does not happen.
        A Parameter that is connected directly to a Result is only a warning if the tensor has the
        Parameter's name: OpenVINO writes such files itself, and reads them.
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
