"""Functions of the model and of the ONNX standard are expanded."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest

from irloop.errors import ReadError
from irloop.execution.session import Session
from irloop.formats.onnx import reader, writer
from irloop.formats.onnx.functions import expand_functions
from irloop.graph.verify import verify

LOCAL = """
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (bool p, float[2] x) => (float[2] y) {
  y = If (p) <
    then_branch = yes () => (float[2] a) { a = local.twice <alpha = 0.5> (x) },
    else_branch = no () => (float[2] b) { b = local.leak <alpha = 0.25> (x) }
  >
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
twice <alpha> (a) => (c) { b = local.leak <alpha : float = @alpha> (a)  c = Add (b, b) }
<domain: "local", opset_import: ["" : 17]>
leak <alpha> (a) => (b) { b = LeakyRelu <alpha : float = @alpha> (a) }
"""


def run(proto: onnx.ModelProto, **feeds: Any) -> Any:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def test_local_functions_in_branches_and_in_each_other() -> None:
    model = reader.from_proto(onnx.parser.parse_model(LOCAL))
    verify(model.graph)
    (branch,) = model.graph.nodes
    kinds = [node.op.type for node in branch.body("then").graph.nodes]
    assert kinds == ["LeakyRelu", "Add"]
    proto = writer.to_proto_model(model)
    x = np.array([-4, 4], np.float32)
    assert run(proto, p=np.array(True), x=x).tolist() == [-4.0, 8.0]
    assert run(proto, p=np.array(False), x=x).tolist() == [-1.0, 4.0]


def test_functions_of_an_opset_that_cannot_be_reconciled_are_refused_by_name() -> None:
    text = LOCAL.replace('opset_import: ["" : 17]>\nleak', 'opset_import: ["" : 99]>\nleak')
    with pytest.raises(ReadError, match="function"):
        reader.from_proto(onnx.parser.parse_model(text))


SEQUENCE_MAP = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[3,2] x, float[2] w) => (float[3,2] y) {
  parts = SplitToSequence <keepdims = 0> (x)
  mapped = SequenceMap <body = each (float[2] v, float[2] u) => (float[2] t)
    { s = Add (v, u)  t = Mul (s, w) }> (parts, w)
  y = ConcatFromSequence <axis = 0, new_axis = 1> (mapped)
}
"""


def test_sequence_map_becomes_an_equivalent_loop() -> None:
    model = reader.from_proto(onnx.parser.parse_model(SEQUENCE_MAP))
    verify(model.graph)
    kinds = [node.op.type for node in model.graph.nodes]
    assert "Loop" in kinds
    assert "SequenceMap" not in kinds
    x, w = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, 10], np.float32)
    found = run(writer.to_proto_model(model), x=x, w=w)
    np.testing.assert_array_equal(found, (x + w) * w)


def test_sequence_map_whose_body_shadows_its_inputs() -> None:
    # In the body, "parts" is one item, and "w" is an item of another sequence.
    text = SEQUENCE_MAP.replace("float[2] v, float[2] u", "float[2] parts, float[2] w")
    text = text.replace("s = Add (v, u)  t = Mul (s, w)", "t = Sub (parts, w)")
    text = text.replace("(parts, w)\n", "(parts, other)\n").replace(
        "mapped =", "other = SequenceConstruct (w, w, w)  mapped ="
    )
    model = reader.from_proto(onnx.parser.parse_model(text))
    verify(model.graph)
    x, w = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, 10], np.float32)
    np.testing.assert_array_equal(run(writer.to_proto_model(model), x=x, w=w), x - w)


def test_nested_sequence_maps() -> None:
    text = SEQUENCE_MAP.replace(
        "{ s = Add (v, u)  t = Mul (s, w) }",
        """{ each = SplitToSequence <keepdims = 1> (v)
           less = SequenceMap <body = inner (float[1] v) => (float[1] n) { n = Neg (v) }> (each)
           t = ConcatFromSequence <axis = 0> (less) }""",
    )
    model = reader.from_proto(onnx.parser.parse_model(text))
    verify(model.graph)
    x, w = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, 10], np.float32)
    np.testing.assert_array_equal(run(writer.to_proto_model(model), x=x, w=w), -x)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("float[2] u)", "float[2] u, float[2] more)", "does not match its body"),
        ("(parts, w)\n", "(parts, x2)\n", "whether its input 'x2' is a sequence"),
        ("=> (float[2] t)", "=> (t)", "the element type of its output 'mapped' is not declared"),
    ],
)
def test_sequence_maps_without_enough_types(old: str, new: str, message: str) -> None:
    text = SEQUENCE_MAP.replace(old, new).replace("parts =", "x2 = my.Op (x)  parts =")
    proto = onnx.parser.parse_model(text.replace('"" : 17', '"" : 17, "my" : 1'))
    with pytest.raises(ReadError, match=message):
        reader.from_proto(proto)


