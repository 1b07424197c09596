"""The steps of a conversion as passes; `pipelines` orders them.

For example, one pass translates all nodes, and another one before it removes from the bodies what
nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from irloop.conversion.framework.borders import (
    BorderNames,
    outputs_of,
    refuse_new_elements,
    refuse_not_tensors,
    refuse_unknown_elements,
    require_known_ranks,
    require_known_types,
)
from irloop.conversion.framework.carriers import carry_narrow_elements
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.size_names import (
    SizeNames,
    declared_names,
    size_names,
    with_size_names,
)
from irloop.conversion.framework.translation import EXPORTS, Converter
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.onnx.base import NARROW
from irloop.dialects.writing.element_types import ELEMENT_SINCE
from irloop.errors import UnsupportedError
from irloop.graph.clone import clone_graph
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType
from irloop.graph.verify import verify
from irloop.graph.walk import all_graphs, all_nodes, node_path
from irloop.passes.base import ModelPass
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.match_rewriter import is_unread

__all__ = [
    "CarryNarrowElements",
    "DropUnread",
    "KeepDeclaredDims",
    "PruneBodies",
    "RequireElementTypes",
    "RequireKnownBorder",
    "Translate",
]


class PruneBodies(ModelPass):
    """Removes unused values from loops and branches, as `DeadCode` does.

    Given::

        Scan(x):  Loop(part):  y = x + part -> (read), z = x * part -> (not read)

    Result::

        Scan(x):  Loop():  y = x + part -> (read)

    Copies the graph if anything is removed, so that the source model stays unchanged.
    """

    name = "prune_bodies"

    def run_on_model(self, model: Model) -> bool:
        if not any(node.bodies for node in model.graph.nodes):
            return False
        pruned = replace(model, graph=clone_graph(model.graph))
        if not DeadCode().run(pruned, self.config):
            return False
        model.graph = pruned.graph
        return True


class Translate(ModelPass):
    """Translates every node to the other dialect by the conversion rule for its operation.

    Given::

        OpenVINO: y = Convolution(x, w)      (and everything else)

    Result::

        ONNX:     y = Conv(x, w)

    Builds a new graph; the source model stays unchanged. Collects every node that cannot be
    converted, and reports all of them in one error.
    """

    name = "translate"

    def __init__(
        self,
        converter: Converter,
        names: BorderNames,
        prepare_output: Callable[..., Value],
    ) -> None:
        self.converter = converter
        self._names = names
        self._prepare_output = prepare_output

    def run_on_model(self, model: Model) -> bool:
        known = size_names(model.metadata) if model.dialect == "openvino" else {}
        model.graph = self._translated(model.graph, known)
        model.dialect = "onnx" if model.dialect == "openvino" else "openvino"
        model.opsets = {"": self.converter.opset} if model.dialect == "onnx" else {}
        return True

    def _translated(self, source: Graph, known: SizeNames) -> Graph:
        converter, names = self.converter, self._names
        converter.source = Inference()
        converter.source.run(source)
        if converter.rules is EXPORTS:
            refuse_new_elements(source, converter)
        else:
            refuse_unknown_elements(source, converter)
        make = Export if converter.rules is EXPORTS else Import
        target = make(Graph(source.name), converter)
        for name in names.taken:
            target.names.reserve(name)
        target.names.keep_originals(_names_of(source))
        taken = frozenset((*known.values(), *declared_names(source).values()))
        parameters = [
            target.graph.add_parameter(
                name,
                with_size_names(node, name, known, taken),
                (name,),
                node.location,
            )
            for name, node in zip(names.inputs, source.parameters, strict=True)
        ]
        converter.notes += names.notes
        converted = target.convert_any(source, parameters)
        refuse_not_tensors(source, converted, converter)
        if converter.refusals:
            raise UnsupportedError(
                f"operations that cannot be converted: {len(converter.refusals)}",
                diagnostics=converter.refusals,
            )
        for name, node, value in zip(names.outputs, source.results, converted, strict=True):
            target.location = node.location
            for each, tensor in outputs_of(target, name, node, value):
                made = self._prepare_output(target, each, tensor)
                target.graph.add_result(made, each, node.location)
        return target.graph


class DropUnread(ModelPass):
    """Erases nodes whose outputs nothing reads, such as constants that have been replaced.

    Given::

        w = Const    w' = Const (w transposed)    y = MatMul(x, w')

    Result::

        w' = Const (w transposed)    y = MatMul(x, w')
    """

    name = "drop_unread"

    def run_on_model(self, model: Model) -> bool:
        modified = False
        for graph in all_graphs(model.graph):
            rewriter = Rewriter(graph)
            for node in reversed(graph):
                if is_unread(node):
                    rewriter.erase(node)
            modified |= rewriter.modified
        return modified


class KeepDeclaredDims(ModelPass):
    """Gives body values the dimensions that the source declares but inference cannot find.

    Given::

        Loop: y declared f32[?,4], inferred f32[?,?]

    Result::

        Loop: y f32[?,4]

    A loop that runs zero iterations returns outputs of these dimensions, in the source and in the
    target.
    """

    name = "keep_declared_dims"

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def run_on_model(self, model: Model) -> bool:
        modified = False
        if self._converter.in_bodies:
            inference = Inference(tolerant=True)
            for old, new in self._converter.in_bodies:
                inference.hint(new, self._converter.source.declared(old))
            # A type outside of bodies changes only if one in a body does.
            types = [(new, new.type) for _, new in self._converter.in_bodies]
            inference.run(model.graph)
            modified = any(value.type != type for value, type in types)
        verify(model.graph)
        return modified


class CarryNarrowElements(ModelPass):
    """Adds casts around ONNX operations that move elements, but do not accept a narrow type.

    Given::

        y = Gather(i4[8] x, indices)

    Result::

        y = Cast to i4 (Gather(Cast to i8 (x), indices))
    """

    name = "carry_narrow_elements"
    dialects = frozenset({"onnx"})

    def run_on_model(self, model: Model) -> bool:
        return carry_narrow_elements(model.graph)


class RequireElementTypes(ModelPass):
    """Refuses constants of 4-bit and 8-bit types that the opset does not have.

    Given::

        y = Gather(Const f8e5m2 [3], indices), for opset 17

    Result::

        CNV001, naming the constant, and the opset that has its type
    """

    name = "require_element_types"
    dialects = frozenset({"onnx"})

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def run_on_model(self, model: Model) -> bool:
        problems = []
        for node in all_nodes(model.graph):
            # Engines accept bf16 in older opsets, too; it is not among the narrow types.
            if not isinstance(node.op, Constant) or node.op.tensor.element not in NARROW:
                continue
            element = node.op.tensor.element
            since = ELEMENT_SINCE.get(element, 1)
            if since > self._converter.opset:
                self._converter.cures.append(since)
                problems.append(_too_new(node, element, since))
        if problems:
            raise UnsupportedError(
                f"constants that cannot be written: {len(problems)}", diagnostics=problems
            )
        return False


def _names_of(source: Graph) -> Iterator[str]:
    """The names of all nodes and tensors in a graph and its bodies."""
    for graph in all_graphs(source):
        for node in (*graph.parameters, *graph.nodes):
            yield node.name
            for value in node.outputs:
                yield from value.names


def _too_new(node: Node, element: ElementType, since: int) -> Diagnostic:
    path = node_path(node)
    return Diagnostic(
        "CNV001",
        Severity.ERROR,
        f"constant {path!r} is of element type {element}, which needs opset {since}",
        Location(line=node.location.line, path=path),
        fix=f"write opset {since}",
    )


class RequireKnownBorder(ModelPass):
    """Refuses inputs and outputs of unknown rank, or of a type that the other format lacks.

    Given::

        output y of unknown rank, for ONNX

    Result::

        CNV005, naming y
    """

    name = "require_known_border"

    def run_on_model(self, model: Model) -> bool:
        if model.dialect == "onnx":
            require_known_ranks(model.graph)
        else:
            require_known_types(model.graph)
        return False
