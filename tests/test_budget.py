"""Work is limited by precomputed sizes, by steps, by time and by processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper

import irloop
from irloop import budget
from irloop.boundary import guarded
from irloop.graph.builder import shape_of
from irloop.passes.folding import KEPT_LIMIT

FIXTURES = Path(__file__).parent / "fixtures" / "models"


def model(
    path: Path, nodes: list[onnx.NodeProto], constants: dict[str, Any], opset: int = 21
) -> Path:
    """A model without inputs, whose outputs are those of its last node."""
    tensors = [
        TensorProto(name=name, data_type=TensorProto.STRING, string_data=[value.encode()])
        if isinstance(value, str)
        else onnx.numpy_helper.from_array(np.asarray(value), name)
        for name, value in constants.items()
    ]
    output = onnx.ValueInfoProto(name=nodes[-1].output[0])
    graph = helper.make_graph(nodes, "g", [], [output], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(made, path)
    return path


def _doubling() -> tuple[list[onnx.NodeProto], dict[str, Any]]:
    nodes = [helper.make_node("StringConcat", [f"s{n}", f"s{n}"], [f"s{n + 1}"]) for n in range(40)]
    return nodes, {"s0": "ab"}


HUGE: dict[str, Callable[[], tuple[list[onnx.NodeProto], dict[str, Any]]]] = {
    "expand": lambda: (
        [helper.make_node("Expand", ["x", "n"], ["y"])],
        {"x": np.array([1], np.int64), "n": np.array([1 << 33])},
    ),
    "constant_of_shape": lambda: (
        [helper.make_node("ConstantOfShape", ["n"], ["y"])],
        {"n": np.array([1 << 20, 1 << 14])},
    ),
    "range": lambda: (
        [helper.make_node("Range", ["a", "b", "c"], ["y"])],
        {"a": np.array(0), "b": np.array(1 << 34), "c": np.array(1)},
    ),
    "tile": lambda: (
        [helper.make_node("Tile", ["x", "n"], ["y"])],
        {"x": np.ones(1024, np.float32), "n": np.array([1 << 23])},
    ),
    "pad": lambda: (
        [helper.make_node("Pad", ["x", "n"], ["y"])],
        {"x": np.ones(4, np.float32), "n": np.array([1 << 33, 0])},
    ),
    "mel": lambda: (
        [helper.make_node("MelWeightMatrix", ["b", "d", "r", "l", "h"], ["y"])],
        {"b": np.array(1 << 15), "d": np.array(1 << 16), "r": np.array(8000),
         "l": np.array(0, np.float32), "h": np.array(4000, np.float32)},
    ),
    "window": lambda: (
        [helper.make_node("HannWindow", ["n"], ["y"])],
        {"n": np.array(1 << 33)},
    ),
    "dft": lambda: (
        [helper.make_node("DFT", ["x", "n"], ["y"])],
        {"x": np.ones((1, 8, 1), np.float32), "n": np.array(1 << 32)},
    ),
    "roi_align": lambda: (
        [helper.make_node("RoiAlign", ["x", "r", "i"], ["y"], sampling_ratio=1 << 15)],
        {"x": np.ones((1, 1, 1, 1), np.float32), "r": np.zeros((1, 4), np.float32),
         "i": np.array([0])},
    ),
    "mean_pool": lambda: (
        [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[1 << 17],
                          dilations=[1], pads=[1 << 16, 1 << 16], strides=[1])],
        {"x": np.ones((1, 1, 1 << 17), np.float32)},
    ),
    "strings": _doubling,
}  # fmt: skip


@pytest.fixture
def command() -> Callable[..., Result]:
    from importlib.metadata import entry_points

    (entry,) = entry_points(group="console_scripts", name="irloop")
    loaded = entry.load()

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(loaded, [str(item) for item in arguments], prog_name="irloop")

    return run


@pytest.mark.parametrize("name", HUGE)
def test_huge_results_of_small_files_are_not_computed(
    tmp_path: Path, name: str, command: Callable[..., Result]
) -> None:
    path = model(tmp_path / "m.onnx", *HUGE[name]())
    assert command("validate", path).exit_code in (0, 1)
    assert command("inspect", path).exit_code == 0
    # An operation that turns out too large only when it runs can be converted.
    assert command("convert", path, "-o", tmp_path / "o.xml").exit_code in (0, 1)
    result = command("run", path)
    assert result.exit_code == 1
    assert "RUN002" in result.stdout or "LIM001" in result.stdout


def test_a_regular_expression_is_not_folded(tmp_path: Path) -> None:
    nodes = [helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="((a+)+)+$")]
    path = model(tmp_path / "m.onnx", nodes, {"x": "a" * 40 + "b"})
    begun = time.monotonic()
    irloop.infer(irloop.read_model(path))
    with pytest.raises(irloop.UnsupportedError):
        irloop.convert(path)
    # A backtracking engine would take 2 to the power of 40 steps.
    assert time.monotonic() - begun < 600


def test_results_that_are_kept_are_bounded_together(tmp_path: Path) -> None:
    """One result of the largest allowed size is folded; a thousand of them are not."""
    nodes = [helper.make_node("Expand", ["x", "n"], [f"y{at}"]) for at in range(40)]
    nodes.append(helper.make_node("Sum", [f"y{at}" for at in range(40)], ["y"]))
    constants = {"x": np.array([1], np.float32), "n": np.array([4 << 20])}
    path = model(tmp_path / "m.onnx", nodes, constants)
    folded, _ = irloop.transform(path, ["constant_folding"])
    kinds = [node.op.type for node in folded.graph.nodes]
    assert kinds.count("Expand") == 40 - KEPT_LIMIT // (16 << 20)


def test_nested_budgets_hold_together() -> None:
    with budget.Budget(memory=100).entered(), budget.Budget(memory=1000).entered():
        budget.reserve(100, "a step")
        with pytest.raises(irloop.LimitError, match="100 bytes") as raised:
            budget.reserve(101, "a step")
    assert raised.value.diagnostics[0].code == "LIM001"
    with budget.Budget(operations=10).entered():
        budget.spend(10, "work")
        with pytest.raises(irloop.LimitError) as steps:
            budget.spend(1, "work")
    assert steps.value.diagnostics[0].code == "LIM003"
    with budget.Budget(seconds=-1.0).entered(), pytest.raises(irloop.LimitError) as late:
        budget.spend(0, "work")
    assert late.value.diagnostics[0].code == "LIM002"


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="no timer on Windows")
def test_work_that_never_checks_the_clock_is_stopped(
    command: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object, **__: object) -> None:
        while True:
            # No code that continues after an error may catch this one.
            with suppress(Exception):
                time.sleep(0.01)

    monkeypatch.setattr(irloop, "validate", endless)
    result = command("validate", FIXTURES / "recurrent" / "model.xml", "--max-seconds", "0.2")
    assert (result.exit_code, result.stdout.count("LIM002")) == (1, 1)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="this system bounds no memory")
def test_an_unreserved_allocation_that_fails_is_a_finding(
    command: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(irloop, "validate", guarded("x")(lambda *_, **__: np.ones(1 << 32)))
    result = command("validate", FIXTURES / "recurrent" / "model.xml", "--max-memory", "200M")
    assert (result.exit_code, result.stdout.count("LIM001")) == (1, 1)


@pytest.mark.parametrize(
    ("raised", "expected", "code"),
    [
        (MemoryError("x"), irloop.LimitError, "LIM001"),
        (RecursionError("x"), irloop.LimitError, "LIM003"),
        (budget.Expired(), irloop.LimitError, "LIM002"),
        (KeyError("x"), irloop.InternalError, "BUG001"),
        (TypeError("x"), irloop.InternalError, "BUG001"),
        (PermissionError(13, "denied", "f"), irloop.UsageError, "USE001"),
        (irloop.ReadError("x"), irloop.ReadError, "IRL100"),
    ],
)
def test_only_exceptions_of_irloop_are_raised(
    raised: BaseException, expected: type[irloop.IrloopError], code: str
) -> None:
    @guarded("doing it")
    def fail() -> None:
        raise raised

    with pytest.raises(expected) as found:
        fail()
    assert found.value.diagnostics[0].code == code
    if code not in {"IRL100", "USE001"}:
        assert "doing it" in found.value.message


def test_arguments_that_do_not_fit_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        irloop.read_model("x", nonsense=1)  # type: ignore[call-arg]


ENDS = """
import os, signal, irloop
really = irloop.validate
def validate(path, *arguments, **options):
    if "dies" in str(path):
        os.kill(os.getpid(), signal.SIGKILL)
    if "hangs" in str(path):
        while True:
            pass
    return really(path, *arguments, **options)
