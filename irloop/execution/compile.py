"""Compiles a graph to a program: binds attributes, places constants, frees dead values.

In the body of a loop, steps that depend only on values that never change move to the prologue,
which runs once for each execution of the loop. Nodes without readers are left out, except Assign.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irloop import kernels
from irloop.analysis.constant_loops import is_pure
from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.contrib.refused import reason_of
from irloop.dialects.onnx import control_flow as onnx_flow
from irloop.dialects.onnx import convert as onnx_convert
from irloop.dialects.openvino import control_flow as openvino_flow
from irloop.dialects.openvino import convert
from irloop.errors import ExecutionError, UnsupportedError, plain_reason
from irloop.execution.activated import with_activations
from irloop.execution.branch import Branches
from irloop.execution.in_place import in_place
from irloop.execution.loops import Loop, LoopBody
from irloop.execution.memory import expands, room_needed, value_bytes
from irloop.execution.onnx_loops import BatchedScan, OnnxLoop, OnnxScan
from irloop.execution.openvino_loops import OpenVinoLoop, TensorIterator
from irloop.execution.operands import checked
from irloop.execution.program import CONTEXT, FIRST_FREE, NOTHING, Context, Program, Step
from irloop.execution.state import STATEFUL, stateful_kernel
from irloop.execution.step_costs import call_work, known_work, viewed_work
from irloop.execution.whole_axis import over_whole_axis
from irloop.execution.wider_types import NONE, Wider, widened, widened_op, widened_type
from irloop.graph.builder import element_of
from irloop.graph.inference import Inference
from irloop.graph.loops import Carried, Invariant, ScanInput, Sliced
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Constant, Kernel, Op, UnknownOp
from irloop.graph.types import ElementType, TensorType, ValueType, refine_type
from irloop.graph.walk import all_graphs, all_nodes, is_constant, node_path, upstream
from irloop.graph.wellformed import misfit

__all__ = ["compile_graph", "missing"]

Array = np.ndarray[Any, np.dtype[Any]]

_LOOPS: dict[type, type[Loop]] = {
    openvino_flow.Loop: OpenVinoLoop,
    openvino_flow.TensorIterator: TensorIterator,
    onnx_flow.Loop: OnnxLoop,
    onnx_flow.Scan: OnnxScan,
    onnx_flow.Scan8: BatchedScan,
}
_IDENTITIES = (onnx_convert.Identity, convert.Identity)
_BRANCHES = (openvino_flow.If, onnx_flow.If)


def compile_graph(graph: Graph, *, hoist: bool = True, wider: Wider = NONE) -> Program:
    """Compile a graph and all its bodies to a program.

    Without `hoist` every node of a body runs in every iteration, which a trace requires. `wider`
    maps element types to the types in which they are computed.

    Raises:
        UnsupportedError: naming every operation that cannot be run, how often the model has it, and
            where.
        ExecutionError: naming every body parameter that is read and gets no value.
    """
    findings = missing(graph)
    if findings:
        names = ", ".join(item.found for item in findings)
        raise UnsupportedError(f"operations that cannot be run: {names}", diagnostics=findings)
    unfed = without_value(graph)
    if unfed:
        raise ExecutionError(unfed[0].message, diagnostics=unfed)
    return _Compiler(hoist, wider, body_types(graph)).program(graph)


def missing(graph: Graph) -> list[Diagnostic]:
    """One finding for each operation type in `graph` without a kernel.

    It tells how many nodes have this type, and names some of them.
    """
    places: dict[str, list[Node]] = {}
    causes: dict[str, str] = {}
    for node in all_nodes(graph):
        reason = _refusal(node)
        if reason is not None:
            places.setdefault(node.op.label, []).append(node)
            causes.setdefault(node.op.label, reason)
    return [
        Diagnostic(
            "RUN003",
            Severity.ERROR,
            f"{label} cannot be run ({len(nodes)} in the model: {_some(nodes)})",
            nodes[0].location,
            expected="an operation for which irloop has a kernel",
            found=label,
            cause=causes[label],
        )
        for label, nodes in places.items()
    ]


def without_value(graph: Graph) -> list[Diagnostic]:
    """One finding for each body parameter that is read, but that no port map feeds.

    OpenVINO reads uninitialised memory for such a parameter.
    """
    findings = []
    for node in all_nodes(graph):
        for body in node.bodies:
            ports = body.ports
            findings += [
                Diagnostic(
                    "RUN001",
                    Severity.ERROR,
                    f"body parameter {node_path(parameter)!r} is read, but gets no value",
                    parameter.location,
                    expected="an input of the port map for it (rule IRL512, in branches IRL708)",
                    found="none",
                )
                for index, parameter in enumerate(body.graph.parameters)
                if parameter.outputs[0].is_used
                and index not in ports.by_parameter
                and index != ports.iteration
            ]
    return findings


def _refusal(node: Node) -> str | None:
    """Return the reason why a node cannot be run; None if it can be run.

    The reason is an empty string if there are no details.
    """
    if isinstance(node.op, UnknownOp):
        return reason_of(node.op)
    # A node that nothing reads is not run, so it does not matter whether it can be run.
    wrong = misfit(node) if any(value.is_used for value in node.outputs) else None
    if wrong is not None:
        return str(wrong)
    if node.bodies or isinstance(node.op, Constant):
        return None if isinstance(node.op, (*_LOOPS, *_BRANCHES, Constant)) else ""
    if isinstance(node.op, STATEFUL):
        return None
    try:
        node.op.kernel(len(node.outputs))
    except NotImplementedError as error:
        reason = str(error)
        return "" if reason == node.op.label else reason
    except Exception as error:  # the attributes in a file may have any value
        return f"its attributes contradict each other: {plain_reason(error)}".removesuffix(": ")
    return None


def _some(nodes: list[Node]) -> str:
    names = ", ".join(node_path(node) for node in nodes[:5])
    return names if len(nodes) <= 5 else f"{names}, ..."


def needed(graph: Graph) -> set[Node]:
    """The nodes that a result or a state depends on."""
    ends = [value.producer for value in graph.outputs]
    return set(upstream([*ends, *(node for node in graph.nodes if keeps_state(node))]))


def keeps_state(node: Node) -> bool:
    """Return whether an operation reads or writes a variable itself or in its bodies."""
    if isinstance(node.op, STATEFUL):
        return True
    return any(
        isinstance(inner.op, STATEFUL) for body in node.bodies for inner in all_nodes(body.graph)
    )


def repeatable(node: Node) -> bool:
    """Return whether the same inputs always give the same outputs."""
    return is_pure(node) and not keeps_state(node)


def _fewer_outputs(node: Node, kernel: Kernel) -> Kernel:
    """Make `kernel` return only as many outputs as `node` has.

    An IR layer may have fewer output ports than its operation has outputs. The kernel then drops
    its last outputs.
    """
    count = len(node.outputs)
    if node.op.n_outputs is None or count >= node.op.n_outputs:
        return kernel

    def apply(*inputs: Any) -> Any:
        made = kernel(*inputs)
        if not isinstance(made, tuple):
            return made if count else ()
        return made[0] if count == 1 else made[:count]

    return apply


def _computed_in_advance(node: Node) -> bool:
    """Return whether engines compute a node by other rules when they fold it than when they run it.

    Engines fold a node when they read the model, if all its inputs are constants. The classes of
    operations with other rules for this case override `kernel_of_constants`.
    """
    if type(node.op).kernel_of_constants is Op.kernel_of_constants:
        return False
    return all(value is None or is_constant(value) for value in node.inputs)


def _decoding(node: Node, kernel: Kernel) -> Kernel:
    """Wrap the kernel of a Convert or ConvertLike of nf4 data so that it decodes the data first.

    An array of nf4 contains the 4-bit codes of the file, not the numbers that these encode. For all
    other nodes, `kernel` itself is returned.
    """
    if not isinstance(node.op, convert.Convert | convert.ConvertLike):
        return kernel
    data = node.inputs[0]
    if data is None or element_of(data) is not ElementType.NF4:
        return kernel
    decoding: Kernel = kernels.convert.decoding_nf4(kernel)
    return decoding


@dataclass(slots=True)
class _Frame:
    """The slots of one graph that is being compiled.

    `slot_of` maps each value to its slot, and `template` holds the initial content of each slot.
    """

    slot_of: dict[Value, int] = field(default_factory=dict)
    template: list[Any] = field(default_factory=lambda: [None] * FIRST_FREE)

    def new(self, value: Value, content: Any = None) -> int:
        """Add a slot for a value, with this initial content, and return its number."""
        self.slot_of[value] = len(self.template)
        self.template.append(content)
        return self.slot_of[value]


class _Compiler:
    def __init__(self, hoist: bool, wider: Wider, types: Mapping[Value, ValueType]) -> None:
        self._hoist = hoist
        self._wider = wider
        self._types = types

    def program(
        self, graph: Graph, body: Body | None = None, steady: Collection[int] = ()
    ) -> Program:
        """Compile a graph to a program; with `body`, the graph is the body of a loop.

        `steady` are the positions of parameters that have the same value whenever the body runs,
        although a back edge ends in them: the condition of an ONNX Loop, for example.
        """
        frame = _Frame()
        fixed: set[int] = set()
        for index, value in enumerate(graph.inputs):
            slot = frame.new(value)
            if body is not None and (index in steady or _stays(body, index)):
                fixed.add(slot)
        prologue: list[Step] = []
        steps: list[Step] = []
        wanted = needed(graph)
        for node in graph.nodes:
            if node not in wanted:
                continue
            if isinstance(node.op, Constant):
                fixed.add(frame.new(node.outputs[0], self._constant(node)))
                continue
            if self._hoist and _passes_on(node) and node.inputs[0] is not None:
                frame.slot_of[node.outputs[0]] = frame.slot_of[node.inputs[0]]
                continue
            step = self._step(node, frame, inside=body is not None)
            once = body is not None and self._hoist and repeatable(node)
            if once and all(slot in fixed or slot in (NOTHING, CONTEXT) for slot in step.ins):
                prologue.append(step)
                fixed.update(step.outs)
            else:
                steps.append(step)
        outputs = tuple(frame.slot_of[value] for value in graph.outputs)
        keep = {*outputs, *fixed, NOTHING, CONTEXT}
        inputs = tuple(frame.slot_of[value] for value in graph.inputs)
        stacked: list[Step] = []
        rest: list[Step] = []
        if body is not None and self._hoist:
            ports = [port for port in body.ports.inputs if isinstance(port, Sliced | ScanInput)]
            stacked, rest = _split(steps, {inputs[port.parameter] for port in ports}, fixed)
        done = _with_frees(steps, keep)
        return Program(
            inputs,
            outputs,
            in_place(with_activations(done)) if body is None and self._hoist else done,
            frame.template,
            _with_frees(prologue, keep | {slot for step in prologue for slot in step.outs}),
            frozenset(fixed),
            tuple(stacked),
            _with_frees(rest, keep),
        )

    def _step(self, node: Node, frame: _Frame, *, inside: bool) -> Step:
        ins = tuple(NOTHING if v is None else frame.slot_of[v] for v in node.read_inputs)
        outs = tuple(frame.new(value) for value in node.outputs)
        if node.bodies:
            return Step(self._control(node), (CONTEXT, *ins), outs, (), node, 0, call_work(node))
        if isinstance(node.op, STATEFUL):
            stateful = _fewer_outputs(node, stateful_kernel(node))
            return Step(stateful, (CONTEXT, *ins), outs, (), node, 0)
        op = widened_op(node.op, self._wider) if self._wider else node.op
        bind = op.kernel_of_constants if _computed_in_advance(node) else op.kernel
        kernel = _fewer_outputs(node, _decoding(node, bind(len(node.outputs))))
        kernel = kernels.precision.bare(kernel, of_floats=self._is_float(node))
        kernel = checked(node, kernel, self._types)
        size = value_bytes(self._types, node.outputs)
        if size is None and inside and expands(node):
            # Later iterations run without checks of memory, so this kernel checks its memory
            # itself.
            return Step(_guarded(node, kernel), (CONTEXT, *ins), outs, (), node, 0, call_work(node))
        return Step(kernel, ins, outs, (), node, size, known_work(node, self._types))

    def _control(self, node: Node) -> Kernel:
        if isinstance(node.op, _BRANCHES):
            bodies = {body.label: self.program(body.graph) for body in node.bodies}
            return Branches(node, bodies)
        (body,) = node.bodies
        steady = []
        if isinstance(node.op, onnx_flow.Loop):
            # An iteration starts only if the condition is true, so the condition is always true
            # here.
            steady = [port.parameter for port in body.ports.carried if port.external == 1]
        program = self.program(body.graph, body, steady)
        results = body.graph.outputs
        types = tuple(map(self._type, results))
        parameters = tuple(map(self._type, body.graph.inputs))
        return _LOOPS[type(node.op)](node, LoopBody(program, body.ports, parameters, types))

    def _is_float(self, node: Node) -> bool:
        """Return whether inference shows that operand 0 is f32 or f64.

        Types that are only declared in the file do not count.
        """
        value = node.inputs[0] if node.inputs else None
        if value is None or value not in self._types:
            return False
        type = self._type(value)
        return isinstance(type, TensorType) and type.element in (ElementType.F32, ElementType.F64)

    def _type(self, value: Value) -> ValueType:
        found = self._types.get(value, value.type)
        return widened_type(found, self._wider)

    def _constant(self, node: Node) -> Array:
        assert isinstance(node.op, Constant)
        array: Array = widened(node.op.tensor.loaded(), self._wider)
        # Each operation that reads a constant at an unaligned address would copy it, so copy it
        # once here.
        return array if array.flags.aligned else array.copy()


def _stays(body: Body, parameter: int) -> bool:
    """Return whether a body parameter has the same value in every iteration."""
    port = body.ports.by_parameter.get(parameter)
    if isinstance(port, Invariant):
        return True
    if not isinstance(port, Carried):
        return False
    value = body.graph.results[port.result].inputs[0]
    while value is not None and _passes_on(value.producer):
        value = value.producer.inputs[0]
    return value is body.graph.input(parameter)


def _split(
    steps: Sequence[Step], sliced: set[int], fixed: set[int]
) -> tuple[list[Step], list[Step]]:
    """Split steps into those that can run once on the slices of all iterations, and the others.

    `sliced` are the slots that hold slices, `fixed` those that are equal in all iterations.
    """
    stacked: list[Step] = []
    rest: list[Step] = []
    known = set(sliced)
    for step in steps:
        marks = tuple(slot in known for slot in step.ins)
        ready = all(mark or slot in fixed for mark, slot in zip(marks, step.ins, strict=True))
        plain = CONTEXT not in step.ins and any(marks) and repeatable(step.node)
        fn = over_whole_axis(step.node, step.fn, marks) if ready and plain else None
        if fn is None:
            rest.append(step)
            continue
        stacked.append(step._replace(fn=fn, size=None))
        known.update(step.outs)
    return stacked, rest


def _passes_on(node: Node) -> bool:
    return isinstance(node.op, _IDENTITIES) and len(node.inputs) == 1 and len(node.outputs) == 1


def _guarded(node: Node, kernel: Kernel) -> Kernel:
    def run(context: Context, *values: Any) -> Any:
        room = room_needed(node, list(values), context.limits.max_memory)
        if room:
            context.check_memory(node, room)
        made = kernel(*values)
        # A view costs as many steps as a copy of its elements, once for making it and once for each
        # reader.
        results = made if isinstance(made, tuple) else (made,)
        readers = sum(len(value.uses) for value in node.outputs)
        context.charge(viewed_work(results) * (1 + readers), node)
        return made

    return run


def _with_frees(steps: Sequence[Step], keep: Iterable[int]) -> tuple[Step, ...]:
    """Return copies of the steps that list which slots to release after each step.

    A slot is released after the last step that reads or writes it. The slots in `keep` are never
    released.
    """
    seen = set(keep)
    freeing = []
    for step in reversed(steps):
        slots = dict.fromkeys((*step.ins, *step.outs))
        freeing.append(step._replace(frees=tuple(slot for slot in slots if slot not in seen)))
        seen.update(slots)
    return tuple(reversed(freeing))


def body_types(graph: Graph) -> dict[Value, ValueType]:
    """Infer the types of all values of a graph that contains loops or branches.

    Inference is needed for the shapes of the outputs of a loop that runs zero times. The result is
    empty for other graphs, because their declared types are enough.
    """
    if not any(node.bodies for node in graph.nodes):
        return {}
    declared = {value: value.type for value in _values(graph)}
    try:
        Inference(tolerant=True).run(graph)
        return {value: refine_type(value.type, kept) for value, kept in declared.items()}
    finally:
        for value, kept in declared.items():
            value.type = kept


def _values(graph: Graph) -> list[Value]:
    values: list[Value] = []
    for inner in all_graphs(graph):
        values.extend(inner.inputs)
    for node in all_nodes(graph):
        values.extend(node.outputs)
    return values
