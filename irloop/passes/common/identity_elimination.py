"""Removes operations that return their operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop.analysis.operands import axes_of
from irloop.dialects.classes import classes_of
from irloop.dialects.numpy_broadcast import broadcasts_as_numpy
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO
from irloop.graph.builder import element_of, integers_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, TensorType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.match_rewriter import has_fixed_name
from irloop.passes.node_writer import NodeWriter

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["SQUEEZES", "UNSQUEEZES", "IdentityElimination"]

#: Operations that return their operand if there is only one.
JOINING = classes_of("Concat", "Max", "Mean", "Min", "Sum")

#: Operations that slice input 0.
SLICES = classes_of("Slice")
CUTTING = (*SLICES, *classes_of("StridedSlice"))

#: Operations that repeat or extend input 0; without effect if the shape stays the same.
GROWING = classes_of("Broadcast", "Expand", "Tile")

REPEATS = classes_of("Tile")

#: For each operation, the constant second operand that has no effect. Only adding -0.0, or
#: subtracting 0.0, keeps -0.0.
NEUTRAL = dict.fromkeys(classes_of("Add"), -0.0)
NEUTRAL |= dict.fromkeys(classes_of("Sub", "Subtract"), 0.0)
NEUTRAL |= dict.fromkeys(classes_of("Mul", "Multiply", "Div", "Divide"), 1.0)

SQUEEZES = classes_of("Squeeze")
UNSQUEEZES = classes_of("Unsqueeze")
RESHAPES = classes_of("Reshape")
RESHAPING = (*RESHAPES, *classes_of("Flatten"), *SQUEEZES, *UNSQUEEZES)
IDENTITIES = classes_of("Identity")
CONVERSIONS = classes_of("Convert", "ConvertLike", "Cast", "CastLike")
TRANSPOSES = classes_of("Transpose")
PADS = classes_of("Pad")
DROPOUTS = classes_of("Dropout")
SPLITS = classes_of("Split", "VariadicSplit")
#: Operations that choose between their last two operands, by a condition.
CHOICES = classes_of("Select", "Where")

#: An end of a slice that is at least this large means the end of the axis, however long it is.
FAR = 2**31 - 1


class IdentityElimination(NodePass):
    """Removes operations without effect; their readers then read the operand.

    Given::

        a = Convert(x: f32, f32)    b = Reshape(a: [2,3], [2,3])
        c = Transpose(b, [0,1])     d = Unsqueeze(Squeeze(c, 0), 0)
        e = d * 1                   y = Relu(e)

    Result::

        y = Relu(x)

    The pass also removes Identity, Dropout, Concat and Split of one tensor, slices of whole axes,
    Pad by 0, Broadcast and Tile to the same shape, two Transposes that undo each other, a choice by
    a constant, and operations that add 0, subtract 0 or divide by 1 (for floats only if they keep
    -0.0). An operation between an input and an output of a graph is kept, because both keep their
    names. An operation whose shapes are not known well enough is not removed.
    """

    name = "identity_elimination"
    operations = (
        *(*RESHAPING, *TRANSPOSES, *JOINING, *CUTTING, *GROWING, *SPLITS, *PADS),
        *(*NEUTRAL, *IDENTITIES, *CONVERSIONS, *DROPOUTS, *CHOICES),
    )

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        rewriter = w.rewriter
        if any(value.is_used for value in node.outputs[1:]) or node.attributes:
            return
        source = _source(node, rewriter.inference)
        if source is None or element_of(source) is not element_of(node.outputs[0]):
            return
        is_output = node.outputs[0].is_output
        if is_output and node.op.registry is OPENVINO and _may_be_confused(source):
            return
        if len(node.outputs) == 1:
            rewriter.eliminate(node, source)
        elif not is_output:
            rewriter.replace_value(node.outputs[0], source)
            rewriter.erase(node)


def _may_be_confused(value: Value) -> bool:
    """Return whether OpenVINO may confuse a value with another result of the same body.

    Two results may share the memory of one value, and a parameter that is returned unchanged that
    of the state before it.
    """
    return has_fixed_name(value.producer) or value.is_output


def _source(node: Node, inference: Inference) -> Value | None:
    """Return the input that `node` returns unchanged as its first output.

    The result is None if the operation changes its inputs.
    """
    if isinstance(node.op, CHOICES):
        return _chosen(node, inference)
    first = node.inputs[0] if node.inputs else None
    if first is None or not isinstance(first.type, TensorType):
        return first if isinstance(node.op, IDENTITIES) else None
    op = node.op
    if isinstance(op, RESHAPING):
        return _reshaped_back(node, inference)
    if isinstance(op, TRANSPOSES):
        return _transposed_back(node, inference)
    if type(op) in NEUTRAL:
        return _neutral(node, inference)
    if isinstance(op, CUTTING):
        return first if _takes_all(node, inference) else None
    if isinstance(op, DROPOUTS):
        return first if _is_inactive_dropout(node, inference) else None
    if isinstance(op, SPLITS):
        return first if len(node.outputs) == 1 else None
    if isinstance(op, JOINING):
        return first if len(node.inputs) == 1 else None
    if isinstance(op, REPEATS) and _is_once(node, inference):
        return first
    if isinstance(op, GROWING):
        # A third input maps the axes, so a Broadcast may transpose its operand.
        return first if _same_shape(node) and len(node.inputs) < 3 else None
    if isinstance(op, PADS):
        return first if _same_shape(node) and _adds_nothing(node, inference) else None
    if isinstance(op, CONVERSIONS) and element_of(node.outputs[0]) is ElementType.BOOLEAN:
        first = _condition(first)
    # Only conversions to the same type remain here; an unknown type may still differ.
    known = element_of(first).bits or element_of(first).value == "string"
    return first if known or isinstance(op, IDENTITIES) else None


def _condition(value: Value) -> Value:
    """The booleans that a Cast made numbers of; `value` itself if it is something else."""
    source = value.producer.inputs[0] if isinstance(value.producer.op, CONVERSIONS) else None
    return source if source is not None and element_of(source) is ElementType.BOOLEAN else value


def _chosen(node: Node, inference: Inference) -> Value | None:
    """Return the operand that a constant condition chooses, if the other ones do not enlarge it."""
    condition, yes, no = node.inputs
    known = None if condition is None else inference.constant(condition)
    if known is None or known.size != 1 or yes is None or no is None:
        return None
    chosen, other = (yes, no) if known.reshape(-1)[0] else (no, yes)
    rank, others = shape_of(chosen).rank, (known.ndim, shape_of(other).rank)
    if rank is None or shape_of(other).count() != 1:
        return None
    return chosen if all(each is not None and each <= rank for each in others) else None


def _is_once(node: Node, inference: Inference) -> bool:
    """Return whether a Tile repeats each axis once, and adds no axis."""
    data, repeats = (*node.inputs, None)[:2]
    known = None if repeats is None else inference.constant(repeats)
    rank = None if data is None else shape_of(data).rank
    return known is not None and known.size == rank and bool((known == 1).all())


def _same_shape(node: Node) -> bool:
    first = node.inputs[0]
    assert first is not None
    shape = shape_of(node.outputs[0])
    return shape.is_static and shape == shape_of(first)


def _reshaped_back(node: Node, inference: Inference) -> Value | None:
    """Return an earlier value with the elements and the shape of the output of `node`, or None.

    Such a value exists if reshaping operations undo each other. The function goes back through the
    chain of reshaping operations that ends in `node`, until it finds a value with the same shape.
    If it finds none, it calls `_unpaired`.
    """
    if isinstance(node.op, RESHAPES) and _states_its_shape(node, inference):
        return node.inputs[0]
    wanted = shape_of(node.outputs[0])
    value = node.outputs[0]
    while isinstance(value.producer.op, RESHAPING):
        source = value.producer.inputs[0]
        if source is None:
            return None
        if wanted.is_static and shape_of(source) == wanted:
            return source
        value = source
    return _unpaired(node, inference)


def _states_its_shape(node: Node, inference: Inference) -> bool:
    """Return whether a Reshape asks for the size that each axis has; 0 and -1 may stand for it."""
    asked = node.inputs[1] if len(node.inputs) > 1 else None
    pattern = None if asked is None else inference.constant(asked)
    dims = shape_of(node.inputs[0]).dims if node.inputs[0] is not None else None
    if pattern is None or dims is None or pattern.shape != (len(dims),):
        return False
    copies = getattr(node.op, "special_zero", not getattr(node.op, "allowzero", 0))
    open_axes = 0
    for size, dim in zip(pattern.tolist(), dims, strict=True):
        open_axes += size == -1
        if size not in (dim, -1) and not (copies and size == 0):
            return False
    return open_axes <= 1


def _unpaired(node: Node, inference: Inference) -> Value | None:
    """Return the value before an Unsqueeze and a Squeeze that cancel out; None if there is none.

    `node` is the second operation of the pair, which may be of either type. The two cancel out if
    they have the same axes.
    """
    first = node.inputs[0]
    before = None if first is None else first.producer
    if before is None or not (_undoes(node.op, before.op) or _undoes(before.op, node.op)):
        return None
    axes, others = _axes(node, inference), _axes(before, inference)
    return before.inputs[0] if axes is not None and axes == others else None


def _undoes(op: Op, other: Op) -> bool:
    return isinstance(op, SQUEEZES) and isinstance(other, UNSQUEEZES)


def _axes(node: Node, inference: Inference) -> list[int] | None:
    """The axes of a Squeeze or Unsqueeze, non-negative and ascending; None if they are unknown."""
    named = axes_of(node, inference.constant)
    if named is None:
        return None
    longer = node.outputs[0] if isinstance(node.op, UNSQUEEZES) else node.inputs[0]
    rank = None if longer is None else shape_of(longer).rank
    if any(axis < 0 for axis in named) and rank is None:
        return None
    return sorted(axis + (rank or 0) if axis < 0 else axis for axis in named)


def _order(node: Node, inference: Inference) -> list[int] | None:
    """The order of axes in the result of a Transpose; None if it is unknown."""
    first = node.inputs[0]
    rank = None if first is None else shape_of(first).rank
    named = getattr(node.op, "perm", None)
    given = node.inputs[1] if len(node.inputs) > 1 else None
    if named is None and given is not None:
        named = integers_of(given, inference.constant)
        if named is None:
            return None
    if named:
        return list(named)
    return None if rank is None else list(range(rank - 1, -1, -1))


def _transposed_back(node: Node, inference: Inference) -> Value | None:
    order = _order(node, inference)
    first = node.inputs[0]
    if order is None or first is None:
        return None
    if order == sorted(order):
        return first
    if not isinstance(first.producer.op, TRANSPOSES):
        return None
    before = _order(first.producer, inference)
    if before is None or [before[axis] for axis in order] != list(range(len(order))):
        return None
    return first.producer.inputs[0]


def _neutral(node: Node, inference: Inference) -> Value | None:
    """Return the operand that an operation returns unchanged, or None.

    This is the case if the other operand is a neutral constant, such as 1 for Mul, and does not
    change the shape by broadcasting.
    """
    if len(node.inputs) != 2 or not broadcasts_as_numpy(node):
        return None
    orders = [(0, 1), (1, 0)] if node.op.commutative else [(0, 1)]
    for one, two in orders:
        value, other = node.inputs[one], node.inputs[two]
        known = None if other is None else inference.constant(other)
        if value is None or known is None or not _keeps_shape(node, value, known):
            continue
        if _is_neutral(known, NEUTRAL[type(node.op)]):
            return value
    return None


def _keeps_shape(node: Node, value: Value, other: Array) -> bool:
    shape = shape_of(value)
    if shape.rank is None:
        return False
    if other.size == 1 and other.ndim <= shape.rank:
        return True
    return shape.is_static and shape == shape_of(node.outputs[0])


def _is_neutral(numbers: Array, wanted: float) -> bool:
    import numpy as np

    if numbers.dtype.kind not in "iuf" or not numbers.size or bool((numbers != wanted).any()):
        return False
    if numbers.dtype.kind in "iu" or wanted:
        return True
    return bool((np.signbit(numbers) == np.signbit(wanted)).all())


def _takes_all(node: Node, inference: Inference) -> bool:
    """Return whether `node` is a slice from the first to the last element of every axis."""
    at = 4 if isinstance(node.op, SLICES) and node.op.registry is ONNX else 3
    given = node.inputs[at] if at < len(node.inputs) else None
    if given is not None:
        steps = inference.constant(given)
        if steps is None or bool((steps != 1).any()):
            return False
    if _same_shape(node):
        return True
    if not isinstance(node.op, SLICES):
        return False
    starts, ends = _bounds(node, inference)
    if starts is None or ends is None:
        return False
    return all(item == 0 for item in starts) and all(item >= FAR for item in ends)


def _bounds(node: Node, inference: Inference) -> tuple[list[int] | None, list[int] | None]:
    named = [getattr(node.op, name, None) for name in ("starts", "ends")]
    bounds: list[list[int] | None] = []
    for index, numbers in enumerate(named):
        if numbers is not None:
            bounds.append(list(numbers))
            continue
        value = node.inputs[index + 1] if index + 1 < len(node.inputs) else None
        bounds.append(integers_of(value, inference.constant))
    return bounds[0], bounds[1]


def _is_inactive_dropout(node: Node, inference: Inference) -> bool:
    """Return whether `node` is a Dropout that is not in training mode."""
    training = node.inputs[2] if len(node.inputs) > 2 else None
    if training is None:
        return True
    known = inference.constant(training)
    return known is not None and not bool(known.any())


def _adds_nothing(node: Node, inference: Inference) -> bool:
    pads = getattr(node.op, "pads", None)
    if pads is not None:
        return not any(pads)
    last = 3 if node.op.registry is OPENVINO else 2
    given = [inference.constant(value) for value in node.inputs[1:last] if value is not None]
    return all(item is not None and not bool(item.any()) for item in given)
