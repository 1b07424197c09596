"""Memory of versions 2 to 7: a pair of layers that keeps a value between two inferences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from irloop.dialects.openvino import elementwise, slicing
from irloop.dialects.openvino import state as today
from irloop.formats.openvino.document import Layer, Net
from irloop.formats.openvino.legacy.base import LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.steps import Steps
from irloop.graph.model import Value
from irloop.graph.types import Shape
from irloop.graph.walk import reached

#: The largest product of memories and edges of a net that is searched.
MOST_STEPS = 1 << 22


class Memory(LegacyLayer, type="Memory", inputs=(0, 1), outputs=None):
    """Index 1 reads the value, which is zeros at first; index 0 writes it."""

    id: str
    index: int = 0
    size: int = 2
    is_real: ClassVar[bool] = False
    has_outputs: ClassVar[bool] = False

    def build(self, s: Steps, *inputs: Value) -> tuple[Value, ...]:
        if self.size != 2 or self.index not in (0, 1):
            raise LayerFault(
                "is not one of a pair",
                code="IRL405",
                expected="size 2, and index 0 or 1",
                found=f"size {self.size}, index {self.index}",
            )
        if bool(inputs) != (self.index == 0):
            raise LayerFault(
                "has its index swapped: index 0 writes and index 1 reads",
                code="IRL405",
                expected=f"index {int(not inputs)}",
                found=f"index {self.index}",
                cause="the engine of 2020 crashed on such a file",
                fix="exchange the indices of the two layers of the pair",
            )
        if inputs:
            (value,) = inputs
            if isinstance(value.producer.op, slicing.Concat):
                # OpenVINO of today would join the parts in the memory of the state, while one of
                # them is still there.
                value = s(elementwise.Maximum(), value, value)
            type = value.type
            s.emit(today.Assign6(self.id, type.element, type.shape), value)  # type: ignore[union-attr]
            return ()
        element, dims = s.outputs[0].element, s.out()
        zeros = s.spread(s.constant(0, element), dims) if dims else s.constant(0, element)
        return (s(today.ReadValue6(self.id, element, Shape(dims)), zeros),)


def overwritten(net: Net) -> Iterator[Layer]:
    """Yield each Memory that writes a value before all layers have read the earlier one.

    The engine of 2020 only waited for those layers from which the new value is computed. A net with
    more memories and edges than any real one is not searched.
    """
    memories = [layer for layer in net.layers if (layer.type or "").lower() == "memory"]
    if not 0 < len(memories) * len(net.edges) <= MOST_STEPS:
        return
    sources: dict[str | None, list[str | None]] = {}
    for edge in net.edges:
        sources.setdefault(edge.to_layer, []).append(edge.from_layer)
    readers = {layer.id: layer.data.get("id") for layer in memories if layer.outputs}
    for writer in memories:
        before = set(reached([writer.id], lambda layer: sources.get(layer, ())))
        name = writer.data.get("id")
        read = (edge.to_layer for edge in net.edges if readers.get(edge.from_layer) == name)
        if writer.inputs and name is not None and not before.issuperset(read):
            yield writer
