"""What flows back through an operation: the gradient of its output to those of its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import onnx
from onnx import helper

from irloop.formats.onnx.tape import Tape

__all__ = ["DERIVATIVES"]

#: Tape, node and gradient of its output; gives one for each input, None for one that has none.
Rule = Callable[[Tape, onnx.NodeProto, str], list[str | None]]

#: Tape, gradient of the output, and the input or the output itself.
Formula = Callable[[Tape, str, str], str]

_OF_INPUT: dict[str, Formula] = {
    "Abs": lambda t, g, x: t("Mul", g, t("Sign", x)),
    "Cos": lambda t, g, x: t("Neg", t("Mul", g, t("Sin", x))),
    "Log": lambda t, g, x: t("Div", g, x),
    "Sin": lambda t, g, x: t("Mul", g, t("Cos", x)),
    "Softplus": lambda t, g, x: t("Mul", g, t("Sigmoid", x)),
}
_OF_OUTPUT: dict[str, Formula] = {
    "Exp": lambda t, g, y: t("Mul", g, y),
    "Reciprocal": lambda t, g, y: t("Neg", t("Mul", g, t("Mul", y, y))),
    "Relu": lambda t, g, y: t("Mul", g, t("Sign", y)),
    "Sigmoid": lambda t, g, y: t("Mul", g, t("Mul", y, t("Sub", t.number(1.0), y))),
    "Sqrt": lambda t, g, y: t("Div", g, t("Mul", t.number(2.0), y)),
    "Tanh": lambda t, g, y: t("Mul", g, t("Sub", t.number(1.0), t("Mul", y, y))),
}


def _of_input(formula: Formula) -> Rule:
    return lambda t, node, g: [formula(t, g, node.input[0])]


def _of_output(formula: Formula) -> Rule:
    return lambda t, node, g: [formula(t, g, node.output[0])]


def _same(_: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    return [g for _ in node.input]


def _negative(t: Tape, _: onnx.NodeProto, g: str) -> list[str | None]:
    return [t("Neg", g)]


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def _broadcast(t: Tape, node: onnx.NodeProto, *parts: str) -> list[str | None]:
    """Gradients in the shape of the output, each summed to that of its input."""
    pairs = zip(parts, node.input, strict=True)
    return [t.summed_to(part, name, node.output[0]) for part, name in pairs]


def _sum(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    return _broadcast(t, node, *(g for _ in node.input))


def _sub(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    return _broadcast(t, node, g, t("Neg", g))


def _mul(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    left, right = node.input
    return _broadcast(t, node, t("Mul", g, right), t("Mul", g, left))


def _div(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    part = t("Div", g, node.input[1])
    return _broadcast(t, node, part, t("Neg", t("Mul", part, node.output[0])))


def _pow(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    base, exponent = node.input
    less = t("Sub", exponent, t.number(1.0))
    to_base = t("Mul", g, t("Mul", exponent, t("Pow", base, less)))
    return _broadcast(t, node, to_base, t("Mul", g, t("Mul", node.output[0], t("Log", base))))


def _turned(t: Tape, node: onnx.NodeProto, at: int) -> str:
    """An operand of MatMul with its last two axes exchanged."""
    dims = t.shape(node.input[at])
    if dims is None or len(dims) < 2:
        raise t.refuse("operands of MatMul need a known rank of two at least")
    order = [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2]
    return t("Transpose", node.input[at], perm=order)


def _matmul(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    left, right = (t.shape(name) for name in node.input)
    turned = _turned(t, node, 0), _turned(t, node, 1)
    if left is None or right is None or left[:-2] != right[:-2]:
        raise t.refuse("the batches of MatMul are broadcast")
    return [t("MatMul", g, turned[1]), t("MatMul", turned[0], g)]


def _gemm(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    values = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0, **_attributes(node)}
    a, b = node.input[:2]
    scaled = t("Mul", g, t.number(values["alpha"]))

    def product(left: str, right: str, turn_left: int, turn_right: int) -> str:
        left = t("Transpose", left, perm=[1, 0]) if turn_left else left
        right = t("Transpose", right, perm=[1, 0]) if turn_right else right
        return t("MatMul", left, right)

    trans_a, trans_b = values["transA"], values["transB"]
    to_a = product(b, scaled, trans_b, 1) if trans_a else product(scaled, b, 0, 1 - trans_b)
    to_b = product(scaled, a, 1, trans_a) if trans_b else product(a, scaled, 1 - trans_a, 0)
    found: list[str | None] = [to_a, to_b]
    if len(node.input) > 2 and node.input[2]:
        part = t("Mul", g, t.number(values["beta"]))
        found.append(t.summed_to(part, node.input[2], node.output[0]))
    return found


def _reshaped(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    """Back to the shape of the input; sizes and axes are no function of anything."""
    return [t("Reshape", g, t("Shape", node.input[0]))]


def _transposed(t: Tape, node: onnx.NodeProto, g: str) -> list[str | None]:
    order = _attributes(node).get("perm")
    if order is None:
        return [t("Transpose", g)]
    return [t("Transpose", g, perm=sorted(range(len(order)), key=order.__getitem__))]


def _spread(t: Tape, node: onnx.NodeProto, g: str, *, mean: bool) -> list[str | None]:
    """The gradient of a sum or mean, as often as there are elements under it."""
    values, dims = _attributes(node), t.shape(node.input[0])
    if dims is None or (len(node.input) > 1 and node.input[1]):
        raise t.refuse(f"{node.op_type} needs a known rank, and axes as an attribute or none")
    axes = sorted(axis % len(dims) for axis in values.get("axes", range(len(dims))))
    if values.get("noop_with_empty_axes") and "axes" not in values:
        axes = []
    kept = t.integers(*(1 if at in axes else 0 for at in range(len(dims))))
    shape = t("Shape", node.input[0])
    if mean:
        sizes = [dims[axis] for axis in axes]
        if not all(isinstance(size, int) for size in sizes):
            raise t.refuse("a mean of unknown size")
        g = t("Mul", g, t.number(1 / max(math.prod(sizes), 1)))
    # 1 where the axis is reduced, its size where it is not.
    small = t("Add", t("Mul", shape, t("Sub", t.integers(1), kept)), kept)
    return [t("Expand", t("Reshape", g, small), shape)]


DERIVATIVES: dict[str, Rule] = {
    **{type: _of_input(formula) for type, formula in _OF_INPUT.items()},
    **{type: _of_output(formula) for type, formula in _OF_OUTPUT.items()},
    "Add": _sum,
    "Div": _div,
    "Flatten": _reshaped,
    "Gemm": _gemm,
    "Identity": _same,
    "MatMul": _matmul,
    "Mul": _mul,
    "Neg": _negative,
    "Pow": _pow,
    "ReduceMean": lambda t, node, g: _spread(t, node, g, mean=True),
    "ReduceSum": lambda t, node, g: _spread(t, node, g, mean=False),
    "Reshape": _reshaped,
    "Squeeze": _reshaped,
    "Sub": _sub,
    "Sum": _sum,
    "Transpose": _transposed,
    "Unsqueeze": _reshaped,
}
