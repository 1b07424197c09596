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
    **{
        f"{kind} with {what}": (
            14,
            (
                f"(float[4,2,3] x, float[1,{gates * 5},3] w, float[1,{gates * 5},5] r)"
                f" => (float[4,1,2,5] y) {{ y = {kind} <{attributes}> (x, w, r) }}"
            ),
        )
        for kind, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
        for what, attributes in (
            ("no hidden_size", 'direction = "forward"'),
            ("hidden_size 0", "hidden_size = 0"),
            ("a layout of 2", "hidden_size = 5, layout = 2"),
            ("a clip of -1", "hidden_size = 5, clip = -1.0"),
        )
        if (kind, what) not in (("RNN", "a clip of -1"), ("RNN", "hidden_size 0"))
    },
    **{
        f"LRN with {attributes}": (
            13,
            f"(float[1,4,2,2] x) => (float[1,4,2,2] y) {{ y = LRN <{attributes}> (x) }}",
        )
        for attributes in (
            "size = 0",
            "size = -1",
        )
    },
    **{
        f"{kind} with {attributes}": (
            22,
            (
                f"(float[1,4,5,5] x, float[4,{4 if kind == 'Conv' else 1},3,3] w)"
                f" => (float[a,b,c,d] y) {{ y = {kind} <{attributes}> (x, w) }}"
            ),
        )
        for kind, attributes in (
            ("Conv", "pads = [-1, 0, 0, 0]"),
            ("ConvTranspose", "pads = [-1, 0, 0, 0]"),
            ("ConvTranspose", "group = 0"),
            ("ConvTranspose", "group = 3"),
        )
    },
    "a kernel_shape of DeformConv of one axis": (
        22,
        (
            "(float[1,1,3,3] x, float[1,1,2,2] w, float[1,8,2,2] o) => (float[1,1,2,2] y)"
            " { y = DeformConv <kernel_shape = [2]> (x, w, o) }"
        ),
    ),
    "a stride of 0 in MaxUnpool": (
        11,
        (
            "(float[1,1,2,2] x, int64[1,1,2,2] i) => (float[a,b,c,d] y)"
            " { y = MaxUnpool <kernel_shape = [2, 2], strides = [0, 2]> (x, i) }"
        ),
    ),
    "a storage order of 2": (
        12,
        (
            "(float[1,1,4,4] x) => (float[1,1,3,3] y)"
            " { y = MaxPool <kernel_shape = [2, 2], storage_order = 2> (x) }"
        ),
    ),
    "boxes by a third way": (
        11,
        (
            "(float[1,6,4] b, float[1,2,6] s) => (int64[n,3] y)"
            " { y = NonMaxSuppression <center_point_box = 2> (b, s) }"
        ),
    ),
    "a mode in capitals": (
        20,
        (
            "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)"
            ' { y = GridSample <mode = "CUBIC"> (x, g) }'
        ),
    ),
    "an unknown padding mode": (
        16,
        (
            "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y)"
            ' { y = GridSample <padding_mode = "none"> (x, g) }'
        ),
    ),
    "an expression that is missing": (
        20,
        "(string[2] x) => (bool[2] y) { y = RegexFullMatch (x) }",
    ),
    "training with one output": (
        15,
        (
            "(float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3] y)"
            " { y = BatchNormalization <training_mode = 1> (x, s, b, m, v) }"
        ),
    ),
    "an empty optional without a type": (
        17,
        "() => (bool y) { o = Optional () y = OptionalHasElement (o) }",
    ),
    "a remainder of a third kind": (
        13,
        "(float[2] x, float[2] y) => (float[2] z) { z = Mod <fmod = 20> (x, y) }",
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


UNSORTED = {
    "Loop": (
        "(float[2] x, int64 n) => (float[2] y) { y = Loop (n, , x) <body = b (int64 i, bool c,"
        " float[2] s) => (bool d, float[2] r) { d = Identity (c) r = Relu (t) t = Abs (s) }> }"
    ),
    "Scan": (
        "(float[2] x, float[3,2] q) => (float[2] y, float[3,2] z) { y, z = Scan"
        " <num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] r, float[2] p)"
        " { r = Relu (t) t = Abs (s) p = Identity (t) }> (x, q) }"
    ),
    "If": (
        "(float[2] x, bool c) => (float[2] y) { y = If (c) <"
        "then_branch = a () => (float[2] r) { r = Relu (t) t = Abs (x) },"
        "else_branch = b () => (float[2] r) { r = Neg (x) }> }"
    ),
    "SequenceMap": (
        "(seq(float[2]) x) => (seq(float[2]) y) { y = SequenceMap <body = b (float[2] s)"
        " => (float[2] r) { r = Relu (t) t = Abs (s) }> (x) }"
    ),
}


@pytest.mark.parametrize("name", UNSORTED)
def test_unsorted_bodies(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(HEAD.format(17) + UNSORTED[name]), path)
    assert _refuses(path)
    (found,) = irloop.validate(path)
    assert (found.code, found.severity.value) == ("ONX202", "error")


def test_an_unsorted_graph_is_sorted_by_the_engine(tmp_path: Path) -> None:
    text = "(float[2] x) => (float[2] y) { y = Relu (t) t = Abs (x) }"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(HEAD.format(17) + text), path)
    assert not _refuses(path)
    (found,) = irloop.validate(path)
    assert (found.code, found.severity.value) == ("ONX202", "warning")


@pytest.mark.parametrize(
    ("version", "inputs", "code"),
    [(3, "float[2] x, float[4,2] w", "ONX106"), (3, "float[2] x, float[1,2] w", None)],
)
def test_the_declared_shape_of_an_initializer(
    tmp_path: Path, version: int, inputs: str, code: str | None
) -> None:
    head = f'<ir_version: {version}, opset_import: ["" : 9]> g ({inputs}) => (float[1,2] y)'
    model = onnx.parser.parse_model(f"{head} <float[1,2] w = {{1, 2}}> {{ y = Add (x, w) }}")
    known = [item.name for item in model.graph.input]
    assert known == ["x", "w"]
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    assert _refuses(path) == (code is not None)
    assert {item.code for item in irloop.validate(path)} == ({code} if code else set())


@pytest.mark.parametrize(("version", "is_refused"), [(3, True), (8, False)])
def test_an_initializer_that_nothing_reads(tmp_path: Path, version: int, is_refused: bool) -> None:
    text = f'<ir_version: {version}, opset_import: ["" : 9]> g (float[2] x) => (float[2] y)'
    model = onnx.parser.parse_model(f"{text} {{ y = Relu (x) }}")
    model.graph.initializer.append(onnx.helper.make_tensor("idle", 1, [1], [0]))
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    assert _refuses(path) == is_refused
    assert irloop.validate(path).has_errors == is_refused


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
