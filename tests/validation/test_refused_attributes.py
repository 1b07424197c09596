"""Attributes that OpenVINO rejects although they have the specified types.

OpenVINO 2026.4 was measured with every case: it refused to read or compile the model, or crashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from irloop.diagnostics import Severity
from irloop.validation.engine import validate


def _port(number: int, shape: tuple[int, ...], precision: str = "FP32") -> str:
    dims = "".join(f"<dim>{size}</dim>" for size in shape)
    return f'<port id="{number}" precision="{precision}">{dims}</port>'


def _model(
    kind: str, opset: int, data: str, inputs: Sequence[tuple[int, ...]], output: tuple[int, ...]
) -> str:
    """An IR with one operation on f32 Parameters; a Result reads its first output."""
    layers, edges = [], []
    for at, shape in enumerate(inputs):
        text = ",".join(map(str, shape))
        layers.append(
            f'<layer id="{at}" name="in{at}" type="Parameter" version="opset1">'
            f'<data shape="{text}" element_type="f32"/><output>{_port(0, shape)}</output></layer>'
        )
        edges.append(f'<edge from-layer="{at}" from-port="0" to-layer="10" to-port="{at}"/>')
    count = len(inputs)
    ports = "".join(_port(at, shape) for at, shape in enumerate(inputs))
    layers.append(
        f'<layer id="10" name="op" type="{kind}" version="opset{opset}"><data {data}/>'
        f"<input>{ports}</input><output>{_port(count, output)}</output></layer>"
        f'<layer id="11" name="out" type="Result" version="opset1">'
        f"<input>{_port(0, output)}</input></layer>"
    )
    edges.append(f'<edge from-layer="10" from-port="{count}" to-layer="11" to-port="0"/>')
    return (
        f'<net name="one" version="11"><layers>{"".join(layers)}</layers>'
        f"<edges>{''.join(edges)}</edges></net>"
    )


POOL = 'kernel="2" pads_begin="0" pads_end="0" rounding_type="floor" auto_pad="explicit"'
AVERAGE = f'strides="1" exclude-pad="true" {POOL}'
ROI = 'pooled_h="2" pooled_w="2" method="max" spatial_scale="1" output_roi="2, 2"'
PSROI = 'output_dim="2" group_size="2" spatial_scale="1" mode="average"'
NORM = 'epsilon="0.1"'
BATCH = [(4, 3), (3,), (3,), (3,), (3,)]
IMAGE, PICTURE, ROIS = (1, 2, 8), (1, 8, 6, 6), (3, 5)
#: The operation, its opset, data and shapes; the text to replace, its replacement, and the code of
#: the error.
Case = tuple[str, int, str, Sequence[tuple[int, ...]], tuple[int, ...], str, str, str]
CASES: dict[str, Case] = {
    "stride": ("AvgPool", 1, AVERAGE, [IMAGE], (1, 2, 7), 'strides="1"', 'strides=""', "IRL115"),
    "space that is not ASCII": (
        *("AvgPool", 1, AVERAGE, [IMAGE], (1, 2, 7)),
        *('strides="1"', 'strides="\u00a01"', "IRL115"),
    ),
    "padding": (
        *("AvgPool", 1, AVERAGE, [IMAGE], (1, 2, 7)),
        *('pads_begin="0"', 'pads_begin="2"', "IRL404"),
    ),
    "negative padding": (
        *("AvgPool", 1, AVERAGE, [IMAGE], (1, 2, 7)),
        *('pads_begin="0"', 'pads_begin="-1"', "IRL405"),
    ),
    "epsilon": (
        *("BatchNormInference", 5, NORM, BATCH, (4, 3)),
        *('"0.1"', '"-1"', "IRL115"),
    ),
    "rows": (
        *("ROIPooling", 2, ROI, [PICTURE, ROIS], (3, 8, 2, 2)),
        *('pooled_h="2"', 'pooled_h="0"', "IRL115"),
    ),
    "output_roi": (
        *("ROIPooling", 2, ROI, [PICTURE, ROIS], (3, 8, 2, 2)),
        *('"2, 2"', '"2"', "IRL115"),
    ),
    "scale": (
        *("ROIPooling", 2, ROI, [PICTURE, ROIS], (3, 8, 2, 2)),
        *('scale="1"', 'scale="0"', "IRL405"),
    ),
    "channels": (
        *("PSROIPooling", 1, PSROI, [PICTURE, ROIS], (3, 2, 2, 2)),
        *('group_size="2"', 'group_size="1"', "IRL404"),
    ),
    "indices": (
        *("NonZero", 3, 'output_type="i64"', [(2, 3)], (2, 6)),
        *("i64", "f32", "IRL115"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_models_that_openvino_refuses_have_an_error(name: str, tmp_path: Path) -> None:
    kind, opset, data, inputs, output, good, bad, code = CASES[name]
    path = tmp_path / "model.xml"

    def errors(text: str) -> set[str]:
        path.write_text(_model(kind, opset, text, inputs, output), encoding="utf-8")
        path.with_suffix(".bin").touch()
        return {item.code for item in validate(path) if item.severity is Severity.ERROR}

    assert good in data
    assert not errors(data) - {"IRL402"}
    assert code in errors(data.replace(good, bad))
