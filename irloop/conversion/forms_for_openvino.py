"""Lists the passes that rewrite operations into forms that OpenVINO runs correctly.

Each pass avoids faults of OpenVINO. It replaces operations that OpenVINO refuses or computes
wrongly by others with the same meaning.
"""

from __future__ import annotations

from irloop.conversion.elements.boolean_choices import ChooseByLogic, chooses_constants
from irloop.conversion.elements.exact_choices import (
    ChooseExactly,
    CompareExactly,
    is_compared_by_rounding,
)
from irloop.conversion.elements.exact_reductions import ReduceExactly, is_reduced_by_rounding
from irloop.conversion.elements.kept_nans import KeepNans
from irloop.conversion.elements.known_abs import KeepAbsOfKnownValues
from irloop.conversion.elements.moved_strings import MoveStringsByNumbers
from irloop.conversion.elements.narrow_sizes import NarrowCopiesOfSizes, is_narrow_size
from irloop.conversion.engine_form import Form, is_constant, single
from irloop.conversion.loops.branch_outputs import ReadBranchesBySlices, loses_an_output
from irloop.conversion.loops.constant_loops import FoldConstantLoops
from irloop.conversion.loops.empty_values import FoldEmptyValues
from irloop.conversion.loops.growing_states import OpenGrowingStates
from irloop.conversion.loops.idle_loops import RemoveIdleLoops, is_idle_by_constants
from irloop.conversion.loops.joined_outputs import CutJoined
from irloop.conversion.loops.loop_outputs import ReadLoopsByCopies
from irloop.conversion.loops.runnable_ports import RunnablePorts
from irloop.conversion.loops.scan_axes import ScanAlongFront, divides_by_zero
from irloop.conversion.loops.trip_counts import LimitCounts, is_long_count
from irloop.conversion.loops.unchanged_values import CopyUnchanged
from irloop.conversion.loops.unread_slices import CountIterations
from irloop.conversion.loops.unread_states import ReadStates
from irloop.conversion.neural.fractional_bias import (
    NormalizeWithABiasOfOne,
    has_a_moderate_bias,
)
from irloop.conversion.neural.padded_convolutions import GroupPaddedConvolutions
from irloop.conversion.tensors.abs_of_concats import KeepConcatsOfAbs
from irloop.conversion.tensors.broadcast_indices import CopyBroadcastIndices
from irloop.conversion.tensors.computed_pads import SelectComputedPads
from irloop.conversion.tensors.computed_scales import ConvertScaledWeightsTwice
from irloop.conversion.tensors.double_sums import FoldDoubleSums
from irloop.conversion.tensors.exact_divisions import DivideExactly, is_divided_by_rounding
from irloop.conversion.tensors.integer_divisions import DivideCopies, is_divided_inexactly
from irloop.conversion.tensors.one_element_constants import NarrowOneElementConstants
from irloop.conversion.tensors.rank_3_reductions import WidenRank3Reductions, is_reduced_wrongly
from irloop.conversion.tensors.scaled_vector_products import ColumnsForScaledVectors
from irloop.conversion.tensors.stopped_ranges import StopRangesAtTheirStart, is_unlimited
from irloop.conversion.tensors.unsorted_unique import GroupAlongAnAxis
from irloop.hazards.convolutions import pads_skipped_data
from irloop.hazards.large_integers import chooses_in_f32
from irloop.hazards.nans import MAKING, lost_nans
from irloop.hazards.pads import pads_with_a_computed_value
from irloop.hazards.plugin import (
    brings_dimensions,
    overwrites_its_concat,
)
from irloop.hazards.products import (
    scaled_by_a_computed_value,
    scales_a_vector_product,
)
from irloop.hazards.scatters import scatters_by_a_broadcast
from irloop.hazards.sizes import leaves_out_abs
from irloop.hazards.strings import MOVING, moved_strings
from irloop.hazards.uniques import groups_without_inverse
from irloop.passes.common.body_barriers import BodyBarriers
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.common.inline_constant_if import InlineConstantIf

__all__ = ["openvino_forms"]


