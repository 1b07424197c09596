"""Randomly generated loops, against ONNX Runtime."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from irloop.execution.session import Session
from irloop.formats.onnx import reader

ort: Any = onnxruntime

UNARY = ("Tanh", "Neg", "Abs", "Sigmoid", "Identity", "Sin")
BINARY = ("Add", "Sub", "Mul", "Max")


class Writer:
    """Writes a body of operations on float[3] values, some of them branches and loops."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def lines(self, known: list[str], length: int, depth: int) -> list[str]:
        """Write `length` operations on the values in `known`, and append their results to
        `known`.
        """
        found = []
        for _ in range(length):
            new = self.name()
            kind = self._dice.random()
            if kind < 0.4:
                found.append(f"{new} = {self._dice.choice(UNARY)} ({self._dice.choice(known)})")
            elif kind < 0.8 or depth == 0:
                pair = ", ".join(self._dice.choices(known, k=2))
                found.append(f"{new} = {self._dice.choice(BINARY)} ({pair})")
            elif kind < 0.9:
                found.append(self._branch(new, known, depth))
            else:
                found.append(self._loop(new, known, depth))
            known.append(new)
        return found

    def _branch(self, new: str, known: list[str], depth: int) -> str:
        mean, zero, test = self.name(), self.name(), self.name()
        bodies = []
        for label in ("then_branch", "else_branch"):
            inside = list(known)
            lines = self.lines(inside, 2, depth - 1)
            body = "\n".join(lines)
            bodies.append(f"{label} = g{self.name()} () => (float[3] {inside[-1]}) {{ {body} }}")
        return (
            f"{mean} = ReduceSum <keepdims = 0> ({self._dice.choice(known)})\n"
            f"{zero} = Constant <value_float = 0.0> ()\n"
            f"{test} = Greater ({mean}, {zero})\n"
            f"{new} = If ({test}) <{', '.join(bodies)}>"
        )

    def _loop(self, new: str, known: list[str], depth: int) -> str:
        trip, i, c, s, on = (self.name() for _ in range(5))
        inside = [*known, s]
        lines = self.lines(inside, 3, depth - 1)
        body = "\n".join([*lines, f"{on} = Identity ({c})"])
        return (
            f"{trip} = Constant <value_int = {self._dice.randint(0, 3)}> ()\n"
            f"{new} = Loop ({trip}, , {self._dice.choice(known)}) <body = g{self.name()} "
            f"(int64 {i}, bool {c}, float[3] {s}) "
            f"=> (bool {on}, float[3] {inside[-1]}) {{ {body} }}>"
        )

    def model(self) -> str:
        """A Loop with two states, two scan outputs and a condition."""
        known = ["x", "k", "p", "q", "n3"]
        lines = self.lines(known, 6, 2)
        made = known[5:]
        states = self._dice.choices([*made, "p", "q"], k=2)
        parts = self._dice.choices(made, k=2)
        outs = [self.name() for _ in range(4)]
        copies = "\n".join(
            f"{out} = Identity ({value})" for out, value in zip(outs, states + parts, strict=True)
        )
        body = "\n".join(lines)
        return f"""
        <ir_version: 8, opset_import: ["" : 16]>
        m (int64 trip, bool go, float[3] x, float[3] k, float limit)
           => (float[3] a, float[3] b, float[t,3] c, float[t,3] d) {{
           a, b, c, d = Loop (trip, go, x, k) <body = f (int64 i, bool on, float[3] p, float[3] q)
              => (bool further, float[3] {outs[0]}, float[3] {outs[1]},
                  float[3] {outs[2]}, float[3] {outs[3]}) {{
              n = Cast <to = 1> (i)
              shape = Constant <value_ints = [3]> ()
              n3 = Expand (n, shape)
              {body}
              {copies}
              further = Less (n, limit)
           }}>
        }}
        """


@pytest.mark.parametrize("seed", range(40))
def test_random_loops(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    proto = onnx.parser.parse_model(Writer(dice).model())
    options = ort.SessionOptions()
    options.log_severity_level = 4
    engine = ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    session = Session(reader.from_proto(proto))
    numbers = np.random.default_rng(seed)
    for trip, go, limit in (
        (5, True, 99),
        (0, True, 99),
        (3, False, 99),
        (70, True, 99),
        (9, True, 2),
    ):
        given = {
            "trip": np.array(trip),
            "go": np.array(go),
            "x": numbers.standard_normal(3).astype(np.float32),
            "k": numbers.standard_normal(3).astype(np.float32),
            "limit": np.array(limit, np.float32),
        }
        expected = engine.run(None, given)
        found = list(session.run(given).values())
        for value, wanted in zip(found, expected, strict=True):
            assert value.shape == wanted.shape
            finite = np.abs(wanted) < 1e6
            np.testing.assert_allclose(value[finite], wanted[finite], rtol=1e-3, atol=1e-4)


#: Shapes of conditions that ONNX Runtime accepts: of the initial condition (None: omitted), of the
#: one that the body declares (None: no rank), and of the one that the body returns.
CONDITIONS = [
    (given, declared, made)
    for given, declared in [
        ((), ()),
        ((), None),
        ((1,), (1,)),
        ((1,), None),
        ((1, 1), None),
        ((1, 1), (1, 1)),
        (None, ()),
        (None, (1,)),
        (None, (1, 1)),
    ]
    for made in (
        "Identity (c)",
        "Constant <value = bool {1}> ()",
        "Constant <value = bool[1] {1}> ()",
    )
]


@pytest.mark.parametrize(("given", "declared", "made"), CONDITIONS)
def test_conditions_of_one_element(
    given: tuple[int, ...] | None, declared: tuple[int, ...] | None, made: str
) -> None:
    """The body reads the condition with the rank that it declares, and may return one of any
    rank.
    """
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, bool[1] go, float[2] x)
        => (float[2] y, bool[?] first, bool[?] next) {{
      y, first, next = Loop <body = b (int64 i, bool[1] c, float[2] a)
          => (bool[1] d, float[2] r, bool[1] shown, bool[1] also)
          {{ d = {made}  shown = Not (c)  also = Not (d)  r = Neg (a) }}> (n, COND, x)
    }}""".replace("COND", "go" if given is not None else '""')
    proto = onnx.parser.parse_model(text)
    graph = proto.graph.node[0].attribute[0].g
    for item in (graph.input[1], *proto.graph.output[1:], graph.output[0], *graph.output[2:]):
        item.type.tensor_type.ClearField("shape")
    if declared is not None:
        graph.input[1].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.BOOL, declared))
    proto.graph.input[1].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.BOOL, given or ()))
    inputs = {
        "n": np.array(3),
        "go": np.full(given or (), True),
        "x": np.array([1, -2], np.float32),
    }
    options = ort.SessionOptions()
    options.log_severity_level = 4
    engine = ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = Session(reader.from_proto(proto)).run(inputs)
    for one, other in zip(engine.run(None, inputs), found.values(), strict=True):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)
