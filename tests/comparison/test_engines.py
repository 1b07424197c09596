"""Comparisons in several engines: which engines run, which one is wrong, what was exercised."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import onnx
import pytest

import irloop
from irloop.comparison.compare import compare
from irloop.comparison.lanes import Lane, Lanes, Side
from irloop.engines import catalogue
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.errors import UsageError
from irloop.formats.onnx import reader
from irloop.graph.model import Model

HEADER = '<ir_version: 8, opset_import: ["" : 16]>'


def model(text: str) -> Model:
    return reader.from_proto(onnx.parser.parse_model(HEADER + text))


def saved(folder: Path, text: str) -> Path:
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    return path


def own_engine(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> str:
    """The name of a custom engine: `run(values, number)`, where `number` counts runs from 1."""
    text = f"import numpy as np\nimport os\ndef run(values, number):\n{body}\n"
    text += """
def make(path):
    count = [0]
    def numbered(values):
        count[0] += 1
        return run(values, count[0])
    return numbered
"""
    (folder / "an_engine.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    return "an_engine:make"


def test_each_model_runs_in_the_engines_of_its_format() -> None:
    text = "m (float[n,3] x) => (float[n,3] y) { a = Tanh (x) y = Add (a, x) }"
    found = compare(model(text), model(text))
    assert found.equal, str(found)
    assert [(run.engine, run.model) for run in found.runs] == [
        ("numpy", "first"),
        ("numpy", "second"),
        ("onnxruntime", "first"),
        ("onnxruntime", "second"),
    ]
    assert all(run.ran == run.tried == run.agreed == len(found.trials) for run in found.runs)
    assert not found.missing


def test_engines_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda _: None)
    subject = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    found = compare(subject, subject)
    assert found.equal
    assert found.missing == ("onnxruntime",)
    assert (
        str(found)
        .splitlines()[0]
        .endswith("first model: numpy; second model: numpy; not installed: onnxruntime")
    )
    with pytest.raises(UsageError, match="the engine 'onnxruntime' is not installed"):
        compare(subject, subject, engines="numpy,onnxruntime")


def test_engines_are_given_as_a_list_or_one_for_each_model() -> None:
    subject = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    assert compare(subject, subject, engines=["numpy"]).engines == ("numpy", "numpy")
    with pytest.raises(UsageError, match="openvino was made for neither model"):
        compare(subject, subject, engines="openvino")
    with pytest.raises(UsageError, match="both as a list and for a single model"):
        compare(subject, subject, engines="numpy", engine_b="onnxruntime")


def test_an_engine_that_alone_differs_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = own_engine(tmp_path, monkeypatch, "    return [np.abs(values[0]) * np.float32(1.01)]")
    subject = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    found = compare(subject, subject, engines=["numpy", engine])
    # Both models give the same result in it, so the models are equal nevertheless.
    assert found.equal
    assert (
        "both models return the same values in their engines, but different values in numpy"
        in found.notes[0]
    )
    alone = compare(subject, subject, engine_b=engine)
    assert alone.outcome == "different"
    assert "DIFFERENT in the second model in an_engine:make" in str(alone)


def test_an_engine_that_crashes_is_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = own_engine(tmp_path, monkeypatch, "    os.abort()")
    subject = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    found = compare(subject, subject, engine_b=engine, seeds=(0,))
    assert found.outcome == "inconclusive"
    assert found.problems[0].startswith(
        "the second model did not run: an_engine:make crashed: SIGABRT"
    )


def test_stale_results_of_an_earlier_inference_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "    return [np.abs(values[0]) if number == 1 else values[0] * 0 + 7]"
    engine = own_engine(tmp_path, monkeypatch, body)
    subject = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    found = compare(subject, subject, engine_b=engine)
    assert found.outcome == "different"
    assert [trial.equal for trial in found.trials] == [True, False, False]
    assert "returns the right value in the first inference of a compiled model" in str(found)
    # If the first model is affected, too, only the engine is at fault.
    first = compare(subject, subject, engines=["numpy", engine])
    assert first.equal


def test_a_fault_that_all_engines_of_a_model_share_is_no_rounding() -> None:
    """Both engines compute the second model alike, half a percent off, and so does double
    precision.
    """
    text = "m (float[8] x) => (float[8] y) { k = Constant <value_float = K> () y = Mul (x, k) }"
    pair = [model(text.replace("K", factor)) for factor in ("1.0", "1.005")]
    found = compare(*pair, engines=["numpy", "onnxruntime"])
    assert found.outcome == "different", str(found)
    assert found.cause is not None
    assert "constant `k`" in found.cause.message


def test_rounding_is_measured_against_double_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In f32, x + 10000 - 10000 equals x to three digits; an engine may return x itself."""
    text = """
    m (float[8] x) => (float[8] y) {
       k = Constant <value_float = 10000.0> ()
       a = Add (x, k)
       y = Sub (a, k)
    }
    """
    exact = own_engine(tmp_path, monkeypatch, "    return [values[0]]")
    found = compare(model(text), model(text), engine_b=exact)
    assert found.equal, str(found)
    assert "rounding: 0 of the largest value away from double precision" in found.notes[0]
    (tmp_path / "worse.py").write_text(
        "def make(path):\n    return lambda values: [values[0] * type(values[0][0])(1.01)]\n",
        encoding="utf-8",
    )
    assert compare(model(text), model(text), engine_b="worse:make").outcome == "different"


