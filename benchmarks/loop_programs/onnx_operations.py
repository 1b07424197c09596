"""Operations that a block of an ONNX program may append; each reads and adds block values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.loop_programs.onnx_blocks import TYPES, Block, Value

__all__ = ["FLAVOURS", "bounded", "convert", "pick", "scalar_condition"]

#: Limits in conditions on floats; programs do not create these numbers deliberately.
LIMITS = (-1.137, 0.219, 1.713)
WORDS = ("a", "bc", "", "dé")


def pick(block: Block, type: str) -> Value:
    """A visible value of a type, or a converted one if there is none."""
    random = block.net.random
    found = [value for value in block.visible() if value.type == type]
    if found and (type in {"f32", "any"} or random.random() < 0.7):
        return random.choice(found[:8])
    source = random.choice([value for value in block.visible() if value.type == "f32"][:8])
    return convert(block, source, type)


def convert(block: Block, value: Value, type: str) -> Value:
    """Convert a value to another type; it becomes integral and small if the type needs that."""
    net, name = block.net, value.name
    if value.type == type:
        return value
    if value.type not in {"f32", "any"}:
        return convert(block, _as_f32(block, value), type)
    match type:
        case "bool":
            name = block.op("Greater", name, block.constant(net.random.choice(LIMITS)))
        case "string":
            truth = block.op("Greater", name, block.constant(net.random.choice(LIMITS)))
            words = net.random.sample(WORDS, 2)
            name = block.op("Where", truth, *(block.constant(word, str) for word in words))
        case "i64" | "i4" | "u4":
            low = 0.0 if type == "u4" else -7.0
            name = block.op("Clip", name, block.constant(low), block.constant(7.0))
            # Half-way between integers, the last bit would decide; programs create such numbers.
            name = block.op("Add", name, block.constant(0.3713))
            name = block.op("Cast", block.op("Round", name), to=TYPES[type])
        case "f8e4m3" | "f8e5m2":
            name = block.op("Clip", name, block.constant(-4.0), block.constant(4.0))
            name = block.op("Cast", name, to=TYPES[type])
        case "any":
            name = block.op("Reshape", name, "shape")
        case _:
            name = block.op("Cast", name, to=TYPES[type])
    return block.add(name, type)


def _as_f32(block: Block, value: Value) -> Value:
    name = value.name
    if value.type == "string":
        name = block.op("Equal", name, block.constant(block.net.random.choice(WORDS), str))
    return block.add(block.op("Cast", name, to=TYPES["f32"]), "f32")


def bounded(block: Block, value: Value) -> Value:
    """Bound a value, so that many iterations cannot exceed the limits."""
    if value.type in {"f32", "f16", "f64", "any"}:
        dtype = {"f16": np.float16, "f64": np.float64}.get(value.type, np.float32)
        low, high = (block.constant(limit, dtype) for limit in (-4.25, 5.5))
        return block.add(block.op("Clip", value.name, low, high), value.type)
    if value.type == "i64":
        low, high = (block.constant(limit, np.int64) for limit in (-50, 60))
        name = block.op("Min", block.op("Max", value.name, low), high)
        return block.add(name, "i64")
    return value


def scalar_condition(block: Block) -> str:
    """A boolean scalar that depends on data."""
    total = block.op("ReduceSum", pick(block, "f32").name, keepdims=0)
    limit = block.constant(block.net.random.choice(LIMITS))
    return block.op(block.net.random.choice(["Less", "Greater"]), total, limit)


def _binary(block: Block) -> None:
    type = block.net.random.choice(["f32", "f32", "f32", "i64"])
    kind = block.net.random.choice(["Add", "Sub", "Max", "Min"])
    block.add(block.op(kind, pick(block, type).name, pick(block, type).name), type)


def _unary(block: Block) -> None:
    random = block.net.random
    kind = random.choice(["Tanh", "Sigmoid", "Relu", "Neg", "Abs", "Identity", "Softmax"])
    attributes = {"axis": random.choice([0, 1, -1])} if kind == "Softmax" else {}
    block.add(block.op(kind, pick(block, "f32").name, **attributes), "f32")


def _product(block: Block) -> None:
    weight = block.net.numbers.normal(0, 0.4, (3, 3))
    block.add(block.op("MatMul", pick(block, "f32").name, block.constant(weight)), "f32")


def _joined(block: Block) -> None:
    """Append the concatenation of two values, split again."""
    random = block.net.random
    both = block.op("Concat", pick(block, "f32").name, pick(block, "f32").name, axis=1)
    start = random.randint(0, 3)
    cut = (block.ints(at) for at in (start, start + 3, 1))
    block.add(block.op("Slice", both, *cut), "f32")


def _chosen(block: Block) -> None:
    type = block.net.random.choice(["f32", "i64"])
    names = (pick(block, kind).name for kind in ("bool", type, type))
    block.add(block.op("Where", *names), type)


def _logic(block: Block) -> None:
    kind = block.net.random.choice(["And", "Or", "Xor"])
    block.add(block.op(kind, pick(block, "bool").name, pick(block, "bool").name), "bool")


def _counted(block: Block) -> None:
    """Append a value that depends on the iteration number."""
    if not block.iterations:
        return _binary(block)
    number = block.net.random.choice(block.iterations)
    if block.net.random.random() < 0.5:
        name = block.op("Cast", number, to=TYPES["f32"])
        block.add(block.op("Add", pick(block, "f32").name, name), "f32")
        return None
    at = block.op("Mod", number, block.constant(3, np.int64))
    column = block.op("Gather", pick(block, "f32").name, at, axis=1)
    column = block.op("Unsqueeze", column, block.ints(1))
    block.add(block.op("Sub", pick(block, "f32").name, column), "f32")
    return None


def _summed(block: Block) -> None:
    kind = block.net.random.choice(["CumSum", "ReduceMean", "ReduceMax"])
    x = pick(block, "f32").name
    if kind == "CumSum":
        block.add(block.op(kind, x, block.constant(1, np.int64)), "f32")
        return
    if block.net.opset >= 18:
        mean = block.op(kind, x, block.ints(1), keepdims=1)
    else:
        mean = block.op(kind, x, axes=[1], keepdims=1)
    block.add(block.op("Sub", x, mean), "f32")


def _through(*types: str) -> Callable[[Block], None]:
    """Append a value converted to another type and back."""

    def emit(block: Block) -> None:
        block.net.features.add(types[0])
        value = pick(block, block.net.random.choice(types))
        if block.net.random.random() < 0.6:
            _as_f32(block, value)

    return emit


def _word(block: Block) -> None:
    """Append strings that are selected, concatenated and compared."""
    random, net = block.net.random, block.net
    net.features.add("strings")
    one, two = pick(block, "string").name, pick(block, "string").name
    match random.choice(["where", "concat", "equal", "identity", "gather", "move", "move"]):
        case "where":
            block.add(block.op("Where", pick(block, "bool").name, one, two), "string")
        case "concat" if net.opset >= 20:
            # The texts stay short: only one of them grows.
            short = block.constant(random.choice(WORDS), str)
            block.add(
                block.op("StringConcat", convert(block, pick(block, "f32"), "string").name, short),
                "string",
            )
        case "equal":
            block.add(block.op("Equal", one, two), "bool")
        case "gather":
            columns = [random.randint(0, 2) for _ in range(3)]
            block.add(block.op("Gather", one, block.ints(*columns), axis=1), "string")
        case "move":
            block.add(_moved_words(block, one, two), "string")
        case _:
            block.add(block.op("Identity", one), "string")


def _moved_words(block: Block, one: str, two: str) -> str:
    """Strings that are reversed, repeated, cut apart or replaced, in the same shape."""
    random = block.net.random
    block.net.features.add("moved strings")
    match random.choice(["reversed", "repeated", "cut", "replaced"]):
        case "reversed":
            back, end = block.ints(-1), block.ints(-(2**31))
            return block.op("Slice", one, back, end, block.ints(random.randint(0, 1)), back)
        case "repeated":
            wide = block.op("Tile", one, block.ints(1, 2))
            start = random.randint(0, 3)
            return block.op("Slice", wide, *(block.ints(at) for at in (start, start + 3, 1)))
        case "cut":
            first, rest = block.ops(
                "Split", one, block.ints(1, 2), outputs=["first", "rest"], axis=1
            )
            return block.op("Concat", rest, first, axis=1)
        case _:
            # Of equal indices in a row, the specification does not say which one counts.
            column = block.op("Slice", two, *(block.ints(at) for at in (0, 1, 1)))
            places = block.op("Expand", block.ints(2), block.op("Shape", column))
            return block.op("ScatterElements", one, places, column, axis=1)


def _recurrent(block: Block) -> None:
    """Append an LSTM, GRU or RNN over the rows, with some inputs and outputs omitted."""
    net, random = block.net, block.net.random
    kind, gates = random.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    net.features.add(kind)
    direction = random.choice(["forward", "reverse", "bidirectional"])
    n = 2 if direction == "bidirectional" else 1
    x = block.op("Unsqueeze", pick(block, "f32").name, block.ints(1))

    def weight(*shape: int) -> str:
        return block.constant(net.numbers.normal(0, 0.4, shape))

    inputs = [x, weight(n, gates * 3, 3), weight(n, gates * 3, 3)]
    # The bias, lengths that are always left out, the states and the peepholes.
    optional: list[tuple[int, ...]] = [(n, 2 * gates * 3), (), (n, 1, 3)]
    if kind == "LSTM":
        optional += [(n, 1, 3), (n, 9)]
    inputs += [weight(*shape) if shape and random.random() < 0.5 else "" for shape in optional]
    while not inputs[-1]:
        inputs.pop()
    attributes: dict[str, Any] = {"hidden_size": 3, "direction": direction}
    if kind == "GRU" and random.random() < 0.5:
        attributes["linear_before_reset"] = 1
    stems = ["Y", "Y_h", "Y_c"] if kind == "LSTM" else ["Y", "Y_h"]
    kept = [stem if random.random() < 0.6 else "" for stem in stems]
    if not any(kept):
        kept[random.randrange(len(kept))] = "kept"
    while not kept[-1]:
        kept.pop()
    if "" in kept:
        net.features.add("omitted outputs")
    made = block.ops(kind, *inputs, outputs=kept, **attributes)
    for at, name in enumerate(made):
        if name and at == 0:
            block.add(block.op("ReduceSum", name, block.ints(1, 2), keepdims=0), "f32")
        elif name:
            row = block.op("ReduceSum", name, block.ints(0, 1), keepdims=0)
            block.add(block.op("Add", pick(block, "f32").name, row), "f32")


def _omitted(block: Block) -> None:
    """Append operations with unused outputs omitted."""
    net, random = block.net, block.net.random
    net.features.add("omitted outputs")
    x = pick(block, "f32").name
    match random.choice(["LayerNormalization", "Dropout", "MaxPool"]):
        case "LayerNormalization" if net.opset >= 17:
            scale = block.constant(net.numbers.normal(1, 0.2, 3))
            stems = random.choice([("Y",), ("Y", "", ""), ("Y", "", "spread")])
            made = block.ops("LayerNormalization", x, scale, outputs=stems)
        case "MaxPool":
            wide = block.op("Unsqueeze", x, block.ints(0))
            stems = random.choice([("pool",), ("pool", "")])
            shape = {"kernel_shape": [2], "pads": [0, 1]}
            (pooled, *_) = block.ops("MaxPool", wide, outputs=stems, **shape)
            made = [block.op("Squeeze", pooled, block.ints(0))]
        case _:
            made = block.ops("Dropout", x, outputs=random.choice([("kept",), ("kept", "")]))
    block.add(made[0], "f32")


def _unknown_rank(block: Block) -> None:
    block.net.features.add("unknown rank")
    value = pick(block, "any")
    match block.net.random.choice(["unary", "binary", "back"]):
        case "unary":
            kind = block.net.random.choice(["Tanh", "Neg", "Abs"])
            block.add(block.op(kind, value.name), "any")
        case "binary":
            block.add(block.op("Add", value.name, pick(block, "any").name), "any")
        case _:
            total = block.op("ReduceSum", value.name, keepdims=0)
            block.add(block.op("Sub", pick(block, "f32").name, total), "f32")


_PLAIN = [_binary, _binary, _binary, _unary, _unary, _product, _joined, _chosen, _logic, _counted]

#: The parts from which a program is generated: operations, types of states, oldest opset.
FLAVOURS: dict[str, tuple[list[Callable[[Block], None]], tuple[str, ...], int]] = {
    "plain": ([*_PLAIN, _summed], ("f32", "f32", "i64", "bool", "f16", "f64"), 13),
    "strings": ([_word] * 6, ("string", "string", "f32"), 19),
    "optionals": ([], ("f32",), 18),
    "recurrent": ([_recurrent] * 4, ("f32",), 14),
    "omitted": ([_omitted] * 5, ("f32",), 13),
    "4 bits": ([_through("i4", "u4")] * 4, ("i4", "u4", "f32", "f32", "f32"), 21),
    "8-bit floats": ([_through("f8e4m3", "f8e5m2")] * 4, ("f8e4m3", "f8e5m2", "f32"), 19),
    "unknown rank": ([_unknown_rank] * 5, ("any", "any", "f32"), 14),
    "deep": ([], ("f32", "i64"), 13),
}
