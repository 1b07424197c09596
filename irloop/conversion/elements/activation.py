"""Converts activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from irloop.conversion.elements.elementwise import unary_rule
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms import openvino_forms as ov_forms
from irloop.conversion.forms.ordered_topk import first_best
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.dialects.onnx import activation as onnx
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.openvino import activation as ov
from irloop.dialects.openvino import comparison as ov_comparison
from irloop.dialects.openvino import elementwise as ov_math
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType


def floating(c: Conversion, x: Value, build: Callable[[Value], Value]) -> Value:
    """Call `build` with `x` in a float type that ONNX supports, and cast the result back.

    Integers, bf16 and floats of fewer than 16 bits become f32. Other types stay as they are.
    """
    element = element_of(x)
    chosen = ElementType.F32 if element.is_integer else forms.computing_type(c, element)
    return forms.computed_in(c, chosen, build, x)


@exports(ov.Sigmoid)
def export_sigmoid(c: Conversion, op: ov.Sigmoid, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Sigmoid(), value))


imports(onnx.Sigmoid)(unary_rule(ov.Sigmoid))


@exports(ov.ReLU)
def export_relu(c: Conversion, op: ov.ReLU, x: Value) -> Value:
    """Write ReLU as Relu, or for integers as Max with 0.

    Relu supports only signed integers, and only since opset 14.
    """
    if element_of(x).is_integer:
        return forms.maximum(c, x, forms.scalar(c, 0, x))
    return forms.numeric(c, onnx.Relu(), x)


imports(onnx.Relu)(unary_rule(ov.ReLU))


@exports(ov.HSwish)
def export_hswish(c: Conversion, op: ov.HSwish, x: Value) -> Value:
    def build(value: Value) -> Value:
        if c.opset >= 14:
            return c(onnx.HardSwish(), value)
        return c(onnx_math.Mul(), value, c(onnx.HardSigmoid(alpha=1 / 6, beta=0.5), value))

    return floating(c, x, build)


imports(onnx.HardSwish)(unary_rule(ov.HSwish))


@exports(ov.HSigmoid)
def export_hsigmoid(c: Conversion, op: ov.HSigmoid, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.HardSigmoid(alpha=1 / 6, beta=0.5), value))


@exports(ov.HardSigmoid)
def export_hard_sigmoid(
    c: Conversion, op: ov.HardSigmoid, x: Value, alpha: Value, beta: Value
) -> Value:
    """Write HardSigmoid, or Mul, Add and Clip if alpha or beta is not constant."""
    slope, offset = number_of(c, alpha), number_of(c, beta)
    if slope is not None and offset is not None:
        return floating(c, x, lambda value: c(onnx.HardSigmoid(alpha=slope, beta=offset), value))
    alpha, beta = (as_scalar(c, value) for value in (alpha, beta))
    return forms.clip(c, forms.add(c, forms.multiply(c, alpha, x), beta), 0.0, 1.0)


@imports(onnx.HardSigmoid)
def import_hard_sigmoid(c: Conversion, op: onnx.HardSigmoid, x: Value) -> Value:
    alpha, beta = ov_forms.scalar(c, op.alpha, x), ov_forms.scalar(c, op.beta, x)
    return c(ov.HardSigmoid(), x, alpha, beta)


def number_of(c: Conversion, value: Value) -> float | None:
    """The number in a one-element constant; None for any other value."""
    array = c.constant_of(value)
    return None if array is None or array.size != 1 else float(array.reshape(()))


def as_scalar(c: Conversion, value: Value) -> Value:
    """Reshape a one-element value to a scalar."""
    return value if shape_of(value).rank == 0 else forms.reshape(c, value, [])


@exports(ov.Swish)
def export_swish(c: Conversion, op: ov.Swish, x: Value, beta: Value | None = None) -> Value:
    factor = 1.0 if beta is None else number_of(c, beta)
    # ONNX has Swish since opset 24, but ONNX Runtime has no kernel for it.
    scaled = x
    if factor is None and beta is not None:
        scaled = forms.multiply(c, as_scalar(c, beta), x)
    elif factor not in (None, 1.0):
        scaled = forms.multiply(c, c.constant(factor, element_of(x)), x)
    gate = floating(c, scaled, lambda value: c(onnx.Sigmoid(), value))
    return forms.multiply(c, x, gate)


@imports(onnx.Swish)
def import_swish(c: Conversion, op: onnx.Swish, x: Value) -> Value:
    if op.alpha == 1.0:
        return c(ov.Swish(), x)
    return c(ov.Swish(), x, ov_forms.scalar(c, op.alpha, x))


@imports(onnx.SwiGLU)
def import_swiglu(c: Conversion, op: onnx.SwiGLU, gate: Value, x: Value) -> Value:
    return ov_forms.multiply(c, import_swish(c, onnx.Swish(op.alpha), gate), x)


@exports(ov.Elu)
def export_elu(c: Conversion, op: ov.Elu, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Elu(op.alpha), value))


@imports(onnx.Elu)
def import_elu(c: Conversion, op: onnx.Elu, x: Value) -> Value:
    return c(ov.Elu(op.alpha), x)


@exports(ov.Selu)
def export_selu(c: Conversion, op: ov.Selu, x: Value, alpha: Value, gain: Value) -> Value:
    """Write Selu, or its formula with Exp, Mul and Where if alpha or gain is not constant."""
    inner, outer = number_of(c, alpha), number_of(c, gain)
    if inner is not None and outer is not None:
        return floating(c, x, lambda value: c(onnx.Selu(alpha=inner, gamma=outer), value))

    def build(value: Value, *factors: Value) -> Value:
        inner, outer = (as_scalar(c, factor) for factor in factors)
        zero = forms.scalar(c, 0, value)
        power = c(onnx_math.Exp(), forms.minimum(c, value, zero))
        negative = forms.multiply(c, inner, forms.subtract(c, power, forms.scalar(c, 1, value)))
        chosen = forms.select(c, forms.greater(c, value, zero), value, negative)
        return forms.multiply(c, outer, chosen)

    element = element_of(x)
    return forms.computed_in(c, forms.computing_type(c, element), build, x, alpha, gain)


@imports(onnx.Selu)
def import_selu(c: Conversion, op: onnx.Selu, x: Value) -> Value:
    return c(ov.Selu(), x, ov_forms.scalar(c, op.alpha, x), ov_forms.scalar(c, op.gamma, x))


@imports(onnx.Celu)
def import_celu(c: Conversion, op: onnx.Celu, x: Value) -> Value:
    """Write Celu as Elu if alpha is 1, otherwise as its formula.

    The formula is max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
    """
    if op.alpha == 1.0:
        return c(ov.Elu(1.0), x)

    def build(value: Value) -> Value:
        alpha, zero = ov_forms.scalar(c, op.alpha, value), ov_forms.scalar(c, 0, value)
        power = c(ov_math.Exp(), ov_forms.divide(c, value, alpha))
        power = ov_forms.subtract(c, power, ov_forms.scalar(c, 1, value))
        below = ov_forms.minimum(c, zero, ov_forms.multiply(c, alpha, power))
        return ov_forms.add(c, ov_forms.maximum(c, zero, value), below)

    return ov_forms.in_f32(c, build, x)


@exports(ov.Mish)
def export_mish(c: Conversion, op: ov.Mish, x: Value) -> Value:
    def build(value: Value) -> Value:
        if c.opset >= 18:
            return c(onnx.Mish(), value)
        inner = c(onnx_math.Tanh(), c(onnx.Softplus(), value))
        return c(onnx_math.Mul(), value, inner)

    return floating(c, x, build)


imports(onnx.Mish)(unary_rule(ov.Mish))


@exports(ov.SoftPlus)
def export_softplus(c: Conversion, op: ov.SoftPlus, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Softplus(), value))


imports(onnx.Softplus)(unary_rule(ov.SoftPlus))


@exports(ov.SoftSign)
def export_softsign(c: Conversion, op: ov.SoftSign, x: Value) -> Value:
    return floating(c, x, lambda value: c(onnx.Softsign(), value))


@imports(onnx.Softsign)
def import_softsign(c: Conversion, op: onnx.Softsign, x: Value) -> Value:
    """Write SoftSign, or before opset9 its formula x / (1 + |x|)."""
    if c.opset >= 9:
        return c(ov.SoftSign(), x)

    def build(value: Value) -> Value:
        size = ov_forms.add(c, ov_forms.scalar(c, 1, value), c(ov_math.Abs(), value))
        return ov_forms.divide(c, value, size)

    return ov_forms.in_f32(c, build, x)


def _gelu(c: Conversion, x: Value, *, tanh: bool) -> Value:
    def by_erf(value: Value) -> Value:
        # ONNX Runtime fuses exactly this: a quotient, and a half that comes last.
        root = forms.scalar(c, math.sqrt(2), value)
        inner = c(onnx_math.Erf(), forms.divide(c, value, root))
        gated = forms.multiply(c, value, forms.add(c, inner, forms.scalar(c, 1, value)))
        return forms.multiply(c, gated, forms.scalar(c, 0.5, value))

    def by_tanh(value: Value) -> Value:
        cube = forms.multiply(c, value, forms.multiply(c, value, value))
        bent = forms.add(c, value, forms.multiply(c, cube, forms.scalar(c, 0.044715, value)))
        scaled = forms.multiply(c, bent, forms.scalar(c, math.sqrt(2 / math.pi), value))
        gate = forms.add(c, c(onnx_math.Tanh(), scaled), forms.scalar(c, 1, value))
        return forms.multiply(c, forms.multiply(c, value, forms.scalar(c, 0.5, value)), gate)

    if c.opset >= 20:
        mode = "tanh" if tanh else "none"
        return floating(c, x, lambda value: c(onnx.Gelu(mode), value))
    return floating(c, x, by_tanh if tanh else by_erf)


@exports(ov.Gelu2)
def export_gelu2(c: Conversion, op: ov.Gelu2, x: Value) -> Value:
    return _gelu(c, x, tanh=False)


@exports(ov.Gelu7)
def export_gelu7(c: Conversion, op: ov.Gelu7, x: Value) -> Value:
    return _gelu(c, x, tanh=op.is_tanh)


@imports(onnx.Gelu)
def import_gelu(c: Conversion, op: onnx.Gelu, x: Value) -> Value:
    return c(ov.Gelu7("TANH" if op.is_tanh else "ERF"), x)


@exports(ov.PReLU)
def export_prelu(c: Conversion, op: ov.PReLU, x: Value, slope: Value) -> Value:
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
            slope = forms.unsqueeze(c, slope, list(range(1, rank - 1)))
    return _rectified(c, x, slope)


def _only_slope(c: Conversion, x: Value, slope: Value) -> float | None:
    """Return the slope of a PRelu as a number if a LeakyRelu can replace the PRelu, else None.

    The slope must be a constant of one element, and `x` must be f32. ONNX Runtime fuses a
    convolution with a LeakyRelu, but not with a PRelu.
    """
    known, rank = c.constant_of(slope), shape_of(x).rank
    if known is None or known.size != 1 or rank is None or known.ndim > rank:
        return None
    return float(known.reshape(())) if element_of(x) is ElementType.F32 else None


def _rectified(c: Conversion, x: Value, slope: Value) -> Value:
    """Emit a PRelu, or a LeakyRelu where that is possible.

    ONNX Runtime has no PRelu of integers; for them, a Where selects between `x` and `x` * `slope`.
    """
    element = element_of(x)
    alpha = _only_slope(c, x, slope)
    if alpha is not None:
        return c(onnx.LeakyRelu(alpha), x)
    if not element.is_integer:
        return forms.numeric(c, onnx.PRelu(), x, slope)
    below = forms.less(c, x, forms.scalar(c, 0, x))
    return forms.select(c, below, forms.multiply(c, x, slope), x)


@imports(onnx.PRelu)
def import_prelu(c: Conversion, op: onnx.PRelu, x: Value, slope: Value) -> Value:
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
        slope = ov_forms.unsqueeze(c, slope, list(range(rank - 1)))
    return c(ov.PReLU(), x, slope)


@imports(onnx.LeakyRelu)
def import_leaky_relu(c: Conversion, op: onnx.LeakyRelu, x: Value) -> Value:
    return c(ov.PReLU(), x, c.constant([op.alpha], element_of(x)))


@imports(onnx.ThresholdedRelu)
def import_thresholded_relu(c: Conversion, op: onnx.ThresholdedRelu, x: Value) -> Value:
    above = c(ov_comparison.Greater(), x, ov_forms.scalar(c, op.alpha, x))
    return ov_forms.select(c, above, x, ov_forms.scalar(c, 0, x))


@imports(onnx.Shrink)
def import_shrink(c: Conversion, op: onnx.Shrink, x: Value) -> Value:
    element = element_of(x)
    wide = ov_forms.convert(c, x, ElementType.F32 if element.is_integer else element)
    bias, zero = ov_forms.scalar(c, op.bias, wide), ov_forms.scalar(c, 0, wide)
    above = c(ov_comparison.Greater(), wide, ov_forms.scalar(c, op.lambd, wide))
    below = ov_forms.less(c, wide, ov_forms.scalar(c, -op.lambd, wide))
    high = ov_forms.select(c, above, ov_forms.subtract(c, wide, bias), zero)
    result = ov_forms.select(c, below, ov_forms.add(c, wide, bias), high)
    return ov_forms.convert(c, result, element)


@exports(ov.Clamp)
def export_clamp(c: Conversion, op: ov.Clamp, x: Value) -> Value:
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
        return forms.identity(c, x)
    return forms.clip(c, x, low, high)


def integer_range(element: ElementType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    if element.value.startswith("u"):
        return 0, 2**element.bits - 1
    return -(2 ** (element.bits - 1)), 2 ** (element.bits - 1) - 1


@imports(onnx.Clip6)
def import_clip6(c: Conversion, op: onnx.Clip6, x: Value) -> Value:
    if op.min <= op.max:
        return c(ov.Clamp(op.min, op.max), x)
    lower = ov_forms.maximum(c, x, ov_forms.scalar(c, op.min, x))
    return ov_forms.minimum(c, lower, ov_forms.scalar(c, op.max, x))


@imports(onnx.Clip11)
def import_clip11(
    c: Conversion, op: onnx.Clip11, x: Value, low: Value | None = None, high: Value | None = None
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
        result = ov_forms.maximum(c, result, ov_forms.as_scalar(c, low))
    if high is not None:
        result = ov_forms.minimum(c, result, ov_forms.as_scalar(c, high))
    return result


@exports(ov.SoftMax1, ov.SoftMax8)
def export_softmax(c: Conversion, op: ov.SoftMax1 | ov.SoftMax8, x: Value) -> Value:
    return forms.softmax(c, x, op.axis)


@exports(ov.LogSoftmax)
def export_log_softmax(c: Conversion, op: ov.LogSoftmax, x: Value) -> Value:
    return forms.log_softmax(c, x, op.axis)


@imports(onnx.Softmax13)
def import_softmax13(c: Conversion, op: onnx.Softmax13, x: Value) -> Value:
    return ov_forms.softmax(c, x, op.axis)


@imports(onnx.LogSoftmax13)
def import_log_softmax13(c: Conversion, op: onnx.LogSoftmax13, x: Value) -> Value:
    return c(ov.LogSoftmax(op.axis), x)


def by_rows(c: Conversion, x: Value, axis: int, build: Callable[[Value], Value]) -> Value:
    """Reshape `x` to a matrix, call `build` with it, and restore the shape.

    The dimensions from `axis` on become the columns, all others the rows.
    """
    shape = ov_forms.shape_of(c, x)
    known = shape_of(x).static()
    if known is not None and 0 not in known:
        start = axis + len(known) if axis < 0 else axis
        pattern = c.i64([math.prod(known[:start]), -1])
    elif axis in (0, 1):
        # 0 copies a dimension.
        pattern = c.i64([1 - axis, -1])
    else:
        before = ov_forms.slice_(c, shape, [0], [axis], [0])
        rows = ov_forms.reduce(c, "Prod", before, [0])
        pattern = ov_forms.concat(c, [rows, c.i64([-1])], 0)
    flat = ov_forms.reshape_to(c, x, pattern)
    return ov_forms.reshape_to(c, build(flat), shape, special_zero=False)


def _flattening(build: Callable[[Conversion, Value, int], Value]) -> Callable[..., Value]:
    def rule(c: Conversion, op: onnx.Flattening, x: Value) -> Value:
        rank = shape_of(x).rank
        if rank is not None and op.axis in (rank - 1, -1):
            return build(c, x, rank - 1)
        return by_rows(c, x, op.axis, lambda flat: build(c, flat, 1))

    return rule


imports(onnx.Softmax1)(_flattening(ov_forms.softmax))
imports(onnx.LogSoftmax1)(_flattening(lambda c, x, axis: c(ov.LogSoftmax(axis), x)))


@exports(ov.GRN)
def export_grn(c: Conversion, op: ov.GRN, x: Value) -> Value:
    def build(value: Value) -> Value:
        total = forms.reduce(c, "Sum", forms.multiply(c, value, value), [1])
        norm = c(onnx_math.Sqrt(), forms.add(c, total, forms.scalar(c, op.bias, value)))
        return forms.divide(c, value, norm)

    return floating(c, x, build)


def one_hot(c: Conversion, x: Value, axis: int) -> Value:
    """Emit a tensor with 1 at the first maximum along `axis` and 0 elsewhere."""
    rank = c.rank_of(x)
    axis %= rank
    _, where = first_best(c, x, axis, "max")
    size = ov_forms.size_of(c, x, axis)
    positions = ov_forms.range_(c, c.i64(0), size, c.i64(1))
    if rank - axis > 1:
        positions = ov_forms.unsqueeze(c, positions, list(range(1, rank - axis)))
    return ov_forms.convert(c, ov_forms.equal(c, positions, where), element_of(x))


@imports(onnx.Hardmax13)
def import_hardmax13(c: Conversion, op: onnx.Hardmax13, x: Value) -> Value:
    return one_hot(c, x, op.axis)


imports(onnx.Hardmax1)(_flattening(one_hot))
