"""Only regular files are read, written files are complete, leftovers are removed."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop import files
from irloop.aside import ASIDE
from irloop.graph.mapped_file import MappedFile
from irloop.graph.model import Graph
from irloop.graph.tensor import MappedTensor
from irloop.graph.types import ElementType
from irloop.opening import open_regular

FIXTURES = Path(__file__).parent / "fixtures" / "models"
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has neither pipes nor locks like these")

#: More bytes than are read at once, and far above the size from which on files are mapped.
COUNT = 1 << 20


@pytest.fixture(params=["pipe", "socket", "device", "terminal", "folder", "link"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Something that is not a file, with the suffix of a model."""
    path = tmp_path / "m.onnx"
    server = socket.socket(socket.AF_UNIX)
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        here = os.getcwd()
        # The path of a socket must be short, so it is relative.
        os.chdir(tmp_path)
        server.bind(path.name)
        os.chdir(here)
    elif request.param == "folder":
        path.mkdir()
    else:
        target = {"device": "/dev/zero", "terminal": "/dev/ptmx", "link": str(tmp_path / "pipe")}
        if request.param == "link":
            os.mkfifo(tmp_path / "pipe")
        path.symlink_to(target[request.param])
    yield path
    server.close()


@POSIX
def test_only_regular_files_are_opened(special: Path) -> None:
    with pytest.raises(OSError, match="not a file"):
        open_regular(special)
    assert irloop.validate(special).has_errors
    for call in (irloop.read_model, irloop.read_arrays, irloop.convert):
        with pytest.raises(irloop.IrloopError):
            call(special)


@POSIX
def test_weights_must_be_a_regular_file(tmp_path: Path) -> None:
    model = tmp_path / "m.xml"
    model.write_bytes((FIXTURES / "recurrent" / "model.xml").read_bytes())
    os.mkfifo(model.with_suffix(".bin"))
    with pytest.raises(irloop.ReadError, match="is a pipe, not a file"):
        irloop.read_model(model)


def test_a_failure_leaves_the_old_files_and_nothing_else(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"old")

    def fail() -> None:
        with files.replacing(old, new) as (first, second):
            first.write(b"other")
            second.write(b"other")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize("named", [False, True])
def test_new_files_replace_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    if named:
        monkeypatch.setattr(files, "_unnamed", lambda _: None)
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"old")
    other = tmp_path / "plain"
    other.write_bytes(b"")
    with files.replacing(old, new) as (first, second):
        first.write(b"one")
        second.write(b"two")
    assert (old.read_bytes(), new.read_bytes()) == (b"one", b"two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old", "plain"]
    # The mode is the same as that of a file which another program creates.
    assert new.stat().st_mode == other.stat().st_mode


#: Writes endlessly by the method in the first argument, and prints a line when it has begun.
WRITER = """
import sys, time
from irloop import files
if sys.argv[1] != "unnamed":
    files._unnamed = lambda folder: None
def begin():
    print("begun", flush=True)
    time.sleep(600)
if sys.argv[1] == "scratch":
    with files.scratch(sys.argv[2]) as folder:
        open(folder + "/x", "w").write("x")
        begin()
with files.replacing(sys.argv[2] + "/target") as (stream,):
    stream.write(b"part")
    stream.flush()
    begin()
"""


@POSIX
@pytest.mark.parametrize("how", ["unnamed", "named", "scratch"])
def test_files_of_a_killed_writer_are_removed(tmp_path: Path, how: str) -> None:
    def killed(number: int) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, how, str(tmp_path)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"begun\n"
            if number == 0:
                # The file of a process that is still writing is kept, whoever else writes there.
                before = sorted(tmp_path.iterdir())
                with files.replacing(tmp_path / "other") as (stream,):
                    stream.write(b"whole")
                assert set(before) <= set(tmp_path.iterdir())
            child.send_signal(signal.SIGKILL)

    mine = {".irloop-cache", "irloop-notes", ".irloop-baseline.json", ".irloop-0123.tmp"}
    mine |= {f".irloop-{'0' * 16}.tmp", ".irloop-tmp"}
    for name in mine:
        (tmp_path / name).write_bytes(b"mine")
    (tmp_path / "irloop-models").mkdir()
    for number in range(3):
        killed(number)
    with files.replacing(tmp_path / "target") as (stream,):
        stream.write(b"whole")
    # Files whose names are only similar are kept.
    kept = {*mine, "irloop-models", "other", "target"}
    assert {path.name for path in tmp_path.iterdir()} == kept
    assert (tmp_path / "target").read_bytes() == b"whole"


