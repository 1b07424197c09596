"""How people type commands: no -o, names with typing errors, pipes that close, addresses."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import Result

import irloop as api

Irloop = Callable[..., Result]


@pytest.fixture
def copied(recurrent: Path, tmp_path: Path) -> Path:
    for suffix in (".xml", ".bin"):
        shutil.copy(recurrent.with_suffix(suffix), tmp_path / f"m{suffix}")
    return tmp_path / "m.xml"


def test_the_output_is_beside_the_input_in_the_other_format(irloop: Irloop, copied: Path) -> None:
    assert irloop("convert", copied).exit_code == 0
    written = copied.with_suffix(".onnx")
    assert api.read_model(written).dialect == "onnx"
    moved = written.rename(copied.with_name("other.onnx"))
    assert irloop("convert", moved).exit_code == 0
    assert api.read_model(moved.with_suffix(".xml")).dialect == "openvino"


@pytest.mark.parametrize("name", ["m.onnx", "m.xml", "m.bin"])
def test_the_default_output_is_never_written_over(irloop: Irloop, copied: Path, name: str) -> None:
    source = copied
    if name != "m.onnx":
        source = copied.with_suffix(".onnx")
        irloop("convert", copied, source)
        for file in (copied, copied.with_suffix(".bin")):
            if file.name != name:
                file.unlink()
    there = copied.with_name(name)
    there.write_bytes(there.read_bytes() if there.exists() else b"mine")
    before = there.read_bytes()
    result = irloop("convert", source)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{there} exists" in result.stderr
    assert there.read_bytes() == before


def test_the_output_may_be_the_second_argument(irloop: Irloop, copied: Path) -> None:
    output = copied.with_name("out.onnx")
    assert irloop("convert", copied, output).exit_code == 0
    assert api.read_model(output).dialect == "onnx"
    twice = irloop("convert", copied, output, "-o", output)
    assert twice.exit_code == 2
    assert "named twice" in twice.stderr


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["passes", "dead_cod"], "'dead_code'"),
        (["transform", "MODEL", "-o", "OUT", "--pass", "unrol"], "'unroll'"),
        (["ops", "MatMull"], "'MatMul'"),
        (["explain", "IRL2033"], "'IRL203'"),
        (["validate", "MODEL", "--select", "IRL2033"], "'IRL203'"),
        (["convrt", "MODEL"], "'convert'"),
    ],
)
def test_names_with_typing_errors_get_the_right_name(
    irloop: Irloop, copied: Path, arguments: list[str], meant: str
) -> None:
    files = {"MODEL": str(copied), "OUT": str(copied.with_name("out.xml"))}
    result = irloop(*(files.get(item, item) for item in arguments))
    assert result.exit_code == 2
    assert f"id you mean {meant}" in result.stderr


def test_a_name_that_resembles_nothing_gets_no_advice(irloop: Irloop) -> None:
    result = irloop("qqqqqq")
    assert result.exit_code == 2
    assert "no such command 'qqqqqq'\n" in result.stderr
    assert "mean" not in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the test needs a shell of Unix")
@pytest.mark.parametrize(
    ("command", "status"),
    [("rules", 0), ("ops", 0), ("schema", 0), ("convert MODEL -o -", 0), ("validate BAD", 1)],
)
def test_a_reader_that_leaves_is_no_error(copied: Path, command: str, status: int) -> None:
    bad = copied.with_name("bad.xml")
    bad.write_text(copied.read_text().replace("from-port", "from-prt"))
    command = command.replace("MODEL", f'"{copied}"').replace("BAD", f'"{bad}"')
    # The sleep lets the reader leave before anything is written.
    line = f'(sleep 0.3; "{sys.executable}" -m irloop {command}; echo $? >&3) 3>status | true'
    done = subprocess.run(
        ["sh", "-c", f"{line}; sleep 0.1; cat status"],
        capture_output=True,
        check=True,
        cwd=copied.parent,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr
    assert done.stdout.split()[-1] == str(status)


@pytest.mark.parametrize("command", ["convert", "validate", "inspect", "run", "view"])
def test_addresses_are_refused_in_words(
    irloop: Irloop, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.delitem(sys.modules, "irloop.fleet.download", raising=False)
    result = irloop(command, "https://example.org/models/m.onnx")
    assert result.exit_code == 2
    assert "is an address" in result.stderr
    assert "download it first" in result.stderr
    assert "curl -LO https://example.org/models/m.onnx" in result.stderr
    assert "pip install 'irloop[fleet]'" in result.stderr


@pytest.fixture
def server(copied: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a folder with an IR, and the ONNX model with external data made of it."""
    pytest.importorskip("fsspec", reason="needs the extra fleet")
    pytest.importorskip("aiohttp", reason="needs aiohttp")
    model, _ = api.convert(copied)
    api.save_model(model, copied.with_name("m.onnx"), external_data=True)
    api.save_model(model, copied.with_name("m.onnxtxt"))
    handler = partial(_Quiet, directory=str(copied.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_commands_on_one_model_fetch_addresses(
    irloop: Irloop, copied: Path, server: str, tmp_path: Path
) -> None:
    for name in (copied.name, "m.onnx", "m.onnxtxt"):
        address = f"{server}/{name}"
        shown = irloop("inspect", address)
        assert shown.stdout.startswith(f"{address}: "), shown.output
        output = tmp_path / "converted" / ("n.onnx" if name.endswith("xml") else "n.xml")
        output.parent.mkdir(exist_ok=True)
        made = irloop("convert", address, "-o", output, "--check", "--format", "json")
        assert made.exit_code == 0, made.output
        assert json.loads(made.stdout)["files"] == [address]
        assert "irloop-scratch" not in made.output
    unnamed = irloop("convert", f"{server}/m.onnx")
    assert (unnamed.exit_code, unnamed.stdout) == (2, "")
    assert f"{server}/m.onnx is no file of this machine" in unnamed.stderr
    absent = irloop("run", f"{server}/none.onnx")
    assert absent.stderr == f"irloop: error: {server}/none.onnx: there is no such file\n"
    assert "is an address" in irloop("validate", f"{server}/m.onnx").stderr


def test_json_names_no_temporary_file(copied: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "irloop", "convert", "-", "-o", "no.onnx", "--format", "json"],
        input=copied.read_bytes(),
        capture_output=True,
        check=False,
        cwd=copied.parent,
    )
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["code"], finding["file"]) == ("IRL301", "<stdin>")
    assert finding["message"] == "the weights file <stdin>.bin does not exist"


