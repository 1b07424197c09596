"""`validate` finds the errors for which ONNX Runtime rejects a model (from
`benchmarks/gate.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx.parser
import pytest

import irloop

ort = pytest.importorskip("onnxruntime")

HEAD = '<ir_version: 10, opset_import: ["" : {}]> g '
RESIZE = "(float[1,1,4,4] x, int64{}) => (float[a,b,c,d] y) {{ y = Resize <{}> (x, , , n) }}"
CAUSAL = (
    "(float[2,4,8] x, float[{}] w, float[{}] b, float[{}] p) => (float[2,4,8] y, float[2,4,3] s)"
    " {{ y, s = CausalConvWithState (x, w, b, p) }}"
)
LINEAR = (
    "(float[2,4,32] q, float[{}] k, float[{}] v, float[{}] f)"
    " => (float[2,4,32] y, float[2,4,8,8] s) {{ y, s = LinearAttention"
    ' <kv_num_heads = 4, q_num_heads = 4, update_rule = "delta"> (q, k, v, , , f) }}'
)
REFUSED = {
    "fewer sizes than axes": (19, RESIZE.format("[2] n", 'mode = "linear"')),
    "sizes that are not a list": (19, RESIZE.format("[2,2] n", 'mode = "linear"')),
    "an axis that is not there": (19, RESIZE.format("[2] n", "axes = [2, 4]")),
    "unknown coordinates": (
        19,
        RESIZE.format("[4] n", 'coordinate_transformation_mode = "half"'),
    ),
    "weights of classes that are a matrix": (
        13,
        (
            "(float[3,5] x, int64[3] t, float[5,1] w) => (float y)"
            " { y = NegativeLogLikelihoodLoss (x, t, w) }"
        ),
    ),
    "an axis to crop that is not there": (
        18,
        "(float[7,1] x, int64[2] n) => (float[a,b] y) { y = CenterCropPad <axes = [1, 2]> (x, n) }",
    ),
    "weights of other classes": (
        22,
        (
            "(float[3,5,6] x, int64[3,6] t, float[4] w) => (float y)"
            " { y = NegativeLogLikelihoodLoss (x, t, w) }"
        ),
    ),
    "filters of other channels": (27, CAUSAL.format("3,1,4", "4", "2,4,3")),
    "filters without an axis": (27, CAUSAL.format("4,4", "4", "2,4,3")),
    "a bias of other channels": (27, CAUSAL.format("4,1,4", "3", "2,4,3")),
    "a past of another batch": (27, CAUSAL.format("4,1,4", "4", "1,4,3")),
    "keys of another width": (27, LINEAR.format("2,4,24", "2,4,32", "2,4,4")),
    "values of other steps": (27, LINEAR.format("2,4,32", "2,1,32", "2,4,4")),
    "factors of other steps": (27, LINEAR.format("2,4,32", "2,4,32", "2,7,4")),
    "a size that is a matrix": (
        20,
        "(float[2,2,3] t, int64[1,4] n) => (float[a,b,c,d] y) { y = AffineGrid (t, n) }",
    ),
    "a block of three axes for an image of two": (
        18,
        "(float[1,4,5] x, int64[2] n, int64[3] b) => (float[a,b,c,d] y) { y = Col2Im (x, n, b) }",
    ),
    "a block that is a number": (
        18,
        "(float[1,4,5] x, int64[2] n, int64 b) => (float[a,b,c,d] y) { y = Col2Im (x, n, b) }",
    ),
    "training that is a matrix": (
        13,
        "(float[3] x, float r, bool[6,2] t) => (float[3] y) { y = Dropout (x, r, t) }",
    ),
    "a negative output shape": (
        11,
        (
            "(float[1,1,3,3] x, float[1,2,3,3] w) => (float[1,2,10,8] y)"
            " { y = ConvTranspose <output_shape = [10, -8]> (x, w) }"
        ),
    ),
    "an output shape of one axis": (
        11,
        (
            "(float[1,1,3,3] x, float[1,2,3,3] w) => (float[1,2,10,8] y)"
            " { y = ConvTranspose <output_shape = [8]> (x, w) }"
        ),
    ),
    "an output padding of three axes": (
        11,
        (
            "(float[1,1,3,3] x, float[1,2,3,3] w) => (float[a,b,c,d] y)"
            " { y = ConvTranspose <output_padding = [1, 1, 1], strides = [2, 2]> (x, w) }"
        ),
    ),
    "a negative size": (
        17,
        "() => (float[a] y) { n = Constant <value_ints = [-2]> () y = ConstantOfShape (n) }",
    ),
    "a flag that is 255": (
        14,
        "(float[5] x, int32 a) => (float[5] y) { y = CumSum <exclusive = 255> (x, a) }",
    ),
}


def _refuses(path: Path) -> bool:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception:  # ONNX Runtime has no common base of what it raises
        return True
    return False


@pytest.mark.parametrize("name", REFUSED)
def test_operands_that_do_not_fit(tmp_path: Path, name: str) -> None:
    opset, text = REFUSED[name]
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(HEAD.format(opset) + text), path)
    assert _refuses(path)
    assert irloop.validate(path).has_errors


def _no_element(item: onnx.ValueInfoProto) -> None:
    item.type.tensor_type.elem_type = 0


def _no_item(item: onnx.ValueInfoProto) -> None:
    item.type.sequence_type.SetInParent()


def _no_element_of_items(item: onnx.ValueInfoProto) -> None:
    item.type.sequence_type.elem_type.tensor_type.SetInParent()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (_no_element, "an output"),
        (_no_element, "a value"),
        (_no_item, "an output"),
        (_no_item, "an output of a branch"),
        (_no_element_of_items, "a value"),
        (_no_element_of_items, "an output of a branch"),
    ],
)
def test_declared_types_without_element_type(
    tmp_path: Path, change: Callable[[onnx.ValueInfoProto], None], place: str
) -> None:
    model = onnx.parser.parse_model(
        HEAD.format(17) + "(float[2] x, bool c) => (float[2] y) { z = Relu (x) y = If (c) <"
        "then_branch = t () => (float[2] a) { a = Identity (z) },"
        "else_branch = e () => (float[2] b) { b = Identity (z) }> }"
    )
    main, branch = model.graph, model.graph.node[1].attribute[0].g
    changed = {
        "an output": main.output[0],
        "a value": main.value_info.add(name="z"),
        "an output of a branch": branch.output[0],
    }[place]
    if place != "a value":
        del main.value_info[:]
    change(changed)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    assert _refuses(path)
    assert "ONX106" in {item.code for item in irloop.validate(path)}
