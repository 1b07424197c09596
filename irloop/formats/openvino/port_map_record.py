"""Builds the port map of a graph from the connections that `port_map_reader` finds."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.formats.openvino import port_map_problems as problems
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_back_edge
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.formats.openvino.problems import Problem, missing_attribute
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)

__all__ = ["port_map_of"]


def port_map_of(wiring: Wiring, n_inputs: int, file: str) -> PortMap:
    """Convert the wiring of one body to a port map; the owner has `n_inputs` connected inputs.

    Raises:
        ReadError: for the first problem that makes the port map unusable.
    """
    assert wiring.body is not None
    for problem in _problems(wiring, n_inputs):
        raise problem.error(file)
    parameters, results = _places(wiring.body, "Parameter"), _places(wiring.body, "Result")
    states = {}
    if wiring.slices:
        ends = wiring.back_edge_of.items()
        states = {parameters[key]: results[result.id or ""] for key, (_, result) in ends}
    inputs: list[InputPort] = []
    iteration: int | None = None
    for entry in wiring.inputs:
        parameter = parameters[_inner(entry)]
        if not _is_outer(entry):
            counts = wiring.is_loop and entry.purpose == "current_iteration"
            if counts and iteration is None and parameter not in states:
                iteration = parameter
            continue
        inputs.append(_input(wiring, entry, parameter, states))
    if any(port.parameter == iteration for port in inputs):
        # A Parameter with an input receives that input; OpenVINO checks the purpose last.
        iteration = None
    outputs: dict[int, OutputPort] = {}
    condition: int | None = None
    for entry in wiring.outputs:
        result = results[_inner(entry)]
        if wiring.is_loop and condition is None and entry.purpose == "execution_condition":
            condition = result
        if entry.position is not None and entry.position not in outputs:
            outputs[entry.position] = _output(wiring, entry, result, entry.position)
    return PortMap(tuple(inputs), tuple(outputs.values()), iteration, condition)


def _places(body: NetIndex, kind: str) -> dict[str, int]:
    """Number the Parameters or Results of a body; return the numbers, keyed by layer id.

    `kind` is "Parameter" or "Result". Numbers start at 0 and follow the order in the body.
    """
    layers = body.parameters if kind == "Parameter" else body.results
    return {layer.id or "": place for place, layer in enumerate(layers)}


def _inner(entry: Entry) -> str:
    return entry.entry.attributes.get("internal_layer_id", "")


def _is_outer(entry: Entry) -> bool:
    """Return whether an entry of a port map is connected to an external port of the layer.

    False if the entry has no external port, or if its external port is -1. A Loop uses -1 for the
    iteration number and the condition.
    """
    return entry.external is not None and entry.external >= 0


def _input(wiring: Wiring, entry: Entry, parameter: int, states: dict[int, int]) -> InputPort:
    external = entry.position
    assert external is not None
    if wiring.slices and entry.axis is not None:
        ends = entry.start, entry.end, entry.stride, entry.part_size
        return Sliced(external, parameter, entry.axis, *ends)
    if parameter in states:
        return Carried(external, parameter, states[parameter])
    return Invariant(external, parameter)


def _output(wiring: Wiring, entry: Entry, result: int, external: int) -> OutputPort:
    if not wiring.slices or entry.axis is None:
        return LastValue(result, external)
    ends = entry.start, entry.end, entry.stride, entry.part_size
    return Concatenated(result, external, entry.axis, *ends)


def _problems(wiring: Wiring, n_inputs: int) -> Iterator[Problem]:
    """Yield the problems that make the port map unusable."""
    section = wiring.section
    if wiring.slices and (section is None or not (section.inputs or section.outputs)):
        yield problems.port_map_missing(wiring)
        return
    if wiring.slices:
        yield from _back_edge_problems(wiring)
    for entry in (*wiring.inputs, *wiring.outputs):
        yield from _entry_problems(wiring, entry)
    yield from _input_problems(wiring, n_inputs)
    if wiring.is_loop and all(item.purpose != "execution_condition" for item in wiring.outputs):
        yield problems.no_condition(wiring)


def _back_edge_problems(wiring: Wiring) -> Iterator[Problem]:
    for edge, _, _ in wiring.back_edges:
        place = at_back_edge(wiring.owner, edge)
        if edge.from_layer is None or edge.to_layer is None:
            name = "from-layer" if edge.from_layer is None else "to-layer"
            yield missing_attribute(place, "edge", name)
        yield from problems.unreadable_back_edge(wiring, edge)
    for kind in ("Result", "Parameter"):
        for edge, _, layer in wiring.wrong_ends(kind):
            yield problems.wrong_end(wiring, edge, kind, layer)


def _entry_problems(wiring: Wiring, entry: Entry) -> Iterator[Problem]:
    unreadable = problems.unreadable_entry(wiring, entry)
    if unreadable is not None:
        yield unreadable
    elif entry.inner is None:
        yield problems.unknown_body_layer(wiring, entry)
    elif entry.inner.type != ("Parameter" if entry.entry.kind == "input" else "Result"):
        yield problems.wrong_body_layer(wiring, entry, entry.inner)


def _input_problems(wiring: Wiring, n_inputs: int) -> Iterator[Problem]:
    first: dict[str, Entry] = {}
    for entry in wiring.inputs:
        if not _is_outer(entry):
            continue
        if entry.position is None or entry.position >= n_inputs:
            yield problems.no_input(wiring, entry)
        other = first.setdefault(_inner(entry), entry)
        if other is not entry and other.external == entry.external:
            yield problems.mapped_twice(wiring, entry, other)
        elif other is not entry:
            yield problems.parameter_fed_twice(wiring, entry, other)
    for key, (edge, _) in wiring.back_edge_of.items() if wiring.slices else ():
        if key not in first:
            assert wiring.body is not None
            yield problems.state_without_start(wiring, edge, wiring.body.layers[key])
