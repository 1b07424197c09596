"""OVN163: states that exchange their values and have different sizes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop, same_shape_source

__all__ = ["ExchangedSizes"]


class ExchangedSizes(
    Hazard,
    code="OVN163",
    engine="openvino",
    versions=("2026.4.1",),
    title="States that exchange their sizes",
    effect=Effect.WRONG,
    case="openvino_loop_states_exchange_sizes",
    fix="Add a state with another size after each iteration, and let the body read it.",
):
    """States that exchange their sizes.

    What happens:
        The plugin keeps the addresses of the memory of all states for the next run of the loop, if
        each state then has its initial size. If a state had another size in between, its memory has
        moved: the next inference, or the next iteration of an outer loop, reads and overwrites
        memory that is no longer in use. The results are wrong, or the process crashes.
    Where:
        States of a loop exchange their values, and their sizes are known only at run time. The
        fault occurs if the sizes differ, but each state has its initial size in the last iteration.
    What irloop does:
        Conversion to IR adds a state whose size is never the initial one after an iteration. It
        does so for every loop with a state that may grow and shrink.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        sources: dict[Value, Value] = {}
        for port in body.ports.carried:
            given, own = node.inputs[port.external], body.graph.input(port.parameter)
            if _changes_surely(given, own, body.graph.output(port.result)):
                return
            sources[own] = same_shape_source(body.graph.output(port.result))
        for own, source in sources.items():
            is_exchanged = source is not own and sources.get(source) not in (None, source)
            if is_exchanged and not shape_of(own).is_static:
                yield f"state {own.name!r} takes the value of state {source.name!r}, and its size"


def _changes_surely(given: Value | None, own: Value, made: Value) -> bool:
    """True if a state has another size after each iteration, and its parameter is read."""
    first = None if given is None else shape_of(given).count()
    later = shape_of(made).count()
    return own.is_used and None not in (first, later) and first != later
