"""Engines in separate processes: values that pass the pipe, and failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.shape import Reshape
from irloop.engines.answer import Failure
from irloop.engines.catalogue import ENGINES, engine_of
from irloop.engines.process import Process
from irloop.errors import UsageError
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.types import ElementType

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'
SECONDS = 60.0


def saved(folder: Path, text: str) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    return path


def written_module(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    """The name of a custom engine: `make` in a module with this text."""
    (folder / "own_engine.py").write_text("import os, time\n" + text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    return "own_engine:make"


#: ONNX's and NumPy's names of the types that every engine can return unchanged.
TYPES: dict[str, Any] = {
    "bool": np.bool_,
    "int64": np.int64,
    "uint8": np.uint8,
    "float16": np.float16,
    "double": np.float64,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e5m2": ml_dtypes.float8_e5m2,
}


@pytest.mark.parametrize(
    "engine", sorted(name for name, item in ENGINES.items() if "onnx" in item.dialects)
)
def test_element_types_pass_in_and_out(tmp_path: Path, engine: str) -> None:
    takes = ", ".join(f"{name}[N] x_{name}" for name in TYPES)
    gives = ", ".join(f"{name}[N] y_{name}" for name in TYPES)
    nodes = " ".join(f"y_{name} = Identity (x_{name})" for name in TYPES)
    path = saved(
        tmp_path,
        f"""m ({takes}, uint4[3] u, int4[3] i) => ({gives}, float[3] fu, float[3] fi) {{
           {nodes} fu = Cast <to = 1> (u) fi = Cast <to = 1> (i)
        }}""",
    )
    unsigned, signed = np.array([0, 15, 7]), np.array([-8, 7, -1])
    fours = [unsigned.astype(ml_dtypes.uint4), signed.astype(ml_dtypes.int4)]
    with Process(engine_of(engine), path) as process:
        for values in ([1, 0, 1, 1], [0], []):
            given = [np.array(values).astype(dtype) for dtype in TYPES.values()]
            answer = process.run([*given, *fours], seconds=SECONDS)
            assert answer.outputs is not None, str(answer)
            for x, y in zip(given, answer.outputs, strict=False):
                assert y.dtype == x.dtype
                np.testing.assert_array_equal(y, x)
            np.testing.assert_array_equal(answer.outputs[-2], unsigned.astype(np.float32))
            np.testing.assert_array_equal(answer.outputs[-1], signed.astype(np.float32))


@pytest.mark.parametrize("engine", ["onnxruntime", "onnx-reference", "numpy"])
def test_strings_and_sequences(tmp_path: Path, engine: str) -> None:
    text = """
    m (string[2] words, seq(float[N]) s, float[N] x) => (string[2] same, seq(float[N]) more) {
       same = Identity (words)
       more = SequenceInsert (s, x)
    }
    """
    words = np.array(["ä", ""], object)
    ones, twos = np.ones(2, np.float32), np.full(3, 2, np.float32)
    with Process(engine_of(engine), saved(tmp_path, text)) as process:
        answer = process.run([words, [ones], twos], seconds=SECONDS)
    assert answer.outputs is not None, str(answer)
    assert answer.outputs[0].tolist() == ["ä", ""]
    assert [item.tolist() for item in answer.outputs[1]] == [[1, 1], [2, 2, 2]]


def test_openvino_takes_strings(tmp_path: Path) -> None:
    text = "m (string[2] words) => (string[2] same) { same = Identity (words) }"
    with Process(engine_of("openvino"), saved(tmp_path, text)) as process:
        answer = process.run([np.array(["ä", "b"], object)], seconds=SECONDS)
    assert answer.outputs is not None, str(answer)
    assert answer.outputs[0].tolist() == ["ä", "b"]


@pytest.mark.parametrize("version", [10, 11])
def test_openvino_reads_strings_of_version_10_as_users_do(tmp_path: Path, version: int) -> None:
    """Its reader adds a Convert to the outputs of version 10, which cannot be compiled."""
    m = IrModel()
    words = m.input("x", 2, element=ElementType.STRING)
    model = m.done(m(Reshape(), words, m.constant([1, 2], ElementType.I64)))
    path, _ = ir_writer.write(model, tmp_path / "model.xml", version=version)
    with Process(engine_of("openvino"), path) as process:
        answer = process.run([np.array(["a", "b"], object)], seconds=SECONDS)
    assert (answer.outputs is None) == (version == 10)


def test_one_model_is_loaded_once_and_keeps_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written_module(
        tmp_path,
        monkeypatch,
        """
class Runner:
    def __init__(self, path):
        self.path, self.total = path, 0
        print("what an engine prints does not matter")
    def reset(self):
        self.total = 0
    def __call__(self, values):
        self.total = self.total + values[0]
        return [self.total]
def make(path):
    return Runner(path)
""",
    )
    x = np.array([1.0, 2.0])
    with Process(engine_of(name), "nowhere") as process:
        found = [process.run([x], seconds=SECONDS, reset=reset) for reset in (True, False, True)]
    totals = [item.outputs[0].tolist() for item in found if item.outputs is not None]
    assert totals == [[1, 2], [2, 4], [1, 2]]


def test_a_crash_is_reported_and_does_not_affect_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written_module(
        tmp_path,
        monkeypatch,
        """
def make(path):
    def run(values):
        if values[0] > 1:
            os.write(2, b"all is lost")
            os.abort()
        return values
    return run