@pytest.mark.parametrize("named", [False, True])
def test_writing_does_not_list_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    """With a million results in the folder, listing it would slow down each further result."""
    listed: list[str] = []
    for name in ("scandir", "listdir"):
        original: Callable[[Any], Any] = getattr(os, name)

        def seen(path: Any = ".", original: Callable[[Any], Any] = original) -> Any:
            # When a scratch folder is removed, it is listed by its descriptor.
            if not isinstance(path, int):
                listed.append(os.path.realpath(path))
            return original(path)

        monkeypatch.setattr(os, name, seen)
    if named:
        monkeypatch.setattr(files, "_unnamed", lambda _: None)
    for content in (b"first", b"second"):
        for number in range(5):
            with files.replacing(tmp_path / f"{number}") as (stream,):
                stream.write(content)
        with files.scratch(tmp_path) as folder:
            assert Path(folder).is_dir()
    # A writer does look for leftovers, but in another folder.
    assert listed
    assert os.path.realpath(tmp_path) not in listed
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == list("01234")


@POSIX
@pytest.mark.parametrize("kind", ["link", "file", "foreign", "closed"])
def test_a_hidden_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(files, "_unnamed", lambda _: None)
    other = tmp_path / "other"
    other.mkdir()
    mine = other / f".irloop-{'0' * 16}.tmp"
    mine.write_bytes(b"mine")
    aside = tmp_path / ASIDE
    if kind == "link":
        aside.symlink_to(other)
    elif kind == "file":
        aside.write_bytes(b"mine")
    elif kind == "foreign":
        other.rename(aside)
        mine = aside / mine.name
        user = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    else:
        make = os.mkdir

        def refused(path: Any, mode: int = 0o777) -> None:
            if os.path.basename(path) == ASIDE:
                raise PermissionError(errno.EACCES, "not allowed", os.fspath(path))
            make(path, mode)

        monkeypatch.setattr(os, "mkdir", refused)
    before = {path.name for path in tmp_path.iterdir()}
    with files.scratch(tmp_path) as folder, files.replacing(tmp_path / "target") as (stream,):
        assert os.path.dirname(folder) == str(tmp_path)
        stream.write(b"whole")
    assert (tmp_path / "target").read_bytes() == b"whole"
    assert mine.read_bytes() == b"mine"
    assert {path.name for path in tmp_path.iterdir()} == before | {"target"}


def test_scratch_folders_are_made_in_the_given_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are removed at the end, also after an exception; named folders are used as before."""
    monkeypatch.setattr(files, "_GIVEN", [])
    given, other = tmp_path / "given", tmp_path / "other"
    given.mkdir()
    other.mkdir()
    files.use_scratch(str(given))
    with files.scratch() as first, files.scratch() as second:
        assert {Path(first), Path(second)} == set(given.iterdir())
        Path(first, "file").write_bytes(b"data")
    with suppress(KeyError), files.scratch() as third:
        Path(third, "file").write_bytes(b"data")
        raise KeyError
    assert not list(given.iterdir())
    with files.scratch(other) as folder:
        assert other in Path(folder).parents


@POSIX
def test_a_file_that_replaces_another_is_no_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may look for leftovers while the new file still has a temporary name."""
    replace = os.replace

    def late(source: str, target: str) -> None:
        with files.scratch(tmp_path):
            replace(source, target)

    monkeypatch.setattr(os, "replace", late)
    (tmp_path / "target").write_bytes(b"old")
    with files.replacing(tmp_path / "target") as (stream,):
        stream.write(b"new")
    assert (tmp_path / "target").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full disk")
