"""Everything that rules may ask about one IR model, computed when it is first needed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from irloop.diagnostics import Diagnostic, Severity
from irloop.files import ParsedOnce
from irloop.formats.openvino import texts
from irloop.formats.openvino.document import Document, Layer, Net, Port
from irloop.formats.openvino.net_index import LOOPS, NetIndex, Source
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.places import ElementPlaces, at_edge, at_entry
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.graph.op import UnknownOp
from irloop.graph.types import ElementType, TensorType
from irloop.opening import Path
from irloop.validation.declared import (
    PACKED,
    UNKNOWN,
    BranchOutput,
    Constant,
    Declared,
    constant_of,
    constants_of_blobs,
    contradictions,
    known_element,
)
from irloop.validation.error_places import Errors
from irloop.validation.weights import Weights

if TYPE_CHECKING:
    from irloop.errors import InferenceError
    from irloop.formats.openvino.problems import Problem
    from irloop.validation.analysis import Analysis
    from irloop.validation.schema import SchemaFinding

__all__ = ["Context"]

#: Maximum number of elements of a constant that is read as a trip count or a condition.
SMALL = 16
#: A file of at least this many bytes is first checked against the schema as a whole. That check is
#: fast, but only tells whether there are errors.
LARGE = 1 << 19
#: Operations that return the one element they receive.
_TRANSPARENT = frozenset({"reshape", "squeeze", "unsqueeze"})


#: The rules about what a reader only looks at when it creates a layer.
_CONTENT = ("IRL103", "IRL109", "IRL11", "IRL208", "IRL3", "IRL4", "IRL5", "IRL6", "IRL7", "IRL8")


class Context:
    """One model and everything derived from it."""

    def __init__(self, document: Document, weights: Path, path: ParsedOnce | None = None) -> None:
        self.document = document
        #: The path object that keeps the document for later readers, and gets the model once it is
        #: read.
        self._path = path
        self.weights = Weights(weights)
        #: Where errors were found so far; the engine fills it while the rules run.
        self.errors = Errors()
        #: True if the caller also selected OpenVINO 2021.4.
        self.concerns_2021 = False
        self._wirings: dict[int, list[Wiring]] = {}
        self._arities: dict[tuple[str | None, str | None], tuple[int, int | None]] = {}

    def close(self, *, keep_document: bool = False) -> None:
        """Close the weights, and break reference cycles so that memory is freed at once.

        Without cycles, the memory of a large file need not wait for the garbage collector. With
        `keep_document`, the cycles inside the document are not broken.

        If the file is a `ParsedOnce`, the document and the model that was read from it, if there is
        one, are left to the next reader of that file.
        """
        self.weights.close()
        first: Analysis | None = self.__dict__.get("first_analysis")
        if self._path is not None and first is not None:
            self._path.leave_model(first.released(), self.weights.path)
        for name in ("analysis", "first_analysis"):
            analysis: Analysis | None = self.__dict__.pop(name, None)
            if analysis is not None:
                analysis.close()
        keep_document |= self._path is not None
        for index in () if keep_document else self.__dict__.get("nets", ()):
            for layer in index.net.layers:
                del layer.net
        self._wirings.clear()

    @property
    def version(self) -> int | None:
        """The IR version that the file declares; None if it is missing or not a number."""
        return unsigned(self.document.version)

    @property
    def is_legacy(self) -> bool:
        """Return whether this is an IR of versions 2 to 7."""
        return self.document.is_legacy

    def is_source(self, layer: Layer) -> bool:
        """Return whether layers of this type have no inputs: constants, and inputs of a net."""
        if self.is_legacy:
            return (layer.type or "").lower() in ("input", "const")
        return layer.type in ("Parameter", "Const")

    @cached_property
    def legacy_problems(self) -> dict[str, list[Diagnostic]]:
        """What reading the layers of versions 2 to 7 meets, by code; empty for other versions."""
        by_code: dict[str, list[Diagnostic]] = {}
        if self.is_legacy:
            from irloop.formats.openvino.legacy.checking import problems_of

            for item in problems_of(self.document, self.weights.path):
                by_code.setdefault(item.code, []).append(item)
        return by_code

    @cached_property
    def nets(self) -> list[NetIndex]:
        """The root and every body, an owner before its bodies."""
        indexes: list[NetIndex] = []
        stack: list[tuple[Net, NetIndex | None]] = [(self.document.net, None)]
        while stack:
            net, parent = stack.pop()
            index = NetIndex(net, parent)
            indexes.append(index)
            bodies = [
                (body, index)
                for layer in net.layers
                if layer.bodies
                for body in layer.bodies.values()
            ]
            stack.extend(reversed(bodies))
        return indexes

    @property
    def root(self) -> NetIndex:
        """The `NetIndex` of the main graph, as opposed to those of bodies."""
        return self.nets[0]

    @cached_property
    def by_net(self) -> dict[int, NetIndex]:
        """The `NetIndex` of each net, keyed by the `id()` of the net."""
        return {id(index.net): index for index in self.nets}

    def layers(self, *names: str) -> Iterator[tuple[NetIndex, Layer]]:
        """Yield the layers of these types (lower case) in the root and all bodies."""
        for index in self.nets:
            for layer in index.of_type(*names):
                yield index, layer

    @cached_property
    def loops(self) -> list[Wiring]:
        """The port maps of every TensorIterator and Loop."""
        return [
            wiring
            for index, layer in self.layers(*sorted(LOOPS))
            for wiring in self.wirings(index, layer)
        ]

    @cached_property
    def branches(self) -> list[tuple[NetIndex, Layer, list[Wiring]]]:
        """Every If, with the port maps of its then branch and its else branch in this order."""
        return [(index, layer, self.wirings(index, layer)) for index, layer in self.layers("if")]

    @cached_property
    def wirings_with_body(self) -> list[Wiring]:
        """The port maps of all bodies of loops and branches; a missing body is left out."""
        branches = (wiring for _, _, both in self.branches for wiring in both)
        return [wiring for wiring in (*self.loops, *branches) if wiring.body is not None]

    def wirings(self, index: NetIndex, layer: Layer) -> list[Wiring]:
        """The port maps of the bodies of one layer: one for a loop, then and else for an If."""
        known = self._wirings.get(id(layer))
        if known is None:
            labels = ("then", "else") if (layer.type or "").lower() == "if" else ("body",)
            known = []
            for label in labels:
                net = layer.bodies.get(label)
                body = None if net is None else self.by_net[id(net)]
                known.append(Wiring(layer, label, index, body, layer.port_maps.get(label)))
            self._wirings[id(layer)] = known
        return known

    @cached_property
    def element_places(self) -> ElementPlaces:
        """The locations of XML elements."""
        return ElementPlaces(self.document)

    @cached_property
    def schema_findings(self) -> list[SchemaFinding]:
        """The violations of the XSD."""
        if self.document.conforms:
            return []
        from irloop.validation import schema

        data, name = self.document.data, schema.OLD if self.is_legacy else schema.NEW
        if len(data) >= LARGE and schema.is_valid(data, name):
            return []
        return schema.check(self.document.root, name)

    @cached_property
    def dim_problems(self) -> list[tuple[Layer, Port, str, str]]:
        """Every declared dimension that is malformed, as a tuple (layer, port, text, problem)."""
        malformed = []
        for index in self.nets:
            bad = {dims for dims in index.ports.dims if any(map(texts.dim_problem, dims))}
            if not bad:
                continue
            for layer in index.net.layers:
                for port in (*layer.inputs, *layer.outputs):
                    problems = ((text, texts.dim_problem(text)) for text in port.dims)
                    malformed += [(layer, port, text, what) for text, what in problems if what]
        return malformed

    @cached_property
    def open_inputs(self) -> list[tuple[Layer, Port, bool]]:
        """The input ports to which no edge leads, each with its layer and a boolean.

        The boolean is True if no later port of the layer is connected either. A layer with as many
        edges as ports is skipped: if one of its ports has no edge, then one of its edges names a
        wrong port, and another rule reports this edge. So are the ports of a body that the port map
        of an old TensorIterator feeds. No input of an old layer may be left open.
        """
        open_ports = []
        for index in self.nets:
            fed = self._fed_ports(index)
            for layer in index.net.layers:
                ports = layer.inputs
                edges = index.incoming.get(layer.id or "", ())
                if len(edges) >= len(ports):
                    continue
                connected = {edge.to_port for edge in edges}
                connected |= {port for inner, port in fed if inner == layer.id}
                last = max((n for n, port in enumerate(ports) if port.id in connected), default=-1)
                open_ports += [
                    (layer, port, number > last and not self.is_legacy)
                    for number, port in enumerate(ports)
                    if port.id not in connected
                ]
        return open_ports

    def _fed_ports(self, index: NetIndex) -> set[tuple[str | None, str | None]]:
        """The layers and input ports of an old body that the port map names."""
        owner = index.net.owner
        if owner is None or not self.is_legacy:
            return set()
        section = owner.port_maps.get("body")
        entries = section.inputs if section is not None else ()
        texts = (entry.attributes for entry in entries)
        return {(text.get("internal_layer_id"), text.get("internal_port_id")) for text in texts}

    def elsewhere(self, index: NetIndex, layer_id: str) -> str:
        """A hint that another net has a layer with this id; empty if none has."""
        for other in self.nets:
            if other is not index and layer_id in other.layers:
                place = other.net.path or "the root"
                return f"layer {layer_id} is in {place}; a net sees only its own layers"
        return ""

    @cached_property
    def readable_constants(self) -> list[Constant]:
        """The constants whose bytes are all in the .bin, without duplicates.

        Of several constants with the same range of bytes and the same element type, only the first
        one is included.
        """
        size = self.weights.size
        if not size or self.weights.disguise is not None:
            return []
        ranges: dict[tuple[int, int, ElementType], Constant] = {}
        for const in self.constants:
            needed = const.needed
            if not needed or const.offset is None or const.offset + needed > size:
                continue
            assert const.element is not None
            ranges.setdefault((const.offset, needed, const.element), const)
        return list(ranges.values())

    @cached_property
    def attribute_problems(self) -> list[Problem]:
        """The problems that were found in the attributes of all `data` elements of the file."""
        if self.is_legacy:
            return []
        from irloop.validation.attribute_problems import attribute_problems

        return list(attribute_problems(self.nets))

    @cached_property
    def has_dynamic_shapes(self) -> bool:
        """Return whether a port declares a dynamic dimension, or a Parameter a dynamic rank.

        In such a file, a port without dimensions may belong to a scalar or to a value of unknown
        rank.
        """
        for index in self.nets:
            if any("-1" in dims for dims in index.ports.dims):
                return True
            if any("..." in layer.data.get("shape", "") for layer in index.parameters):
                return True
        return False

    def declared(self, port: Port) -> Declared:
        """Return the element type and the dimensions that a port declares.

        Each of the two is None if the declaration leaves it unknown.
        """
        dims = texts.read_dims(port.dims)
        if dims == () and self.has_dynamic_shapes:
            dims = None
        return Declared(known_element(texts.element_of_precision(port.precision)), dims)

    def type_of_source(self, source: Source | None) -> Declared:
        """The known type of a value.

        For a Parameter or Const it comes from the `data` element, for other layers from inference.
        An element type or a shape that neither of them gives is taken from the declaration of the
        port.
        """
        if source is None:
            return UNKNOWN
        layer, port = source
        element, dims = self.declared(port)
        if layer.type in ("Parameter", "Const"):
            text = layer.data.get("shape")
            if text is not None:
                dims = texts.static_shape(text)
            return Declared(
                known_element(texts.element_of_name(layer.data.get("element_type"))) or element,
                dims,
            )
        inferred = self.first_analysis.type_of(layer, port, alone=True)
        if inferred is None:
            return Declared(element, dims)
        if inferred.element is not ElementType.DYNAMIC:
            element = inferred.element
        if inferred.shape.dims is not None:
            dims = tuple(dim if isinstance(dim, int) else None for dim in inferred.shape.dims)
        return Declared(element, dims)

    def weighed(self, finding: Diagnostic) -> Diagnostic:
        """Return an error as a warning if it is about the content of a layer that no Result needs.

        OpenVINO does not even create such a layer.
        """
        if self.is_legacy:
            return finding
        is_identity = finding.code == "IRL103" and "/data" not in finding.location.element
        if is_identity or not finding.code.startswith(_CONTENT):
            return finding
        place = f"{finding.location.element}/"
        ends = [at for at, letter in enumerate(place) if letter == "/"] if self._idle else []
        if any(place[:end] in self._idle for end in ends):
            return replace(finding, severity=Severity.WARNING)
        return finding

    @cached_property
    def _idle(self) -> set[str]:
        """The element paths of the layers that no Result needs, and of the edges to them."""
        paths: set[str] = set()
        for index in self.nets:
            needed = index.reachable
            if len(needed) == len(index.layers):
                continue
            idle = {key for key, layer in index.layers.items() if layer.type != "Parameter"}
            idle -= needed
            paths.update(index.layers[key].element_path for key in idle)
            paths.update(
                at_edge(index, edge).element for edge in index.net.edges if edge.to_layer in idle
            )
        return paths

    def operand(self, index: NetIndex, layer: Layer, position: int) -> Declared:
        """Return the type of an input of `layer`, as far as it is known.

        If an edge leads to the input, this is the type of the value at the start of the edge
        (see `type_of_source`). Without an edge, it is the declared type of the input port. The
        result is `UNKNOWN` if the layer has no such input.
        """
        if position >= len(layer.inputs):
            return UNKNOWN
        source = index.source(layer, position)
        if source is None:
            return self.declared(layer.inputs[position])
        return self.type_of_source(source)

    def external(self, wiring: Wiring, position: int | None) -> Declared:
        """Return the type of the value at input `position` of a loop or If, as far as it is known.

        Returns `UNKNOWN` if there is no such input, or if `position` is None.
        """
        if position is None:
            return UNKNOWN
        return self.operand(wiring.outer, wiring.owner, position)

    def parameter(self, layer: Layer) -> Declared:
        """The declared type of a body Parameter."""
        if not layer.outputs:
            shape = texts.static_shape(layer.data.get("shape"))
            return Declared(
                known_element(texts.element_of_name(layer.data.get("element_type"))), shape
            )
        return self.type_of_source((layer, layer.outputs[0]))

    def result(self, wiring: Wiring, layer: Layer) -> Declared:
        """Return the known type of the value that reaches `layer`, a Result of the body.

        Returns `UNKNOWN` if there is no body, or if the Result has no input.
        """
        return UNKNOWN if wiring.body is None else self.operand(wiring.body, layer, 0)

    def confirmed_result(self, wiring: Wiring, layer: Layer) -> Declared:
        """The type of the value that the Result `layer` receives, inferred if possible.

        If it cannot be inferred, the declared type is returned. Inference comes first because every
        reader infers bodies again, so that an outdated declaration in a body does no harm.
        """
        source = None if wiring.body is None else wiring.body.source(layer)
        if source is None or not source[0].outputs:
            return UNKNOWN
        inferred = self.first_analysis.type_of(*source)
        if inferred is None or inferred.shape.dims is None:
            return self.result(wiring, layer)
        dims = tuple(dim if isinstance(dim, int) else None for dim in inferred.shape.dims)
        return Declared(inferred.element, dims)

    @cached_property
    def constants(self) -> list[Constant]:
        """Every Const layer of the file that has a `data` element, or every blob of old layers."""
        if self.is_legacy:
            layers = [layer for index in self.nets for layer in index.net.layers if layer.blobs]
            precision = self.document.precision
            return [item for layer in layers for item in constants_of_blobs(layer, precision)]
        return [
            constant_of(layer)
            for index in self.nets
            for layer in index.constants
            if layer.data_line is not None
        ]

    def value_of(
        self, index: NetIndex, source: Source | None, most: int = SMALL
    ) -> tuple[float, ...] | None:
        """The elements of the constant to which `source` leads, or None.

        The search goes through reshapes, and from a body Parameter to the outer value that feeds
        it. The result is None if it ends at no constant, or at one of more than `most` elements.
        """
        for _ in range(64):
            if source is None:
                return None
            layer = source[0]
            kind = (layer.type or "").lower()
            if layer.type == "Const":
                return self._read(constant_of(layer), most)
            if kind in _TRANSPARENT:
                source = index.source(layer, 0)
            elif layer.type == "Parameter":
                step = self._outer_source(index, layer)
                if step is None:
                    return None
                index, source = step
            else:
                return None
        return None

    def _outer_source(self, index: NetIndex, layer: Layer) -> tuple[NetIndex, Source | None] | None:
        """Return the source that feeds an invariant body Parameter, and the net of this source.

        The source is None if the input of the loop is not connected. The result is None if the
        Parameter is not invariant.
        """
        owner, outer = index.net.owner, index.parent
        if owner is None or outer is None:
            return None
        for wiring in self.wirings(outer, owner):
            if wiring.body is not index or layer.id is None:
                continue
            entry = wiring.entry_of.get(layer.id)
            carried = layer.id in wiring.back_edge_of
            if entry is None or entry.has_axis or carried or entry.position is None:
                return None
            return outer, outer.source(owner, entry.position)
        return None

    def _read(self, constant: Constant, most: int) -> tuple[float, ...] | None:
        letter = None if constant.element is None else PACKED.get(constant.element)
        count, offset, needed = constant.elements, constant.offset, constant.needed
        if letter is None or offset is None or count is None or not 0 < count <= most:
            return None
        if self.weights.disguise is not None:
            return None
        data = self.weights.read(offset, needed or 0)
        if len(data) != needed:
            return None
        return struct.unpack(f"<{count}{letter}", data)

    def operand_value(
        self, index: NetIndex, layer: Layer, position: int, most: int = SMALL
    ) -> tuple[float, ...] | None:
        """Return the elements of the constant that feeds input number `position` of `layer`.

        `index` is the index of the network that contains the layer. The result is None if the input
        is not a constant, or if the constant has more than `most` elements.
        """
        return self.value_of(index, index.source(layer, position), most)

    def trip_count(self, wiring: Wiring) -> int | None:
        """The constant trip count of a Loop, or None."""
        if not wiring.is_loop or not wiring.owner.inputs:
            return None
        found = self.operand_value(wiring.outer, wiring.owner, 0)
        return int(found[0]) if found is not None and len(found) == 1 else None

    def condition_is(self, wiring: Wiring, wanted: bool) -> bool:
        """Return whether the initial condition of a Loop is constant and equals `wanted`."""
        if not wiring.is_loop or len(wiring.owner.inputs) < 2:
            return False
        found = self.operand_value(wiring.outer, wiring.owner, 1)
        return found is not None and len(found) == 1 and bool(found[0]) is wanted

    def stays_true(self, wiring: Wiring) -> bool:
        """Return whether the condition that the body returns is known to be true in every
        iteration.

        It is either the constant true, or the body's condition parameter returned unchanged, with
        the constant true as initial value.
        """
        entry, body = wiring.condition, wiring.body
        if entry is None or body is None or entry.inner is None:
            return False
        source = body.source(entry.inner)
        found = self.value_of(body, source)
        if found is not None:
            return len(found) == 1 and bool(found[0])
        if source is None or source[0].type != "Parameter":
            return False
        back = wiring.back_edge_of.get(source[0].id or "")
        first = wiring.entry_of.get(source[0].id or "")
        if back is None or back[1] is not entry.inner or first is None:
            return False
        return first.position == 1 and self.condition_is(wiring, True)

    @cached_property
    def branch_outputs(self) -> list[BranchOutput]:
        """The types that the two branches of each If declare for each of its outputs.

        Outputs that only one branch returns are left out.
        """
        outputs = []
        for _, layer, (then, other) in self.branches:
            first = _by_position(then)
            for position, entry in _by_position(other).items():
                partner = first.get(position)
                if partner is None or entry.inner is None or partner.inner is None:
                    continue
                assert other.section is not None
                place = at_entry(layer, other.section, entry.entry)
                types = self.result(then, partner.inner), self.result(other, entry.inner)
                outputs.append(BranchOutput(layer, place, *types))
        return outputs

    def arity(self, layer: Layer) -> tuple[int, int | None]:
        """The minimum and maximum number of inputs of a layer (maximum None: no limit)."""
        if layer.type == "Result":
            return 1, 1
        key = layer.type, layer.version
        known = self._arities.get(key)
        if known is None:
            from irloop.validation.attribute_problems import operation_of

            operation = operation_of(layer.type or "", layer.version or "")
            known = self._arities[key] = (0, None) if operation is None else operation.inputs
        return known

    @cached_property
    def misdeclared(self) -> list[tuple[Layer, Port, TensorType, bool]]:
        """The declarations of output ports that contradict the inferred type.

        Each entry holds the layer, the port and the inferred type, then True if the dimensions
        contradict it, or False if the element type does. A port can have both entries.
        """
        # Many comparisons in a model are equal, so their results are cached.
        compared: dict[tuple[str | None, tuple[str, ...], int], tuple[bool, bool]] = {}
        wrong_ports = []
        for layer, node in self.analysis.pairs:
            if isinstance(node.op, UnknownOp):
                continue
            for port, value in zip(layer.outputs, node.outputs, strict=False):
                inferred = value.type
                if not isinstance(inferred, TensorType):
                    continue
                key = port.precision, port.dims, id(inferred)
                wrong = compared.get(key)
                if wrong is None:
                    wrong = compared[key] = contradictions(self.declared(port), inferred)
                if wrong[0] or wrong[1]:
                    both = (True, False)
                    wrong_ports += [(layer, port, inferred, bad) for bad in both if wrong[not bad]]
        return wrong_ports

    @cached_property
    def inference_errors(self) -> list[tuple[Layer, str, InferenceError]]:
        """Errors of inference, each with its layer and the code of the rule that reports it.

        Errors of TensorIterator, Loop and If are skipped, because the rules IRL5xx to IRL7xx report
        them in detail.
        """
        errors = []
        for error in self.analysis.errors:
            layer = self.analysis.layer_at(error)
            if layer is None or (layer.type or "").lower() in (*LOOPS, "if"):
                continue
            errors.append((layer, error.CODES[error.kind], error))
        return errors

    @cached_property
    def first_analysis(self) -> Analysis:
        """The inferred graph of the whole file, including the layers that have errors.

        Rules read it while the errors are still being collected. `analysis` leaves out the layers
        in which rules found errors.
        """
        from irloop.validation.analysis import Analysis

        return Analysis(self.document, self.weights.path, self.nets, wirings=self._wirings)

    @cached_property
    def analysis(self) -> Analysis:
        """The inferred graph without the layers in which other rules found errors."""
        if not self.errors:
            return self.first_analysis
        from irloop.validation.analysis import Analysis

        return Analysis(self.document, self.weights.path, self.nets, self.errors)


def _by_position(wiring: Wiring) -> dict[int, Entry]:
    """The output entries of a branch, keyed by the position of their output on the If.

    Entries are left out if the output does not exist, or if the body layer is missing or not a
    Result. If several entries name the same output, the first one counts.
    """
    return {
        entry.position: entry
        for entry in reversed(wiring.outputs)
        if entry.position is not None and entry.inner is not None and entry.inner.type == "Result"
    }
