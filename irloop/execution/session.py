"""Runs a model: checks the inputs, names the outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irloop import budget
from irloop.boundary import guarded
from irloop.diagnostics import Diagnostic, Location
from irloop.errors import ExecutionError, UsageError
from irloop.execution.compile import compile_graph
from irloop.execution.failure import Extents, StepError
from irloop.execution.limits import Limits
from irloop.execution.profile import RunProfile
from irloop.execution.program import Context
from irloop.execution.trace import Tracer
from irloop.execution.wider_types import DOUBLE, NONE, SINGLE, rounded, widened
from irloop.graph.model import Graph, Model, Node
from irloop.graph.types import (
    DynamicDim,
    ElementType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    ValueType,
)
from irloop.kernels.precision import silence
from irloop.progress import listener, told

__all__ = ["Session", "bound", "input_names", "output_names", "run"]

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = Mapping[str, Any] | Sequence[Any]


def run(
    model: Model,
    inputs: Inputs,
    *,
    limits: Limits | None = None,
    trace: Tracer | None = None,
    profile: RunProfile | None = None,
) -> dict[str, Any]:
    """Run `model` and return its outputs by name, in the order of the model.

    Args:
        model: a model of either dialect, which runs as its format specifies.
        inputs: arrays by parameter or tensor name, or by position. Lists and numbers are converted
            to arrays of the declared type; arrays must already have this type.
        limits: limits of iterations, memory and time.
        trace: called after every node, in every iteration.
        profile: collects the time of every node.

    Raises:
        UsageError: for an input that is missing, unknown, or of another type or shape.
        UnsupportedError: naming every operation that cannot be run.
        ExecutionError: naming the node and the iteration in which running failed.
        LimitError: when a limit is reached.
    """
    session = Session(model, hoist=trace is None)
    return session.run(inputs, limits=limits, trace=trace, profile=profile)


class Session:
    """A compiled model with the variables that it keeps between runs."""

    @guarded("compiling a model")
    def __init__(
        self,
        model: Model,
        *,
        hoist: bool = True,
        widen: bool | None = None,
        double: bool = False,
    ) -> None:
        """Compile `model`.

        Without `hoist`, nodes that do not change between iterations stay in their bodies; a trace
        requires this. With `widen` half precision is computed in single precision. This is the
        default for OpenVINO, whose CPU does so, but not for ONNX. With `double` all floating point
        is computed in double precision, and outputs are not rounded to the declared type.

        Raises:
            UnsupportedError: naming every operation that cannot be run.
        """
        self._graph = model.graph
        single = model.dialect == "openvino" if widen is None else widen
        self._double = double
        self._wider = DOUBLE if double else SINGLE if single else NONE
        self._program = compile_graph(model.graph, hoist=hoist, wider=self._wider)
        self._outputs = output_names(model.graph)
        self._variables: dict[str, Array] = {}
        self.notes: tuple[Diagnostic, ...] = ()
        self.counts: dict[Node, set[int]] = {}
        self.branches: dict[Node, set[str]] = {}
        self.stopped: set[Node] = set()
        self.failed: tuple[Node, tuple[Extents, ...]] | None = None

    def reset(self) -> None:
        """Delete the values of all variables: the next run starts with their initial values."""
        self._variables.clear()

    @guarded("running a model")
    def run(
        self,
        inputs: Inputs,
        *,
        limits: Limits | None = None,
        trace: Tracer | None = None,
        profile: RunProfile | None = None,
    ) -> dict[str, Any]:
        """Run the model and return its outputs by name.

        The attributes `notes`, `counts`, `branches` and `stopped` then describe this run. After an
        ExecutionError, `failed` holds the node that failed and the extents of its inputs.

        Raises:
            UsageError: for an input that is missing, unknown, or of another type or shape.
            ExecutionError: naming the node and the iteration in which running went wrong.
        """
        arguments = bound(self._graph, inputs)
        if self._wider:
            arguments = [widened(value, self._wider) for value in arguments]
        allowed = limits or Limits()
        outer = budget.current().memory
        if limits is None and outer is not None:
            allowed = replace(allowed, max_memory=outer)
        context = Context(allowed, trace, profile, self._variables)
        context.start()
        context.told, context.outermost = listener(), self._program.steps
        self.failed = None
        try:
            # Overflow and division by zero return values here, and cause no warnings.
            with silence(), budget.current().of_a_run().entered():
                results = self._program.call(context, arguments)
        except StepError as failure:
            self.failed = failure.node, failure.operands
            raise failure.as_error() from failure.__cause__
        except RecursionError as error:
            raise ExecutionError("bodies are nested too deeply to be run") from error
        self.notes = tuple(context.notes)
        told("operations", 1, 1)
        self.counts, self.branches = context.counts, context.branches
        self.stopped = context.stopped
        if self._wider and not self._double:
            types = [value.type for value in self._graph.outputs]
            pairs = zip(results, types, strict=True)
            results = [rounded(value, type, self._wider) for value, type in pairs]
        return dict(zip(self._outputs, map(_output, results), strict=True))


def input_names(graph: Graph) -> tuple[str, ...]:
    """The names of the inputs, in order."""
    return tuple(node.name for node in graph.parameters)


def output_names(graph: Graph) -> tuple[str, ...]:
    """The names of the outputs, in order; a repeated name gets a number."""
    names = [node.name for node in graph.results]
    known = {*names}
    twice = {name for name, count in Counter(names).items() if count > 1}
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        # Another output may have the name with this number.
        while name in twice and f"{name}#{seen[name]}" in known:
            seen[name] += 1
        unique.append(f"{name}#{seen[name]}" if name in twice else name)
        seen[name] += 1
    return tuple(unique)


def _output(value: Any) -> Any:
    if value is None or isinstance(value, list):
        return value
    return np.asarray(value)


def bound(graph: Graph, inputs: Inputs) -> list[Any]:
    """The values of the parameters, in order, checked against their types."""
    if isinstance(inputs, Mapping):
        ordered = _by_name(graph, inputs)
    elif isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
        raise UsageError(
            "the inputs are neither a dict of names nor a list in order",
            expected=", ".join(input_names(graph)) or "no inputs",
            found=f"{inputs!r:.60}",
        )
    else:
        ordered = list(inputs)
        if len(ordered) != len(graph.parameters):
            raise UsageError(
                "wrong number of inputs",
                expected=f"{len(graph.parameters)} ({', '.join(input_names(graph))})",
                found=str(len(ordered)),
            )
    return [
        _conform(node, value, node.outputs[0].type)
        for node, value in zip(graph.parameters, ordered, strict=True)
    ]


def _by_name(graph: Graph, inputs: Mapping[str, Any]) -> list[Any]:
    left = dict(inputs)
    ordered: list[Any] = []
    missing = []
    for node in graph.parameters:
        name = next((name for name in (node.name, *node.outputs[0].names) if name in left), None)
        ordered.append(None if name is None else left.pop(name))
        if name is None and not isinstance(node.outputs[0].type, OptionalType):
            missing.append(node.name)
    if missing or left:
        parts = [f"missing: {', '.join(missing)}"] if missing else []
        extra = ", ".join(left)
        raise UsageError(
            "the names of the inputs are not those of the model",
            expected=", ".join(input_names(graph)) or "no inputs",
            found="; ".join([*parts, f"unknown: {extra}"] if extra else parts),
        )
    return ordered


def _conform(node: Node, value: Any, type: ValueType) -> Any:
    if isinstance(type, OptionalType):
        return None if value is None else _conform(node, value, type.item)
    if isinstance(type, SequenceType):
        if not isinstance(value, list | tuple):
            raise _refused(node, type, value)
        return [_conform(node, item, type.item) for item in value]
    if isinstance(value, list) and type.element is ElementType.DYNAMIC:
        # Without a declared type, a list of arrays can only be read as a sequence.
        return value
    if value is None:
        raise _refused(node, type, value)
    array = _as_array(node, value, type)
    if not _fits(type.shape, array.shape):
        raise _refused(node, type, array)
    return array


def _as_array(node: Node, value: Any, type: TensorType) -> Array:
    known = type.element is not ElementType.DYNAMIC
    if not isinstance(value, np.ndarray):
        try:
            return np.asarray(value, dtype=type.element.numpy() if known else None)
        except (ValueError, TypeError, OverflowError) as error:
            raise _refused(node, type, value) from error
    array = np.asarray(value)
    if type.element is ElementType.STRING and array.dtype.kind in "US":
        return array.astype(object)
    if known and array.dtype != type.element.numpy():
        raise _refused(node, type, array, type.element.numpy().name)
    return (
        array
        if array.flags.aligned and array.dtype.isnative
        else array.astype(array.dtype.newbyteorder("="))
    )


def _refused(node: Node, type: ValueType, value: Any, wanted: str = "") -> UsageError:
    """The error for a value that does not fit; `wanted` is a type to which it can be cast."""
    if isinstance(value, np.ndarray):
        actual = f"{value.dtype.name}{list(value.shape)}"
    else:
        actual = "nothing" if value is None else f"{value!r:.60}"
    return UsageError(
        f"input {node.name!r} does not fit the model",
        location=Location(node.location.file, node.location.line, node.name),
        expected=str(type),
        found=actual,
        fix=f"cast it: inputs[{node.name!r}].astype({wanted!r})" if wanted else "",
    )


def _fits(shape: Shape, sizes: tuple[int, ...]) -> bool:
    if shape.dims is None:
        return True
    if len(shape.dims) != len(sizes):
        return False
    return all(map(_dim_fits, shape.dims, sizes))


def _dim_fits(dim: int | DynamicDim, size: int) -> bool:
    if isinstance(dim, int):
        return dim == size
    return dim.low <= size and (dim.high is None or size <= dim.high)
