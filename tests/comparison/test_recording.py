"""A recording keeps a limited number of bytes, however large a single value is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.budget import Budget
from irloop.comparison import recording
from irloop.comparison.causes.cause import find_cause
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import traced
from irloop.comparison.recording import Recording
from irloop.comparison.reduction import cutting

#: The values have 40, 80 and 160 bytes of float32.
DOUBLED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[10] x) => (float[40] z) {
  y = Concat <axis = 0> (x, x)
  z = Concat <axis = 0> (y, y)
}"""


@pytest.mark.parametrize(
    ("kept_bytes", "kept", "events"),
    [(1000, [40, 80, 160], 2), (600, [40, 80], 1), (300, [40], 0)],
)
def test_large_values_are_not_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept_bytes: int,
    kept: list[int],
    events: int,
) -> None:
    """Each value counts 200 bytes besides its elements: 240, 520 and 880 together."""
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(DOUBLED).SerializeToString())
    monkeypatch.setattr(recording, "KEPT_BYTES", kept_bytes)
    made = Recording()
    traced(irloop.read_model(path), [np.ones(10, np.float32)], made, 60.0, None)
    assert [value.nbytes for value in made.values.values()] == kept
    assert len(made.events) == events


def test_a_recording_keeps_what_fits_into_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(DOUBLED).SerializeToString())
    with Budget(memory=4 * 600).entered():
        made = Recording()
    traced(irloop.read_model(path), [np.ones(10, np.float32)], made, 60.0, None)
    # As in the test above with 600 bytes.
    assert [value.nbytes for value in made.values.values()] == [40, 80]


def test_a_search_for_a_cause_releases_the_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Recording] = []

    class Kept(Recording):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(DOUBLED).SerializeToString())
    monkeypatch.setattr("irloop.comparison.causes.evidence.Recording", Kept)
    model, inputs = irloop.read_model(path), [np.ones(10, np.float32)]
    find_cause(model, model, (inputs, inputs), Tolerance(), seconds=60.0)
    assert [len(item.values) for item in made] == [0, 0]


#: Each iteration adds a value of 400 bytes, and reads the same input of 400 bytes.
LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[100] x) => (float[100] y) <int64 n = {50}> {
  y = Loop(n, , x) <body = b (int64 i, bool c, float[100] s) => (bool k, float[100] t) {
    k = Identity(c)
    t = Add(s, x)
  }>
}"""


@pytest.mark.parametrize(("memory", "kept"), [(4 * 20_000, 20_000), (None, 65_536)])
def test_cutting_records_what_fits_into_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int | None, kept: int
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(LOOP).SerializeToString())
    monkeypatch.setattr(cutting, "KEPT_BYTES", 65_536)
    model = irloop.read_model(path)
    with Budget(memory=memory).entered():
        made = cutting._Everything()
    traced(model, [np.ones(100, np.float32)], made, 60.0, None)
    arrays = {id(held): held for held in made.values.values()}
    assert sum(array.nbytes for array in arrays.values()) + 200 * len(made.values) <= kept
    # An iteration takes 1,500 bytes at most: 400 for `t`, 1 each for the conditions, and 200 for
    # each of five values.
    sums = [float(held[0]) for (value, _), held in made.values.items() if "t" in value.names]
    assert sums == [float(2 + number) for number in range(len(sums))]
    assert len(sums) >= kept // 1_500 - 1
    assert all(key in made.values for key in made.made)
