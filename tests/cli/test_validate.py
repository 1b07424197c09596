"""``irloop validate``: findings and their locations, formats, selection, exit status."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from click.testing import Result

Irloop = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def broken(recurrent: Path, tmp_path: Path) -> Path:
    """The recurrent model with an edge from port 9, which does not exist, on line 186."""
    text = recurrent.read_text(encoding="utf-8")
    good = '<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>'
    assert text.count(good) == 1
    path = tmp_path / "broken.xml"
    path.write_text(text.replace(good, good.replace('from-port="2"', 'from-port="9"')), "utf-8")
    shutil.copy(recurrent.with_suffix(".bin"), tmp_path / "broken.bin")
    return path


def line_of(path: Path, text: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    (number,) = [at for at, line in enumerate(lines, start=1) if text in line]
    return number


def test_a_valid_model_has_no_findings(irloop: Irloop, recurrent: Path) -> None:
    result = irloop("validate", recurrent)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "no findings in 1 file\n"


def test_findings_of_severity_info_do_not_change_the_exit_status(
    irloop: Irloop, recurrent: Path, halving: Path, tmp_path: Path
) -> None:
    path = tmp_path / "halving.xml"
    path.write_bytes(halving.read_bytes())
    # Bytes that no constant refers to.
    path.with_suffix(".bin").write_bytes(halving.with_suffix(".bin").read_bytes() + bytes(16))
    result = irloop("validate", recurrent, path, "--fail-on", "warning")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "1 info in 2 files"


def test_a_finding_has_place_line_expected_found_and_fix(irloop: Irloop, broken: Path) -> None:
    result = irloop("validate", broken)
    assert (result.exit_code, result.stderr) == (1, "")
    number = line_of(broken, 'from-port="9"')
    head, excerpt, *rest = result.stdout.splitlines()
    assert head.startswith(f"{broken}:{number}: error IRL203: ")
    assert excerpt == (
        f'  {number:>5} | <edge from-layer="2" from-port="9" to-layer="3" to-port="0"/>'
    )
    labels = [line.split(":")[0].strip() for line in rest if line.startswith("  ")]
    assert labels == ["where", "expected", "found", "fix"]
    assert rest[-1] == "1 error in 1 file"


def test_json_reports_the_same(irloop: Irloop, broken: Path) -> None:
    result = irloop("validate", broken, "--format", "json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["schema"] == "irloop-report/1"
    assert report["command"] == "validate"
    assert report["files"] == [str(broken)]
    assert report["summary"] == {"errors": 1, "warnings": 0, "infos": 0}
    (finding,) = report["findings"]
    assert set(finding) == {
        "code", "severity", "message", "file", "line", "path", "layer_id", "element",
        "expected", "found", "cause", "fix",
    }  # fmt: skip
    assert (finding["code"], finding["severity"]) == ("IRL203", "error")
    assert finding["line"] == line_of(broken, 'from-port="9"')


def test_select_and_ignore_accept_codes_and_groups(irloop: Irloop, broken: Path) -> None:
    assert irloop("validate", broken, "--select", "IRL1,IRL3").exit_code == 0
    assert irloop("validate", broken, "--select", "irl2").exit_code == 1
    assert irloop("validate", broken, "--ignore", "IRL203").exit_code == 0


def test_a_code_that_does_not_exist_is_wrong_usage(irloop: Irloop, recurrent: Path) -> None:
    result = irloop("validate", recurrent, "--select", "XYZ")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "XYZ" in result.stderr


def test_folders_are_searched_and_other_xml_is_left_alone(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    shutil.copy(recurrent, inner / "m.xml")
    shutil.copy(recurrent.with_suffix(".bin"), inner / "m.bin")
    (tmp_path / "pom.xml").write_text("<project/>", "utf-8")
    result = irloop("validate", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "no findings in 1 file\n")


def test_patterns_are_expanded(irloop: Irloop, broken: Path, tmp_path: Path) -> None:
    result = irloop("validate", f"{tmp_path}/**/*.xml")
    assert result.exit_code == 1
    assert str(broken) in result.stdout


@pytest.mark.parametrize("path", ["missing.xml", "*.onnx", "."])
def test_a_pattern_that_matches_nothing_is_an_error(
    irloop: Irloop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = irloop("validate", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert path in result.stderr


def test_a_file_that_is_given_twice_is_validated_once(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.xml"
    link.symlink_to(recurrent)
    result = irloop("validate", recurrent, link, recurrent.parent)
    assert result.stdout == "no findings in 1 file\n"


def test_fail_on_warning(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    text = recurrent.read_text(encoding="utf-8")
    path.write_text(text.replace("<layers>", "<layers><surprise/>", 1), "utf-8")
    shutil.copy(recurrent.with_suffix(".bin"), tmp_path / "m.bin")
    assert irloop("validate", path).exit_code == 0
    result = irloop("validate", path, "--fail-on", "warning")
    assert result.exit_code == 1
    assert "warning IRL107" in result.stdout


def test_weights_in_another_folder_are_given_by_an_option(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    path = tmp_path / "m.xml"
    shutil.copy(recurrent, path)
    assert "IRL301" in irloop("validate", path).stdout
    weights = recurrent.with_suffix(".bin")
    assert irloop("validate", path, "--bin", weights).exit_code == 0
    assert irloop("validate", path, recurrent, "--bin", weights).exit_code == 0


def test_an_unreadable_file_does_not_hide_the_others(
    irloop: Irloop, broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<net/>", "utf-8")
    really_open = os.open

    # Removing the permission would not stop root, as which many containers run tests, from reading.
    def refusing(file: Any, *arguments: Any, **options: Any) -> Any:
        if str(file) == str(secret):
            raise PermissionError(13, "Permission denied", str(file))
        return really_open(file, *arguments, **options)

    monkeypatch.setattr(os, "open", refusing)
    result = irloop("validate", broken, secret)
    assert result.exit_code == 2
    assert "IRL203" in result.stdout
    assert result.stderr == f"irloop: error: cannot open {secret}: Permission denied\n"


HOSTILE = {
    "empty": b"",
    "not xml": b"\x00\x01\x02 nothing at all",
    "cut short": b'<?xml version="1.0"?><net name="x" version="10"><layers><layer id="0"',
    "another root": b"<html><body/></html>",
    "a billion laughs": b'<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    b'<net version="10">&b;</net>',
    "a file of the machine": b'<!DOCTYPE net [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    b'<net version="10">&a;</net>',
    "too deep": b'<net version="10">' + b"<body>" * 5000 + b"</body>" * 5000 + b"</net>",
    "an LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "wrong encoding": b'<?xml version="1.0" encoding="utf-8"?><net name="\xff\xfe"/>',
    "no layers": b'<net name="x" version="10"><layers/><edges/></net>',
    "huge numbers": b'<net name="x" version="10"><layers><layer id="99999999999999999999" name="a"'
    b' type="Const" version="opset1"><data element_type="f32" shape="9999999999,9999999999"'
    b' offset="99999999999999" size="1"/></layer></layers><edges/></net>',
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_is_a_finding_and_no_traceback(
    irloop: Irloop, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(HOSTILE[name])
    result = irloop("validate", path)
    assert result.exit_code == 1, result.output
    assert "error IRL" in result.stdout
    assert "root:" not in result.stdout


def test_names_in_a_file_do_not_control_the_terminal(irloop: Irloop, broken: Path) -> None:
    text = broken.read_text(encoding="utf-8")
    broken.write_text(text.replace('name="rnn"', 'name="\u009b31m\u202ernn"'), "utf-8")
    result = irloop("validate", broken)
    assert result.exit_code == 1
    assert "\u009b" not in result.stdout
    assert "\u202e" not in result.stdout


def test_progress_and_logs_are_not_written_to_stdout(process: Process, recurrent: Path) -> None:
    done = process("validate", recurrent, "-v")
    assert done.stdout == "no findings in 1 file\n"
    assert done.stderr == f"validated {recurrent}\n"
    assert process("validate", recurrent, "-q").stderr == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["pipe.xml", "pipe.onnx"])
def test_a_pipe_is_refused_and_not_waited_for(
    irloop: Irloop, recurrent: Path, tmp_path: Path, name: str
) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    shutil.copy(recurrent, tmp_path / "good.xml")
    shutil.copy(recurrent.with_suffix(".bin"), tmp_path / "good.bin")
    result = irloop("validate", pipe, tmp_path / "good.xml")
    assert result.exit_code == 2
    assert result.stderr == f"irloop: error: cannot open {pipe}: this is a pipe, not a file\n"
    assert result.stdout == "no findings in 1 file\n"
    for command in (("inspect", pipe), ("run", pipe), ("convert", pipe, "-o", tmp_path / "o.onnx")):
        assert "this is a pipe" in irloop(*command).output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_the_kind_of_weights_that_are_not_a_file_is_named(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    model, weights = tmp_path / "m.xml", tmp_path / "m.bin"
    shutil.copy(recurrent, model)
    os.mkfifo(weights)
    result = irloop("validate", model)
    assert result.exit_code == 1
    assert f"IRL301: the weights file {weights} is a pipe, not a file" in result.stdout
    assert f"{weights} is a pipe, not a file" in irloop("run", model).output
    weights.unlink()
    weights.mkdir()
    assert f"{weights} is a folder, not a file" in irloop("validate", model).stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_settings_that_are_a_pipe_are_refused(
    irloop: Irloop, recurrent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "irloop.toml")
    monkeypatch.chdir(tmp_path)
    result = irloop("validate", recurrent)
    assert result.exit_code == 2
    assert "irloop.toml" in result.stderr
    assert "this is a pipe, not a file" in result.stderr


def test_a_line_break_in_a_name_does_not_start_a_line(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    text = recurrent.read_text(encoding="utf-8").replace('"FP32"', '"XX"', 1)
    model = tmp_path / "m.xml"
    model.write_text(text.replace('name="x"', 'name="a&#10;::error::b"', 1), "utf-8")
    shutil.copy(recurrent.with_suffix(".bin"), tmp_path / "m.bin")
    result = irloop("validate", model)
    assert "  where:    a\\n::error::b; layer id 0;" in result.stdout


@pytest.mark.parametrize("name", ["m.xml", "m.bin"])
def test_a_report_is_not_written_over_a_model(
    irloop: Irloop, recurrent: Path, tmp_path: Path, name: str
) -> None:
    for suffix in (".xml", ".bin"):
        shutil.copy(recurrent.with_suffix(suffix), tmp_path / f"m{suffix}")
    before = (tmp_path / name).read_bytes()
    result = irloop("validate", tmp_path / "m.xml", "--output", f"json={tmp_path / name}")
    assert result.exit_code == 2
    assert "would be written over a model" in result.stderr
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "MODEL", "--report", "sarif=LINK"],
        ["validate", "MODEL", "--report", "html=LINK"],
        ["validate", "MODEL", "--baseline", "LINK", "--write-baseline"],
        ["view", "MODEL", "-o", "LINK"],
        ["inspect", "MODEL", "--draw", "LINK"],
        ["check", "MODEL", "MODEL", "--engines", "numpy", "--report", "LINK"],
        ["diff", "MODEL", "MODEL", "--report", "LINK"],
        ["run", "MODEL", "--outputs", "LINK"],
        ["run", "MODEL", "--profile-trace", "LINK"],
        ["transform", "MODEL", "-o", "other.xml", "--pass", "dead_code", "--profile-csv", "LINK"],
        ["convert", "MODEL", "-o", "LINK"],
        ["schema", "-o", "LINK"],
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-2].strip('-')}",
)
def test_a_link_is_replaced_and_its_target_unchanged(
    irloop: Irloop,
    recurrent: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    suffix = {"view": "html", "run": "npz", "convert": "onnx", "check": "html", "diff": "html"}
    suffix["schema"] = "xsd"
    link = tmp_path / f"link.{suffix.get(arguments[0], 'svg')}"
    target = tmp_path / "target"
    # A baseline is read before it is written.
    before = '{"schema": "irloop-baseline/1", "findings": []}'
    target.write_text(before, "utf-8")
    link.symlink_to(target)
    names = {"MODEL": str(recurrent), "LINK": str(link)}
    for name, path in names.items():
        arguments = [item.replace(name, path) for item in arguments]
    result = irloop(*arguments)
    assert result.exit_code == 0, result.output
    assert target.read_text("utf-8") == before
    assert link.is_file()
    assert not link.is_symlink()


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_report_is_written_to_a_stream_of_the_system(
    process: Process, recurrent: Path, place: str
) -> None:
    result = process("validate", recurrent, "--report", f"junit={place}")
    assert "<testsuite" in result.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_report_is_written_to_a_pipe(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Opened for both, so that neither side waits for the other.
    handle = os.open(pipe, os.O_RDWR)
    irloop("validate", recurrent, "--report", f"text={pipe}")
    assert os.read(handle, 4096) == b"no findings in 1 file\n"
    os.close(handle)


@pytest.mark.parametrize("inside", ["m.xml", "m.bin", "m.onnx"])
def test_links_that_lead_out_of_the_folder_are_not_followed(
    irloop: Irloop, recurrent: Path, tmp_path: Path, inside: str
) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    shutil.copy(recurrent, folder / "m.xml")
    shutil.copy(recurrent.with_suffix(".bin"), folder / "m.bin")
    # A link that stays inside the folder counts like the file itself.
    (folder / "same.xml").symlink_to("m.xml")
    (folder / "same.bin").symlink_to("m.bin")
    assert irloop("validate", folder).exit_code == 0
    (folder / inside).unlink(missing_ok=True)
    outside = tmp_path / "outside"
    source = recurrent if inside == "m.xml" else recurrent.with_suffix(".bin")
    shutil.copy(source, outside)
    (folder / inside).symlink_to(outside)
    result = irloop("validate", folder)
    assert result.exit_code == 2
    assert "this link leads out of the folder" in result.stderr
    assert irloop("validate", folder, "--follow-links").exit_code == (inside == "m.onnx")
    # A link that the user names is followed; one that the model implies is not.
    assert irloop("validate", folder / "m.xml").exit_code == (inside == "m.bin")
    assert irloop("validate", folder / "m.xml", "--bin", folder / "m.bin").exit_code == 0


@pytest.mark.parametrize("target", [".git/config", "notes.txt"])
def test_a_link_to_a_file_that_is_no_model_is_not_read(
    irloop: Irloop, recurrent: Path, tmp_path: Path, target: str
) -> None:
    for suffix in (".xml", ".bin"):
        shutil.copy(recurrent.with_suffix(suffix), tmp_path / f"m{suffix}")
    (tmp_path / target).parent.mkdir(exist_ok=True)
    (tmp_path / target).write_text("password = 1234", "utf-8")
    (tmp_path / "link.onnx").symlink_to(target)
    for arguments in ([tmp_path], ["--changed", tmp_path / "m.xml", tmp_path / "link.onnx"]):
        result = irloop("validate", *arguments, "--format", "github")
        assert result.exit_code == 2
        assert "link.onnx: this link leads" in result.stderr
        assert "password" not in result.output


def test_a_linked_folder_that_a_pattern_matches_is_not_searched(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    (folder / "link").symlink_to(recurrent.parent)
    result = irloop("validate", folder / "*" / "*.xml")
    assert result.exit_code == 2
    assert "this link leads out of the folder" in result.stderr
    assert irloop("validate", folder / "*" / "*.xml", "--follow-links").exit_code == 0


def test_fix_writes_and_proves_and_diff_writes_nothing(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.xml"
    right = recurrent.read_bytes()
    wrong = right.replace(b'internal_layer_id="0" axis="1"', b'internal_layer_id="0" axis="-2"')
    path.write_bytes(wrong)
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    shown = irloop("validate", path, "--diff")
    assert shown.exit_code == 1
    assert [line for line in shown.stdout.splitlines() if line.startswith("+\t")]
    assert path.read_bytes() == wrong
    done = irloop("validate", path, "--fix")
    assert (done.exit_code, done.stdout) == (0, "no findings in 1 file\n")
    assert 'fixed IRL623: axis="1" instead of "-2"' in done.stderr
    assert "proved: the same results in" in done.stderr
    assert path.read_bytes() == right
    again = irloop("validate", path, "--diff")
    assert (again.exit_code, again.stdout) == (0, "")


def test_a_fix_that_appends_to_the_weights(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    text = recurrent.read_text(encoding="utf-8")
    old = 'internal_layer_id="0" axis="1" start="0"'
    assert text.count(old) == 1
    path.write_text(text.replace(old, old.replace('start="0"', 'start="2"')), encoding="utf-8")
    weights = path.with_suffix(".bin")
    before = recurrent.with_suffix(".bin").read_bytes()
    weights.write_bytes(before)
    shown = irloop("validate", path, "--diff", "--unsafe-fixes")
    assert f"48 bytes would be appended to {weights}" in shown.stderr
    assert weights.read_bytes() == before
    done = irloop("validate", path, "--fix", "--unsafe-fixes")
    assert "48 bytes are appended to the .bin" in done.stderr
    # Begin, end and strides for two axes: rows 2 to 6 along axis 1.
    numbers = (0, 2, 0, 6, 1, 1)
    assert weights.read_bytes() == before + b"".join(n.to_bytes(8, "little") for n in numbers)
    assert "IRL619" not in irloop("validate", path).stdout


def test_unsafe_fixes_are_announced_and_made_only_on_request(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.xml"
    right = recurrent.read_text(encoding="utf-8")
    wrong = right.replace('<edge from-layer="15" to-layer="1"/>', "")
    path.write_text(wrong, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    kept = irloop("validate", path, "--fix")
    assert (
        "1 fix was left out because results would change or an assumption is needed" in kept.stderr
    )
    assert path.read_text(encoding="utf-8") == wrong
    done = irloop("validate", path, "--fix", "--unsafe-fixes")
    assert "(the state is carried, so the outputs change)" in done.stderr
    assert irloop("check", recurrent, path, "--engines", "numpy").exit_code == 0
    alone = irloop("validate", path, "--unsafe-fixes")
    assert alone.exit_code == 2
    assert "add --fix or --diff" in alone.stderr


def test_the_place_in_an_onnx_model_is_named_once(
    tmp_path: Path, irloop: Callable[..., Result]
) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, int64 n) => (float[2] y) {
      y = Loop (n, , x) <body = b (int64 i, bool c, float[2] x) => (bool d, float[2] z) {
        d = Identity (c) z = Add (x, x) }> }"""
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    result = irloop("validate", path)
    assert "\n  where:    Loop(y)/body\n" in result.stdout
