"""Makes the problems of port maps, with one wording for the reader and the validation rules.

A `Problem` describes an error in a file: the code of its rule, the place, a message and a fix. The
module `problems` describes which problems the reader raises and which the rules report.
"""

from __future__ import annotations

from irloop.formats.openvino.document import BackEdge, Layer
from irloop.formats.openvino.numbers import is_id
from irloop.formats.openvino.places import (
    at_back_edge,
    at_entry,
    at_layer,
    at_section,
    describe,
)
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.formats.openvino.problems import Problem, malformed_integer, missing_attribute


def port_map_missing(wiring: Wiring) -> Problem:
    """IRL502: a body has no port map, or an empty one."""
    owner, section = wiring.owner, wiring.section
    tag = f"{wiring.label}_port_map" if wiring.label in ("then", "else") else "port_map"
    return Problem(
        "IRL502",
        at_layer(owner) if section is None else at_section(owner, section),
        f"{describe(owner)} has {'no' if section is None else 'an empty'} {tag}",
        expected=f"{tag} with an entry for each input and output of the layer",
        found="none" if section is None else "no entries",
        fix="restore the port map from the original model",
    )


def no_input(wiring: Wiring, entry: Entry) -> Problem:
    """IRL503: an entry names an input that the owner does not have, or that has no edge.

    The problem is also reported if the entry for the iteration number of a Loop names an input,
    because the Loop counts its iterations without an input.
    """
    assert wiring.section is not None
    owner = wiring.owner
    place = at_entry(owner, wiring.section, entry.entry)
    if wiring.is_loop and entry.purpose == "current_iteration":
        return Problem(
            "IRL503",
            place,
            f"the counter of {describe(owner)} is taken from input {entry.external}",
            expected='external_port_id="-1": the loop itself counts',
            found=f'external_port_id="{entry.external}"',
            fix='write external_port_id="-1", or remove the purpose',
        )
    what = f"no input {entry.external}"
    known = [str(port.id) for port in owner.inputs]
    if entry.position is not None:
        what = f"no edge to input {entry.external}, which the body reads"
        connected = {edge.to_port for edge in wiring.outer.edges_into(owner)}
        known = [str(port.id) for port in owner.inputs if port.id in connected]
    return Problem(
        "IRL503",
        place,
        f"{describe(owner)} has {what}",
        expected=f"one of its connected inputs: {', '.join(known[:20]) or 'none'}",
        found=f'external_port_id="{entry.external}"',
        fix="name a connected input, or restore the edge",
    )


def mapped_twice(wiring: Wiring, entry: Entry, first: Entry) -> Problem:
    """IRL505, IRL506: `entry` maps an input or output that the earlier entry `first` maps."""
    assert wiring.section is not None
    is_input = entry.entry.kind == "input"
    what = "input" if is_input else "output port"
    # If an input is not mapped at all, the second entry probably means that one.
    needed = range(2 if wiring.is_loop else 0, len(wiring.owner.inputs))
    others = {item.position for item in wiring.inputs}
    into_others = is_input and entry.inner is not first.inner and others.issuperset(needed)
    return Problem(
        "IRL505" if is_input else "IRL506",
        at_entry(wiring.owner, wiring.section, entry.entry),
        f"{what} {entry.external} of {describe(wiring.owner)} is already mapped",
        expected=f"one entry for each {entry.entry.kind}",
        found=f"a second one (first in line {first.entry.line})",
        fix="add an input port with the same source and map that one"
        if is_input
        else "name another output port or remove one entry",
        cause="OpenVINO keeps only the first entry" if into_others else "",
        is_warning=into_others,
    )


def unreadable_entry(wiring: Wiring, entry: Entry) -> Problem | None:
    """Return the problem if a port map entry lacks an id or has a malformed number, else None.

    A missing id is problem IRL103, and a malformed number is IRL104.
    """
    assert wiring.section is not None
    place = at_entry(wiring.owner, wiring.section, entry.entry)
    attributes = entry.entry.attributes
    for name in ("external_port_id", "internal_layer_id"):
        if name not in attributes:
            return missing_attribute(place, entry.entry.kind, name)
    for name in entry.malformed:
        return malformed_integer(place, name, attributes[name])
    return None


