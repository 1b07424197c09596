"""IRL525: one state of a loop has lost its back edge, while other states have theirs."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.edits import AddElement
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_entry, describe
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.validation.context import Context
from irloop.validation.declared import constant_of
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule

#: Maximum number of bytes of a constant that are read. Of a longer constant only the beginning is
#: read.
READ_BYTES = 2**16


class OneStateNotCarried(
    Rule,
    code="IRL525",
    severity=Severity.WARNING,
    title="input that looks like a state but has no back edge, although other inputs have one",
    requires=("IRL502", "IRL509", "IRL510", "IRL515", "IRL516", "IRL518", "IRL519"),
):
    """One of several states of a loop has lost its back edge.

    What it does:
        Looks at TensorIterators and Loops that have a back edge for some of their states. In such a
        loop, it takes each Result that could be the next value of another state: no back edge
        starts from it, and it is not concatenated. Then it looks for inputs that could be the
        initial value: they are the same in every iteration, the Result is computed from them, and
        they have its element type and shape. They must not hold weights, so each is an input of the
        model, a computed value, or a constant of equal elements. If there is exactly one such
        input, it is reported.
    Why is this bad:
        The state starts from the same value in every iteration. OpenVINO accepts such a file
        without a word, and the result is wrong.
    Bad example:
        an LSTM cell whose hidden state has a back edge and whose cell state has none
    Good example:
        a back edge for each of the two
    Fix:
        Restore the back edge from the Result to the Parameter.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per loop input that looks like a state but has no back edge.

        Only loops with other states are checked.
        """
        for wiring, result, entry, parameter in _missing(context):
            assert wiring.section is not None
            yield self.found(
                at_entry(wiring.owner, wiring.section, entry.entry),
                f"{parameter.name!r} of {describe(wiring.owner)} looks like a state and "
                "has no back edge",
                expected=f'an edge from-layer="{result.id}" to-layer="{parameter.id}" '
                "in back_edges",
                found=f"{len(wiring.carried)} other states with a back edge",
                cause=f"{result.name!r} is computed from it and has its type and shape",
                fix="restore the back edge",
            )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Add the missing back edge from the Result to the Parameter of the state."""
        for wiring, result, entry, parameter in _missing(context):
            assert wiring.section is not None
            place = at_entry(wiring.owner, wiring.section, entry.entry)
            owner = place.element.rpartition("/port_map")[0]
            attributes = (("from-layer", result.id or ""), ("to-layer", parameter.id or ""))
            yield self.repair(
                place,
                f'<edge from-layer="{result.id}" to-layer="{parameter.id}"/> added to back_edges',
                AddElement(f"{owner}/back_edges", "edge", attributes),
                effect="the state is carried, so the outputs change",
            )


def _missing(context: Context) -> Iterator[tuple[Wiring, Layer, Entry, Layer]]:
    """Yield the loop inputs that look like states but lack a back edge.

    Each item holds the loop, the body Result from which the back edge should start, the port map
    entry of the input, and the body Parameter that it feeds.
    """
    for wiring in context.loops:
        body = wiring.body
        if body is None or wiring.section is None or not wiring.carried:
            continue
        results = list(_free_results(wiring, body))
        states = [entry for entry in wiring.inputs if _may_be_state(context, wiring, entry)]
        for result in results:
            fitting = [item for item in states if _leads_to(context, wiring, item, result)]
            if len(fitting) != 1:
                continue
            (entry,) = fitting
            states.remove(entry)
            assert entry.inner is not None
            yield wiring, result, entry, entry.inner


def _free_results(wiring: Wiring, body: NetIndex) -> Iterator[Layer]:
    """Yield those Results of a loop body that could be the next value of a state.

    A Result is skipped if a back edge starts there, if it is the condition, or if it is mapped to a
    concatenated output. It is also skipped if a back edge already carries the same value from
    another Result.
    """
    taken = {edge.from_layer for edge, _, _ in wiring.back_edges}
    for entry in wiring.outputs:
        if entry.inner is not None and (entry.has_axis or entry.purpose):
            taken.add(entry.inner.id)
    carried = {body.source(result) for _, result, _ in wiring.carried}
    for layer in body.results:
        # Another Result of a value that is already carried is just an output of that state.
        if layer.id not in taken and body.source(layer) not in carried:
            yield layer


def _may_be_state(context: Context, wiring: Wiring, entry: Entry) -> bool:
    """Return whether an input of a loop looks like a state whose back edge is missing.

    The input enters a body Parameter unsliced, has no purpose such as the iteration number, and
    does not hold weights: it is no constant, or a constant of equal elements.
    """
    inner = entry.inner
    if inner is None or inner.type != "Parameter" or entry.has_axis or entry.position is None:
        return False
    if inner.id in wiring.back_edge_of or entry.purpose:
        return False
    if wiring.is_loop and entry.position < 2:
        return False
    source = wiring.outer.source(wiring.owner, entry.position)
    return source is not None and (source[0].type != "Const" or _is_uniform(context, source[0]))


def _is_uniform(context: Context, layer: Layer) -> bool:
    """Return whether all elements of a constant are equal; only the first of a large one are
    compared.

    Equal elements are usual for initial states, but not for weights.
    """
    constant = constant_of(layer)
    needed, count = constant.needed, constant.elements
    if constant.offset is None or not needed or not count or needed % count:
        return False
    size = needed // count
    data = context.weights.read(constant.offset, min(needed, READ_BYTES // size * size))
    return bool(data) and data == data[:size] * (len(data) // size)


def _leads_to(context: Context, wiring: Wiring, entry: Entry, result: Layer) -> bool:
    """Return whether `result` is computed from the Parameter of `entry` and has an equal type.

    Element types and shapes must be known and equal. A Result that returns the Parameter directly
    does not count.
    """
    body, inner = wiring.body, entry.inner
    assert body is not None
    assert inner is not None
    after = context.result(wiring, result)
    if after.element is None or after.dims is None or context.parameter(inner) != after:
        return False
    direct = body.source(result)
    if direct is None or direct[0] is inner:
        return False
    return any(layer is inner for layer in body.upstream(result))
