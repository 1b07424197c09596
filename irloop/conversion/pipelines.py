"""Defines both directions of conversion as lists of passes, with the reasons for their order."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irloop.conversion.framework.borders import (
    BorderNames,
    onnx_input_name,
    onnx_output_name,
    unchanged,
)
from irloop.conversion.framework.size_names import named_sizes
from irloop.conversion.framework.steps import (
    CarryNarrowElements,
    DropUnread,
    KeepDeclaredDims,
    PruneBodies,
    RequireElementTypes,
    RequireKnownBorder,
    Translate,
)
from irloop.conversion.framework.translation import EXPORTS, IMPORTS, Converter
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import opsets
from irloop.dialects.writing.element_types import ELEMENT_SINCE
from irloop.errors import InferenceError, UnsupportedError, UsageError
from irloop.faults.repairing import Tidied, repairs, repairs_of_source
from irloop.formats.onnx.signature import NEWEST
from irloop.graph.builder import element_of
from irloop.graph.convert_options import QUANTISES_SINCE, Quantization, ir_version_of
from irloop.graph.input_types import set_input_shapes
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.graph.types import EIGHT_BIT_FLOATS, ElementType, Shape
from irloop.graph.walk import all_nodes, kinds_of, node_path
from irloop.passes.base import Pass
from irloop.passes.manager import Manager

__all__ = [
    "DEFAULT_ONNX_OPSET",
    "DEFAULT_OPENVINO_OPSET",
    "only_by_function",
    "require_onnx_opset",
    "to_onnx",
    "to_openvino",
    "upgrade",
]

#: The current ONNX Runtime, TensorRT and DirectML read this opset.
DEFAULT_ONNX_OPSET = 17

#: Every OpenVINO since 2022.1 reads this opset.
DEFAULT_OPENVINO_OPSET = 8

#: The OpenVINO opsets that a user can request. `targets` has what older opsets need.
OPENVINO_OPSETS = range(DEFAULT_OPENVINO_OPSET, opsets.NEWEST + 1)

#: For each OpenVINO opset that replaces a large form of the default one, the first version of
#: OpenVINO that has it.
_VERSIONS = {10: "2022.3", 11: "2023.0", 12: "2023.1", 15: "2024.5"}

#: The element types of 4-bit weights.
_FOUR_BITS = frozenset({ElementType.I4, ElementType.U4, ElementType.NF4, ElementType.F4E2M1})

#: The first opset that transposes 8-bit floats. In older opsets they are cast to f32 before a
#: Transpose and back after it, but ONNX Runtime's optimiser exchanges the Transpose and the second
#: Cast, and then refuses the model.
TRANSPOSES_8_BIT_FLOATS = 21

#: The first opset that has Mod.
MOD_SINCE = 10
#: The first opset whose ArgMax finds the first of equal elements in ONNX Runtime.
ARG_MAX_SINCE = 12

#: The first opset whose binary operations broadcast in the same way as OpenVINO's.
OLDEST_ONNX_OPSET = 7


def to_onnx(
    model: Model,
    *,
    opset: int | None = None,
    prefer: str = "loop",
    shapes: Mapping[str, Shape] | None = None,
    quantization: Quantization = "exact",
    newest: int = NEWEST,
    runtime: str | None = None,
) -> tuple[Model, list[Diagnostic]]:
    """Convert a model to ONNX; return it with notes for the user.

    If `opset` is omitted, it is `DEFAULT_ONNX_OPSET` or, if needed, the first newer opset in which
    everything converts without large intermediate tensors, and 4-bit weights remain 4-bit. If a
    newer opset is needed for a model with 8-bit floats, it is at least 21. With `prefer` "scan", a
    Loop whose trip count depends only on its slices is written as a Scan. `shapes` fixes the shapes
    of inputs by name. With `quantization` "qdq", quantised channels and 16 bits are written by
    QuantizeLinear and DequantizeLinear, too. No opset after `newest` is chosen. Faults that the
    `runtime`, such as "onnxruntime-1.18", was measured not to have are not avoided.

    Raises:
        UsageError: when `model` is not an OpenVINO model, or has no input of a given name, or when
            `opset` is older than `OLDEST_ONNX_OPSET` or newer than the installed onnx package.
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation that cannot be converted to ONNX.
    """
    if model.dialect != "openvino":
        raise UsageError(f"expected an OpenVINO model, found dialect {model.dialect!r}")
    if opset is not None:
        require_onnx_opset(opset)
    set_input_shapes(model, shapes or {})
    options = {"prefer": prefer, "quantization": quantization}
    first, reason = (opset or DEFAULT_ONNX_OPSET), ""
    if opset is None and ELEMENT_SINCE[ElementType.U4] <= newest and _has_4_bit_weights(model):
        first = ELEMENT_SINCE[ElementType.U4]
        reason = f"opset {first} is written: older ones would store 4-bit weights in 8 bits"
    converter = Converter(EXPORTS, first, options=options, may_be_newer=opset is None)
    try:
        result = _run(model, _onnx_passes(model, converter, runtime))
    except UnsupportedError:
        newer = max(converter.cures, default=0)
        large = converter.newer
        only_large_tables = len(large) == len(converter.cures)
        if opset is not None or 0 in converter.cures or newer <= converter.opset:
            raise
        if newer < TRANSPOSES_8_BIT_FLOATS and _has_8_bit_floats(model):
            newer = TRANSPOSES_8_BIT_FLOATS
        if newer > newest:
            raise
        converter = Converter(EXPORTS, newer, options=options)
        result = _run(model, _onnx_passes(model, converter, runtime))
        reason = f"opset {newer} is written: opset {first} cannot express the whole model"
        if only_large_tables:
            path = node_path(large[0].node)
            reason = (
                f"opset {newer} is written: opset {first} has only forms with large tables for "
                f"{large[0].node.op.label} {path!r}"
            )
    if reason:
        converter.notes.append(Diagnostic("CNV105", Severity.INFO, reason))
    result.version = 0
    result.metadata = {"openvino": copy.deepcopy(model.metadata)}
    return result, converter.notes


def require_onnx_opset(opset: int) -> None:
    """Refuse an opset of ai.onnx that no model is written in.

    Raises:
        UsageError: naming the oldest and the newest opset.
    """
    if not OLDEST_ONNX_OPSET <= opset <= NEWEST:
        raise UsageError(
            f"opset {opset} cannot be written: the oldest is {OLDEST_ONNX_OPSET}, "
            f"the newest that the installed onnx package knows is {NEWEST}"
        )


def _has_4_bit_weights(model: Model) -> bool:
    """Return whether a constant of the model or of a body has 4 bits per element."""
    return any(
        isinstance(node.op, Constant) and node.op.tensor.element in _FOUR_BITS
        for node in all_nodes(model.graph)
    )


def _has_8_bit_floats(model: Model) -> bool:
    """Return whether a value of the model or of a body has 8-bit floats as elements."""
    values = (value for node in all_nodes(model.graph) for value in node.outputs)
    return any(element_of(value) in EIGHT_BIT_FLOATS for value in values)


def _onnx_passes(model: Model, converter: Converter, runtime: str | None) -> list[Pass]:
    # The passes of one direction only are not imported for the other.
    from irloop.conversion.loops.narrow_wires import CarryNarrowWires
    from irloop.conversion.loops.outer_kernels import OuterKernels
    from irloop.conversion.quantised.passes import quantised_forms
    from irloop.passes.common.separate_results import SeparateResults

    names = BorderNames(model, onnx_input_name, onnx_output_name)
    return [
        # Translation comes first, so that refusals are raised before any time is spent on the rest.
        # It infers the types of the source, and refuses a model that contradicts itself.
        Translate(converter, names, unchanged),
        # Unused values need no types, casts or names, and weights that were replaced are not needed
        # any more.
        DropUnread(),
        # What was written for OpenVINO takes time; one walk, which infers types, undoes all of it.
        *_original_forms(model, converter.opset),
        # The rules of operations that only move elements accept constants of any type, so check the
        # types here.
        RequireElementTypes(converter),
        # A Loop or Scan that replaces another one takes over the dimensions of its body. Only
        # inference tells which dimensions the new body lacks.
        KeepDeclaredDims(converter),
        # ONNX Runtime runs quantised operations on integers, but not the arithmetic that defines
        # them.
        *(quantised_forms() if converter.opset >= QUANTISES_SINCE else ()),
        # Rewrite forms on which ONNX Runtime crashes.
        *repairs("onnx", runtime),
        # ONNX Runtime has no Loop or Scan of 4-bit integers.
        CarryNarrowWires(),
        # Constants of IR are in the bodies, where ONNX Runtime's blocked convolutions take them.
        OuterKernels(),
        # ONNX Runtime computes results of a branch or Scan wrong if they share a value.
        SeparateResults(),
        # This is the last change, so that no other pass needs to consider which types an operation
        # cannot move.
        CarryNarrowElements(),
        # Inputs and outputs now have their final form.
        RequireKnownBorder(),
    ]


def _original_forms(model: Model, opset: int) -> list[Pass]:
    """The passes that undo what a conversion to IR wrote, if the model may have such operations.

    What IR has in place of one operation, or for the sake of OpenVINO, takes time in every
    iteration of a loop. Outside of loops, ONNX Runtime removes operations without effect itself.
    """
    from irloop.conversion.elements.integer_divisions import FuseIntegerDivisions
    from irloop.conversion.loops.uncut_outputs import UncutOutputs
    from irloop.conversion.tensors.first_best import FuseFirstBest
    from irloop.conversion.tensors.log_sum_exp import FuseLogSumExp
    from irloop.passes.common.identity_elimination import IdentityElimination
    from irloop.passes.graph_rewrite import GraphRewrite, LocalPass

    matchers: list[LocalPass] = []
    if any(node.bodies for node in model.graph.nodes):
        matchers += [IdentityElimination(), UncutOutputs()]
    types = {kind.type for kind in kinds_of(model.graph)}
    if "Log" in types:
        matchers.append(FuseLogSumExp())
    if opset >= ARG_MAX_SINCE and {"TopK", "Equal", "Select"} <= types:
        matchers.append(FuseFirstBest())
    if opset >= MOD_SINCE and {"Divide", "FloorMod"} & types and "Subtract" in types:
        matchers.append(FuseIntegerDivisions())
    if not matchers:
        return []
    # States whose values nothing reads any more would still be carried.
    return [Tidied(GraphRewrite(matchers, name="original_forms"))]


def to_openvino(
    model: Model,
    *,
    opset: int | None = None,
    shapes: Mapping[str, Shape] | None = None,
    lengths: Mapping[str, int] | None = None,
    runtime: str | None = None,
    to_run: bool = True,
) -> tuple[Model, list[Diagnostic]]:
    """Convert a model to OpenVINO operations up to `opset`; return it with notes for the user.

    If `opset` is omitted, it is `DEFAULT_OPENVINO_OPSET`. To express some operations in this opset,
    every element must be compared with every other, which yields a table of results. Where this
    table is large or of unknown size, or where the opset cannot keep the order of equal elements,
    an operation of a newer opset is written instead, and a note names it.

    `shapes` fixes the shapes of inputs by name. This also selects the branch of each If whose
    condition depends only on these shapes. An If whose condition is not constant remains an If,
    even if `opset` has no If. `lengths` fixes the number of tensors in each sequence or optional
    input; each of these tensors becomes an input. Faults that the `runtime`, such as
    "openvino-2024.6", was measured not to have are not avoided. Without `to_run` nothing is
    rewritten for the sake of the engine: the result is only an intermediate form.

    Raises:
        UsageError: when `model` is not an ONNX model, or has no input of a given name.
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation that cannot be converted to OpenVINO IR.
    """
    if model.dialect != "onnx":
        raise UsageError(f"expected an ONNX model, found dialect {model.dialect!r}")
    if lengths:
        from irloop.conversion.framework.sequence_borders import set_input_lengths

        set_input_lengths(model, lengths)
    set_input_shapes(model, shapes or {})
    converter = Converter(IMPORTS, opset or DEFAULT_OPENVINO_OPSET, may_be_newer=opset is None)
    try:
        result = _run(model, _openvino_passes(model, converter, runtime, to_run=to_run))
    except InferenceError as error:
        if shapes:
            raise _with_choice(model, error) from error
        raise
    result.version = ir_version_of(result)
    result.metadata = named_sizes(result.graph)
    return result, [*converter.notes, *_newer_operations(converter)]


def upgrade(model: Model, runtime: str | None = None) -> None:
    """Rewrite in place what OpenVINO runs wrongly in a model that was read from IR 2 to 7.

    Its engine ran these forms. Faults that the `runtime`, such as "openvino-2024.6", was measured
    not to have are not avoided.
    """
    Manager(repairs("openvino", runtime), name="upgrade", validate=False).run_passes(model)


def _newer_operations(converter: Converter) -> Iterator[Diagnostic]:
    """Yield a note for each opset after the default one of which operations are written."""
    for since, otherwise in sorted({(item.since, item.otherwise) for item in converter.newer}):
        nodes = [item.node for item in converter.newer if item[::2] == (since, otherwise)]
        first = nodes[0]
        others = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
        yield Diagnostic(
            "CNV105",
            Severity.INFO,
            f"{first.op.label} {node_path(first)!r}{others}: an operation of opset{since} is "
            f"written, which OpenVINO has since {_VERSIONS[since]}; opset{converter.opset} "
            f"{otherwise}",
            Location(line=first.location.line, path=node_path(first)),
            fix=f"for an older OpenVINO: --opset {converter.opset}",
        )


def _openvino_passes(
    model: Model, converter: Converter, runtime: str | None, *, to_run: bool
) -> list[Pass]:
    # The passes of one direction only are not imported for the other.
    from irloop.conversion.framework.onnx_steps import ExpandScan8, StandardizeFirst
    from irloop.conversion.framework.openvino_borders import own_producer
    from irloop.conversion.loops.listed_iteration import ListedIteration
    from irloop.conversion.loops.paired_reshapes import PairedReshapes
    from irloop.conversion.recurrent.sequences_to_gates import SequencesToGates
    from irloop.conversion.tensors.constant_products import FoldConstantProducts

    names = BorderNames(model, lambda node: node.name, lambda node: node.name)
    return [
        # The import rules support only Scans without a batch axis.
        ExpandScan8(),
        # The import rules do not support operations of ONNX Runtime either; all operations of opset
        # 21 are imported.
        StandardizeFirst(opset=21),
        # OpenVINO fails on some loops that depend on constants or known shapes only. What is known
        # from shapes is found by inference, on a copy of the source.
        *(repairs_of_source("openvino", runtime) if to_run else ()),
        # Prune the bodies before the translation, because OpenVINO drops a slice that is unused
        # and, with it, the trip count.
        PruneBodies(),
        # Translation comes first, so that refusals are raised before any time is spent on the rest.
        # It infers the types of the source, and refuses a model that contradicts itself.
        Translate(converter, names, own_producer if to_run else lambda _c, _name, value: value),
        # Unused values need no types or names, and weights that were replaced are not needed any
        # more.
        DropUnread(),
        # The sequences that no runtime has are loops in what follows.
        *([SequencesToGates()] if to_run else ()),
        # A loop that replaces another one takes over the dimensions of its body. Only inference
        # tells which dimensions the new body lacks.
        KeepDeclaredDims(converter),
        # A body that removes the axis of a slice may add it again, or make a list of a number.
        *([Tidied(PairedReshapes())] if any(node.bodies for node in model.graph.nodes) else ()),
        ListedIteration(),
        # OpenVINO cannot fold them, because it keeps the weights compressed.
        FoldConstantProducts(),
        # Rewrite forms that OpenVINO computes wrongly or refuses.
        *(repairs("openvino", runtime) if to_run else ()),
        # Inputs and outputs now have their final form.
        RequireKnownBorder(),
    ]


def _run(model: Model, passes: Sequence[Pass]) -> Model:
    """Run the passes of a conversion; return the new model, and leave `model` unchanged."""
    # The first pass makes a new graph, so a shallow copy protects the source model.
    work = replace(model)
    # The rules infer the types of new nodes as they emit them, and the last passes change no type,
    # so inference is not repeated after each pass. A pass runs only if it concerns an operation of
    # the model. The passes over loops share the types that the first of them infers, until one
    # changes the model.
    Manager(passes, name="convert", validate=False).run_passes(work)
    return work


def _with_choice(model: Model, error: InferenceError) -> InferenceError:
    """Add advice to an error in a branch of an If, if inputs of the model choose the branch.

    The advice is to fix the values of these inputs first. Any other error is returned unchanged.
    """
    from irloop.conversion.loops.deciding_sizes import choosing_inputs, fixing
    from irloop.dialects.onnx.control_flow import If

    for node in model.graph.nodes:
        condition = node.inputs[0] if isinstance(node.op, If) else None
        inputs = [] if condition is None else choosing_inputs(condition)
        if not inputs or f"'{node.name}/" not in error.message:
            continue
        names = " and ".join(value.producer.name for value in inputs)
        fix = f"{names} chooses the branch of {node.name!r}: first fix that value: {fixing(inputs)}"
        found = [replace(item, fix=item.fix or fix) for item in error.diagnostics]
        return InferenceError(error.message, kind=error.kind, diagnostics=found)
    return error


def only_by_function(type_name: str, domain: str) -> bool:
    """Return whether no import rule converts an ONNX operation, in any version.

    The reader replaces such an operation by a function if the standard defines it by one.
    """
    return not any(cls in IMPORTS for cls in ONNX.versions(type_name, domain))