def _on_a_terminal(
    *arguments: str, columns: int = 80, variables: Mapping[str, str] | None = None
) -> str:
    """What a terminal shows of a command."""
    read, write = pty.openpty()
    kept = {name: text for name, text in os.environ.items() if not name.endswith("_COLOR")}
    environment = {**kept, **(variables or {})}
    command = [sys.executable, "-m", "irloop", *arguments]
    fcntl.ioctl(read, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command, stdout=write, stderr=write, env=environment) as running:
        os.close(write)
        text = b""
        # Linux reports an error at the end of a terminal.
        with suppress(OSError):
            while data := os.read(read, 4096):
                text += data
        running.wait()
    os.close(read)
    return text.decode()


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ({"TERM": "dumb", "FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_follow_the_terminal_and_the_user(
    copied: Path, variables: dict[str, str], coloured: bool
) -> None:
    right = copied.read_bytes()
    copied.write_bytes(
        right.replace(b'internal_layer_id="0" axis="1"', b'internal_layer_id="0" axis="-2"')
    )
    shown = _on_a_terminal("validate", str(copied), variables=variables)
    assert "IRL" in shown
    assert ("\x1b[" in shown) == coloured


def test_colours_that_are_forced_go_through_a_pipe(copied: Path) -> None:
    copied.write_bytes(copied.read_bytes().replace(b'to-port="0"', b'to-port="77"', 1))
    for wish, coloured in (({"FORCE_COLOR": "1"}, True), ({}, False)):
        done = subprocess.run(
            [sys.executable, "-m", "irloop", "validate", str(copied)],
            capture_output=True,
            text=True,
            check=False,
            env={**{key: os.environ[key] for key in os.environ if "COLOR" not in key}, **wish},
        )
        assert ("\x1b[31m" in done.stdout) == coloured


@pytest.mark.parametrize("command", ["passes", "ops", "rules"])
def test_tables_fit_narrow_terminals(command: str) -> None:
    wide, narrow = (_on_a_terminal(command, columns=columns) for columns in (400, 40))
    assert max(map(len, narrow.splitlines())) <= 40
    assert "".join(narrow.split()) == "".join(wide.split())


def test_python_refuses_addresses_in_words() -> None:
    with pytest.raises(api.UsageError, match="is an address"):
        api.read_model("s3://bucket/m.onnx")


def test_messages_name_no_temporary_file(irloop: Irloop, copied: Path) -> None:
    text = copied.read_text().replace('type="Tanh"', 'type="Foo"')
    copied.write_text(text)
    result = irloop("convert", copied, "-o", "-", "--no-validate")
    assert result.exit_code == 1
    assert "scratch" not in result.output
    assert "stdout.onnx" not in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["schema", "-o", "x.txt"],
        ["schema", "-o", "no/folder/x.xsd"],
        ["view", "MODEL", "-o", "x.pdf"],
        ["view", "MODEL", "-o", "no/folder/x.html"],
        ["run", "MODEL", "--outputs", "x.txt"],
    ],
)
def test_outputs_of_other_formats_are_refused(
    irloop: Irloop, copied: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied.parent)
    result = irloop(*(str(copied) if item == "MODEL" else item for item in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert sorted(item.name for item in copied.parent.iterdir()) == ["m.bin", "m.xml"]


def test_a_part_is_written_beside_its_weights(irloop: Irloop, copied: Path) -> None:
    part = copied.with_name("cell.xml")
    result = irloop("extract", copied, "-o", part, "--body", "rnn", "--inputs", "h_R,x_W",
                    "--outputs", "h_next")  # fmt: skip
    assert result.exit_code == 0
    assert not api.validate(part).diagnostics
    assert [value.name for value in api.read_model(part).graph.inputs] == ["h_R", "x_W"]
    over = irloop("extract", copied, "-o", copied, "--outputs", "states")
    assert over.exit_code == 2
    assert "would be written over" in over.stderr
    wrong = irloop("extract", copied, "-o", part, "--outputs", "state")
    assert wrong.exit_code == 2
    assert "did you mean 'states'" in wrong.stderr