def test_a_fault_of_the_first_engine_is_not_blamed_on_the_conversion() -> None:
    """ONNX Runtime 1.31 returns garbage when it concatenates body inputs; the second model copies
    the value.
    """
    text = """
    m (float[3,2] x) => (float[?,2] y) {
       y = Scan <num_scan_inputs = 1, body = f (float[2] row) => (float[2] OUT) { BODY }> (x)
    }
    """
    first = model(text.replace("OUT", "row").replace("BODY", ""))
    second = model(text.replace("OUT", "out").replace("BODY", "out = Mul (row, row)"))
    good = model(text.replace("OUT", "out").replace("BODY", "n = Neg (row) out = Neg (n)"))
    found = compare(first, good, converted=True)
    assert found.equal, str(found)
    assert any("a known fault of onnxruntime" in note for note in found.notes), found.notes
    assert compare(first, second, converted=True).outcome == "different"
    # Of two models that have nothing to do with each other, one is wrong in its engine.
    for pair in ((first, good), (good, first)):
        found = compare(*pair)
        assert found.outcome == "different"
        assert "a known fault of onnxruntime" in str(found)


@pytest.mark.parametrize(
    "body", ["a = Abs (x) b = Neg (a) y = Log (b)", "c = Greater (x, k) y = Compress (x, c)"]
)
def test_nothing_but_nan_or_nothing_at_all_is_inconclusive(body: str) -> None:
    text = f"m (float[4] x) => (float[?] y) {{ k = Constant <value_float = 1e9> () {body} }}"
    found = compare(model(text), model(text), engines="numpy")
    assert found.outcome == "inconclusive"
    assert not found.equal
    assert found.problems == (
        "nothing was compared: every output was empty or all NaN in every trial",
    )
    assert str(found).startswith("inconclusive: 3 of 3 trials ran")


def test_an_output_that_no_trial_shows_is_named() -> None:
    text = """m (float[2] x) => (float[2] y, float[2] z) {
        a = Abs (x) b = Neg (a) y = Log (b) z = Neg (x) }"""
    found = compare(model(text), model(text), engines="numpy")
    assert found.equal
    assert found.not_compared == ("y was empty or all NaN in every trial",)


def test_images_become_large_enough_for_their_outputs() -> None:
    """Three poolings of 3x3 with stride 3 need an image of 27 or more."""
    text = "m (float[N,3,height,width] x) => (float[N,3] y) {"
    for source, made in (("x", "a"), ("a", "b"), ("b", "c")):
        text += f"{made} = MaxPool <kernel_shape = [3,3], strides = [3,3]> ({source})\n"
    text += "y = ReduceMean <axes = [2,3], keepdims = 0> (c) }"
    found = compare(model(text), model(text), engines="numpy")
    assert found.equal, str(found)
    assert found.outputs[0].type == "float32[2, 3]"
    assert not found.not_compared


def test_a_second_inference_has_other_sizes() -> None:
    text = "m (float[n,k] x, float[n,k] w) => (float[n,k] y) { y = Mul (x, w) }"
    found = compare(model(text), model(text), engines="numpy")
    labels = [trial.label for trial in found.trials]
    assert labels == [
        "seed 0",
        "seed 0, other sizes",
        "seed 1",
        "seed 0, numbers 20 times as large",
    ]


