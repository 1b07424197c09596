"""``irloop convert`` parses an IR once, whatever it does with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from irloop.formats.openvino import xml

Irloop = Callable[..., Result]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were parsed, in order."""
    files: list[str] = []
    original = xml._Builder.parse

    def parse(self: xml._Builder, data: bytes) -> None:
        files.append(self.file)
        original(self, data)

    monkeypatch.setattr(xml._Builder, "parse", parse)
    return files


@pytest.mark.parametrize("options", [(), ("--check", "--engines", "numpy"), ("--no-validate",)])
def test_converting_to_onnx_parses_the_ir_once(
    irloop: Irloop,
    halving: Path,
    tmp_path: Path,
    parsed: list[str],
    options: tuple[str, ...],
) -> None:
    result = irloop("convert", halving, "-o", tmp_path / "out.onnx", *options)
    assert result.exit_code == 0, result.output
    assert parsed == [str(halving)]


def test_weights_of_another_name_do_not_require_a_second_parse(
    irloop: Irloop, halving: Path, tmp_path: Path, parsed: list[str]
) -> None:
    model = tmp_path / "model.xml"
    model.write_bytes(halving.read_bytes())
    weights = halving.with_suffix(".bin")
    output = tmp_path / "out.onnx"
    result = irloop(
        "convert", model, "--bin", weights, "-o", output, "--check", "--engines", "numpy"
    )
    assert result.exit_code == 0, result.output
    assert parsed == [str(model)]


def test_the_written_ir_is_parsed_once_for_the_check(
    irloop: Irloop, halving: Path, tmp_path: Path, parsed: list[str]
) -> None:
    output = tmp_path / "out.xml"
    result = irloop("convert", halving, "-o", output, "--check", "--engines", "numpy")
    assert result.exit_code == 0, result.output
    assert parsed[0] == str(halving)
    # The only other file is the result, in its temporary place.
    assert [Path(name).name for name in parsed[1:]] == ["out.xml"]
