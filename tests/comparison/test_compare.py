"""Comparisons of models with one mistake each: the verdict and the location must be right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import onnx
import pytest

from irloop.budget import Budget
from irloop.comparison.compare import compare as compare_in_engines
from irloop.comparison.inputs import Trial
from irloop.comparison.measure import Tolerance
from irloop.comparison.report import Comparison
from irloop.comparison.runs import run_outside
from irloop.comparison.verdict import Verdict
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.elementwise import Abs
from irloop.engines.answer import Answer, Failure
from irloop.engines.catalogue import engine_of, require
from irloop.engines.process import Process
from irloop.errors import UsageError
from irloop.formats.onnx import reader
from irloop.graph.builder import Builder
from irloop.graph.loops import Invariant, LastValue, PortMap
from irloop.graph.model import Body, Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

HEADER = '<ir_version: 8, opset_import: ["" : 16]>'


def model(text: str) -> Model:
    return reader.from_proto(onnx.parser.parse_model(HEADER + text))


def compare(first: Any, second: Any, **options: Any) -> Comparison:
    """Compare in irloop's own executor unless another engine is named."""
    if not {"engines", "engine_a", "engine_b"} & {*options}:
        options["engines"] = "numpy"
    return compare_in_engines(first, second, **options)


#: The state decays towards a value; each test changes one part.
LOOP = """
m (int64 trip, float[2] x) => (float[2] last, float[?,2] all) {
   [loop] last, all = Loop (TRIP, , START) <body = step (int64 i, bool c, float[2] s)
      => (bool c, float[2] NEXT, float[2] part) {
      rate = Constant <value_float = RATE> ()
      [scale] t = Mul (s, rate)
      [bend] u = Tanh (t)
      [shift] n = Add (u, x)
      part = Identity (GATHERED)
   }>
}
"""


def loop(**parts: str) -> Model:
    text = LOOP
    chosen = {"TRIP": "trip", "START": "x", "NEXT": "n", "RATE": "0.5", "GATHERED": "n", **parts}
    for name, part in chosen.items():
        text = text.replace(name, part)
    return model(text)


def verdicts(found: Comparison) -> dict[str, Verdict | None]:
    return {item.name: item.verdict for item in found.outputs}


def test_equal_models_are_equal_in_every_trial() -> None:
    found = compare(loop(), loop())
    assert found.equal
    assert found.compared
    assert not found.problems
    assert found.divergence is None
    # Two seeds with four trip counts, and large numbers.
    assert len(found.trials) == 9
    assert found.not_exercised == ()
    assert all(item.difference is not None and item.difference.ulp == 0 for item in found.outputs)
    assert str(found).startswith("equal: 9 of 9 trials ran")


def test_a_wrong_constant_is_found_in_its_first_iteration() -> None:
    found = compare(loop(), loop(RATE="0.5005"))
    assert not found.equal
    assert found.divergence is not None
    assert found.divergence.path == "loop/body/scale"
    assert found.divergence.iterations == (0,)
    assert found.divergence.of == (5,)
    assert found.divergence.inputs_equal
    assert found.divergence.verdict is Verdict.DRIFT
    text = str(found.divergence)
    assert text.startswith("first divergence: `loop/body/scale`, iteration 0 of 5, element (")
    assert " against " in text
    assert "ULP; inputs still equal; numeric drift" in text


def test_the_growth_of_an_error_is_reported() -> None:
    text = """
    m (float[2] x) => (float[2] last) {
       trip = Constant <value_int = 40> ()
       [loop] last = Loop (trip, , x)
          <body = step (int64 i, bool c, float[2] s) => (bool c, float[2] n) {
          rate = Constant <value_float = RATE> ()
          [grow] n = Mul (s, rate)
       }>
    }
    """
    found = compare(model(text.replace("RATE", "1.5")), model(text.replace("RATE", "1.5006")))
    assert found.divergence is not None
    assert found.divergence.path == "loop/body/grow"
    # 1.5006^n - 1.5^n is n 0.0006 1.5^(n-1): a factor of 1.5, and a little for n.
    assert found.divergence.growth == pytest.approx(1.63, abs=0.1)


