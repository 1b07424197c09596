"""Cases of If-8: either branch, captured values, different shapes."""

from __future__ import annotations

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Add, Multiply, Negative
from irloop.dialects.openvino.slicing import Concat
from irloop.dialects.wires import branch_ports
from irloop.faults.case import Case, run
from irloop.graph.builder import Builder
from irloop.graph.model import Body, Model, Value
from irloop.graph.types import ElementType

__all__ = ["CASES"]

FEATURE = "If-8"
SOURCE = "OpenVINO If-8"
CHOICE = (
    "If contains two internal networks (subgraphs): then_body and else_body, and performs one of "
    "them, depending on cond value."
)


def branch(label: str, outer: Builder, value: Value, kind: str) -> Body:
    """Build a branch of an If that applies `kind` to input 1 of the If.

    `kind` is "double", "negate", "square", "twice" (concatenated with itself) or "keep". The branch
    has one result.
    """
    body = outer.nested(label)
    given = body.parameter("given", value.type)
    made = {
        "double": lambda: body(Add(), given, given),
        "negate": lambda: body(Negative(), given),
        "square": lambda: body(Multiply(), given, given),
        "twice": lambda: body(Concat(0), given, given),
        "keep": lambda: given,
    }[kind]()
    body.result(made, body.names.fresh("result"))
    return Body(label, body.graph, branch_ports((1,), 1))


def choice(then: str, other: str) -> Model:
    """A model with an If that applies one of the functions named `then` and `other` to x."""
    m = IrModel()
    condition, x = m.input("c", element=ElementType.BOOLEAN), m.input("x", 2)
    bodies = (branch("then", m.builder, x, then), branch("else", m.builder, x, other))
    node = m.builder.emit(ov.If(), condition, x, n_outputs=1, bodies=bodies)
    return m.done(node.output)


CASES = (
    Case(
        "openvino_if_chooses",
        FEATURE,
        SOURCE,
        CHOICE,
        lambda: choice("double", "negate"),
        (
            run([True, [1, 2]], [[2, 4]]),
            run([False, [1, 2]], [[-1, -2]]),
            run([True, [3, 4]], [[6, 8]]),
        ),
    ),
    Case(
        "openvino_if_returns_its_input",
        FEATURE,
        SOURCE,
        CHOICE,
        lambda: choice("keep", "square"),
        (run([True, [2, 3]], [[2, 3]]), run([False, [2, 3]], [[4, 9]])),
    ),
    Case(
        "openvino_if_shapes_differ",
        FEATURE,
        SOURCE,
        "If the shapes of the branches' results differ, the output has a dynamic shape.",
        lambda: choice("negate", "twice"),
        (run([True, [1, 2]], [[-1, -2]]), run([False, [1, 2]], [[1, 2, 1, 2]])),
    ),
)
