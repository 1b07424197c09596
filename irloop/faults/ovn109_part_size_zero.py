"""OVN109: a part_size of 0."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.building.ir_model import IrModel, with_input_ports
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Model, Node

__all__ = ["PartSizeZero"]


class PartSizeZero(
    Fault,
    code="OVN109",
    engine="openvino",
    title="A part_size of 0",
    effect=Effect.CRASH,
    rule="IRL615",
    fix="Set part_size to the number of elements of a slice.",
):
    """A part_size of 0.

    What happens:
        The process crashes while the file is read.
    Where:
        A port map entry has part_size 0.
    What irloop does:
        Validation refuses the file.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        ports = node.body().ports
        for port in (*ports.inputs, *ports.outputs):
            if isinstance(port, Sliced | Concatenated) and port.part_size <= 0:
                yield f"the part_size of port {port.external} is {port.part_size}"


@PartSizeZero.case(
    "iterator_part_size_zero",
    "IR outside of the specification: refused, or as meant",
    "OpenVINO TensorIterator-1",
    "part_size is the size of a slice.",
    run([[[1, 2], [3, 4], [5, 6]]], [None]),
    may_be_refused=True,
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 3, 2)
    loop = m.tensor_iterator()
    part = loop.slice(x, 0)
    loop.joined(loop(Add(), part, part), 0)
    return with_input_ports(m.done(*loop.done()), Sliced, part_size=0)
