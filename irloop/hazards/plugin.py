"""Finds patterns that OpenVINO's CPU plugin computes wrongly or refuses, apart from loop wires.

The classes of hazards use these functions to find their patterns. The conversion to IR uses the
same functions to avoid the patterns.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.openvino import activation, convolution, recurrent, search
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Abs, Add, Arithmetic, Subtract
from irloop.dialects.openvino.reduction import Reduction
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Result
from irloop.graph.types import EIGHT_BIT_FLOATS, ElementType
from irloop.hazards.patterns import (
    is_computed,
    is_loop,
    is_view,
    number_of,
    read_inputs,
    taken_over,
)
from irloop.hazards.shared_memory import has_one_source, is_copy
from irloop.hazards.sources import is_computed_from_inputs, sources

__all__ = [
    "NOT_FOLDED",
    "SUMS",
    "brings_dimensions",
    "computes_as_loop",
    "is_in_loop",
    "is_result",
    "is_sized_by_constants",
    "is_written_as_loop",
    "joined_repeatedly",
    "looks_up_memory",
    "loses_its_memory",
    "overwrites_its_concat",
    "passes_an_input_on",
    "reads_earlier_memory",
    "reduced_wrongly",
    "selects_many_dimensions",
    "sums_double_constants",
]

#: Operations that OpenVINO does not fold before the plugin gets the model.
NOT_FOLDED = (
    ov.TensorIterator,
    *recurrent.SEQUENCES,
    recurrent.LSTMSequence1,
    convolution.Convolution,
    activation.GRN,
    search.Unique,
)

SUMS = (Add, Subtract)

#: Maximum rank of a Select in OpenVINO 2021.4.
_OF_SELECT = 5

#: Maximum number of nodes visited in the search for a Concat that reads a loop output repeatedly.
_READERS = 64

#: The activations with which the plugin itself computes an LSTM or a GRU, keyed by the number of
#: gates. `_OWN_ACTIVATIONS` has those of an RNN.
_OWN_GATES = {4: ["sigmoid", "tanh", "tanh"], 3: ["sigmoid", "tanh"]}
_OWN_ACTIVATIONS = (["tanh"], ["relu"], ["sigmoid"])

#: Maximum number of elementwise operations that are visited; the plugin fuses fewer than this.
_FUSED = 32


def brings_dimensions(node: Node) -> bool:
    """True for arithmetic whose second operand has one element and a higher rank than the first."""
    if not isinstance(node.op, Arithmetic) or len(node.inputs) < 2:
        return False
    left, right = node.inputs[:2]
    if left is None or right is None:
        return False
    rank, other = shape_of(left).rank, shape_of(right).rank
    if rank is None or other is None or other <= rank:
        return False
    return shape_of(right).count() == 1


def selects_many_dimensions(node: Node) -> bool:
    """True for a Select whose output has more dimensions than OpenVINO 2021.4 supports."""
    return isinstance(node.op, Select) and (shape_of(node.output).rank or 0) > _OF_SELECT


def sums_double_constants(node: Node) -> bool:
    """True for an Add or Subtract of two f64 constants, each possibly read through a Convert."""
    if not isinstance(node.op, SUMS):
        return False
    if element_of(node.outputs[0]) is not ElementType.F64:
        return False
    return all(value is not None and _is_constant(value) for value in node.inputs)


def reduced_wrongly(node: Node) -> int | None:
    """Return the axis of a reduction that OpenVINO may compute wrongly, or None otherwise.

    OpenVINO may fail if three conditions hold. The operand has rank 3. The node reduces a single
    axis, which is given by a constant and is the first or the last. An elementwise operation with a
    constant of several elements reads the result, directly or after other elementwise operations.
    The returned axis is 0 or 2.
    """
    if not isinstance(node.op, Reduction) or len(node.inputs) < 2:
        return None
    data, axis = node.inputs[0], number_of(node.inputs[1])
    if data is None or shape_of(data).rank != 3 or axis is None or not -3 <= axis < 3:
        return None
    return axis % 3 if axis % 3 != 1 and _meets_a_constant(node.output) else None


def _meets_a_constant(value: Value) -> bool:
    """Return whether `value` reaches an operation with a constant of several elements.

    The operation must be elementwise and read `value` directly or through a short chain of
    elementwise operations. Each value of the chain must have only one reader. OpenVINO's CPU plugin
    fuses such a chain with the operation that computes `value`.

    No operation of the chain may broadcast its value to a larger shape, because the plugin does not
    fuse such an operation.
    """
    for _ in range(_FUSED):
        readers = {user for user, _ in value.uses}
        if len(readers) != 1:
            return False
        (user,) = readers
        if not user.op.elementwise or len(user.outputs) != 1:
            return False
        others = (item for item in user.inputs if item is not None and item is not value)
        if any(_is_constant(item) and shape_of(item).count() != 1 for item in others):
            return True
        if _grows(value, user.output):
            return False
        value = user.output
    return False


def _grows(value: Value, result: Value) -> bool:
    """True if an axis has size 1 in `value`, and is known to have a larger size in `result`."""
    before, after = shape_of(value).dims, shape_of(result).dims
    if before is None or after is None or len(before) != len(after):
        return False
    pairs = zip(before, after, strict=True)
    return any(old == 1 and isinstance(new, int) and new > 1 for old, new in pairs)


def _is_constant(value: Value) -> bool:
    """True for a constant, also if it passes through Convert operations."""
    while isinstance(value.producer.op, Convert) and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return isinstance(value.producer.op, Constant)


def loses_its_memory(value: Value) -> bool:
    """Return whether OpenVINO may overwrite an output of an If before the output is read.

    This only concerns outputs of unknown size that are read by nodes other than ShapeOf and Slice:
    these two read an output early enough. Strings and scalars are safe, too.
    """
    if not isinstance(value.producer.op, ov.If) or not shape_of(value).rank:
        return False
    if shape_of(value).is_static or element_of(value) is ElementType.STRING:
        return False
    return any(not isinstance(user.op, ShapeOf3 | Slice) for user, _ in value.uses)


def is_result(value: Value) -> bool:
    """True for a value that is a result of its graph."""
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
    """True for a node in the body of a loop, also if it is in a branch there."""
    graph = node.graph
    while graph is not None and graph.owner is not None:
        if is_loop(graph.owner):
            return True
        graph = graph.owner.graph
    return False


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
    """True for an operation that looks up the memory of its inputs in each inference.

    Such an operation never reads memory that an input used in an earlier inference.
    """
    if isinstance(user.op, ShapeOf3 | Slice | Result):
        return True
    if isinstance(user.op, Convert) and user.inputs[0] is not None:
        # 8-bit floats are copied as f32.
        return element_of(user.inputs[0]) in EIGHT_BIT_FLOATS
    return any(is_copy(value) for value in user.outputs)


def passes_an_input_on(node: Node) -> bool:
    """Return whether `node` is a Convert that only passes an input of the model to an output.

    This means that the Convert keeps the element type. In addition, the shape of the input must not
    be static, and the plugin must use the memory of the input without a copy (`taken_over`).
    """
    given = node.inputs[0] if isinstance(node.op, Convert) else None
    if given is None or node.graph is None or node.graph.owner is not None:
        return False
    if element_of(given) is not element_of(node.output) or shape_of(given).is_static:
        return False
    return taken_over(given) and is_result(node.output)


def overwrites_its_concat(node: Node) -> bool:
    """True for an Abs of a Concat that OpenVINO would apply for other readers of the Concat, too.

    This happens if the result of the Concat has rank 1 (or an unknown rank) and also has
    another reader. The other reader then gets absolute values.
    """
    value = node.inputs[0] if isinstance(node.op, Abs) else None
    if value is None or not isinstance(value.producer.op, Concat):
        return False
    return shape_of(value).rank in (1, None) and len(value.uses) > 1


def is_sized_by_constants(node: Node) -> bool:
    """Return whether `node` has outputs of unknown size although it depends on constants only.

    OpenVINO does not fold such a node before the plugin runs, because the node or one that it
    depends on has a type that OpenVINO does not fold.
    """
    if not node.outputs or all(shape_of(value).is_static for value in node.outputs):
        return False
    if is_computed_from_inputs(node, read_inputs) is not False:
        return False
    return any(isinstance(item.op, NOT_FOLDED) for item in sources([node], read_inputs))


def is_written_as_loop(node: Node) -> bool:
    """True for a recurrent sequence that the plugin writes as a TensorIterator.

    The plugin computes a sequence itself if the weights are constant, no gate is clipped, and the
    activations are the defaults.
    """
    op = node.op
    if not isinstance(op, recurrent.SEQUENCES) or not isinstance(op, recurrent.Recurrent):
        return False
    return computes_as_loop(op.GATES, op.functions(), op.clip, list(node.inputs[-3:]))


def computes_as_loop(
    gates: int,
    functions: Sequence[tuple[str, float, float]],
    clip: float,
    weights: Sequence[Value | None],
) -> bool:
    """Return whether OpenVINO's CPU plugin would compute a sequence as a TensorIterator.

    It does so unless the activations are those that it knows for this number of gates, nothing is
    clipped, and the weights are not computed.
    """
    names = [name for name, *_ in functions]
    own = names == _OWN_GATES[gates] if gates in _OWN_GATES else names in _OWN_ACTIVATIONS
    return not own or clip != 0 or any(is_computed(value) for value in weights if value is not None)
