"""``irloop validate`` of many models: processes, shared weights, the step summary."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from irloop.validation.rules import irl309_non_finite_weights

Irloop = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(recurrent: Path, halving: Path, tmp_path: Path) -> Path:
    """Six models; the second and the fifth have one error each."""
    for number in range(6):
        source = halving if number % 2 else recurrent
        text = source.read_text(encoding="utf-8")
        if number in (1, 4):
            text = re.sub(r'(<edge from-layer="\d+" from-port=)"\d+"', r'\1"77"', text, count=1)
        (tmp_path / f"m{number}.xml").write_text(text, encoding="utf-8")
        (tmp_path / f"m{number}.bin").write_bytes(source.with_suffix(".bin").read_bytes())
    return tmp_path


def test_processes_write_the_same_report_as_one_process(process: Process, folder: Path) -> None:
    alone = process("validate", folder, "--format", "json", "--jobs", "1")
    several = process("validate", folder, "--format", "json", "--jobs", "3")
    assert (several.returncode, several.stdout) == (alone.returncode, alone.stdout)
    assert several.returncode == 1
    files = json.loads(several.stdout)["files"]
    assert [Path(file).name for file in files] == [f"m{number}.xml" for number in range(6)]


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such signal")
def test_a_process_that_dies_loses_only_the_model_it_validates(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Other models may have been sent to that process already."""
    place = tmp_path_factory.mktemp("site")
    (place / "sitecustomize.py").write_text(
        "import os, signal, irloop\n"
        "really = irloop.validate\n"
        "def dying(path, *more, **extra):\n"
        "    if os.path.basename(path) in ('m0.xml', 'm2.xml', 'm3.xml'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return really(path, *more, **extra)\n"
        "irloop.validate = dying\n",
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "irloop", "validate", str(folder), "--format", "json", "--isolate",
         "--jobs", "2"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(place)},
    )  # fmt: skip
    assert done.stderr == ""
    found = json.loads(done.stdout)["findings"]
    codes = [(Path(item["file"]).name, item["code"]) for item in found]
    assert codes == [
        ("m0.xml", "LIM001"),
        ("m1.xml", "IRL203"),
        ("m2.xml", "LIM001"),
        ("m3.xml", "LIM001"),
        ("m4.xml", "IRL203"),
    ]


def test_a_wrong_code_is_reported_once(process: Process, folder: Path) -> None:
    done = process("validate", folder, "--jobs", "2", "--select", "XYZ")
    assert done.returncode == 2
    assert done.stderr.count("XYZ") == 2
    assert "Traceback" not in done.stderr


def test_small_models_need_no_second_process(irloop: Irloop, folder: Path) -> None:
    result = irloop("validate", folder, "-v")
    assert "processes" not in result.stderr
    assert result.stderr.splitlines()[0] == f"validated {folder / 'm0.xml'}"


def test_shared_weights_are_read_once(
    irloop: Irloop, recurrent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "shared.bin"
    weights.write_bytes(recurrent.with_suffix(".bin").read_bytes())
    looked: list[object] = []
    really = irl309_non_finite_weights._first_non_finite

    def counted(*arguments: object) -> object:
        looked.append(arguments[1])
        return really(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(irl309_non_finite_weights, "_first_non_finite", counted)
    text = recurrent.read_text(encoding="utf-8")
    for number in range(3):
        (tmp_path / f"m{number}.xml").write_text(text, encoding="utf-8")
    result = irloop("validate", "--no-isolate", tmp_path, "--bin", weights)
    assert (result.exit_code, result.stdout) == (0, "no findings in 3 files\n")
    once = len(looked)
    assert once == text.count('element_type="f32"') - text.count('type="Parameter"')


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The summary file of a step of GitHub Actions, which already contains text."""
    path = tmp_path / "summary.md"
    path.write_text("# build\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_the_step_summary_is_appended_to(irloop: Irloop, folder: Path, summary: Path) -> None:
    irloop("validate", folder)
    assert summary.read_text(encoding="utf-8") == "# build\n"
    assert irloop("validate", folder, "--format", "github").exit_code == 1
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("# build\n### irloop validate\n\n2 errors")
    rows = [line for line in text.splitlines() if line.startswith("| ❌")]
    assert len(rows) == 2
    assert all(
        re.fullmatch(r"\| ❌ \| IRL203 \| <code>.*m[14]\.xml&#58;\d+</code> \| .* \|", row)
        for row in rows
    )


def test_a_summary_in_a_file_is_cut_and_escaped(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    text = recurrent.read_text(encoding="utf-8")
    extra = '<edge from-layer="0" from-port="7" to-layer="3" to-port="0"/>\n' * 120
    head, tail = text.rsplit("</edges>", 1)
    path = tmp_path / "model.xml"
    named = head.replace('name="x"', 'name="x|&lt;b&gt;"', 1)
    path.write_text(f"{named}{extra}</edges>{tail}", encoding="utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    target = tmp_path / "summary.md"
    options = ("--select", "IRL203", "--max-same-findings", 0, "--output", f"summary={target}")
    irloop("validate", path, *options)
    written = target.read_text(encoding="utf-8")
    assert written.count("IRL203") == 100
    assert written.endswith("20 more in the report\n")
    assert "x&#124;&#60;b&#62;" in written
