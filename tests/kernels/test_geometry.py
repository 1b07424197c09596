"""Positions of windows: sizes and padding, computed by hand."""

from __future__ import annotations

import pytest

from irloop.kernels.geometry import Window, onnx_placement, openvino_placement


def test_floor_and_both_kinds_of_ceil() -> None:
    # 5 elements, one element of padding at both ends, windows of 2 with stride 3: 0-1, 3-4 and 6-7.
    counts = [
        Window.of((2,), (3,), (), (1,), (1,), rounding=rounding).outputs(0, 5)
        for rounding in ("floor", "ceil", "ceil_torch")
    ]
    # The third window starts at position 6, in the end padding.
    assert counts == [2, 3, 2]


def test_same_padding_takes_the_smaller_half_first() -> None:
    upper = Window.of((4,), (1,), auto_pad="SAME_UPPER")
    lower = Window.of((4,), (1,), auto_pad="same_lower")
    assert upper.pads(0, 10) == (1, 2)
    assert lower.pads(0, 10) == (2, 1)
    assert upper.outputs(0, 10) == lower.outputs(0, 10) == 10


def test_dilation_widens_a_window() -> None:
    window = Window.of((3,), (2,), (2,), (1,), (0,))
    assert window.extent(0) == 5
    assert window.outputs(0, 8) == 3
    assert window.reach(0, 8) == (1, 0)


def test_windows_may_reach_less_than_the_padding() -> None:
    # 6 elements, windows of 2 with stride 3: 0-1 and 3-4; the last element is in no window.
    assert Window.of((2,), (3,)).reach(0, 6) == (0, -1)


def test_halves_of_an_output_shape_differ() -> None:
    # 3 elements, kernel 3, stride 2: 7 elements in total, 4 wanted, so 3 must be cropped.
    upper = Window.of((3,), (2,), auto_pad="same_upper")
    lower = Window.of((3,), (2,), auto_pad="same_lower")
    explicit = Window.of((3,), (2,))
    assert openvino_placement(0, 3, 0, upper, 4) == (2, 4)
    assert openvino_placement(0, 3, 0, lower, 4) == (1, 4)
    assert onnx_placement(0, 3, 0, upper, 4) == (1, 4)
    assert onnx_placement(0, 3, 0, lower, 4) == (2, 4)
    assert onnx_placement(0, 3, 0, explicit, 4) == (2, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2, 2), (1,)), "do not have 2 entries"),
        (((2,), (0,)), "less than 1"),
        (((2,), (1,), (1,), (0,), (0,), "diagonal"), "not one of NOTSET"),
    ],
)
def test_contradictions_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Window.of(*arguments)  # type: ignore[arg-type]
