"""The forms that an engine runs correctly, as one list of passes for each format.

A model may have the right meaning and still have a form that its engine computes wrongly or
refuses: a slice without readers, a condition that is constant, a Concat that Abs overwrites.
Conversion ends with these passes. `transform` runs them after the passes that a user names. It
leaves alone what had such a form before, because the user asked for other changes, except where
the engine returns what its memory happens to hold: that may have been right by luck before the
model changed elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from irloop.conversion.elements.boolean_choices import ChooseByLogic, chooses_constants
from irloop.conversion.elements.size_flags import CompareSizesWithZero
from irloop.conversion.framework.steps import CountIterations
from irloop.conversion.loops.branch_outputs import ReadBranchesBySlices, loses_an_output
from irloop.conversion.loops.constant_loops import FoldConstantLoops, constant_loops
from irloop.conversion.loops.empty_values import FoldEmptyValues
from irloop.conversion.loops.growing_states import OpenGrowingStates
from irloop.conversion.loops.idle_loops import RemoveIdleLoops
from irloop.conversion.loops.joined_outputs import CutJoined
from irloop.conversion.loops.loop_outputs import ReadLoopsByCopies
from irloop.conversion.loops.runnable_ports import RunnablePorts
from irloop.conversion.loops.scan_axes import ScanAlongFront
from irloop.conversion.loops.trip_counts import LimitCounts, is_long_count
from irloop.conversion.loops.unchanged_values import CopyUnchanged
from irloop.conversion.loops.unread_states import ReadStates
from irloop.conversion.neural.padded_convolutions import GroupPaddedConvolutions
from irloop.conversion.tensors.abs_of_concats import KeepConcatsOfAbs
from irloop.conversion.tensors.column_products import ColumnsForVectors
from irloop.conversion.tensors.computed_scales import ConvertScaledWeightsTwice
from irloop.conversion.tensors.double_sums import FoldDoubleSums
from irloop.conversion.tensors.one_element_constants import NarrowOneElementConstants
from irloop.conversion.tensors.rank_3_reductions import WidenRank3Reductions, is_reduced_wrongly
from irloop.conversion.tensors.scaled_vector_products import ColumnsForScaledVectors
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node
from irloop.graph.walk import all_nodes
from irloop.hazards.catalogue import hazards
from irloop.hazards.convolutions import pads_skipped_data
from irloop.hazards.patterns import scanned_across
from irloop.hazards.plugin import (
    brings_dimensions,
    overwrites_its_concat,
)
from irloop.hazards.products import (
    scaled_by_a_computed_value,
    scales_a_vector_product,
)
from irloop.hazards.sizes import flags_a_size
from irloop.passes.base import Pass, PassConfig
from irloop.passes.common.body_barriers import BodyBarriers
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.common.inline_constant_if import InlineConstantIf
from irloop.passes.graph_rewrite import GraphRewrite, MatcherPass
from irloop.passes.manager import Manager
from irloop.passes.trips import trip_count

__all__ = ["engine_forms", "repairs_after"]


@dataclass(frozen=True)
class _Known:
    """Facts about a model on which the tests of forms depend, computed once."""

    inference: Inference
    #: The names of loops that depend on constants only, and of Ifs whose condition does.
    constant: frozenset[str]


#: Whether a node has the form that a pass rewrites.
_Test = Callable[[Node, _Known], bool]


@dataclass(frozen=True)
class _Form:
    """A pass and a test: `transform` leaves a node alone that had the form before other passes ran.

    A pass without a test leaves no node alone. `tidies` marks passes that `transform` does not run.
    `matches` is the test of a `MatcherPass` that rewrites single operations.
    """

    item: Pass
    test: _Test | None = None
    tidies: bool = False
    matches: Callable[[Node], bool] | None = None


def engine_forms(dialect: str) -> list[Pass]:
    """The passes that end the conversion to operations of a format."""
    return _grouped(_FORMS[dialect]())


def repairs_after(model: Model, inference: Inference, config: PassConfig) -> Manager:
    """The passes that give a model the forms its engine runs, once other passes have changed it.

    Call this before any pass changes the model, with the inference of its types: nodes that have
    one of the forms already are left as they are. What `config` disables does not run.
    """
    forms = [form for form in _FORMS[model.dialect]() if not form.tidies]
    known = _Known(inference, constant_loops(model.graph))
    own = config.copy()
    for form in forms:
        if form.test is not None:
            own.set_callback(_had_form(form.test, model, known), type(form.item))
    return Manager(_grouped(forms), name="repair", config=own)


def _had_form(test: _Test, model: Model, known: _Known) -> Callable[[Node], bool]:
    """True for nodes that have a form now; a pass may make a node of another type of one."""
    nodes = (*model.graph.parameters, *all_nodes(model.graph))
    found = {(node.name, node.op.type) for node in nodes if test(node, known)}
    return lambda node: (node.name, node.op.type) in found


def _grouped(forms: Sequence[_Form]) -> list[Pass]:
    """The passes in order; neighbouring passes of one pattern share a walk over the graph."""
    made: list[Pass] = []
    for is_matcher, group in groupby(forms, lambda form: form.matches is not None):
        members = list(group)
        made += [_Matchers(members)] if is_matcher else [form.item for form in members]
    return made


class _Matchers(GraphRewrite):
    """Rewrites single operations in one walk, if there is one of them at all.

    Inferring the types of a large model takes longer than looking for the operations.
    """

    name = "operation_forms"

    def __init__(self, forms: Sequence[_Form]) -> None:
        super().__init__([form.item for form in forms if isinstance(form.item, MatcherPass)])
        self._tests = [form.matches for form in forms if form.matches is not None]

    def run(self, model: Model, config: PassConfig) -> bool:
        self.matches.clear()
        found = any(test(node) for node in all_nodes(model.graph) for test in self._tests)
        return found and super().run(model, config)


def _has(*codes: str) -> _Test:
    """True for nodes with the pattern of one of these hazards."""

    def test(node: Node, _: _Known) -> bool:
        return any(True for code in codes for _ in hazards()[code]().find(node))

    return test


def _single(item: MatcherPass, matches: Callable[[Node], bool], *, always: bool = False) -> _Form:
    """A pass that rewrites single operations; `always` leaves none of them alone."""
    return _Form(item, None if always else lambda node, _: matches(node), matches=matches)


def _is_constant(node: Node, known: _Known) -> bool:
    return node.name in known.constant


def _divides_by_zero(node: Node, _: _Known) -> bool:
    return isinstance(node.op, ScanAlongFront.loops) and bool(scanned_across(node))


def _onnx_forms() -> list[_Form]:
    return [
        # ONNX Runtime crashes if a Scan has to transpose a tensor without elements.
        _Form(ScanAlongFront(), _divides_by_zero),
        # ONNX Runtime ignores the Transpose of a matrix that is multiplied by a vector.
        _Form(ColumnsForVectors(), _has("ORT118")),
    ]


def _openvino_forms() -> list[_Form]:
    return [
        # OpenVINO cannot compute all values that are known to be empty.
        _Form(FoldEmptyValues()),
        # OpenVINO cannot run all loops that depend on constants only.
        _Form(FoldConstantLoops(), _is_constant),
        # OpenVINO inlines an If of a constant itself, and then refuses the names of its outputs.
        _Form(InlineConstantIf(), _is_constant),
        # OpenVINO cannot compile all Loops that never run.
        _Form(RemoveIdleLoops(), lambda node, known: trip_count(node, known.inference) == 0),
        # Translation folds branches and states: unused values are removed, and iterations are
        # counted where that removed the slices.
        _Form(DeadCode(), tidies=True),
        _Form(CountIterations(), _has("OVN121")),
        _Form(DeadCode(), tidies=True),
        # OpenVINO counts iterations in 32 bits, and reads no more of a trip count.
        _Form(LimitCounts(), lambda node, _: is_long_count(node)),
        # Transformations of OpenVINO for Loops fail on some port maps.
        _Form(RunnablePorts()),
        # The readers of states after their loop are known now.
        _Form(OpenGrowingStates()),
        # OpenVINO loses the initial values of states whose readers are gone.
        _Form(ReadStates()),
        # OpenVINO crashes if two outputs return the same parameter unchanged.
        _Form(CopyUnchanged()),
        # OpenVINO returns uninitialised memory if a loop runs zero iterations.
        _Form(CutJoined()),
        # OpenVINO crashes if a loop joins along an axis other than 0 after an axis of size 0.
        _Form(ScanAlongFront(), _divides_by_zero),
        # OpenVINO does not finish compiling sums of f64 constants.
        _Form(FoldDoubleSums()),
        # OpenVINO refuses choices of booleans between constants and computed values.
        _single(ChooseByLogic(), chooses_constants),
        # OpenVINO takes a flag that is computed from a size for the size.
        _single(CompareSizesWithZero(), flags_a_size),
        # OpenVINO computes arithmetic with constants wrongly after some reductions.
        _single(WidenRank3Reductions(), is_reduced_wrongly),
        # OpenVINO overwrites a Concat of rank 1 by its absolute values.
        _single(KeepConcatsOfAbs(), overwrites_its_concat, always=True),
        # OpenVINO keeps the scales of weights, computed or not, from one inference to the next.
        _single(ConvertScaledWeightsTwice(), scaled_by_a_computed_value),
        # OpenVINO refuses products with a constant vector that a constant scales.
        _single(ColumnsForScaledVectors(), scales_a_vector_product),
        # OpenVINO moves strides through padded convolutions.
        _single(GroupPaddedConvolutions(), pads_skipped_data),
        # OpenVINO loses dimensions that only a constant of one element brings.
        _single(NarrowOneElementConstants(), brings_dimensions),
        # The readers of the outputs of each If and each loop are known now.
        _single(ReadBranchesBySlices(), loses_an_output, always=True),
        _Form(ReadLoopsByCopies()),
        # Bodies have their final form now: values that OpenVINO would overwrite are copied.
        _Form(BodyBarriers()),
    ]


#: The forms of each format, in the order of their passes.
_FORMS = {"onnx": _onnx_forms, "openvino": _openvino_forms}
