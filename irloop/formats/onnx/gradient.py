"""Gradient written out as the operations that compute it (ai.onnx.preview.training Gradient-1).

The operation names values of the graph that it stands in: `y` is a function of `xs` and `zs`, and
its inputs are the points at which that function is differentiated with respect to `xs`. What lies
between is copied where the inputs are others than the named values, and then followed backwards.
A `y` of many elements is differentiated as their sum.
"""

from __future__ import annotations

import onnx
from onnx import helper

from irloop.formats.onnx.derivatives import DERIVATIVES
from irloop.formats.onnx.tape import Tape
from irloop.formats.onnx.versions import domain_of

__all__ = ["expand_gradients", "is_gradient"]

DOMAIN = "ai.onnx.preview.training"

#: What shapes are made of: nothing flows back through it.
_STILL = frozenset({"Constant", "ConstantOfShape", "Shape", "Size", "Range", "NonZero", "Equal"})


def is_gradient(node: onnx.NodeProto) -> bool:
    """True for a Gradient of the standard."""
    return (node.op_type, node.domain) == ("Gradient", DOMAIN)


def expand_gradients(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """A copy of the model whose Gradients in its main graph are written out.

    Raises:
        ReadError: where a Gradient does not fit its graph, or an operation on the way has no
            derivative here.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    while any(is_gradient(node) for node in copy.graph.node):
        nodes = list(copy.graph.node)
        at = next(at for at, node in enumerate(nodes) if is_gradient(node))
        tape = Tape(copy, nodes[at], opset)
        try:
            _write(tape, copy.graph, nodes[at])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # Nothing has looked at the nodes on the way yet: their attributes may be of any kind.
            raise tape.refuse(f"a node on the way is damaged: {error}") from None
        nodes[at : at + 1] = tape.nodes
        del copy.graph.node[:]
        copy.graph.node.extend(nodes)
    return copy


def _write(tape: Tape, graph: onnx.GraphProto, node: onnx.NodeProto) -> None:
    """Append what computes the outputs of a Gradient."""
    values = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    xs, zs = ([item.decode() for item in values.get(name, ())] for name in ("xs", "zs"))
    given = list(node.input)
    if "y" not in values or len(given) != len(xs) + len(zs) or not xs or len(node.output) > len(xs):
        raise tape.refuse("its inputs and outputs are not those that xs, zs and y name")
    target = values["y"].decode()
    path = _between(tape, graph, node, target, {*xs, *zs})
    renamed = {old: new for old, new in zip([*xs, *zs], given, strict=True) if old != new}
    if renamed:
        path, target = _copied(tape, path, renamed, target)
    gradients = _followed(tape, path, target, set(given[: len(xs)]))
    for name, result in zip(given, node.output, strict=False):
        if result:
            found = gradients.get(name) or tape.filled(name, 0.0)
            tape.nodes.append(helper.make_node("Identity", [found], [result], name=result))


def _between(
    tape: Tape, graph: onnx.GraphProto, end: onnx.NodeProto, target: str, starts: set[str]
) -> list[onnx.NodeProto]:
    """The nodes that `target` needs and that `starts` do not already give, in order."""
    wanted, found = {target} - starts, []
    before = []
    for node in graph.node:
        if node == end:
            break
        before.append(node)
    for node in reversed(before):
        if wanted.intersection(node.output):
            found.append(node)
            wanted.difference_update(node.output)
            wanted.update(name for name in node.input if name and name not in starts)
    if not found and target not in starts:
        raise tape.refuse(f"nothing before it makes {target!r}")
    return found[::-1]


def _copied(
    tape: Tape, path: list[onnx.NodeProto], renamed: dict[str, str], target: str
) -> tuple[list[onnx.NodeProto], str]:
    """The path at other values; what depends on none of them is shared."""
    result = []
    for node in path:
        if not any(name in renamed for name in node.input):
            result.append(node)
            continue
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = tape.fresh(node.name or node.op_type)
        for at, name in enumerate(node.input):
            copy.input[at] = renamed.get(name, name)
        for at, name in enumerate(node.output):
            copy.output[at] = renamed[name] = tape.fresh(name) if name else ""
            tape.same_as(copy.output[at], name)
        tape.nodes.append(copy)
        result.append(copy)
    return result, renamed.get(target, target)


def _followed(
    tape: Tape, path: list[onnx.NodeProto], target: str, variables: set[str]
) -> dict[str, str]:
    """The gradient of `target` with respect to each of the variables that it depends on."""
    moving = set(variables)
    for node in path:
        if node.op_type not in _STILL and moving.intersection(node.input):
            moving.update(filter(None, node.output))
    gradients = {target: tape.filled(target, 1.0)}
    for node in reversed(path):
        gradient = gradients.get(node.output[0])
        if gradient is None or node.output[0] not in moving - variables:
            continue
        rule = DERIVATIVES.get(node.op_type) if domain_of(node.domain) == "" else None
        if rule is None or len(list(filter(None, node.output))) != 1:
            raise tape.refuse(f"{node.op_type} {node.name!r} has no derivative here")
        for name, part in zip(node.input, rule(tape, node, gradient), strict=False):
            if part is not None and name in moving:
                known = gradients.get(name)
                gradients[name] = part if known is None else tape("Add", known, part)
    return gradients
