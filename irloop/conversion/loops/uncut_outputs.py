"""Removes the Slices that OpenVINO needs after a Loop that may run zero times."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from irloop.analysis.operands import known, single_number
from irloop.conversion.loops.guarded_scan import guards_a_scan
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.convert import Identity
from irloop.dialects.onnx.elementwise import Mul
from irloop.dialects.onnx.slicing import Slice10
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.wire_ends import outward
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import ScanOutput
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["UncutOutputs"]

CASTS, MINIMA = classes_of("Cast"), classes_of("Min")
#: Operations whose result is their first operand in another form.
FORMS = classes_of("Identity", "Reshape", "Squeeze", "Unsqueeze")


class UncutOutputs(NodePass):
    """Removes a Slice that makes a scan output empty if the loop does not run.

    Given::

        y = Loop(n, true):   -> stacked s
        z = Slice(y, 0, Min(n, 1) * 2147483647, axis 0)

    Result::

        z = Loop(n, true):   -> stacked s

    In ONNX the output is empty without it. An axis of unknown size has no elements then.
    """

    name = "uncut_outputs"
    dialects = frozenset({"onnx"})
    operations = (Slice10,)

    def applies(self, node: Node) -> bool:
        value, starts, ends, axes, steps = (*node.inputs, None, None)[:5]
        if value is None or ends is None or known(axes) is None:
            return False
        if steps is not None and not _all(known(steps), 1):
            return False
        dims, cut = _dims_if_idle(value), known(axes)
        assert cut is not None
        is_empty = all(0 <= axis < len(dims) and dims[axis] == 0 for axis in cut.tolist())
        return is_empty and _all(known(starts), 0) and _keeps_all(ends, value, cut.tolist())

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        value = node.inputs[0]
        assert value is not None
        # An output of the model with a name of its own stays.
        return None if w.rewriter.eliminate(node, value) else w(Identity(), value)


def _all(numbers: Array | None, wanted: int) -> bool:
    return numbers is not None and bool((numbers == wanted).all())


def _dims_if_idle(value: Value) -> list[int | None]:
    """The shape of a scan output if the loop does not run; None for a size that is not known.

    The list is empty for any other value.
    """
    node = value.producer
    dims = shape_of(value).dims or ()
    if isinstance(node.op, onnx.If) and guards_a_scan(node):
        idle = {item.output: item.result for item in outward(node, node.body("else"))}
        result = idle[value].inputs[0]
        dims = () if result is None else shape_of(result).dims or ()
        return [dim if isinstance(dim, int) else None for dim in dims]
    if not isinstance(node.op, onnx.Loop):
        return []
    ports = {item.output: item.port for item in outward(node, node.body())}
    if not isinstance(ports[value], ScanOutput):
        return []
    return [0 if axis == 0 or not isinstance(dim, int) else dim for axis, dim in enumerate(dims)]


def _keeps_all(ends: Value, value: Value, axes: list[int]) -> bool:
    """Return whether ends of a slice are behind all elements of a scan output of a loop that runs.

    They are a product of the trip count and the initial condition, of which a constant makes a
    large number.
    """
    loop = value.producer
    is_guarded = isinstance(loop.op, onnx.If)
    deciding = loop.inputs[0].producer.inputs[1:] if is_guarded and loop.inputs[0] else loop.inputs
    count, starts = (*deciding[:2], None)[:2]
    factors = list(_factors(ends))
    if not all(known(item) is not None or item in (count, starts) for item in factors):
        return False
    large = [numbers for numbers in map(known, factors) if numbers is not None]
    if large:
        return all(bool((numbers >= TO_THE_END).all()) for numbers in large)
    return axes == [0] and count in [*_factors(ends, are_exact=True)]


def _factors(value: Value, *, are_exact: bool = False) -> Iterator[Value]:
    """The factors of a product.

    Unless they `are_exact`, a number may stand for the smaller one of it and 1.
    """
    node, follow = value.producer, partial(_factors, are_exact=are_exact)
    first, second = (*node.inputs, None, None)[:2]
    if first is not None and second is not None and isinstance(node.op, Mul):
        yield from follow(first)
        yield from follow(second)
    elif first is not None and (
        _is_form(node.op, first) or (not are_exact and _is_at_most_1(node))
    ):
        yield from follow(first)
    else:
        yield value


def _is_form(op: Op, value: Value) -> bool:
    """Return whether an operation gives a number another form; a Cast may change a number."""
    return isinstance(op, FORMS) or (isinstance(op, CASTS) and _is_condition(value))


def _is_condition(value: Value) -> bool:
    return element_of(value) is ElementType.BOOLEAN


def _is_at_most_1(node: Node) -> bool:
    return (
        isinstance(node.op, MINIMA) and len(node.inputs) == 2 and single_number(node.inputs[1]) == 1
    )
