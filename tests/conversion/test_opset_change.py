"""ONNX models in other opsets: the same results in ONNX Runtime, or a refusal by name.

Results are compared with those that the conformance cases state, which were calculated by hand, and
with those of ONNX's own backend tests.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.conformance.catalogue import CASES
from irloop.conformance.suite import arrays_of, judge, write_case
from irloop.engines.answer import Answer
from irloop.engines.catalogue import engine_of
from irloop.errors import UnsupportedError, UsageError
from irloop.faults.case import Case
from irloop.formats.onnx.signature import NEWEST
from irloop.formats.onnx.text import from_text
from irloop.graph.types import TensorType

onnxruntime = pytest.importorskip("onnxruntime")

from benchmarks.engines import EngineError, Engines, check_onnx  # noqa: E402

OPSETS = (7, 9, 12, NEWEST)

ONNX_CASES = [case for case in CASES if case.format == "onnx" and not case.on_demand]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def _failure(case: Case, model: irloop.Model, path: Path, engines: Engines) -> str:
    """What ONNX Runtime gets wrong in the runs of a case; empty if all of them are right."""
    feeds = [arrays_of(item.inputs, model.graph.inputs) for item in case.runs]
    try:
        found = engines.run_all("onnxruntime", path, feeds, path.parent)
    except EngineError as error:
        return str(error)
    answers = [Answer(engine_of("onnxruntime"), outputs) for outputs in found]
    wrong = (judge(*pair, model.graph) for pair in zip(answers, case.runs, strict=True))
    return next(filter(None, wrong), "")


def _require_named(error: UnsupportedError, opset: int) -> None:
    assert all(f" in opset {opset}: " in item.message for item in error.diagnostics)


@pytest.mark.parametrize("case", ONNX_CASES, ids=lambda case: case.name)
def test_loops_and_branches_compute_the_same(case: Case, engines: Engines, tmp_path: Path) -> None:
    model, path = write_case(case, tmp_path)
    before = _failure(case, model, path, engines)
    written = 0
    for opset in OPSETS:
        try:
            changed, _ = irloop.convert(model, "onnx", opset=opset)
        except UnsupportedError as error:
            _require_named(error, opset)
            continue
        written += 1
        assert changed.opsets[""] == opset
        result = tmp_path / f"opset_{opset}.onnx"
        irloop.save_model(changed, result)
        check_onnx(result)
        if not before:
            assert _failure(case, model, result, engines) == "", f"opset {opset}"
    assert written


def _backend_cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    # Neighbours differ little.
    return [case for case in found if not _is_left_out(case.name)][::15]


def _is_left_out(name: str) -> bool:
    """Return whether a case is the expansion of another one, or its results are random."""
    return any(word in name for word in ("expanded", "training", "bernoulli", "random"))


@pytest.mark.parametrize("case", _backend_cases(), ids=lambda case: case.name)
def test_operations_compute_the_same_in_an_older_opset_and_back(
    case: Any, engines: Engines, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(case.model, path)
    model = irloop.read_model(path)
    if not all(isinstance(item.type, TensorType) for item in model.graph.inputs):
        pytest.skip("the engine takes no sequences as inputs")
    inputs, outputs = case.data_sets[0]
    arrays = [item if isinstance(item, np.ndarray) else _array(item) for item in inputs]
    try:
        engines.run("onnxruntime", path, arrays, tmp_path)
    except EngineError as error:
        pytest.skip(f"ONNX Runtime does not run the original: {error}")
    for opset in (9, 13, 17):
        try:
            older, _ = irloop.convert(model, "onnx", opset=opset)
        except UnsupportedError as error:
            _require_named(error, opset)
            continue
        newer, _ = irloop.convert(older, "onnx", opset=NEWEST - 1)
        for changed in (older, newer):
            irloop.save_model(changed, path)
            check_onnx(path)
            found = engines.run("onnxruntime", path, arrays, tmp_path)
            for got, want in zip(found, outputs, strict=True):
                _require_near(got, want if isinstance(want, np.ndarray) else _array(want))


def _array(item: Any) -> Any:
    return onnx.numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def _require_near(got: Any, want: Any) -> None:
    if isinstance(want, np.ndarray) and want.dtype.kind in "fiub":
        # The tolerance of ONNX's own tests, and for sums of Fourier transforms their rounding.
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=2e-4)
        assert got.dtype == want.dtype


def test_the_source_is_not_changed(tmp_path: Path) -> None:
    model, _ = from_text(SCAN, tmp_path / "m.onnx")
    irloop.save_model(model, tmp_path / "before.onnx")
    changed, _ = irloop.convert(model, "onnx", opset=21)
    assert (model.opsets, changed.opsets) == ({"": 8}, {"": 21})
    irloop.save_model(model, tmp_path / "after.onnx")
    before, after = (tmp_path / name for name in ("before.onnx", "after.onnx"))
    assert before.read_bytes() == after.read_bytes()


#: A Scan-8, whose batch axis no later opset has.
SCAN = """<ir_version: 3, opset_import: ["": 8]>
g (float[2,2] s0, float[2,4,2] x) => (float[2,2] sf, float[2,4,2] y) {
  sf, y = Scan ("", s0, x) <num_scan_inputs: int = 1, body: graph = b
    (float[2] s, float[2] e) => (float[2] s1, float[2] o) { s1 = Add(s, e) o = Identity(s1) }>
}"""


#: A Scan with a state that nothing changes. Before opset 9 a Scan has a batch axis, before opset 8
#: there is none.
KEPT = """<ir_version: 4, opset_import: ["": 9]>
g (float[2] s0, float[4,2] x) => (float[2] sf, float[2] k, float[4,2] y) {
  sf, k, y = Scan (s0, s0, x) <num_scan_inputs: int = 1, body: graph = b
    (float[2] s, float[2] t, float[2] e) => (float[2] s1, float[2] t1, float[2] o)
    { s1 = Add(s, e) t1 = Identity(t) o = Identity(s1) }>
}"""


@pytest.mark.parametrize("opset", [7, 8, 10, 21])
def test_a_scan_in_opsets_without_one(opset: int, engines: Engines, tmp_path: Path) -> None:
    model, _ = from_text(KEPT, tmp_path / "m.onnx")
    changed, _ = irloop.convert(model, "onnx", opset=opset)
    result = tmp_path / "changed.onnx"
    irloop.save_model(changed, result)
    check_onnx(result)
    feeds = [np.array([1, 2], np.float32), np.array([[1, 1], [2, 2], [3, 3], [4, 4]], np.float32)]
    sums = [[2, 3], [4, 5], [7, 8], [11, 12]]
    for found in engines.run_all("onnxruntime", result, [feeds, feeds], tmp_path):
        assert [item.tolist() for item in found] == [[11, 12], [1, 2], sums]


@pytest.mark.parametrize("opset", [6, NEWEST + 1])
def test_an_opset_that_is_not_written_is_wrong_usage(opset: int, tmp_path: Path) -> None:
    model, _ = from_text(SCAN, tmp_path / "m.onnx")
    with pytest.raises(UsageError, match=f"opset {opset} cannot be written"):
        irloop.convert(model, "onnx", opset=opset)


def test_operations_that_the_opset_cannot_express_are_named(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]>
    g (float[4] x, string[2] s, bool b) => (float[4] y, string[2] t, float[4] z) {
      y = Bernoulli <seed: float = 1.0> (x)
      t = StringConcat (s, s)
      z = If (b) <then_branch: graph = a () => (float[4] p) { p = Bernoulli (x) },
                  else_branch: graph = c () => (float[4] q) { q = Abs (x) }>
    }"""
    model, _ = from_text(text, tmp_path / "m.onnx")
    with pytest.raises(UnsupportedError) as caught:
        irloop.convert(model, "onnx", opset=14)
    found = [item.message for item in caught.value.diagnostics]
    assert len(found) == 3
    assert found[0].startswith("Bernoulli-15 'y' cannot be written in opset 14: ")
    assert found[1].startswith("StringConcat-20 't' cannot be written in opset 14: ")
    assert found[2].startswith("Bernoulli-15 'z/then/p' cannot be written in opset 14: ")


