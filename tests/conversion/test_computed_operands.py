"""IR to ONNX with operands that are computed, of unknown size, or scalars."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.openvino import gather, generate, proposals, reorder
from irloop.graph.builder import Builder
from irloop.graph.model import Model, Value
from irloop.graph.types import ElementType
from tests.conversion.both_engines import assert_same, needs_engines
from tests.passes.openvino_models import model_of

F32, I32, I64 = ElementType.F32, ElementType.I32, ElementType.I64
Sets = list[list[Any]]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def agree(model: Model, sets: Sets, engines: Engines, folder: Path) -> None:
    """Assert that ONNX Runtime returns for the written ONNX what OpenVINO returns for the IR."""
    source, target = folder / "m.xml", folder / "m.onnx"
    irloop.save_model(model, source, ir_version=11)
    irloop.save_model(irloop.convert(source)[0], target)
    wanted = engines.run_all("openvino", source, sets, folder)
    for at, found in enumerate(engines.run_all("onnxruntime", target, sets, folder)):
        assert_same(found, wanted[at], f"inputs {at}")


@needs_engines
@pytest.mark.parametrize("axis", [0, -1])
def test_one_hot_of_a_scalar(axis: int, engines: Engines, tmp_path: Path) -> None:
    def build(b: Builder, x: Value) -> Value:
        return b(generate.OneHot(axis), x, b.i64(5), b.constant(2, F32), b.constant(-1, F32))

    sets = [[np.array(at, np.int64)] for at in (3, 0, 4, 5, -1)]
    agree(model_of(build, (I64, ())), sets, engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("dims", [(3, 4, 5), (None, None, None)])
@pytest.mark.parametrize(
    ("axes", "shifts"), [([1], [1]), ([0, -1], [2, -7]), ([2, 2, 0], [1, 3, -1])]
)
def test_roll_by_a_computed_shift(
    dims: tuple[int | None, ...],
    axes: list[int],
    shifts: list[int],
    engines: Engines,
    tmp_path: Path,
) -> None:
    def build(b: Builder, x: Value, shift: Value) -> Value:
        return b(reorder.Roll(), x, shift, b.i64(axes))

    def both(b: Builder, x: Value, shift: Value, axes: Value) -> Value:
        return b(reorder.Roll(), x, shift, axes)

    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    shift = np.array(shifts, np.int64)
    given = [[x, factor * shift] for factor in (1, 0, -1, 12)]
    agree(model_of(build, (F32, dims), (I64, (len(axes),))), given, engines, tmp_path)
    one = model_of(both, (F32, dims), (I64, (None,)), (I64, (None,)))
    agree(one, [[*item, np.array(axes, np.int64)] for item in given], engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("mode", ["index", "mask"])
def test_reverse_along_computed_axes(mode: str, engines: Engines, tmp_path: Path) -> None:
    def build(b: Builder, x: Value, axes: Value) -> Value:
        return b(reorder.Reverse(mode), x, axes)

    chosen = [[0], [0, 1], [-1], []] if mode == "index" else [[1, 0], [0, 0], [1, 1], [0, 1]]
    kind = np.int64 if mode == "index" else np.bool_
    element = I64 if mode == "index" else ElementType.BOOLEAN
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = model_of(build, (F32, (None, 3)), (element, (None if mode == "index" else 2,)))
    agree(model, [[x, np.array(item, kind)] for item in chosen], engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("element", [I32, F32])
def test_gather_tree_of_an_unknown_number_of_steps(
    element: ElementType, engines: Engines, tmp_path: Path
) -> None:
    def build(b: Builder, ids: Value, parents: Value, lengths: Value) -> Value:
        return b(gather.GatherTree(), ids, parents, lengths, b.constant(9, element))

    dims = (None, None, None)
    model = model_of(build, (element, dims), (element, dims), (element, (None,)))
    random, sets = np.random.default_rng(0), []
    for steps, batch, beams in ((5, 2, 3), (1, 1, 1), (7, 3, 2)):
        ids = random.integers(0, 11, (steps, batch, beams))
        parents = random.integers(0, beams, (steps, batch, beams))
        lengths = random.integers(1, steps + 1, batch)
        sets.append([item.astype(element.numpy()) for item in (ids, parents, lengths)])
    agree(model, sets, engines, tmp_path)


@pytest.mark.parametrize(
    ("framework", "least", "noted"),
    [("", 1, False), ("", 6, True), ("tensorflow", 1, True)],
)
def test_a_note_says_that_boxes_below_min_size_have_no_order(
    framework: str, least: int, noted: bool
) -> None:
    def build(b: Builder, scores: Value, moves: Value, image: Value) -> list[Value]:
        op = proposals.Proposal(
            base_size=8,
            pre_nms_topn=20,
            post_nms_topn=12,
            nms_thresh=0.7,
            feat_stride=4,
            min_size=least,
            ratio=(0.5, 2.0),
            scale=(1.0,),
            framework=framework,
        )
        return list(b.emit(op, scores, moves, image, n_outputs=2).outputs)

    model = model_of(build, (F32, (1, 4, 4, 5)), (F32, (1, 8, 4, 5)), (F32, (3,)))
    codes = [note.code for note in irloop.convert(model)[1]]
    assert ("CNV805" in codes) == noted
