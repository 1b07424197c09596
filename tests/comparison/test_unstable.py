"""Models that amplify rounding: a difference between engines proves nothing there."""

from __future__ import annotations

import onnx.parser
import pytest

import irloop
from irloop.faults.catalogue import faults
from irloop.formats.onnx import reader
from irloop.graph.model import Model


def iterated(step: str, stop: str = "go = Identity(c)") -> Model:
    """A Loop of 60 iterations over x [3], with constants one, four and half."""
    text = f"""
        <ir_version: 9, opset_import: ["": 17]>
        agraph (float[3] x) => (float[3] y) {{
            n = Constant <value = int64 {{60}}> ()
            t = Constant <value = bool {{1}}> ()
            y = Loop (n, t, x) <body = iteration (int64 i, bool c, float[3] a)
                => (bool go, float[3] b) {{
                one = Constant <value = float {{1.0}}> ()
                four = Constant <value = float {{4.0}}> ()
                half = Constant <value = float {{0.5}}> ()
                {step}
                {stop}
            }}>
        }}
    """
    return reader.from_proto(onnx.parser.parse_model(text))


#: The logistic map doubles an error in each iteration: 60 iterations leave nothing of a value.
CHAOS = "r = Sub(one, a) s = Mul(a, r) b = Mul(four, s)"
#: The same, 4a - 4a^2.
CHAOS_AGAIN = "r = Mul(four, a) q = Mul(r, a) b = Sub(r, q)"
#: Another map: the values of both stay between 0 and 1.
MEAN = "r = Mul(a, a) s = Add(one, r) b = Mul(half, s)"


INSIDE = [{"x": [0.1, 0.2, 0.3]}, {"x": [0.15, 0.35, 0.8]}]


def test_rounding_that_a_model_amplifies_is_no_difference() -> None:
    result = irloop.compare(
        iterated(CHAOS), iterated(CHAOS_AGAIN), inputs=INSIDE, engines=["numpy"]
    )
    assert result.outcome == "inconclusive"
    assert any("amplifies rounding" in note for note in result.notes), result
    assert any("--inputs" in problem for problem in result.problems), result


def test_the_verdict_is_the_same_in_engines() -> None:
    result = irloop.compare(iterated(CHAOS), iterated(CHAOS_AGAIN), inputs=INSIDE)
    assert result.outcome == "inconclusive", result


def test_a_stable_trial_decides() -> None:
    # 0 and 1 are mapped to 0, without an error.
    stable = [*INSIDE, {"x": [0.0, 1.0, 0.0]}]
    result = irloop.compare(iterated(CHAOS), iterated(CHAOS_AGAIN), inputs=stable)
    assert result.outcome == "equal", result


@pytest.mark.parametrize("engines", [["numpy"], "auto"])
def test_another_stable_model_differs(engines: str | list[str]) -> None:
    models = iterated(MEAN), iterated(CHAOS)
    for first, second in (models, models[::-1]):
        result = irloop.compare(first, second, inputs=INSIDE, engines=engines)
        assert result.outcome == "different", result


def test_positive_numbers_are_tried_where_a_loop_can_stop() -> None:
    # Newton's square root has no limit for a negative number.
    step = "q = Div(x, a) s = Add(a, q) b = Mul(half, s)"
    stop = "d = Sub(b, a) e = Abs(d) m = ReduceMax <keepdims = 0> (e) go = Greater(m, tiny)"
    tiny = "tiny = Constant <value = float {0.000001}> ()"
    model = iterated(step, f"{tiny} {stop}")
    result = irloop.compare(model, model, engines=["numpy"])
    assert any("positive numbers" in trial.label for trial in result.trials), result


def test_optimisations_of_onnxruntime_are_named() -> None:
    # ORT121, which a conversion avoids and this model does not.
    case = faults()["ORT121"].smallest
    assert isinstance(case.model, str)
    model = reader.from_proto(onnx.parser.parse_model(case.model))
    inputs = dict(
        zip((node.name for node in model.graph.parameters), case.runs[0].inputs, strict=True)
    )
    result = irloop.compare(
        model, model, inputs=inputs, engine_a="numpy", engine_b="onnxruntime", converted=True
    )
    assert result.outcome == "different", result
    assert "without graph optimisations, where it agrees" in str(result)


def read_twice(text: str) -> tuple[Model, Model]:
    proto = onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 17]>' + text)
    return reader.from_proto(proto), reader.from_proto(proto)


#: Doubling reaches 10 from positive numbers only.
DOUBLED = """
    m (float[9] x) => (float[9] y) {
       ten = Constant <value_float = 10.0> ()
       start = Constant <value = bool {1}> ()
       y = Loop ("", start, x) <body = b (int64 i, bool c, float[9] s) => (bool more, float[9] t) {
          t = Add (s, s)
          least = ReduceMin <keepdims = 0> (t)
          more = Less (least, ten)
       }>
    }"""


def test_numbers_that_end_a_loop_are_searched_for() -> None:
    """Doubling reaches 10 from positive numbers only; 200,000 iterations of others take seconds."""
    found = irloop.compare(*read_twice(DOUBLED), engines="numpy")
    assert found.outcome == "equal", str(found)
    assert "with an early stop" in str(found)


def test_random_inputs_end_the_loop_as_well() -> None:
    """Their size is unknown, so the model is run to find it."""
    model, _ = read_twice(DOUBLED.replace("9]", "N]"))
    inputs = irloop.random_inputs(model, dims={"N": 9})
    assert (inputs["x"] > 0).all()
    assert (irloop.run(model, inputs)["y"] >= 10).all()


def test_integers_that_end_a_loop_are_searched_for() -> None:
    """Steps of 0 or less never reach 10."""
    steps = """
    m (int64[9] step) => (int64[9] y) {
       ten = Constant <value_int = 10> ()
       start = Constant <value = bool {1}> ()
       y = Loop ("", start, step) <body = b (int64 i, bool c, int64[9] s)
             => (bool more, int64[9] t) {
          t = Add (s, step)
          least = ReduceMin <keepdims = 0> (t)
          more = Less (least, ten)
       }>
    }"""
    found = irloop.compare(*read_twice(steps), engines="numpy")
    assert found.outcome == "equal", str(found)
    assert "with an early stop" in str(found)


@pytest.mark.parametrize(("number", "outcome"), [(46340, "equal"), (46341, "different")])
def test_integers_beyond_32_bits_are_named(number: int, outcome: str) -> None:
    """46341 squared is the first square beyond 2^31 - 1; OpenVINO's CPU computes i64 as i32."""
    text = "m (int64[1] x) => (int64[1] y) { y = Mul(x, x) }"
    model, again = read_twice(text)
    result = irloop.compare(model, again, inputs={"x": [number]}, engine_b="openvino")
    assert result.outcome == outcome, result
    assert (f"computes {number**2}, and OpenVINO's CPU" in str(result)) is (outcome != "equal")
