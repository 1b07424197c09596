"""Recognises the gates of an LSTM or GRU, and fuses them into a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import elementwise, matmul, recurrent, slicing
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.stored import array_of, changed, is_stored

__all__ = ["FuseGates"]

ADD, MULTIPLY = elementwise.Add, elementwise.Multiply
SIGMOID, TANH = ov_activation.Sigmoid, elementwise.Tanh


class FuseGates(NodePass):
    """Fuses products, additions and activations that form an LSTM or GRU cell into that cell.

    Given::

        f, i, c, o = Split(x * W' + h * R' + B)
        C1 = Sigmoid(f) * C + Sigmoid(i) * Tanh(c)
        H1 = Sigmoid(o) * Tanh(C1)

    Result::

        H1, C1 = LSTMCell(x, h, C, W, R, B)

    The gates may be in any order (weights and biases are then reordered), and so may factors and
    terms. For a GRU, all three usual formulas that mix the old state with the new one are
    recognised, with the reset before or after the recurrent product. Gates are not fused if another
    node also reads some of them, if the weights are computed and in another order, or if an
    activation is not Sigmoid or Tanh.
    """

    name = "fuse_gates"
    dialects = frozenset({"openvino"})
    operations = (MULTIPLY, ADD)

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        if isinstance(node.op, MULTIPLY):
            _fuse_lstm(node, w)
        else:
            _fuse_gru(node, w)


def _fuse_lstm(node: Node, emitter: NodeWriter) -> None:
    for out, shown in _gated(node):
        cell = shown.producer
        if not isinstance(cell.op, ADD):
            continue
        for kept, added in _operands_in_both_orders(cell):
            for forget, state in _factors(kept):
                for inward, new in _gated(added.producer):
                    gates = _Gates.of([forget, inward, new, out], emitter)
                    if gates is None or not _is_state(state, gates.size):
                        continue
                    made = emitter.rewriter.insert(
                        recurrent.LSTMCell(gates.size, ("sigmoid", "tanh", "tanh")),
                        (gates.x, gates.h, state, gates.w, gates.r, gates.bias),
                        before=node,
                        name=node.name,
                        n_outputs=2,
                    )
                    emitter.rewriter.replace_value(cell.outputs[0], made.outputs[1])
                    _replace(node, made.outputs[0], emitter.rewriter)
                    return


def _replace(node: Node, value: Value, rewriter: MatchRewriter) -> None:
    rewriter.replace_value(node.outputs[0], value)
    rewriter.erase(node)


def _is_state(value: Value, size: int) -> bool:
    dims = shape_of(value).dims
    return dims is not None and len(dims) == 2 and dims[1] == size


def _operands_in_both_orders(node: Node) -> Iterator[tuple[Value, Value]]:
    """Yield the two operands of a node, and then the two operands in reverse order."""
    left, right = node.inputs[:2]
    if left is not None and right is not None:
        yield left, right
        yield right, left


def _activated(value: Value, kind: type[Op]) -> Value | None:
    """The input of the activation that computes `value`; None if its operation is not of `kind`."""
    node = value.producer
    return node.inputs[0] if isinstance(node.op, kind) else None


def _factors(value: Value) -> Iterator[tuple[Value, Value]]:
    """Find the factors of a product that are results of Sigmoid.

    For each factor, yield the input of the Sigmoid and the product's other factor. Nothing is
    yielded if `value` is not a product.
    """
    if isinstance(value.producer.op, MULTIPLY):
        for left, right in _operands_in_both_orders(value.producer):
            inner = _activated(left, SIGMOID)
            if inner is not None:
                yield inner, right


def _gated(node: Node) -> Iterator[tuple[Value, Value]]:
    """If `node` multiplies Sigmoid(a) and Tanh(b), in either order, yield (a, b)."""
    if not isinstance(node.op, MULTIPLY):
        return
    for left, right in _operands_in_both_orders(node):
        one, two = _activated(left, SIGMOID), _activated(right, TANH)
        if one is not None and two is not None:
            yield one, two


@dataclass(slots=True)
class _Gates:
    """The inputs of a recurrent cell that computes its gates as parts of one sum.

    The sum has two products (of x and of the state h) and a bias.
    """

    x: Value
    h: Value
    w: Value
    r: Value
    bias: Value
    size: int

    @classmethod
    def of(cls, parts: Sequence[Value], emitter: NodeWriter) -> _Gates | None:
        """Return the inputs and weights of the cell whose gates are `parts`.

        The rows of the weights are sorted by gate, in the order of `parts`. The result is None if
        `parts` are not the gates of one cell.
        """
        split = _split_of(parts)
        if split is None:
            return None
        whole, order, size = split
        products, constants = _terms(whole)
        count = len(parts)
        if len(products) != 2:
            return None
        first, second = products if _is_state(products[1][0], size) else products[::-1]
        if not _is_state(second[0], size):
            return None
        rows = [gate * size + row for gate in order for row in range(size)]
        w, r = (_weights(*item, rows, emitter) for item in (first, second))
        bias = _bias(constants, rows, element_of(first[0]).numpy())
        if w is None or r is None or bias is None or shape_of(first[0]).rank != 2:
            return None
        if shape_of(w).dims is None or shape_of(r).dims != (count * size, size):
            return None
        made = emitter.constant(bias, element_of(first[0]))
        return cls(first[0], second[0], w, r, made, size)


def _split_of(parts: Sequence[Value]) -> tuple[Value, list[int], int] | None:
    """Find the matrix that one Split divides into `parts` along its last axis.

    Returns the matrix, the output index of each part, and the size of a part. Returns None unless
    `parts` are all outputs of one Split, have equal sizes, and have one use each.
    """
    node = parts[0].producer
    kinds = (slicing.Split, slicing.VariadicSplit)
    if not isinstance(node.op, kinds) or len(node.outputs) != len(parts):
        return None
    if {part.producer for part in parts} != {node} or len(set(parts)) != len(parts):
        return None
    if any(len(part.uses) != 1 for part in parts):
        return None
    sizes = {dims[1] for part in parts if (dims := shape_of(part).dims) and len(dims) == 2}
    matrix = node.inputs[0]
    size = sizes.pop() if len(sizes) == 1 else None
    if matrix is None or not isinstance(size, int) or not _splits_last(node):
        return None
    return matrix, [part.index for part in parts], size


def _splits_last(node: Node) -> bool:
    given, axis = node.inputs[0], node.inputs[1]
    dims = None if given is None else shape_of(given).dims
    part = shape_of(node.outputs[0]).dims
    return axis is not None and dims is not None and part is not None and dims[1] != part[1]


Array = np.ndarray[Any, np.dtype[Any]]

#: The operand, weights, bias and size of gates that are parts of one product.
Part = tuple[Value, Value, Array, int]

#: An operand, a constant or computed matrix, and whether the matrix is transposed.
Product = tuple[Value, Value, bool]


def _terms(value: Value) -> tuple[list[Product], list[Value]]:
    """Split the sum `value` into its matrix products and its constants.

    A recurrent cell adds at most two products. If the sum has a term that is neither a matrix
    product nor a constant, it cannot belong to a cell. Three dummy products are then added to the
    result, because every caller rejects three products or more.
    """
    products: list[Product] = []
    constants: list[Value] = []
    pending = [value]
    while pending:
        one = pending.pop()
        node = one.producer
        if isinstance(node.op, ADD) and (one is value or len(one.uses) == 1):
            pending += [item for item in node.inputs[::-1] if item is not None]
        elif is_stored(one):
            constants.append(one)
        elif isinstance(node.op, matmul.MatMul) and not node.op.transpose_a:
            left, right = node.inputs
            assert left is not None
            assert right is not None
            products.append((left, right, node.op.transpose_b))
        else:
            # Something else is added, so this is not a cell: return more products than a cell has.
            products += [(one, one, False)] * 3
    return products, constants


def _weights(
    operand: Value, matrix: Value, transposed: bool, rows: Sequence[int], emitter: NodeWriter
) -> Value | None:
    """Return `matrix` as cell weights, with one row per gate and unit, in the order `rows`.

    `matrix` is the right operand of a product. Its gates are in its columns, or in its rows if
    `transposed`. `rows` lists the indices of these columns or rows in the order that the cell
    needs.

    A constant is transposed if necessary and put in this order. A computed matrix is never changed:
    it must be `transposed`, and `rows` must be ascending. The result is None if a computed matrix
    does not meet these two conditions, or if the shape of a constant does not match `rows`.
    """
    if not is_stored(matrix):
        in_order = transposed and list(rows) == sorted(rows)
        return matrix if in_order else None
    dims = shape_of(matrix).dims or ()
    if len(dims) != 2 or dims[0 if transposed else 1] != len(rows):
        return None

    def sorted_rows(array: Array) -> Array:
        return (array if transposed else array.T)[list(rows)]

    return changed(matrix, sorted_rows, emitter.rewriter, emitter.before)


def _bias(constants: Sequence[Value], rows: Sequence[int], kind: np.dtype[Any]) -> Array | None:
    """Add up bias vectors, and return the elements of the sum in the order of `rows`.

    `rows` holds indices into the sum. All `constants` must be vectors with as many elements as
    `rows`; leading axes of size 1 are allowed. Otherwise return None. `kind` is the type in which
    the sum starts.
    """
    total: Array = np.zeros(len(rows), kind)
    for value in constants:
        array = array_of(value)
        assert array is not None
        if array.size != len(rows) or array.shape[-1:] != (len(rows),):
            return None
        total = total + array.reshape(-1)
    return total[list(rows)]


def _fuse_gru(node: Node, emitter: NodeWriter) -> None:
    for update, new, state in _mixtures(node):
        candidate = _activated(new, TANH)
        gate = _activated(update, SIGMOID)
        if candidate is None or gate is None or not isinstance(candidate.producer.op, ADD):
            continue
        for own, inner in _operands_in_both_orders(candidate.producer):
            made = _gru_of(gate, own, inner, state, emitter)
            if made is not None:
                _replace(node, made, emitter.rewriter)
                return


def _mixtures(node: Node) -> Iterator[tuple[Value, Value, Value]]:
    """Yield (z, n, h) for each way to read `node` as ``(1-z)*n + z*h``.

    z is the gate, n the new state and h the old state. Two equal forms are recognised, too:
    ``n - z*n + z*h`` and ``n + z*(h-n)``.
    """
    for left, right in _operands_in_both_orders(node):
        if not isinstance(right.producer.op, MULTIPLY):
            continue
        for z, other in _operands_in_both_orders(right.producer):
            if isinstance(left.producer.op, elementwise.Subtract):
                # The form n - z*n + z*h.
                n, less = left.producer.inputs
                if n is not None and less is not None and _is_product(less, z, n):
                    yield z, n, other
            if isinstance(left.producer.op, MULTIPLY):
                # The form (1 - z) * n + z * h.
                for rest, n in _operands_in_both_orders(left.producer):
                    if _is_rest(rest, z):
                        yield z, n, other
            if isinstance(other.producer.op, elementwise.Subtract):
                # The form n + z * (h - n).
                h, n = other.producer.inputs
                if n is left and h is not None:
                    yield z, n, h


def _is_product(value: Value, one: Value, two: Value) -> bool:
    node = value.producer
    return isinstance(node.op, MULTIPLY) and set(node.inputs) == {one, two}


def _is_rest(value: Value, z: Value) -> bool:
    node = value.producer
    if not isinstance(node.op, elementwise.Subtract) or node.inputs[1] is not z:
        return False
    one = node.inputs[0]
    array = None if one is None else array_of(one)
    return array is not None and bool((array == 1).all())


def _gru_of(
    gate: Value, own: Value, inner: Value, state: Value, emitter: NodeWriter
) -> Value | None:
    """Emit a GRUCell with update gate sigmoid(`gate`) and candidate tanh(`own` + `inner`).

    `own` must depend on the input of the cell, and `inner` on its `state`. Returns the output, or
    None if the values do not form a GRUCell.
    """
    for reset, product in _resets(inner, state):
        if not isinstance(gate.producer.op, ADD) or not isinstance(reset.producer.op, ADD):
            continue
        for update_x, update_h in _operands_in_both_orders(gate.producer):
            for reset_x, reset_h in _operands_in_both_orders(reset.producer):
                of_input = _linear_part([update_x, reset_x, own], emitter)
                linear = product is not None
                of_state = (
                    _linear_part([update_h, reset_h, product], emitter)
                    if product is not None and product.producer is update_h.producer
                    else _separate_candidate(
                        [update_h, reset_h], inner if product is None else product, emitter
                    )
                )
                if of_input is None or of_state is None or of_state[0] is not state:
                    continue
                x, w, first, size = of_input
                _, r, second, _ = of_state
                if not _is_state(state, size) or shape_of(x).rank != 2:
                    continue
                mixed = np.add(first[: 2 * size], second[: 2 * size])
                rest = [first[2 * size :], second[2 * size :]]
                if not linear:
                    rest = [np.add(*rest)]
                op = recurrent.GRUCell(size, ("sigmoid", "tanh"), linear_before_reset=linear)
                bias = emitter.constant(np.concatenate([mixed, *rest]), element_of(x))
                return emitter(op, x, state, w, r, bias)
    return None


def _resets(inner: Value, state: Value) -> Iterator[tuple[Value, Value | None]]:
    """Yield each possible reset gate of a GRU's candidate state, with the value that it scales.

    The value is None if the gate scales `state` itself, before the matrix product.
    """
    yield from _factors(inner)
    first = inner.producer.inputs[0] if isinstance(inner.producer.op, matmul.MatMul) else None
    if first is not None:
        for reset, scaled in _factors(first):
            if scaled is state:
                yield reset, None


def _separate_candidate(
    gates: Sequence[Value], candidate: Value, emitter: NodeWriter
) -> Part | None:
    """Join the recurrent weights of a GRU whose candidate state has its own matrix product.

    `gates` are the parts of the update and reset gates that depend on the state. They must come
    from one product. `candidate` is the part of the candidate state that depends on the state.

    Returns the operand of the gates, the joined weights and biases, and the size of a gate. Returns
    None if `candidate` is not one product plus constants, or if the weights do not fit together.
    """
    both = _linear_part(gates, emitter)
    products, constants = _terms(candidate)
    if both is None or len(products) != 1:
        return None
    operand, weights, bias, size = both
    _, matrix, transposed = products[0]
    rows = range(size)
    own = _weights(operand, matrix, transposed, rows, emitter)
    own_bias = _bias(constants, rows, element_of(operand).numpy())
    if own is None or own_bias is None:
        return None
    joined = _joined([weights, own], emitter)
    return operand, joined, np.concatenate([bias, own_bias]), size


def _joined(values: Sequence[Value], emitter: NodeWriter) -> Value:
    """Concatenate matrices along axis 0; the result of constants is a constant."""
    arrays = [array for array in map(array_of, values) if array is not None]
    if len(arrays) == len(values):
        return emitter.constant(np.concatenate(arrays), element_of(values[0]))
    return emitter(slicing.Concat(0), *values)


def _linear_part(parts: Sequence[Value], emitter: NodeWriter) -> Part | None:
    """Find the matrix product whose result is split into all the gates in `parts`.

    Returns the operand, the weights, the bias and the size of a gate. The gates in the weights and
    the bias are in the order of `parts`. Returns None if the gates do not come from one product.
    """
    split = _split_of(parts)
    if split is None:
        return None
    whole, order, size = split
    products, constants = _terms(whole)
    if len(products) != 1:
        return None
    operand, matrix, transposed = products[0]
    rows = [gate * size + row for gate in order for row in range(size)]
    weights = _weights(operand, matrix, transposed, rows, emitter)
    bias = _bias(constants, rows, element_of(operand).numpy())
    return None if weights is None or bias is None else (operand, weights, bias, size)
