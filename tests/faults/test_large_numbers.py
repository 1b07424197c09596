"""OVN160 and OVN161 name only integers that may be too large for OpenVINO."""

from __future__ import annotations

import irloop
from irloop.dialects.openvino.activation import Clamp, ReLU
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.faults.catalogue import faults
from irloop.graph.walk import all_nodes


def test_arithmetic_of_sizes_and_between_small_bounds_is_not_named() -> None:
    b = irloop.Builder("openvino", opset=8)
    x, f = b.input("x", "i64", [None]), b.input("f", "f32", [None])
    small, large = Clamp(0.0, 1000.0), Clamp(0.0, 2.0**30)
    for at, value in enumerate(
        [
            b.op(ReLU(), x),
            b.op(large, x),
            b.op(small, x),
            b.op(ReLU(), f),
            b.op(ReLU(), b.op(ShapeOf3(), f)),
        ]
    ):
        b.output(f"y{at}", value)
    fault = faults()["OVN160"]()
    found = [node.op for node in all_nodes(b.model().graph) if list(fault.find(node))]
    assert found == [ReLU(), large]


def test_small_constants_of_u32_are_not_named() -> None:
    b = irloop.Builder("openvino", opset=8)
    x = b.input("x", "u32", [2])
    numbers = (2**31 - 1, 2**31)
    for at, number in enumerate(numbers):
        b.output(f"y{at}", b.op("Add", x, b.constant([number, 1], "u32")))
    fault = faults()["OVN161"]()
    found = [text for node in all_nodes(b.model().graph) for text in fault.find(node)]
    assert len(found) == 1
    assert str(2**31) in found[0]
