"""The catalogue of faults is complete, the patterns are found, and the engines have the faults."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino
import pytest

import irloop
from docs.generate.faults import pages
from irloop.building.ir_model import IrModel
from irloop.conformance.catalogue import CASES
from irloop.conformance.suite import Verdict, write_case
from irloop.conversion.convert_model import fault_notes
from irloop.dialects.openvino.activation import LogSoftmax, ReLU, SoftMax1, SoftMax8
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Divide, Exp, Maximum, Negative, Subtract
from irloop.dialects.openvino.shape import Transpose
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.faults.catalogue import ENGINES, faults, faults_of, find_faults
from irloop.faults.fault import SECTIONS, Fault
from irloop.graph.loops import Invariant, PortMap
from irloop.graph.model import Model
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from irloop.passes.common import LIBRARY
from irloop.validation.rule import RULES

I64, F32, BOOLEAN, U8 = ElementType.I64, ElementType.F32, ElementType.BOOLEAN, ElementType.U8
CASE = {case.name: case for case in CASES}


def found(model: Model, engine: str = "openvino") -> set[str]:
    irloop.infer(model)
    return {match.fault.code for match in find_faults(model.graph, engine)}


def constant_loop() -> Model:
    m = IrModel()
    loop = m.loop(m.constant(3, I64))
    state = loop.state(m.constant([1, 2]))
    loop.carry(state, loop(Add(), state, state))
    loop.last(state)
    return m.done(*loop.done())


def backwards() -> Model:
    m = IrModel()
    loop = m.loop(m.constant(2, I64))
    loop.invariant(m.input("u", 1))
    loop.joined(loop(Negative(), loop.slice(m.input("x", 2, 1), 0, -1, 0, -1)), 0)
    return m.done(*loop.done())


def count_enters() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 1)
    loop = m.loop(n)
    state = loop.state(x)
    count = loop(Convert(F32), loop.invariant(n))
    loop.carry(state, loop(Add(), state, count))
    loop.last(state)
    model = m.done(*loop.done())
    (node,) = [item for item in model.graph.nodes if item.bodies]
    body = node.body()
    ports = tuple(
        replace(port, external=0) if isinstance(port, Invariant) else port
        for port in body.ports.inputs
    )
    changed = PortMap(ports, body.ports.outputs, body.ports.iteration, body.ports.condition)
    Rewriter(model.graph).set_bodies(node, (replace(body, ports=changed),))
    return model


def boolean_output() -> Model:
    m = IrModel()
    x, flag = m.input("x", 1), m.input("flag", element=BOOLEAN)
    loop = m.loop(m.constant(2, I64))
    state, kept = loop.state(x), loop.state(flag)
    loop.carry(state, loop(Add(), state, state))
    loop.carry(kept, loop(Convert(BOOLEAN), kept))
    loop.last_of(state)
    loop.last_of(kept)
    first, second = loop.done()
    return m.done(first, second, m(Convert(BOOLEAN), second))


def divided(element: ElementType) -> Model:
    m = IrModel()
    x, y = m.input("x", 2, element=element), m.input("y", 2, element=element)
    return m.done(m(Divide(), x, y))


def subtracted() -> Model:
    m = IrModel()
    x, y = m.input("x", 2, element=U8), m.input("y", 2, element=U8)
    return m.done(m(Subtract(), x, y))


def four_bits() -> Model:
    m = IrModel()
    return m.done(m(Convert(F32), m.constant([1, 2], ElementType.U4)))


def plain() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.loop(m.constant(3, I64))
    state = loop.state(x)
    double = loop(Add(), state, loop(SoftMax1(axis=1), state))
    loop.carry(state, double)
    loop.last(double)
    loop.joined(loop(Concat(0), double), 0)
    return m.done(*loop.done())


PATTERNS = [
    ("OVN115", constant_loop, "openvino"),
    ("OVN116", lambda: divided(I64), "openvino"),
    ("OVN117", backwards, "openvino"),
    ("OVN118", count_enters, "openvino"),
    ("OVN120", boolean_output, "openvino"),
    ("OVN203", four_bits, "openvino-2021.4"),
    ("OVN204", subtracted, "openvino-2021.4"),
]


@pytest.mark.parametrize(("code", "build", "engine"), PATTERNS, ids=lambda item: str(item)[:24])
def test_patterns_are_found(code: str, build: object, engine: str) -> None:
    assert callable(build)
    assert code in found(build(), engine)


@pytest.mark.parametrize("softmax", [SoftMax1(0), SoftMax8(0), LogSoftmax(0)])
@pytest.mark.parametrize("exp", [Exp(), ReLU()])
def test_a_nan_in_a_body_is_found(softmax: Op, exp: Op) -> None:
    m = IrModel()
    allowed, x = m.input("allowed", 2, element=BOOLEAN), m.input("x", 2)
    loop = m.loop(m.constant(3, I64))
    state = loop.state(x)
    masked = loop(Select(), loop.invariant(allowed), state, m.constant([float("-inf")] * 2, F32))
    loop.carry(state, loop(exp, loop(softmax, masked)))
    loop.last(state)
    assert "OVN147" in found(m.done(*loop.done()))


@pytest.mark.parametrize("softmax", ["Softmax", "LogSoftmax"])
def test_conversion_keeps_a_nan(softmax: str, tmp_path: Path) -> None:
    """The outputs are NaN in the same places as those of ONNX Runtime, in several inferences."""
    text = f"""
    <ir_version: 8, opset_import: ["" : 16]>
    m (bool[3] allowed, float[3] x) => (float[3] y) {{
       low = Constant <value = float {{-inf}}> ()
       kept = Where (allowed, x, low)
       soft = {softmax} (kept)
       y = Relu (soft)
    }}
    """
    model = onnx.parser.parse_model(text.replace("{-inf}", "{-1.0}"))
    model.graph.node[0].attribute[0].t.float_data[:] = [float("-inf")]
    source, target = tmp_path / "m.onnx", tmp_path / "m.xml"
    onnx.save(model, source)
    converted, _ = irloop.convert(source, "openvino")
    irloop.save_model(converted, target)
    compiled = openvino.Core().compile_model(target, "CPU")
    ort: Any = onnxruntime
    peer = ort.InferenceSession(str(source), providers=["CPUExecutionProvider"])
    x = np.array([1, 2, 3], np.float32)
    for allowed in ([False] * 3, [True, False, True], [False] * 3):
        given = {"allowed": np.array(allowed), "x": x}
        (wanted,) = peer.run(None, given)
        np.testing.assert_allclose(compiled(given)[0], wanted, rtol=1e-5)
        assert np.isnan(wanted).any() != any(allowed)


def between_quantised_data(*lines: str) -> onnx.ModelProto:
    """A product of 8-bit data and f32 weights, which is quantised to 8 bits."""
    body = "\n".join(lines)
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    m (uint8[2, 2] x, float[2, 2] other) => (uint8[a, b] y)
    <float s = {{0.1}}, float[2] ss = {{0.1, 0.2}}, uint8 z = {{0}}, uint8[2] zz = {{0, 0}},
     float[2, 2] w = {{0.4, 127.0, 1.0, 2.0}}, float[2] b = {{1.0, 2.0}},
     int8[2, 2] q = {{1, 2, 3, 4}}, float low = {{0.0}}> {{
       {body}
       y = QuantizeLinear (h, s, z)
    }}"""
    return onnx.parser.parse_model(text)


