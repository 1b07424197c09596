"""IRL628: state changes its rank."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.places import at_back_edge, at_entry, describe
from irloop.validation.context import Context
from irloop.validation.declared import Declared
from irloop.validation.rule import Rule


class CarriedRank(
    Rule,
    code="IRL628",
    severity=Severity.WARNING,
    title="state changes its rank",
    requires=("IRL511",),
):
    """An iteration changes the rank of a state.

    What it does:
        Compares the declared rank of each state Parameter with that of the Result that is carried
        back to it, and with that of its initial value.
    Why is this bad:
        The rank of the state is then unknown. OpenVINO 2026.4 fails when it compiles the model
        ("doesn't support Loop operation with dynamic rank").
    Bad example:
        a scalar state whose next value has shape [1]
    Good example:
        a state of shape [1] whose next value has shape [1]
    Fix:
        Insert a Squeeze, Unsqueeze or Reshape before the Result or outside.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each state with another rank than its next or initial value.

        A finding about the next value is located at the back edge, one about the initial value at
        the input entry.
        """
        for wiring in context.loops:
            for entry, result, edge in wiring.carried:
                assert entry.inner is not None
                state = context.parameter(entry.inner)
                after = context.result(wiring, result)
                start = context.external(wiring, entry.position)
                if state.rank is None:
                    continue
                if after.rank not in (None, state.rank):
                    yield self._rank(
                        at_back_edge(wiring.owner, edge), entry.inner, state, after, "next value"
                    )
                elif start.rank not in (None, state.rank):
                    assert wiring.section is not None
                    place = at_entry(wiring.owner, wiring.section, entry.entry)
                    yield self._rank(place, entry.inner, state, start, "initial value")

    def _rank(
        self, place: Location, layer: Layer, state: Declared, other: Declared, what: str
    ) -> Diagnostic:
        return self.found(
            place,
            f"the {what} of {describe(layer)} has the wrong rank",
            expected=str(state),
            found=str(other),
            fix="reshape it to the rank of the state",
        )
