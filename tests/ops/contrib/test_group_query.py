"""GroupQueryAttention of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.contrib.group_query import GroupQueryAttention
from irloop.execution.session import Session
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType
from tests.ops.contrib.against_runtime import Case, agree, drawn, half, model_of

HEADS: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2}
QUERY, KEY, VALUE = drawn(1, 2, 3, 64), drawn(2, 2, 3, 32), drawn(3, 2, 3, 32)
ANGLES = drawn(4, 20, 8)
COS, SIN = np.cos(ANGLES), np.sin(ANGLES)
PAST = [drawn(5, 2, 2, 4, 16), drawn(6, 2, 2, 4, 16)]
EMPTY = [item[:, :, :0] for item in PAST]
PLACES = np.array([[0, 1, 2], [0, 1, 2]], np.int64)
STEP = [QUERY[:, :1], KEY[:, :1], VALUE[:, :1]]


def lengths(*numbers: int) -> list[np.ndarray[Any, Any]]:
    """The last position of each item, and the largest number of positions."""
    return [np.array(numbers, np.int32) - 1, np.array(max(numbers), np.int32)]


CASES = [
    Case("GroupQueryAttention", [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 3)], outputs=3, **HEADS),
    Case("GroupQueryAttention", [*STEP, *PAST, *lengths(5, 5)], outputs=3, **HEADS),
    Case(
        "GroupQueryAttention",
        [*STEP, *PAST, *lengths(5, 5), COS, SIN],
        outputs=3,
        do_rotary=1,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 3), COS, SIN],
        outputs=3,
        do_rotary=1,
        rotary_interleaved=1,
        scale=0.2,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [np.concatenate([QUERY, KEY, VALUE], 2), None, None, *EMPTY, *lengths(3, 3), COS, SIN],
        outputs=3,
        do_rotary=1,
        local_window_size=2,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [QUERY[:1], KEY[:1], VALUE[:1], *(item[:1] for item in PAST), *lengths(7)],
        outputs=3,
        softcap=2.0,
        **HEADS,
    ),
    # Padded items of a batch: a prompt, and a step with a cache that is longer than needed.
    Case("GroupQueryAttention", [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 2)], outputs=3, **HEADS),
    Case(
        "GroupQueryAttention",
        [*STEP, *PAST, *lengths(3, 2), COS, SIN],
        outputs=3,
        do_rotary=1,
        **HEADS,
    ),
    Case("GroupQueryAttention", [*STEP, *PAST, *lengths(4, 2)], outputs=3, **HEADS),
    # Positions of padding whose window has no key.
    Case(
        "GroupQueryAttention",
        [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 1)],
        outputs=3,
        local_window_size=1,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 3), COS, SIN, PLACES],
        do_rotary=1,
        **HEADS,
    ),
    # A first prompt starts at the position of its first item; a step reads each position.
    Case(
        "GroupQueryAttention",
        [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 3), COS, SIN, PLACES + np.array([[2], [7]])],
        outputs=3,
        do_rotary=1,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [*STEP, *PAST, *lengths(5, 5), COS, SIN, np.array([[2], [7]], np.int64)],
        outputs=3,
        do_rotary=1,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [
            QUERY[:1],
            KEY[:1],
            VALUE[:1],
            *(item[:1] for item in PAST),
            *lengths(7),
            COS,
            SIN,
            np.array([[9, 2, 5]], np.int64),
        ],
        outputs=3,
        do_rotary=1,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [*STEP, *PAST, *lengths(5, 5), None, None, None, drawn(7, 1, 4, 1, 5), drawn(8, 4)],
        outputs=3,
        **HEADS,
    ),
    # The cache is longer than the added tensor, which has an element for each position in use.
    Case(
        "GroupQueryAttention",
        [*STEP, *PAST, *lengths(3, 2), None, None, None, drawn(7, 2, 1, 1, 3)],
        outputs=3,
        **HEADS,
    ),
    Case("GroupQueryAttention", [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 3)], causal=0, **HEADS),
    Case(
        "GroupQueryAttention",
        [*STEP, *PAST, *lengths(5, 5)],
        outputs=3,
        local_window_size=3,
        smooth_softmax=1,
        opset=21,
        **HEADS,
    ),
    # Before opset 12, Max and Min do not support integers.
    Case(
        "GroupQueryAttention",
        [*STEP, *PAST, *lengths(3, 2), COS, SIN],
        outputs=3,
        do_rotary=1,
        local_window_size=2,
        opset=11,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [*half(*STEP, *PAST), *lengths(5, 5)],
        outputs=3,
        tolerance=3e-3,
        **HEADS,
    ),
    # The caches may have an element type of their own.
    Case(
        "GroupQueryAttention",
        [*STEP, *half(*PAST), *lengths(5, 5)],
        outputs=3,
        tolerance=3e-3,
        **HEADS,
    ),
    Case(
        "GroupQueryAttention",
        [*half(*STEP), *PAST, *lengths(5, 5), *half(COS, SIN)],
        outputs=3,
        do_rotary=1,
        tolerance=3e-3,
        **HEADS,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4, 7, 8])
def test_mixed_element_types_are_found_that_onnx_runtime_refuses(at: int, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    inputs = [*STEP, *PAST, *lengths(5, 5), COS, SIN]
    path = tmp_path / "model.onnx"

    def write() -> None:
        case = Case("GroupQueryAttention", inputs, outputs=3, do_rotary=1, **HEADS)
        path.write_bytes(model_of(case).SerializeToString())

    write()
    assert "ONX201" not in {item.code for item in irloop.validate(path).diagnostics}
    onnxruntime.InferenceSession(path)
    inputs[at] = half(inputs[at])[0]
    write()
    with pytest.raises(Exception, match="bound to different types"):
        onnxruntime.InferenceSession(path)
    assert "ONX201" in {item.code for item in irloop.validate(path).diagnostics}


def test_norms_of_queries_and_keys_are_those_of_their_definition(
    engines: Engines, tmp_path: Path
) -> None:
    """ONNX Runtime's CPU provider refuses them, so it receives queries and keys that are already
    normalised.
    """
    weights = [drawn(11, 16), drawn(12, 16)]
    plain = Case("GroupQueryAttention", [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 3)], **HEADS)
    normed = []
    for x, heads, weight, epsilon in zip((QUERY, KEY), (4, 2), weights, (0.5, 0.25), strict=True):
        rows = x.reshape(2, 3, heads, 16)
        root = np.sqrt((rows.astype(np.float64) ** 2).mean(-1, keepdims=True) + epsilon)
        normed.append((rows / root * weight).astype(np.float32).reshape(x.shape))
    path = tmp_path / "model.onnx"
    plain.inputs[:2] = normed
    path.write_bytes(model_of(plain).SerializeToString())
    (expected,) = engines.run("onnxruntime", path, plain.given, tmp_path)
    inputs = [QUERY, KEY, VALUE, *EMPTY, *lengths(3, 3), *[None] * 7, *weights]
    words = {**HEADS, "q_norm_epsilon": 0.5, "k_norm_epsilon": 0.25}
    case = Case("GroupQueryAttention", inputs, **words)
    path.write_bytes(model_of(case).SerializeToString())
    (found,) = Session(irloop.read_model(path)).run(case.given).values()
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_a_cache_without_a_past_has_the_length_of_the_keys() -> None:
    """ONNX Runtime infers this, too; a loop that does not run returns such a shape."""
    builder = Builder(Graph("graph"))
    elements = [ElementType.F32] * 3 + [ElementType.I32] * 2
    shapes = [Shape.of(2, 3, 64), *[Shape.of(2, 3, 32)] * 2, Shape.of(2), Shape.of()]
    given = [
        builder.parameter(f"x{at}", TensorType(element, shape))
        for at, (element, shape) in enumerate(zip(elements, shapes, strict=True))
    ]
    op = GroupQueryAttention(num_heads=4, kv_num_heads=2)
    node = builder.emit(op, *given[:3], None, None, *given[3:], n_outputs=3)
    expected = TensorType(ElementType.F32, Shape.of(2, 2, 3, 16))
    assert [value.type for value in node.outputs[1:]] == [expected, expected]
