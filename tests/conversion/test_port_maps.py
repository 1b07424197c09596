"""Port maps with negative axes, and slices of a part of an axis.

TensorIterator-1 and Loop-5 allow any integer for both. The expected numbers are computed with
NumPy. OpenVINO runs the IR that irloop writes for such a model, and ONNX Runtime runs the converted
model. Engines run each model twice, with two sets of inputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import irloop
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process

Array = np.ndarray[Any, np.dtype[Any]]

BODY = """<body><layers>
<layer id="0" name="part" type="Parameter" version="opset1">
 <data shape="{part}" element_type="f32"/><output><port id="0" precision="FP32">{p}</port></output>
</layer>
<layer id="1" name="state" type="Parameter" version="opset1">
 <data shape="{part}" element_type="f32"/><output><port id="0" precision="FP32">{p}</port></output>
</layer>
<layer id="2" name="sum" type="Add" version="opset1">
 <input><port id="0">{p}</port><port id="1">{p}</port></input>
 <output><port id="2" precision="FP32">{p}</port></output>
</layer>
<layer id="3" name="carried" type="Result" version="opset1"><input><port id="0">{p}</port></input>
</layer>
<layer id="4" name="joined" type="Result" version="opset1"><input><port id="0">{p}</port></input>
</layer>
<layer id="5" name="go" type="Const" version="opset1">
 <data element_type="boolean" shape="" offset="8" size="1"/>
 <output><port id="0" precision="BOOL"/></output>
