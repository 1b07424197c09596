"""Memory of versions 2 to 7: a pair of layers that keeps a value between two inferences."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

from irloop.dialects.openvino import elementwise, slicing
from irloop.dialects.openvino import state as today
from irloop.formats.openvino.document import Layer, Net
from irloop.formats.openvino.legacy.base import LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.steps import Steps
from irloop.graph.model import Value
from irloop.graph.types import Shape


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
        zeros = s.broadcast(s.constant(0, element), dims) if dims else s.constant(0, element)
        return (s(today.ReadValue6(self.id, element, Shape(dims)), zeros),)


def overwritten(net: Net) -> Iterator[Layer]:
    """Yield each Memory that writes a value before all layers have read the earlier one.

    The engine of 2020 only waited for those layers from which the new value is computed.
    """
    memories = [layer for layer in net.layers if (layer.type or "").lower() == "memory"]
    if not memories:
        return
    sources: dict[str | None, list[str | None]] = {}
    for edge in net.edges:
        sources.setdefault(edge.to_layer, []).append(edge.from_layer)
    for writer in memories:
        before = _before(writer, sources)
        names = writer.data.get("id")
        readers = {item.id for item in memories if item.outputs and item.data.get("id") == names}
        late = (e for e in net.edges if e.from_layer in readers and e.to_layer not in before)
        if writer.inputs and any(late):
            yield writer


def _before(layer: Layer, sources: dict[str | None, list[str | None]]) -> Collection[str | None]:
    """The ids of a layer and of all from which it is computed."""
    found = {layer.id}
    open_ = [layer.id]
    while open_:
        new = set(sources.get(open_.pop(), ())) - found
        found |= new
        open_ += new
    return found
