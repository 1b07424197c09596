"""Converts the region layers of YOLO to ONNX."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import activation
from irloop.dialects.openvino import region as ov
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.dialects.writing.sizes import Sizes
from irloop.graph.model import Value

__all__: list[str] = []


@exports(ov.RegionYolo)
def export_region_yolo(c: Export, op: ov.RegionYolo, data: Value) -> Value:
    """Write RegionYolo: split the values of each cell, activate the parts, and join them again.

    Sigmoid activates the coordinates x and y and the confidence; Sigmoid or Softmax activates the
    classes. A Reshape separates the regions before this, and another one restores the output shape.
    """
    needed_rank(c, data)
    sizes = Sizes(c)
    items, channels, rows, columns = sizes.of(data)
    needed = op.regions() * op.each()
    if channels != needed:
        raise c.refuse(
            f"it needs {needed} channels, and its data has a different or an unknown number"
        )
    cells = sizes.reshape(data, [items, op.regions(), op.each(), rows, columns])
    activated = _activated(c, op, cells)
    if not op.do_softmax:
        return sizes.reshape(activated, [items, needed, rows, columns])
    first, end = op.axis % 4, op.end_axis % 4
    outer = [items, needed, rows, columns]
    merged = sizes.product(outer[first : end + 1])
    return sizes.reshape(activated, [*outer[:first], merged, *outer[end + 1 :]])


def _activated(c: Export, op: ov.RegionYolo, cells: Value) -> Value:
    """Apply the activations of RegionYolo to cells [N, regions, values, H, W].

    The coordinates x and y and the confidence go through a sigmoid, the classes through a sigmoid
    or a softmax. Other coordinates are not changed.
    """
    lengths = [min(op.coords, 2), max(op.coords - 2, 0), 1, op.classes]
    parts = iter(c.split(cells, 2, [length for length in lengths if length]))
    result = []
    for index, length in enumerate(lengths):
        if not length:
            continue
        part = next(parts)
        if index == 3 and op.do_softmax:
            result.append(c.softmax(part, 2))
        else:
            result.append(part if index == 1 else c.numeric(activation.Sigmoid(), part))
    return c.concat(result, 2)
