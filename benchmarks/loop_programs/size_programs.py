"""Random ONNX programs of arithmetic with sizes: shapes of inputs, and tables of constants.

Engines compute such numbers while they compile a model, by other rules than the numbers of
inferences, and take them for shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from onnx import TensorProto, helper

from benchmarks.loop_programs.onnx_blocks import Block, Net
from benchmarks.loop_programs.onnx_programs import Program

__all__ = ["draw"]

#: Sizes of the inputs of the inferences in one compiled model: x is [a,b,3] and y is [a,d].
SIZES = ((4, 5, 2), (2, 40, 3), (1, 1, 1), (300, 2, 2), (4, 5, 2))
#: The longest list that operations make.
LONGEST = 5

#: A list of i64: the name of its value and its length.
List = tuple[str, int]

Dims = list[str | int | None]

#: An output: the name of its value, its element type and its rank.
Output = tuple[str, int, int]


def draw(seed: int) -> Program:
    """The program for a seed."""
    return _Writer(Random(f"sizes {seed}")).program()  # noqa: S311


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.net = Net(random, 17, "a")
        self.named = random.random() < 0.3

    def program(self) -> Program:
        block, where = Block(self.net), self.random.choice(["graph", "loop", "branch"])
        sources = [(block.op("Shape", "x"), 3), (block.op("Shape", "y"), 2)]
        sources.append((block.op("Gather", self._table(block), self._one(block, 2), axis=0), 3))
        if where == "loop":
            outputs = self._loop(block, sources)
        elif where == "branch":
            outputs = self._branch(block, sources)
        else:
            outputs = self._uses(block, self._grown(block, sources))
        x: Dims = ["a", "b", 3] if self.named else [None, None, 3]
        y: Dims = ["a", "d"] if self.named else [None, None]
        inputs = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, x),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, y),
        ]
        infos = [
            helper.make_tensor_value_info(name, kind, [None] * rank) for name, kind, rank in outputs
        ]
        proto = helper.make_model(
            block.graph("sizes", inputs, infos),
            opset_imports=[helper.make_opsetid("", self.net.opset)],
            ir_version=8,
        )
        numbers = self.net.numbers
        sets = [
            [numbers.normal(size=(a, b, 3)).astype("f"), numbers.normal(size=(a, d)).astype("f")]
            for a, b, d in SIZES
        ]
        return Program(proto, sets, sorted({where, *self.net.features}))

    def _table(self, block: Block) -> str:
        rows = [[self.random.randint(-4, 6) for _ in range(3)] for _ in range(2)]
        return block.constant(rows, np.int64)

    def _one(self, block: Block, limit: int) -> str:
        return block.constant(self.random.randrange(limit), np.int64)

    def _grown(self, block: Block, sources: list[List]) -> list[List]:
        """The sources, and what three to nine operations compute from them."""
        lists = [*sources]
        for _ in range(self.random.randint(3, 9)):
            name = self.random.choice(list(_OPERATIONS))
            made = _OPERATIONS[name](self, block, lists)
            if made is not None:
                self.net.features.add(name)
                lists.append(made)
        return lists

    def _uses(self, block: Block, lists: list[List]) -> list[Output]:
        """One to three outputs: numbers, and tensors that have them as sizes."""
        outputs: list[Output] = []
        for _ in range(self.random.randint(1, 3)):
            found, length = lists[-1 - self.random.randrange(min(4, len(lists)))]
            zero, seven = (block.constant(limit, np.int64) for limit in (0, 7))
            sizes = block.op("Clip", block.op("Abs", found), zero, seven)
            kind = self.random.choice(["values", "values", "expand", "fill", "tile", "slice"])
            if kind == "expand" and length <= 4:
                wide = block.op("Expand", block.constant([1.0]), sizes)
                outputs.append((wide, TensorProto.FLOAT, length))
            elif kind == "fill" and length <= 4:
                outputs.append((block.op("ConstantOfShape", sizes), TensorProto.FLOAT, length))
            elif kind == "tile":
                first = block.op("Gather", sizes, block.ints(0), axis=0)
                times = block.op("Concat", first, block.ints(1), axis=0)
                outputs.append((block.op("Tile", "y", times), TensorProto.FLOAT, 2))
            elif kind == "slice":
                last = block.op("Gather", sizes, block.ints(length - 1), axis=0)
                sliced = block.op("Slice", "x", block.ints(0), last, block.ints(0))
                outputs.append((sliced, TensorProto.FLOAT, 3))
            else:
                outputs.append((block.op("Identity", found), TensorProto.INT64, 1))
        return outputs

    def _loop(self, block: Block, sources: list[List]) -> list[Output]:
        """The same in the body of a Loop that runs b modulo 4 times."""
        shape, _ = sources[0]
        size = block.op("Gather", shape, self._one(block, 2), axis=0)
        trips = block.op("Mod", size, block.constant(4, np.int64))
        body = Block(self.net, block)
        inputs = [
            helper.make_tensor_value_info(self.net.name("i"), TensorProto.INT64, []),
            helper.make_tensor_value_info(self.net.name("go"), TensorProto.BOOL, []),
            helper.make_tensor_value_info(self.net.name("state"), TensorProto.INT64, [3]),
        ]
        number = body.op("Unsqueeze", inputs[0].name, body.ints(0))
        inside = [*sources, (inputs[2].name, 3), (number, 1)]
        found, length = self._grown(body, inside)[-1]
        limits = body.constant(-99, np.int64), body.constant(99, np.int64)
        bounded = body.op("Clip", found, *limits)
        start = body.op("Gather", bounded, body.ints(0, length - 1, -1), axis=0)
        following = body.op("Add", start, inputs[2].name)
        goes_on = body.op("Identity", inputs[1].name)
        outputs = [
            helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []),
            helper.make_tensor_value_info(following, TensorProto.INT64, [3]),
            helper.make_tensor_value_info(bounded, TensorProto.INT64, [length]),
        ]
        made = block.ops(
            "Loop",
            trips,
            block.constant(True, np.bool_),
            block.ints(1, -2, 3),
            outputs=("last", "joined"),
            body=body.graph("body", inputs, outputs),
        )
        return [(made[0], TensorProto.INT64, 1), (made[1], TensorProto.INT64, 2)]

    def _branch(self, block: Block, sources: list[List]) -> list[Output]:
        """The same in both branches of an If."""
        size = block.op("Gather", sources[0][0], self._one(block, 2), axis=0)
        condition = block.op("Less", size, block.constant(3, np.int64))
        graphs = []
        for name in ("then", "else"):
            branch = Block(self.net, block)
            found, length = self._grown(branch, sources)[-1]
            same = branch.op("Gather", found, branch.ints(0, length - 1, -1), axis=0)
            info = helper.make_tensor_value_info(same, TensorProto.INT64, [3])
            graphs.append(branch.graph(name, [], [info]))
        chosen = block.op("If", condition, then_branch=graphs[0], else_branch=graphs[1])
        return self._uses(block, [(chosen, 3)])

    def pick(self, lists: list[List], length: int | None = None) -> List | None:
        """One of the lists, of this length if it is given."""
        found = [item for item in lists if length in (None, item[1])]
        return self.random.choice(found) if found else None


Operation = Callable[[_Writer, Block, list[List]], List | None]


def _gather(writer: _Writer, block: Block, lists: list[List]) -> List:
    name, length = writer.random.choice(lists)
    places = [writer.random.randrange(-length, length) for _ in range(writer.random.randint(1, 3))]
    return block.op("Gather", name, block.ints(*places), axis=0), len(places)


def _slice(writer: _Writer, block: Block, lists: list[List]) -> List:
    name, length = writer.random.choice(lists)
    start = writer.random.randrange(length)
    end = writer.random.randint(start + 1, length)
    return block.op("Slice", name, block.ints(start), block.ints(end)), end - start


def _concat(writer: _Writer, block: Block, lists: list[List]) -> List | None:
    (left, m), (right, n) = writer.random.choice(lists), writer.random.choice(lists)
    return (block.op("Concat", left, right, axis=0), m + n) if m + n <= LONGEST else None


def _split(writer: _Writer, block: Block, lists: list[List]) -> List | None:
    name, length = writer.random.choice(lists)
    if length == 1:
        return None
    parts = block.ops("Split", name, block.ints(1, length - 1), outputs=("a", "b"), axis=0)
    lists.append((parts[0], 1))
    return parts[1], length - 1


def _arithmetic(writer: _Writer, block: Block, lists: list[List]) -> List | None:
    name, length = writer.random.choice(lists)
    kind = writer.random.choice(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"])
    if kind in ("Div", "Mod") or writer.random.random() < 0.6:
        return block.op(kind, name, block.ints(writer.random.randint(1, 4))), length
    other = writer.pick(lists, length)
    if other is None:
        return None
    return block.op(kind, *writer.random.sample([name, other[0]], 2)), length


def _unary(writer: _Writer, block: Block, lists: list[List]) -> List:
    name, length = writer.random.choice(lists)
    return block.op(writer.random.choice(["Abs", "Abs", "Neg", "Sign"]), name), length


def _scalar(writer: _Writer, block: Block, lists: list[List]) -> List | None:
    found = writer.pick(lists, 1)
    if found is None:
        return None
    scalar = block.op("Squeeze", found[0], block.ints(0))
    changed = block.op(writer.random.choice(["Abs", "Neg", "Identity"]), scalar)
    return block.op("Unsqueeze", changed, block.ints(0)), 1


def _converted(writer: _Writer, block: Block, lists: list[List]) -> List:
    """A list in another type and back; as f32, sometimes scaled, and as a boolean negated."""
    name, length = writer.random.choice(lists)
    kinds = (TensorProto.BOOL, TensorProto.INT32, TensorProto.FLOAT)
    kind = writer.random.choice([*kinds, TensorProto.UINT8, TensorProto.FLOAT16])
    if kind in (TensorProto.UINT8, TensorProto.FLOAT16):
        # What does not fit into the type has no defined value.
        name = block.op("Clip", name, *(block.constant(x, np.int64) for x in (0, 255)))
    other = block.op("Cast", name, to=kind)
    if kind == TensorProto.BOOL and writer.random.random() < 0.4:
        other = block.op("Not", other)
    if kind == TensorProto.FLOAT and writer.random.random() < 0.6:
        scale = writer.random.choice([0.25, 0.5, 1.5, 2.0])
        other = block.op("Mul", other, block.constant([scale]))
    return block.op("Cast", other, to=TensorProto.INT64), length


def _compared(writer: _Writer, block: Block, lists: list[List]) -> List:
    name, length = writer.random.choice(lists)
    kind = writer.random.choice(["Equal", "Less", "Greater"])
    flag = block.op(kind, name, block.ints(writer.random.randint(0, 4)))
    if writer.random.random() < 0.5:
        return block.op("Cast", flag, to=TensorProto.INT64), length
    return block.op("Where", flag, name, block.ints(writer.random.randint(0, 3))), length


def _reduced(writer: _Writer, block: Block, lists: list[List]) -> List:
    name, _ = writer.random.choice(lists)
    if writer.random.random() < 0.5:
        return block.op("ReduceSum", name, block.ints(0), keepdims=1), 1
    kind = writer.random.choice(["ReduceProd", "ReduceMax", "ReduceMin"])
    return block.op(kind, name, axes=[0], keepdims=1), 1


def _limited(writer: _Writer, block: Block, lists: list[List]) -> List:
    name, length = writer.random.choice(lists)
    limits = [block.constant(x, np.int64) for x in (0, writer.random.randint(2, 5))]
    return block.op("Clip", name, *limits), length


def _size_of_range(writer: _Writer, block: Block, lists: list[List]) -> List:
    name, _ = writer.random.choice(lists)
    zero, one, six = (block.constant(x, np.int64) for x in (0, 1, 6))
    first = block.op("Gather", name, zero, axis=0)
    return block.op("Shape", block.op("Range", zero, block.op("Clip", first, zero, six), one)), 1


def _size_of_reshape(writer: _Writer, block: Block, lists: list[List]) -> List:
    shape = writer.random.choice([[-1], [0, -1], [-1, 3], [0, 0, 3, 1], [1, -1]])
    return block.op("Shape", block.op("Reshape", "x", block.ints(*shape))), len(shape)


_OPERATIONS: dict[str, Operation] = {
    "gather": _gather,
    "slice": _slice,
    "concat": _concat,
    "split": _split,
    "arithmetic": _arithmetic,
    "unary": _unary,
    "scalar": _scalar,
    "converted": _converted,
    "compared": _compared,
    "reduced": _reduced,
    "limited": _limited,
    "range": _size_of_range,
    "reshape": _size_of_reshape,
}
