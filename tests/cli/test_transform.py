"""``irloop transform`` and ``passes``: passes by name, profiles, checks, and pictures of models."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import irloop as api

Irloop = Callable[..., Result]


def types(path: Path) -> set[str]:
    return {node.op.type for node in api.read_model(path).graph.nodes}


def test_a_loop_is_unrolled_proved_and_written(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    output = tmp_path / "flat.xml"
    result = irloop(
        "transform", recurrent, "-o", output, "--pass", "unroll=8", "--check", "--engines", "numpy"
    )
    assert result.exit_code == 0
    first, verdict, *_ = result.stdout.splitlines()
    assert first == "changed by unroll"
    assert verdict.startswith("equal: ")
    assert result.stderr.splitlines() == [f"wrote {output}", f"wrote {tmp_path / 'flat.bin'}"]
    assert "TensorIterator" in types(recurrent)
    assert "TensorIterator" not in types(output)
    assert api.read_model(output).version == 10


def test_options_are_passed_on(irloop: Irloop, recurrent: Path) -> None:
    for text in ("unroll=5", "unroll:trips=5", "unroll:nodes=20:trips=9"):
        result = irloop("transform", recurrent, "--pass", text, "--check", "--engines", "numpy")
        assert result.stdout.startswith("no pass changed the model\nequal: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pass", "unrol"], "no pass is called 'unrol'"),
        (["--pass", "unroll:trip=8"], "pass unroll has no option 'trip'\n  expected: trips, nodes"),
        (["--pass", "unroll=-1"], "a limit of unroll is negative"),
        (["--pass", "unroll=lots"], "option trips of pass unroll cannot be 'lots'"),
        (["--pass", "unroll", "--disable", "nothing"], "no pass is called 'nothing'"),
        (["--pass", "loop_to_scan"], "pass loop_to_scan works on onnx models"),
        (["--pass", "dead_code", "--draw", "after=unroll"], "--draw after=unroll: no such pass"),
        (["--pass", "unroll", "--draw", "during=unroll"], "neither before=PASS nor after=PASS"),
    ],
)
def test_wrong_usage_is_refused_by_name(
    irloop: Irloop, recurrent: Path, arguments: list[str], message: str
) -> None:
    result = irloop("transform", recurrent, "--profile", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_contradictory_arguments_are_refused(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    nothing = irloop("transform", recurrent, "--pass", "unroll")
    assert (nothing.exit_code, "no output is requested" in nothing.stderr) == (2, True)
    other = irloop("transform", recurrent, "-o", tmp_path / "a.onnx", "--pass", "unroll")
    assert other.exit_code == 2
    assert "keeps the format .xml" in other.stderr
    assert "irloop convert" in other.stderr
    itself = irloop("transform", recurrent, "-o", recurrent, "--pass", "unroll")
    assert itself.exit_code == 2
    assert "would be written over" in itself.stderr


def test_a_disabled_pass_does_not_run(irloop: Irloop, recurrent: Path) -> None:
    arguments = ("--pass", "unroll", "--pass", "dead_code", "--disable", "unroll")
    result = irloop("transform", recurrent, *arguments, "--profile")
    assert result.exit_code == 0
    rows = [line.split()[0] for line in result.stdout.splitlines()]
    assert rows == ["pass", "dead_code"]


def test_a_pass_of_the_user_is_disabled_by_its_name(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    file = tmp_path / "wrong_passes.py"
    file.write_text(WRONG)
    arguments = ("--pass", f"{file}:Wrong", "--pass", "dead_code", "--profile")
    shown = irloop("transform", recurrent, *arguments).stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["pass", "wrong", "dead_code"]
    shown = irloop("transform", recurrent, *arguments, "--disable", "wrong").stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["pass", "dead_code"]


def test_the_profile_is_a_table_and_a_file(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    target = tmp_path / "profile.csv"
    arguments = ("--pass", "inline_constant_if", "--pass", "unroll", "--profile-csv", target)
    result = irloop("transform", recurrent, *arguments, "--profile")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["pass", "ms", "matches", "nodes", "changed"]
    assert lines[1].split()[0] == "inline_constant_if"
    assert lines[2].endswith("yes")
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["pass"], row["modified"]) for row in rows] == [
        ("inline_constant_if", "false"),
        ("unroll", "true"),
    ]
    assert float(rows[1]["milliseconds"]) > 0


def test_the_option_draw_writes_pictures_before_and_after_a_pass(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "pictures"
    result = irloop(
        *("transform", recurrent, "--pass", "dead_code", "--pass", "unroll"),
        *("--draw", "before=unroll", "--draw", "after=unroll", "--draw-to", folder),
    )
    assert result.exit_code == 0
    assert sorted(file.name for file in folder.iterdir()) == [
        "002_unroll_after.svg",
        "002_unroll_before.svg",
    ]
    before = (folder / "002_unroll_before.svg").read_text()
    after = (folder / "002_unroll_after.svg").read_text()
    assert 'class="b owner gone"' in before
    assert 'class="b operation new"' in after
    assert "TensorIterator-1" not in after


def test_one_option_draws_the_model_after_every_pass(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    passes = ("--pass", "dead_code", "--pass", "unroll")
    result = irloop("transform", recurrent, *passes, "--draw", "all", "--draw-to", tmp_path)
    assert result.exit_code == 0
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["001_dead_code_after.svg", "002_unroll_after.svg"]


def test_a_picture_has_a_limit(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    arguments = ("--draw", "after=unroll", "--draw-to", tmp_path, "--draw-limit", "20")
    assert irloop("transform", recurrent, "--pass", "unroll", *arguments).exit_code == 0
    assert "more operations are not drawn" in (tmp_path / "001_unroll_after.svg").read_text()


def test_dumps_are_numbered_models(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    arguments = ("--pass", "hoist_invariants", "--pass", "unroll", "--pass", "constant_folding")
    own, other = tmp_path / "own", tmp_path / "other"
    assert irloop("transform", recurrent, *arguments, "--dump", own).exit_code == 0
    names = sorted(file.name for file in own.iterdir())
    assert "002_unroll.xml" in names
    result = irloop(
        "transform", recurrent, *arguments, "--dump", other, "--dump-format", "onnx", "--check"
    )
    assert result.exit_code == 0
    assert "002_unroll.onnx" in [file.name for file in other.iterdir()]
    for folder in (own, other):
        for file in folder.iterdir():
            if file.suffix != ".bin":
                assert api.compare(recurrent, file).equal


def test_the_report_as_json(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.xml"
    result = irloop(
        "transform",
        recurrent,
        "-o",
        output,
        "--pass",
        "unroll",
        "--check",
        "--engines",
        "numpy",
        "--format",
        "json",
    )
    report = json.loads(result.stdout)
    assert (report["command"], report["files"]) == ("transform", [str(recurrent)])
    assert report["written"][0] == str(output)
    (row,) = report["passes"]
    assert (row["name"], row["changed"], row["nodes_before"] < row["nodes_after"]) == (
        "unroll",
        True,
        True,
    )
    assert report["check"]["equal"] is True
    assert report["first_wrong_pass"] is None


WRONG = '''
from irloop.dialects.openvino.elementwise import Sinh, Tanh
from irloop.passes import MatcherPass, wrap_type


class Wrong(MatcherPass):
    """Takes Tanh for Sinh."""

    name = "wrong"

    def pattern(self):
        return wrap_type(Tanh)

    def rewrite(self, match, rewriter):
        new = rewriter.insert(Sinh(), match.root.inputs, before=match.root, name="new")
        rewriter.replace_node(match.root, new.outputs)
        return True
'''


def test_a_pass_that_changes_results_is_named_and_nothing_is_written(
    irloop: Irloop, recurrent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong_passes.py").write_text(WRONG)
    info = tmp_path / "wrong_passes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong-passes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[irloop.passes]\nwrong = wrong_passes:Wrong\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    output = tmp_path / "out.xml"
    passes = ("--pass", "unroll", "--pass", "wrong", "--pass", "dead_code")
    result = irloop("transform", recurrent, "-o", output, *passes, "--check", "--engines", "numpy")
    assert result.exit_code == 1
    assert "the first pass that changes what is computed: wrong" in result.stdout
    assert not output.exists()
    listed = irloop("passes")
    assert "Takes Tanh for Sinh. [wrong_passes]" in listed.stdout


def test_the_passes_are_listed(irloop: Irloop) -> None:
    lines = irloop("passes").stdout.splitlines()
    assert lines[-1] == f"{len(lines) - 1} passes"
    assert any(line.split()[:2] == ["unroll", "both"] for line in lines)
    some = irloop("passes", "--dialect", "onnx").stdout.splitlines()
    assert len(some) < len(lines)


def test_a_pass_is_shown_with_its_drawings_and_options(irloop: Irloop) -> None:
    lines = irloop("passes", "unroll").stdout.splitlines()
    assert lines[0].startswith("unroll: Unrolls a loop of at most `trips` iterations")
    assert lines[lines.index("given") + 1] == "    Loop(3, true, a):  a' = a * 2     -> last a"
    assert lines[lines.index("result") + 1] == "    a1 = a * 2    a2 = a1 * 2    a3 = a2 * 2"
    assert "    trips: whole number (default 64)" in lines
    missing = irloop("passes", "unrol")
    assert (missing.exit_code, "no pass is called 'unrol'" in missing.stderr) == (2, True)


def test_passes_as_json(irloop: Irloop) -> None:
    report = json.loads(irloop("passes", "fold-trips", "--format", "json").stdout)
    assert report["schema"] == "irloop-passes/1"
    (row,) = report["passes"]
    assert row["name"] == "fold_trips"
    assert [option["name"] for option in row["options"]] == ["nodes"]


def test_a_model_is_drawn_without_a_pass(irloop: Irloop, halving: Path, tmp_path: Path) -> None:
    for suffix, start in (("svg", "<svg "), ("dot", "digraph ")):
        target = tmp_path / f"model.{suffix}"
        result = irloop("inspect", halving, "--draw", target)
        assert (result.exit_code, result.stdout) == (0, "")
        assert target.read_text().startswith(start)
    refused = irloop("inspect", halving, "--draw", tmp_path / "model.png")
    assert (refused.exit_code, "drawings are written as .dot, .svg" in refused.stderr) == (2, True)
