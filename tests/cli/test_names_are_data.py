"""Names, paths and attributes never start an output line, move the cursor or issue a CI command.

Every command runs in every format on models in which every text is hostile.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import Result
from onnx import TensorProto, helper

import irloop as api
from irloop.diagnostics import LONGEST, Diagnostic, Location, Severity, one_line

Irloop = Callable[..., Result]

#: Characters that XML 1.0 can hold: all kinds of line breaks, direction marks, CI commands.
MARK = "START"
IN_XML = (
    f"a\n::error file=x::{MARK}\r::warning::{MARK}\t\x85{MARK}\u2028{MARK}\u202e\u2066\u200f"
    f"##[error]{MARK}##vso[task.x]##teamcity[y]"
)
#: Characters that only a protobuf can hold: ESC, BEL, a backspace, a C1 control.
IN_PROTOBUF = f"{IN_XML}\x1b[2J\x07\x08\x9b1m\x00"
STARTING = "::error file=x::first"

#: Control, format, surrogate, private and unassigned characters, and line separators.
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def as_xml(text: str) -> str:
    return "".join(char if char.isalnum() else f"&#{ord(char)};" for char in text)


@pytest.fixture
def hostile_ir(recurrent: Path, tmp_path: Path) -> Path:
    """A valid IR with hostile names."""
    model = tmp_path / "hostile.xml"
    text = re.sub(r' name="(\w*)"', rf' name="\1{as_xml(IN_XML)}"', recurrent.read_text("utf-8"))
    text = re.sub(r'layer id="(\d+)" name="', rf'layer id="\1" name="{as_xml("::error::")}', text)
    model.write_text(text, "utf-8")
    model.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    return model


@pytest.fixture
def broken_ir(hostile_ir: Path, tmp_path: Path) -> Path:
    """An invalid IR with hostile text in place of identifiers and types."""
    model = tmp_path / "broken.xml"
    text = hostile_ir.read_text("utf-8")
    evil = as_xml(IN_XML)
    text = text.replace('layer id="0"', f'layer id="{evil}"', 1)
    text = text.replace('type="Tanh"', f'type="{as_xml("::error::")}{evil}"', 1)
    text = text.replace('precision="FP32"', f'precision="{evil}"', 1)
    text = text.replace('axis="1"', f'axis="{evil}" {"strange"}="{evil}"', 1)
    model.write_text(text, "utf-8")
    model.with_suffix(".bin").write_bytes(hostile_ir.with_suffix(".bin").read_bytes())
    return model


def onnx_model(path: Path, *, constant: float = 1.0, kind: str = "Add") -> Path:
    x, y, c = f"{STARTING}x{IN_PROTOBUF}", f"::error::y{IN_PROTOBUF}", f"c{IN_PROTOBUF}"
    graph = helper.make_graph(
        [
            helper.make_node(kind, [x, c], [f"t{IN_PROTOBUF}"], name=f"::error::n{IN_PROTOBUF}"),
            helper.make_node("Relu", [f"t{IN_PROTOBUF}"], [y], name=f"n2{IN_PROTOBUF}"),
        ],
        f"::error::g{IN_PROTOBUF}",
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [f"d{IN_PROTOBUF}", 2])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [f"d{IN_PROTOBUF}", 2])],
        [helper.make_tensor(c, TensorProto.FLOAT, [2], [constant, constant])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.producer_name = IN_PROTOBUF
    helper.set_model_props(model, {IN_PROTOBUF: IN_PROTOBUF})
    onnx.save(model, path)
    return path


def require_harmless(result: Result, *, commands: bool = False) -> None:
    """Assert that no output line is a CI workflow command.

    `commands` permits irloop's own annotations.
    """
    text = result.stdout + result.stderr
    assert text.strip()
    unseen = {char for char in text if unicodedata.category(char) in UNSEEN} - {"\n"}
    assert not unseen, sorted(unseen)
    for line in text.splitlines():
        bare = line.lstrip()
        if commands and re.match(r"::(error|warning|notice) file=[^:,]+,(line=\d+,)?title=irloop "
                                 r"[A-Z]{3}\d+::", line):  # fmt: skip
            continue
        if commands and re.match(r"##vso\[task\.logissue type=(error|warning);[^\]]*\]", line):
            text_of_command = line.partition("]")[2]
            assert not re.search(r"##[a-z]*\[", text_of_command), line
            continue
        assert not bare.startswith(("::", MARK)), line
        assert not re.search(r"##[a-z]*\[", line), line


FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "azure", "rdjson", "summary")


@pytest.mark.parametrize("style", FORMATS)
def test_hostile_names_in_findings_are_escaped(
    irloop: Irloop, hostile_ir: Path, broken_ir: Path, tmp_path: Path, style: str
) -> None:
    wrong = onnx_model(tmp_path / "::error::wrong.onnx", kind=f"::error::k{IN_PROTOBUF}")
    right = onnx_model(tmp_path / f"odd\n::error::{MARK}.onnx")
    kept = tmp_path / "report"
    result = irloop(
        "validate", hostile_ir, broken_ir, right, wrong, "--format", style, "--report",
        f"{style}={kept}", "-v",
    )  # fmt: skip
    assert result.exit_code == 1
    require_harmless(result, commands=style in ("github", "azure"))
    assert kept.read_text("utf-8").strip() in result.stdout


@pytest.mark.parametrize("format", ["ir", "onnx"])
def test_commands_on_a_model(irloop: Irloop, hostile_ir: Path, tmp_path: Path, format: str) -> None:
    model = hostile_ir if format == "ir" else onnx_model(tmp_path / "hostile.onnx")
    other = tmp_path / ("out.onnx" if format == "ir" else "out.xml")
    same = tmp_path / f"same{model.suffix}"
    for arguments in (
        ["inspect", model],
        ["inspect", model, "--json"],
        ["inspect", model, "--draw", tmp_path / "picture.svg"],
        ["inspect", model, "--draw", tmp_path / f"::error::\n{MARK}.dot"],
        ["run", model],
        ["run", model, "--trace"],
        ["run", model, "-o", tmp_path / f"o\n::error::{MARK}.npz", "-v"],
        ["convert", model, "-o", other, "-v"],
        ["convert", model, "-o", other, "--format", "json"],
        ["convert", model, "-o", other, "--check", "--engines", "numpy", "--loops", "unroll"],
        ["check", model, model, "--engines", "numpy"],
        ["check", model, model, "--engines", "numpy", "--format", "json"],
        ["diff", model, model, "--metadata"],
        ["transform", model, "-o", same, "--pass", "dead_code", "--profile", "-v"],
        ["transform", model, "-o", same, "--pass", "dead_code", "--format", "json"],
    ):
        result = irloop(*arguments)
        assert result.exit_code in (0, 1), (arguments, result.output)
        require_harmless(result)
    for picture in tmp_path.glob("*.[sd][vo][gt]"):
        lines = picture.read_text("utf-8").splitlines()
        assert not [line for line in lines if line.lstrip().startswith(("::", MARK))]


@pytest.mark.parametrize("style", ["text", "json"])
def test_hostile_names_in_differences_are_escaped(
    irloop: Irloop, tmp_path: Path, style: str
) -> None:
    first = onnx_model(tmp_path / "first.onnx")
    second = onnx_model(tmp_path / "second.onnx", constant=2.0)
    for arguments in (
        ["diff", first, second, "--metadata"],
        ["check", first, second, "--engines", "numpy"],
        ["reduce", first, second, "-o", tmp_path / "small"],
    ):
        result = irloop(*arguments, "--format", style)
        assert result.exit_code == 1, result.output
        require_harmless(result)


def test_error_messages_are_printed_on_one_line(
    irloop: Irloop, broken_ir: Path, tmp_path: Path
) -> None:
    unknown = onnx_model(tmp_path / "unknown.onnx", kind=f"::error::k{IN_PROTOBUF}")
    arrays = tmp_path / "arrays.npz"
    api.write_arrays(arrays, {f"k\n::error::{MARK}\x1b": np.zeros(2)})
    fine = onnx_model(tmp_path / "fine.onnx")
    evil = f"p\n::error::{MARK}\x1b"
    for arguments in (
        ["convert", unknown, "-o", tmp_path / "o.xml"],
        ["convert", unknown, "-o", tmp_path / "o.xml", "--no-validate", "--format", "json"],
        ["convert", broken_ir, "-o", tmp_path / "o.onnx", "--no-validate"],
        ["run", unknown],
        ["run", broken_ir],
        ["run", fine, "-i", arrays],
        ["run", tmp_path / evil],
        ["run", fine, "-i", tmp_path / evil],
        ["validate", tmp_path / evil],
        ["validate", fine, "--select", evil],
        ["validate", fine, "--baseline", tmp_path / evil],
        ["validate", fine, "--config", tmp_path / evil],
        ["inspect", broken_ir],
        ["explain", evil],
        ["explain", "::error::x"],
        ["transform", fine, "--pass", evil, "--profile"],
        ["passes", evil],
        ["ops", evil],
        ["conformance", evil],
        [evil],
        ["--" + evil],
    ):
        result = irloop(*arguments)
        assert result.exit_code in (1, 2), (arguments, result.output)
        require_harmless(result)


@pytest.mark.parametrize("command", ["ops", "rules", "passes"])
def test_listing_commands_print_no_control_sequences(irloop: Irloop, command: str) -> None:
    for style in ("text", "json"):
        require_harmless(irloop(command, "--format", style))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain Mul_4 ü 模型", "plain Mul_4 ü 模型"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\u202eb\u2028", r"a\u202eb\u2028"),
        ("::error::x", r"\x3a\x3aerror::x"),
        ("  ::error::x", r"  \x3a\x3aerror::x"),
        ("a::b", "a::b"),
        ("x ##[error]y ## title", r"x \x23\x23[error]y ## title"),
        ("##vso[z] ##TeamCity[w]", r"\x23\x23vso[z] \x23\x23TeamCity[w]"),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown
    assert one_line(shown) == shown


def test_each_part_of_a_diagnostic_is_printed_on_one_line() -> None:
    item = Diagnostic(
        "IRL1",
        Severity.ERROR,
        "m\n::error::a",
        Location("f\n::b", 3, "p\nq"),
        expected="e\nf",
        fix="\x1b",
    )
    assert str(item).split("\n") == [
        r"f\n::b:3: p\nq: error IRL1: m\n::error::a",
        r"  expected: e\nf",
        r"  fix: \x1b",
    ]


def test_texts_of_any_length_are_cut() -> None:
    shown = one_line("\x1b" * 10_000_000)
    assert shown.startswith("\\x1b\\x1b")
    assert shown.endswith("... (10,000,000 characters)")
    assert len(shown) < 5 * LONGEST
