"""IRL109: operation or opset is unknown."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.openvino import opsets
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.places import at_layer
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnknownOperation(
    Rule, code="IRL109", severity=Severity.ERROR, title="operation or opset is unknown"
):
    """The layer's opset, or every opset, lacks this operation.

    What it does:
        Looks up `type` and `version` of each layer in the opsets 1 to 17. Types match in any
        letter case, except Const, Parameter and Result.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("Opset opset1 doesn't contain the operation with type:
        Loop"), so the model cannot even be inspected. OpenVINO 2021.4 has only opset1 to opset7.
    Bad example:
        <layer id="4" name="loop" type="Loop" version="opset1">
    Good example:
        <layer id="4" name="loop" type="Loop" version="opset5">
    Fix:
        Write an opset that has the operation, or replace an operation from an extension.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each layer with an operation type that is unknown in its opset."""
        known: dict[tuple[str | None, str | None], bool] = {}
        for index in context.nets:
            for layer in index.net.layers:
                key = layer.type, layer.version
                if key not in known:
                    known[key] = _is_known(layer)
                if not known[key]:
                    yield self._unknown(layer)

    def _unknown(self, layer: Layer) -> Diagnostic:
        type_name, version = layer.type or "", layer.version or ""
        spans = opsets.opsets(type_name)
        exact = next((n for n in opsets.EXACT if n.lower() == type_name.lower()), None)
        if not spans:
            message, expected = (
                f"no opset has an operation {type_name!r}",
                "an operation of OpenVINO",
            )
            cause, fix = "an operation of an extension, or a misspelling", "correct the type"
        elif exact is not None and exact != type_name:
            message, expected = f"the type {exact} must be spelled with these capitals", exact
            cause, fix = "", f'write type="{exact}"'
        elif opsets.opset_of(version, type_name) is None:
            message, expected = f"{version!r} is not an opset", f"opset1 to opset{opsets.NEWEST}"
            cause, fix = (
                "an extension's opset, or a misspelling",
                "write the opset of the operation",
            )
        else:
            first = spans[-1][0] if len(spans) == 1 else spans[0][0]
            message = f"{version} has no operation {type_name}"
            expected = " or ".join(f"opset{low} to opset{high}" for low, high in spans)
            cause, fix = "", f'write version="opset{first}"'
        return self.found(
            at_layer(layer),
            message,
            expected=expected,
            found=f"{type_name} {version}",
            cause=cause,
            fix=fix,
        )


def _is_known(layer: Layer) -> bool:
    type_name = layer.type
    if type_name is None or layer.version is None or type_name in ("Constant", "const", "result"):
        return True  # IRL103, IRL110 and IRL108 report these layers
    if type_name.lower() in ("constant", "const", "result"):
        return type_name not in ("Result", "Const") or _in_opset(layer)
    if type_name not in opsets.EXACT and type_name.lower() == "parameter":
        return False
    return _in_opset(layer)


def _in_opset(layer: Layer) -> bool:
    opset = opsets.opset_of(layer.version, layer.type or "")
    spans = opsets.opsets(layer.type or "")
    return opset is not None and any(low <= opset <= high for low, high in spans)
