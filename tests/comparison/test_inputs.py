"""Generated inputs: reproducible by seed, within bounds, and fitting each use."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from irloop.budget import Budget
from irloop.comparison.inputs import Trial, made_trials
from irloop.comparison.roles import roles
from irloop.comparison.sizes import sizes_of
from irloop.errors import LimitError, UsageError
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.graph.types import DynamicDim


def model(text: str, opset: int = 16) -> Model:
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    return reader.from_proto(onnx.parser.parse_model(header + text))


def trials(subject: Model, seeds: tuple[int, ...] = (0,)) -> list[Trial]:
    return made_trials(subject, next(sizes_of([subject])), seeds=seeds, trips=(5, 2, 1, 0))


GATHER = """
m (int64[4] at, float[6,3] x, int64[2,1] pick) => (float[4,3] y, float[2,1] z) {
   y = Gather <axis = 0> (x, at)
   z = GatherElements <axis = 1> (x, pick)
}
"""


def test_indices_stay_within_their_axis() -> None:
    subject = model(GATHER)
    found = roles(subject)
    assert [(role.index, role.bound) for role in found] == [(True, 6), (False, None), (True, 3)]
    for trial in trials(subject, tuple(range(20))):
        assert 0 <= trial.arrays[0].min() <= trial.arrays[0].max() < 6
        assert 0 <= trial.arrays[2].min() <= trial.arrays[2].max() < 3
        Session(subject).run(trial.arrays)


def test_inputs_used_as_indices_are_recognised_through_casts_and_bodies() -> None:
    text = """
    m (int32[1] at, float[6] x) => (float[?,1] y) {
       n = Constant <value_int = 2> ()
       wide = Cast <to = 7> (at)
       y = Loop (n, )
          <body = f (int64 i, bool c) => (bool c, float[1] p) { p = Gather <axis = 0> (x, wide) }>
    }
    """
    (role, _) = roles(model(text))
    assert (role.index, role.bound) == (True, 6)


LOOP = """
m (int64[1] n, bool go, float[2] x) => (float[2] y) {
   axes = Constant <value_ints = [0]> ()
   trip = Squeeze (n, axes)
   y = Loop (trip, go, x)
      <body = f (int64 i, bool c, float[2] s) => (bool c, float[2] t) { t = Add (s, s) }>
}
"""


def test_all_kinds_of_trip_counts_and_conditions_are_tried() -> None:
    subject = model(LOOP)
    found = roles(subject)
    assert [(role.trip, role.condition) for role in found] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    made = trials(subject)
    pairs = [(int(trial.arrays[0][0]), bool(trial.arrays[1])) for trial in made]
    assert pairs == [(5, True), (2, True), (1, True), (0, True), (5, False), (5, True)]
    assert [trial.idle for trial in made] == [False, False, False, True, True, False]
    assert made[-1].label == "seed 0, numbers 20 times as large"
    assert made[3].label == "seed 0, trip count 0, condition true"


def test_lengths_of_sequences_fit() -> None:
    text = """
    m (int32[2] lens, float[4,2,3] x, float[1,12,3] w, float[1,12,3] r) => (float[?] y) {
       y = LSTM <hidden_size = 3> (x, w, r, , lens)
    }
    """
    (role, *_) = roles(model(text))
    assert (role.length, role.bound) == (True, 4)
    for trial in trials(model(text), tuple(range(10))):
        assert 1 <= trial.arrays[0].min() <= trial.arrays[0].max() <= 4


def test_equal_seeds_generate_equal_inputs() -> None:
    subject = model(GATHER)
    for one, two in zip(trials(subject), trials(subject), strict=True):
        for left, right in zip(one.arrays, two.arrays, strict=True):
            np.testing.assert_array_equal(left, right)
    other = trials(subject, (1,))
    assert (trials(subject)[0].arrays[1] != other[0].arrays[1]).any()


@pytest.mark.parametrize(
    ("onnx_type", "dtype"),
    [
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("double", "float64"),
        ("int8", "int8"),
        ("uint8", "uint8"),
        ("uint64", "uint64"),
        ("bool", "bool"),
        ("string", "object"),
    ],
)
def test_every_element_type(onnx_type: str, dtype: str) -> None:
    subject = model(f"m ({onnx_type}[3,4] x) => ({onnx_type}[3,4] y) {{ y = Identity (x) }}")
    array = trials(subject)[0].arrays[0]
    assert array.dtype.name == dtype
    assert array.shape == (3, 4)


def test_names_and_ranges_of_dimensions_are_respected() -> None:
    subject = model("m (float[n,k,2] x, float[n] y) => (float[n] z) { z = Identity (y) }")
    found = next(sizes_of([subject], {"k": 9}))
    x, y = made_trials(subject, found, seeds=(0,), trips=(1,))[0].arrays
    assert x.shape == (2, 9, 2)
    assert y.shape == (2,)
    ranged = DynamicDim(4, 6)
    from irloop.comparison.sizes import _sized

    assert [_sized(ranged, size, {}) for size in (2, 5, 9)] == [4, 5, 6]


def test_shapes_that_no_array_can_have_are_refused() -> None:
    shape = "4611686018427387904,4611686018427387904"
    subject = model(f"m (float[{shape}] x) => (float[{shape}] z) {{ z = Identity (x) }}")
    with pytest.raises(UsageError, match="too large to be generated"):
        trials(subject)


def test_inputs_are_made_in_the_memory_that_they_take() -> None:
    """Pyramids of feature maps: random f64 numbers exist for only one input at a time."""
    subject = model("""
    m (float[500,1000] a, float[250,1000] b, float[250,1000] c) => (float[500,1000] z) {
        z = Identity (a)
    }""")
    with Budget(memory=24_000_000).entered():
        found = trials(subject)[0].arrays
    assert [array.nbytes for array in found] == [2_000_000, 1_000_000, 1_000_000]
    with Budget(memory=16_000_000).entered(), pytest.raises(LimitError, match="making inputs"):
        trials(subject)


def test_more_axes_than_a_tensor_has_are_an_input_that_is_too_large() -> None:
    # The declared number of axes does not even fit a range of Python.
    subject = model(
        f"m (float[2] x, int64[3,{2**62}] axes) => (float[N] y) {{ y = Unsqueeze(x, axes) }}"
    )
    assert roles(subject)[1].axes == tuple(range(64))