def effect_of_the_optimiser(model: onnx.ModelProto) -> int:
    """The largest difference between the results of ONNX Runtime with and without optimisation."""
    ort: Any = onnxruntime
    given = {
        "x": np.array([[10, 0], [100, 3]], np.uint8),
        "other": np.array([[1, 2], [3, 4]], np.float32),
    }
    results = []
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
        options = ort.SessionOptions()
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        session = ort.InferenceSession(model.SerializeToString(), options)
        used = {item.name: given[item.name] for item in session.get_inputs()}
        results.append(session.run(None, used)[0].astype(int))
    return int(np.abs(results[0] - results[1]).max())


DEQUANTISED = "d = DequantizeLinear (x, s, z)"


@pytest.mark.parametrize(
    "lines",
    [
        ("h = Gemm (d, w)",),
        ("h = Gemm (d, w, b)",),
        ("g = Gemm (d, w)", "h = Relu (g)"),
        ("g = Gemm (d, w)", "c = Clip (g, low)", "h = Relu (c)"),
    ],
)
def test_float_weights_between_quantised_data_are_found(
    lines: tuple[str, ...], tmp_path: Path
) -> None:
    model = between_quantised_data(DEQUANTISED, *lines)
    assert effect_of_the_optimiser(model) > 1
    onnx.save(model, tmp_path / "m.onnx")
    assert found(irloop.read_model(tmp_path / "m.onnx"), "onnxruntime") == {"ORT119"}


