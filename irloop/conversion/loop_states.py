"""The states of an ONNX loop as states of an OpenVINO loop, sequences included.

A sequence of known length becomes one state an item; one that the body only appends to becomes
a concatenated output, and after the loop a tensor whose first axis counts the items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irloop.conversion import openvino_shape_forms as shape_forms
from irloop.conversion.framework import Conversion, Converted, RefusedError
from irloop.conversion.openvino_loops import OpenVinoLoop, Scanned
from irloop.conversion.virtual import Growing, Items, Maybe, Stacked
from irloop.dialects.onnx.control_flow import source_parameter
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried
from irloop.graph.model import Body, Node, Value
from irloop.graph.types import TensorType

__all__ = ["LoopStates", "enter", "stacked"]


def enter(loop: OpenVinoLoop, value: Converted) -> Converted:
    """The body's view of an outer value that does not change."""
    if isinstance(value, Value):
        return loop.invariant(value)
    if isinstance(value, Items):
        return Items(tuple(loop.invariant(item) for item in value.values))
    if isinstance(value, Stacked):
        return Stacked(loop.invariant(value.tensor))
    if isinstance(value, Maybe):
        inner = None if value.item is None else enter(loop, value.item)
        assert inner is None or isinstance(inner, Value | Items | Stacked)
        return Maybe(inner)
    raise RefusedError(f"{value} cannot enter a loop")


def stacked(c: Conversion, items: Sequence[Value]) -> Value:
    """Tensors of one shape along a new first axis."""
    return shape_forms.concat(c, [shape_forms.unsqueeze(c, item, [0]) for item in items], 0)


@dataclass(slots=True)
class _State:
    """What one state of the source was before the loop, and how many results it takes."""

    before: Converted
    results: int
    grows: bool = False
    #: The body returns it as it came: no state at all.
    stays: bool = False


class LoopStates:
    """Maps the states of the source to states and appended outputs of `loop`."""

    def __init__(self, loop: OpenVinoLoop) -> None:
        self._loop = loop
        self._states: list[_State] = []
        self.results: list[Value] = []
        self.appended: list[Scanned] = []

    def enter(self, before: Converted, body: Body, port: Carried) -> Converted:
        """The body's view of a state that starts from `before`."""
        parameter = body.graph.parameters[port.parameter]
        if source_parameter(body, port.result) == port.parameter:
            # OpenVINO would take the loop apart and give the output the name of the input.
            self._states.append(_State(before, 0, stays=True))
            return enter(self._loop, before)
        view = self._view(before, parameter)
        grows = isinstance(view, Growing)
        count = len(before.values) if isinstance(before, Items) else 1
        self._states.append(_State(before, 0 if grows else count, grows))
        return view

    def _view(self, before: Converted, parameter: Node) -> Converted:
        loop, name = self._loop, parameter.name
        if isinstance(before, Value):
            return loop.state(before, parameter.outputs[0].type, name)
        if isinstance(before, Stacked):
            return Stacked(loop.state(before.tensor, before.tensor.type, name))
        if not isinstance(before, Items):
            raise RefusedError(f"the loop carries {before}")
        if _only_appends(parameter):
            return Growing()
        return Items(tuple(loop.state(item, item.type, name) for item in before.values))

    def leave(self, results: Sequence[Converted]) -> None:
        """Take the body's results, one for each state, in order."""
        for state, result in zip(self._states, results, strict=True):
            if state.stays:
                continue
            if state.grows:
                self._append(result)
                continue
            values = _values(result)
            if len(values) != state.results:
                raise RefusedError(
                    f"the loop carries a sequence whose length changes ({result})",
                    "only appending to a sequence that is read after the loop can be said",
                )
            self.results += values

    def _append(self, result: Converted) -> None:
        if not isinstance(result, Growing) or result.appended is None:
            raise RefusedError("the loop does not append to its sequence in every iteration")
        item = result.appended
        inner = self._loop.inner
        if not isinstance(item.type, TensorType) or not item.type.shape.is_static:
            inner.warn(
                "CNV103",
                "the loop appends tensors whose shape is not known: in IR they must all have "
                "the same",
            )
        self.appended.append(Scanned(shape_forms.unsqueeze(inner, item, [0]), 0))

    def after(self, lasts: Sequence[Value], joined: Sequence[Value]) -> list[Converted]:
        """What the states are after the loop, from its outputs."""
        found: list[Converted] = []
        last, join = list(lasts), list(joined)
        for state in self._states:
            if state.stays:
                found.append(state.before)
                continue
            if state.grows:
                found.append(Stacked(self._joined(state, join.pop(0))))
                continue
            values = tuple(last.pop(0) for _ in range(state.results))
            found.append(_as_before(state.before, values))
        return found

    def _joined(self, state: _State, value: Value) -> Value:
        assert isinstance(state.before, Items)
        if not state.before.values:
            return value
        c = self._loop.c
        return shape_forms.concat(c, [stacked(c, state.before.values), value], 0)


def _values(value: Converted) -> list[Value]:
    if isinstance(value, Value):
        return [value]
    if isinstance(value, Stacked):
        return [value.tensor]
    if isinstance(value, Items):
        return list(value.values)
    raise RefusedError(f"the loop carries {value}")


def _as_before(before: Converted, values: tuple[Value, ...]) -> Converted:
    if isinstance(before, Items):
        return Items(values)
    return Stacked(values[0]) if isinstance(before, Stacked) else values[0]


def _only_appends(parameter: Node) -> bool:
    """True when the body does nothing with a sequence but append one item to it."""
    uses = parameter.outputs[0].uses
    if len(uses) != 1:
        return False
    node, position = uses[0]
    if node.op.type != "SequenceInsert" or position != 0 or len(node.inputs) > 2:
        return False
    return all(user.op.type == "Result" for user, _ in node.outputs[0].uses)


def ranks_agree(values: Sequence[Value]) -> bool:
    """True when all tensors are known to have one static shape."""
    shapes = {shape_of(value) for value in values}
    return len(shapes) == 1 and next(iter(shapes)).is_static
