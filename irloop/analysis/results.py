"""Finds the results of ONNX bodies that ONNX Runtime computes wrongly unless they are copied.

Faults report these results, and the pass `separate_results` copies them.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.convert import Identity
from irloop.graph.builder import element_of
from irloop.graph.loops import Invariant, ScanOutput
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Parameter
from irloop.graph.types import ElementType

__all__ = ["iteration_numbers", "joined_strings", "passed_on", "repeated", "to_copy"]


def to_copy(node: Node, body: Body) -> Iterator[Node]:
    """Yield the Results that must return copies of values, because of faults of ONNX Runtime."""
    if isinstance(node.op, onnx.Loop):
        yield from iteration_numbers(body)
        yield from joined_strings(body)
    elif isinstance(node.op, onnx.Scan | onnx.Scan8):
        yield from passed_on(body)
        yield from repeated(body)
    elif isinstance(node.op, onnx.If):
        yield from repeated(body)


def passed_on(body: Body) -> Iterator[Node]:
    """Yield the Results that return an input of the body unchanged.

    A Result that returns a captured value is left out, because the writer inserts an Identity for
    it.
    """
    entering = {body.graph.input(port.parameter) for port in body.ports.inputs}
    captured = [port for port in body.ports.inputs if isinstance(port, Invariant)]
    entering -= {body.graph.input(port.parameter) for port in captured}
    yield from (result for result in body.graph.results if result.inputs[0] in entering)


def repeated(body: Body) -> Iterator[Node]:
    """Yield each Result whose value an earlier Result of the body also returns.

    Values that are inputs of the body are left out.
    """
    left_out = set(body.graph.inputs)
    seen: set[Value] = set()
    for result in body.graph.results:
        value = result.inputs[0]
        if value in seen:
            yield result
        elif value is not None and value not in left_out:
            seen.add(value)


def iteration_numbers(body: Body) -> Iterator[Node]:
    """Yield the Result nodes of a loop body that return the iteration number itself."""
    if body.ports.iteration is None:
        return
    number = body.graph.input(body.ports.iteration)
    yield from (result for result in body.graph.results if result.inputs[0] is number)


def joined_strings(body: Body) -> Iterator[Node]:
    """Yield each Result that feeds a scan output with strings that are also used elsewhere.

    The strings are a parameter of the body, or an earlier scan output collects them, too.
    """
    joined = {port.result for port in body.ports.outputs if isinstance(port, ScanOutput)}
    seen: set[Value] = set()
    for index in sorted(joined):
        result = body.graph.results[index]
        value = result.inputs[0]
        if value is None or element_of(value) is not ElementType.STRING:
            continue
        if value in seen or isinstance(_origin(value).producer.op, Parameter):
            yield result
        seen.add(value)


def _origin(value: Value) -> Value:
    """Follow `value` back through Identity operations; return the value before them."""
    while isinstance(value.producer.op, Identity):
        before = value.producer.inputs[0]
        if before is None:
            break
        value = before
    return value