def test_element_types_that_the_opset_lacks_are_named(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]>
    g (int4[4] x) => (float[4] y) { y = Cast <to: int = 1> (x) }"""
    model, _ = from_text(text, tmp_path / "m.onnx")
    with pytest.raises(UnsupportedError) as caught:
        irloop.convert(model, "onnx", opset=17)
    found = [item.message for item in caught.value.diagnostics]
    assert found[0] == "input 'x' cannot be written in opset 17: element type i4 needs opset 21"


def test_operations_of_other_domains_stay(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "ai.onnx.ml": 3]>
    g (float[2] x) => (float[2] y, float[2] z) {
      y = com.microsoft.QuickGelu (x)
      z = ai.onnx.ml.Binarizer <threshold: float = 0.5> (x)
    }"""
    model, _ = from_text(text, tmp_path / "m.onnx")
    changed, _ = irloop.convert(model, "onnx", opset=13)
    assert changed.opsets == {"": 13, "com.microsoft": 1, "ai.onnx.ml": 3}
    assert [node.op.type for node in changed.graph.nodes] == ["QuickGelu", "Binarizer"]


def test_outputs_that_are_optionals_keep_their_type(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 18]>
    g (bool b) => (optional(seq(float[2])) y) {
      y = If (b) <then_branch: graph = t () => (optional(seq(float[2])) p) {
                    p = Optional <type: type_proto = seq(float[2])> () },
                  else_branch: graph = e () => (optional(seq(float[2])) q) {
                    x = Constant <value: tensor = float[2] {1, 2}> ()
                    s = SequenceConstruct (x)
                    q = Optional (s) }>
    }"""
    model, _ = from_text(text, tmp_path / "m.onnx")
    changed, _ = irloop.convert(model, "onnx", opset=17)
    onnx.checker.check_model(changed.to_onnx(), full_check=True)
    assert changed.to_onnx().graph.output[0].type.HasField("optional_type")


def test_weights_stay_windows_into_their_file(tmp_path: Path) -> None:
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("BatchNormalization", ["x", *"sbmv"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [1, 4, 2, 2])],
        [onnx.helper.make_tensor_value_info("y", 1, [1, 4, 2, 2])],
        [onnx.numpy_helper.from_array(np.ones(4, np.float32), name) for name in "sbmv"],
    )
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 9)])
    onnx.save(proto, tmp_path / "m.onnx")
    changed, _ = irloop.convert(irloop.read_model(tmp_path / "m.onnx"), "onnx", opset=17)
    made = [node for node in changed.graph.nodes if node.inputs]
    assert [node.op.label for node in made] == ["BatchNormalization-14"]
    # The weights are those of the file, under their names, and nothing else is written.
    assert [value and value.name for value in made[0].inputs] == ["x", *"sbmv"]
    written = changed.to_onnx()
    assert [item.name for item in written.graph.initializer] == [*"sbmv"]


@pytest.mark.parametrize("opset", [8, 12, 16])
def test_an_ir_is_written_in_an_older_opset(opset: int) -> None:
    b = irloop.Builder("openvino", opset=16)
    x = b.input("x", "f32", [1, 4, 2, 2])
    ones = b.constant(np.ones(4, np.float32))
    b.output("y", b.op("GroupNormalization", x, ones, ones, num_groups=2, epsilon=1e-5))
    model = b.model()
    changed, _ = irloop.convert(model, "openvino", opset=opset)
    assert max(node.op.since for node in changed.graph.nodes) <= opset
    feeds = {"x": np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2)}
    left, right = irloop.run(model, feeds)["y"], irloop.run(changed, feeds)["y"]
    np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("opset", [7, 8, 10, 11, 13, NEWEST - 1])
def test_images_of_any_size_are_enlarged(
    opset: int, mode: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""<ir_version: 4, opset_import: ["": 9]>
    g (float[1,3,h,w] x) => (float[1,3,a,b] y) <float[4] s = {{1.0, 1.0, 2.0, 2.0}}> {{
      y = Upsample <mode: string = "{mode}"> (x, s)
    }}"""
    model, path = from_text(text, tmp_path / "m.onnx")
    changed, _ = irloop.convert(model, "onnx", opset=opset)
    result = tmp_path / "changed.onnx"
    irloop.save_model(changed, result)
    check_onnx(result)
    for size in ((2, 3), (5, 4)):
        x = np.arange(3 * size[0] * size[1], dtype=np.float32).reshape(1, 3, *size)
        left, right = (
            engines.run("onnxruntime", file, [x], tmp_path)[0] for file in (path, result)
        )
        np.testing.assert_allclose(left, right, rtol=1e-6)
