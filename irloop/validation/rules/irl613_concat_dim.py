"""IRL613: concatenated part has a different size than part_size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_entry, describe
from irloop.formats.openvino.port_map_reader import Entry
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ConcatDim(
    Rule,
    code="IRL613",
    severity=Severity.ERROR,
    title="concatenated part has a different size than part_size",
    requires=("IRL104", "IRL505", "IRL511", "IRL612", "IRL615"),
):
    """The Result of a concatenated output does not have `part_size` elements along the axis.

    What it does:
        Compares the inferred dimension of the body Result on `axis` with `part_size`. A scalar
        counts as one element.
    Why is this bad:
        OpenVINO 2026.4 fails with "Shape mismatch" when it compiles the model, or with "incorrect
        output shape" when it runs it. If the entry states no part_size, this is a warning: irloop
        joins the parts as they are.
    Bad example:
        a Result of shape [4,2], axis="0" part_size="1"
    Good example:
        a Result of shape [1,4,2], axis="0" part_size="1"
    Fix:
        Insert an Unsqueeze of the axis before the Result, or correct part_size and stride.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each concatenated output whose Result does not match part_size.

        The Result must have `part_size` elements along the axis of concatenation.
        """
        for wiring in context.loops:
            for entry in wiring.concatenated:
                inner, axis = entry.inner, entry.axis
                if inner is None or inner.type != "Result" or axis is None:
                    continue
                dims = context.confirmed_result(wiring, inner).dims
                if dims is None or not _differs(dims, entry):
                    continue
                size = dims[axis]
                assert wiring.section is not None
                finding = self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"{describe(inner)} has {size} elements on the axis, part_size is "
                    f"{entry.part_size}",
                    expected=f"{entry.part_size} elements on axis {axis}",
                    found=texts.show_dims(dims),
                    cause="an Unsqueeze before the Result is missing",
                    fix="insert Unsqueeze, or correct part_size and stride",
                )
                is_stated = "part_size" in entry.entry.attributes
                yield finding if is_stated else replace(finding, severity=Severity.WARNING)


def _differs(dims: tuple[int | None, ...] | None, entry: Entry) -> bool:
    axis = entry.axis
    if not dims or axis is None or not -len(dims) <= axis < len(dims) or entry.part_size <= 0:
        return False
    return dims[axis] not in (None, entry.part_size)
