"""IRL622: axis is outside the tensor."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_entry
from irloop.validation.context import Context
from irloop.validation.declared import UNKNOWN
from irloop.validation.rule import Rule


class AxisRange(
    Rule,
    code="IRL622",
    severity=Severity.ERROR,
    title="axis is outside the tensor",
    requires=("IRL104",),
):
    """The `axis` of an entry is not an axis of the tensor it slices or concatenates.

    What it does:
        Compares `axis` with the rank of the outer input, or of the body Result. Scalars may be
        concatenated along axis 0.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("Accessing out-of-range dimension").
    Bad example:
        axis="5" for an input of shape [6,2]
    Good example:
        axis="0" for an input of shape [6,2]
    Fix:
        Name an axis of the tensor, counted from 0.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per sliced or concatenated entry whose tensor has no such axis."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                declared = UNKNOWN
                if entry.entry.kind == "input":
                    declared = context.external(wiring, entry.position)
                elif entry.inner is not None and entry.inner.type == "Result":
                    declared = context.result(wiring, entry.inner)
                rank, axis = declared.rank, entry.axis
                if rank is None or axis is None:
                    continue
                count = max(rank, 1) if entry.entry.kind == "output" else rank
                if -count <= axis < count:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"the tensor has no axis {axis}",
                    expected=f"an axis of a tensor of shape {texts.show_dims(declared.dims)}",
                    found=f'axis="{axis}"',
                    fix="name an axis of the tensor, counted from 0",
                )