def test_a_different_number_of_iterations() -> None:
    text = LOOP.replace(
        "[loop]", "one = Constant <value_int = 1> ()\n less = Sub (trip, one)\n [loop]"
    )
    for name, part in (("TRIP", "less"), ("START", "x"), ("NEXT", "n"), ("RATE", "0.5")):
        text = text.replace(name, part)
    found = compare(loop(), model(text.replace("GATHERED", "n")))
    assert not found.equal
    assert verdicts(found)["all"] is Verdict.COUNT
    assert found.divergence is not None
    assert found.divergence.verdict is Verdict.COUNT
    assert (found.divergence.left, found.divergence.right) == ("5 iterations", "4 iterations")


def test_parts_gathered_one_iteration_late() -> None:
    found = compare(loop(), loop(GATHERED="s"))
    assert verdicts(found) == {"last": None, "all": Verdict.SHIFTED}


def test_a_state_that_is_never_updated() -> None:
    text = """
    m (int64 trip, float[2] x) => (float[2] last) {
       last = Loop (trip, , x) <body = step (int64 i, bool c, float[2] s) => (bool c, float[2] n) {
          BODY
       }>
    }
    """
    good = model(text.replace("BODY", "n = Add (s, s)"))
    bad = model(text.replace("BODY", "n = Identity (s)"))
    found = compare(good, bad)
    assert verdicts(found) == {"last": Verdict.NOT_UPDATED}


SCAN = """
m (float[4,3] xs) => (float[?,3] ys) {
   ys = Scan <num_scan_inputs = 1, scan_output_directions = [DIR],
      body = f (float[3] x) => (float[3] y) {
      y = Mul (x, x)
   }> (xs)
}
"""


def test_parts_in_reverse_order() -> None:
    found = compare(model(SCAN.replace("DIR", "0")), model(SCAN.replace("DIR", "1")))
    assert verdicts(found) == {"ys": Verdict.REVERSED}


def test_stacked_instead_of_concatenated() -> None:
    flat = SCAN.replace("=> (float[?,3] ys)", "=> (float[12] ys)").replace(
        "ys = Scan", "parts = Scan"
    )
    flat = flat.replace(
        "}> (xs)", "}> (xs) flat = Constant <value_ints = [-1]> () ys = Reshape (parts, flat)"
    )
    found = compare(model(SCAN.replace("DIR", "0")), model(flat.replace("DIR", "0")))
    assert verdicts(found) == {"ys": Verdict.STACKED}


def test_another_element_type_and_another_shape() -> None:
    plain = model("m (float[2,3] x) => (float[2,3] y) { y = Abs (x) }")
    wide = model("m (float[2,3] x) => (double[2,3] y) { a = Abs (x) y = Cast <to = 11> (a) }")
    turned = model("m (float[2,3] x) => (float[3,2] y) { a = Abs (x) y = Transpose (a) }")
    assert verdicts(compare(plain, wide)) == {"y": Verdict.TYPE}
    assert verdicts(compare(plain, turned)) == {"y": Verdict.SHAPE}


def test_outputs_are_matched_by_name_then_by_position() -> None:
    first = model("m (float[2] x) => (float[2] a, float[2] b) { a = Abs (x) b = Neg (x) }")
    swapped = model("m (float[2] x) => (float[2] b, float[2] a) { a = Abs (x) b = Neg (x) }")
    renamed = model("m (float[2] in) => (float[2] p, float[2] q) { p = Abs (in) q = Neg (in) }")
    for second in (swapped, renamed):
        found = compare(first, second)
        assert found.equal, str(found)


def test_a_different_number_of_outputs_is_a_problem_of_its_own() -> None:
    first = model("m (float[2] x) => (float[2] a, float[2] b) { a = Abs (x) b = Neg (x) }")
    second = model("m (float[2] x) => (float[2] a) { a = Abs (x) }")
    found = compare(first, second)
    assert not found.equal
    assert found.problems == ("2 outputs against 1",)


def test_nan_is_equal_to_nan_only() -> None:
    some = model("m (float[8] x) => (float[8] y) { y = Log (x) }")
    none = model("m (float[8] x) => (float[8] y) { y = Abs (x) }")
    assert compare(some, some).equal
    found = compare(some, none)
    assert verdicts(found) == {"y": Verdict.NAN}


def test_given_arrays_and_tolerances() -> None:
    first = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    text = """
    m (float[2] x) => (float[2] y) {
       k = Constant <value_float = 1.001> ()
       a = Abs (x)
       y = Mul (a, k)
    }
    """
    second = model(text)
    x = np.array([1, -2], np.float32)
    for inputs in ({"x": x}, [x], [{"x": x}, {"x": x * 2}]):
        found = compare(first, second, inputs=inputs)
        assert not found.equal
        assert found.outputs[0].difference is not None
        assert found.outputs[0].difference.absolute == pytest.approx(0.002, rel=1.1)
    loose = compare(first, second, inputs=[x], tolerance=Tolerance(relative=2e-3))
    assert loose.equal
    with pytest.raises(UsageError, match="no array for input 'x'"):
        compare(first, second, inputs={"z": x})


