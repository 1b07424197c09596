"""Operations of programs whose lists change their sizes; each reads and adds values of a block.

Values of type f32 are lists (rank 1), and those of type i64 sizes (rank 0).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from onnx import helper, numpy_helper

from benchmarks.loop_programs.onnx_blocks import TYPES, Block

__all__ = ["OPERATIONS", "a_list", "a_size", "below", "copied"]

#: The largest result of arithmetic with sizes.
LARGEST_SIZE = 9
#: Operations choose among so many of the newest values.
NEWEST = 12
#: Limits of comparisons; programs do not create these numbers deliberately.
LIMITS = (-0.337, 0.119, 0.413)


def a_list(block: Block) -> str:
    """A list that the block sees."""
    found = [value.name for value in block.visible() if value.type == "f32"]
    return block.net.random.choice(found[:NEWEST])


def a_size(block: Block) -> str:
    """A size that the block sees, or the size of a list."""
    found = [value.name for value in block.visible() if value.type == "i64"]
    if not found or block.net.random.random() < 0.2:
        return _measure(block, a_list(block))
    return block.net.random.choice(found[:NEWEST])


def _measure(block: Block, name: str) -> str:
    """The size of a list; the block can read it from then on."""
    zero = block.constant(0, np.int64)
    return block.add(block.op("Gather", block.op("Shape", name), zero, axis=0), "i64").name


def _vector(block: Block, size: str) -> str:
    """A size as a list of one number, as operations on shapes read it."""
    return block.op("Unsqueeze", size, block.ints(0))


def _first(block: Block, name: str, size: str) -> str:
    """The first elements of a list, or all if it has fewer."""
    return block.op("Slice", name, block.ints(0), _vector(block, size), block.ints(0))


def _limited(block: Block, name: str) -> str:
    """At most the first 6 to 14 elements, so that many iterations cannot exceed the limits."""
    end = block.ints(block.net.random.randint(6, 14))
    return block.op("Slice", name, block.ints(0), end, block.ints(0))


def copied(block: Block, name: str) -> str:
    """A value of a node of its own: ONNX Runtime needs one for each result of a body."""
    return block.op(block.net.random.choice(["Identity", "Neg"]), name)


def below(block: Block) -> str:
    """Whether a size is below a limit."""
    return block.op("Less", a_size(block), block.constant(block.net.random.randint(1, 9), np.int64))


def _read_size(block: Block) -> None:
    _measure(block, a_list(block))


def _arithmetic(block: Block) -> None:
    """Append a size computed from two, at most LARGEST_SIZE."""
    random = block.net.random
    kind = random.choice(["Add", "Sub", "Mul", "Max", "Min"])
    made = block.op(kind, a_size(block), a_size(block))
    least, most = (block.constant(x, np.int64) for x in (0, random.randint(4, LARGEST_SIZE)))
    block.add(block.op("Max", block.op("Min", made, most), least), "i64")


def _unary(block: Block) -> None:
    kind = block.net.random.choice(["Neg", "Abs", "Tanh", "Sigmoid"])
    block.add(block.op(kind, a_list(block)), "f32")


def _concat(block: Block) -> None:
    both = block.op("Concat", a_list(block), a_list(block), axis=0)
    block.add(_limited(block, both), "f32")


def _slice(block: Block) -> None:
    block.add(_first(block, a_list(block), a_size(block)), "f32")


def _compress(block: Block) -> None:
    name = a_list(block)
    kept = block.op("Greater", name, block.constant(block.net.random.choice(LIMITS)))
    block.add(block.op("Compress", name, kept, axis=0), "f32")


def _pad(block: Block) -> None:
    random = block.net.random
    pads = block.ints(random.randint(0, 1), random.randint(0, 2))
    block.add(_limited(block, block.op("Pad", a_list(block), pads)), "f32")


def _tile(block: Block) -> None:
    block.add(_limited(block, block.op("Tile", a_list(block), block.ints(2))), "f32")


def _counted(block: Block, size: str) -> str:
    """The numbers from 0 to a size, which is not among them."""
    return block.op("Range", block.constant(0, np.int64), size, block.constant(1, np.int64))


def _range(block: Block) -> None:
    block.add(block.op("Cast", _counted(block, a_size(block)), to=TYPES["f32"]), "f32")


def _expand(block: Block) -> None:
    sizes = _vector(block, a_size(block))
    if block.net.random.random() < 0.5:
        sizes = block.op("Shape", a_list(block))
    block.add(block.op("Expand", block.constant(1.5), sizes), "f32")


def _fill(block: Block) -> None:
    value = numpy_helper.from_array(np.array([0.5], np.float32), "value")
    filled = block.op("ConstantOfShape", _vector(block, a_size(block)), value=value)
    block.add(filled, "f32")


def _gather(block: Block) -> None:
    """Append the first elements, by their numbers."""
    name, size = a_list(block), a_size(block)
    known = block.op("Min", _measure(block, name), size)
    block.add(block.op("Gather", name, _counted(block, known), axis=0), "f32")


def _where(block: Block) -> None:
    name, zero = a_list(block), block.constant(0.0)
    block.add(block.op("Where", block.op("Less", name, zero), zero, name), "f32")


def _sum(block: Block) -> None:
    """Append the sum of the elements that two lists have in common."""
    left, right = a_list(block), a_list(block)
    size = block.op("Min", _measure(block, left), _measure(block, right))
    made = block.op("Add", _first(block, left, size), _first(block, right, size))
    block.add(block.op("Tanh", made), "f32")


def _total(block: Block) -> None:
    total = block.op("ReduceSum", a_list(block), keepdims=1)
    block.add(block.op("Tanh", total), "f32")


def _cumulative(block: Block) -> None:
    sums = block.op("CumSum", a_list(block), block.constant(0, np.int64))
    block.add(block.op("Tanh", sums), "f32")


def _known(block: Block) -> None:
    """Append a constant list."""
    size = block.net.random.randint(1, 3)
    numbers = block.net.numbers.normal(size=size).round(2)
    block.add(block.op("Identity", block.constant(numbers)), "f32")


def _scan(block: Block) -> None:
    """Append the running sums of a list, and the numbers before them, by a Scan."""
    # ONNX Runtime refuses a Scan over nothing.
    sliced = block.op("Concat", a_list(block), block.constant([0.5]), axis=0)
    inner = Block(block.net, block)
    before, part = block.net.name("before"), block.net.name("part")
    after = inner.op("Tanh", inner.op("Add", before, part))
    kept = inner.op("Neg", before)
    number = partial(helper.make_tensor_value_info, elem_type=TYPES["f32"], shape=[])
    inputs, outputs = ([number(name) for name in pair] for pair in ((before, part), (after, kept)))
    body = inner.graph("step", inputs, outputs)
    start = block.op("ReduceSum", a_list(block), keepdims=0)
    _, joined = block.ops(
        "Scan", start, sliced, outputs=("sum", "sums"), body=body, num_scan_inputs=1
    )
    block.add(_limited(block, joined), "f32")


#: The operations, by the names of the features.
OPERATIONS: dict[str, Callable[[Block], None]] = {
    "size": _read_size,
    "arithmetic": _arithmetic,
    "unary": _unary,
    "concat": _concat,
    "slice": _slice,
    "compress": _compress,
    "pad": _pad,
    "tile": _tile,
    "range": _range,
    "expand": _expand,
    "fill": _fill,
    "gather": _gather,
    "where": _where,
    "sum": _sum,
    "total": _total,
    "cumulative": _cumulative,
    "constant list": _known,
    "scan": _scan,
}
