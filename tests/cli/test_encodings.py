"""Commands whose stdout is a Windows pipe in cp1252, with names that cp1252 cannot express."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

import irloop

NAMES = ("模型", "вход", "цикл→", "état😀", "сумма")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An IR, a converted model and a model that differs; their names contain characters that cp1252
    lacks.
    """
    made = tmp_path_factory.mktemp("模型")
    for name, factor in (("模型", 1.0), ("другая", 2.0)):
        b = irloop.Builder("openvino", opset=8, name=NAMES[0])
        x = b.input(NAMES[1], "f32", [4, 2])
        with b.loop(4, name=NAMES[2]) as body:
            state = body.state(b.constant([[0.0, 0.0]]), name=NAMES[3])
            scaled = body.op("Multiply", body.slice(x), body.constant(factor), name="произведение")
            body.next(state, body.op("Add", state, scaled, name=NAMES[4]))
            last = body.last(state)
        b.output("выход", last)
        irloop.save_model(b.model(), made / f"{name}.xml")
    text = (made / "模型.xml").read_text(encoding="utf-8")
    wrong = text.replace('from-port="2"', 'from-port="9"', 1)
    assert wrong != text
    (made / "ошибка.xml").write_text(wrong, encoding="utf-8")
    (made / "ошибка.bin").write_bytes((made / "模型.bin").read_bytes())
    (made / "log.txt").write_bytes(b"Check '\x81 it != map.end()' failed: unordered_map::at")
    return made


def run(folder: Path, *arguments: str, stdin: str | None = None) -> tuple[int, bytes, str]:
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}
    with open(folder / stdin if stdin else os.devnull, "rb") as given:
        done = subprocess.run(
            [sys.executable, "-m", "irloop", *arguments],
            capture_output=True,
            check=False,
            cwd=folder,
            env=environment,
            stdin=given,
            timeout=300,
        )
    return done.returncode, done.stdout, done.stderr.decode("cp1252")


COMMANDS: list[tuple[int, list[str]]] = [
    (0, ["convert", "模型.xml", "-o", "из.onnx", "--check", "--engines", "numpy"]),
    (0, ["convert", "模型.xml", "-o", "ещё.xml", "-v"]),
    (0, ["validate", "模型.xml", "-v"]),
    (1, ["validate", "ошибка.xml"]),
    (0, ["validate", "ошибка.xml", "--diff"]),
    (0, ["check", "模型.xml", "模型.xml", "--engines", "numpy"]),
    (1, ["check", "模型.xml", "другая.xml", "--engines", "numpy"]),
    (1, ["diff", "模型.xml", "другая.xml"]),
    (1, ["reduce", "模型.xml", "другая.xml", "-o", "меньше"]),
    (0, ["run", "模型.xml", "--outputs", "выход.npz"]),
    (0, ["run", "模型.xml", "--trace"]),
    (0, ["inspect", "模型.xml"]),
    (0, ["inspect", "模型.xml", "--draw", "картина.svg"]),
    (0, ["transform", "模型.xml", "-o", "новая.xml", "--pass", "unroll"]),
    (0, ["conformance", "numpy", "--case", "if_chooses"]),
    (0, ["passes", "unroll"]),
    (0, ["explain", "IRL203"]),
    (2, ["explain", "→ 模型"]),
    (0, ["rules"]),
    (0, ["ops", "Loop"]),
    (0, ["doctor"]),
    (0, ["schema"]),
    (2, ["inspect", "нет.xml"]),
]


@pytest.mark.parametrize(("status", "arguments"), COMMANDS, ids=[" ".join(c) for _, c in COMMANDS])
def test_every_command(status: int, arguments: list[str], folder: Path) -> None:
    found, out, err = run(folder, *arguments)
    assert found == status, err
    assert "internal error" not in err
    assert "Traceback" not in err
    assert out or err


def test_names_are_escaped(folder: Path) -> None:
    _, out, _ = run(folder, "inspect", "模型.xml")
    text = out.decode("cp1252")
    assert NAMES[1].encode("ascii", "backslashreplace").decode() in text
    assert "\\u2192" in text


@pytest.mark.parametrize("style", ["json", "sarif", "gitlab", "rdjson"])
def test_reports_in_json_name_the_file(style: str, folder: Path) -> None:
    _, out, _ = run(folder, "validate", "ошибка.xml", "--format", style)
    assert "ошибка" in json.dumps(json.loads(out), ensure_ascii=False) or b"%D0%BE" in out


@pytest.mark.parametrize("style", ["junit", "github", "azure", "summary"])
def test_other_reports_are_utf_8(style: str, folder: Path) -> None:
    _, out, _ = run(folder, "validate", "ошибка.xml", "--format", style)
    assert "ошибка.xml" in out.decode("utf-8")
    if style == "junit":
        assert "ошибка.xml" in etree.fromstring(out)[0].attrib["name"]


def test_schemas_are_utf_8(folder: Path) -> None:
    _, out, _ = run(folder, "schema")
    assert etree.fromstring(out).tag.endswith("schema")


def test_a_log_in_another_encoding_is_explained(folder: Path) -> None:
    status, out, _ = run(folder, "explain", "-", stdin="log.txt")
    assert status == 0
    assert b"irloop validate --select IRL5" in out


def test_paths_of_windows_in_annotations() -> None:
    script = (
        "from pathlib import PureWindowsPath as Windows\n"
        "from irloop_cli.places import slashed\n"
        r"print(slashed(r'models\a\b.xml', Windows), slashed(r'C:\m\a.xml', Windows))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["models/a/b.xml", "C:/m/a.xml"]