def test_the_stored_cases_of_sequence_map() -> None:
    ort = pytest.importorskip("onnxruntime")
    with warnings.catch_warnings():
        # The generators of some cases overflow.
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        cases = [
            case
            for case in load_model_tests(kind="node")
            if case.name.startswith("test_sequence_map") and "expanded" not in case.name
        ]
    assert len(cases) >= 6
    for case in cases:
        assert case.model is not None
        proto = writer.to_proto_model(reader.from_proto(case.model))
        session = ort.InferenceSession(
            proto.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        names = [item.name for item in session.get_inputs()]
        for inputs, outputs in case.data_sets or ():
            found = session.run(None, dict(zip(names, inputs, strict=True)))
            for sequence, stored in zip(found, outputs, strict=True):
                assert len(sequence) == len(stored)
                for pair in zip(sequence, stored, strict=True):
                    np.testing.assert_array_equal(*pair)


def test_functions_of_the_standard_on_request() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (float[2,3] x) => (float[2,3] y)
        { h = Mish (x)  y = MeanVarianceNormalization <axes = [1]> (h) }"""
    )
    asked: list[str] = []

    def wanted(type: str, domain: str) -> bool:
        asked.append(type)
        return type == "Mish"

    expanded = expand_functions(proto, {"": 18}, wanted)
    # Mish is expanded to Softplus, which is also a function.
    assert set(asked) == {"MeanVarianceNormalization", "Mish", "Softplus"}
    kinds = [node.op_type for node in expanded.graph.node]
    assert "Mish" not in kinds
    assert "MeanVarianceNormalization" in kinds
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(run(expanded, x=x), run(proto, x=x), rtol=1e-5, atol=1e-6)


def test_the_reader_expands_functions_on_request() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (float[2,3] x) => (float[2,3] y) { y = Mish (x) }"""
    )
    model = reader.from_proto(proto, expand=lambda *_: True)
    kinds = {node.op.type or node.op.label for node in model.graph.nodes}
    assert {"Exp", "Log", "Tanh", "Mul"} <= kinds
    proto.graph.input[0].ClearField("type")
    with pytest.raises(ReadError, match="input 'x' has no type"):
        reader.from_proto(proto, expand=lambda *_: True)


def test_nothing_to_expand_is_the_same_model() -> None:
    proto = onnx.parser.parse_model(LOCAL)
    assert expand_functions(proto, {"": 17}, lambda *_: True) is proto


FLEXIBLE = """<ir_version: 13, opset_import: ["" : 26, "ai.onnx.preview" : 1]>
    g (float[1,2,1,4] q, float[1,1,1,4] k, float[1,1,1,3] v, float half) => (float[1,2,1,3] y) {
        y = ai.onnx.preview.FlexAttention <prob_mod = halved (float[B,H,L,S] p)
            => (float[B,H,L,S] h) { h = Mul (p, half) }> (q, k, v)
    }"""


def test_bodies_of_flex_attention_are_expanded() -> None:
    """There is one key, so its probability is 1; the body multiplies it by the outer `half`."""
    proto = onnx.parser.parse_model(FLEXIBLE)
    q, k = np.ones((1, 2, 1, 4), np.float32), np.ones((1, 1, 1, 4), np.float32)
    v = np.array([2, 4, 6], np.float32).reshape(1, 1, 1, 3)
    inputs = {"q": q, "k": k, "v": v, "half": np.array(0.5, np.float32)}
    found = Session(reader.from_proto(proto)).run(inputs)["y"]
    np.testing.assert_allclose(found.reshape(2, 3), [[1, 2, 3], [1, 2, 3]])


def test_flex_attention_of_unknown_types_stays() -> None:
    proto = onnx.parser.parse_model(FLEXIBLE)
    proto.graph.input[0].ClearField("type")
    (node,) = reader.from_proto(proto).graph.nodes
    assert node.op.label == "ai.onnx.preview.FlexAttention-1"
