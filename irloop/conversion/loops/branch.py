"""Converts If."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import (
    Conversion,
    Converted,
    exports,
    imports,
    takes_virtual,
)
from irloop.conversion.framework.virtual_values import Items, Maybe, mapped
from irloop.conversion.loops.deciding_sizes import (
    choosing_inputs,
    deciding_inputs,
    fixing,
)
from irloop.conversion.loops.guarded_scan import guards_a_scan
from irloop.conversion.loops.optionals import with_flag
from irloop.conversion.loops.ragged import as_ragged, is_ragged
from irloop.conversion.loops.stacks import as_stack
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wires import branch_ports
from irloop.graph.builder import element_of, shape_of
from irloop.graph.input_types import shape_option
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType, OptionalType, ValueType, differ_in_shape
from irloop.graph.walk import owners

__all__ = ["export_if", "import_if"]

#: From this ONNX opset on, the branches of an If may return different shapes.
SHAPES_DIFFER = 11


@exports(ov.If)
def export_if(c: Export, op: ov.If, *inputs: Converted | None) -> Sequence[Converted | None]:
    """Write an ONNX If, whose branches capture the values that the port maps pass in."""
    condition = inputs[0]
    if not isinstance(condition, Value):
        raise c.refuse("its condition is not a tensor, or not connected")
    taken = _taken(c, condition)
    if taken is not None:
        return _inline(c, taken, inputs)
    if element_of(condition) not in (ElementType.BOOLEAN, ElementType.DYNAMIC):
        raise c.refuse(f"the condition has element type {element_of(condition)}", "make it boolean")
    return _emit(c, onnx.If(), c.as_scalar(condition), inputs)


@takes_virtual
@imports(onnx.If)
def import_if(c: Import, op: onnx.If, *inputs: Converted | None) -> Sequence[Converted | None]:
    """Write If-8, and map the values that the branches capture to inputs of the branches.

    Older OpenVINO opsets have no If: `--target` replaces it by a Select between both branches.
    """
    condition = inputs[0]
    if not isinstance(condition, Value):
        raise c.refuse("its condition is not a tensor, or not connected")
    taken = _taken(c, condition)
    if taken is None and guards_a_scan(c.node):
        # What a Scan becomes runs zero times, too.
        taken = "then"
    if taken is not None:
        return _inline(c, taken, inputs)
    return _emit(c, ov.If(), c.as_one_element(condition), inputs)


def _taken(c: Conversion, condition: Value) -> str | None:
    known = c.constant_of(condition)
    if known is None or known.size != 1:
        return None
    return "then" if bool(known.reshape(-1)[0]) else "else"


def _inline(
    c: Conversion, label: str, inputs: tuple[Converted | None, ...]
) -> list[Converted | None]:
    """Convert an If with a constant condition: emit only the branch `label`, without an If.

    `inputs` are the converted inputs of the If. Returns its converted outputs, in order.
    """
    body = c.node.body(label)
    outputs: list[Converted | None] = [None] * len(c.node.outputs)
    parameters = [_given(c, inputs, body, index) for index in range(len(body.graph.parameters))]
    results = c.convert_any(body.graph, parameters)
    for port in body.ports.outputs:
        outputs[port.external] = results[port.result]
    return outputs


def _given(
    c: Conversion, inputs: tuple[Converted | None, ...], body: Body, index: int
) -> Converted:
    port = body.ports.by_parameter.get(index)
    value = None if port is None else inputs[port.external]
    if value is None:
        name = body.graph.parameters[index].name
        raise c.refuse(f"parameter {name!r} of branch {body.label} gets no value", "map it")
    return value


class _Branch:
    """Converts one body of an If: captures outer values, converts nodes, returns results."""

    def __init__(
        self,
        c: Conversion,
        body: Body,
        inputs: tuple[Converted | None, ...],
        captured: dict[Value, int],
        *,
        move_constants: bool,
    ) -> None:
        self.label = body.label
        self._move_constants = move_constants
        self.inner = c.nested(body.label)
        self._captured = captured
        #: The input of the If that each parameter of the new body receives.
        self._externals: list[int] = []
        parameters: list[Converted] = []
        for index, source in enumerate(body.graph.parameters):
            value = _given(c, inputs, body, index)
            # OpenVINO 2021 and ONNX Runtime both reject parameters that nothing reads.
            parameters.append(mapped(value, self._enter) if source.outputs[0].is_used else value)
        results = self.inner.convert_any(body.graph, parameters)
        given = {port.external: results[port.result] for port in body.ports.outputs}
        if len(given) != len(c.node.outputs):
            raise c.refuse(f"branch {body.label} does not return every output")
        self.gives = [given[external] for external in range(len(given))]

    def _enter(self, value: Value) -> Value:
        if self._move_constants and isinstance(value.producer.op, Constant):
            return self.inner.tensor(value.producer.op.tensor, value.producer.name)
        self._externals.append(self._captured.setdefault(value, 1 + len(self._captured)))
        return self.inner.parameter(value.producer.name, value.type)

    def finish(self) -> Body:
        """Add the results to the body and return it.

        A sequence or an optional is represented by several tensors; each of them becomes a result.
        """
        values = [value for given in self.gives for value in _tensors(given)]
        for value in values:
            self.inner.result(value, self.inner.names.fresh(f"{value.producer.name}/out"))
        ports = branch_ports(self._externals, len(values))
        return Body(self.label, self.inner.graph, ports)


def _tensors(value: Converted) -> list[Value]:
    """The tensors of which a sequence or an optional consists."""
    tensors: list[Value] = []

    def note(tensor: Value) -> Value:
        tensors.append(tensor)
        return tensor

    mapped(value, note)
    return tensors


def _shape(value: Converted) -> str:
    """Describe the kind of a branch output, such as "a tensor".

    Both branches of an If must return the same kind; an optional includes the kind of its item.
    """
    if isinstance(value, Value):
        return "a tensor"
    inside = f" of {_shape(value.item)}" if isinstance(value, Maybe) and value.item else ""
    return f"{value}{inside}"


def _require_one_shape(c: Conversion, left: _Branch, right: _Branch) -> None:
    for index, (one, other) in enumerate(zip(left.gives, right.gives, strict=True)):
        if not isinstance(one, Value) or not isinstance(other, Value):
            continue
        if differ_in_shape(one.type, other.type):
            raise c.refuse(
                f"output {index} is {one.type} in one branch and {other.type} in the other, "
                f"but outputs of an If of opset {c.opset} have one shape",
                opset=SHAPES_DIFFER,
            )


def _unify_output(c: Conversion, branches: list[_Branch], index: int, type: ValueType) -> None:
    """Make both branches of an If return output `index` in the same form.

    For example, a sequence may be three separate tensors in one branch, and four in the other. If
    the forms differ, the items of a sequence are stacked into one tensor in both branches, or
    listed, if they have several sizes.

    Raises:
        RefusedError: when the forms still differ.
    """
    left, right = (_shape(branch.gives[index]) for branch in branches)
    if left == right:
        return
    flagged = _with_flags(branches, index, type)
    if flagged is not None:
        for branch, optional in zip(branches, flagged, strict=True):
            branch.gives[index] = optional
        return
    has_lists = is_ragged(*(branch.gives[index] for branch in branches))
    for branch in branches:
        if has_lists and isinstance(branch.inner, Import):
            branch.gives[index] = as_ragged(branch.inner, branch.gives[index], type)
        else:
            branch.gives[index] = _stack(branch.inner, branch.gives[index], type)
    left, right = (_shape(branch.gives[index]) for branch in branches)
    if left != right:
        raise c.refuse(f"output {index} is {left} in one branch and {right} in the other")


def _with_flags(branches: list[_Branch], index: int, type: ValueType) -> list[Maybe] | None:
    """Return what the branches give as optionals that may be empty; None if they are of two kinds.

    `type` is the type of the output of the If.
    """
    gives = [branch.gives[index] for branch in branches]
    if not isinstance(type, OptionalType) or not all(isinstance(value, Maybe) for value in gives):
        return None
    held = [
        value.item.type
        for value in gives
        if isinstance(value, Maybe) and isinstance(value.item, Value)
    ]
    flagged: list[Maybe] = []
    for branch, value in zip(branches, gives, strict=True):
        known = (
            with_flag(branch.inner, value, held[0])
            if held and isinstance(branch.inner, Import)
            else None
        )
        if known is None:
            return None
        flagged.append(known)
    return flagged


def _stack(inner: Conversion, value: Converted, type: ValueType) -> Converted:
    """Stack the items of a sequence along a new first axis of one tensor.

    `value` is returned by a branch for an If output of type `type`. If it is an optional that holds
    a sequence, this sequence is stacked. Any other value is returned unchanged.
    """
    if isinstance(value, Items):
        return as_stack(inner, value, type)
    if isinstance(value, Maybe) and isinstance(value.item, Items):
        held = type.item if isinstance(type, OptionalType) else type
        return Maybe(as_stack(inner, value.item, held))
    return value


def _make_lists(c: Conversion, branches: list[_Branch]) -> None:
    """Reshape scalar results of the branches to [1] where the If's output has rank 1.

    In OpenVINO, branches of one If may return a scalar and a vector [1]; in ONNX they must agree.
    """
    for index, value in enumerate(c.node.outputs):
        for branch in branches:
            result = branch.gives[index]
            if not isinstance(result, Value) or shape_of(result).rank != 0:
                continue
            if shape_of(value).rank == 1:
                branch.gives[index] = branch.inner.unsqueeze(result, [0])


def _emit(
    c: Conversion, op: ov.If | onnx.If, condition: Value, inputs: tuple[Converted | None, ...]
) -> list[Converted | None]:
    captured: dict[Value, int] = {}
    move = isinstance(op, ov.If)
    branches = [_Branch(c, body, inputs, captured, move_constants=move) for body in c.node.bodies]
    for index, value in enumerate(c.node.outputs):
        _unify_output(c, branches, index, value.type)
    if isinstance(op, onnx.If):
        _make_lists(c, branches)
    if isinstance(op, onnx.If) and c.opset < SHAPES_DIFFER:
        _require_one_shape(c, *branches)
    bodies = tuple(branch.finish() for branch in branches)
    made = c.graph.add_node(
        op,
        c.names.fresh(f"{c.prefix}/If"),
        (condition, *captured),
        len(bodies[0].graph.results),
        bodies=bodies,
        location=c.location,
    )
    c.inference.visit(made)
    if isinstance(op, ov.If):
        _warn_of_ranks(c, made.bodies)
    outputs = iter(made.outputs)
    return [mapped(given, lambda _: next(outputs)) for given in branches[0].gives]


def _warn_of_ranks(c: Conversion, bodies: tuple[Body, ...]) -> None:
    pairs = zip(bodies[0].graph.outputs, bodies[1].graph.outputs, strict=True)
    for index, (left, right) in enumerate(pairs):
        ranks = shape_of(left).rank, shape_of(right).rank
        if None not in ranks and ranks[0] != ranks[1]:
            effect = "OpenVINO's CPU refuses to compile it"
            if {*ranks} == {0, 1}:
                effect = "OpenVINO makes a list of one element from the scalar"
            c.warn(
                "CNV101",
                f"output {index} has rank {ranks[0]} in one branch and {ranks[1]} in the other: "
                f"{effect}",
                _advice(c),
            )


def _advice(c: Conversion) -> str:
    """Return the advice for the warning that the branches of an If differ in an output's rank."""
    condition = c.node.inputs[0]
    inputs = [] if condition is None else deciding_inputs(condition)
    if not inputs:
        return "give both branches the same rank"
    options = " ".join(shape_option(value) for value in inputs)
    advice = (
        "the condition depends on sizes; if you fix them, only the branch that is taken is "
        f"converted: {options}"
    )
    return f"{_outer_choice(c.node)}{advice}"


def _outer_choice(node: Node) -> str:
    """Return the advice to fix the model inputs that choose the branch around `node`.

    The node cannot be converted, perhaps because its branch is meant for other sizes. The text ends
    with "Then", so that the caller can append further advice. It is empty if no model input chooses
    a branch around the node.
    """
    for outer in owners(node):
        condition = outer.inputs[0] if isinstance(outer.op, onnx.If) else None
        inputs = [] if condition is None else choosing_inputs(condition)
        if inputs:
            names = " and ".join(value.producer.name for value in inputs)
            return (
                f"{names} chooses the branch that contains it; if the branches are for different "
                f"sizes, first fix that value: {fixing(inputs)}. Then "
            )
    return ""
