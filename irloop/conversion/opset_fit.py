"""Finds what the signature of an operation does not allow in another opset of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from irloop.dialects.onnx import ONNX, OnnxOp
from irloop.dialects.onnx.control_flow import If
from irloop.dialects.onnx.elementwise import Mod, Variadic
from irloop.dialects.onnx.pooling import AveragePool, MaxPool
from irloop.dialects.onnx.resize import Resize
from irloop.dialects.onnx.scatter import ScatterElements16, ScatterND16
from irloop.dialects.writing.element_types import ELEMENT_SINCE
from irloop.formats.onnx.attributes import codec_of
from irloop.formats.onnx.control import fold
from irloop.formats.onnx.signature import Signature, signature_of, type_text
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node
from irloop.graph.op import Constant, Op, UnknownOp

__all__ = ["misfit"]

#: Deprecated operations that engines run in every opset that has them.
RUN_ANYWAY = frozenset({"GroupNormalization"})


def _drops_a_window(node: Node) -> bool:
    """Return whether a pooling that rounds up leaves out a window that starts in the padding.

    Before opset 22, ONNX counts this window.
    """
    op = node.op
    dims = shape_of(node.inputs[0]).dims if node.inputs[0] else None
    if not isinstance(op, (AveragePool, MaxPool)) or not op.ceil_mode or dims is None:
        return False
    drops, keeps = op.window(), replace(op.window(), rounding="ceil")
    sizes = [(axis, dim) for axis, dim in enumerate(dims[2:]) if isinstance(dim, int)]
    return any(drops.outputs(*size) != keeps.outputs(*size) for size in sizes)


def _is_extremum(node: Node) -> bool:
    return getattr(node.op, "reduction", "") in ("max", "min")


def _is_floored(node: Node) -> bool:
    op, value = node.op, node.inputs[0]
    return isinstance(op, Mod) and not op.fmod and value is not None and element_of(value).is_float


def _is_symmetric(node: Node) -> bool:
    return getattr(node.op, "coordinate_transformation_mode", "") == "half_pixel_symmetric"


def _broadcasts(node: Node) -> bool:
    shapes = {shape_of(value) for value in node.inputs if value is not None}
    return len(shapes) > 1 or not all(shape.is_static for shape in shapes)


def _branches_differ(node: Node) -> bool:
    for value in node.outputs:
        returned = [
            body.graph.outputs[port.result]
            for body in node.bodies
            for port in body.ports.outputs
            if port.external == value.index
        ]
        if len({shape_of(item) for item in returned}) > 1:
            return True
    return False


#: The uses of an operation that were added later than the operation, without another attribute or
#: element type: the class, the opset, and whether a node is such a use.
_LATER: tuple[tuple[type[Op] | tuple[type[Op], ...], int, Callable[[Node], bool]], ...] = (
    ((AveragePool, MaxPool), 22, _drops_a_window),
    (If, 11, _branches_differ),
    (Mod, 28, _is_floored),
    (Resize, 19, _is_symmetric),
    (ScatterElements16, 18, _is_extremum),
    (ScatterND16, 18, _is_extremum),
    (Variadic, 8, _broadcasts),
)


def misfit(node: Node, opset: int) -> str:
    """Return why a node cannot stay as it is in `opset` of ai.onnx; "" if it can."""
    op = node.op
    if isinstance(op, Constant) or _domain_of(op):
        return ""
    since = max((ELEMENT_SINCE.get(element_of(value), 1) for value in node.outputs), default=1)
    if since > opset:
        return f"the element type of its output is of opset {since}"
    if isinstance(op, UnknownOp):
        known = signature_of(op.name, opset, "")
        stays = known is not None and known.label == f"{op.name}-{op.version}"
        return "" if stays else "irloop does not know this operation"
    if ONNX.find(op.type, opset) is not type(op):
        return "the opset has another version of the operation"
    signature = signature_of(op.type, opset, "")
    if signature is None:  # an operation that only ONNX Runtime has in this opset
        return "" if isinstance(op, OnnxOp) and op.of_runtime else "the opset lacks the operation"
    if signature.deprecated and op.type not in RUN_ANYWAY:
        return "the opset has removed the operation"
    newer = next((since for cls, since, uses in _LATER if isinstance(op, cls) and uses(node)), 0)
    if opset < newer:
        return f"{op.type} means this since opset {newer} only"
    return next(_misfits(node, signature), "")


def _domain_of(op: Op) -> str:
    return op.op_domain if isinstance(op, UnknownOp) else op.domain


def _misfits(node: Node, signature: Signature) -> Iterator[str]:
    """Yield what the signature of an operation in another opset does not allow in a node."""
    folded = fold(node)
    values = {
        codec.name
        for codec in codec_of(type(node.op))
        if getattr(node.op, codec.field) not in (None, codec.default)
    }
    for name in (values | {*node.attributes, *folded.attributes}) - {*signature.attributes}:
        yield f"the opset lacks its attribute {name!r}"
    least, most = signature.inputs
    inputs = [*folded.inputs]
    while inputs and inputs[-1] is None:
        inputs.pop()
    if len(inputs) < least or (most is not None and len(inputs) > most):
        yield f"the opset has it with {least} to {most} inputs"
    last = len(folded.outputs) if signature.outputs[1] is None else signature.outputs[1]
    if any(value.is_used for value in folded.outputs[last:] if value is not None):
        yield f"the opset has it with {last} outputs"
    for index, value in enumerate(inputs):
        text = "" if value is None else type_text(value.type)
        types = signature.types
        allowed = types[min(index, len(types) - 1)] if types else frozenset()
        if text and allowed and text not in allowed:
            yield f"the opset has it without the element type {text}"
