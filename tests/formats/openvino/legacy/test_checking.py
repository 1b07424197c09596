"""What validation tells from sizes alone is what building the layer tells."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import irloop
from irloop.errors import ReadError
from irloop.formats.openvino.legacy import LEGACY, checking
from irloop.formats.openvino.xml import parse
from irloop.validation.engine import validate
from tests.archives import unpacked

CASES = unpacked("legacy_ir") / "synthetic"
#: A number in an attribute or a dimension.
NUMBER = re.compile(r'(?<=[">,])-?\d+(?=[",<.])')
NUMBERS = ("-1", "0", "1", "2", "3", "7", "100000", "4294967296")


class _Builder(checking._Checker):
    """Builds every layer."""

    def _is_sound(self, layer: Any) -> bool:
        return False


def _mutants(text: str, seed: str) -> list[str]:
    """Copies of a file with one number changed, or one attribute removed."""
    generator = random.Random(seed)  # noqa: S311 (no secret)
    found: list[str] = []
    numbers = list(NUMBER.finditer(text))
    attributes = list(re.finditer(r' [\w-]+="[^"]*"', text))
    for _ in range(4):
        number, attribute = generator.choice(numbers), generator.choice(attributes)
        near = str(int(number[0]) + 1), str(max(int(number[0]) - 1, 0))
        changed = generator.choice((*NUMBERS, *near))
        found.append(text[: number.start()] + changed + text[number.end() :])
        found.append(text[: attribute.start()] + text[attribute.end() :])
    return found


@pytest.mark.parametrize("letter", "ABCDEFGILMNOPQRST")
def test_a_layer_that_is_not_built_would_have_no_fault(
    letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    for path in sorted(CASES.glob(f"{letter}*/model.xml")):
        for text in _mutants(path.read_text(), path.parent.name):
            try:
                document = parse(text.encode(), file="m.xml")
            except ReadError:
                continue
            if not document.is_legacy:
                continue
            quick = checking.problems_of(document, path.with_suffix(".bin"))
            with monkeypatch.context() as patched:
                patched.setattr(checking, "_Checker", _Builder)
                assert quick == checking.problems_of(document, path.with_suffix(".bin"))
            compared += 1
    assert compared >= 4


LAYER = """<net name="m" version="6" batch="1"><layers>
<layer id="0" name="x" type="Input" precision="FP32"><output><port id="0">PORT</output></layer>
<layer id="1" name="y" type="TYPE" precision="FP32"><data DATA/><input><port id="0">PORT</input>
<output><port id="1">PORT</output></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"""


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        ("Tile", "", "IRL405"),
        ("Tile", 'axis="3" tiles="1"', "IRL405"),
        ("Tile", 'axis="2" tiles="1"', None),
        ("Permute", 'order="0,0,1"', "IRL404"),
        ("Permute", 'order="0,1"', "IRL404"),
        ("Permute", 'order="1,0,2"', None),
    ],
)
def test_axes_that_do_not_exist_are_refused(
    kind: str, data: str, code: str | None, tmp_path: Path
) -> None:
    text = LAYER.replace("PORT", "<dim>2</dim>" * 3 + "</port>")
    path = tmp_path / "m.xml"
    path.write_text(text.replace("TYPE", kind).replace("DATA", data))
    path.with_suffix(".bin").write_bytes(b"")
    codes = [item.code for item in validate(path) if item.severity.name == "ERROR"]
    assert codes == ([] if code is None else [code])
    if code is not None:
        with pytest.raises(ReadError):
            irloop.read_model(path)


#: The layer types of 142 files of public repositories, but for custom layers.
FOUND = """Input Convolution ReLU ScaleShift Concat Reshape SoftMax Pooling Permute Eltwise
DetectionOutput Const Flatten Activation PriorBoxClustered FullyConnected PriorBox Clamp Power PReLU
Resample Interp Pad MVN Norm Tile elu Proposal ROIPooling Crop Squeeze CTCGreedyDecoder ReorgYolo
RegionYolo Quantize BinaryConvolution Unsqueeze Gather Normalize"""


def test_every_layer_type_found_in_files_is_known() -> None:
    special = {"input", "const"}
    names = [name for name in FOUND.split() if name.lower() not in special]
    assert [name for name in names if not LEGACY.versions(name)] == []
    assert not any(LEGACY.versions(name)[-1].refusal for name in names)  # type: ignore[attr-defined]


def test_an_auto_pad_of_later_versions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    port = "<dim>1</dim><dim>1</dim><dim>4</dim><dim>4</dim></port>"
    text = LAYER.replace("PORT", port).replace("TYPE", "Pooling")
    for word, codes in (("valid", []), ("explicit", ["IRL405"])):
        path.write_text(text.replace("DATA", f'kernel="1,1" auto_pad="{word}"'))
        path.with_suffix(".bin").write_bytes(b"")
        assert [item.code for item in validate(path) if item.severity.name == "ERROR"] == codes
