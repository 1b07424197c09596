"""Kernels charge the budget before they do work and allocate temporaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irloop import LimitError
from irloop.budget import Budget
from irloop.dialects.contrib.tensors import Inverse
from irloop.dialects.onnx.recurrent import LSTM
from irloop.dialects.openvino.recurrent import GRUCell
from irloop.graph.tensor import unpack
from irloop.graph.types import ElementType
from irloop.kernels import (
    attention,
    convert,
    convolution,
    correlation,
    ctc,
    detection,
    detectron,
    embedding,
    generate,
    matmul,
    multiclass_nms,
    nms,
    pooling,
    prior_box,
    quantize,
    resize,
    roi,
    rotated,
    sampling,
    scatter,
    search,
    sequence,
    shape,
    signal,
    text,
    work,
)
from irloop.kernels import random as rng
from irloop.kernels.geometry import Window

#: 3,000 boxes that do not overlap, so all are kept.
BOXES = np.stack([np.arange(3000.0), np.zeros(3000), np.arange(3000.0) + 0.5, np.ones(3000)], 1)
SCORES = np.linspace(1, 0.5, 3000, dtype=np.float32)


def _every_box() -> Any:
    run = nms.onnx_function(centred=False)
    boxes = BOXES.astype(np.float32)[None]
    return run(boxes, SCORES[None, None], np.array(3000), np.array(0.5, np.float32))


#: Work for which 5,000 steps or one megabyte are not enough.
TOO_MUCH: dict[str, Callable[[], Any]] = {
    "every box kept": _every_box,
    "boxes of one class": lambda: detection.suppressed(BOXES, 0.5, detection.overlaps_with),
    "items of a sequence": lambda: sequence.split(np.zeros(20_000), np.array(1)),
    "distinct elements": lambda: search.unique(None, True, np.dtype("i8"), np.dtype("i8"))(
        np.arange(50_000)
    ),
    "the order of elements": lambda: search.topk(0, True, False, np.dtype("i8"))(
        np.arange(50_000), 2
    ),
    "elements of windows": lambda: pooling.max_values(
        Window((100, 100), (1, 1), (1, 1), (50, 50), (49, 49))
    )(np.zeros((1, 1, 200, 200))),
    "products of integers": lambda: quantize.matmul_integer(
        np.ones((1100, 1100), np.uint8), np.ones((1100, 1100), np.uint8)
    ),
    "a determinant": lambda: matmul.determinant(np.eye(400, dtype=np.float32)),
    "an inverse": lambda: matmul.inverse()(np.eye(400, dtype=np.float32)),
    "an einsum of many operands": lambda: matmul.einsum(",".join(["ab"] * 40) + "->")(
        *[np.ones((2, 2))] * 40
    ),
    "an einsum that is no matrix product": lambda: matmul.einsum("ab,cd,ef->")(
        *[np.ones((30, 30))] * 3
    ),
    "numbers as text": lambda: convert.cast(np.dtype(object))(np.zeros(20_000)),
    "numbers in text": lambda: convert.cast(np.dtype("f4"))(np.full(100_000, "1", object)),
    "the parts of strings": lambda: text.split(" ", None)(
        np.array(["a " * 2000] + [""] * 1000, object)
    ),
    "coordinates": lambda: search.nonzero(np.dtype("i8"), scalar_is_list=True)(np.ones((300, 300))),
    "positions in rows": lambda: search.search_sorted(True, np.dtype("i8"))(
        np.zeros((1, 1000)), np.zeros((1, 60_000))
    ),
    "random numbers": lambda: rng.philox_uniform(np.dtype("f4"), 1, 1)(
        np.array([200_000]), np.zeros(1, np.float32), np.ones(1, np.float32)
    ),
    "samples": lambda: rng.philox_multinomial(np.dtype("i8"), 1, 1, replace=True, logs=False)(
        np.ones((1, 4)), np.array([5_000])
    ),
    "a Fourier transform": lambda: signal.dft(inverse=False)(np.zeros((20_000, 2)), np.array([0])),
    "rows of an embedding": lambda: embedding.packed_bags(False)(
        np.zeros((2, 1000), np.float32), np.zeros((10, 200), np.int64)
    ),
    "the rows of a sparse matrix": lambda: embedding.sparse_fill_empty_rows(
        np.ones(1), np.array([50_000, 1]), np.zeros((1, 2), np.int64), np.zeros(1)
    ),
    "a transposed convolution": lambda: convolution.transposed(
        convolution.WindowOptions(strides=(1000, 1000)), placement=lambda _, size, *__: (0, size)
    )(np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 1, 1))),
    "regions": lambda: roi.roi_align(1, 1, 1, 1.0, "avg", at_least_one=True)(
        np.zeros((1, 1, 2, 2)), np.zeros((1_000, 4)), np.zeros(1_000)
    ),
    "steps of linear attention": lambda: attention.linear_attention(
        rule="linear", query_heads=1, key_heads=1, scale=1.0
    )(*[np.zeros((1, 1_000, 1))] * 3),
    "frames of CTC": lambda: ctc.loss(collapse=False, merge=True, unique=False)(
        np.zeros((1, 1_000, 2)), np.array([2]), np.zeros((1, 1), np.int64), np.array([1])
    ),
    "all pairs of boxes": lambda: multiclass_nms.matrix_nms(
        multiclass_nms.Limits("none", False, -1.0, -1, -1, -1, True, np.dtype("i8")),
        "linear",
        2.0,
        -1.0,
    )(BOXES[None, :400], SCORES[None, None, :400]),
    "rotated boxes": lambda: rotated.overlaps(np.ones((3_000, 5)), 0, clockwise=True),
    "a grid of samples in a region": lambda: roi.roi_pool_bilinear(4_000, 50)(
        np.zeros((1, 10, 4, 4)), np.array([[0, 0.1, 0.1, 0.9, 0.9]])
    ),
    "updates that are added": lambda: scatter.scatter_elements(0, "sum")(
        np.zeros(2), np.zeros(600_000, np.int64), np.ones(600_000)
    ),
    "boxes of one size": lambda: prior_box.element_boxes(
        prior_box.Priors(density=(300.0,), fixed_size=(16.0,))
    ),
    "scores of attention": lambda: matmul.attention()(*[np.zeros((1_200, 1))] * 3),
    "columns of a convolution": lambda: correlation.correlate(
        np.zeros((1, 1, 400, 400)),
        np.zeros((1, 1, 5, 5)),
        Window((5, 5), (1, 1), (1, 1), (0, 0), (0, 0)),
        1,
    ),
    "taps of a resized axis": lambda: resize.taps(
        resize.Axis(0, 2, 100_000, 50_000.0), resize.Resampling("linear", "half_pixel")
    ),
    "a copy of the view that is resized": lambda: resize.resize(
        np.broadcast_to(np.float32(1), (1000, 1000)),
        [resize.Axis(0, 1000, 4, 0.004)],
        resize.Resampling("linear", antialias=True),
    ),
    "boxes of a grid larger than its map": lambda: detectron.prior_grid(
        (300, 400), (4.0, 4.0), flatten=True
    )(np.zeros((1, 4), np.float32), np.zeros((1, 1, 2, 2)), np.zeros((1, 3, 8, 8))),
    "gates of a cell": lambda: GRUCell(hidden_size=1).kernel()(
        *[np.zeros((500_000, 1), np.float32)] * 2,
        *[np.zeros((3, 1), np.float32)] * 2,
        np.zeros(3, np.float32),
    ),
    "reads of the weights of a cell": lambda: LSTM(hidden_size=600).kernel()(
        np.zeros((100, 1, 1), np.float32),
        np.zeros((1, 2400, 1), np.float32),
        np.zeros((1, 2400, 600), np.float32),
    ),
    "repeats of a tile": lambda: shape.tile(np.zeros((2, 3)), np.full((2, 7), 2)),
    "steps of a written-out inverse": lambda: Inverse().kernel()(np.eye(200, dtype=np.float32)),
    "a window": lambda: generate.window("Hann", True, np.dtype("f4"))(np.array(50_000)),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_work_that_exceeds_the_budget_is_refused(name: str) -> None:
    with Budget(memory=1_000_000, operations=5_000).entered(), pytest.raises(LimitError):
        TOO_MUCH[name]()
    # The same work fits into a larger budget.
    with Budget(memory=100_000_000, operations=200_000).entered():
        TOO_MUCH[name]()


@pytest.mark.parametrize("shape", [(2**63 - 1, 0), (2**40, 0, 2**40)])
def test_sizes_that_no_array_can_have_are_refused_even_if_one_is_zero(
    shape: tuple[int, ...],
) -> None:
    with pytest.raises(LimitError, match="no memory can hold"):
        unpack(b"", ElementType.F32, shape)
    assert unpack(b"", ElementType.F32, (2**40, 0)).shape == (2**40, 0)


def test_reading_at_positions_pays_for_each_corner() -> None:
    """64 channels are read at 90,000 positions: one corner each in mode nearest, sixteen in mode
    cubic.
    """
    data = np.zeros((1, 64, 9, 9), np.float32)
    places = np.zeros((1, 300, 300, 2), np.float32)
    for mode, steps in (("nearest", 23_000), ("cubic", 368_000)):
        sample = sampling.grid_sample(mode, "zeros", align=False)
        with Budget(operations=steps - 2000).entered(), pytest.raises(LimitError):
            sample(data, places)
        with Budget(operations=steps + 2000).entered():
            assert sample(data, places).shape == (1, 64, 300, 300)


def test_a_view_of_an_operand_costs_nothing_and_another_view_costs_its_size() -> None:
    data = np.zeros((4, 1000), np.float32)
    assert work.steps_of_values([data], [data.reshape(-1), data[1:]]) == 0
    made = (data + 1).reshape(-1)
    assert work.steps_of_values([data], [made]) == data.nbytes / work.MADE + data.nbytes / work.READ
    assert work.steps_of_values([data], [made], parts=True) == data.nbytes / work.MADE


@pytest.mark.parametrize(("rows", "steps"), [(1, 40 + 266), (2, 80 + 667), (2000, 80_000 + 1333)])
def test_a_product_pays_for_reading_its_operands(rows: int, steps: int) -> None:
    """A step is 100,000 multiplications, and 15,000 elements that are read for a vector or 6,000
    for a matrix.
    """
    left, right = np.zeros((rows, 2000), np.float32), np.zeros((2000, 2000), np.float32)
    with Budget(operations=steps - 1).entered(), pytest.raises(LimitError):
        matmul.product(left, right)
    with Budget(operations=steps).entered():
        assert matmul.product(left, right).shape == (rows, 2000)
