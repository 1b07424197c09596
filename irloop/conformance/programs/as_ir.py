"""Writes a program as an OpenVINO IR with Loop-5, TensorIterator-1 and If-8."""

from __future__ import annotations

from collections.abc import Callable

from irloop.building.ir_model import IrLoop, IrModel
from irloop.conformance.programs.program import (
    Block,
    Choose,
    Compute,
    Program,
    Repeat,
    Statement,
    Walk,
)
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import Greater, Less
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Abs, Add, Maximum, Minimum, Negative, Subtract
from irloop.dialects.openvino.reduction import ReduceMax, ReduceSum
from irloop.dialects.openvino.shape import Squeeze, Unsqueeze
from irloop.dialects.wires import branch_ports
from irloop.graph.builder import Builder
from irloop.graph.model import Body, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["as_ir"]

I64, F32, BOOLEAN = ElementType.I64, ElementType.F32, ElementType.BOOLEAN

_OPERATIONS: dict[str, type[Op]] = {
    "Add": Add,
    "Sub": Subtract,
    "Max": Maximum,
    "Min": Minimum,
    "Neg": Negative,
    "Abs": Abs,
}


class _Scope:
    """Maps names to the values of one graph; a value of the outer graph is captured when needed."""

    def __init__(self, builder: Builder, take_in: Callable[[str], Value] | None = None) -> None:
        self.builder = builder
        self.values: dict[str, Value] = {}
        self._take_in = take_in

    def __getitem__(self, name: str) -> Value:
        if name not in self.values:
            assert self._take_in is not None, name
            self.values[name] = self._take_in(name)
        return self.values[name]


def as_ir(program: Program) -> Model:
    """Build the OpenVINO model that computes `program`."""
    m = IrModel()
    scope = _Scope(m.builder)
    for name in program.vectors:
        scope.values[name] = m.input(name, 2)
    for name in program.counts:
        scope.values[name] = m.input(name, element=I64)
    for name in program.matrices:
        scope.values[name] = m.input(name, None, 2)
    return m.done(*_block(scope, program.block))


def _block(scope: _Scope, block: Block) -> list[Value]:
    for statement in block.statements:
        made = _statement(scope, statement)
        names = (statement.name,) if isinstance(statement, Compute) else statement.names
        scope.values.update(zip(names, made, strict=True))
    return [scope[name] for name in block.results]


def _statement(scope: _Scope, statement: Statement) -> list[Value]:
    match statement:
        case Compute(_, operation, operands):
            return [scope.builder(_OPERATIONS[operation](), *(scope[name] for name in operands))]
        case Choose():
            return _choose(scope, statement)
        case Repeat():
            return _repeat(scope, statement)
        case Walk():
            return _walk(scope, statement)


def _choose(scope: _Scope, choice: Choose) -> list[Value]:
    b = scope.builder
    total = b(ReduceSum(keep_dims=False), scope[choice.by], b.i64([0]))
    condition = b(Greater(), total, b.constant(0, F32))
    externals: list[Value] = [condition]
    bodies = []
    for label, block in (("then", choice.then), ("else", choice.other)):
        inner = b.nested(label)
        read: list[int] = []

        def take_in(name: str, inner: Builder = inner, read: list[int] = read) -> Value:
            outer = scope[name]
            if outer not in externals:
                externals.append(outer)
            read.append(externals.index(outer))
            return inner.parameter(name, outer.type)

        results = _block(_Scope(inner, take_in), block)
        for value in results:
            inner.result(value, inner.names.fresh("result"))
        bodies.append(Body(label, inner.graph, branch_ports(read, len(results))))
    node = b.emit(ov.If(), *externals, n_outputs=len(choice.names), bodies=tuple(bodies))
    return list(node.outputs)


def _repeat(scope: _Scope, loop: Repeat) -> list[Value]:
    b = scope.builder
    trips = b.i64(-1) if loop.count is None else scope[loop.count]
    made = IrLoop(b, ov.Loop(), (trips, b.constant(True, BOOLEAN)))
    inner = _inside(scope, made, loop.states)
    if loop.number is not None:
        number = made(Convert(F32), made.iteration())
        inner.values[loop.number] = made(Add(), number, made.constant([0, 0]))
    results = _block(inner, loop.body)
    if loop.limit is not None:
        largest = made(ReduceMax(keep_dims=False), results[0], made.constant([0], I64))
        made.condition(made(Less(), largest, made.constant(loop.limit)))
    return _finish(made, inner, loop.states, results)


def _walk(scope: _Scope, loop: Walk) -> list[Value]:
    made = IrLoop(scope.builder, ov.TensorIterator())
    bounds = (-1, 0, -1) if loop.backwards else (0, -1, 1)
    part = made.slice(scope[loop.rows], 0, *bounds)
    inner = _inside(scope, made, loop.states)
    inner.values[loop.row] = made(Squeeze(), part, made.constant([0], I64))
    return _finish(made, inner, loop.states, _block(inner, loop.body))


def _inside(scope: _Scope, made: IrLoop, states: tuple[tuple[str, str], ...]) -> _Scope:
    inner = _Scope(made.body, lambda name: made.invariant(scope[name]))
    for name, initial in states:
        inner.values[name] = made.state(scope[initial])
    return inner


def _finish(
    made: IrLoop, inner: _Scope, states: tuple[tuple[str, str], ...], results: list[Value]
) -> list[Value]:
    for (name, _), value in zip(states, results, strict=False):
        made.carry(inner.values[name], value)
        made.last_of(inner.values[name])
    for value in results[len(states) :]:
        made.joined(made(Unsqueeze(), value, made.constant([0], I64)), 0)
    return list(made.done())
