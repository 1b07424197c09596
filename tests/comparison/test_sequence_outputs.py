"""Models that return sequences, beside the IR made of them, which returns tensors."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser

import irloop

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'
ITEMS = f"""{HEADER}
g (float[n, 2] x) => (float[n, 2] before, seq(float[n, 2]) both, float[n, 2] after) {{
  before = Neg (x)  after = Abs (x)  double = Add (x, x)  both = SequenceConstruct (CHOSEN, double)
}}
"""


def test_items_are_compared_one_by_one(tmp_path: Path) -> None:
    paths = []
    for name in ("before", "after"):
        paths.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(ITEMS.replace("CHOSEN", name)), paths[-1])
    converted, _ = irloop.convert(paths[0])
    irloop.save_model(converted, tmp_path / "model.xml")
    for pair in ((paths[0], tmp_path / "model.xml"), (tmp_path / "model.xml", paths[0])):
        found = irloop.compare(*pair)
        assert found.equal, str(found)
        assert {report.name for report in found.outputs} == {"before", "both_0", "both_1", "after"}
    found = irloop.compare(paths[1], tmp_path / "model.xml")
    assert [report.name for report in found.outputs if not report.equal] == ["both_0"]


def test_an_item_without_a_tensor_is_a_difference(tmp_path: Path) -> None:
    longer, model = tmp_path / "longer.onnx", tmp_path / "model.xml"
    text = ITEMS.replace("CHOSEN", "before")
    irloop.save_model(irloop.convert(_saved(text, tmp_path / "short.onnx"))[0], model)
    _saved(text.replace("(before, double)", "(before, double, after)"), longer)
    found = irloop.compare(longer, model)
    assert not found.equal
    assert "3 outputs against 4" in found.problems[0]


def _saved(text: str, path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(text), path)
    return path
