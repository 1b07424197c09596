"""Random ONNX programs of loops whose states change their sizes, and whose bodies read sizes.

Engines keep memory and shapes of states from one iteration, one run of an inner loop or one
inference for the next.
"""

from __future__ import annotations

from random import Random

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.loop_programs.onnx_blocks import TYPES, Block, Net, Value
from benchmarks.loop_programs.onnx_programs import Program
from benchmarks.loop_programs.resizing_operations import (
    OPERATIONS,
    a_list,
    a_size,
    below,
    copied,
)

__all__ = ["draw"]

#: The inferences in one compiled model: the size of x, another size for y, and the trip count M.
INFERENCES = ((3, 2, 3), (2, 4, 0), (4, 1, 2), (3, 2, 3), (3, 2, 3), (3, 2, 0))
#: The sizes of x and y. If one is fixed, an engine knows the initial size of some states.
SIZES: tuple[tuple[int | str, int | str], ...] = (("n", "n"), ("n", "m"), (3, "m"), ("n", 2))
#: How deep loops are nested, and how deep loops and branches together.
DEEPEST_LOOP, DEEPEST_BLOCK = 2, 4


def draw(seed: int) -> Program:
    """The program for a seed."""
    random = Random(f"resizing {seed}")  # noqa: S311
    net = Net(random, 17, "n")
    left, right = random.choice(SIZES)
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [left]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [right]),
        helper.make_tensor_value_info("M", TensorProto.INT64, []),
    ]
    block = Block(net)
    block.add("x", "f32")
    block.add("y", "f32")
    _grow(block, random.randint(1, 4))
    for _ in range(random.randint(1, 2)):
        _loop(block)
    proto = helper.make_model(
        block.graph("resizing", inputs, _outputs(block)),
        opset_imports=[helper.make_opsetid("", net.opset)],
        ir_version=8,
    )
    sets = []
    for n, m, trips in INFERENCES:
        known = {"n": n, "m": m}
        x, y = (known[size] if isinstance(size, str) else size for size in (left, right))
        sets.append([_numbers(net, x), _numbers(net, y), np.array(trips)])
    fixed = isinstance(left, int) or isinstance(right, int)
    net.features.add("fixed size" if fixed else "equal sizes" if left == right else "other sizes")
    return Program(proto, sets, sorted(net.features))


