"""Repairs loops that passes left in a form that the engine cannot run.

A pass is correct if its result has the same meaning. Its result may still have a form that OpenVINO
2026.4 computes wrongly or refuses, although it ran the source: a slice without readers, a condition
that became constant. Both engines crash on some loops that slice or join along another axis than 0.
The passes here rewrite such loops. A loop that had such a form before any pass ran is usually left
alone, because the user asked for other changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial

from irloop.conversion.framework.steps import CountIterations
from irloop.conversion.loops.constant_loops import FoldConstantLoops, constant_loops
from irloop.conversion.loops.empty_values import FoldEmptyValues
from irloop.conversion.loops.scan_axes import ScanAlongFront
from irloop.conversion.loops.unread_states import ReadStates
from irloop.conversion.tensors.double_sums import FoldDoubleSums
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.dialects.openvino.slicing import Slice
from irloop.graph.builder import element_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.loops import Concatenated, LastValue, Sliced
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from irloop.hazards.catalogue import hazards
from irloop.hazards.patterns import number_of, readers_of, scanned_across
from irloop.passes.base import ModelPass, Pass
from irloop.passes.common.body_barriers import copy_of
from irloop.passes.common.inline_constant_if import InlineConstantIf
from irloop.passes.common.unroll import Unroll
from irloop.passes.folding import folded
from irloop.passes.forms import Emitter, Forms, selected
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import Leaving, LoopWires, is_passed_on
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match
from irloop.passes.session import Session
from irloop.passes.trips import condition_after, trip_count

__all__ = ["repairs_after"]


def repairs_after(model: Model) -> list[Pass]:
    """The passes that repair loops once other passes have changed `model`.

    Call this before any pass changes the model: loops that have one of the forms already are left
    as they are.
    """
    if model.dialect == "onnx":
        Inference(tolerant=True).run(model.graph)
        return [ScanAlongFront(_names(all_nodes(model.graph), _divides_by_zero))]
    loops = [node for node in all_nodes(model.graph) if isinstance(node.op, ov.Loop)]
    iterators = [node for node in all_nodes(model.graph) if isinstance(node.op, ov.TensorIterator)]
    across = ScanAlongFront(_names([*loops, *iterators], _divides_by_zero))
    if not loops and not iterators:
        # A pass may have written recurrent sequences as loops.
        return [across]
    inference = Inference(tolerant=True)
    inference.run(model.graph)
    constant = constant_loops(model.graph)
    return [
        # An empty constant that a pass folded in a body, and that is reshaped and joined there,
        # crashes OpenVINO.
        FoldEmptyValues(),
        # OpenVINO does not finish compiling sums of sums of f64 constants (hazard OVN127), which
        # the steps of an unrolled loop can be.
        FoldDoubleSums(),
        FoldConstantLoops(constant),
        _InlineBranches(constant),
        _RemoveIdleLoops(_names(loops, lambda node: trip_count(node, inference) == 0)),
        _CountUnread(_names(iterators, lambda node: _has_hazard(node, "OVN121"))),
        _RunnablePorts(),
        ReadStates(_names(loops, lambda node: _has_hazard(node, "OVN104"))),
        _CopyUnchanged(),
        _CutJoined(_names(loops, _has_static_count)),
        across,
        _ChooseByLogic(_names(all_nodes(model.graph), _chooses_constants)),
    ]


def _has_hazard(node: Node, code: str) -> bool:
    return any(True for _ in hazards()[code]().find(node))


def _divides_by_zero(node: Node) -> bool:
    return isinstance(node.op, ScanAlongFront.loops) and bool(scanned_across(node))


def _names(nodes: Iterable[Node], test: Callable[[Node], bool]) -> frozenset[str]:
    return frozenset(node.name for node in nodes if test(node))


def _has_static_count(node: Node, inference: Inference | None = None) -> bool:
    """True if OpenVINO derives the size of joined outputs without the starting condition.

    Captured constants count where an inference finds them.
    """
    if (number_of(node.inputs[0]) or 0) <= 0 or number_of(node.inputs[1]) is not None:
        return False
    if inference is not None and condition_after(node, inference) is True:
        return True
    at = node.body().ports.condition
    value = None if at is None else node.body().graph.outputs[at]
    tensor = None if value is None else folded(value)
    return tensor is not None and bool(tensor.numpy().all())


class _InlineBranches(InlineConstantIf):
    """Replaces an If whose condition became constant by its branch.

    Given::

        y = If(Const true, x):  then y = x   else y = x * 2

    Result::

        y = Maximum(x, x)

    OpenVINO does this itself, and refuses its own result if `y` is an output of the model: a tensor
    then has the name of another operation.
    """

    name = "inline_branches"

    def __init__(self, leave: AbstractSet[str]) -> None:
        self._leave = leave

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        return match.root.name not in self._leave and super().rewrite(match, rewriter)


class _RemoveIdleLoops(Unroll):
    """Removes Loops that never run: OpenVINO cannot compile all of them.

    Given::

        Loop(3, Const false, a):  s: a, s' = s + s   -> last s

    Result::

        a
    """

    name = "remove_idle_loops"

    def __init__(self, leave: AbstractSet[str]) -> None:
        super().__init__(trips=0)
        self._leave = leave

    def unroll_node(self, model: Model, node: Node, rewriter: MatchRewriter) -> None:
        if node.name not in self._leave:
            super().unroll_node(model, node, rewriter)


class _CountUnread(CountIterations):
    """Replaces a TensorIterator by a Loop if passes removed the readers of its slices."""

    def __init__(self, leave: AbstractSet[str]) -> None:
        self._leave = leave

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if node.name not in self._leave:
            super().change(node, wires, rewriter)


class _RunnablePorts(LoopPass):
    """Rewrites port maps of a Loop on which OpenVINO's own transformations fail.

    Given::

        Loop(n, true, x, y):  p: n   q: x (not read)   a: y, a' = a + p   -> joined a, backwards

    Result::

        Loop(n, true, n, y):  p: n                     a: y, a' = a + p   -> joined a, backwards

    Hazards OVN117 (ports that go backwards beside unread ones) and OVN118 (the trip count mapped
    into the body) are the reason.
    """

    name = "runnable_ports"
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        ports = node.body().ports
        special = any(
            isinstance(port, Sliced | Concatenated)
            and (port.start, port.end, port.stride, port.part_size) != (0, -1, 1, 1)
            for port in (*ports.inputs, *ports.outputs)
        )
        changed = _has_hazard(node, "OVN118")
        if special or any(not item.parameter.is_used for item in wires.slices):
            changed |= wires.drop_unread(node.op)
        read = [item for item in wires.outputs if item.output.is_used]
        if special and read and len(read) < len(wires.outputs):
            wires.outputs, changed = read, True
        if changed:
            wires.replace(node.op, rewriter)


class _CopyUnchanged(LoopPass):
    """Copies a state that the body returns unchanged and that two outputs return.

    Given::

        y, z = Loop(n, true, x):  s: x, s' = s                 -> last s, last s

    Result::

        y, z = Loop(n, true, x):  s: x, s' = Maximum(s, s)     -> last s, last s

    OpenVINO removes an unchanged state from the loop, and dies if two outputs return its result.
    """

    name = "copy_unchanged"
    loops = (ov.Loop, ov.TensorIterator)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        found = False
        for state in wires.states:
            shown = [
                item
                for item in wires.outputs
                if isinstance(item.port, LastValue) and item.value is state.result
            ]
            if not is_passed_on(state) or len(shown) < 2:
                continue
            inner = self.session.rewriter(wires.graph)
            copy = copy_of(state.parameter, Emitter(inner, None, node.name).emit)
            found, state.result = True, copy
            for item in shown:
                item.value = copy
        if found:
            wires.replace(node.op, rewriter)


class _CutJoined(LoopPass):
    """Makes the concatenated outputs of a Loop empty if the Loop does not start.

    Given::

        y = Loop(3, c, a):  s: a, s' = s + s   condition true   -> joined s, axis 0

    Result::

        j = Loop(3, c, a):  ...
        y = Slice(j, 0, ShapeOf(j)[0] * Convert(c), axis 0)

    OpenVINO derives the size of `y` from the trip count alone if the condition in the body is a
    constant, and returns uninitialised memory if `c` is false.
    """

    name = "cut_joined"
    loops = (ov.Loop,)

    def __init__(self, leave: AbstractSet[str]) -> None:
        self._leave = leave

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if node.name in self._leave or not _has_static_count(node, self.session.inference):
            return
        joined = [
            item
            for item in wires.outputs
            if isinstance(item.port, Concatenated) and not _is_cut(item.output)
        ]
        if not joined or wires.starts is None:
            return
        forms = Forms(self.model, rewriter, node.following, node.name)
        started = forms.converted(forms.reshaped(wires.starts, [1]), ElementType.I64)
        for item in joined:
            wires.change_output(item, rewriter, partial(_cut, forms, started, item))
        wires.replace(node.op, rewriter)


def _is_cut(value: Value) -> bool:
    return all(isinstance(user.op, Slice | ShapeOf3) for user in readers_of(value))


def _cut(forms: Forms, started: Value, leaving: Leaving, value: Value) -> Value:
    assert isinstance(leaving.port, Concatenated)
    # A scalar is joined along axis 0.
    axis = leaving.port.axis if shape_of(leaving.value).rank else 0
    zero, one = forms.constant([0]), forms.constant([1])
    size = forms.gathered(forms.shape_of(value), forms.constant([axis]), 0)
    end = forms.multiplied(size, started)
    return forms.emit(Slice(), value, zero, end, one, forms.constant([axis]))


class _ChooseByLogic(ModelPass):
    """Replaces a Select of booleans by logic where a constant is an operand.

    Given, in the body of a loop::

        y = Select(c, Const true, s)

    Result::

        y = (c and true) or (not c and s)

    If `c` is the same constant, OpenVINO merges both, keeps them boolean, computes other booleans
    as u8, and refuses a Select between the two types.
    """

    name = "choose_by_logic"
    dialects = frozenset({"openvino"})

    def __init__(self, leave: AbstractSet[str]) -> None:
        self._leave = leave

    def run_on_model(self, model: Model) -> bool:
        found = [
            node
            for node in all_nodes(model.graph)
            if node.name not in self._leave and _chooses_constants(node)
        ]
        if not found:
            return False
        session = Session(model)
        for node in found:
            assert node.graph is not None
            rewriter = session.rewriter(node.graph)
            condition, then, otherwise = node.inputs
            assert condition is not None
            assert then is not None
            assert otherwise is not None
            made = selected(Emitter(rewriter, node, node.name).emit, condition, then, otherwise)
            rewriter.replace_node(node, [made])
        return True


def _chooses_constants(node: Node) -> bool:
    """True for a Select of booleans in a loop, one of them a constant."""
    if not isinstance(node.op, Select) or node.graph is None or node.graph.owner is None:
        return False
    choices = [value for value in node.inputs[1:] if value is not None]
    return element_of(node.outputs[0]) is ElementType.BOOLEAN and any(
        isinstance(value.producer.op, Constant) for value in choices
    )
