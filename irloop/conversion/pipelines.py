"""The two directions as readable lists of steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence

# The rules of a family register themselves when its module is imported.
from irloop.conversion import (  # noqa: F401
    activation,
    adaptive_pooling,
    attention,
    bits,
    branch,
    color,
    comparison,
    convert,
    convolution,
    convolution_transposed,
    ctc,
    ctc_loss,
    deformable,
    detection_output,
    detectron,
    elementwise,
    embedding,
    features,
    gather,
    generate,
    legacy,
    loop,
    losses,
    matmul,
    matrix_nms,
    multiclass_nms,
    nms,
    normalization,
    normalization_import,
    padding,
    pooling,
    pooling_import,
    prior_box,
    proposal,
    quantize,
    random,
    rearrange,
    recurrent,
    recurrent_import,
    reduction,
    region,
    reorder,
    resize,
    resize_import,
    roi,
    roi_turned,
    rotated_nms,
    sampling,
    scan,
    scatter,
    search,
    sequence,
    shape,
    signal,
    signal_import,
    slicing,
    strided_slice,
    text,
    training,
    unique,
)
from irloop.conversion import openvino_forms as ov_forms
from irloop.conversion.carriers import carry_narrow_elements
from irloop.conversion.framework import EXPORTS, IMPORTS, Conversion, Converted, Converter
from irloop.conversion.onnx_forms import ELEMENT_SINCE
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.onnx import ONNX
from irloop.errors import UnsupportedError, UsageError
from irloop.graph.builder import element_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Result
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import UNKNOWN_TYPE, Shape, TensorType, ValueType
from irloop.graph.verify import verify
from irloop.graph.walk import all_graphs, node_path
from irloop.passes.rewriter import is_unread

__all__ = [
    "DEFAULT_ONNX_OPSET",
    "only_by_function",
    "set_input_shapes",
    "to_onnx",
    "to_openvino",
]

#: Read by ONNX Runtime, TensorRT and DirectML of today.
DEFAULT_ONNX_OPSET = 17

#: Model Optimizer ends the name of a Result so.
SINK_SUFFIX = "/sink_port_0"


def to_onnx(
    model: Model,
    *,
    opset: int | None = None,
    prefer: str = "loop",
    shapes: Mapping[str, Shape] | None = None,
) -> tuple[Model, list[Diagnostic]]:
    """The same computation in ONNX operations, and what the user should know about it.

    Without `opset` it is `DEFAULT_ONNX_OPSET`, or the first newer one in which everything can be
    said. `prefer` "scan" writes a Scan for each Loop that only its slices end. `shapes` fixes the
    shapes of inputs by name.

    Raises:
        UsageError: when `model` is not an OpenVINO model, or has no input of a given name.
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation that cannot be said in ONNX.
    """
    if model.dialect != "openvino":
        raise UsageError(f"expected an OpenVINO model, found dialect {model.dialect!r}")
    set_input_shapes(model, shapes or {})
    names = _Names(model, onnx_input_name, onnx_output_name)
    converter = Converter(EXPORTS, opset or DEFAULT_ONNX_OPSET, options={"prefer": prefer})
    try:
        graph = _translate(model, converter, names, _as_it_is)
    except UnsupportedError:
        newer = max(converter.cures, default=0)
        if opset is not None or 0 in converter.cures or newer <= converter.opset:
            raise
        converter = Converter(EXPORTS, newer, options={"prefer": prefer})
        graph = _translate(model, converter, names, _as_it_is)
        message = f"opset {newer} is written: {DEFAULT_ONNX_OPSET} has no form for everything here"
        converter.notes.append(Diagnostic("CNV105", Severity.INFO, message))
    carry_narrow_elements(graph)
    _require_known_ranks(graph)
    metadata = {"openvino": copy.deepcopy(model.metadata)}
    opsets = {"": converter.opset}
    return Model(graph, "onnx", 0, opsets, metadata, model.source), converter.notes


def to_openvino(
    model: Model,
    *,
    opset: int = 8,
    shapes: Mapping[str, Shape] | None = None,
    computed_weights: bool = True,
) -> tuple[Model, list[Diagnostic]]:
    """The same computation in OpenVINO operations up to `opset`, and what to know about it.

    An If whose condition is computed stays one, whatever the opset.

    `shapes` fixes the shapes of inputs by name, which decides branches that depend on them.
    Without `computed_weights` an LSTM, GRU or RNN whose weights are no constants becomes a loop.

    Raises:
        UsageError: when `model` is not an ONNX model, or has no input of a given name.
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation that cannot be said in OpenVINO IR.
    """
    if model.dialect != "onnx":
        raise UsageError(f"expected an ONNX model, found dialect {model.dialect!r}")
    set_input_shapes(model, shapes or {})
    converter = Converter(IMPORTS, opset, options={"computed_weights": computed_weights})
    names = _Names(model, lambda node: node.name, lambda node: node.name)
    graph = _translate(model, converter, names, _own_producer)
    _require_known_types(graph)
    return Model(graph, "openvino", 10, {}, {}, model.source), converter.notes


def only_by_function(type_name: str, domain: str) -> bool:
    """True for ONNX operations that no rule says in OpenVINO's.

    Those that the standard defines by a function can be said once the reader writes it out.
    """
    return not any(cls in IMPORTS for cls in ONNX.versions(type_name, domain))


def set_input_shapes(model: Model, shapes: Mapping[str, Shape]) -> None:
    """Give inputs of a model, named by tensor or by layer, other shapes.

    Raises:
        UsageError: for a name that no input has, or a shape that contradicts the model's.
    """
    for name, wanted in shapes.items():
        found = [
            node
            for node in model.graph.parameters
            if name == node.name or name in node.outputs[0].names
        ]
        if not found:
            known = ", ".join(node.name for node in model.graph.parameters)
            raise UsageError(f"the model has no input {name!r}", expected=f"one of {known}")
        value = found[0].outputs[0]
        refined = value.type.shape.refine(wanted) if isinstance(value.type, TensorType) else None
        if not isinstance(value.type, TensorType) or refined is None:
            message = f"input {name!r} cannot have that shape"
            raise UsageError(message, expected=str(value.type), found=str(wanted))
        value.type = TensorType(value.type.element, refined)


def onnx_input_name(node: Node) -> str:
    """The name of a Parameter's value: of its tensor names that of the layer, else the first.

    Where the value is an output as well, OpenVINO gives it that output's tensor names alone.
    """
    value = node.outputs[0]
    outputs = {_without_port(user.name) for user, _ in value.uses if isinstance(user.op, Result)}
    own = [name for name in value.names if name not in outputs]
    return node.name if node.name in value.names or not own else own[0]


def onnx_output_name(node: Node) -> str:
    """The name of a Result's value: of its tensor names that of the layer, else the first."""
    value, name = node.inputs[0], _without_port(node.name)
    if value is None or name in value.names or not (value.names and value.producer.inputs):
        return name
    return value.names[0]