irloop.validate = validate
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_model_that_kills_its_process_hides_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Result]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(ENDS, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "models"
    folder.mkdir()
    source = FIXTURES / "recurrent" / "model.xml"
    for name in ("a", "b_dies", "c", "d_hangs", "e"):
        for suffix in (".xml", ".bin"):
            (folder / f"{name}{suffix}").write_bytes(source.with_suffix(suffix).read_bytes())
    result = command("validate", folder, "--max-seconds", "2", "--format", "json")
    found = {
        (Path(item["file"]).stem, item["code"])
        for item in __import__("json").loads(result.stdout)["findings"]
    }
    assert found == {("b_dies", "LIM001"), ("d_hangs", "LIM002")}
    assert result.exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        "(float[9000,9000] a) => (float[9000,9000] y) { y = MatMul (a, a) }",
        "(float[9000,9000] a) => (float[9000,9000] y) { y = Gemm (a, a) }",
        '(float[9000,9000] a) => (float[9000,9000] y) { y = Einsum <equation = "ij,jk"> (a, a) }',
        (
            "(float[1,64,900,900] a, float[1024,64,5,5] b) => (float[1,1024,896,896] y)"
            " { y = Conv (a, b) }"
        ),
    ],
    ids=["MatMul", "Gemm", "Einsum", "Conv"],
)
def test_products_that_nothing_interrupts_are_counted_first(tmp_path: Path, text: str) -> None:
    """The products need 729 and 1,315 thousand million multiplications, each in a single call of
    NumPy.
    """
    head = '<ir_version: 10, opset_import: ["" : 21]> g '
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(head + text), path)
    loaded = irloop.read_model(path)
    values = [
        np.broadcast_to(np.float32(1), shape_of(v).static() or ()) for v in loaded.graph.inputs
    ]
    with (
        budget.Budget(operations=400_000).entered(),
        pytest.raises(irloop.LimitError, match="more steps than allowed"),
    ):
        irloop.run(loaded, values)


@pytest.mark.parametrize(
    "text",
    [
        "(float[1,64,1] x, int64 n) => (float[1,m,2] y) { y = DFT (x, n) }",
        (
            "(float[1,1,4,4] x, float[1,2000,2000,2] n) => (float[a,b,c,d] y)"
            ' { y = GridSample <mode = "cubic"> (x, n) }'
        ),
    ],
    ids=["DFT", "GridSample"],
)
def test_the_memory_inside_a_kernel_is_reserved(tmp_path: Path, text: str) -> None:
    """The outputs take 160 and 16 MB, but computing them takes several times as much memory."""
    path = tmp_path / "m.onnx"
    head = '<ir_version: 10, opset_import: ["" : 20]> g '
    onnx.save(onnx.parser.parse_model(head + text), path)
    x, _ = irloop.read_model(path).graph.inputs
    values = [
        np.broadcast_to(np.float32(1), shape_of(x).static() or ()),
        np.array(20_000_003) if "DFT" in text else np.zeros((1, 2000, 2000, 2), np.float32),
    ]
    with (
        budget.Budget(memory=340 << 20).entered(),
        pytest.raises(irloop.LimitError, match="more memory than allowed"),
    ):
        irloop.run(path, values)