@pytest.mark.parametrize(
    "lines",
    [
        (DEQUANTISED, "h = MatMul (d, w)"),
        (DEQUANTISED, "h = Gemm (d, other)"),
        (DEQUANTISED, "h = Gemm (d, w, other)"),
        (DEQUANTISED, "g = Gemm (d, w)", "h = Tanh (g)"),
        (DEQUANTISED, "g = Gemm (d, w)", "t = Tanh (g)", "h = Relu (g)"),
        (DEQUANTISED, "p = DequantizeLinear (q, s)", "h = Gemm (d, p)"),
        ("d = DequantizeLinear (x, ss, zz)", "h = Gemm (d, w)"),
        (DEQUANTISED, "e = Max (d, d)", "h = Gemm (e, w)"),
    ],
)
def test_weights_that_are_not_quantised_have_no_fault(
    lines: tuple[str, ...], tmp_path: Path
) -> None:
    model = between_quantised_data(*lines)
    assert effect_of_the_optimiser(model) <= 1
    onnx.save(model, tmp_path / "m.onnx")
    assert found(irloop.read_model(tmp_path / "m.onnx"), "onnxruntime") == set()


def counted(*after: Op) -> Model:
    """A Loop of n iterations; operations read its concatenated output, and a Slice cuts the
    result.
    """
    m = IrModel()
    n, x, end = m.input("n", element=I64), m.input("x", 1, 2), m.input("end", 1, element=I64)
    loop = m.loop(n)
    state = loop.state(x)
    total = loop(Add(), state, state)
    loop.carry(state, total)
    loop.joined(total, 0)
    (value,) = loop.done()
    for op in after:
        order = [m.constant([1, 0], I64)] if isinstance(op, Transpose) else [value]
        value = m(op, value, *order)
    zero, one = m.constant([0], I64), m.constant([1], I64)
    return m.done(m(Slice(), value, zero, end, one, zero))


@pytest.mark.parametrize("after", [[], [Transpose()], [Maximum()], [Maximum(), Transpose()]])
def test_a_slice_of_a_joined_output_is_found_behind_copies_and_transposes(after: list[Op]) -> None:
    """OVN113 cannot occur if a Slice cuts the joined output, but it can if an Add reads it first.

    `Maximum` of a value with itself is the copy that conversion inserts.
    """
    assert "OVN113" not in found(counted(*after))
    assert "OVN113" in found(counted(*after, Add()))


def test_models_without_patterns() -> None:
    assert found(plain()) == set()
    assert found(divided(F32)) == set()


@pytest.mark.parametrize("fault", faults().values(), ids=lambda item: item.code)
def test_every_fault_is_complete(fault: type[Fault]) -> None:
    doc = cleandoc(fault.__doc__ or "")
    for section in SECTIONS:
        assert f"\n{section}:\n" in doc
    assert fault.engine in ENGINES
    assert fault.measured
    assert fault.code.startswith({"onnxruntime": "ORT", "openvino": "OVN"}[fault.engine])
    assert fault.smallest in CASES
    if fault.rule:
        irloop.rules()
        assert fault.rule in RULES
    assert fault.code in irloop.explain(fault.code)
    assert set(fault.passes) <= set(LIBRARY)
    assert fault.fix


ALL = pytest.mark.parametrize("fault", faults().values(), ids=lambda item: item.code)

#: Patterns that only files can have, since a model in memory has names and types, and no version.
IN_FILES = {"ORT103", "ORT104", "ORT105", "ORT106", "ORT120", "OVN119"}


@ALL
def test_the_pattern_is_found_in_the_minimal_model(fault: type[Fault], tmp_path: Path) -> None:
    """The pattern is found by the rule in every validation, or by naming the engine."""
    _, path = write_case(fault.smallest, tmp_path)
    engine = f"{fault.engine}-{fault.measured[-1]}"
    codes = {item.code for item in irloop.validate(path, engines=[engine]).diagnostics}
    assert len({fault.rule, fault.code} & codes) == 1
    assert fault.code not in {item.code for item in irloop.validate(path).diagnostics}


@ALL
def test_the_pattern_is_found_only_in_operations_that_the_fault_names(
    fault: type[Fault], tmp_path: Path
) -> None:
    model, _ = write_case(fault.smallest, tmp_path)
    with suppress(irloop.InferenceError):
        irloop.infer(model)
    others = [node for node in all_nodes(model.graph) if not isinstance(node.op, fault.operations)]
    assert not [text for node in others for text in fault().find(node)]


@ALL
def test_conversion_reports_a_pattern_that_it_does_not_remove(
    fault: type[Fault], tmp_path: Path
) -> None:
    model, _ = write_case(fault.smallest, tmp_path)
    with suppress(irloop.InferenceError):
        irloop.infer(model)
    notes = fault_notes(model, f"{fault.engine}-{fault.measured[-1]}")
    told = any(f"({fault.code})" in note.message for note in notes)
    assert told == (fault.code not in IN_FILES and fault.concerns_conversion)