def test_unexercised_paths_are_reported() -> None:
    text = """
    m (float[2] x) => (float[2] y) {
       trip = Constant <value_int = 3> ()
       c = Constant <value = bool {1}> ()
       a = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) },
          else_branch = e () => (float[2] q) { q = Abs (x) }>
       [loop] y = Loop (trip, , a)
          <body = step (int64 i, bool d, float[2] s) => (bool d, float[2] n) { n = Add (s, s) }>
    }
    """
    found = compare(model(text), model(text))
    assert found.equal
    assert found.not_exercised == (
        "branch else of a",
        "loop loop: zero iterations, one iteration (ran 3 times)",
    )


def test_dimensions_with_which_the_model_runs_are_found() -> None:
    text = "m (float[n,k] x, float[5,2] w) => (float[n,2] y) { y = MatMul (x, w) }"
    found = compare(model(text), model(text))
    assert found.equal
    # The inner size must be 5; the other one is arbitrary.
    assert "float32[2, 2]" in str(found.outputs[0])
    given = compare(model(text), model(text), sizes={"n": 7, "k": 5})
    assert "float32[7, 2]" in str(given.outputs[0])


def test_a_model_that_refuses_generated_inputs_is_not_called_equal() -> None:
    text = "m (float[2,3] x, float[5,2] w) => (float[?] y) { y = MatMul (x, w) }"
    found = compare(model(text), model(text))
    assert not found.equal
    assert not found.compared
    assert "no generated inputs could be run" in found.problems[0]


def test_unknown_engines_and_engines_of_the_other_format_are_refused() -> None:
    onnx_model = loop()
    with pytest.raises(UsageError, match="no engine 'torch'"):
        compare(onnx_model, onnx_model, engines="torch,numpy")
    with pytest.raises(UsageError, match="onnxruntime does not run such a model"):
        require(engine_of("onnxruntime"), "openvino")


@pytest.mark.parametrize("engine", ["onnxruntime", "onnx-reference"])
def test_another_engine_in_a_separate_process(engine: str) -> None:
    text = "m (float[n,3] x) => (float[n,3] y) { a = Tanh (x) y = Add (a, x) }"
    found = compare(model(text), model(text), engine_a="numpy", engine_b=engine, seeds=(0,))
    assert found.equal, str(found)
    assert found.engines == ("numpy", engine)


def test_an_engine_gets_no_more_time_than_the_command_has_left() -> None:
    """OpenVINO compiles a wide Concat for minutes; formerly this took 138 seconds in spite of a
    limit of 60 seconds.
    """
    process = Mock(spec=Process)
    process.run.return_value = Answer(engine_of("onnxruntime"), [np.float32(0)])
    with Budget(seconds=30).entered():
        run_outside(process, [Trial("seed 0", (np.float32(1),))], seconds=60)
    given = process.run.call_args.kwargs
    assert given["seconds"] <= 30
    assert given["loading"] <= 30
    run_outside(process, [Trial("seed 0", (np.float32(1),))], seconds=60)
    given = process.run.call_args.kwargs
    assert (given["seconds"], given["loading"]) == (60, 120)


@pytest.mark.parametrize(("seconds", "processor"), [(1, 5), (60, 5), (600, 50)])
def test_more_seconds_for_a_run_allow_more_processor_time_for_loading(
    seconds: float, processor: float
) -> None:
    process = Mock(spec=Process)
    process.run.return_value = Answer(engine_of("openvino"), [np.float32(0)])
    run_outside(process, [Trial("seed 0", (np.float32(1),))], seconds=seconds)
    assert process.run.call_args.kwargs["processor"] == processor