def _without_port(name: str) -> str:
    return name.removesuffix(SINK_SUFFIX)


class _Names:
    """What the inputs and outputs of the new model are called: exactly as before, but unique."""

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


def _translate(
    model: Model,
    converter: Converter,
    names: _Names,
    prepare_output: Callable[[Conversion, str, Value], Value],
) -> Graph:
    """Infer the source, translate it node by node, name inputs and outputs, verify."""
    source = model.graph
    converter.source = Inference()
    converter.source.run(source)
    if converter.rules is EXPORTS:
        _refuse_new_elements(source, converter)
    target = Conversion(Graph(source.name), converter)
    for name in names.taken:
        target.names.reserve(name)
    parameters = [
        target.graph.add_parameter(name, node.outputs[0].type, (name,), node.location)
        for name, node in zip(names.inputs, source.parameters, strict=True)
    ]
    converter.notes += names.notes
    converted = target.convert_any(source, parameters)
    for node, what in _not_tensors(source, converted):
        converter.refusals.append(_refused_border(node, what))
    if converter.refusals:
        raise UnsupportedError(
            f"{len(converter.refusals)} operations cannot be converted",
            diagnostics=converter.refusals,
        )
    values = [value for value in converted if isinstance(value, Value)]
    for name, node, value in zip(names.outputs, source.results, values, strict=True):
        target.location = node.location
        target.graph.add_result(prepare_output(target, name, value), name, node.location)
    _drop_unread(target.graph)
    _keep_declared_dims(target.graph, converter)
    verify(target.graph)
    return target.graph


