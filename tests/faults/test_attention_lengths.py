"""OVN173: attention whose first run has one position, written for OpenVINO and run there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.dialects.openvino.elementwise import Maximum
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.formats.onnx.reader import from_proto
from irloop.graph.walk import all_nodes

pytest.importorskip("openvino", reason="only the engine shows its fault")

Array = np.ndarray[Any, np.dtype[np.float32]]

#: What is between the two products, scores s to weights p, and whether OpenVINO compiles all of it
#: as one operation.
FORMS = {
    "softmax": ("p = Softmax <axis = -1> (s)", True),
    "scaled": ("r = Div (s, two) p = Softmax <axis = -1> (r)", True),
    "activation": ("r = Tanh (s) p = Softmax <axis = -1> (r)", True),
    "exponentials": ("e = Exp (s) t = ReduceSum (e, last) p = Div (e, t)", True),
    "stable exponentials": (
        """m = ReduceMax <axes = [-1]> (s) d = Sub (s, m) e = Exp (d)
           t = ReduceSum (e, last) p = Div (e, t)""",
        True,
    ),
    "mask": ("r = Add (s, mask) p = Softmax <axis = -1> (r)", False),
    "two activations": ("r = Tanh (s) a = Abs (r) p = Softmax <axis = -1> (a)", True),
    "no softmax": ("p = Sigmoid (s)", False),
}


def attention(form: str, size: str = "m") -> onnx.ModelProto:
    """Attention of two queries to `size` keys, written by hand."""
    text = f"""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2,4] q, float[{size},4] k, float[{size},4] v, float[2,{size}] mask)
            => (float[2,4] y, float[2,{size}] same) {{
           OTHER
           two = Constant <value_float = 2.0> ()
           last = Constant <value_ints = [-1]> ()
           t0 = Transpose <perm = [1, 0]> (k)
           s = MatMul (q, t0)
           {form}
           y = MatMul (p, v)
        }}"""
    other = "" if "same =" in form else "same = Neg (mask)"
    return onnx.parser.parse_model(text.replace("OTHER", other))


def copies(proto: onnx.ModelProto) -> int:
    result, _ = irloop.convert(from_proto(proto))
    return sum(isinstance(node.op, Maximum) for node in all_nodes(result.graph))


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_copied_where_openvino_compiles_attention_as_one_operation(form: str) -> None:
    text, is_one = FORMS[form]
    assert copies(attention(text)) == is_one
    assert not copies(attention(text, "24"))


def test_weights_with_another_reader_are_not_copied() -> None:
    text = FORMS["softmax"][0]
    assert not copies(attention(f"{text} same = Abs (p)"))


@pytest.mark.parametrize("form", FORMS)
def test_the_numbers_are_right_after_a_run_with_one_position(form: str, tmp_path: Path) -> None:
    """One compiled model runs with 1, 15, 16, 40 and 1 keys; NumPy's definition judges."""
    result, _ = irloop.convert(from_proto(attention(FORMS[form][0])))
    path = irloop.save_model(result, tmp_path / "model.xml")[0]
    with Process(engine_of("openvino"), path) as process:
        for length in (1, 15, 16, 40, 1):
            random = np.random.default_rng(length)
            q, k, v, mask = (
                random.standard_normal(shape).astype(np.float32)
                for shape in ((2, 4), (length, 4), (length, 4), (2, length))
            )
            answer = process.run([q, k, v, mask], seconds=60.0)
            assert answer.outputs is not None, str(answer)
            expected = weights(form, q @ k.T, mask) @ v
            np.testing.assert_allclose(answer.outputs[0], expected, rtol=1e-4, atol=1e-5)


def weights(form: str, scores: Array, mask: Array) -> Array:
    if form == "no softmax":
        return np.asarray(1 / (1 + np.exp(-scores)))
    changed = {
        "scaled": scores / 2,
        "activation": np.tanh(scores),
        "two activations": np.abs(np.tanh(scores)),
        "mask": scores + mask,
    }.get(form, scores)
    powers = np.exp(changed - changed.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def test_a_loop_that_appends_to_its_memory(tmp_path: Path) -> None:
    """Each iteration attends to all earlier states, the first one to a single state."""
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        g (int64 n, float[1,4] h0) => (float[?,4] all) {
           yes = Constant <value = bool {1}> ()
           all = Loop (n, yes, h0) <body = step (int64 i, bool go, float[m,4] seen)
              => (bool on, float[k,4] more) {
              zero = Constant <value_ints = [-1]> ()
              h = Gather <axis = 0> (seen, zero)
              s = Einsum <equation = "bd,md->bm"> (h, seen)
              p = Softmax <axis = 1> (s)
              r = MatMul (p, seen)
              h2 = Cos (r)
              more = Concat <axis = 0> (seen, h2)
              on = Identity (go)
           }>
        }"""
    result, _ = irloop.convert(from_proto(onnx.parser.parse_model(text)))
    path = irloop.save_model(result, tmp_path / "model.xml")[0]
    start = np.array([[0.1, -0.2, 0.3, 0.4]], np.float32)
    with Process(engine_of("openvino"), path) as process:
        for steps in (20, 0, 1, 20):
            seen = start.astype(np.float64)
            for _ in range(steps):
                scores = seen[-1:] @ seen.T
                powers = np.exp(scores - scores.max())
                seen = np.concatenate([seen, np.cos(powers / powers.sum() @ seen)])
            answer = process.run([np.array(steps, np.int64), start], seconds=60.0)
            assert answer.outputs is not None, str(answer)
            np.testing.assert_allclose(answer.outputs[0], seen, rtol=1e-4, atol=1e-5)
