"""Adds operations and constants to one graph.

The graph is the main graph of a model, or the body of a loop or branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from irloop.boundary import guarded
from irloop.building.operations import make_op
from irloop.dialects import onnx, openvino
from irloop.errors import UsageError
from irloop.graph import builder
from irloop.graph.constants import elements
from irloop.graph.inference import FOLD_LIMIT
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Constant, Op, Parameter, UnknownOp
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]] | np.generic

__all__ = ["OperationBuilder", "Target"]


@dataclass(slots=True)
class Target:
    """Model properties that are common to the graph and all bodies."""

    dialect: str
    opset: int
    #: The imported opset of each ONNX domain.
    opsets: dict[str, int] = field(default_factory=dict)
    #: The number of loops and branches that are being built.
    unfinished: int = 0

    @property
    def is_onnx(self) -> bool:
        """Return whether this is a model of ONNX operations."""
        return self.dialect == "onnx"


class OperationBuilder:
    """Adds operations and constants to one graph.

    If the graph is a body, `outer` is the builder of the graph around it, otherwise None.
    """

    def __init__(
        self, inner: builder.Builder, target: Target, outer: OperationBuilder | None
    ) -> None:
        self._inner = inner
        self._target = target
        self._outer = outer
        #: The reason why nothing more can be added; empty while the graph can grow.
        self._finished = ""

    @property
    def graph(self) -> Graph:
        """The graph so far; change it only through the builder."""
        return self._inner.graph

    @guarded("building a constant")
    def constant(
        self, data: Any, element: str | ElementType | None = None, *, name: str = ""
    ) -> Value:
        """Add a constant made of a number, a string, a (nested) list or an array.

        Args:
            data: the elements.
            element: their type, such as "f32"; by default the type of the array, or i64 for
                integers, f32 for other numbers and boolean for bool.
            name: the name of the constant.

        Raises:
            UsageError: when the data cannot be elements of this type.
        """
        self._require_open()
        made, wanted = elements(data, element)
        if name:
            return self._inner.tensor(ArrayTensor(made, wanted), name)
        return self._inner.constant(made, wanted)

    @guarded("building an operation")
    def op(
        self,
        type: str | Op,
        /,
        *inputs: Value | Array | None,
        name: str = "",
        domain: str = "",
        **attributes: Any,
    ) -> Value:
        """Add an operation and return its first output; `node` returns the node with all outputs.

        Args:
            type: a type such as "Add", in its newest version of the opset; or an object of a class
                in `irloop.dialects`, whose attributes a type checker can check.
            inputs: values; None leaves an optional input out; an array becomes a constant.
            name: the name of the node; by default made from the type.
            domain: the ONNX domain of the operation.
            attributes: by their names in files or in the class (`irloop ops NAME` lists them).

        Raises:
            UsageError: for an operation, an attribute or an input that does not exist.
            InferenceError: when the inputs contradict the operation.
        """
        return self._node(type, inputs, name, domain, attributes, None).outputs[0]

    @guarded("building an operation")
    def node(
        self,
        type: str | Op,
        /,
        *inputs: Value | Array | None,
        outputs: int | None = None,
        name: str = "",
        domain: str = "",
        **attributes: Any,
    ) -> Node:
        """Add an operation and return its node; `node.outputs` are its values.

        Args:
            type: the operation, as for `op`, which explains all arguments except `outputs`.
            outputs: the number of outputs, for operations that leave it open.

        Raises:
            UsageError: for an operation, an attribute or an input that does not exist.
            InferenceError: when the inputs contradict the operation.
        """
        return self._node(type, inputs, name, domain, attributes, outputs)

    def _node(
        self,
        type: str | Op,
        inputs: Iterable[Any],
        name: str,
        domain: str,
        attributes: dict[str, Any],
        outputs: int | None,
    ) -> Node:
        self._require_open()
        op = self._op(type, domain, attributes)
        values = tuple(None if value is None else self._local(value) for value in inputs)
        most = op.arity[1]
        if most is not None and len(values) > most:
            raise UsageError(
                f"{op.label} has no input {most}",
                expected=f"at most {most} inputs",
                found=f"{len(values)}",
            )
        count = op.n_outputs if outputs is None else outputs
        if op.domain:
            self._target.opsets.setdefault(op.domain, 1)
        made = self._inner.emit(op, *values, n_outputs=1 if count is None else count, name=name)
        if not made.outputs:
            raise UsageError(f"{op.label} has no output", fix="use node() instead of op()")
        return made

    def _op(self, type: str | Op, domain: str, attributes: dict[str, Any]) -> Op:
        model = self._target
        registry = openvino.OPENVINO if model.dialect == "openvino" else onnx.ONNX
        if isinstance(type, str):
            op = make_op(registry, type, model.opset, domain, attributes)
        elif not isinstance(type, Op):
            raise UsageError(
                "an operation is a type or an object of irloop.dialects",
                expected='such as "Add" or openvino.Add()',
                found=f"{type!r:.60}",
            )
        elif attributes:
            raise UsageError(
                f"the object {type.label} has its attributes already",
                found=str(attributes),
                fix="set the attributes in the object",
            )
        else:
            op = type
        if op.registry is not registry or isinstance(op, (Constant, Parameter, UnknownOp)):
            raise UsageError(
                f"{op.label} is not an operation of this model",
                expected=f"an operation of {model.dialect}",
                fix="constants are made by constant(), inputs by input()",
            )
        if op.body_labels:
            raise UsageError(
                f"{op.label} has a body", fix="use loop(), tensor_iterator(), scan() or branch()"
            )
        if not op.domain and op.since > model.opset:
            raise UsageError(
                f"{op.label} does not exist in opset {model.opset}",
                fix=f"build the model with opset={op.since}",
            )
        return op

    def _require_open(self) -> None:
        if self._finished:
            raise UsageError(self._finished)

    def _local(self, value: Any) -> Value:
        """Return the value to use in this graph.

        An array becomes a constant; a value of an outer graph becomes an input of this body.

        Raises:
            UsageError: for anything else.
        """
        import numpy as np

        if isinstance(value, np.ndarray | np.generic):
            return self.constant(value)
        if not isinstance(value, Value):
            raise UsageError(
                "an input of an operation must be a value of the graph",
                expected="an array, or a value returned by input(), constant(), op() and the like",
                found=f"{value!r:.60}",
                fix="make a constant of it: constant(..., element)",
            )
        if value.producer.graph is self.graph:
            return value
        if value.producer.graph is None:
            raise UsageError(
                f"{value.name!r} is an output of a loop or branch that is not finished",
                fix="use it after the `with` block",
            )
        if self._outer is None:
            raise UsageError(
                f"{value.name!r} belongs to a body or to another model",
                fix="return it from its body by last(), joined() or output()",
            )
        return self._captured(self._outer._local(value))

    def _captured(self, value: Value) -> Value:
        """Return the body's own value for `value`, which belongs to the graph around the body."""
        raise NotImplementedError

    def _copied(self, value: Value) -> Value | None:
        """Copy a small constant to this body and return the copy; None for other values."""
        op = value.producer.op
        if not isinstance(op, Constant) or op.tensor.count > FOLD_LIMIT:
            return None
        return self._inner.tensor(op.tensor, value.producer.name)

    def _promised(self, name: str) -> Value:
        """Make a placeholder for an output of a node that is added only at the end of the block."""
        return Value(Node(Parameter(), name), 0)

    def _add_result(self, value: Value) -> None:
        """Make a value a result of a body.

        ONNX Runtime fails if a body returns its own input, so an ONNX body returns a copy of the
        input.
        """
        if self._target.is_onnx and isinstance(value.producer.op, Parameter):
            value = self._inner(onnx.Identity(), value)
        names = self._inner.names
        self._inner.result(value, names.fresh(f"{value.producer.name}/out"))

    def _emit_promised(
        self,
        op: Op,
        inputs: tuple[Value | None, ...],
        bodies: tuple[Body, ...],
        wired: tuple[Value, ...],
        name: str,
    ) -> Node:
        """Add a node with bodies, and make the existing values `wired` its outputs.

        The values already have readers, because they were created before the node.
        """
        operands = list(inputs)
        while operands and operands[-1] is None:
            operands.pop()
        node = self.graph.add_node(
            op, self._inner.names.fresh(name or op.type), tuple(operands), len(wired), bodies=bodies
        )
        for index, value in enumerate(wired):
            value.producer, value.index = node, index
        node.outputs = wired
        self._inner.inference.visit(node)
        return node

    def _scalar(self, value: Any, default: Any, element: ElementType) -> Value:
        """Return `value` as a value of this graph.

        A number or a bool becomes a constant; None becomes a constant with the value `default`.
        """
        kind = bool if element is ElementType.BOOLEAN else int
        if isinstance(value, Value):
            return self._local(value)
        if value is not None and (
            not isinstance(value, kind) or isinstance(value, bool) != (kind is bool)
        ):
            raise UsageError(
                "a trip count must be an integer, and a condition a boolean",
                expected=f"{kind.__name__} or a value of the graph",
                found=f"{value!r:.60}",
            )
        return self._inner.constant(default if value is None else value, element)