def _refuse_new_elements(source: Graph, converter: Converter) -> None:
    """Refuse inputs of element types that the ONNX opset being written does not have."""
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


def _keep_declared_dims(graph: Graph, converter: Converter) -> None:
    """Let body values keep dimensions that only their declaration in the source tells.

    A loop that never runs gives outputs of these dimensions, in the source and in the target.
    """
    if not converter.in_bodies:
        return
    inference = Inference(tolerant=True)
    for old, new in converter.in_bodies:
        inference.hint(new, converter.source.declared(old))
    inference.run(graph)


def _drop_unread(graph: Graph) -> None:
    """Erase what nobody reads: outputs that rules made in vain, constants said in another form."""
    for each in all_graphs(graph):
        rewriter = Rewriter(each)
        for node in reversed(each):
            if is_unread(node):
                rewriter.erase(node)


def _not_tensors(source: Graph, results: Sequence[Converted]) -> Iterator[tuple[Node, str]]:
    """Inputs and outputs of the model that are sequences or optionals, and what they are."""
    for node in source.parameters:
        if not isinstance(node.outputs[0].type, TensorType):
            yield node, str(node.outputs[0].type)
    for node, value in zip(source.results, results, strict=True):
        type = _source_type(node)
        if not isinstance(value, Value) or not isinstance(type, TensorType):
            yield node, str(type)


def _source_type(result: Node) -> ValueType:
    """The type of what a Result gives."""
    value = result.inputs[0]
    return UNKNOWN_TYPE if value is None else value.type


def _refused_border(node: Node, type: str) -> Diagnostic:
    side = "input" if node.outputs else "output"
    return Diagnostic(
        "CNV002",
        Severity.ERROR,
        f"model {side} {node.name!r} is of type {type}; OpenVINO IR has tensors only",
        location=Location(line=node.location.line, path=node.name),
        fix="give the model tensors at its border",
    )


def _require_known_types(graph: Graph) -> None:
    """Refuse values of element types that IR has no name for.

    Raises:
        UnsupportedError: naming each of them.
    """
    found = [
        Diagnostic(
            "CNV003",
            Severity.ERROR,
            f"{value.name!r} is of type {value.type}; OpenVINO IR has no such element type",
            Location(line=node.location.line, path=node_path(node)),
            fix="convert to another element type in the ONNX model",
        )
        for inner in all_graphs(graph)
        for node in (*inner.parameters, *inner.nodes)
        for value in node.outputs
        if element_of(value) in ov_forms.UNKNOWN_TO_OPENVINO
    ]
    if found:
        raise UnsupportedError(f"{len(found)} values cannot be converted", diagnostics=found)


def _require_known_ranks(graph: Graph) -> None:
    """Refuse inputs and outputs of unknown rank: onnx.checker wants a shape for each.

    Raises:
        UnsupportedError: naming each of them.
    """
    sides = [("input", node, node.outputs[0]) for node in graph.parameters]
    sides += [("output", node, value) for node in graph.results if (value := node.inputs[0])]
    found = [
        Diagnostic(
            "CNV005",
            Severity.ERROR,
            f"model {side} {node.name!r} has no known rank, and ONNX has no form for that",
            Location(line=node.location.line, path=node.name),
            fix="give the inputs shapes, as in --shape x=1,?,224",
        )
        for side, node, value in sides
        if shape_of(value).dims is None
    ]
    if found:
        raise UnsupportedError(f"{len(found)} ranks are not known", diagnostics=found)


def _as_it_is(c: Conversion, name: str, value: Value) -> Value:
    """The value itself: the ONNX writer gives every output a name of its own."""
    return value


def _own_producer(c: Conversion, name: str, value: Value) -> Value:
    """A value that carries `name` and has a layer of its own.

    OpenVINO's reader of v10 refuses an input that is directly an output, one value that is two
    outputs, and a name that stands on two of them.
    """
    producer = value.producer
    is_input = producer in c.graph.parameters
    if is_input or any(user.op.type == "Result" for user, _ in value.uses):
        value = ov_forms.convert(c, value, element_of(value))
        producer = value.producer
    value.names = (name,)
    if len(producer.outputs) == 1:
        producer.name = name
    return value
