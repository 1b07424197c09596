"""IRL705: one Result for two outputs of an If."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry, describe
from irloop.formats.openvino.port_map_reader import Entry
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class SharedResult(
    Rule,
    code="IRL705",
    severity=Severity.ERROR,
    title="one Result for two outputs of an If",
):
    """A branch of an If maps one Result to two outputs.

    What it does:
        Compares `internal_layer_id` of the output entries of each branch.
    Why is this bad:
        OpenVINO 2026.4 refuses the file. (A TensorIterator or Loop may map one Result to two
        outputs.)
    Bad example:
        <output external_port_id="2" internal_layer_id="5"/>
        <output external_port_id="3" internal_layer_id="5"/>
    Good example:
        two Results fed by the same layer
    Fix:
        Add a second Result.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output entry that maps a branch's Result to a second output of an If."""
        for _, layer, both in context.branches:
            for wiring in both:
                first: dict[str, Entry] = {}
                for entry in wiring.outputs:
                    if entry.inner is None or entry.inner.id is None:
                        continue
                    other = first.setdefault(entry.inner.id, entry)
                    if other is entry or other.external == entry.external:
                        continue
                    assert wiring.section is not None
                    yield self.found(
                        at_entry(layer, wiring.section, entry.entry),
                        f"{describe(entry.inner)} is mapped to two outputs",
                        expected="a Result for each output",
                        found=f"outputs {other.external} and {entry.external}",
                        fix="add a second Result fed by the same layer",
                    )
