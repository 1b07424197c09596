"""IRL610: element type changes on the way into a body or back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_back_edge, at_entry, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule

#: Types of layers that accept any element type.
_INDIFFERENT = frozenset({"Result", "Convert", "ShapeOf"})


class CarriedType(
    Rule,
    code="IRL610",
    severity=Severity.ERROR,
    title="element type changes on the way into a body or back",
    requires=("IRL511",),
):
    """A body Parameter has a different element type than the value it receives.

    What it does:
        Compares what each mapped body Parameter declares with the outer input, and each state
        with the Result that is carried back to it.
    Why is this bad:
        OpenVINO 2026.4 refuses the file when the body then mixes types; otherwise a Loop silently
        overrides the declared type, and a TensorIterator silently converts in every iteration.
        2021.4 refuses some of these files. In ONNX a state must keep its type. It is a warning if
        only Results, Converts and shapes are made of the Parameter.
    Bad example:
        a Parameter declared i64 that receives an f32 input, or an i32 Result carried back to it
    Good example:
        f32 outside, f32 in the Parameter, f32 in the Result
    Fix:
        Insert a Convert outside or before the Result, or correct the declaration.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding where a body Parameter receives a value of another element type.

        The value is the outer input of the loop or, for a state, the Result of the back edge.
        Values of unknown type are skipped.
        """
        for wiring in context.loops:
            for entry in wiring.inputs:
                inner = entry.inner
                if inner is None or inner.type != "Parameter" or entry.position is None:
                    continue
                outer, declared = context.external(wiring, entry.position), context.parameter(inner)
                if outer.element in (None, declared.element) or declared.element is None:
                    continue
                assert wiring.section is not None
                finding = self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"{describe(inner)} is {declared.element} but receives {outer.element}",
                    expected=f"{outer.element}, as outer input {entry.position}",
                    found=str(declared.element),
                    fix="insert a Convert before the loop, or correct the Parameter",
                )
                readers = [] if wiring.body is None else wiring.body.downstream(inner)
                if all(reader.type in _INDIFFERENT for reader in readers):
                    finding = replace(finding, severity=Severity.WARNING)
                yield finding
            for entry, result, edge in wiring.carried:
                assert entry.inner is not None
                state = context.parameter(entry.inner).element
                after = context.result(wiring, result).element
                if state is None or after in (None, state):
                    continue
                yield self.found(
                    at_back_edge(wiring.owner, edge),
                    f"the state {describe(entry.inner)} changes its element type",
                    expected=f"{state}, as the Parameter declares it",
                    found=f"{after} in {describe(result)}",
                    fix="insert a Convert before the Result",
                )