</layer>
<layer id="6" name="goes_on" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
<edge from-layer="2" from-port="2" to-layer="4" to-port="0"/>
<edge from-layer="5" from-port="0" to-layer="6" to-port="0"/>
</edges></body>"""


def dims(*sizes: int) -> str:
    return "".join(f"<dim>{size}</dim>" for size in sizes)


def written(folder: Path, kind: str, *, axis: int, joined: int, step: int) -> Path:
    """A loop that computes running sums of the slices of x [2,3,4] along `axis`, and concatenates
    them along `joined`.

    Output 0 returns the last sum.
    """
    part = [2, 3, 4]
    part[axis] = 1
    count = 12 // 3 if axis % 3 == 2 else [2, 3][axis % 3]
    whole = list(part)
    whole[joined] *= count
    first = 2 if kind == "Loop" else 0
    bounds = 'start="0" end="-1"' if step > 0 else 'start="-1" end="0"'
    sliced = f'axis="{axis}" {bounds} stride="{step}" part_size="1"'
    length = part[joined]
    concatenated = f'axis="{joined}" {bounds} stride="{step * length}" part_size="{length}"'
    head = """<layer id="8" name="trip" type="Const" version="opset1">
     <data element_type="i64" shape="" offset="0" size="8"/>
     <output><port id="0" precision="I64"/></output></layer>
    <layer id="9" name="start" type="Const" version="opset1">
     <data element_type="boolean" shape="" offset="8" size="1"/>
     <output><port id="0" precision="BOOL"/></output></layer>"""
    extra = '<output external_port_id="-1" internal_layer_id="6" purpose="execution_condition"/>'
    loop = kind == "Loop"
    ports = "".join(f'<port id="{at}"/>' for at in range(first))
    text = f"""<net name="m" version="11"><layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
     <data shape="2,3,4" element_type="f32"/>
     <output><port id="0" precision="FP32">{dims(2, 3, 4)}</port></output></layer>
    <layer id="1" name="s" type="Parameter" version="opset1">
     <data shape="{",".join(map(str, part))}" element_type="f32"/>
     <output><port id="0" precision="FP32">{dims(*part)}</port></output></layer>
    {head if loop else ""}
    <layer id="2" name="loop" type="{kind}" version="opset{5 if loop else 1}">
     <input>{ports}<port id="{first}">{dims(2, 3, 4)}</port>
      <port id="{first + 1}">{dims(*part)}</port></input>
     <output><port id="{first + 2}" precision="FP32">{dims(*part)}</port>
      <port id="{first + 3}" precision="FP32">{dims(*whole)}</port></output>
     <port_map>
      <input external_port_id="{first}" internal_layer_id="0" {sliced}/>
      <input external_port_id="{first + 1}" internal_layer_id="1"/>
      <output external_port_id="{first + 2}" internal_layer_id="3"/>
      <output external_port_id="{first + 3}" internal_layer_id="4" {concatenated}/>
      {extra if loop else ""}
     </port_map>
     <back_edges><edge from-layer="3" to-layer="1"/></back_edges>
     {BODY.format(part=",".join(map(str, part)), p=dims(*part))}
    </layer>
    <layer id="3" name="last" type="Result" version="opset1">
     <input><port id="0">{dims(*part)}</port></input></layer>
    <layer id="4" name="all" type="Result" version="opset1">
     <input><port id="0">{dims(*whole)}</port></input></layer>
    </layers><edges>
    {'<edge from-layer="8" from-port="0" to-layer="2" to-port="0"/>' if loop else ""}
    {'<edge from-layer="9" from-port="0" to-layer="2" to-port="1"/>' if loop else ""}
    <edge from-layer="0" from-port="0" to-layer="2" to-port="{first}"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="{first + 1}"/>
    <edge from-layer="2" from-port="{first + 2}" to-layer="3" to-port="0"/>
    <edge from-layer="2" from-port="{first + 3}" to-layer="4" to-port="0"/>
    </edges></net>"""
    path = folder / "model.xml"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(np.int64(count).tobytes() + b"\1")
    return path


def worked_out(x: Array, s: Array, *, axis: int, joined: int, step: int) -> list[Array]:
    """The last sum and the concatenated sums, computed with NumPy."""
    parts, sums = np.split(x, x.shape[axis], axis), []
    for part in parts[::step]:
        s = s + part
        sums.append(s)
    return [s, np.concatenate(sums[::step], joined)]


def inputs(axis: int, seed: int) -> list[Array]:
    draw = np.random.default_rng(seed)
    part = [2, 3, 4]
    part[axis] = 1
    return [draw.integers(-9, 9, shape).astype(np.float32) for shape in ([2, 3, 4], part)]


def check(found: list[Array], expected: list[Array]) -> None:
    for got, want in zip(found, expected, strict=True):
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)


CASES = [(-1, -2, 1), (-2, -3, -1), (1, -1, 1)]
#: These passes need options, or change the inputs and outputs of the model.
NOT_FOR_THIS = {"fix_input", "set_shape", "low_latency", "stateful_to_stateless"}
KINDS = ["Loop", "TensorIterator"]
Drawn = tuple[list[list[Array]], list[list[Array]]]


def drawn(axis: int, joined: int, step: int) -> Drawn:
    """Two sets of inputs, and the expected outputs for each."""
    given = [inputs(axis, seed) for seed in (1, 2)]
    return given, [worked_out(*item, axis=axis, joined=joined, step=step) for item in given]


def check_engine(engine: str, path: Path, both: Drawn) -> None:
    with Process(engine_of(engine), path) as process:
        for item, want in zip(*both, strict=True):
            answer = process.run(item, seconds=60)
            assert answer.outputs is not None, str(answer)
            check(answer.outputs, want)


def check_session(model: irloop.Model, both: Drawn) -> None:
    session = irloop.Session(model)
    for item, want in zip(*both, strict=True):
        check(list(session.run(item).values()), want)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("axis", "joined", "step"), CASES)
def test_is_read_run_and_written(
    kind: str, axis: int, joined: int, step: int, tmp_path: Path
) -> None:
    path = written(tmp_path, kind, axis=axis, joined=joined, step=step)
    both = drawn(axis, joined, step)
    # A TensorIterator needs no condition, so nothing reads its Result (IRL514).
    assert {item.code for item in irloop.validate(path)} - {"IRL514"} == {"IRL623"}
    model = irloop.read_model(path)
    check_session(model, both)
    again = tmp_path / "again.xml"
    irloop.save_model(model, again)
    assert 'axis="-' not in again.read_text(encoding="utf-8")
    check_engine("openvino", again, both)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loops", ["loop", "scan"])
@pytest.mark.parametrize(("axis", "joined", "step"), CASES)
def test_onnx_runtime_runs_the_converted_loop(
    kind: str, loops: Literal["loop", "scan"], axis: int, joined: int, step: int, tmp_path: Path
) -> None:
    path = written(tmp_path, kind, axis=axis, joined=joined, step=step)
    model, _ = irloop.convert(path, loops=loops)
    made = tmp_path / "made.onnx"
    irloop.save_model(model, made)
    check_engine("onnxruntime", made, drawn(axis, joined, step))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("axis", "joined", "step"), CASES)
def test_every_pass_keeps_the_numbers(
    kind: str, axis: int, joined: int, step: int, tmp_path: Path
) -> None:
    path = written(tmp_path, kind, axis=axis, joined=joined, step=step)
    both = drawn(axis, joined, step)
    changed = set()
    for info in irloop.transformations():
        if "openvino" not in info.dialects or info.name in NOT_FOR_THIS:
            continue
        model, profile = irloop.transform(path, [info.name])
        changed |= {record.name for record in profile.records if record.modified}
        check_session(model, both)
    assert "canonical_ports" in changed


RANGES = [(-3, -1, [2, 3]), (1, -1, [1, 2, 3]), (1, 3, [1, 2]), (-5, -2, [0, 1, 2])]


@pytest.mark.parametrize("loops", ["loop", "scan"])
@pytest.mark.parametrize(("start", "end", "parts"), RANGES)
def test_a_tensor_iterator_runs_over_its_range(
    start: int, end: int, parts: list[int], loops: Literal["loop", "scan"], tmp_path: Path
) -> None:
    path = written(tmp_path, "TensorIterator", axis=2, joined=2, step=1)
    both = partial(path, start, end, parts)
    assert not irloop.validate(path).has_errors
    check_session(irloop.read_model(path), both)
    made = tmp_path / "made.onnx"
    irloop.save_model(irloop.convert(path, loops=loops)[0], made)
    check_engine("onnxruntime", made, both)


@pytest.mark.parametrize(("start", "end", "parts"), RANGES)
def test_a_loop_ignores_the_range_of_a_slice(
    start: int, end: int, parts: list[int], tmp_path: Path
) -> None:
    path = written(tmp_path, "Loop", axis=2, joined=2, step=1)
    path.with_suffix(".bin").write_bytes(np.int64(len(parts)).tobytes() + b"\1")
    both = partial(path, start, end, list(range(len(parts))))
    check_session(irloop.read_model(path), both)
    check_engine("openvino", path, both)
    made = tmp_path / "made.onnx"
    irloop.save_model(irloop.convert(path)[0], made)
    check_engine("onnxruntime", made, both)


def partial(path: Path, start: int, end: int, parts: list[int]) -> Drawn:
    """A model that slices only `start` to `end`; also inputs, and the sums of these `parts` of axis
    2.
    """
    text = path.read_text(encoding="utf-8")
    whole = 'axis="2" start="0" end="-1"'
    assert text.count(whole) == 2
    path.write_text(text.replace(whole, f'axis="2" start="{start}" end="{end}"', 1), "utf-8")
    given = [inputs(2, seed) for seed in (1, 2)]
    sums = [s + np.cumsum(x[..., parts], axis=2) for x, s in given]
    return given, [[total[..., -1:], total] for total in sums]