@pytest.mark.parametrize("target", ["o.onnx", "o.xml", "o.npz"])
def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(files, "_unnamed", lambda _: os.open("/dev/full", os.O_RDWR))
    source = irloop.read_model(FIXTURES / "recurrent" / "model.xml")
    calls: dict[str, Callable[[Path], object]] = {
        "o.npz": lambda path: irloop.write_arrays(path, {"x": np.zeros(9)}),
        "o.xml": lambda path: irloop.save_model(source, path),
        "o.onnx": lambda path: irloop.save_model(irloop.convert(source)[0], path),
    }
    with pytest.raises(irloop.WriteError, match="the disk of /") as raised:
        calls[target](tmp_path / target)
    cause = raised.value.__cause__
    assert isinstance(cause, OSError)
    assert cause.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def _model(folder: Path, kind: str) -> Path:
    """A model that adds a megabyte of weights, which are in another file."""
    from irloop.dialects.openvino.elementwise import Add
    from irloop.graph.builder import Builder
    from irloop.graph.model import Model
    from irloop.graph.tensor import ArrayTensor
    from irloop.graph.types import Shape, TensorType

    b = Builder(Graph("weights"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(COUNT)))
    numbers = np.arange(COUNT, dtype=np.float32)
    b.graph.add_result(b(Add(), x, b.tensor(ArrayTensor(numbers), "w")), "y")
    model = Model(b.graph, "openvino", version=11)
    path = folder / "m.xml"
    irloop.save_model(model, path)
    if kind == "xml":
        return path
    made = folder / "m.onnx"
    irloop.save_model(irloop.convert(path)[0], made, external_data=True)
    path.unlink()
    path.with_suffix(".bin").unlink()
    return made


@pytest.mark.parametrize("kind", ["xml", "onnx"])
def test_truncated_weights_are_an_error(tmp_path: Path, kind: str) -> None:
    path = _model(tmp_path, kind)
    model = irloop.read_model(path)
    weights = path.with_suffix(".bin") if kind == "xml" else tmp_path / "m.onnx.data"
    session = irloop.Session(model)
    x = np.zeros(COUNT, np.float32)
    np.testing.assert_array_equal(session.run({"x": x})["y"], np.arange(COUNT))
    os.truncate(weights, 4096)
    # The session read the weights before the file was truncated.
    np.testing.assert_array_equal(session.run({"x": x})["y"], np.arange(COUNT))
    other = irloop.convert(model)[0]
    calls: list[Callable[[], object]] = [
        lambda: irloop.run(model, {"x": x}),
        lambda: irloop.save_model(model, tmp_path / f"again.{kind}"),
        lambda: irloop.save_model(other, tmp_path / f"other.{'xml' if kind == 'onnx' else 'onnx'}"),
        lambda: irloop.diff(model, model),
    ]
    for call in calls:
        with pytest.raises(irloop.IrloopError, match="has become shorter"):
            call()
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted({path.name, weights.name})


def test_a_window_is_checked_again_before_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(bytes(COUNT))
    tensor = MappedTensor(MappedFile(path), 0, ElementType.U8, (COUNT,))
    assert tensor.numpy().sum() == 0
    os.truncate(path, COUNT - 1)
    for look in (tensor.numpy, tensor.raw, tensor.loaded, lambda: list(tensor.pieces())):
        with pytest.raises(irloop.ReadError, match="has become shorter"):
            look()


