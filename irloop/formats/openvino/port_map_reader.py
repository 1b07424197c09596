"""Port maps and back edges: from XML to records, with OpenVINO's precedence.

OpenVINO takes an input's `external_port_id` as an index and orders outputs by theirs; in a
layer whose ports are numbered as every writer does, both mean the port. Elsewhere the reading
that the file can only have meant is taken.
"""

from __future__ import annotations

from collections.abc import Mapping

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.openvino.numbers import signed, unsigned
from irloop.formats.openvino.xml import Layer, MapEntry, Net, PortMapSection
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

__all__ = ["Wirer"]


class Wirer:
    """Reads the wires between one layer and one of its bodies."""

    def __init__(self, file: str, layer: Layer, label: str, n_inputs: int) -> None:
        self.file = file
        self.layer = layer
        self.label = label
        self.n_inputs = n_inputs
        kind = (layer.type or "").lower()
        self.is_loop = kind == "loop"
        #: Slices, concatenation and back edges; a branch has none.
        self.iterates = kind != "if"
        body = layer.bodies[label]
        self.parameters = _positions(body, "Parameter")
        self.results = _positions(body, "Result")
        self.kinds = {inner.id: inner.type for inner in body.layers}

    def read(self) -> PortMap:
        """The port map.

        Raises:
            ReadError: when it cannot be understood.
        """
        section = self.layer.port_maps.get(self.label)
        if section is None:
            if self.iterates:
                raise self._error(
                    f"the {self.layer.type} has no port map",
                    self.layer.line,
                    "IRL502",
                    expected="a <port_map>",
                    found="none",
                    cause="the file was edited or cut",
                )
            section = PortMapSection(self.label, [], [], self.layer.line)
        states = self._states()
        inputs, iteration = self._inputs(section, states)
        outputs, condition = self._outputs(section)
        return PortMap(inputs, outputs, iteration, condition)

    def _states(self) -> dict[int, int]:
        """Body parameter -> the body result that is carried back to it; the first edge wins."""
        states: dict[int, int] = {}
        edges = self.layer.back_edges if self.iterates else None
        for edge in edges or ():
            result = self._end(edge.from_layer, self.results, "Result", edge.line, "from-layer")
            parameter = self._end(
                edge.to_layer, self.parameters, "Parameter", edge.line, "to-layer"
            )
            states.setdefault(parameter, result)
        return states

    def _end(
        self, id: str | None, positions: Mapping[str, int], kind: str, line: int, attribute: str
    ) -> int:
        position = None if id is None else positions.get(id)
        if position is None:
            raise self._error(
                f"a back edge whose {attribute} is no {kind} of the body",
                line,
                "IRL515" if kind == "Result" else "IRL516",
                expected=f"the id of a {kind} layer in the body",
                found=self._describe(id),
                fix="back edges go from a Result to the Parameter it feeds",
            )
        return position

    def _inputs(
        self, section: PortMapSection, states: dict[int, int]
    ) -> tuple[tuple[InputPort, ...], int | None]:
        ids = [self._external(entry) for entry in section.inputs]
        by_index = all(number < self.n_inputs for number in ids)
        ports: list[InputPort] = []
        taken: set[int] = set()
        iteration: int | None = None
        for entry, number in zip(section.inputs, ids, strict=True):
            parameter = self._internal(entry, self.parameters, "Parameter")
            if number < 0:
                wants = entry.attributes.get("purpose") == "current_iteration"
                if self.is_loop and wants and iteration is None and parameter not in states:
                    iteration = parameter
                continue
            external = number if by_index else self._by_port(entry, number)
            if parameter in taken:
                raise self._error(
                    "two inputs are mapped to one Parameter of the body",
                    entry.line,
                    "IRL511",
                    expected="each Parameter mapped once",
                    found=self._describe(entry.attributes.get("internal_layer_id")),
                )
            taken.add(parameter)
            ports.append(self._input(entry, external, parameter, states))
        for parameter in states:
            if parameter not in taken:
                raise self._error(
                    "a back edge to a Parameter without an external input",
                    section.line,
                    "IRL519",
                    expected="a port_map input that gives the state its first value",
                    found="none",
                )
        if iteration in taken:
            # A Parameter with an input is that input; OpenVINO looks at the purpose last.
            iteration = None
        return tuple(ports), iteration

    def _input(
        self, entry: MapEntry, external: int, parameter: int, states: dict[int, int]
    ) -> InputPort:
        if self.iterates and "axis" in entry.attributes:
            axis = signed(entry.attributes["axis"])
            if axis is None:
                raise self._number_error(entry, "axis", "IRL104", "an axis")
            return Sliced(external, parameter, axis, *self._range(entry))
        if parameter in states:
            return Carried(external, parameter, states[parameter])
        return Invariant(external, parameter)

    def _outputs(self, section: PortMapSection) -> tuple[tuple[OutputPort, ...], int | None]:
        first: dict[int, tuple[MapEntry, int]] = {}
        condition: int | None = None
        for entry in section.outputs:
            number = self._external(entry)
            result = self._internal(entry, self.results, "Result")
            wants = entry.attributes.get("purpose") == "execution_condition"
            if self.is_loop and wants and condition is None:
                condition = result
            if number >= 0:
                first.setdefault(number, (entry, result))
        if self.is_loop and condition is None:
            raise self._error(
                "the Loop has no execution condition",
                section.line,
                "IRL601",
                expected='an output entry with purpose="execution_condition"',
                found="none",
                fix='add <output external_port_id="-1" internal_layer_id="..." '
                'purpose="execution_condition"/>',
            )
        places = self._output_places(sorted(first))
        ports = [
            self._output(entry, result, places[number]) for number, (entry, result) in first.items()
        ]
        return tuple(ports), condition

    def _output(self, entry: MapEntry, result: int, external: int) -> OutputPort:
        if not self.iterates or "axis" not in entry.attributes:
            return LastValue(result, external)
        axis = signed(entry.attributes["axis"])
        if axis is None:
            raise self._number_error(entry, "axis", "IRL104", "an axis")
        return Concatenated(result, external, axis, *self._range(entry))

    def _output_places(self, numbers: list[int]) -> dict[int, int]:
        """Output positions by external id: the port's where ports ascend, else the rank."""
        declared = [unsigned(port.id) for port in self.layer.outputs]
        places = {id: place for place, id in enumerate(declared) if id is not None}
        ascending = [id for id in declared if id is not None]
        if ascending == sorted(ascending) and all(number in places for number in numbers):
            return {number: places[number] for number in numbers}
        return {number: rank for rank, number in enumerate(numbers)}

    def _by_port(self, entry: MapEntry, number: int) -> int:
        for place, port in enumerate(self.layer.inputs[: self.n_inputs]):
            if unsigned(port.id) == number:
                return place
        raise self._error(
            f"the port map names an input that the layer does not have: {number}",
            entry.line,
            "IRL503",
            expected=f"0..{self.n_inputs - 1}" if self.n_inputs else "no inputs at all",
            found=f"external_port_id={number}",
        )

    def _range(self, entry: MapEntry) -> tuple[int, int, int, int]:
        return (
            self._number(entry, "start", 0),
            self._number(entry, "end", -1),
            self._number(entry, "stride", 1),
            self._number(entry, "part_size", 1),
        )

    def _number(self, entry: MapEntry, name: str, default: int) -> int:
        text = entry.attributes.get(name)
        if text is None:
            return default
        value = signed(text)
        if value is None:
            raise self._number_error(entry, name, "IRL104", "a decimal integer")
        return value

    def _external(self, entry: MapEntry) -> int:
        text = entry.attributes.get("external_port_id")
        value = None if text is None else signed(text)
        if value is None:
            code = "IRL103" if text is None else "IRL104"
            raise self._number_error(entry, "external_port_id", code, "a port, or -1 for none")
        return value

    def _internal(self, entry: MapEntry, positions: Mapping[str, int], kind: str) -> int:
        id = entry.attributes.get("internal_layer_id")
        position = None if id is None else positions.get(id)
        if position is None:
            unknown = "IRL510" if id in self.kinds else "IRL509"
            code = "IRL103" if id is None else unknown
            raise self._error(
                f"an {entry.kind} entry of the port map names no {kind} of the body",
                entry.line,
                code,
                expected=f"internal_layer_id of a {kind} layer in the body",
                found=self._describe(id),
            )
        return position

    def _describe(self, id: str | None) -> str:
        if id is None:
            return "no such attribute"
        kind = self.kinds.get(id)
        return f"{id}, which is no layer of the body" if kind is None else f"{id}, a {kind}"

    def _number_error(self, entry: MapEntry, name: str, code: str, expected: str) -> ReadError:
        text = entry.attributes.get(name)
        return self._error(
            f"{name} of an {entry.kind} entry of the port map is no such number",
            entry.line,
            code,
            expected=expected,
            found="no such attribute" if text is None else repr(text),
        )

    def _error(
        self,
        message: str,
        line: int,
        code: str,
        *,
        expected: str,
        found: str,
        cause: str = "",
        fix: str = "",
    ) -> ReadError:
        layer = self.layer
        return ReadError(
            f"{layer.type} {layer.path!r}, {self.label}: {message}",
            location=Location(self.file, line, layer.path, layer.id, layer.element_path),
            code=code,
            expected=expected,
            found=found,
            cause=cause,
            fix=fix,
        )


def _positions(body: Net, kind: str) -> dict[str, int]:
    """Position among the layers of one type, in document order, by layer id."""
    found: dict[str, int] = {}
    for layer in body.layers:
        if layer.type == kind and layer.id is not None:
            found[layer.id] = len(found)
    return found
