"""A check says the same of two models in both orders, and what each engine did not run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import Result

Irloop = Callable[..., Result]

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
OPENVINO, ONNXRUNTIME = version("openvino"), version("onnxruntime")

#: Models by name. ONNX Runtime refuses the two nodes of one name, OpenVINO's CPU plugin a Squeeze
#: whose result has an unknown rank.
MODELS = {
    "abs": "m (float[2] x) => (float[2] y) { y = Abs (x) }",
    "neg": "m (float[2] x) => (float[2] y) { y = Neg (x) }",
    "abs_of_three": "m (float[3] x) => (float[3] y) { y = Abs (x) }",
    "abs_of_integers": "m (int64[2] x) => (int64[2] y) { y = Abs (x) }",
    "two_outputs": "m (float[2] x) => (float[2] y, float[2] z) { y = Abs (x) z = Neg (x) }",
    "one_name": "m (float[2] x) => (float[2] y) { [n] z = Abs (x) [n] y = Abs (z) }",
    "squeeze": "m (float[N,M,1] x) => (float[A,B] y) { y = Squeeze (x) }",
    "log": "m (float[2] x) => (float[2] y) { a = Abs (x) b = Neg (a) y = Log (b) }",
    "scan": """m (float[n,2] x) => (float[2] y) {
        z = Constant <value_floats = [0.0, 0.0]> ()
        y, a = Scan <num_scan_inputs = 1, body = f (float[2] s, float[2] r)
            => (float[2] t, float[2] u) { t = Add (s, r) u = Neg (t) }> (z, x)
    }""",
}


def saved(name: str, folder: Path) -> Path:
    """Write one of the models as ONNX."""
    path = folder / f"{name}.onnx"
    text = '<ir_version: 8, opset_import: ["" : 16]>' + MODELS[name]
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return path


def said(result: Result) -> tuple[str, int]:
    """The words of the verdict, and the exit status."""
    return result.stdout.splitlines()[0].split(":")[0].split(";")[0], result.exit_code


@pytest.mark.slow
def test_the_order_of_two_models_does_not_matter(irloop: Irloop, tmp_path: Path) -> None:
    files = [saved(name, tmp_path) for name in MODELS]
    for file in list(files):
        made = file.with_suffix(".xml")
        if irloop("convert", file, "-o", made, "--no-validate").exit_code == 0:
            files.append(made)
    files += sorted(FIXTURES.glob("models/*/model.xml"))[::3] + sorted(FIXTURES.glob("ir/*.xml"))
    words = set()
    for pair in itertools.combinations(files, 2):
        stems = {file.stem for file in pair}
        # Of two arbitrary models only the neighbours are compared, to keep the number small.
        if len(stems) == 2 and files.index(pair[1]) - files.index(pair[0]) > 1:
            continue
        there, back = irloop("check", *pair), irloop("check", *reversed(pair))
        assert said(there) == said(back), (pair, there.output, back.output)
        words.add(said(there))
    assert words == {
        ("equal", 0),
        ("equal where run", 1),
        ("not equal", 1),
        ("inconclusive", 2),
    }


@pytest.mark.parametrize("is_turned", [False, True])
def test_an_engine_that_refuses_a_model_is_named(
    irloop: Irloop, tmp_path: Path, is_turned: bool
) -> None:
    pair = [saved("abs", tmp_path), saved("one_name", tmp_path)]
    made = tmp_path / "made.xml"
    assert irloop("convert", pair[0], "-o", made).exit_code == 0
    order = [made, pair[1]][:: -1 if is_turned else 1]
    result = irloop("check", *order)
    begin = f"equal where run; onnxruntime {ONNXRUNTIME} cannot load one_name.onnx: "
    assert result.stdout.startswith(begin)
    assert "two nodes with same node name" in result.stdout.splitlines()[0]
    assert result.exit_code == 1
    assert irloop("check", *order, "--engines", "numpy,openvino").exit_code == 0
    report = json.loads(irloop("check", *order, "--format", "json").stdout)["check"]
    assert (report["outcome"], report["words"]) == ("equal-where-run", "equal where run")
    (left,) = report["not_run"]
    assert (left["engine"], left["inputs"]) == (f"onnxruntime {ONNXRUNTIME}", "")


def test_a_conversion_of_a_source_that_its_engine_refuses_is_written(
    irloop: Irloop, tmp_path: Path
) -> None:
    source, made = saved("one_name", tmp_path), tmp_path / "made.xml"
    command = ("convert", source, "-o", made, "--check", "--no-validate")
    result = irloop(*command)
    assert result.exit_code == 0, result.output
    assert "equal where run; onnxruntime " in result.stdout
    assert made.exists()
    assert irloop("check", source, made, "--converted").exit_code == 0
    assert irloop("check", made, source, "--converted").exit_code == 1


def test_a_result_that_its_engine_refuses_is_not_written(irloop: Irloop, tmp_path: Path) -> None:
    source, made = saved("squeeze", tmp_path), tmp_path / "made.xml"
    result = irloop("convert", source, "-o", made, "--check")
    assert result.exit_code == 1, result.output
    assert f"equal where run; openvino {OPENVINO} cannot load made.xml: " in result.stdout
    assert not made.exists()


SQUEEZED = """m (float[a,2,4] x) => (r) {
    s = Shape <start = 0, end = 1> (x) one = Constant <value_ints = [1]> () c = Equal (s, one)
    k = Squeeze (c)
    r = If (k) <
        then_branch = t () => (float[2,4] p) {
            ax = Constant <value_ints = [0]> () p = Squeeze (x, ax) },
        else_branch = e () => (float[a,2,4] q) { q = Identity (x) }>
}"""


def test_warnings_that_explain_a_failed_check_are_kept(irloop: Irloop, tmp_path: Path) -> None:
    source = tmp_path / "m.onnx"
    text = '<ir_version: 8, opset_import: ["" : 16]>' + SQUEEZED.replace("(r) {", "(float[] r) {")
    proto = onnx.parser.parse_model(text)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    source.write_bytes(proto.SerializeToString())
    told = irloop("convert", source, "-o", tmp_path / "m.xml")
    assert "CNV101" in told.stdout
    checked = irloop("convert", source, "-o", tmp_path / "n.xml", "--check")
    assert checked.exit_code == 1, checked.output
    assert "CNV101" in checked.stdout
    assert "--shape" in checked.stdout


RAGGED = """m (float[a,b] x, int64[c,d] i, float[e,f] u) => (float[a,b] y) {
    y = ScatterND (x, i, u)
}"""


def test_nothing_is_proved_if_no_engine_ran(irloop: Irloop, tmp_path: Path) -> None:
    """OpenVINO 2026.4 and ONNX Runtime refuse to repeat the updates, as the standard says."""
    source, given = tmp_path / "m.onnx", tmp_path / "in.npz"
    text = '<ir_version: 8, opset_import: ["" : 16]>' + RAGGED
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    np.savez(given, x=np.ones((2, 2), np.float32), i=[[1]], u=np.ones((1, 1), np.float32))
    made = tmp_path / "m.xml"
    run = irloop("run", source, "--inputs", given)
    assert run.exit_code == 1
    assert "updates have the wrong shape" in run.output
    assert irloop("convert", source, "-o", made, "--no-validate").exit_code == 0
    for pair in ((source, made), (made, source)):
        assert said(irloop("check", *pair, "-i", given)) == ("inconclusive", 2)


LONG = """m (float x) => (float y) {
    n = Constant <value_int = 210000> () one = Constant <value_float = 1.0> ()
    y = Loop (n, , x) <body = f (int64 i, bool c, float s) => (bool c, float t) {
        t = Add (s, one)
    }>
}"""


def test_engines_run_loops_at_which_the_executor_stops(irloop: Irloop, tmp_path: Path) -> None:
    source, made = tmp_path / "m.onnx", tmp_path / "m.xml"
    text = '<ir_version: 8, opset_import: ["" : 16]>' + LONG
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    given = tmp_path / "in.npz"
    np.savez(given, x=np.float32(2))
    for engines in ("auto", "onnxruntime,openvino"):
        result = irloop(
            *("convert", source, "-o", made, "--check", "-i", given, "--engines", engines)
        )
        assert result.exit_code == 0, result.output
        assert "equal: 1 of 1 trials ran" in result.stdout
    options = ("--max-iterations", 300_000, "--engines", "numpy", "-i", given)
    assert irloop("check", source, made, *options).exit_code == 0
    assert irloop("check", source, made, "--engines", "numpy", "-i", given).exit_code == 2


def test_a_fixed_dimension_is_not_loosened_silently(irloop: Irloop, tmp_path: Path) -> None:
    source = saved("abs", tmp_path)
    for command in (("convert", source, "-o", tmp_path / "m.xml"), ("run", source)):
        result = irloop(*command, "--shape", "x=?")
        assert result.exit_code == 2
        assert f"irloop transform {source} -o abs-reshaped.onnx" in result.stderr
        assert "set_shape=x=?" in result.stderr


def test_a_difference_without_a_loop_is_not_called_one_of_loops(
    irloop: Irloop, tmp_path: Path
) -> None:
    """The first model returns its input, and the second one more part than the first."""
    pairs = (
        ("float[?] y) { y = Identity (x) }", "float[?] y) { y = Neg (x) }"),
        ("float[?] y) { y = Identity (x) }", "float[?] y) { y = Concat <axis = 0> (x, x) }"),
    )
    for number, pair in enumerate(pairs):
        files = []
        for at, text in enumerate(pair):
            files.append(tmp_path / f"{number}{at}.onnx")
            whole = f'<ir_version: 8, opset_import: ["" : 16]> m (float[2] x) => ({text}'
            files[-1].write_bytes(onnx.parser.parse_model(whole).SerializeToString())
        result = irloop("check", *files)
        assert result.exit_code == 1
        assert "carried state" not in result.stdout
        assert "number of iterations" not in result.stdout
