"""The engine: locations, selection, suppressed follow-up findings, other files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from irloop.diagnostics import Severity
from irloop.errors import UsageError
from irloop.validation.engine import validate

RULES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
LOOP = RULES / "irl501" / "good_body.xml"
FLAT = RULES / "irl105" / "good_bodies_count_alone.xml"


def codes(path: Path, **options: object) -> list[str]:
    return [item.code for item in validate(path, **options)]  # type: ignore[arg-type]


def edited(folder: Path, source: Path, *pairs: tuple[str, str]) -> Path:
    """A copy of a fixture with some texts replaced; each text must occur."""
    text = source.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    match = re.search(r"<!--\s*bin:\s*([0-9a-f ]+?)\s*-->", text)
    target = folder / "model.xml"
    target.write_text(text, encoding="utf-8")
    if match is not None:
        target.with_suffix(".bin").write_bytes(bytes.fromhex(match.group(1)))
    return target


def line_of(path: Path, text: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_place_in_a_body(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        LOOP,
        ('<layer id="5" name="next" type="Add"', '<layer id="5" name="next" type="Addd"'),
    )
    (item,) = validate(path)
    place = item.location
    assert item.code == "IRL109"
    assert item.severity is Severity.ERROR
    assert place.file == str(path)
    assert place.line == line_of(path, 'name="next"')
    assert place.path == "loop/body/next"
    assert place.layer_id == "5"
    assert place.element == "net/layers/layer[@id=4]/body/layers/layer[@id=5]"


def test_place_in_a_port_map(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        LOOP,
        (
            '<output external_port_id="5" internal_layer_id="7"',
            '<output external_port_id="5" internal_layer_id="99"',
        ),
    )
    item = next(item for item in validate(path) if item.code == "IRL509")
    assert item.location.element == "net/layers/layer[@id=4]/port_map/output[2]"
    assert item.location.line == line_of(path, 'internal_layer_id="99"')
    assert "99" in item.found
    assert "7 (scan_out)" in item.expected
    assert item.fix


def test_line_is_exact_in_a_long_file(tmp_path: Path) -> None:
    # libxml2 counts lines with 16 bits.
    path = edited(tmp_path, LOOP, ("<layers>", "<layers>" + "\n" * 70_000), ('"Add"', '"Addd"'))
    (item,) = validate(path)
    assert item.location.line == line_of(path, '"Addd"')
    assert item.location.line > 70_000


def test_all_findings_are_reported(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        LOOP,
        ('<edge from-layer="6" to-layer="0"/>', '<edge from-layer="5" to-layer="3"/>'),
        ('internal_layer_id="1"/>', 'internal_layer_id="98"/>'),
        ('<layer id="5" name="last"', '<foo/><layer id="5" name="last"'),
        ('to-layer="6" to-port="0"/>\n  </edges>', 'to-layer="6" to-port="8"/>\n  </edges>'),
    )
    found = codes(path)
    assert {"IRL107", "IRL203", "IRL509", "IRL515", "IRL516"} <= set(found)


def test_an_error_suppresses_only_dependent_findings(tmp_path: Path) -> None:
    # The lost body suppresses all findings about the loop, but none about the layer beside it.
    text = LOOP.read_text(encoding="utf-8")
    body = text[text.index("      <body>") : text.index("</body>") + len("</body>")]
    path = edited(tmp_path, LOOP, (body, ""), ('element_type="f32"/>', 'element_type="FP32"/>'))
    assert sorted(set(codes(path))) == ["IRL111", "IRL501"]


def test_types_are_inferred_around_an_error(tmp_path: Path) -> None:
    # The layer that reads the broken edge is not inferred, but the wrong dimensions behind it are
    # found.
    path = edited(
        tmp_path,
        LOOP,
        (
            '<edge from-layer="1" from-port="0" to-layer="4" to-port="0"/>',
            '<edge from-layer="1" from-port="7" to-layer="4" to-port="0"/>',
        ),
        (
            '<layer id="3" name="as_float" type="Convert" version="opset1">',
            '<layer id="3" name="as_float" type="Convert" version="opset1"> ',
        ),
        (
            '<output><port id="1" precision="FP32"/></output>',
            '<output><port id="1" precision="FP16"/></output>',
        ),
    )
    assert sorted(set(codes(path))) == ["IRL203", "IRL402"]


def test_select_and_ignore() -> None:
    bad = RULES / "irl601" / "bad_misspelt.xml"
    everything = codes(bad)
    assert {"IRL601", "IRL521"} <= set(everything)
    assert set(codes(bad, select=["irl6"])) == {"IRL601"}
    assert set(codes(bad, select=["IRL5", "IRL6"], ignore=["IRL601"])) == {"IRL521"}
    assert "IRL521" not in codes(bad, ignore=["IRL521"])


def test_an_unselected_rule_suppresses_findings_of_a_selected_one() -> None:
    bad = RULES / "irl501" / "bad_no_body.xml"
    assert codes(bad, select=["IRL601"]) == []


@pytest.mark.parametrize("group", ["IRL999", "", "foo"])
def test_an_unknown_group_is_refused(group: str) -> None:
    if group == "":
        assert codes(LOOP, select=[group], ignore=["IRL301"]) == []
        return
    with pytest.raises(UsageError):
        validate(LOOP, select=[group])


def test_weights_are_found_beside_the_file_or_named(tmp_path: Path) -> None:
    path = edited(tmp_path, LOOP)
    assert codes(path) == []
    moved = path.with_suffix(".bin").rename(tmp_path / "other.bin")
    assert codes(path) == ["IRL301"]
    assert codes(path, weights=moved) == []


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "0 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n", "Git LFS"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"<?xml version='1.0'?><net/>", "XML"),
    ],
)
def test_files_that_are_not_weights(content: bytes, what: str, tmp_path: Path) -> None:
    path = edited(tmp_path, LOOP)
    path.with_suffix(".bin").write_bytes(content)
    found = [item for item in validate(path) if item.severity is Severity.ERROR]
    assert found
    assert {item.code for item in found} <= {"IRL301", "IRL302"}
    text = " ".join(str(item) for item in found)
    assert what in text or "the file is empty" in text


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "IRL101"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n", "IRL101"),
        (b"<!DOCTYPE html><html><body>not found</body></html>", "IRL101"),
        (b"\x00\x01\x02\x03" * 64, "IRL101"),
        (b"\x08\x08\x12\x07pytorch", "IRL101"),
        (b'<net name="m" version="9"><layers/></net>', "IRL102"),
        (b'<ned version="10"/>', "IRL102"),
        (b'<net version="10"><layers>', "IRL101"),
    ],
)
def test_files_that_are_not_models(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_bytes(content)
    (item,) = validate(path)
    assert item.code == code
    assert item.severity is Severity.ERROR
    assert item.location.file == str(path)
    assert item.fix or item.cause or item.expected


def test_missing_file_is_a_finding(tmp_path: Path) -> None:
    (item,) = validate(tmp_path / "nothing.xml")
    assert item.severity is Severity.ERROR


def test_files_in_other_encodings_are_validated(tmp_path: Path) -> None:
    text = LOOP.read_text(encoding="utf-8")
    for encoding in ("utf-8-sig", "utf-16"):
        path = tmp_path / f"{encoding}.xml"
        head = "<?xml version='1.0' encoding='utf-16'?>" if encoding == "utf-16" else ""
        path.write_bytes((head + text).encode(encoding))
        assert codes(path, ignore=["IRL301"]) == []


def test_huge_files_get_the_same_findings(tmp_path: Path) -> None:
    # Files of half a megabyte or more are checked against the schema in a separate thread.
    for insert, expected in (("", set()), ("<foo/>", {"IRL107"})):
        padding = f"<layers>{insert}" + " " * 600_000
        assert set(codes(edited(tmp_path, LOOP, ("<layers>", padding)))) == expected


def test_validation_loads_neither_numpy_nor_onnx(tmp_path: Path) -> None:
    path = edited(tmp_path, LOOP, ("<dim>5</dim>", "<dim>4</dim>"))
    code = (
        "import sys; from irloop.validation.engine import validate;"
        f"print([item.code for item in validate({str(path)!r})]);"
        "print({'numpy', 'onnx', 'ml_dtypes'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["['IRL401']", "set()"]


def test_a_branch_without_a_port_map_whose_if_has_input_ids_with_gaps() -> None:
    """A campaign found this file: a rule asked how a missing port map counts its inputs."""
    path = Path(__file__).resolve().parents[2] / "fuzz" / "corpus" / "ir"
    found = {item.code for item in validate(path / "if_without_port_map.xml")}
    assert "IRL203" in found
    assert "BUG001" not in found
