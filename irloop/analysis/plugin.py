"""Finds patterns that OpenVINO's CPU plugin computes wrongly or refuses, apart from loop wires.

The classes of faults use these functions to find their patterns. The conversion to IR uses the
same functions to avoid the patterns.
"""

from __future__ import annotations

from irloop.analysis.lengths import reach_the_end
from irloop.analysis.patterns import (
    is_computed,
    is_loop,
    is_view,
)
from irloop.analysis.shared_memory import has_one_source, is_copy
from irloop.dialects.openvino import recurrent
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Result
from irloop.graph.types import EIGHT_BIT_FLOATS, ElementType
from irloop.graph.walk import owners

__all__ = [
    "is_constant",
    "is_in_loop",
    "is_result",
    "is_written_as_loop",
    "joined_repeatedly",
    "looks_up_memory",
    "reads_earlier_memory",
]


#: Maximum number of nodes visited in the search for a Concat that reads a loop output repeatedly.
_READERS = 64

#: The activations with which the plugin itself computes an LSTM or a GRU, keyed by the number of
#: gates. `_OWN_ACTIVATIONS` has those of an RNN.
_OWN_GATES = {4: ["sigmoid", "tanh", "tanh"], 3: ["sigmoid", "tanh"]}
_OWN_ACTIVATIONS = (["tanh"], ["relu"], ["sigmoid"])


def is_constant(value: Value) -> bool:
    """Return whether `value` is a constant, also if it passes through Convert operations."""
    while isinstance(value.producer.op, Convert) and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return isinstance(value.producer.op, Constant)


def is_result(value: Value) -> bool:
    """Return whether `value` is a result of its graph."""
    return any(isinstance(user.op, Result) for user, _ in value.uses)


def reads_earlier_memory(value: Value) -> list[tuple[Node, int]]:
    """Find the readers of a loop output that may use an outdated memory address of this output.

    Returns each reader with the position of the input that reads `value`. The list is empty if
    `value` is not a loop output, has a static shape or holds strings. Otherwise two cases differ:

    - The loop output is also a result of its graph. Its memory then differs in each inference
      request, and every reader is returned, because it may keep the memory of an earlier request.
    - The loop output is not a result of its graph. Only those readers are returned that keep the
      old address when the memory moves: loops and, if the output belongs to a loop in the body of
      another loop, all operations that are not elementwise. Arithmetic that OpenVINO may remove
      counts as well if a reader of its result keeps the old address.

    In both cases, operations that look up their memory in each inference are left out.
    """
    if not is_loop(value.producer) or shape_of(value).is_static:
        return []
    if element_of(value) is ElementType.STRING:
        return []
    any_reader = is_result(value)
    is_inner = is_in_loop(value.producer)
    return [
        (user, at)
        for user, at in value.uses
        if (any_reader or _keeps_old_address(user, is_inner)) and not looks_up_memory(user)
    ]


def _keeps_old_address(reader: Node, is_inner: bool) -> bool:
    """Return whether `reader` keeps the old address of a loop output whose memory has moved.

    A view, or arithmetic that OpenVINO may remove (such as x + 0), keeps the address if a reader of
    its result does. True is also returned if more than `_READERS` operations would have to be
    examined.
    """
    pending = [reader]
    for node in pending:
        if len(pending) > _READERS or is_loop(node):
            return True
        if looks_up_memory(node):
            continue
        if is_inner and not node.op.elementwise:
            return True
        is_arithmetic = node.op.elementwise and len(node.inputs) > 1
        if is_view(node) or (is_arithmetic and has_one_source(node)):
            pending += {user for user, _ in node.output.uses} - set(pending)
    return False


def is_in_loop(node: Node) -> bool:
    """Return whether `node` is in the body of a loop, also if it is in a branch there."""
    return any(map(is_loop, owners(node)))


def joined_repeatedly(value: Value) -> list[tuple[Node, int]]:
    """Return the readers of a loop output if OpenVINO may fill a Concat of it incompletely.

    A Concat is at risk if it gets `value` more than once, as in Concat(y, y), directly or through
    reshapes and other Concats. The plugin places all parts of the Concat in the memory of its
    result, but the loop may fill only one part. This happens if the shape of `value` is known, and
    the shape of another output or of an input of the loop is unknown.

    Each reader is a pair (node, input position). All readers of `value` are returned, not only the
    Concat. Without a risk, the list is empty.
    """
    if not is_loop(value.producer) or not shape_of(value).is_static:
        return []
    # This check comes first, because most outputs have no such reader and a loop may have thousands
    # of outputs.
    if not _is_joined_repeatedly(value):
        return []
    ports = [item for item in (*value.producer.inputs, *value.producer.outputs) if item is not None]
    return [] if all(shape_of(item).is_static for item in ports) else list(value.uses)


def _is_joined_repeatedly(value: Value) -> bool:
    reached: set[Node] = set()
    pending = [value]
    while pending and len(reached) < _READERS:
        for user, _ in pending.pop().uses:
            if not isinstance(user.op, Concat) and not is_view(user):
                continue
            if user not in reached:
                reached.add(user)
                pending += user.outputs
            elif isinstance(user.op, Concat):
                return True
    return False


def looks_up_memory(user: Node) -> bool:
    """Return whether an operation looks up the memory of its inputs in each
    inference.

    Such an operation never reads memory that an input used in an earlier inference.
    """
    if isinstance(user.op, ShapeOf3 | Slice | Result):
        return True
    if isinstance(user.op, Convert) and user.inputs[0] is not None:
        # 8-bit floats are copied as f32.
        return element_of(user.inputs[0]) in EIGHT_BIT_FLOATS
    return any(is_copy(value) for value in user.outputs)


def is_written_as_loop(node: Node) -> bool:
    """Return whether `node` is a recurrent sequence that the plugin writes as a TensorIterator.

    It does so unless the activations are those that it knows for this number of gates, nothing is
    clipped, the weights are not computed, and the lengths reach the end if the shape of the data is
    known.
    """
    op = node.op
    if not isinstance(op, recurrent.SEQUENCES) or not isinstance(op, recurrent.Recurrent):
        return False
    names = [name for name, *_ in op.functions()]
    gates = _OWN_GATES.get(op.GATES)
    own = names in _OWN_ACTIVATIONS if gates is None else names == gates
    data, lengths, *weights = node.inputs[0], *node.inputs[-4:]
    if not own or op.clip != 0 or any(value and is_computed(value) for value in weights):
        return True
    if data is None or lengths is None or not shape_of(data).is_static:
        return False
    return not reach_the_end(lengths, data)