def openvino_forms() -> list[Form]:
    """List the passes that rewrite what OpenVINO would refuse or compute wrongly.

    They are in the order in which they must run.
    """
    return [
        # OpenVINO fails on some values that are known to be empty.
        Form(FoldEmptyValues()),
        # OpenVINO fails on some loops that depend on constants only.
        Form(FoldConstantLoops(), is_constant),
        # OpenVINO itself inlines an If with a constant condition, and then may refuse the output
        # names.
        Form(InlineConstantIf(), is_constant),
        # OpenVINO fails to compile some Loops that never run.
        Form(RemoveIdleLoops(), lambda node, known: is_idle_by_constants(node, known.inference)),
        # Folded branches and states leave unused values, which are removed. If no slice of a loop
        # is read any more, the loop counts its iterations instead.
        Form(DeadCode(), tidies=True),
        Form(CountIterations()),
        Form(DeadCode(), tidies=True),
        # OpenVINO reads only the low 32 bits of a trip count.
        Form(LimitCounts(), lambda node, _: is_long_count(node)),
        # Transformations of OpenVINO for Loops fail on some port maps.
        Form(RunnablePorts()),
        # OpenGrowingStates depends on which last values are read, so it comes after the passes that
        # change their readers.
        Form(OpenGrowingStates()),
        # OpenVINO loses the initial values of states that nothing reads any more.
        Form(ReadStates()),
        # OpenVINO crashes if two outputs return the same parameter unchanged.
        Form(CopyUnchanged()),
        # OpenVINO returns uninitialised memory if a loop runs zero iterations.
        Form(CutJoined()),
        # OpenVINO crashes if a loop joins along an axis other than 0 after an axis of size 0.
        Form(ScanAlongFront(), lambda node, _: divides_by_zero(node)),
        # OpenVINO does not finish compiling sums of f64 constants.
        Form(FoldDoubleSums()),
        # OpenVINO refuses a Select of booleans in a loop if one of its choices is constant.
        single(ChooseByLogic(), chooses_constants),
        # OpenVINO ignores the conversion of a size to a narrow type, or refuses the model if the
        # conversion makes a bound of the size negative.
        single(NarrowCopiesOfSizes(), is_narrow_size),
        # OpenVINO removes an Abs that depends on constants and sizes alone.
        single(KeepAbsOfKnownValues(), leaves_out_abs),
        # OpenVINO turns NaN into numbers in some operations (hazard OVN147).
        single(KeepNans(), lambda node: bool(lost_nans(node)), beside=MAKING),
        # OpenVINO refuses to move strings by operations other than Gather, or damages its memory.
        single(MoveStringsByNumbers(), lambda node: bool(moved_strings(node)), beside=MOVING),
        # OpenVINO computes arithmetic with constants wrongly after some reductions.
        single(WidenRank3Reductions(), is_reduced_wrongly),
        # OpenVINO reduces large integers in f32.
        single(ReduceExactly(), is_reduced_by_rounding),
        # OpenVINO rounds quotients of large integers to 24 bits.
        single(DivideExactly(), is_divided_by_rounding),
        # OpenVINO rounds divisions of integers after some operations to the nearest integer. This
        # pass comes after `DivideExactly`, which adds divisions.
        single(DivideCopies(), is_divided_inexactly),
        # OpenVINO compares large integers in f32, and rounds them if it computes a Select together
        # with its condition. The comparisons come first, because they may be the conditions.
        single(CompareExactly(), is_compared_by_rounding),
        single(ChooseExactly(), chooses_in_f32),
        # OpenVINO moves an Abs to the operands of a Concat of rank 1.
        single(KeepConcatsOfAbs(), overwrites_its_concat, always=True),
        # OpenVINO keeps the scaled weights of one inference for the next, even if the model
        # computes the scales.
        single(ConvertScaledWeightsTwice(), scaled_by_a_computed_value),
        # OpenVINO refuses the product of a tensor and a constant vector if it is multiplied by a
        # constant.
        single(ColumnsForScaledVectors(), scales_a_vector_product),
        # OpenVINO reads the value of some Pads before it is computed.
        single(SelectComputedPads(), pads_with_a_computed_value),
        # OpenVINO truncates the bias of an LRN.
        single(NormalizeWithABiasOfOne(), has_a_moderate_bias),
        # OpenVINO groups elements wrongly if nothing reads the inverse indices.
        single(GroupAlongAnAxis(), groups_without_inverse),
        # OpenVINO scatters by the indices before a Broadcast, which are too few.
        single(CopyBroadcastIndices(), scatters_by_a_broadcast),
        # OpenVINO counts the steps of a Range that point away from its end.
        single(StopRangesAtTheirStart(), is_unlimited),
        # OpenVINO moves strides through padded convolutions.
        single(GroupPaddedConvolutions(), pads_skipped_data),
        # OpenVINO loses dimensions that a result has only because of a one-element constant.
        single(NarrowOneElementConstants(), brings_dimensions),
        # The next two passes depend on the readers of the outputs of Ifs and loops, so they come
        # after the passes that change these readers.
        single(ReadBranchesBySlices(), loses_an_output, always=True),
        Form(ReadLoopsByCopies()),
        # Copy the values in bodies that OpenVINO would overwrite. This pass comes last, because it
        # needs the final bodies.
        Form(BodyBarriers()),
    ]