def _numbers(net: Net, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return net.numbers.normal(size=size).round(2).astype(np.float32)


def _outputs(block: Block) -> list[onnx.ValueInfoProto]:
    """Copies of the newest lists and sizes."""
    lists = [value for value in block.own if value.type == "f32"][2:]
    sizes = [value for value in block.own if value.type == "i64"]
    chosen = [*lists[-5:], *sizes[-2:]]
    return [_info(block, Value(block.op("Identity", v.name), v.type)) for v in chosen]


def _info(block: Block, value: Value) -> onnx.ValueInfoProto:
    """The declaration of a list, of an unnamed size or one of its own, or of a size."""
    size = block.net.name("n") if block.net.random.random() < 0.7 else None
    shape = [size] if value.type == "f32" else []
    return helper.make_tensor_value_info(value.name, TYPES[value.type], shape)


def _grow(block: Block, count: int) -> None:
    """Append operations; some are branches or loops while the nesting limits permit."""
    random = block.net.random
    for _ in range(count):
        kind = random.random()
        if kind < 0.1 and len(block.iterations) < DEEPEST_LOOP and block.depth < DEEPEST_BLOCK:
            _loop(block)
        elif kind < 0.18 and block.depth < DEEPEST_BLOCK:
            _branch(block)
        else:
            name = random.choice(list(OPERATIONS))
            block.net.features.add(name)
            OPERATIONS[name](block)


def _branch(block: Block) -> None:
    """Append an If whose branches return lists of different sizes."""
    block.net.features.add("branch")
    graphs = []
    condition = below(block)
    for name in ("then", "else"):
        inner = Block(block.net, block)
        _grow(inner, block.net.random.randint(0, 2))
        result = Value(copied(inner, a_list(inner)), "f32")
        graphs.append(inner.graph(name, [], [_info(block, result)]))
    block.add(block.op("If", condition, then_branch=graphs[0], else_branch=graphs[1]), "f32")


def _loop(block: Block) -> None:
    """Append a Loop with one to three states and up to two scan outputs."""
    net, inner = block.net, Block(block.net, block)
    starts = [a_list(block) for _ in range(net.random.randint(1, 3))]
    number, goes = net.name("number"), net.name("goes")
    inner.iterations.append(number)
    if len(inner.iterations) > 1:
        net.features.add("nested")
    states = [inner.add(net.name("state"), "f32") for _ in starts]
    _grow(inner, net.random.randint(*((3, 8) if len(inner.iterations) == 1 else (2, 5))))
    results = _following(inner, states)
    scans = [_scanned(inner) for _ in range(net.random.randint(0, 2))]
    goes_on = _goes_on(inner, goes)
    inputs = [
        helper.make_tensor_value_info(number, TensorProto.INT64, []),
        helper.make_tensor_value_info(goes, TensorProto.BOOL, []),
        *(_info(inner, state) for state in states),
    ]
    outputs = [
        helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []),
        *(_info(inner, result) for result in results),
        *(helper.make_tensor_value_info(scan.name, TYPES[scan.type], []) for scan in scans),
    ]
    body = inner.graph("step", inputs, outputs)
    stems = ["last"] * len(states) + ["joined"] * len(scans)
    made = block.ops("Loop", _trips(block), _starts(block), *starts, outputs=stems, body=body)
    for name in made[: len(states)]:
        block.add(name, "f32")
    for name, scan in zip(made[len(states) :], scans, strict=True):
        net.features.add("scan outputs")
        joined = name if scan.type == "f32" else block.op("Cast", name, to=TYPES["f32"])
        block.add(joined, "f32")


def _trips(block: Block) -> str:
    """The trip count: a constant, from a size, or the input M."""
    random, features = block.net.random, block.net.features
    match random.choice(["constant", "constant", "size", "input"]):
        case "constant":
            trips = random.choice([0, 1, 2, 3, 3])
            if not trips:
                features.add("zero trips")
            return block.constant(trips, np.int64)
        case "size":
            features.add("trips of a size")
            return block.op("Min", a_size(block), block.constant(3, np.int64))
        case _:
            features.add("zero trips")
            return "M"


def _starts(block: Block) -> str:
    """The first condition of a loop, mostly left out or true."""
    chance = block.net.random.random()
    if chance < 0.1:
        block.net.features.add("early stop")
        return below(block)
    return block.constant(True, np.bool_) if chance < 0.4 else ""


def _goes_on(inner: Block, goes: str) -> str:
    """The condition of a body, which may read a size."""
    if inner.net.random.random() < 0.4:
        inner.net.features.add("early stop")
        return below(inner)
    return inner.op("Identity", goes)


def _following(inner: Block, states: list[Value]) -> list[Value]:
    """The next values of the states: new lists, or states again; two may be exchanged."""
    random = inner.net.random
    before = [state.name for state in states]
    newest = [value.name for value in inner.own if value.type == "f32"][-4:]
    names = [random.choice([*newest, *before]) for _ in states]
    if len(states) > 1 and random.random() < 0.3:
        inner.net.features.add("exchange")
        names[:2] = before[1], before[0]
    return [Value(copied(inner, name), "f32") for name in names]


def _scanned(inner: Block) -> Value:
    """A size or a sum, which the loop returns of all iterations."""
    if inner.net.random.random() < 0.6:
        return Value(inner.op("Identity", a_size(inner)), "i64")
    return Value(inner.op("ReduceSum", a_list(inner), keepdims=0), "f32")
