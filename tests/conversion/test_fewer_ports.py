"""Layers that lack ports for some outputs of their operation, as in files of other tools."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.conversion.both_engines import needs_engines

ACCUMULATOR = """<?xml version="1.0"?>
<net name="sums" version="10"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data element_type="f32" shape="2"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="1" name="start" type="Const" version="opset1">
<data element_type="f32" offset="0" shape="2" size="8"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="2" name="read" type="ReadValue" version="opset6">
<data variable_id="sum" variable_type="f32" variable_shape="2"/>
<input><port id="0"><dim>2</dim></port></input>
<output><port id="1" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="3" name="add" type="Add" version="opset1">
<input><port id="0"><dim>2</dim></port><port id="1"><dim>2</dim></port></input>
<output><port id="2" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="4" name="write" type="Assign" version="opset6">
<data variable_id="sum" variable_type="f32" variable_shape="2"/>
<input><port id="0"><dim>2</dim></port></input></layer>
<layer id="5" name="y" type="Result" version="opset1">
<input><port id="0"><dim>2</dim></port></input></layer>
</layers><edges>
<edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="2" from-port="1" to-layer="3" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="3" to-port="1"/>
<edge from-layer="3" from-port="2" to-layer="4" to-port="0"/>
<edge from-layer="3" from-port="2" to-layer="5" to-port="0"/>
</edges></net>
"""

#: A pyramid with two maps, three scales, and no port for the regions.
PYRAMID = """<?xml version="1.0"?>
<net name="pyramid" version="10"><layers>
<layer id="0" name="rois" type="Parameter" version="opset1"><data element_type="f32" shape="3,4"/>
<output><port id="0" precision="FP32"><dim>3</dim><dim>4</dim></port></output></layer>
<layer id="1" name="a" type="Parameter" version="opset1">
<data element_type="f32" shape="1,2,16,16"/>
<output><port id="0" precision="FP32">
<dim>1</dim><dim>2</dim><dim>16</dim><dim>16</dim></port></output></layer>
<layer id="2" name="b" type="Parameter" version="opset1"><data element_type="f32" shape="1,2,8,8"/>
<output><port id="0" precision="FP32">
<dim>1</dim><dim>2</dim><dim>8</dim><dim>8</dim></port></output></layer>
<layer id="3" name="read" type="ExperimentalDetectronROIFeatureExtractor" version="opset6">
<data aligned="0" output_size="2" pyramid_scales="4,8,16" sampling_ratio="2"/>
<input><port id="0"><dim>3</dim><dim>4</dim></port>
<port id="1"><dim>1</dim><dim>2</dim><dim>16</dim><dim>16</dim></port>
<port id="2"><dim>1</dim><dim>2</dim><dim>8</dim><dim>8</dim></port></input>
<output><port id="3" precision="FP32">
<dim>3</dim><dim>2</dim><dim>2</dim><dim>2</dim></port></output></layer>
<layer id="4" name="y" type="Result" version="opset1">
<input><port id="0"><dim>3</dim><dim>2</dim><dim>2</dim><dim>2</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="3" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="3" to-port="1"/>
<edge from-layer="2" from-port="0" to-layer="3" to-port="2"/>
<edge from-layer="3" from-port="3" to-layer="4" to-port="0"/>
</edges></net>
"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def test_an_assign_without_a_port_keeps_its_state(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(ACCUMULATOR)
    path.with_suffix(".bin").write_bytes(np.array([10, 20], np.float32).tobytes())
    assert [item.code for item in irloop.validate(path).diagnostics] == []
    session = Session(irloop.read_model(path))
    steps = [next(iter(session.run([np.array([1, 2], np.float32)]).values())) for _ in range(3)]
    assert [step.tolist() for step in steps] == [[11, 22], [12, 24], [13, 26]]


@needs_engines
def test_a_pyramid_with_more_scales_than_maps(engines: Engines, tmp_path: Path) -> None:
    path, onnx = tmp_path / "model.xml", tmp_path / "model.onnx"
    path.write_text(PYRAMID)
    path.with_suffix(".bin").write_bytes(b"")
    assert [item.code for item in irloop.validate(path).diagnostics] == []
    irloop.save_model(irloop.convert(path)[0], onnx)
    rng = np.random.default_rng(0)
    rois = np.array([[0, 0, 40, 30], [0, 0, 300, 400], [5, 6, 60, 55]], np.float32)
    maps = [rng.random((1, 2, size, size)).astype(np.float32) for size in (16, 8)]
    inputs = [rois, *maps]
    (expected,) = engines.run("openvino", path, inputs, tmp_path)
    (converted,) = engines.run("onnxruntime", onnx, inputs, tmp_path)
    (own,) = Session(irloop.read_model(path)).run(inputs).values()
    np.testing.assert_allclose(own, expected, 1e-5, 1e-6)
    np.testing.assert_allclose(converted, expected, 1e-5, 1e-6)


#: A pooling of [1, 1, 4, 4] without the port of its indices; {layer} is filled in.
POOLED = """<?xml version="1.0"?>
<net name="pooled" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data element_type="f32" shape="1,1,4,4"/><output><port id="0" precision="FP32">
<dim>1</dim><dim>1</dim><dim>4</dim><dim>4</dim></port></output></layer>
<layer id="1" name="sizes" type="Const" version="opset1">
<data element_type="i64" offset="0" shape="2" size="16"/>
<output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
{layer}
<output><port id="2" precision="FP32">
<dim>1</dim><dim>1</dim><dim>2</dim><dim>2</dim></port></output></layer>
<layer id="3" name="y" type="Result" version="opset1"><input><port id="0">
<dim>1</dim><dim>1</dim><dim>2</dim><dim>2</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
{edge}
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
</edges></net>
"""
_DATA = '<port id="0"><dim>1</dim><dim>1</dim><dim>4</dim><dim>4</dim></port>'
MAX_POOL = f"""<layer id="2" name="pool" type="MaxPool" version="opset8">
<data kernel="2,2" strides="2,2" dilations="1,1" pads_begin="0,0" pads_end="0,0" axis="0"
rounding_type="floor" auto_pad="explicit" index_element_type="i64"/><input>{_DATA}</input>"""
ADAPTIVE = f"""<layer id="2" name="pool" type="AdaptiveMaxPool" version="opset8">
<data index_element_type="i32"/><input>{_DATA}<port id="1"><dim>2</dim></port></input>"""
SIZES = '<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>'


@needs_engines
@pytest.mark.parametrize("target", [None, "openvino-2021.4"])
@pytest.mark.parametrize(("layer", "edge"), [(MAX_POOL, ""), (ADAPTIVE, SIZES)])
def test_poolings_without_the_port_of_their_indices(
    engines: Engines, tmp_path: Path, layer: str, edge: str, target: str | None
) -> None:
    path = tmp_path / "model.xml"
    path.write_text(POOLED.format(layer=layer, edge=edge))
    path.with_suffix(".bin").write_bytes(np.array([2, 2], np.int64).tobytes())
    x = np.array([[[[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8], [9, 7, 9, 3]]]], np.float32)
    largest = [[[[9, 6], [9, 9]]]]
    (found,) = engines.run("openvino", path, [x], tmp_path)
    assert found.tolist() == largest
    made = tmp_path / ("made.xml" if target else "made.onnx")
    irloop.save_model(irloop.convert(path, target=target)[0], made)
    (found,) = engines.run("openvino" if target else "onnxruntime", made, [x], tmp_path)
    assert found.tolist() == largest