@POSIX
def test_an_interrupt_prints_a_line_and_leaves_nothing(tmp_path: Path) -> None:
    slow = "lambda *a, **k: (print('begun', flush=True), time.sleep(60))"
    (tmp_path / "sitecustomize.py").write_text(
        # If a shell starts the tests in the background, they ignore the signal unless this resets
        # it.
        "import signal, time, irloop\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"irloop.validate = {slow}\n",
        "utf-8",
    )
    out = tmp_path / "out"
    out.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "irloop", "convert", str(FIXTURES / "recurrent" / "model.xml"),
         "-o", str(out / "o.onnx")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    ) as child:  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (130, b"irloop: interrupted\n")
    assert list(out.iterdir()) == []


@POSIX
def test_a_scratch_folder_that_was_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may remove the new folder before this process opens it for locking."""
    made: list[str] = []
    make = tempfile.mkdtemp

    def made_and_swept(prefix: str, dir: str) -> str:
        path = make(prefix=prefix, dir=dir)
        made.append(path)
        if len(made) < 3:
            os.rmdir(path)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", made_and_swept)
    with files.scratch(tmp_path) as folder:
        assert os.path.isdir(folder)
        assert folder == made[2]
    assert list(tmp_path.iterdir()) == []


#: Writes pairs of files with equal contents to one name. An argument tells what to do after the
#: first file of a pair was moved: `pipe` tells that this was done and waits, `""` nothing.
PAIRS = """
import os, sys
from irloop import files
target, text, count, reached, go_on = sys.argv[1:]
place = files._Pending.place

def waiting(self):
    place(self)
    if reached and self._target.endswith(".bin"):
        with open(reached, "w") as pipe:
            pipe.write("moved")
        with open(go_on) as pipe:
            pipe.read()

files._Pending.place = waiting
for number in range(int(count)):
    with files.replacing(f"{target}.xml", f"{target}.bin") as streams:
        for stream in streams:
            stream.write(f"{text} {number}".encode())
"""


def _writer(tmp_path: Path, text: str, count: int, *pipes: str) -> subprocess.Popen[bytes]:
    options = [str(tmp_path / "m"), text, str(count), *(pipes or ("", ""))]
    return subprocess.Popen([sys.executable, "-c", PAIRS, *options])


def _pair(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "m.xml").read_bytes(), (folder / "m.bin").read_bytes()


@POSIX
def test_two_processes_that_write_one_pair_do_not_mix_it(tmp_path: Path) -> None:
    for first in range(4):
        writers = [_writer(tmp_path, text, 1 + 20 * first) for text in ("one", "two", "three")]
        assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
        xml, weights = _pair(tmp_path)
        assert xml == weights
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.bin", "m.xml"]


@POSIX
def test_a_pair_waits_for_the_pair_that_is_being_moved(tmp_path: Path) -> None:
    """The first process stops between its two files; the second one must not pass it there.

    The outcome does not depend on the time that the second process is given: if it were too short,
    the second one would only come later.
    """
    pipes = [str(tmp_path / name) for name in ("reached", "go_on")]
    for pipe in pipes:
        os.mkfifo(pipe)
    first = _writer(tmp_path, "first", 1, *pipes)
    assert Path(pipes[0]).read_text("utf-8") == "moved"
    second = _writer(tmp_path, "second", 1)
    with suppress(subprocess.TimeoutExpired):
        second.wait(timeout=1)
    assert second.poll() is None
    Path(pipes[1]).write_text("go on", "utf-8")
    assert (first.wait(timeout=60), second.wait(timeout=60)) == (0, 0)
    assert _pair(tmp_path) == (b"second 0", b"second 0")


@POSIX
def test_a_signal_does_not_come_between_the_files_of_a_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = files._Pending.place

    def interrupted(pending: files._Pending) -> None:
        place(pending)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(files._Pending, "place", interrupted)
    for name in ("m.xml", "m.bin"):
        (tmp_path / name).write_bytes(b"old")

    def write() -> None:
        with files.replacing(tmp_path / "m.xml", tmp_path / "m.bin") as streams:
            for stream in streams:
                stream.write(b"new")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            write()
    finally:
        signal.signal(signal.SIGINT, before)
    assert _pair(tmp_path) == (b"new", b"new")
