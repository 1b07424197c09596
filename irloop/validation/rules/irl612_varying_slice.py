"""IRL612: concatenated value changes its shape."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.openvino import OPENVINO, activation
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_entry, describe
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class VaryingSlice(
    Rule,
    code="IRL612",
    severity=Severity.ERROR,
    title="concatenated value changes its shape",
    requires=("IRL511",),
):
    """A value that is concatenated over the iterations changes its shape from one to the next.

    What it does:
        Follows states whose shape changes (IRL611) through elementwise operations of the body to
        Results of concatenated outputs.
    Why is this bad:
        OpenVINO 2026.4 returns uninitialised memory without any error. ONNX Runtime reports an
        error when it runs.
    Bad example:
        a state that grows by one element in each iteration, mapped to an output with an axis
    Good example:
        only the new element mapped to the output with an axis
    Fix:
        Concatenate a value that keeps its shape, or output the last value.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Report each concatenated output entry whose Result changes its shape.

        The shape changes from one iteration to another.
        """
        for wiring in context.loops:
            if wiring.body is None or not wiring.concatenated:
                continue
            varying = _varying_results(context, wiring, wiring.body)
            for entry in wiring.concatenated:
                if entry.inner is None or entry.inner.id not in varying:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"the shape of {describe(entry.inner)} differs between iterations",
                    expected="the same shape in each iteration",
                    found=f"a value computed from state {varying[entry.inner.id]}, whose shape "
                    "changes",
                    cause="OpenVINO returns uninitialised memory for it",
                    fix="concatenate a value of constant shape, or return only the last value",
                )


#: Operations that are not elementwise, but whose output has the shape of their input.
_KEEPING = (activation.Swish, activation.SoftMax1, activation.SoftMax8)


def _varying_results(context: Context, wiring: Wiring, body: NetIndex) -> dict[str, str]:
    """Find the Results of a loop body that receive a value whose shape varies.

    Return a mapping from the id of each such Result to the name of the state on which the value
    depends.
    """
    stack: list[tuple[Layer, str]] = []
    for entry, result, _ in wiring.carried:
        assert entry.inner is not None
        before, after = context.parameter(entry.inner).dims, context.result(wiring, result).dims
        if before == context.confirmed_result(wiring, result).dims:
            # A Parameter that gets slices declares another shape, which OpenVINO replaces.
            continue
        if before is None or after is None or len(before) != len(after):
            continue
        if any(None not in pair and pair[0] != pair[1] for pair in zip(before, after, strict=True)):
            name = entry.inner.name or ""
            stack.append((entry.inner, name))
            source = body.source(result)
            # A next value that does not depend on the state has one shape in all iterations.
            if source is not None and _leads_to(body, entry.inner, source[0]):
                stack.append((source[0], name))
    results: dict[str, str] = {}
    seen: set[int] = set()
    while stack:
        layer, name = stack.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        for reader in body.downstream(layer):
            if reader.type == "Result" and reader.id is not None:
                results.setdefault(reader.id, name)
            elif _keeps_shape(reader) and _is_declared_alike(context, layer, reader):
                stack.append((reader, name))
    return results


def _leads_to(body: NetIndex, first: Layer, last: Layer) -> bool:
    pending, seen = [first], {id(first)}
    for layer in pending:
        for reader in body.downstream(layer):
            if id(reader) not in seen:
                seen.add(id(reader))
                pending.append(reader)
    return id(last) in seen


def _keeps_shape(layer: Layer) -> bool:
    return any(
        operation.elementwise or issubclass(operation, _KEEPING)
        for operation in OPENVINO.versions(layer.type or "")
    )


def _is_declared_alike(context: Context, layer: Layer, reader: Layer) -> bool:
    """Return whether `layer` and `reader` declare the same dimensions for their first outputs."""
    if not layer.outputs or not reader.outputs:
        return False
    return context.declared(layer.outputs[0]).dims == context.declared(reader.outputs[0]).dims
