"""Translates a graph to the other dialect node by node, and collects all failures.

A rule translates one operation of the source into operations of the target:

    @exports(ov.Concat)
    def concat(c: Export, op: ov.Concat, *inputs: Value) -> Value:
        return c(onnx.Concat(op.axis), *inputs)

A rule returns the target value of each source output. `rules` has the tables of rules, and
`directions` the class of `c` for each direction: rules emit operations by its verbs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

from irloop.conversion.framework.rules import EXPORTS, IMPORTS, Rule, Rules, exports, imports
from irloop.conversion.framework.virtual_values import Virtual
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.writing.writer import RefusedError, Writer
from irloop.errors import InferenceError, InternalError, IrloopError, plain_reason
from irloop.graph.builder import Builder, Names, shape_of
from irloop.graph.inference import Inference
from irloop.graph.input_types import missing_options
from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Constant, Op, UnknownOp
from irloop.graph.types import Dim, ElementType, TensorType
from irloop.graph.walk import node_path, owners
from irloop.graph.wellformed import misfit
from irloop.progress import counted

__all__ = [
    "EXPORTS",
    "IMPORTS",
    "Conversion",
    "Converter",
    "RefusedError",
    "exports",
    "imports",
    "no_counterpart",
]

#: The translation of a source value: a target value, or a `Virtual` without a target type.
Converted = Value | Virtual
Outputs = Converted | Sequence[Converted | None]
RuleT = TypeVar("RuleT", bound=Rule)

#: Rules that accept virtual inputs (sequences and optionals).
_TAKES_VIRTUAL: set[Rule] = set()


#: The most elements of a table that compares every element with every other, if the default opset
#: is written. Up to this size the table takes about as long as an operation of a newer opset.
LARGEST_TABLE = 2**14


def no_counterpart(table: Rules, *classes: type[Op], reason: str, fix: str) -> None:
    """Register operations that are refused in one direction, with the reason.

    `table` is EXPORTS or IMPORTS; it determines the direction.
    """

    def rule(c: Conversion, op: Op, *inputs: Converted | None) -> Outputs:
        raise RefusedError(reason, fix)

    takes_virtual(rule)
    for cls in classes:
        table.add(cls, rule, reason)


def takes_virtual(rule: RuleT) -> RuleT:
    """Mark a rule that accepts sequences and optionals, which exist only during conversion."""
    _TAKES_VIRTUAL.add(rule)
    return rule


class Newer(NamedTuple):
    """A source node that is written in opset `since`, and what the default opset does with it."""

    since: int
    node: Node
    otherwise: str


@dataclass(eq=False, repr=False)
class Converter:
    """State shared by all graphs of one conversion.

    `opset` is the ai.onnx opset to write (to ONNX) or the newest OpenVINO opset allowed (to
    OpenVINO). `refusals` collects every node that cannot be converted; `notes` collects warnings.
    """

    rules: Rules
    opset: int
    options: dict[str, Any] = field(default_factory=dict)
    refusals: list[Diagnostic] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)
    #: The translations of the values that bodies capture, as pairs (source value, target value).
    in_bodies: list[tuple[Value, Value]] = field(default_factory=list)
    #: For each refusal, the first opset in which the node can be converted; 0 if there is none.
    cures: list[int] = field(default_factory=list)
    #: Known constants and partly known shapes of the source graph.
    source: Inference = field(default_factory=Inference)
    #: True if `opset` is only the default, so an operation may be written in a newer opset.
    may_be_newer: bool = False
    #: The source nodes that are written in a newer opset than the default one.
    newer: list[Newer] = field(default_factory=list)


def _is_small(table: Sequence[Dim | None]) -> bool:
    """Return whether a table is known to have at most `LARGEST_TABLE` elements.

    `table` holds its dimensions. All must be known, unless one is 0: the table then has no
    elements.
    """
    if 0 in table:
        return True
    sizes = [size for size in table if isinstance(size, int)]
    return len(sizes) == len(table) and math.prod(sizes) <= LARGEST_TABLE


def _missing(node: Node) -> str:
    """Advice for a refused node whose operands have unknown types or sizes."""
    types = [value.type for value in node.read_inputs if value is not None]
    if all(
        isinstance(type, TensorType)
        and type.shape.is_static
        and type.element is not ElementType.DYNAMIC
        for type in types
    ):
        return ""
    *_, outermost = (node, *owners(node))
    options = "" if outermost.graph is None else missing_options(outermost.graph)
    return options and f"give the inputs what is not known of them: {options}"


class Conversion(Builder, Writer):
    """A builder of the target graph that knows the source node being translated (`node`).

    The directions are `Export` and `Import`, which have the vocabulary of the target dialect.
    """

    def __init__(
        self,
        graph: Graph,
        converter: Converter,
        *,
        names: Names | None = None,
        inference: Inference | None = None,
    ) -> None:
        super().__init__(graph, names=names, inference=inference)
        self.converter = converter
        self.known_shapes = {}
        #: True directly in the body of a TensorIterator, where OpenVINO allows no TensorIterator.
        self.in_tensor_iterator = False
        #: True in the body of a loop or branch that is written. An unrolled body is none, so the
        #: source node does not tell.
        self.is_nested = False
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The source node being translated."""
        assert self._node is not None, "no node is being translated"
        return self._node

    @property
    def opset(self) -> int:
        """The opset being written."""
        return self.converter.opset

    def require(self, op: Op) -> None:
        """Refuse an ai.onnx operation that the target opset does not have.

        Raises:
            RefusedError: naming the opset that has it.
        """
        converter = self.converter
        if op.since > converter.opset and converter.rules is EXPORTS and not op.domain:
            reason = f"it needs {op.type} of opset {op.since}, but {self.opset} is being written"
            raise self.refuse(reason, opset=op.since)

    def nested(self, name: str) -> Self:
        """A conversion that writes into a new body."""
        inner = type(self)(Graph(name), self.converter, names=self.names, inference=self.inference)
        inner.location, inner.prefix, inner._node = self.location, self.prefix, self._node
        inner.is_nested = True
        return inner

    def refuse(self, reason: str, fix: str = "", *, opset: int = 0) -> RefusedError:
        """Create the exception to raise if this node cannot be converted, with the reason.

        `opset` is the first opset in which it could be converted.
        """
        return RefusedError(
            reason, fix or (f"write opset {opset} or newer" if opset else ""), opset
        )

    def has(
        self,
        since: int,
        *table: Dim | None,
        otherwise: str = "would compare every element with every other",
    ) -> bool:
        """Return whether to write an operation of opset `since` instead of an older form.

        If the user requested an opset, only this opset decides. Otherwise, the operation is also
        written if the older form needs a tensor of more than `LARGEST_TABLE` elements or of unknown
        size; `table` has the dimensions of its largest tensor, and `otherwise` says what the older
        form does with it. This is possible in an IR, which names the opset of each operation. An
        ONNX model has one opset for all operations, so the node is refused instead.

        Raises:
            RefusedError: naming the newer ONNX opset in which the model is to be written.
        """
        if self.opset >= since:
            return True
        if not self.converter.may_be_newer or _is_small(table):
            return False
        self.converter.newer.append(Newer(since, self.node, otherwise))
        if self.converter.rules is EXPORTS:
            reason = f"opset {self.opset} has only a form with a large table for it"
            raise self.refuse(reason, opset=since)
        return True

    def rank_of(self, data: Value) -> int:
        """The rank of an operand of this node.

        Raises:
            RefusedError: when it is not known.
        """
        rank = shape_of(data).rank
        if rank is None:
            raise self.refuse(
                "the rank of its data is not known", "declare the shapes of the inputs"
            )
        return rank

    def warn(
        self, code: str, message: str, fix: str = "", severity: Severity = Severity.WARNING
    ) -> None:
        """Add a warning about this node for the user, or a note of another severity."""
        location = Location(line=self.node.location.line, path=node_path(self.node))
        self.converter.notes.append(Diagnostic(code, severity, message, location=location, fix=fix))

    def convert_graph(self, source: Graph, parameters: Sequence[Value]) -> list[Value]:
        """Translate the nodes of `source` into this graph.

        `parameters` are the target values of the parameters of `source`; returns the target values
        of its results. The caller creates the parameters and results.

        Raises:
            RefusedError: when a result is a sequence or an optional.
        """
        results = self.convert_any(source, parameters)
        for node, value in zip(source.results, results, strict=True):
            if not isinstance(value, Value):
                raise self.refuse(
                    f"{node.name!r} is {value}; only tensors can be outputs of a graph"
                )
        return [value for value in results if isinstance(value, Value)]

    def convert_any(self, source: Graph, parameters: Sequence[Converted]) -> list[Converted]:
        """Translate the nodes of `source` into this graph; return the values of its results.

        `parameters` are the target values of the parameters of `source`. They and the results may
        be sequences and optionals.
        """
        values: dict[Value, Converted] = dict(zip(source.inputs, parameters, strict=True))
        outer = (self._node, self.location, self.prefix)
        nodes: Iterable[Node] = source.nodes
        is_body = source.owner is not None
        if not is_body:
            nodes = counted("operations", nodes, len(source), every=16)
        for node in nodes:
            self._node, self.location, self.prefix = node, node.location, node.name
            op = node.op
            outputs: Sequence[Converted | None]
            if isinstance(op, Constant):
                outputs = (self.tensor(op.tensor, node.name),)
            else:
                outputs = self._convert_node(
                    node, [None if v is None else values[v] for v in node.read_inputs]
                )
            for old, new in zip(node.outputs, outputs, strict=False):
                if new is None:
                    continue
                values[old] = new
                if isinstance(new, Value):
                    if is_body:
                        self.converter.in_bodies.append((old, new))
                    self._take_type(old, new)
                    new.names = new.names or old.names
        self._node, self.location, self.prefix = outer
        return [values[value] for value in source.outputs]

    def _convert_node(
        self, node: Node, inputs: list[Converted | None]
    ) -> Sequence[Converted | None]:
        rule = self.converter.rules.find(type(node.op))
        try:
            wrong = misfit(node)
            if wrong is not None:
                raise RefusedError(str(wrong), "validate the model first")
            if rule is None:
                raise self._without_rule(node)
            for item in inputs:
                if isinstance(item, Virtual) and rule not in _TAKES_VIRTUAL:
                    raise RefusedError(f"one of its inputs is {item}, and IR has tensors only")
            result = rule(self, node.op, *inputs)
        except (RefusedError, InferenceError) as error:
            self._refused(node, error)
            return self._placeholder(node)
        except (ArithmeticError, ValueError) as error:
            # The attributes and constants in a file may be infinite, zero or huge, so rules may
            # fail on them.
            reason = f"its attributes or shapes contradict each other: {plain_reason(error)}"
            reason = reason.removesuffix(": ")
            self._refused(node, RefusedError(reason))
            return self._placeholder(node)
        except (IrloopError, MemoryError, RecursionError):
            raise
        except Exception as error:
            raise InternalError(f"converting {node.op.label} {node_path(node)!r}", error) from error
        if isinstance(result, Value) and len(node.outputs) == 1:
            # Nearly every rule returns one value.
            self._take_name_of(node, result, inputs)
            return (result,)
        outputs = (result,) if isinstance(result, (Value, Virtual)) else result
        if len(outputs) < len(node.outputs) or None in outputs:
            made = [*outputs, *[None] * len(node.outputs)]
            pairs = zip(node.outputs, made, strict=False)
            if any(old.is_used and new is None for old, new in pairs):
                self._refused(
                    node, RefusedError("the conversion rule does not compute all of its outputs")
                )
                return self._placeholder(node)
        first = next((value for value in outputs if isinstance(value, Value)), None)
        if first is not None:
            self._take_name_of(node, first, inputs)
        return outputs

    def _without_rule(self, node: Node) -> RefusedError:
        """The error for a node without a conversion rule, with the reason if one is known."""
        from irloop.dialects.contrib.base import ContribOp
        from irloop.dialects.contrib.refused import reason_of
        from irloop.passes.common.standardize import why_not

        if isinstance(node.op, ContribOp):
            reason = why_not(node, self.converter.source)
        else:
            reason = reason_of(node.op)
        return RefusedError(reason or "irloop has no conversion for it")

    def _refused(self, node: Node, error: RefusedError | InferenceError) -> None:
        expected = actual = fix = ""
        if isinstance(error, RefusedError):
            reason, fix = error.reason, error.fix
            self.converter.cures.append(error.opset)
        else:
            self.converter.cures.append(0)
            first = error.diagnostics[0]
            reason, expected, actual = error.message, first.expected, first.found
        path = node_path(node)
        fix = fix or _missing(node)
        self.converter.refusals.append(
            Diagnostic(
                "CNV001",
                Severity.ERROR,
                f"{node.op.label} {path!r} cannot be converted: {reason}",
                location=Location(line=node.location.line, path=path),
                expected=expected,
                found=actual,
                fix=fix,
            )
        )

    def _placeholder(self, node: Node) -> Sequence[Value]:
        # Add a placeholder for the refused node, so that the nodes after it are translated as well.
        placeholder = self.graph.add_node(
            UnknownOp(node.op.type or node.op.label, "0"),
            self.names.fresh(node.name),
            (),
            len(node.outputs),
            types=tuple(value.type for value in node.outputs),
        )
        return placeholder.outputs

    def _take_name_of(self, source: Node, first: Value, inputs: Sequence[Converted | None]) -> None:
        """Name the translation of the node `source` after it.

        The new name goes to the node that computes `first`, the first value that the conversion
        rule returned. That node keeps its own name if it is a constant or belongs to another graph,
        or if `first` is one of `inputs`, the converted inputs of `source`.
        """
        target = first.producer
        if target.graph is not self.graph or first in inputs:
            return
        if not isinstance(target.op, Constant) and source.name:
            target.name = self.names.fresh(source.name)
            target.info = source.info

    def _take_type(self, old: Value, new: Value) -> None:
        # Keep the type that the source declares if inference finds none for the target.
        type = new.type
        if isinstance(type, TensorType):
            unknown = type.element is ElementType.DYNAMIC or type.shape.dims is None
            if unknown and new.producer.graph is self.graph:
                self.inference.declare(new, old.type)
