"""IRL901: version 10 file that OpenVINO 2021.4 cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.openvino import opsets
from irloop.formats.openvino.document import Layer, Port
from irloop.formats.openvino.places import at_layer, at_port
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class NotFor2021(
    Rule,
    code="IRL901",
    severity=Severity.INFO,
    title="version 10 file that OpenVINO 2021.4 cannot read",
):
    """A file of version 10 uses a feature that OpenVINO 2021.4 does not support.

    What it does:
        Runs only if that runtime is selected (`--engine openvino-2021.4`, `--select IRL901`). Looks
        in version 10 files for operations of opset8 and later, for If, and for dynamic dimensions;
        each kind is reported once, with a count. (IRL513 reports mapped but unused body
        Parameters.)
    Why is this bad:
        Later releases write version 10 even with newer features. OpenVINO 2026.4 reads such files;
        2021.4, the last release whose own version is 10, supports only opset1 to opset7 and static
        shapes.
    Bad example:
        <layer id="4" name="gather" type="Gather" version="opset8">
    Good example:
        <layer id="4" name="gather" type="Gather" version="opset7">
    Fix:
        Write the model for that runtime: older versions of the operations, static shapes.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield findings for a version 10 model that OpenVINO 2021.4 cannot read.

        For each operation of an opset after opset7 there is one finding, at the first layer of this
        type. For all ports with dynamic dimensions there is one finding, at the first of them.
        """
        if context.version != 10 or not context.concerns_2021:
            return
        newer: dict[tuple[str | None, str | None], list[Layer]] = {}
        dynamic: list[tuple[Layer, Port]] = []
        for index in context.nets:
            is_dynamic = any("-1" in dims for dims in index.ports.dims)
            for layer in index.net.layers:
                if opsets.is_newer_than_2021(layer.version):
                    newer.setdefault((layer.type, layer.version), []).append(layer)
                if is_dynamic:
                    dynamic += [(layer, port) for port in layer.outputs if "-1" in port.dims]
        for (type_name, version), layers in newer.items():
            yield self.found(
                at_layer(layers[0]),
                f"OpenVINO 2021.4 does not know {type_name} of {version}"
                f" ({len(layers)} in this model)",
                expected=f"opset1 to opset{opsets.LAST_OF_2021}",
                found=version or "",
                fix="write the model for that runtime, with older operations and static shapes",
            )
        if dynamic:
            yield self.found(
                at_port(*dynamic[0]),
                f"OpenVINO 2021.4 reads static shapes only ({len(dynamic)} dynamic in this model)",
                expected="numbers",
                found="-1",
                fix="reshape the model to static shapes",
            )
