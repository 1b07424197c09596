"""Converts activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from irloop.conversion.elements.elementwise import unary_rule
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.conversion.tensors.ordered_topk import first_best
from irloop.dialects.onnx import activation as onnx
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.openvino import activation as ov
from irloop.dialects.openvino import elementwise as ov_math
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType


def floating(c: Export, x: Value, build: Callable[[Value], Value]) -> Value:
    """Call `build` with `x` in a float type that ONNX supports, and cast the result back.

    Integers, bf16 and floats of fewer than 16 bits become f32. Other types stay as they are.
    """
    element = element_of(x)
    chosen = ElementType.F32 if element.is_integer else c.computing_type(element)
    return c.computed_in(chosen, build, x)


@exports(ov.Sigmoid)
def export_sigmoid(c: Export, op: ov.Sigmoid, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Sigmoid(), value))


imports(onnx.Sigmoid)(unary_rule(ov.Sigmoid))


@exports(ov.ReLU)
def export_relu(c: Export, op: ov.ReLU, x: Value) -> Value:
    """Write ReLU as Relu, or for integers as Max with 0.

    Relu supports only signed integers, and only since opset 14.
    """
    if element_of(x).is_integer:
        return c.maximum(x, c.scalar(0, x))
    return c.numeric(onnx.Relu(), x)


imports(onnx.Relu)(unary_rule(ov.ReLU))


@exports(ov.HSwish)
def export_hswish(c: Export, op: ov.HSwish, x: Value) -> Value:
    def build(value: Value) -> Value:
        if c.opset >= 14:
            return c(onnx.HardSwish(), value)
        return c(onnx_math.Mul(), value, c(onnx.HardSigmoid(alpha=1 / 6, beta=0.5), value))

    return floating(c, x, build)


imports(onnx.HardSwish)(unary_rule(ov.HSwish))


@exports(ov.HSigmoid)
def export_hsigmoid(c: Export, op: ov.HSigmoid, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.HardSigmoid(alpha=1 / 6, beta=0.5), value))


@exports(ov.HardSigmoid)
def export_hard_sigmoid(
    c: Export, op: ov.HardSigmoid, x: Value, alpha: Value, beta: Value
) -> Value:
    """Write HardSigmoid, or Mul, Add and Clip if alpha or beta is not constant."""
    slope, offset = number_of(c, alpha), number_of(c, beta)
    if slope is not None and offset is not None:
        return floating(c, x, lambda value: c(onnx.HardSigmoid(alpha=slope, beta=offset), value))
    alpha, beta = (c.as_scalar(value) for value in (alpha, beta))
    return c.clip(c.add(c.multiply(alpha, x), beta), 0.0, 1.0)


@imports(onnx.HardSigmoid)
def import_hard_sigmoid(c: Import, op: onnx.HardSigmoid, x: Value) -> Value:
    alpha, beta = c.scalar(op.alpha, x), c.scalar(op.beta, x)
    return c(ov.HardSigmoid(), x, alpha, beta)


def number_of(c: Conversion, value: Value) -> float | None:
    """The number in a one-element constant; None for any other value."""
    array = c.constant_of(value)
    return None if array is None or array.size != 1 else float(array.reshape(()))


@exports(ov.Swish)
def export_swish(c: Export, op: ov.Swish, x: Value, beta: Value | None = None) -> Value:
    factor = 1.0 if beta is None else number_of(c, beta)
    # ONNX has Swish since opset 24, but ONNX Runtime has no kernel for it.
    scaled = x
    if factor is None and beta is not None:
        scaled = c.multiply(c.as_scalar(beta), x)
    elif factor not in (None, 1.0):
        scaled = c.multiply(c.constant(factor, element_of(x)), x)
    gate = floating(c, scaled, lambda value: c(onnx.Sigmoid(), value))
    return c.multiply(x, gate)


@imports(onnx.Swish)
def import_swish(c: Import, op: onnx.Swish, x: Value) -> Value:
    if op.alpha == 1.0:
        return c(ov.Swish(), x)
    return c(ov.Swish(), x, c.scalar(op.alpha, x))


@imports(onnx.SwiGLU)
def import_swiglu(c: Import, op: onnx.SwiGLU, gate: Value, x: Value) -> Value:
    return c.multiply(import_swish(c, onnx.Swish(op.alpha), gate), x)


@exports(ov.Elu)
def export_elu(c: Export, op: ov.Elu, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Elu(op.alpha), value))


@imports(onnx.Elu)
def import_elu(c: Import, op: onnx.Elu, x: Value) -> Value:
    return c(ov.Elu(op.alpha), x)


@exports(ov.Selu)
def export_selu(c: Export, op: ov.Selu, x: Value, alpha: Value, gain: Value) -> Value:
    """Write Selu, or its formula with Exp, Mul and Where if alpha or gain is not constant."""
    inner, outer = number_of(c, alpha), number_of(c, gain)
    if inner is not None and outer is not None:
        return floating(c, x, lambda value: c(onnx.Selu(alpha=inner, gamma=outer), value))

    def build(value: Value, *factors: Value) -> Value:
        inner, outer = (c.as_scalar(factor) for factor in factors)
        zero = c.scalar(0, value)
        power = c(onnx_math.Exp(), c.minimum(value, zero))
        negative = c.multiply(inner, c.subtract(power, c.scalar(1, value)))
        chosen = c.select(c.greater(value, zero), value, negative)
        return c.multiply(outer, chosen)

    element = element_of(x)
    return c.computed_in(c.computing_type(element), build, x, alpha, gain)


@imports(onnx.Selu)
def import_selu(c: Import, op: onnx.Selu, x: Value) -> Value:
    return c(ov.Selu(), x, c.scalar(op.alpha, x), c.scalar(op.gamma, x))


@imports(onnx.Celu)
def import_celu(c: Import, op: onnx.Celu, x: Value) -> Value:
    """Write Celu as Elu if alpha is 1, otherwise as its formula.

    The formula is max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
    """
    if op.alpha == 1.0:
        return c(ov.Elu(1.0), x)

    def build(value: Value) -> Value:
        alpha, zero = c.scalar(op.alpha, value), c.scalar(0, value)
        power = c(ov_math.Exp(), c.divide(value, alpha))
        power = c.subtract(power, c.scalar(1, value))
        below = c.minimum(zero, c.multiply(alpha, power))
        return c.add(c.maximum(zero, value), below)

    return c.in_f32(build, x)


@exports(ov.Mish)
def export_mish(c: Export, op: ov.Mish, x: Value) -> Value:
    def build(value: Value) -> Value:
        if c.opset >= 18:
            return c(onnx.Mish(), value)
        inner = c(onnx_math.Tanh(), c(onnx.Softplus(), value))
        return c(onnx_math.Mul(), value, inner)

    return floating(c, x, build)


imports(onnx.Mish)(unary_rule(ov.Mish))


@exports(ov.SoftPlus)
def export_softplus(c: Export, op: ov.SoftPlus, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Softplus(), value))


imports(onnx.Softplus)(unary_rule(ov.SoftPlus))


@exports(ov.SoftSign)
def export_softsign(c: Export, op: ov.SoftSign, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Softsign(), value))


@imports(onnx.Softsign)
def import_softsign(c: Import, op: onnx.Softsign, x: Value) -> Value:
    """Write SoftSign, or before opset9 its formula x / (1 + |x|)."""
    if c.opset >= 9:
        return c(ov.SoftSign(), x)

    def build(value: Value) -> Value:
        size = c.add(c.scalar(1, value), c(ov_math.Abs(), value))
        return c.divide(value, size)

    return c.in_f32(build, x)


def _gelu(c: Export, x: Value, *, tanh: bool) -> Value:
    def by_erf(value: Value) -> Value:
        # ONNX Runtime fuses exactly this: a quotient, and a half that comes last.
        root = c.scalar(math.sqrt(2), value)
        inner = c(onnx_math.Erf(), c.divide(value, root))
        gated = c.multiply(value, c.add(inner, c.scalar(1, value)))
        return c.multiply(gated, c.scalar(0.5, value))

    def by_tanh(value: Value) -> Value:
        cube = c.multiply(value, c.multiply(value, value))
        bent = c.add(value, c.multiply(cube, c.scalar(0.044715, value)))
        scaled = c.multiply(bent, c.scalar(math.sqrt(2 / math.pi), value))
        gate = c.add(c(onnx_math.Tanh(), scaled), c.scalar(1, value))
        return c.multiply(c.multiply(value, c.scalar(0.5, value)), gate)

    if c.opset >= 20:
        mode = "tanh" if tanh else "none"
        return floating(c, x, lambda value: c(onnx.Gelu(mode), value))
    return floating(c, x, by_tanh if tanh else by_erf)


@exports(ov.Gelu2)
def export_gelu2(c: Export, op: ov.Gelu2, x: Value) -> Value:
    return _gelu(c, x, tanh=False)


@exports(ov.Gelu7)
def export_gelu7(c: Export, op: ov.Gelu7, x: Value) -> Value:
    return _gelu(c, x, tanh=op.is_tanh)


@imports(onnx.Gelu)
def import_gelu(c: Import, op: onnx.Gelu, x: Value) -> Value:
    return c(ov.Gelu7("TANH" if op.is_tanh else "ERF"), x)


@exports(ov.PReLU)
def export_prelu(c: Export, op: ov.PReLU, x: Value, slope: Value) -> Value:
    """Write PReLU as PRelu; a slope vector, which belongs to axis 1, is reshaped for ONNX."""
    rank, size = shape_of(x).rank, shape_of(slope).count()
    if shape_of(slope).rank is None:
        raise c.refuse("the rank of its slope is not known", "declare the shapes of the inputs")
    if shape_of(slope).rank == 1 and size != 1:
        if rank is None:
            raise c.refuse("a slope for axis 1 needs the rank of the data, which is not known")
        # OpenVINO and ONNX both align a slope with the last axis if its size is not that of axis 1,
        # so such a slope is not reshaped.
        channels = shape_of(x).dim(1) if rank > 1 else size
        if rank > 2 and (channels == size or not isinstance(channels, int)):
            slope = c.unsqueeze(slope, list(range(1, rank - 1)))
    return _rectified(c, x, slope)


def _only_slope(c: Export, x: Value, slope: Value) -> float | None:
    """Return the slope of a PRelu as a number if a LeakyRelu can replace the PRelu, else None.

    The slope must be a constant of one element, and `x` must be f32. ONNX Runtime fuses a
    convolution with a LeakyRelu, but not with a PRelu.
    """
    known, rank = c.constant_of(slope), shape_of(x).rank
    if known is None or known.size != 1 or rank is None or known.ndim > rank:
        return None
    return float(known.reshape(())) if element_of(x) is ElementType.F32 else None


def _rectified(c: Export, x: Value, slope: Value) -> Value:
    """Emit a PRelu, or a LeakyRelu where that is possible.

    ONNX Runtime has no PRelu of integers; for them, a Where selects between `x` and `x` * `slope`.
    """
    element = element_of(x)
    alpha = _only_slope(c, x, slope)
    if alpha is not None:
        return c(onnx.LeakyRelu(alpha), x)
    if not element.is_integer:
        return c.numeric(onnx.PRelu(), x, slope)
    below = c.less(x, c.scalar(0, x))
    return c.select(below, c.multiply(x, slope), x)


@imports(onnx.PRelu)
def import_prelu(c: Import, op: onnx.PRelu, x: Value, slope: Value) -> Value:
    """Write PRelu as PReLU; a slope vector is reshaped to the rank of the data.

    In ONNX such a slope belongs to the last axis, whereas OpenVINO would apply it to axis 1.
    """
    rank, size = shape_of(x).rank, shape_of(slope).count()
    if shape_of(slope).rank is None:
        raise c.refuse("the rank of its slope is not known", "declare the shapes of the inputs")
    if shape_of(slope).rank != 1 or size == 1:
        return c(ov.PReLU(), x, slope)
    if rank is None:
        raise c.refuse("its slope needs the rank of the data, which is not known")
    if rank > 1:
        slope = c.unsqueeze(slope, list(range(rank - 1)))
    return c(ov.PReLU(), x, slope)


@imports(onnx.LeakyRelu)
def import_leaky_relu(c: Import, op: onnx.LeakyRelu, x: Value) -> Value:
    return c(ov.PReLU(), x, c.constant([op.alpha], element_of(x)))


@imports(onnx.ThresholdedRelu)
def import_thresholded_relu(c: Import, op: onnx.ThresholdedRelu, x: Value) -> Value:
    above = c.greater(x, c.scalar(op.alpha, x))
    return c.select(above, x, c.scalar(0, x))


@imports(onnx.Shrink)
def import_shrink(c: Import, op: onnx.Shrink, x: Value) -> Value:
    element = element_of(x)
    wide = c.convert(x, ElementType.F32 if element.is_integer else element)
    bias, zero = c.scalar(op.bias, wide), c.scalar(0, wide)
    above = c.greater(wide, c.scalar(op.lambd, wide))
    below = c.less(wide, c.scalar(-op.lambd, wide))
    high = c.select(above, c.subtract(wide, bias), zero)
    result = c.select(below, c.add(wide, bias), high)
    return c.convert(result, element)


@exports(ov.Clamp)
def export_clamp(c: Export, op: ov.Clamp, x: Value) -> Value:
    """Write Clamp as Clip; for integers, the lower bound is rounded up and the upper bound down."""
    low: float | None = None if op.min == -math.inf else op.min
    high: float | None = None if op.max == math.inf else op.max
    element = element_of(x)
    if element.is_integer:
        least, most = integer_range(element)
        lower = None if low is None or low <= least else min(math.ceil(low), most)
        upper = None if high is None or high >= most else max(math.floor(high), least)
        low, high = lower, upper
    if low is None and high is None:
        return c.identity(x)
    return c.clip(x, low, high)


def integer_range(element: ElementType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    if element.value.startswith("u"):
        return 0, 2**element.bits - 1
    return -(2 ** (element.bits - 1)), 2 ** (element.bits - 1) - 1


@imports(onnx.Clip6)
def import_clip6(c: Import, op: onnx.Clip6, x: Value) -> Value:
    if op.min <= op.max:
        return c(ov.Clamp(op.min, op.max), x)
    lower = c.maximum(x, c.scalar(op.min, x))
    return c.minimum(lower, c.scalar(op.max, x))


@imports(onnx.Clip11)
def import_clip11(
    c: Import, op: onnx.Clip11, x: Value, low: Value | None = None, high: Value | None = None
) -> Value:
    """Write Clip as Clamp if possible, else as Maximum and Minimum.

    Clamp needs a float tensor, and a known lower bound, and a known upper bound that is not below
    it.
    """
    numbers = tuple(None if value is None else number_of(c, value) for value in (low, high))
    is_float = element_of(x).is_float
    if is_float and low is not None and high is not None and None not in numbers:
        lower, upper = (float(item) for item in numbers if item is not None)
        if lower <= upper:
            return c(ov.Clamp(lower, upper), x)
    result = x
    if low is not None:
        result = c.maximum(result, c.as_scalar(low))
    if high is not None:
        result = c.minimum(result, c.as_scalar(high))
    return result


@exports(ov.SoftMax1, ov.SoftMax8)
def export_softmax(c: Export, op: ov.SoftMax1 | ov.SoftMax8, x: Value) -> Value:
    return c.softmax(x, op.axis)


@exports(ov.LogSoftmax)
def export_log_softmax(c: Export, op: ov.LogSoftmax, x: Value) -> Value:
    return c.log_softmax(x, op.axis)


@imports(onnx.Softmax13)
def import_softmax13(c: Import, op: onnx.Softmax13, x: Value) -> Value:
    return c.softmax(x, op.axis)


@imports(onnx.LogSoftmax13)
def import_log_softmax13(c: Import, op: onnx.LogSoftmax13, x: Value) -> Value:
    return c(ov.LogSoftmax(op.axis), x)


def by_rows(c: Import, x: Value, axis: int, build: Callable[[Value], Value]) -> Value:
    """Reshape `x` to a matrix, call `build` with it, and restore the shape.

    The dimensions from `axis` on become the columns, all others the rows.
    """
    shape = c.shape_of(x)
    known = shape_of(x).static()
    if known is not None and 0 not in known:
        start = axis + len(known) if axis < 0 else axis
        pattern = c.i64([math.prod(known[:start]), -1])
    elif axis in (0, 1):
        # 0 copies a dimension.
        pattern = c.i64([1 - axis, -1])
    else:
        before = c.slice(shape, [0], [axis], [0])
        rows = c.reduce("Prod", before, [0])
        pattern = c.concat([rows, c.i64([-1])], 0)
    flat = c.reshape_to(x, pattern)
    return c.reshape_to(build(flat), shape, special_zero=False)


def _flattening(build: Callable[[Import, Value, int], Value]) -> Callable[..., Value]:
    def rule(c: Import, op: onnx.Flattening, x: Value) -> Value:
        rank = shape_of(x).rank
        if rank is not None and op.axis in (rank - 1, -1):
            return build(c, x, rank - 1)
        return by_rows(c, x, op.axis, lambda flat: build(c, flat, 1))

    return rule


imports(onnx.Softmax1)(_flattening(Import.softmax))
imports(onnx.LogSoftmax1)(_flattening(lambda c, x, axis: c(ov.LogSoftmax(axis), x)))


@exports(ov.GRN)
def export_grn(c: Export, op: ov.GRN, x: Value) -> Value:
    def build(value: Value) -> Value:
        total = c.reduce("Sum", c.multiply(value, value), [1])
        norm = c(onnx_math.Sqrt(), c.add(total, c.scalar(op.bias, value)))
        return c.divide(value, norm)

    return floating(c, x, build)


def one_hot(c: Import, x: Value, axis: int) -> Value:
    """Emit a tensor with 1 at the first maximum along `axis` and 0 elsewhere."""
    rank = c.rank_of(x)
    axis %= rank
    _, where = first_best(c, x, axis, "max")
    positions = c.numbers_below(c.size_of(x, axis))
    if rank - axis > 1:
        positions = c.unsqueeze(positions, list(range(1, rank - axis)))
    return c.convert(c.equal(positions, where), element_of(x))


@imports(onnx.Hardmax13)
def import_hardmax13(c: Import, op: onnx.Hardmax13, x: Value) -> Value:
    return one_hot(c, x, op.axis)


imports(onnx.Hardmax1)(_flattening(one_hot))