""",
    )
    with Process(engine_of(name), "nowhere") as process:
        answers = [process.run([np.float32(x)], seconds=SECONDS) for x in (2, 1)]
    assert answers[0].failure is Failure.CRASHED
    assert "SIGABRT" in answers[0].words
    assert "all is lost" in answers[0].words
    assert answers[1].outputs == [1]


def test_a_hang_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = written_module(
        tmp_path, monkeypatch, "def make(path):\n    return lambda values: time.sleep(600)\n"
    )
    with Process(engine_of(name), "nowhere") as process:
        # The data exceed the buffer of the pipe, so writing must not wait forever either.
        process.run([], seconds=3)
        answer = process.run([np.zeros(1_000_000)], seconds=3)
    assert answer.failure is Failure.HUNG
    assert answer.words == "more than 3 seconds"


def test_a_load_that_takes_too_much_processor_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("processor time is watched on Linux only")
    name = written_module(tmp_path, monkeypatch, "def make(path):\n    while True:\n        pass\n")
    with Process(engine_of(name), "nowhere") as process:
        answer = process.run([], seconds=600, processor=1)
    assert answer.failure is Failure.HUNG
    assert answer.words == "more than 1 seconds of processor time"


def test_weights_add_to_the_processor_time_for_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 KB add one second; weights may be in a file that the process does not know."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("processor time is watched on Linux only")
    name = written_module(tmp_path, monkeypatch, "def make(path):\n    while True:\n        pass\n")
    with Process(engine_of(name)) as process:
        process.load("nowhere", 98_304)
        answer = process.run([], seconds=600, processor=0.5)
    assert answer.words == "more than 2 seconds of processor time"


def test_a_hang_while_loading_is_waited_for_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written_module(tmp_path, monkeypatch, "def make(path):\n    time.sleep(600)\n")
    with Process(engine_of(name), "nowhere") as process:
        first = process.run([np.zeros(1_000_000)], seconds=2)
        again = process.run([np.zeros(1)], seconds=600)
    assert first.failure is Failure.HUNG
    assert again is first


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino", "onnx-reference", "numpy"])
def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x07not a model")
    with Process(engine_of(engine), path) as process:
        answer = process.run([np.zeros(1)], seconds=SECONDS)
    assert answer.failure is Failure.REFUSED
    assert str(answer).startswith(f"{engine} {engine_of(engine).version} refused to load the model")


def test_inputs_that_do_not_fit_raise(tmp_path: Path) -> None:
    path = saved(tmp_path, "m (float[2] x) => (float[2] y) { y = Abs (x) }")
    with Process(engine_of("onnxruntime"), path) as process:
        wrong = process.run([np.zeros(3, np.float32)], seconds=SECONDS)
        right = process.run([np.full(2, -1, np.float32)], seconds=SECONDS)
    assert wrong.failure is Failure.RAISED
    assert "dimension" in wrong.words
    assert right.outputs is not None
    assert right.outputs[0].tolist() == [1, 1]


def test_a_missing_module_of_a_custom_engine_is_named(tmp_path: Path) -> None:
    with Process(engine_of("no_such_module:make"), tmp_path / "m.onnx") as process:
        answer = process.run([], seconds=SECONDS)
    assert not engine_of("no_such_module:make").installed
    assert answer.failure is Failure.REFUSED
    assert "no_such_module" in answer.words


def test_names_of_engines() -> None:
    assert engine_of("irloop") is engine_of("numpy")
    assert engine_of("onnx.reference") is engine_of("onnx-reference")
    for name in ("torch", "module:", ":function", "a b:c"):
        with pytest.raises(UsageError, match="no engine"):
            engine_of(name)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is watched on Linux only")
def test_too_much_memory_is_reported_and_does_not_affect_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written_module(
        tmp_path,
        monkeypatch,
        """
def make(path):
    def run(values):
        held = []
        while values[0] > 1:
            held.append(b"x" * 2**24)
        return values
    return run
""",
    )
    with Process(engine_of(name), "nowhere", memory=2**30) as process:
        answers = [process.run([np.float32(x)], seconds=SECONDS) for x in (2, 1)]
    assert answers[0].failure is Failure.OUTGREW
    assert "1024 MB are allowed" in answers[0].words
    assert str(answers[0]).startswith(f"{name} took too much memory: ")
    assert answers[1].outputs == [1]


def test_the_bound_of_memory_holds_in_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 MB is less than the interpreter alone needs."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("memory is watched on Linux only")
    name = written_module(tmp_path, monkeypatch, "def make(path):\n    time.sleep(60)\n")
    path = saved(tmp_path, "m (float[2] x) => (float[2] y) { y = Neg (x) }")
    found = irloop.compare(path, path, engine_b=name, max_memory=2**20)
    assert not found.equal
    assert "took too much memory" in str(found)


@pytest.mark.parametrize(("dims", "indices"), [([3], [0, 3, 4]), ([3, 2], [0, 0, 1, 1, 1, 2])])
def test_a_sparse_constant_as_output_is_a_tensor(
    tmp_path: Path, dims: list[int], indices: list[int]
) -> None:
    """ONNX Runtime returns an object of its own instead of an array."""
    values = onnx.helper.make_tensor("values", onnx.TensorProto.FLOAT, [3], [5, -1, 2])
    places = onnx.helper.make_tensor("places", onnx.TensorProto.INT64, dims, indices)
    sparse = onnx.helper.make_sparse_tensor(values, places, [2, 3])
    node = onnx.helper.make_node("Constant", [], ["y"], sparse_value=sparse)
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 3])
    graph = onnx.helper.make_graph([node], "g", [], [output])
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, ir_version=8), path)
    with Process(engine_of("onnxruntime"), path) as process:
        answer = process.run([], seconds=SECONDS)
    assert answer.outputs is not None, str(answer)
    expected = np.array([[5, 0, 0], [-1, 2, 0]] if len(dims) == 1 else [[5, 0, 0], [0, -1, 2]])
    np.testing.assert_array_equal(answer.outputs[0], expected.astype(np.float32))
