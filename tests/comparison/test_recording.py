"""A recording keeps a limited number of bytes, however large a single value is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.comparison import recording
from irloop.comparison.pairing import traced
from irloop.comparison.recording import Recording

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
