"""Handles the inputs and outputs of a converted model: their names, shapes and types.

It also refuses inputs and outputs that the other format cannot have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.conversion.framework.translation import Conversion, Converted, Converter
from irloop.conversion.framework.virtual_values import Growing, Maybe, Ragged
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.writing.element_types import ELEMENT_SINCE, UNKNOWN_TO_OPENVINO
from irloop.errors import UnsupportedError
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Graph, Model, Node, Value, result_type
from irloop.graph.op import Parameter, Result
from irloop.graph.types import TensorType
from irloop.graph.walk import all_graphs, node_path

__all__ = [
    "BorderNames",
    "onnx_input_name",
    "onnx_output_name",
    "outputs_of",
    "refuse_new_elements",
    "refuse_not_tensors",
    "refuse_unknown_elements",
    "require_known_ranks",
    "require_known_types",
    "unchanged",
]

#: The suffix that Model Optimizer adds to the name of a Result.
SINK_SUFFIX = "/sink_port_0"


def onnx_input_name(node: Node) -> str:
    """Choose the name of an input from its layer name and its tensor names.

    The layer name is chosen if it is a tensor name, otherwise the first tensor name. If the value
    is also an output, names of the output do not count, because OpenVINO gives them to the output
    only. If no tensor name is left, the layer name is chosen.
    """
    value = node.outputs[0]
    outputs = {_without_port(user.name) for user, _ in value.uses if isinstance(user.op, Result)}
    own = [name for name in value.names if name not in outputs]
    return node.name if node.name in value.names or not own else own[0]


def onnx_output_name(node: Node) -> str:
    """Choose the name of an output: the layer's name or the first tensor name of the value.

    The tensor name is chosen only if the value has tensor names, the layer's name is none of them,
    and the value is computed (it is neither a parameter nor a constant).
    """
    value, name = node.inputs[0], _without_port(node.name)
    if value is None or name in value.names or not (value.names and value.producer.inputs):
        return name
    return value.names[0]


def _without_port(name: str) -> str:
    return name.removesuffix(SINK_SUFFIX)


class BorderNames:
    """Gives the inputs and outputs of the new model the names that they have in the source.

    If two of them have the same name, a number is appended to the name of the second, and a warning
    is noted.
    """

    def __init__(
        self, model: Model, input_name: Callable[[Node], str], output_name: Callable[[Node], str]
    ) -> None:
        self.taken: set[str] = set()
        self.notes: list[Diagnostic] = []
        self.inputs = [self._unique(input_name(node), node) for node in model.graph.parameters]
        self.outputs = [self._unique(output_name(node), node) for node in model.graph.results]

    def _unique(self, wish: str, node: Node) -> str:
        name, number = wish, 0
        while name in self.taken:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        if name != wish:
            message = f"two inputs or outputs are called {wish!r}; this one is now {name!r}"
            location = Location(line=node.location.line, path=node.name)
            self.notes.append(Diagnostic("CNV104", Severity.WARNING, message, location))
        return name


def refuse_new_elements(source: Graph, converter: Converter) -> None:
    """Record a refusal in `converter` for each input whose element type the target opset lacks."""
    for node in source.parameters:
        element = element_of(node.outputs[0])
        since = ELEMENT_SINCE.get(element, 1)
        if converter.opset >= since:
            continue
        converter.cures.append(since)
        converter.refusals.append(
            Diagnostic(
                "CNV003",
                Severity.ERROR,
                f"model input {node.name!r} is of type {element}, which ONNX has since {since}",
                Location(line=node.location.line, path=node.name),
                fix=f"write opset {since} or newer",
            )
        )


def refuse_unknown_elements(source: Graph, converter: Converter) -> None:
    """Record a refusal in `converter` for each model input or output of an unsupported type.

    IR has no name for an unsupported element type.
    """
    sides = [("input", node, node.outputs[0]) for node in source.parameters]
    sides += [("output", node, value) for node in source.results if (value := node.inputs[0])]
    for side, node, value in sides:
        if element_of(value) not in UNKNOWN_TO_OPENVINO:
            continue
        what = f"model {side} {node.name!r} is of type {value.type}"
        converter.refusals.append(_unknown_element(what, node))


def refuse_not_tensors(source: Graph, results: Sequence[Converted], converter: Converter) -> None:
    """Refuse each input that is not a tensor, and each output that cannot become a tensor.

    The refusals are recorded in `converter`. The refused inputs are sequences and optionals.
    """
    for node in source.parameters:
        type = node.outputs[0].type
        if not isinstance(type, TensorType):
            fix = f"give the number of tensors that it holds, as in --length {node.name}=2"
            converter.refusals.append(_refused_border(node, str(type), fix))
    for node, value in zip(source.results, results, strict=True):
        if isinstance(value, Growing) or (isinstance(value, Maybe) and value.item is None):
            converter.refusals.append(_refused_border(node, str(result_type(node)), ""))
        if isinstance(value, Maybe) and value.filled is not None:
            fix = "return the value, and a boolean that tells whether it is there"
            converter.refusals.append(_refused_border(node, str(value), fix))
        if isinstance(value, Ragged):
            fix = "return the items joined to one tensor, and their sizes"
            converter.refusals.append(_refused_border(node, str(value), fix))


def outputs_of(c: Conversion, name: str, node: Node, value: Converted) -> list[tuple[str, Value]]:
    """Return the tensors that replace one output of the source model, as (name, tensor) pairs.

    A tensor keeps its name. A sequence of two tensors with the name ``y`` becomes ``y_0`` and
    ``y_1``. If the output is not a tensor in the source model, warning CNV108 is added to the notes
    of the conversion.

    Args:
        c: the conversion that emits the tensors.
        name: the name of the output.
        node: its Result in the source model.
        value: what the conversion made of it.
    """
    if isinstance(value, Value):
        pairs = [(name, value)]
    else:
        # Imported only here, because few models have sequences.
        from irloop.conversion.framework import sequence_borders
        from irloop.conversion.framework.directions import Import

        assert isinstance(c, Import), "no IR has sequences"
        pairs = sequence_borders.outputs_of(c, name, value)
    type = result_type(node)
    if not isinstance(type, TensorType):
        names = ", ".join(repr(each) for each, _ in pairs) or "no output"
        message = f"output {name!r} of type {type} becomes {names}"
        location = Location(line=node.location.line, path=node.name)
        c.converter.notes.append(Diagnostic("CNV108", Severity.WARNING, message, location))
    return pairs


def _refused_border(node: Node, type: str, fix: str) -> Diagnostic:
    side = "input" if node.outputs else "output"
    return Diagnostic(
        "CNV002",
        Severity.ERROR,
        f"model {side} {node.name!r} is of type {type}; OpenVINO IR has tensors only",
        location=Location(line=node.location.line, path=node.name),
        fix=fix or "use tensors as inputs and outputs of the model",
    )


def require_known_types(graph: Graph) -> None:
    """Refuse values whose element type IR cannot name.

    Raises:
        UnsupportedError: naming each of them.
    """
    wrong = [
        _unknown_element(f"{value.name!r} is of type {value.type}", node)
        for inner in all_graphs(graph)
        for node in (*inner.parameters, *inner.nodes)
        for value in node.outputs
        if element_of(value) in UNKNOWN_TO_OPENVINO
    ]
    if wrong:
        raise UnsupportedError(f"values that cannot be converted: {len(wrong)}", diagnostics=wrong)


def _unknown_element(what: str, node: Node) -> Diagnostic:
    return Diagnostic(
        "CNV003",
        Severity.ERROR,
        f"{what}; OpenVINO IR has no such element type",
        Location(line=node.location.line, path=node_path(node)),
        fix="convert to another element type in the ONNX model",
    )


def require_known_ranks(graph: Graph) -> None:
    """Refuse inputs and outputs of unknown rank: onnx.checker requires a shape for each.

    Raises:
        UnsupportedError: naming each of them.
    """
    sides = [("input", node, node.outputs[0]) for node in graph.parameters]
    sides += [("output", node, value) for node in graph.results if (value := node.inputs[0])]
    problems = [
        Diagnostic(
            "CNV005",
            Severity.ERROR,
            f"model {side} {node.name!r} has no known rank, which ONNX cannot declare",
            Location(line=node.location.line, path=node.name),
            fix="declare the shapes of the inputs, as in --shape x=1,?,224",
        )
        for side, node, value in sides
        if shape_of(value).dims is None
    ]
    if problems:
        raise UnsupportedError(
            f"inputs and outputs of unknown rank: {len(problems)}", diagnostics=problems
        )


def unchanged(c: Conversion, name: str, value: Value) -> Value:
    """Return `value` as the value of the ONNX output `name`, or a copy if it is another input.

    The ONNX writer gives each output its own name, even if several outputs share a value. Only of
    an input it prefers the name, which is another one if an operation without effect was between
    them.
    """
    if isinstance(value.producer.op, Parameter) and name not in value.names:
        from irloop.dialects.onnx.convert import Identity

        value = c(Identity(), value)
        value.names = (name,)
    return value
