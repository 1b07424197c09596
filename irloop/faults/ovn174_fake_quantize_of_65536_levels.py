"""OVN174: FakeQuantize of 65536 levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add, Round
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType
from irloop.passes.folding import folded

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["FakeQuantizeOf65536Levels"]

#: Numbers of 16 bits.
_LEVELS = 2**16
#: OpenVINO takes limits for equal that differ by less than this; this is some more than measured.
_NEAR = 1e-5


class FakeQuantizeOf65536Levels(
    Fault,
    code="OVN174",
    engine="openvino",
    title="FakeQuantize of 65536 levels",
    effect=Effect.WRONG,
    fix="Write its formula as arithmetic, or use one level less.",
    repairs_always=True,
):
    """FakeQuantize of 65536 levels.

    What happens:
        The CPU plugin leaves the operation out: numbers beyond its limits are not limited, and
        others are not rounded. If it is all that is between an input and an output of the model,
        compilation fails: ``FQ stripping failed``.
    Where:
        A FakeQuantize of exactly 65536 levels, as quantisers write it for 16 bits, whose limits are
        constant and the same for its input and its output.
    What irloop does:
        Conversion to IR and ``irloop transform`` write it as Maximum, Minimum, Subtract, Multiply,
        Round and Add. Conversion to IR writes quantisation to 16 bits as arithmetic anyway.
    """

    operations = (FakeQuantize,)

    def find(self, node: Node) -> Iterator[str]:
        op = node.op
        if isinstance(op, FakeQuantize) and op.levels == _LEVELS and _keeps_its_range(node):
            yield f"FakeQuantize {node.name!r} has 65536 levels"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Write the formula of FakeQuantize.

        Given::

            y = FakeQuantize(x, low, high, low, high, levels 65536)

        Result::

            y = Round((Minimum(Maximum(x, low), high) - low) * (1 / s)) * s + low
            s = (high - low) / 65535
        """
        import numpy as np

        x = node.inputs[0]
        limits = [folded(limit) for limit in node.inputs[1:3] if limit is not None]
        assert x is not None
        low, high = (limit.numpy().astype(np.float64) for limit in limits if limit is not None)
        step = (high - low) / (_LEVELS - 1)
        least, most, scale, inverse = (
            w.constant(numbers, ElementType.F32)
            for numbers in (low, high, step, 1 / np.where(step == 0, 1, step))
        )
        limited = w.minimum(w.maximum(w.convert(x, ElementType.F32), least), most)
        ratio = w.multiply(w.subtract(limited, least), inverse)
        codes = w(Round(mode="half_to_even"), ratio)
        result = w.add(w.multiply(codes, scale), least)
        w.rewriter.replace_node(node, [w.convert(result, element_of(x))])


def _keeps_its_range(node: Node) -> bool:
    """Return whether the limits of a FakeQuantize are constant and the same on both sides."""
    import numpy as np

    limits = [None if value is None else folded(value) for value in node.inputs[1:]]
    arrays = [limit.numpy().astype(np.float64) for limit in limits if limit is not None]
    if len(arrays) != 4:
        return False
    low, high, new_low, new_high = arrays
    pairs = (np.broadcast_arrays(low, new_low), np.broadcast_arrays(high, new_high))
    return all(np.allclose(left, right, rtol=_NEAR, atol=0) for left, right in pairs)


@FakeQuantizeOf65536Levels.case(
    "fake_quantize_of_65536_levels",
    "IR: rare forms",
    "OpenVINO FakeQuantize-1",
    "if x <= min(input_low, input_high): output = output_low; elif x > max(input_low, input_high): "
    "output = output_high",
    # One is added: OpenVINO would not compile the operation alone.
    run([[[-3, 70000]]], [[[0, 65535]]]),
)
def smallest() -> Model:
    m = IrModel()
    limits = [m.constant(number) for number in (0, 65535, 0, 65535)]
    x = m(Add(), m.input("x", 1, 2), m.constant(1))
    return m.done(m(FakeQuantize(levels=_LEVELS), x, *limits))