def unknown_body_layer(wiring: Wiring, entry: Entry, cause: str = "") -> Problem:
    """IRL509: an entry names a layer that the body does not have."""
    assert wiring.section is not None
    assert wiring.body is not None
    name = entry.entry.attributes.get("internal_layer_id")
    is_input = entry.entry.kind == "input"
    kind = "Parameters" if is_input else "Results"
    wanted = wiring.body.parameters if is_input else wiring.body.results
    ids = ", ".join(f"{layer.id} ({layer.name})" for layer in wanted[:20])
    return Problem(
        "IRL509",
        at_entry(wiring.owner, wiring.section, entry.entry),
        f"the body of {describe(wiring.owner)} has no layer {name}",
        expected=f"one of its {kind}: {ids or 'none'}",
        found=f'internal_layer_id="{name}"',
        cause=cause,
        fix=f"name one of the {kind} of the body",
    )


def wrong_body_layer(wiring: Wiring, entry: Entry, inner: Layer) -> Problem:
    """IRL510: an input entry names no Parameter, or an output entry names no Result."""
    assert wiring.section is not None
    wanted = "Parameter" if entry.entry.kind == "input" else "Result"
    return Problem(
        "IRL510",
        at_entry(wiring.owner, wiring.section, entry.entry),
        f"the {entry.entry.kind} entry names {describe(inner)}",
        expected=f"a layer of type {wanted}",
        found=str(inner.type),
        cause="the id of a neighbouring layer was written instead",
        fix=f"name the {wanted} that belongs to this port",
    )


def parameter_fed_twice(wiring: Wiring, entry: Entry, first: Entry) -> Problem:
    """IRL511: `entry` feeds a Parameter that the earlier entry `first` feeds already."""
    assert wiring.section is not None
    assert entry.inner is not None
    return Problem(
        "IRL511",
        at_entry(wiring.owner, wiring.section, entry.entry),
        f"inputs {first.external} and {entry.external} both feed {describe(entry.inner)}",
        expected="one input for each body Parameter",
        found=f"a second one (first in line {first.entry.line})",
        fix="name the Parameter that is meant to receive this input",
    )


def wrong_end(
    wiring: Wiring, edge: BackEdge, kind: str, layer: Layer | None, cause: str = ""
) -> Problem:
    """IRL515 for a back edge with a wrong start, IRL516 for a back edge with a wrong end.

    `kind` is the layer type that the back edge must name: "Result" for its start, "Parameter" for
    its end. `layer` is the layer that the back edge names instead; None if the body does not have
    the layer that it names.
    """
    starts = kind == "Result"
    what = "no layer" if layer is None else describe(layer)
    name = edge.from_layer if starts else edge.to_layer
    return Problem(
        "IRL515" if starts else "IRL516",
        at_back_edge(wiring.owner, edge),
        f"back edge of {describe(wiring.owner)} {'starts from' if starts else 'ends in'} {what}",
        expected=f"the id of a {kind} of the body",
        found=f'{"from-layer" if starts else "to-layer"}="{name}"',
        cause=cause,
        fix="name the Result that computes the next value of the state"
        if starts
        else "name the Parameter that holds the state",
    )


def unreadable_back_edge(wiring: Wiring, edge: BackEdge) -> list[Problem]:
    """IRL104: the ends of a back edge are not ids."""
    place = at_back_edge(wiring.owner, edge)
    ends = {"from-layer": edge.from_layer, "to-layer": edge.to_layer}
    return [
        malformed_integer(place, name, text)
        for name, text in ends.items()
        if text is not None and not is_id(text)
    ]


def state_without_start(wiring: Wiring, edge: BackEdge, state: Layer) -> Problem:
    """IRL519: a Parameter has a back edge and no external input."""
    return Problem(
        "IRL519",
        at_back_edge(wiring.owner, edge),
        f"{describe(state)} has a back edge but no initial value",
        expected=f'an input entry with internal_layer_id="{state.id}"',
        found='external_port_id="-1"' if state.id in wiring.entry_of else "none",
        fix="map the input that holds the initial value",
    )


def no_condition(wiring: Wiring) -> Problem:
    """IRL601: a Loop has no execution condition."""
    assert wiring.section is not None
    return Problem(
        "IRL601",
        at_section(wiring.owner, wiring.section),
        f"{describe(wiring.owner)} has no execution condition",
        expected='an output entry with purpose="execution_condition"',
        found="none",
        cause="the entry was lost, or its purpose is misspelt",
        fix="name the body Result that decides whether another iteration follows",
    )
