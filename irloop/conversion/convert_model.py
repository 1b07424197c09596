"""Converts a model with all options of the public API: format, loops, runtime, weights.

`pipelines` translates between the formats. The other options change the source model before the
translation, or the result after it. Modules that only some options need are imported on demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.conversion import pipelines
from irloop.conversion.fault_notes import fault_notes
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.errors import UnsupportedError, UsageError
from irloop.format_options import require_change, require_fitting
from irloop.graph.clone import clone_graph
from irloop.graph.inference import Inference
from irloop.graph.input_types import set_input_shapes, set_input_types, shapes_of
from irloop.graph.model import Model
from irloop.graph.types import Shape
from irloop.graph.walk import all_nodes, node_path
from irloop.graph.wellformed import require_wellformed
from irloop.passes.manager import Manager

if TYPE_CHECKING:
    from irloop.conversion.loops.loop_choice import Loops
    from irloop.conversion.targets import ImportOptions

__all__ = ["convert_model"]


def convert_model(
    source: Model,
    to: str | None = None,
    *,
    opset: int | None = None,
    loops: Loops | None = None,
    target: str | None = None,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = None,
    types: Mapping[str, str] | None = None,
    lengths: Mapping[str, int] | None = None,
    compress_to_fp16: bool = False,
    standard: bool = False,
    contrib: bool = False,
    stateless: bool = False,
) -> tuple[Model, list[Diagnostic]]:
    """Convert a model; see `irloop.convert` for the arguments, the result and the errors.

    `source` is not changed: options that change inputs, variables or loops work on a copy.
    """
    to_onnx = source.dialect == "openvino" and target is None
    wanted = to or ("onnx" if to_onnx else "openvino")
    if wanted not in ("onnx", "openvino"):
        raise UsageError(f"no format is called {wanted!r}", expected="onnx or openvino")
    translates = source.dialect != wanted
    if standard and contrib:
        raise UsageError(
            "standard and contrib contradict each other: "
            "one removes the operations that the other writes"
        )
    if opset is not None and target is not None:
        raise UsageError("opset and target contradict each other: the target has its own opset")
    known_opsets = pipelines.OPENVINO_OPSETS
    if wanted == "openvino" and opset is not None and opset not in known_opsets:
        raise UsageError(
            f"OpenVINO opset {opset} cannot be written",
            expected=f"opset {known_opsets[0]} to {known_opsets[-1]}",
            fix="for an older OpenVINO, use the target openvino-2021.4",
        )
    writes_form = loops is not None or standard or contrib
    changes_opset = opset is not None and not translates
    rewrites = target is not None or compress_to_fp16 or writes_form or changes_opset
    given = {
        "opset": opset is not None,
        "target": target is not None,
        "lengths": lengths is not None,
        "standard": standard,
        "contrib": contrib,
        "stateless": stateless,
    }
    require_fitting(wanted, given)
    if not translates:
        require_change(wanted, given)
    reader = None
    if target is not None or compress_to_fp16 or changes_opset:
        from irloop.conversion import targets

        reader = None if target is None else targets.find_target(target)
    new_shapes = shapes_of(shapes or {})
    changes_inputs = bool(types or new_shapes or lengths)
    fixes_shapes = translates and reader is not None and not reader.dynamic_shapes
    copies = changes_inputs or stateless or fixes_shapes or loops is not None
    if copies or (rewrites and not translates):
        source = replace(source, graph=clone_graph(source.graph), opsets=dict(source.opsets))
    if not translates or loops is not None or stateless:
        # Passes change the model before the translation checks it, so check it here.
        require_wellformed(source.graph)
    set_input_types(source, types or {})
    if not translates:
        set_input_shapes(source, new_shapes)
        if changes_inputs:
            Inference().run(source.graph)
    if stateless:
        _without_variables(source)
    if standard and not translates:
        from irloop.conversion.standard import to_standard

        to_standard(source)
    if loops is not None:
        from irloop.conversion.loops import loop_choice

        before = loop_choice.loops_of(source)
        if translates:
            loop_choice.rewrite(source, loops, is_written=False)
    result = source
    # What the reader had to say about a file of versions 2 to 7.
    notes: list[Diagnostic] = [*source.notes]
    if fixes_shapes and reader is not None:
        from irloop.conversion.declared import assume_declared_shapes

        set_input_shapes(source, new_shapes)
        notes += assume_declared_shapes(source, reader.name)
    if translates and wanted == "onnx":
        prefer = "scan" if loops == "scan" else "loop"
        result, more = pipelines.to_onnx(source, opset=opset, prefer=prefer, shapes=new_shapes)
        notes += more
    elif translates:
        known: ImportOptions = {"opset": opset}
        if reader is not None:
            known = targets.import_options(reader)
        result, more = pipelines.to_openvino(source, shapes=new_shapes, lengths=lengths, **known)
        notes += more
    if loops is not None:
        loop_choice.rewrite(result, loops)
        notes += loop_choice.describe(before, result, loops)
    if opset is not None and not translates:
        if wanted == "onnx":
            from irloop.conversion.opset_change import to_opset

            to_opset(result, opset)
        else:
            targets.adapt(result, targets.of_opset(opset))
    if contrib:
        from irloop.conversion.contrib import to_contrib

        to_contrib(result)
    if reader is not None:
        targets.adapt(result, reader)
    if compress_to_fp16:
        notes.append(targets.compress(result))
    if translates or reader is not None or changes_opset:
        notes += fault_notes(result, target)
    return result, notes


def _without_variables(model: Model) -> None:
    """Turn the variables of `model` into inputs and outputs.

    Raises:
        UnsupportedError: naming every variable that a body reads or sets.
    """
    from irloop.passes.common.stateful_to_stateless import ASSIGNS, READS, StatefulToStateless

    Manager([StatefulToStateless()], name="stateless").run_passes(model)
    left = [node for node in all_nodes(model.graph) if isinstance(node.op, READS + ASSIGNS)]
    findings = [
        Diagnostic(
            "CNV001",
            Severity.ERROR,
            f"{node.op.label} {node_path(node)!r}: a variable used in the body of a loop or branch"
            " cannot become an input and an output",
            location=Location(line=node.location.line, path=node_path(node)),
            fix="unroll the loop first: irloop transform --pass unroll",
        )
        for node in left
    ]
    if findings:
        message = f"operations in bodies that use variables: {len(findings)}"
        raise UnsupportedError(message, diagnostics=findings)
