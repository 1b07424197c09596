"""`Builder` makes a model operation by operation; loops and branches are `with` blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, Self

from irloop.boundary import guarded
from irloop.building.graph_builder import OperationBuilder, Target
from irloop.building.loop_body import LoopBody
from irloop.building.operations import shape_of
from irloop.dialects import onnx, openvino
from irloop.dialects.openvino.opsets import NEWEST
from irloop.dialects.wires import branch_ports
from irloop.errors import UsageError
from irloop.graph import builder
from irloop.graph.loops import PortMap
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType, ValueType, element_named
from irloop.graph.verify import verify
from irloop.graph.wellformed import require_wellformed

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]] | np.generic

__all__ = ["BranchBuilder", "Builder", "GraphBuilder", "LoopBuilder"]

#: The default opsets of new models, the same as in conversion.
OPSETS = {"openvino": 8, "onnx": 17}

#: The first opset of ONNX whose Scan has no batch axis.
FIRST_SCAN = 9


class GraphBuilder(OperationBuilder):
    """Adds operations, loops and branches to one graph: the main graph of a model, or a body.

    A body may use values of outer graphs: a small constant is copied, any other value becomes an
    invariant input. Types are inferred immediately, so that a call with a wrong operand fails.
    """

    @guarded("building a loop")
    def loop(
        self,
        trip: int | Value | None = None,
        condition: bool | Value = True,
        *,
        name: str = "",
    ) -> LoopBuilder:
        """Build a Loop: ``with b.loop(5) as body:``. The node is added at the end of the block.

        Args:
            trip: the trip count; None means no limit, and the condition of the body must end the
                loop.
            condition: the condition before the first iteration.
            name: the name of the node.

        Raises:
            UsageError: when the opset has no Loop.
        """
        self._require_open()
        onnx_model = self._target.is_onnx
        if not onnx_model and self._target.opset < openvino.Loop.since:
            raise self._too_old("Loop", openvino.Loop.since)
        limit = None if trip is None and onnx_model else self._scalar(trip, -1, ElementType.I64)
        starts: Value | None = None
        if not onnx_model or condition is not True:
            starts = self._scalar(condition, True, ElementType.BOOLEAN)
        op: Op = onnx.Loop() if onnx_model else openvino.Loop()
        return LoopBuilder(self, "Loop", op, (limit, starts), name)

    @guarded("building a loop")
    def tensor_iterator(self, *, name: str = "") -> LoopBuilder:
        """Build a TensorIterator (IR), which runs its body once for each slice of its inputs.

        Raises:
            UsageError: when the model is ONNX, which has no TensorIterator.
        """
        self._require_open()
        if self._target.is_onnx:
            raise UsageError("ONNX has no TensorIterator", fix="use scan() or loop()")
        return LoopBuilder(self, "TensorIterator", openvino.TensorIterator(), (), name)

    @guarded("building a loop")
    def scan(self, *, name: str = "") -> LoopBuilder:
        """Build a Scan (ONNX opset 9 or newer), which runs its body for each element of its inputs.

        Raises:
            UsageError: when the model is an IR, or has an older opset.
        """
        self._require_open()
        if not self._target.is_onnx:
            raise UsageError("IR has no Scan", fix="use tensor_iterator() or loop()")
        if self._target.opset < FIRST_SCAN:
            raise self._too_old("Scan", FIRST_SCAN)
        return LoopBuilder(self, "Scan", onnx.Scan(), (), name)

    @guarded("building a branch")
    def branch(self, condition: Value, *, name: str = "") -> BranchBuilder:
        """Build an If, added at the end of the block: ``with b.branch(condition) as branch:``.

        Raises:
            UsageError: when the opset has no If.
        """
        self._require_open()
        onnx_model = self._target.is_onnx
        if not onnx_model and self._target.opset < openvino.If.since:
            raise self._too_old("If", openvino.If.since)
        op: Op = onnx.If() if onnx_model else openvino.If()
        return BranchBuilder(self, op, self._local(condition), name)

    def _too_old(self, type: str, since: int) -> UsageError:
        return UsageError(
            f"{type} does not exist in opset {self._target.opset}",
            expected=f"opset {since} or newer",
            found=str(self._target.opset),
            fix=f"build the model with opset={since}",
        )


class Builder(GraphBuilder):
    """Builds a model of operations of OpenVINO or of ONNX.

    b = irloop.Builder("openvino", opset=5)
    x = b.input("x", "f32", [4, 2])
    with b.loop(4) as body:
        total = body.state(b.constant([[0.0, 0.0]]), name="total")
        part = body.slice(x, axis=0)
        body.next(total, body.op("Add", total, part))
        last = body.last(total)
    b.output("sum", last)
    model = b.model()
    """

    @guarded("starting a model")
    def __init__(
        self,
        dialect: Literal["openvino", "onnx"] = "openvino",
        *,
        opset: int | None = None,
        ir_version: int | None = None,
        name: str = "model",
    ) -> None:
        """Start a model.

        Args:
            dialect: "openvino" (written as IR) or "onnx".
            opset: the opset of the operations; by default 8 of OpenVINO, 17 of ONNX.
            ir_version: 10 or 11 for an IR, by default 11; the IR version of an ONNX file, by
                default the one that belongs to the opset.
            name: the name of the graph.

        Raises:
            UsageError: for another dialect, opset or version.
        """
        if dialect not in OPSETS:
            raise UsageError(
                "there is no such dialect", expected="openvino or onnx", found=repr(dialect)
            )
        newest = 100 if dialect == "onnx" else NEWEST
        number = OPSETS[dialect] if opset is None else opset
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= newest:
            raise UsageError("there is no such opset", expected=f"1 to {newest}", found=repr(opset))
        if dialect == "openvino" and ir_version not in (None, 10, 11):
            raise UsageError("an IR has version 10 or 11", found=repr(ir_version))
        opsets = {"": number} if dialect == "onnx" else {}
        super().__init__(builder.Builder(Graph(name)), Target(dialect, number, opsets), None)
        self._version = ir_version or (11 if dialect == "openvino" else 0)

    @guarded("building an input")
    def input(
        self,
        name: str,
        element: str | ElementType | ValueType = "f32",
        shape: Shape | Iterable[int | str | None] | None = None,
    ) -> Value:
        """Add an input to the model.

        Args:
            name: its name, which no other input may have.
            element: the element type, or the complete type, for example of a sequence.
            shape: a list of sizes. A size that is not known is None or a string, which names it,
                for example "batch". Without a shape the rank is unknown.
        """
        self._require_open()
        _require_text(name)
        if any(node.name == name for node in self.graph.parameters):
            raise UsageError(
                f"there is an input {name!r} already", fix="give the input another name"
            )
        if not isinstance(element, str | ElementType):
            return self._inner.parameter(name, element, (name,))
        type = TensorType(element_named(element), shape_of(shape))
        return self._inner.parameter(name, type, (name,))

    @guarded("building an output")
    def output(self, name: str, value: Value | Array) -> None:
        """Make a value an output of the model, under a name that no other output has."""
        self._require_open()
        _require_text(name)
        if any(node.name == name for node in self.graph.results):
            raise UsageError(f"there is an output {name!r} already")
        self._inner.result(self._local(value), name)

    @guarded("finishing a model")
    def model(self) -> Model:
        """Check and return the model. The builder cannot be used afterwards.

        Raises:
            UsageError: if the model has no output, or if the method is called inside a `with` block
                of a loop or branch.
            InferenceError: when an operation contradicts itself; the message names it.
        """
        self._require_open()
        if self._target.unfinished:
            raise UsageError("a loop or branch is not finished", fix="call model() after its block")
        if not self.graph.results:
            raise UsageError("the model has no output", fix="call output(name, value)")
        require_wellformed(self.graph)
        verify(self.graph)
        self._finished = "the model is finished: start another Builder"
        target = self._target
        return Model(self.graph, target.dialect, self._version, target.opsets)


class LoopBuilder(LoopBody, GraphBuilder):
    """Builds the body of a Loop, TensorIterator or Scan, and connects it to the graph around it."""

    def __enter__(self) -> Self:
        self._require_open()
        self._target.unfinished += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._target.unfinished -= 1
        if kind is None:
            self._finish()
        self._finished = "the loop is finished: use its outputs"


class _BranchBody(GraphBuilder):
    """Builds one of the two bodies of an If."""

    def __init__(self, outer: GraphBuilder, label: str, capture: Callable[[Value], int]) -> None:
        super().__init__(outer._inner.nested(label), outer._target, outer)
        self.captures: dict[Value, int] = {}
        self._views: dict[Value, Value] = {}
        self._capture = capture

    def _captured(self, value: Value) -> Value:
        if value not in self._views:
            copy = self._copied(value)
            if copy is None:
                copy = self._inner.parameter(value.producer.name, value.type)
                self.captures[value] = self._capture(value)
            self._views[value] = copy
        return self._views[value]

    def _finish(self, values: list[Value]) -> PortMap:
        """Make `values` the results of the body; return its port map."""
        for value in values:
            self._add_result(value)
        return branch_ports(self.captures.values(), len(values))


class BranchBuilder:
    """An If: `then` and `otherwise` build its bodies, `output` adds an output.

    with b.branch(condition) as branch:
        y = branch.output(branch.then.op("Sqrt", x), branch.otherwise.op("Negative", x))
    """

    def __init__(self, outer: GraphBuilder, op: Op, condition: Value, name: str) -> None:
        self._around = outer
        self._operation = op
        self._name = name
        self._inputs = [condition]
        self._pairs: list[tuple[Value, Value]] = []
        self._promises: list[Value] = []
        self._then = _BranchBody(outer, "then", self._capture)
        self._otherwise = _BranchBody(outer, "else", self._capture)

    @property
    def then(self) -> GraphBuilder:
        """The builder of the body that runs if the condition is true."""
        return self._then

    @property
    def otherwise(self) -> GraphBuilder:
        """Builds the body that runs if the condition is false."""
        return self._otherwise

    @guarded("building an output of a branch")
    def output(self, then: Value | Array, otherwise: Value | Array) -> Value:
        """Add an output of the If: `then` if the condition is true, `otherwise` if it is false.

        Both may also be values of the graph around the If.
        """
        self._then._require_open()
        self._pairs.append((self._then._local(then), self._otherwise._local(otherwise)))
        promised = self._around._promised(f"If.{len(self._promises)}")
        self._promises.append(promised)
        return promised

    def _capture(self, value: Value) -> int:
        if value not in self._inputs[1:]:
            self._inputs.append(value)
        return self._inputs.index(value, 1)

    def __enter__(self) -> Self:
        self._then._require_open()
        self._around._target.unfinished += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._around._target.unfinished -= 1
        if kind is None:
            self._finish()
        for body in (self._then, self._otherwise):
            body._finished = "the branch is finished: use its outputs"

    @guarded("finishing a branch")
    def _finish(self) -> None:
        if not self._pairs:
            raise UsageError("the branch has no output", fix="call output(then, otherwise)")
        bodies = (
            Body("then", self._then.graph, self._then._finish([pair[0] for pair in self._pairs])),
            Body(
                "else",
                self._otherwise.graph,
                self._otherwise._finish([pair[1] for pair in self._pairs]),
            ),
        )
        inputs, outputs = tuple(self._inputs), tuple(self._promises)
        self._around._emit_promised(self._operation, inputs, bodies, outputs, self._name)


def _require_text(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise UsageError("a name must be a text that is not empty", found=repr(name))
