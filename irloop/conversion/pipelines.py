"""The two directions as lists of passes, with the reason for each order."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

# The rules of a family register themselves when its module is imported.
from irloop.conversion.classical_ml import (  # noqa: F401
    features,
    linear_models,
    trees,
)
from irloop.conversion.detection import (  # noqa: F401
    detection_output,
    detectron,
    matrix_nms,
    multiclass_nms,
    nms,
    prior_box,
    proposal,
    region,
    roi,
    roi_turned,
    rotated_nms,
)
from irloop.conversion.elements import (  # noqa: F401
    activation,
    bit_cast,
    bits,
    color,
    comparison,
    convert,
    elementwise,
    generate,
    legacy,
    losses,
    quantize,
    random,
    text,
)
from irloop.conversion.framework.borders import (
    BorderNames,
    as_it_is,
    onnx_input_name,
    onnx_output_name,
    own_producer,
    set_input_shapes,
)
from irloop.conversion.framework.sequence_borders import set_input_lengths
from irloop.conversion.framework.steps import (
    CarryNarrowElements,
    CountIterations,
    DropUnread,
    ExpandScan8,
    KeepDeclaredDims,
    PruneBodies,
    RequireKnownBorder,
    Translate,
)
from irloop.conversion.framework.translation import EXPORTS, IMPORTS, Converter
from irloop.conversion.loops import (  # noqa: F401
    branch,
    loop,
    recurrent,
    recurrent_import,
    scan,
    sequence,
)
from irloop.conversion.loops.branch_outputs import ReadBranchesBySlices
from irloop.conversion.loops.constant_loops import FoldConstantLoops, FoldLoopShapes
from irloop.conversion.loops.empty_values import FoldEmptyValues
from irloop.conversion.loops.growing_states import OpenGrowingStates
from irloop.conversion.neural import (  # noqa: F401
    adaptive_pooling,
    attention,
    convolution,
    convolution_transposed,
    ctc,
    ctc_loss,
    deformable,
    normalization,
    normalization_import,
    pooling,
    pooling_import,
    resize,
    resize_import,
    sampling,
    signal,
    signal_import,
)
from irloop.conversion.tensors import (  # noqa: F401
    embedding,
    gather,
    matmul,
    padding,
    rearrange,
    reduction,
    reorder,
    scatter,
    search,
    shape,
    slicing,
    strided_slice,
    unique,
)
from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.onnx import ONNX
from irloop.errors import UnsupportedError, UsageError
from irloop.graph.model import Model
from irloop.graph.types import Shape
from irloop.passes.base import Pass
from irloop.passes.common.body_barriers import BodyBarriers
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.common.separate_results import SeparateResults
from irloop.passes.manager import Manager

__all__ = [
    "DEFAULT_ONNX_OPSET",
    "only_by_function",
    "set_input_shapes",
    "to_onnx",
    "to_openvino",
]

#: Read by ONNX Runtime, TensorRT and DirectML of today.
DEFAULT_ONNX_OPSET = 17


def to_onnx(
    model: Model,
    *,
    opset: int | None = None,
    prefer: str = "loop",
    shapes: Mapping[str, Shape] | None = None,
) -> tuple[Model, list[Diagnostic]]:
    """The same computation in ONNX operations, and what the user should know about it.

    Without `opset` it is `DEFAULT_ONNX_OPSET`, or the first newer one in which everything can be
    said. `prefer` "scan" writes a Scan for each Loop that only its slices end. `shapes` fixes the
    shapes of inputs by name.

    Raises:
        UsageError: when `model` is not an OpenVINO model, or has no input of a given name.
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation that cannot be said in ONNX.
    """
    if model.dialect != "openvino":
        raise UsageError(f"expected an OpenVINO model, found dialect {model.dialect!r}")
    set_input_shapes(model, shapes or {})
    options = {"prefer": prefer}
    converter = Converter(EXPORTS, opset or DEFAULT_ONNX_OPSET, options=options)
    try:
        result = _run(model, _onnx_passes(model, converter))
    except UnsupportedError:
        newer = max(converter.cures, default=0)
        if opset is not None or 0 in converter.cures or newer <= converter.opset:
            raise
        converter = Converter(EXPORTS, newer, options=options)
        result = _run(model, _onnx_passes(model, converter))
        message = f"opset {newer} is written: {DEFAULT_ONNX_OPSET} has no form for everything here"
        converter.notes.append(Diagnostic("CNV105", Severity.INFO, message))
    result.version = 0
    result.metadata = {"openvino": copy.deepcopy(model.metadata)}
    return result, converter.notes


def _onnx_passes(model: Model, converter: Converter) -> list[Pass]:
    names = BorderNames(model, onnx_input_name, onnx_output_name)
    return [
        # Everything that cannot be said is named here, before any time is spent on the rest.
        Translate(converter, names, as_it_is),
        # Dead values need no types, casts or names; weights said in another form go.
        DropUnread(),
        # A Loop or Scan that replaces another one takes the dimensions of its body over.
        KeepDeclaredDims(converter),
        # ONNX Runtime is wrong about results of branches and Scans that share a value.
        SeparateResults(),
        # Last of all changes: no other pass has to know what an operation cannot move.
        CarryNarrowElements(),
        # Inputs and outputs are as they will be written.
        RequireKnownBorder(),
    ]


def to_openvino(
    model: Model,
    *,
    opset: int = 8,
    shapes: Mapping[str, Shape] | None = None,
    lengths: Mapping[str, int] | None = None,
    computed_weights: bool = True,
) -> tuple[Model, list[Diagnostic]]:
    """The same computation in OpenVINO operations up to `opset`, and what to know about it.

    An If whose condition is computed stays one, whatever the opset.

    `shapes` fixes the shapes of inputs by name, which decides branches that depend on them, and
    `lengths` how many tensors each sequence or optional input holds: those are the new inputs.
    Without `computed_weights` an LSTM, GRU or RNN whose weights are no constants becomes a loop.

    Raises:
        UsageError: when `model` is not an ONNX model, or has no input of a given name.
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation that cannot be said in OpenVINO IR.
    """
    if model.dialect != "onnx":
        raise UsageError(f"expected an ONNX model, found dialect {model.dialect!r}")
    set_input_lengths(model, lengths or {})
    set_input_shapes(model, shapes or {})
    converter = Converter(IMPORTS, opset, options={"computed_weights": computed_weights})
    result = _run(model, _openvino_passes(model, converter))
    result.version = 10
    result.metadata = {}
    return result, converter.notes


def _openvino_passes(model: Model, converter: Converter) -> list[Pass]:
    names = BorderNames(model, lambda node: node.name, lambda node: node.name)
    return [
        # The rules below know Scans without a batch axis only.
        ExpandScan8(),
        # OpenVINO cannot run all loops that depend on constants only, or on shapes that are known.
        FoldLoopShapes(),
        FoldConstantLoops(),
        # A slice that nothing needs is dropped by OpenVINO, and with it what counts iterations.
        PruneBodies(),
        # Everything that cannot be said is named here, before any time is spent on the rest.
        Translate(converter, names, own_producer),
        # Dead values need no types or names; weights said in another form go.
        DropUnread(),
        # A loop that replaces another one takes the dimensions of its body over.
        KeepDeclaredDims(converter),
        # OpenVINO cannot compute all values that are known to be empty.
        FoldEmptyValues(),
        # Where a loop runs once, its body in its place may have such loops.
        FoldConstantLoops(),
        # Translating folds branches and states: what nobody needs by now goes once more, and
        # where that took the slices the iterations are counted.
        DeadCode(),
        CountIterations(),
        DeadCode(),
        # Which states are read after their loop is known by now.
        OpenGrowingStates(),
        # Which outputs of an If are read, and by what, is known by now.
        ReadBranchesBySlices(),
        # Bodies are as they will be written: what OpenVINO would overwrite in them is copied.
        BodyBarriers(),
        # Inputs and outputs are as they will be written.
        RequireKnownBorder(),
    ]


def _run(model: Model, passes: Sequence[Pass]) -> Model:
    """What the passes make of a model, which stays as it is."""
    # The first pass makes a new graph; that of the model is only read.
    work = replace(model)
    # The rules infer what they make as they make it, and the last passes change no type.
    Manager(passes, name="convert", validate=False).run_passes(work)
    return work


def only_by_function(type_name: str, domain: str) -> bool:
    """True for ONNX operations that no rule says in OpenVINO's.

    Those that the standard defines by a function can be said once the reader writes it out.
    """
    return not any(cls in IMPORTS for cls in ONNX.versions(type_name, domain))