def test_sizes_that_the_model_rules_out_are_left_out() -> None:
    text = "m (float[n,k] x, float[5,2] w) => (float[n,2] y) { y = MatMul (x, w) }"
    found = compare(model(text), model(text), engines="numpy")
    assert found.equal, str(found)
    assert not found.not_exercised


def test_computed_trip_counts_are_exercised() -> None:
    text = """
    m (int64 n, float[2] x) => (float[2] y) {
       one = Constant <value_int = 1> ()
       more = Add (n, one)
       less = Sub (more, one)
       [loop] y = Loop (less, , x)
          <body = f (int64 i, bool c, float[2] s) => (bool c, float[2] t) { t = Add (s, s) }>
    }
    """
    found = compare(model(text), model(text), engines="numpy")
    assert found.exercised == ("loop loop: ran 0, 1, 2, 5 times",)
    assert not found.not_exercised


def test_inputs_are_searched_for_both_branches_and_an_early_stop() -> None:
    text = """
    m (float[2] x) => (float[2] y, float[2] z) {
       zero = Constant <value_float = 0.0> ()
       low = ReduceMin <keepdims = 0> (x)
       some = Greater (low, zero)
       [choice] y = If (some) <then_branch = t () => (float[2] p) { p = Neg (x) },
          else_branch = e () => (float[2] q) { q = Abs (x) }>
       trip = Constant <value_int = 4> ()
       [loop] z = Loop (trip, , x)
          <body = f (int64 i, bool c, float[2] s) => (bool on, float[2] n) {
             far = Constant <value_float = 500.0> ()
             n = Add (s, s)
             top = ReduceMax <keepdims = 0> (n)
             on = Less (top, far)
          }>
    }
    """
    found = compare(model(text), model(text), engines="numpy")
    assert found.equal
    assert found.exercised[0] == "branch then and else of choice"
    assert found.exercised[1].startswith("loop loop: ran ")
    assert found.exercised[1].endswith(", with an early stop")
    assert not any("choice" in item for item in found.not_exercised)


STATEFUL = """<?xml version="1.0"?>
<net name="m" version="11">
  <layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
      <data shape="2" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>2</dim></port></output>
    </layer>
    <layer id="1" name="read" type="ReadValue" version="opset6">
      <data variable_id="v" variable_type="f32" variable_shape="2"/>
      <input><port id="0" precision="FP32"><dim>2</dim></port></input>
      <output><port id="1" precision="FP32"><dim>2</dim></port></output>
    </layer>
    <layer id="2" name="sum" type="Add" version="opset1">
      <input>
        <port id="0" precision="FP32"><dim>2</dim></port>
        <port id="1" precision="FP32"><dim>2</dim></port>
      </input>
      <output><port id="2" precision="FP32"><dim>2</dim></port></output>
    </layer>
    <layer id="3" name="keep" type="Assign" version="opset6">
      <data variable_id="v"/>
      <input><port id="0" precision="FP32"><dim>2</dim></port></input>
      <output><port id="1" precision="FP32"><dim>2</dim></port></output>
    </layer>
    <layer id="4" name="y" type="Result" version="opset1">
      <input><port id="0" precision="FP32"><dim>2</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="SOURCE" from-port="PORT" to-layer="3" to-port="0"/>
    <edge from-layer="2" from-port="2" to-layer="4" to-port="0"/>
  </edges>
</net>
"""


def test_models_with_variables_are_compared_over_several_steps(tmp_path: Path) -> None:
    """The models differ in their variables, which the first step does not show."""
    paths = []
    for name, source, port in (("sum", "2", "2"), ("old", "1", "1")):
        path = tmp_path / f"{name}.xml"
        path.write_text(STATEFUL.replace("SOURCE", source).replace("PORT", port), "utf-8")
        path.with_suffix(".bin").write_bytes(b"")
        paths.append(path)
    same = compare(paths[0], paths[0], seeds=(0,))
    assert same.equal, str(same)
    assert [trial.label for trial in same.trials[:3]] == [
        f"seed 0, step {step} of 3" for step in (1, 2, 3)
    ]
    found = compare(*paths, seeds=(0,))
    assert found.outcome == "different"
    assert [trial.equal for trial in found.trials[:3]] == [True, False, False]


