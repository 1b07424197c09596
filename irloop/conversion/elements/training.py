"""One step of an optimiser in OpenVINO: elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.conversion.forms import openvino_forms as forms
from irloop.conversion.framework.translation import Conversion, imports
from irloop.dialects.onnx import training as onnx
from irloop.dialects.openvino import comparison, elementwise
from irloop.graph.builder import element_of
from irloop.graph.model import Value

__all__: list[str] = []

#: Rate, number of the step (both scalars of the tensor's type), value, gradient and states.
Update = Callable[..., Sequence[Value]]


def _each(
    c: Conversion, op: onnx.Optimizer, update: Update, inputs: Sequence[Value]
) -> list[Value]:
    """The outputs: `update` of each tensor, then in the order of the operation."""
    rate, count, *tensors = inputs
    size = len(tensors) // op.parts
    lists = [tensors[part * size : (part + 1) * size] for part in range(op.parts)]
    results = []
    for items in zip(*lists, strict=True):
        element = element_of(items[0])
        scalars = (forms.converted(c, forms.reshape(c, x, []), element) for x in (rate, count))
        results.append(update(*scalars, *items))
    ordered = [item for states in zip(*results, strict=True) for item in states]
    return ordered[: len(c.node.outputs)]


def _scaled(c: Conversion, value: Value, factor: float) -> Value:
    return forms.multiply(c, value, forms.scalar(c, factor, value))


def _mixed(c: Conversion, left: Value, a: float, right: Value, b: float) -> Value:
    return forms.add(c, _scaled(c, left, a), _scaled(c, right, b))


def _regular(c: Conversion, norm: float, value: Value, gradient: Value) -> Value:
    """The gradient of the loss and of half the squared length of the value, times `norm`."""
    return gradient if norm == 0 else forms.add(c, _scaled(c, value, norm), gradient)


def _against(c: Conversion, value: Value, step: Value, way: Value, squares: Value | None) -> Value:
    """The value moved against `way`, which `squares` (a root with epsilon) divides."""
    moved = forms.multiply(c, step, way)
    if squares is not None:
        moved = forms.divide(c, moved, squares)
    return forms.subtract(c, value, moved)


def _root(c: Conversion, squares: Value, epsilon: float) -> Value:
    return forms.add(c, c(elementwise.Sqrt(), squares), forms.scalar(c, epsilon, squares))


def _first(c: Conversion, count: Value, then: Value, otherwise: Value) -> Value:
    """`then` in step 0, `otherwise` behind it."""
    later = c(comparison.Greater(), count, forms.scalar(c, 0.0, count))
    return forms.select(c, later, otherwise, then)


@imports(onnx.Adagrad)
def import_adagrad(c: Conversion, op: onnx.Adagrad, *inputs: Value) -> list[Value]:
    """Adagrad -> Multiply, Add, Sqrt, Divide, Subtract."""

    def update(rate: Value, count: Value, x: Value, gradient: Value, squares: Value) -> list[Value]:
        one = forms.scalar(c, 1.0, x)
        step = forms.divide(c, rate, forms.add(c, one, _scaled(c, count, op.decay_factor)))
        regular = _regular(c, op.norm_coefficient, x, gradient)
        total = forms.add(c, squares, forms.multiply(c, regular, regular))
        return [_against(c, x, step, regular, _root(c, total, op.epsilon)), total]

    return _each(c, op, update, inputs)


@imports(onnx.Momentum)
def import_momentum(c: Conversion, op: onnx.Momentum, *inputs: Value) -> list[Value]:
    """Momentum -> Multiply, Add, Select for the first step, Subtract."""

    def update(rate: Value, count: Value, x: Value, gradient: Value, moving: Value) -> list[Value]:
        regular = _regular(c, op.norm_coefficient, x, gradient)
        beta = _first(c, count, forms.scalar(c, 1.0, x), forms.scalar(c, op.beta, x))
        moved = forms.add(c, _scaled(c, moving, op.alpha), forms.multiply(c, beta, regular))
        way = moved
        if op.mode == "nesterov":
            way = forms.add(c, regular, _scaled(c, moved, op.alpha))
        return [_against(c, x, rate, way, None), moved]

    return _each(c, op, update, inputs)


@imports(onnx.Adam)
def import_adam(c: Conversion, op: onnx.Adam, *inputs: Value) -> list[Value]:
    """Adam -> Multiply, Add, Power and Select for the rate, Sqrt, Divide, Subtract."""

    def missing(factor: float, count: Value) -> Value:
        """One minus a power of `factor`: how much of a mean there is after `count` steps."""
        one = forms.scalar(c, 1.0, count)
        power = c(elementwise.Power(), forms.scalar(c, factor, count), count)
        return forms.subtract(c, one, power)

    def update(
        rate: Value, count: Value, x: Value, gradient: Value, mean: Value, squares: Value
    ) -> list[Value]:
        regular = _regular(c, op.norm_coefficient, x, gradient)
        mean = _mixed(c, mean, op.alpha, regular, 1 - op.alpha)
        squared = forms.multiply(c, regular, regular)
        squares = _mixed(c, squares, op.beta, squared, 1 - op.beta)
        root = c(elementwise.Sqrt(), missing(op.beta, count))
        factor = forms.divide(c, root, missing(op.alpha, count))
        step = _first(c, count, rate, forms.multiply(c, rate, factor))
        moved = _against(c, x, step, mean, _root(c, squares, op.epsilon))
        if op.norm_coefficient_post:
            moved = _scaled(c, moved, 1 - op.norm_coefficient_post)
        return [moved, mean, squares]

    return _each(c, op, update, inputs)
