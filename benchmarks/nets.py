"""Networks with random weights, built in code: what the speed of running is measured on.

Each builder returns an ONNX model with static shapes. Layers, channels and sizes are those of the
published networks; weights are drawn so that values neither vanish nor grow from layer to layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["NETS", "Net", "inputs_of"]

Array = np.ndarray[Any, np.dtype[Any]]


class Net:
    """An ONNX graph that grows node by node; values are strings."""

    def __init__(self, *shape: int, opset: int = 17, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._opset = opset
        self._inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]

    def weight(self, *shape: int, fan: int = 0) -> str:
        """A weight of normal numbers with the variance 2 / fan (0.01 without `fan`)."""
        scale = math.sqrt(2 / fan) if fan else 0.1
        return self.constant((self._random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array: Any) -> str:
        """A weight with these elements."""
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or a list of several."""
        at = len(self._nodes)
        made = [f"v{at}_{index}" for index in range(outputs)]
        self._nodes.append(helper.make_node(type, inputs, made, f"{type}_{at}", **attributes))
        return made[0] if outputs == 1 else made

    def conv(
        self, x: str, channels: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1
    ) -> str:
        """A convolution with bias that keeps the size (divided by the stride)."""
        each = channels // groups
        pad = kernel // 2
        filters = self.weight(outputs, each, kernel, kernel, fan=each * kernel * kernel)
        made: str = self.op(
            "Conv",
            x,
            filters,
            self.weight(outputs),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=groups,
        )
        return made

    def batch_norm(self, x: str, channels: int) -> str:
        """BatchNormalization with positive variances."""
        ones = np.ones(channels, np.float32)
        spread = (1 + self._random.random(channels)).astype(np.float32)
        made: str = self.op(
            "BatchNormalization",
            x,
            self.constant(ones),
            self.weight(channels),
            self.weight(channels),
            self.constant(spread),
        )
        return made

    def linear(self, x: str, size: int, outputs: int) -> str:
        """MatMul and Add."""
        product = self.op("MatMul", x, self.weight(size, outputs, fan=2 * size))
        made: str = self.op("Add", product, self.weight(outputs))
        return made

    def layer_norm(self, x: str, size: int) -> str:
        """Layer normalisation over the last axis, decomposed as exporters before opset 17 do."""
        mean = self.op("ReduceMean", x, axes=[-1])
        shifted = self.op("Sub", x, mean)
        two = self.constant(np.float32(2))
        variance = self.op("ReduceMean", self.op("Pow", shifted, two), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.constant(np.float32(1e-5))))
        unit = self.op("Div", shifted, deviation)
        scaled = self.op("Mul", unit, self.constant(np.ones(size, np.float32)))
        made: str = self.op("Add", scaled, self.weight(size))
        return made

    def gelu(self, x: str) -> str:
        """x / 2 * (1 + erf(x / sqrt(2))), in five nodes."""
        inner = self.op("Erf", self.op("Div", x, self.constant(np.float32(math.sqrt(2)))))
        gate = self.op("Add", inner, self.constant(np.float32(1)))
        made: str = self.op("Mul", self.op("Mul", x, gate), self.constant(np.float32(0.5)))
        return made

    def gelu_tanh(self, x: str) -> str:
        """The approximation of GELU that GPT-2 uses, in eight nodes."""
        cube = self.op("Pow", x, self.constant(np.float32(3)))
        inner = self.op("Add", x, self.op("Mul", cube, self.constant(np.float32(0.044715))))
        scaled = self.op("Mul", inner, self.constant(np.float32(math.sqrt(2 / math.pi))))
        gate = self.op("Add", self.op("Tanh", scaled), self.constant(np.float32(1)))
        half = self.op("Mul", x, self.constant(np.float32(0.5)))
        made: str = self.op("Mul", half, gate)
        return made

    def reshape(self, x: str, *shape: int) -> str:
        """Reshape to constant dimensions."""
        made: str = self.op("Reshape", x, self.constant(np.array(shape, np.int64)))
        return made

    def attention(self, x: str, rows: int, length: int, size: int, heads: int, mask: Any) -> str:
        """Self-attention of `rows` sequences of `length` tokens."""
        width = size // heads
        parts = []
        for turned in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            part = self.reshape(self.linear(x, size, size), rows, length, heads, width)
            parts.append(self.op("Transpose", part, perm=turned))
        scores = self.op("MatMul", parts[0], parts[1])
        scores = self.op("Div", scores, self.constant(np.float32(math.sqrt(width))))
        if mask is not None:
            scores = self.op("Add", scores, self.constant(mask))
        seen = self.op("MatMul", self.op("Softmax", scores, axis=-1), parts[2])
        seen = self.reshape(self.op("Transpose", seen, perm=[0, 2, 1, 3]), rows, length, size)
        return self.linear(seen, size, size)

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The finished model."""
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self._nodes, "net", self._inputs, results, self._weights)
        opset = helper.make_opsetid("", self._opset)
        made = helper.make_model(graph, opset_imports=[opset], ir_version=9)
        return onnx.shape_inference.infer_shapes(made)


def resnet18() -> onnx.ModelProto:
    """ResNet-18 at 224 x 224, its batch normalisations folded into the convolutions."""
    net = Net(1, 3, 224, 224)
    x = net.op("Relu", net.conv("x", 3, 64, 7, 2))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for outputs, stride in (
        (64, 1),
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        (512, 1),
    ):
        inner = net.op("Relu", net.conv(x, channels, outputs, 3, stride))
        inner = net.conv(inner, outputs, outputs, 3)
        skip = (
            x if stride == 1 and channels == outputs else net.conv(x, channels, outputs, 1, stride)
        )
        x = net.op("Relu", net.op("Add", inner, skip))
        channels = outputs
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    return net.model(net.op("Gemm", x, net.weight(1000, 512), net.weight(1000), transB=1))


def _squeezed(net: Net, x: str, channels: int, inner: int, gate: str) -> str:
    """Squeeze and excitation: channels scaled by a gate computed from their means."""
    means = net.op("GlobalAveragePool", x)
    small = net.conv(means, channels, inner)
    if gate == "HardSigmoid":
        small = net.conv(net.op("Relu", small), inner, channels)
        return str(net.op("Mul", x, net.op("HardSigmoid", small, alpha=1 / 6, beta=0.5)))
    small = net.conv(_silu(net, small), inner, channels)
    return str(net.op("Mul", x, net.op("Sigmoid", small)))


def _silu(net: Net, x: str) -> str:
    return str(net.op("Mul", x, net.op("Sigmoid", x)))


#: Kernel, expansion, outputs, squeeze, hard swish, stride of the blocks of MobileNetV3 (large).
_MOBILE = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip


def _mobile_blocks(net: Net, x: str) -> list[tuple[str, int]]:
    """The blocks of MobileNetV3; the output and the channels before each halving, and the last."""
    x, channels = net.op("HardSwish", net.conv(x, 3, 16, 3, 2)), 16
    found = []
    for kernel, wide, outputs, squeeze, hard, stride in _MOBILE:
        if stride == 2:
            found.append((x, channels))
        act = "HardSwish" if hard else "Relu"
        inner = x if wide == channels else net.op(act, net.conv(x, channels, wide))
        inner = net.op(act, net.conv(inner, wide, wide, kernel, stride, wide))
        if squeeze:
            inner = _squeezed(net, inner, wide, (wide // 4 + 7) // 8 * 8, "HardSigmoid")
        inner = net.conv(inner, wide, outputs)
        x = net.op("Add", x, inner) if stride == 1 and channels == outputs else inner
        channels = outputs
    return [*found, (x, channels)]


def mobilenet_v3() -> onnx.ModelProto:
    """MobileNetV3 (large) at 224 x 224."""
    net = Net(1, 3, 224, 224)
    x, channels = _mobile_blocks(net, "x")[-1]
    x = net.op("HardSwish", net.conv(x, channels, 960))
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    x = net.op("HardSwish", net.op("Gemm", x, net.weight(1280, 960), net.weight(1280), transB=1))
    return net.model(net.op("Gemm", x, net.weight(1000, 1280), net.weight(1000), transB=1))


def efficientnet_b0() -> onnx.ModelProto:
    """EfficientNet-B0 at 224 x 224."""
    net = Net(1, 3, 224, 224)
    x, channels = _silu(net, net.conv("x", 3, 32, 3, 2)), 32
    stages = (
        (3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (5, 6, 40, 2, 2), (3, 6, 80, 2, 3), (5, 6, 112, 1, 3),
        (5, 6, 192, 2, 4), (3, 6, 320, 1, 1),
    )  # fmt: skip
    for kernel, times, outputs, first, count in stages:
        for at in range(count):
            stride = first if at == 0 else 1
            wide = channels * times
            inner = x if times == 1 else _silu(net, net.conv(x, channels, wide))
            inner = _silu(net, net.conv(inner, wide, wide, kernel, stride, wide))
            inner = _squeezed(net, inner, wide, max(1, channels // 4), "Sigmoid")
            inner = net.conv(inner, wide, outputs)
            x = net.op("Add", inner, x) if at else inner
            channels = outputs
    x = _silu(net, net.conv(x, channels, 1280))
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    return net.model(net.op("Gemm", x, net.weight(1000, 1280), net.weight(1000), transB=1))


def squeezenet() -> onnx.ModelProto:
    """SqueezeNet 1.1 at 224 x 224."""
    net = Net(1, 3, 224, 224)
    x, channels = net.op("Relu", net.conv("x", 3, 64, 3, 2)), 64
    for small, wide, halves in (
        (16, 64, True), (16, 64, False), (32, 128, True), (32, 128, False), (48, 192, True),
        (48, 192, False), (64, 256, False), (64, 256, False),
    ):  # fmt: skip
        if halves:
            x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        x = net.op("Relu", net.conv(x, channels, small))
        left = net.op("Relu", net.conv(x, small, wide))
        right = net.op("Relu", net.conv(x, small, wide, 3))
        x, channels = net.op("Concat", left, right, axis=1), 2 * wide
    x = net.op("GlobalAveragePool", net.op("Relu", net.conv(x, channels, 1000)))
    return net.model(net.op("Flatten", x))


def unet() -> onnx.ModelProto:
    """A U-net of four levels at 256 x 256, with its batch normalisations as nodes."""
    net = Net(1, 3, 256, 256)

    def twice(x: str, channels: int, outputs: int) -> str:
        for inputs in (channels, outputs):
            x = net.op("Relu", net.batch_norm(net.conv(x, inputs, outputs, 3), outputs))
        return x

    x, channels, kept = "x", 3, []
    for outputs in (32, 64, 128, 256):
        x = twice(x, channels, outputs)
        kept.append((x, outputs))
        x, channels = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), outputs
    x, channels = twice(x, channels, 512), 512
    for skip, outputs in reversed(kept):
        filters = net.weight(channels, outputs, 2, 2, fan=channels)
        up = net.op("ConvTranspose", x, filters, net.weight(outputs), strides=[2, 2])
        x, channels = twice(net.op("Concat", skip, up, axis=1), 2 * outputs, outputs), outputs
    return net.model(net.op("Sigmoid", net.conv(x, channels, 1)))


def text_detection() -> onnx.ModelProto:
    """A text detector (DB) at 640 x 640: MobileNetV3 and a feature pyramid."""
    net = Net(1, 3, 640, 640)
    levels = [net.conv(x, channels, 96) for x, channels in _mobile_blocks(net, "x")[1:]]
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))

    def larger(x: str, times: int) -> str:
        for _ in range(times):
            x = net.op(
                "Resize",
                x,
                "",
                scales,
                mode="nearest",
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            )
        return x

    for at in (2, 1, 0):
        levels[at] = net.op("Add", levels[at], larger(levels[at + 1], 1))
    parts = [larger(net.conv(level, 96, 24, 3), at) for at, level in enumerate(levels)]
    x = net.op("Relu", net.batch_norm(net.conv(net.op("Concat", *parts, axis=1), 96, 24, 3), 24))
    x = net.op("ConvTranspose", x, net.weight(24, 24, 2, 2, fan=24), net.weight(24), strides=[2, 2])
    x = net.op("Relu", net.batch_norm(x, 24))
    x = net.op(
        "ConvTranspose", x, net.weight(24, 1, 2, 2, fan=2_400_000), net.weight(1), strides=[2, 2]
    )
    return net.model(net.op("Sigmoid", x))


def swin_t() -> onnx.ModelProto:
    """Two stages of Swin-T at 224 x 224: attention in windows of 7 x 7, some shifted."""
    net = Net(1, 3, 224, 224)
    filters = net.weight(96, 3, 4, 4, fan=48)
    x = net.op("Conv", "x", filters, net.weight(96), strides=[4, 4])
    x = net.op("Transpose", x, perm=[0, 2, 3, 1])
    side, size = 56, 96
    for heads in (3, 6):
        for shift in (0, 3):
            x = _swin_block(net, x, side, size, heads, shift)
        if heads == 3:
            x = net.reshape(x, side // 2, 2, side // 2, 2, size)
            x = net.op("Transpose", x, perm=[0, 2, 3, 1, 4])
            x = net.layer_norm(net.reshape(x, 1, side // 2, side // 2, 4 * size), 4 * size)
            x = net.op("MatMul", x, net.weight(4 * size, 2 * size, fan=8 * size))
            side, size = side // 2, 2 * size
    return net.model(net.op("ReduceMean", x, axes=[1, 2]))


def _rolled(net: Net, x: str, side: int, shift: int) -> str:
    """The image moved by `shift` rows and columns, around the edges."""
    for axis in (1, 2):
        cut = [net.constant(np.array([n], np.int64)) for n in (0, shift % side, side, axis)]
        first = net.op("Slice", x, cut[1], cut[2], cut[3])
        rest = net.op("Slice", x, cut[0], cut[1], cut[3])
        x = net.op("Concat", first, rest, axis=axis)
    return x


def _swin_block(net: Net, x: str, side: int, size: int, heads: int, shift: int) -> str:
    count = side // 7
    y = net.layer_norm(x, size)
    y = _rolled(net, y, side, shift) if shift else y
    y = net.op("Transpose", net.reshape(y, count, 7, count, 7, size), perm=[0, 2, 1, 3, 4])
    y = net.reshape(y, count * count, 49, size)
    mask = np.zeros((1, heads, 49, 49), np.float32)
    y = net.attention(y, count * count, 49, size, heads, mask)
    y = net.op("Transpose", net.reshape(y, count, count, 7, 7, size), perm=[0, 2, 1, 3, 4])
    y = net.reshape(y, 1, side, side, size)
    y = _rolled(net, y, side, -shift) if shift else y
    x = net.op("Add", x, y)
    inner = net.gelu(net.linear(net.layer_norm(x, size), size, 4 * size))
    return str(net.op("Add", x, net.linear(inner, 4 * size, size)))


def bert_layers(count: int = 2) -> onnx.ModelProto:
    """Layers of BERT-base for 128 tokens."""
    net = Net(1, 128, 768)
    x = "x"
    for _ in range(count):
        seen = net.attention(x, 1, 128, 768, 12, np.zeros((1, 1, 1, 128), np.float32))
        x = net.layer_norm(net.op("Add", seen, x), 768)
        inner = net.linear(net.gelu(net.linear(x, 768, 3072)), 3072, 768)
        x = net.layer_norm(net.op("Add", inner, x), 768)
    return net.model(x)


def gpt2_layers(count: int = 2) -> onnx.ModelProto:
    """Layers of GPT-2 (small) for 128 tokens, with the causal mask."""
    net = Net(1, 128, 768)
    x = "x"
    mask = np.triu(np.full((128, 128), -1e9, np.float32), 1)[None, None]
    for _ in range(count):
        seen = net.attention(net.layer_norm(x, 768), 1, 128, 768, 12, mask)
        x = net.op("Add", x, seen)
        inner = net.gelu_tanh(net.linear(net.layer_norm(x, 768), 768, 3072))
        x = net.op("Add", x, net.linear(inner, 3072, 768))
    return net.model(x)


#: The networks by name: first those of convolutions, then those of matrix products.
NETS: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet18": resnet18,
    "efficientnet_b0": efficientnet_b0,
    "mobilenet_v3": mobilenet_v3,
    "squeezenet": squeezenet,
    "unet": unet,
    "text_detection": text_detection,
    "swin_t": swin_t,
    "bert_layers": bert_layers,
    "gpt2_layers": gpt2_layers,
}


def inputs_of(model: onnx.ModelProto) -> dict[str, Array]:
    """Normal numbers for the inputs, the same in every process."""
    random = np.random.default_rng(7)
    found = {}
    for value in model.graph.input:
        shape: Sequence[int] = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        found[value.name] = random.standard_normal(shape).astype(np.float32)
    return found
