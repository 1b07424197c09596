"""Everything that rules may ask about one ONNX model, computed when it is first needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from irloop.diagnostics import Diagnostic, Location
from irloop.errors import InferenceError, IrloopError
from irloop.files import ParsedOnce
from irloop.formats.onnx.external import ExternalFiles
from irloop.formats.onnx.outline import Outline, OutlineGraph, OutlineNode, outline_of
from irloop.formats.onnx.reader import read
from irloop.formats.onnx.signature import NEWEST, STANDARD, Signature, signature_of
from irloop.formats.onnx.text_format import MOST, lines_of_nodes
from irloop.graph.model import Graph, Model, Value
from irloop.graph.types import ElementType, Shape, TensorType, ValueType
from irloop.graph.walk import all_graphs
from irloop.opening import is_onnx_text, read_regular
from irloop.validation.analysis import LightInference
from irloop.validation.error_places import Errors
from irloop.validation.onnx_bodies import InferredBody, inferred_bodies, kind_of

__all__ = ["OnnxContext", "at_graph", "at_node", "at_path", "element_of", "scan_shape", "shape_of"]


def at_node(node: OutlineNode) -> Location:
    """Return a location that names a node by its path through bodies."""
    return at_path(node.path)


def at_graph(graph: OutlineGraph) -> Location:
    """The location of a body or the main graph."""
    return at_path(graph.path)


def at_path(path: str) -> Location:
    """Make a location from a path through bodies, such as ``Loop_7/body/Mul_4``."""
    return Location(path=path, element=path)


def element_of(type: ValueType) -> ElementType | None:
    """The element type of a tensor, or None if it is unknown."""
    if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
        return None
    return type.element


def shape_of(type: ValueType) -> Shape | None:
    """The shape of a tensor, or None if even the rank is unknown."""
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return None
    return type.shape


def scan_shape(type: ValueType) -> Shape | None:
    """Return the declared shape of a scan output or of a body output; None if it is unknown.

    A shape without dimensions counts as unknown, because many files declare such a shape where they
    mean an unknown shape.
    """
    found = shape_of(type)
    return found if found is not None and found.rank else None


class OnnxContext:
    """One ONNX model and everything derived from it.

    Raises:
        ReadError: when the file does not contain an ONNX model at all.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        #: The path object that keeps the file for later readers, and gets the model once it is
        #: read; None for a plain path.
        self._kept = path if isinstance(path, ParsedOnce) else None
        self._file = self._kept or ParsedOnce(path)
        self.path = Path(path)
        self.outline: Outline = outline_of(self._file)
        self._external: ExternalFiles = self._file.content.files
        #: Where errors were found so far; the engine fills it while the rules run.
        self.errors = Errors()
        #: Why the model cannot be read; None if it can.
        self.read_error: IrloopError | None = None
        self._graph: Graph | None = None
        self._model: Model | None = None

    def close(self) -> None:
        """Restore the declared types and leave the model to the next reader of the same file.

        This is only possible if the model has been read, and if its path is a `ParsedOnce`, an
        object that keeps a model for later readers. Otherwise, nothing happens.
        """
        if self._kept is None or self._model is None:
            return
        self._inference.restore_declared()
        self._kept.leave_model(self._model)

    @property
    def shows_weights(self) -> bool:
        """Return whether bytes of external data were read, so that findings may contain them."""
        return self._external.were_read

    @cached_property
    def _lines(self) -> dict[str, int]:
        """The line of each node of the main graph, by its path; empty for a protobuf."""
        if not is_onnx_text(self.path):
            return {}
        lines = lines_of_nodes(read_regular(self.path, MOST))
        nodes = self.outline.graph.in_order()
        return {node.path: line for node, line in zip(nodes, lines, strict=False)}

    def placed(self, finding: Diagnostic) -> Diagnostic:
        """A finding with the line of its node, or of the node around its body, in a text."""
        place = finding.location.path or ""
        while place and place not in self._lines:
            place = place.rpartition("/")[0]
        if not place:
            return finding
        return replace(finding, location=replace(finding.location, line=self._lines[place]))

    @cached_property
    def graphs(self) -> list[OutlineGraph]:
        """The main graph and every body, outermost first."""
        return list(self.outline.graph.walk())

    @cached_property
    def functions(self) -> list[OutlineGraph]:
        """The graph of every function that the model calls, and every body in it."""
        return [graph for function in self.outline.called for graph in function.walk()]

    @cached_property
    def _types(self) -> frozenset[str]:
        """The operation types of all nodes, bodies included.

        `nodes` uses them to skip the search if the model has no node of the wanted types.
        """
        return frozenset(node.type for graph in self.graphs for node in graph.nodes)

    def nodes(self, *types: str) -> Iterator[OutlineNode]:
        """Yield nodes of these types in the standard domain, bodies included."""
        if self._types.isdisjoint(types):
            return
        for graph in self.graphs:
            for node in graph.nodes:
                if node.type in types and not node.domain:
                    yield node

    def loops(self) -> Iterator[tuple[OutlineNode, OutlineGraph]]:
        """Yield every Loop whose body has at least two inputs and one output."""
        for node in self.nodes("Loop"):
            body = node.bodies.get("body")
            if body is not None and len(body.inputs) >= 2 and body.outputs:
                yield node, body

    def trip_count(self, node: OutlineNode) -> int | None:
        """The constant trip count of a Loop; None if it is missing or computed."""
        name = node.inputs[0] if node.inputs else ""
        found = node.graph.constant_of(name) if name else None
        return int(found[0]) if found is not None and len(found) == 1 else None

    def first_condition(self, node: OutlineNode) -> bool | None:
        """Return the initial condition of a Loop, or None if it is not a constant.

        A Loop that omits the condition has the initial condition True.
        """
        name = node.inputs[1] if len(node.inputs) > 1 else ""
        if not name:
            return True
        found = node.graph.constant_of(name)
        return bool(found[0]) if found is not None and len(found) == 1 else None

    def states(self, node: OutlineNode, body: OutlineGraph) -> list[tuple[str, str, str]]:
        """Return three names for each state of a Loop or Scan.

        These are the names of the initial value ("" if it is omitted), of the body input and of the
        body output.
        """
        if node.type == "Loop":
            outer, before, after = node.inputs[2:], body.inputs[2:], body.outputs[1:]
        else:
            # The first input of Scan-8 holds the lengths of its batch items.
            first = 1 if self.outline.opsets.get("", 0) == 8 else 0
            count = len(body.inputs) - node.number("num_scan_inputs")
            outer, before = node.inputs[first : first + count], body.inputs[:count]
            after = body.outputs
        return list(zip(outer, before, after, strict=False))

    def source(self, graph: OutlineGraph, name: str) -> str:
        """Return the name of the value that `name` is a copy of.

        This follows Identity nodes of `graph` back from `name`. Without such a node the result is
        `name`.
        """
        makers = self._makers(graph)
        for _ in graph.nodes:
            node = makers.get(name)
            if node is None or node.type != "Identity" or len(node.inputs) != 1:
                break
            name = node.inputs[0]
        return name

    @staticmethod
    def _makers(graph: OutlineGraph) -> dict[str, OutlineNode]:
        return {name: node for node in graph.nodes for name in node.outputs if name}

    def stays_true(self, body: OutlineGraph) -> bool:
        """Return whether the body of a Loop can never turn a true condition into a false one.

        This holds if the body returns a constant true, or returns its condition input unchanged.
        """
        name = self.source(body, body.outputs[0])
        if name == body.inputs[1]:
            return True
        found = body.constant_of(name)
        return found is not None and bool(found[0])

    def signature(self, node: OutlineNode) -> Signature | None:
        """The standard's signature of a node's operation; None if the standard lacks it."""
        opset = self.opset(node)
        return None if opset is None else signature_of(node.type, opset, node.domain)

    def opset(self, node: OutlineNode) -> int | None:
        """The opset of a node's domain that its model or function imports, or None."""
        return node.graph.outermost.imports.get(node.domain)

    @cached_property
    def standard_nodes(self) -> list[tuple[OutlineNode, Signature | None]]:
        """Each node in an imported domain of the ONNX standard, with its signature.

        The signature is None if the standard lacks the operation. Nodes of bodies and of called
        functions are included; nodes that call a function of the model are left out.
        """
        functions = self.outline.functions
        standard = []
        for graph in (*self.graphs, *self.functions):
            # Nodes of ai.onnx are left out if its opset is unknown, because the opset itself is
            # reported as one finding.
            domains = {
                domain
                for domain, opset in graph.outermost.imports.items()
                if domain in STANDARD and (domain or 1 <= opset <= NEWEST)
            }
            standard += [
                (node, self.signature(node))
                for node in graph.nodes
                if node.domain in domains and (node.domain, node.type) not in functions
            ]
        return standard

    @cached_property
    def inference_errors(self) -> list[InferenceError]:
        """The errors of inference; empty if the model cannot be read."""
        return self._inference.errors

    @cached_property
    def inferred_graphs(self) -> list[Graph]:
        """The main graph and every body with inferred types; empty if the model cannot be read."""
        _ = self._inference
        return [] if self._graph is None else list(all_graphs(self._graph))

    @cached_property
    def declared_again(self) -> list[tuple[str, ValueType, ValueType]]:
        """The name of each model output, its type as that output, and its type elsewhere.

        The latter is the type of an input or initializer of that name, or another declaration of
        what a node computes.
        """
        graph = self.outline.graph
        values = self.inferred_graphs[0].outputs if self.inferred_graphs else ()
        return [
            (name, declared, self.declared_type(value))
            for name, declared, value in zip(
                graph.outputs, graph.output_types, values, strict=False
            )
        ]

    @cached_property
    def bodies(self) -> list[InferredBody]:
        """Every body, with the types that it receives and the types of its outputs.

        The list is empty if the model cannot be read.
        """
        inference = self._inference
        if self._graph is None:
            return []
        return list(inferred_bodies(self.outline.graph, self._graph, inference))

    def result_types(self, body: OutlineGraph) -> tuple[ValueType, ...]:
        """The types of a body's outputs: the computed ones, or the declared ones where unknown."""
        computed = self._computed.get(id(body), ())
        declared = body.output_types
        if len(computed) != len(declared):
            return declared
        pairs = zip(computed, declared, strict=True)
        return tuple(known if kind_of(known) else said for known, said in pairs)

    @cached_property
    def _computed(self) -> dict[int, tuple[ValueType, ...]]:
        return {id(item.body): item.computed for item in self.bodies}

    def declared_type(self, value: Value) -> ValueType:
        """The type that the file declared for a value, before inference."""
        return self._inference.declared(value)

    @cached_property
    def _inference(self) -> LightInference:
        inference = LightInference()
        try:
            model = read(self._file)
            if self._kept is None:
                self._file.close()
            else:
                self._model = model
            inference.run(model.graph)
            self._graph = model.graph
        except (IrloopError, RecursionError) as error:
            self.read_error = error if isinstance(error, IrloopError) else None
        return inference