@pytest.mark.parametrize(
    ("failure", "state"), [(Failure.HUNG, "did not finish"), (Failure.REFUSED, "did not run")]
)
def test_the_first_line_names_an_engine_that_did_not_finish(
    monkeypatch: pytest.MonkeyPatch, failure: Failure, state: str
) -> None:
    """The models agree in irloop's own executor, which proves nothing if no engine ran them."""
    answer = Answer(engine_of("onnxruntime"), None, failure, "more than 5 seconds")
    monkeypatch.setattr(Process, "run", Mock(return_value=answer))
    text = "m (float[2] x) => (float[2] y) { y = Tanh (x) }"
    found = compare(model(text), model(text), engines="numpy,onnxruntime", seeds=(0,))
    first = str(found).splitlines()[0]
    assert first.count(f"onnxruntime {engine_of('onnxruntime').version} ({state})") == 2
    assert first.startswith("inconclusive: ")
    assert f"neither model ran in the engine of its format: {answer}" in found.notes[0]


def test_a_model_that_only_the_second_engine_does_not_finish_is_not_called_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = Answer(engine_of("onnxruntime"), None, Failure.HUNG, "more than 5 seconds")
    monkeypatch.setattr(Process, "run", Mock(return_value=answer))
    text = "m (float[2] x) => (float[2] y) { y = Tanh (x) }"
    found = compare(model(text), model(text), engine_b="onnxruntime", seeds=(0,))
    assert str(found).splitlines()[0].endswith("(did not finish)")
    assert not found.equal
    assert f"the second model did not run: {answer}" in found.problems[0]


def test_an_engine_that_hangs_is_stopped() -> None:
    text = """
    m (float x) => (float y) {
       y = Loop (, , x) <body = step (int64 i, bool c, float s) => (bool on, float n) {
          on = Constant <value = bool {1}> ()
          n = Tanh (s)
       }>
    }
    """
    found = compare(
        model("m (float x) => (float y) { y = Tanh (x) }"),
        model(text),
        engine_b="onnxruntime",
        inputs=[np.float32(1)],
        seconds=3,
    )
    assert not found.equal
    assert "did not finish: more than 3 seconds" in found.problems[0]


def test_a_crash_of_an_engine_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    found = compare(loop(), loop(), engine_b="onnxruntime", seeds=(0,), trips=(1,))
    assert not found.equal
    assert "crashed" in found.problems[0]


def test_the_message_of_an_engine_that_refuses_is_reported(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(HEADER + "m (float[2] x) => (float[2] y) { y = Abs (x) }")
    proto.graph.node[0].op_type = "NoSuchOperation"
    file = tmp_path / "model.onnx"
    file.write_bytes(proto.SerializeToString())
    good = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    found = compare(good, file, engine_b="onnxruntime", seeds=(0,))
    assert "the second model did not run: onnxruntime " in found.problems[0]
    assert "NoSuchOperation" in found.problems[0]


def test_an_undefined_output_is_not_compared() -> None:
    # The last value of what no back edge carries: zeros on one side, anything on the other.
    graph = Graph()
    builder = Builder(graph)
    trip = builder.parameter("trip", TensorType(ElementType.I64, Shape.of()))
    x = builder.parameter("x", TensorType(ElementType.F32, Shape.of(2)))
    inside = builder.nested("body")
    seen = inside.parameter("s", TensorType(ElementType.F32, Shape.of(2)))
    inside.result(inside.constant(True, ElementType.BOOLEAN), "on")
    inside.result(inside(Abs(), seen), "made")
    ports = PortMap((Invariant(2, 0),), (LastValue(1, 0),), condition=0)
    on = builder.constant(True, ElementType.BOOLEAN)
    body = Body("body", inside.graph, ports)
    node = builder.emit(Loop(), trip, on, x, n_outputs=1, bodies=(body,), name="loop")
    builder.result(node.outputs[0], "y")
    text = """
    m (int64 trip, float[2] x) => (float[2] y) {
       zero = Constant <value_int = 0> ()
       some = Greater (trip, zero)
       y = If (some) <then_branch = t () => (float[2] p) { p = Abs (x) },
                      else_branch = e () => (float[2] q) { q = Neg (x) }>
    }
    """
    found = compare(Model(graph, "openvino", 11), model(text), trips=(3, 0))
    assert found.equal, str(found)
    assert "y has no value there (seed 0, trip count 0 and 1 more)" in found.not_exercised


def test_comparisons_convert_to_plain_data() -> None:
    found = compare(loop(), loop(RATE="0.6")).to_dict()
    assert found["equal"] is False
    assert found["verdict"] in {item.name.lower() for item in Verdict}
    outputs: list[dict[str, Any]] = found["outputs"]
    assert [item["name"] for item in outputs] == ["last", "all"]
    assert all(item["max_abs"] > 0 for item in outputs)
