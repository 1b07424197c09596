"""IRL611: state changes its shape."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_back_edge, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class CarriedShape(
    Rule,
    code="IRL611",
    severity=Severity.WARNING,
    title="state changes its shape",
    requires=("IRL505", "IRL511", "IRL615"),
):
    """An iteration changes the shape of a state.

    What it does:
        Compares the inferred dimensions of the initial value of each state with those of the Result
        that is carried back to it.
    Why is this bad:
        OpenVINO 2026.4 and ONNX allow it in a Loop. OpenVINO 2026.4 fails at inference if the
        state is in a TensorIterator, and OpenVINO 2021.4 fails for Loop and TensorIterator.
    Bad example:
        a Parameter of shape [1] whose next value is Concat(state, x) of shape [2]
    Good example:
        a Parameter of shape [1] whose next value has shape [1]
    Fix:
        Collect growing values as a concatenated output instead of a state.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per state whose initial value and next value differ in a known dimension.

        The finding is at the back edge.
        """
        for wiring in context.loops:
            for entry, result, edge in wiring.carried:
                assert entry.inner is not None
                before = context.external(wiring, entry.position)
                if before.dims is None:
                    before = context.parameter(entry.inner)
                after = context.confirmed_result(wiring, result)
                if after.dims is None or None in after.dims:
                    # Inference leaves dimensions unknown if the state grows, so use the declared
                    # shape.
                    after = context.result(wiring, result)
                if before.dims is None or after.dims is None or before.rank != after.rank:
                    continue
                pairs = zip(before.dims, after.dims, strict=True)
                if all(None in pair or pair[0] == pair[1] for pair in pairs):
                    continue
                yield self.found(
                    at_back_edge(wiring.owner, edge),
                    f"the state {describe(entry.inner)} changes its shape",
                    expected=texts.show_dims(before.dims),
                    found=f"{texts.show_dims(after.dims)} in {describe(result)}",
                    cause="a TensorIterator fails at inference"
                    if wiring.is_iterator
                    else "only Loops of newer engines allow it",
                    fix="collect growing values as a concatenated output",
                )
