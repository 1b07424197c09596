"""Replaces operations of unknown output shape by operations with the shape the model declares.

The shape of an output may depend on the value of an ONNX model input, such as `axes` or `shape`. If
the model declares a fixed shape for this output, a runtime that needs static shapes can support
only this shape. The declared shape often also determines the value of the input.
"""

from __future__ import annotations

from collections.abc import Callable

from irloop.conversion.declared.computed import COMPUTED
from irloop.conversion.declared.operands import OPERANDS
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.onnx.activation import Activation, SwiGLU
from irloop.dialects.onnx.convert import Cast6, CastLike, Identity
from irloop.dialects.onnx.elementwise import Arithmetic, Unary
from irloop.dialects.onnx.search import TopK10, TopK11
from irloop.errors import InferenceError
from irloop.graph.builder import Builder, shape_of
from irloop.graph.clone import clone_into
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.types import Shape, TensorType, ValueType
from irloop.graph.walk import node_path
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["assume_declared_shapes"]

Dims = tuple[int, ...]

#: Rules by operation. A rule gets a builder, the operation, its inputs, and the dimensions of its
#: outputs; it builds the outputs, or returns None if the dimensions do not determine them.
RULES: dict[type[Op], Callable[..., list[Value] | None]] = {**OPERANDS, **COMPUTED}

#: Operations whose output has the shape of input 0.
SAME_SHAPE = (Unary, Activation, Cast6, CastLike, Identity)


def assume_declared_shapes(model: Model, target: str) -> list[Diagnostic]:
    """Give operations of unknown output shape the static shape that the model declares.

    Only the main graph of the ONNX model is rewritten. Returns a warning for each rewritten
    operation: inputs of the model that lead to another shape give a wrong result.
    """
    declared = {value: value.type for node in model.graph.nodes for value in node.outputs}
    session = Session(model)
    expected = _expected_dims(model.graph, declared)
    rewriter = session.rewriter(model.graph)
    notes = []
    for node in list(model.graph.nodes):
        session.inference.visit(node)
        dims = [expected.get(value) for value in node.outputs]
        if all(shape_of(value).is_static for value in node.outputs) or type(node.op) not in RULES:
            continue
        known = [each for each in dims if each is not None and 0 not in each]
        if len(known) == len(dims) and _replaced(node, known, rewriter):
            notes.append(_note(node, known, target))
    rewriter.erase_unread(list(model.graph.nodes) if notes else ())
    return notes


def _expected_dims(graph: Graph, declared: dict[Value, ValueType]) -> dict[Value, Dims]:
    """Return the static dimensions that values have or are expected to have.

    The dimensions of a value are the inferred ones, or else those that the model declares in
    `declared`. If neither is static, they may follow from an operation that reads the value and
    whose output has the same shape. Values without static dimensions are left out.
    """
    expected: dict[Value, Dims] = {}
    for value, type in declared.items():
        inferred = shape_of(value)
        given = type.shape if isinstance(type, TensorType) else Shape(None)
        dims = inferred.static() or given.static()
        if dims is not None and inferred.refine(Shape.of(*dims)) is not None:
            expected[value] = dims
    for node in reversed(list(graph.nodes)):
        if isinstance(node.op, (TopK10, TopK11)):
            # Its outputs have the same shape, but a model need not declare what nothing reads.
            known = [expected[value] for value in node.outputs if value in expected]
            expected.update((value, known[0]) for value in node.outputs if known)
        dims = expected.get(node.outputs[0]) if node.outputs else None
        source = None if dims is None else _source_of_same_shape(node, dims)
        if dims is None or source is None:
            continue
        if shape_of(source).refine(Shape.of(*dims)) is not None:
            expected.setdefault(source, dims)
    return expected


def _source_of_same_shape(node: Node, dims: Dims) -> Value | None:
    """Return the input of `node` that must have the shape `dims` if the output has it.

    Returns None if no input must have this shape.
    """
    if isinstance(node.op, SAME_SHAPE) and not isinstance(node.op, SwiGLU):
        return node.inputs[0]
    if not isinstance(node.op, Arithmetic):
        return None
    unknown = [value for value in node.inputs if value and not shape_of(value).is_static]
    others = [value for value in node.inputs if value and shape_of(value).is_static]
    # A broadcast operand of one element leaves the shape of the other one as it is. If the shape
    # has dimensions of 1, they could be those of the broadcast operand, unless that is a scalar.
    if len(unknown) != 1 or len(others) != 1 or shape_of(others[0]).count() != 1:
        return None
    return unknown[0] if shape_of(others[0]).rank == 0 or 1 not in dims else None


def _replaced(node: Node, dims: list[Dims], rewriter: MatchRewriter) -> bool:
    """Replace `node` by operations that compute its outputs with the shapes `dims`.

    The rule for the type of the node builds them. The result is False, and nothing is replaced, if
    the rule does not build outputs of these shapes.
    """
    builder = Builder(Graph(node.name))
    builder.prefix = node.name
    builder.location = node.location
    operands: list[Value] = []
    inputs = [value and _entered(value, builder, operands, rewriter) for value in node.inputs]
    try:
        made = RULES[type(node.op)](builder, node.op, inputs, dims)
    except InferenceError:
        # The declared shape contradicts the operation; conversion reports what is wrong.
        return False
    if made is None or [shape_of(value).static() for value in made] != dims:
        return False
    for value in made:
        builder.graph.add_result(value, value.producer.name)
    rewriter.replace_node(node, clone_into(builder.graph, rewriter, operands, before=node))
    return True


def _entered(
    value: Value, builder: Builder, operands: list[Value], rewriter: MatchRewriter
) -> Value:
    """Return a value that replaces the node input `value` in the graph of `builder`.

    If `value` is known, the result is a constant. Otherwise it is a new parameter, and `value` is
    appended to `operands`, which lists the values to pass to the parameters.
    """
    op = value.producer.op
    if isinstance(op, Constant):
        return builder.tensor(op.tensor)
    known = rewriter.inference.constant(value)
    if known is not None and isinstance(value.type, TensorType):
        return builder.constant(known, value.type.element)
    operands.append(value)
    return builder.parameter(f"{value.producer.name}/in", value.type)


def _note(node: Node, dims: list[Dims], target: str) -> Diagnostic:
    path = node_path(node)
    shapes = ", ".join(str(list(each)) for each in dims)
    return Diagnostic(
        "CNV111",
        Severity.WARNING,
        f"{node.op.label} {path!r}: {target} reads static shapes only, so the output has the shape "
        f"that the model declares, {shapes}",
        Location(line=node.location.line, path=path),
        cause="the shape follows from values that are known only when the model runs",
        fix="run the model only with values that lead to this shape",
    )