def test_the_plain_data_of_a_comparison_names_every_engine() -> None:
    subject = model("m (float[2] x) => (float[2] y) { y = Abs (x) }")
    found = compare(subject, subject, engines="numpy", inputs=[np.ones(2, np.float32)]).to_dict()
    assert found["outcome"] == "equal"
    assert [(run["engine"], run["model"], run["trials_run"]) for run in found["runs"]] == [
        ("numpy", "first", 1),
        ("numpy", "second", 1),
    ]
    assert found["not_installed"] == []


def test_the_size_of_the_weights_prolongs_loading(tmp_path: Path) -> None:
    """The weights may be in files of any name, so the model tells their size."""
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[10, 100] x, bool b) => (float[10, 100] y) <float[10, 100] w> {
          y = If (b) <
            then_branch = t () => (float[10, 100] p) { p = Add (x, w) },
            else_branch = e () => (float[10, 100] q) { q = Relu (x) }
          >
        }
    """
    proto = onnx.parser.parse_model(text)
    weights = onnx.numpy_helper.from_array(np.ones((10, 100), np.float32), "w")
    proto.graph.initializer.append(weights)
    path = tmp_path / "m.onnx"
    onnx.save_model(proto, path, save_as_external_data=True, location="any", size_threshold=0)
    process = Mock(spec=Process)
    lanes = Lanes([])
    lanes._processes = {Lane(0, catalogue.engine_of("onnxruntime")): process}
    with lanes:
        lanes.load(0, Side(irloop.read_model(path), str(path)))
    process.load.assert_called_once_with(path, 4_000)


def test_the_second_model_gets_no_more_time_to_load_than_the_first(tmp_path: Path) -> None:
    """A small model may become a very large one by conversion."""
    short, long = "y = Abs (x)", " ".join(f"v{n} = Abs (x)" for n in range(100)) + " y = Abs (x)"
    processes = [Mock(spec=Process), Mock(spec=Process)]
    lanes = Lanes([])
    openvino = catalogue.engine_of("openvino")
    lanes._processes = dict(zip((Lane(0, openvino), Lane(1, openvino)), processes, strict=True))
    sides = []
    for name, body in (("short", short), ("long", long)):
        subject = model(f"m (float[2] x) => (float[2] y) {{ {body} }}")
        path = tmp_path / f"{name}.onnx"
        irloop.save_model(subject, path)
        sides.append(Side(subject, str(path)))
    sizes = [Path(str(side.file)).stat().st_size for side in sides]
    assert sizes[1] > 5 * sizes[0]
    with lanes:
        for number, side in enumerate(sides):
            lanes.load(number, side)
    for process, side in zip(processes, sides, strict=True):
        process.load.assert_called_once_with(Path(str(side.file)), sizes[0])


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("    return [np.abs(values[0])] * 2", "returns 2 outputs"),
        ("    return []", "returns 0 outputs"),
    ],
)
def test_another_number_of_outputs_in_an_engine_is_never_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: int, body: str, says: str
) -> None:
    """An engine that returns more outputs than irloop has read runs another model."""
    engine = own_engine(tmp_path, monkeypatch, body)
    path = saved(tmp_path, "m (float[2] x) => (float[2] y) { y = Abs (x) }")
    names = (engine, "numpy") if side == 0 else ("numpy", engine)
    found = compare(path, path, engine_a=names[0], engine_b=names[1])
    assert found.outcome == "different"
    (problem,) = found.problems
    assert problem.startswith(f"the {('first', 'second')[side]} model has 1 output (y), but")
    assert says in problem
    assert not compare(path, path, engines=["numpy", engine]).equal


def test_the_names_of_outputs_in_engines(tmp_path: Path) -> None:
    text = "m (float[2] x) => (float[2] y, float[2] z) { y = Abs (x) z = Neg (x) }"
    path = saved(tmp_path, text)
    for name in ("onnxruntime", "openvino"):
        with Process(engine_of(name), path) as process:
            answer = process.run([np.zeros(2, np.float32)], seconds=60.0)
        assert answer.names == ("y", "z")


def test_models_with_other_numbers_of_outputs_are_named(tmp_path: Path) -> None:
    two = saved(tmp_path, "m (float[2] x) => (float[2] y, float[2] z) { y = Abs (x) z = Neg (x) }")
    text = str(compare(two, model("m (float[2] x) => (float[2] y) { y = Abs (x) }")))
    assert text.startswith("not equal")
    assert "the first model has 1 input (x) and 2 outputs (y, z)" in text
    assert "the second model has 1 input (x) and 1 output (y)" in text
