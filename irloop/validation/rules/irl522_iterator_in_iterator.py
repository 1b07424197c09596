"""IRL522: TensorIterator directly inside a TensorIterator."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class IteratorInIterator(
    Rule,
    code="IRL522",
    severity=Severity.WARNING,
    title="TensorIterator directly inside a TensorIterator",
):
    """The body of a TensorIterator contains another TensorIterator.

    What it does:
        Looks at the layers of each TensorIterator body. A Loop in between is fine.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("No nested TensorIterator"). A Loop in a TensorIterator,
        a TensorIterator in a Loop and a Loop in a Loop all work.
    Bad example:
        a TensorIterator over rows whose body is a TensorIterator over columns
    Good example:
        a Loop over rows whose body is a TensorIterator over columns
    Fix:
        Replace the outer one by a Loop with the number of slices as its trip count.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per TensorIterator that is directly in the body of another TensorIterator."""
        for index, layer in context.layers("tensoriterator"):
            owner = index.net.owner
            if owner is None or (owner.type or "").lower() != "tensoriterator":
                continue
            yield self.found(
                at_layer(layer),
                f"{describe(layer)} is directly inside {describe(owner)}",
                expected="at most one TensorIterator without a Loop in between",
                found="two",
                fix="write the outer one as a Loop",
            )