@ALL
def test_what_conversion_writes_does_not_have_the_pattern(
    fault: type[Fault], tmp_path: Path
) -> None:
    """The passes that a fault names remove the pattern from the fault's minimal model."""
    if not fault.passes:
        pytest.skip(f"{fault.code} is avoided by conversion itself, or reported")
    model, _ = write_case(fault.smallest, tmp_path)
    changed, _ = irloop.transform(model, fault.passes)
    irloop.infer(changed)
    engine = f"{fault.engine}-{fault.measured[-1]}"
    assert fault.code not in found(changed, engine)


@ALL
def test_the_documentation_has_a_page_with_a_picture(fault: type[Fault]) -> None:
    page = pages()[f"hazards/{fault.code.lower()}.md"]
    assert "<svg" in page
    assert f"irloop conformance {fault.engine} --case {fault.smallest.name}" in page


@ALL
def test_the_engine_has_the_fault(fault: type[Fault]) -> None:
    """The case shows the fault; a refused model shows it only for faults with that effect.

    A result that is uninitialised memory may be right by chance, so there are several attempts.
    """
    installed = version(fault.engine)
    if installed not in fault.measured:
        pytest.skip(f"measured in {fault.engine} {fault.measured}, not in {installed}")
    assert not fault.minimal or any(_shows(fault) for _ in range(5))


def _shows(fault: type[Fault]) -> bool:
    (outcome,) = irloop.conform(fault.engine, cases=[fault.smallest.name], seconds=10).outcomes
    if outcome.case.may_be_refused and outcome.verdict is Verdict.RIGHT:
        return bool(outcome.detail)
    return outcome.verdict is Verdict.CRASHED or (
        outcome.verdict is not Verdict.RIGHT and not outcome.case.may_be_refused
    )


def test_versions() -> None:
    old = {item.code for item in faults_of("openvino-2021.4")}
    new = {item.code for item in faults_of("openvino")}
    assert "OVN205" in old - new
    assert "OVN170" in new - old
    assert "OVN101" in old & new
    with pytest.raises(irloop.UsageError, match="was not measured"):
        faults_of("openvino-1999.1")
    with pytest.raises(irloop.UsageError, match="no engine"):
        faults_of("tensorrt")


def validate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irloop", "validate", *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )


def test_validate_warns_only_on_request(tmp_path: Path) -> None:
    _, path = write_case(CASE["openvino_loop_softmax_of_an_invariant"], tmp_path)
    assert "OVN103" not in validate(str(path)).stdout
    told = validate(str(path), "--engine", "openvino")
    assert told.returncode == 0
    assert "warning OVN103" in told.stdout
    assert "OVN103" not in validate(str(path), "--engine", "openvino", "--ignore", "OVN103").stdout


def test_validate_refuses_engines_that_it_does_not_know(tmp_path: Path) -> None:
    """The name of the engine is checked before the file is read."""
    path = tmp_path / "broken.xml"
    path.write_text("<net")
    told = validate(str(path), "--engine", "tensorrt")
    assert told.returncode == 2
    assert "no engine 'tensorrt'" in told.stderr
    assert "onnxruntime, openvino" in told.stderr
    assert (
        "openvino 1999.1 was not measured"
        in validate(str(path), "--engine", "openvino-1999.1").stderr
    )


def test_validate_reports_faults_in_an_ir_with_errors(tmp_path: Path) -> None:
    _, path = write_case(CASE["openvino_loop_softmax_of_an_invariant"], tmp_path)
    text = path.read_text()
    path.write_text(text.replace('axis="1"', 'axis="7"'))
    assert 'axis="7"' in path.read_text()
    told = validate(str(path), "--engine", "openvino")
    assert told.returncode == 1
    assert "warning OVN103" in told.stdout
    path.write_text(text.replace('from-port="0"', 'from-port="99"', 1))
    assert 'from-port="99"' in path.read_text()
    told = validate(str(path), "--engine", "openvino")
    assert told.returncode == 1
    assert "HAZ001" in told.stdout


def test_conversion_reports_faults_that_it_cannot_avoid() -> None:
    model = backwards()
    irloop.infer(model)
    (note,) = fault_notes(model, None)
    assert note.code == "CNV109"
    assert "OVN117" in note.message


def test_conversion_reports_no_fault_if_irloop_computes_the_same_as_the_engine() -> None:
    model = divided(I64)
    irloop.infer(model)
    assert fault_notes(model, None) == []


def test_conversion_avoids_faults(tmp_path: Path) -> None:
    model, _ = write_case(CASE["loop_softmax_of_an_outer_value"], tmp_path)
    assert [note.code for note in irloop.convert(model)[1]] == []
