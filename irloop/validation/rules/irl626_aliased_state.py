"""IRL626: state handed on directly to another state."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_back_edge, describe
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class AliasedState(
    Rule,
    code="IRL626",
    severity=Severity.WARNING,
    title="state handed on directly to another state",
):
    """The next value of a state is directly another state, which changes, too.

    What it does:
        Looks for back edges that lead to the Parameter of one state, while their Result is fed
        directly by the Parameter of another state.
    Why is this bad:
        By the specification all states change at once. The CPU plugins of OpenVINO 2026.4 and
        2021.4 copy them one after another, so the second may receive the new value of the first:
        swapping two states, or a delay line, silently gives wrong numbers.
    Bad example:
        a Result fed by Parameter a, carried back to Parameter b, while a changes too
    Good example:
        the same with a Concat of one input between Parameter and Result
    Fix:
        Put an operation that survives optimisation in between, a Concat of one input for example.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each state whose next value is another state, unchanged.

        In the file, the Result at the start of a back edge is then fed directly by the Parameter of
        the other state. There is no finding if that other state keeps its initial value in all
        iterations.
        """
        for wiring in context.loops:
            body = wiring.body
            if body is None:
                continue
            for entry, result, edge in wiring.carried:
                source = body.source(result)
                if source is None or entry.inner is None or source[0].type != "Parameter":
                    continue
                other = source[0]
                if other is entry.inner or not self._changes(wiring, body, other):
                    continue
                yield self.found(
                    at_back_edge(wiring.owner, edge),
                    f"the next value of state {entry.inner.name!r} is state {other.name!r} itself",
                    expected="an operation between the two states",
                    found=f"{describe(result)} fed by {describe(other)}",
                    cause="OpenVINO's CPU plugin may pass on the value of the next iteration "
                    "instead",
                    fix="put a Concat of one input between Parameter and Result",
                )

    @staticmethod
    def _changes(wiring: Wiring, body: NetIndex, state: Layer) -> bool:
        back = wiring.back_edge_of.get(state.id or "")
        source = None if back is None else body.source(back[1])
        return source is not None and source[0] is not state
