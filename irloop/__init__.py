"""irloop converts OpenVINO IR to ONNX and back, loops included, and proves it by running both.

    import irloop

    model = irloop.read_model("model.xml")
    converted, notes = irloop.convert(model)
    irloop.save_model(converted, "model.onnx")
    assert irloop.compare("model.xml", "model.onnx").equal

Everything here is stable; the modules below are for irloop's own use. Functions import what they
need when they are called: ``import irloop`` and ``irloop.validate`` on an IR load neither NumPy nor
the onnx package. Only exceptions of `irloop.errors` are raised.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from irloop import diagnostics
from irloop.boundary import guarded, several

if TYPE_CHECKING:
    import os

    import numpy as np

    from irloop.building.builder import BranchBuilder as BranchBuilder
    from irloop.building.builder import Builder as Builder
    from irloop.building.builder import GraphBuilder as GraphBuilder
    from irloop.building.builder import LoopBuilder as LoopBuilder
    from irloop.comparison.compare import Comparison as Comparison
    from irloop.comparison.diff import ModelDiff as ModelDiff
    from irloop.comparison.reduction.reduce import Reduced as Reduced
    from irloop.conformance.table import Conformance as Conformance
    from irloop.conversion.coverage import Coverage as Coverage
    from irloop.diagnostics import Diagnostic as Diagnostic
    from irloop.diagnostics import Location as Location
    from irloop.diagnostics import Report as Report
    from irloop.diagnostics import Severity as Severity
    from irloop.dialects.attributes import Attribute as Attribute
    from irloop.dialects.attributes import Operand as Operand
    from irloop.engines.doctor import Environment as Environment
    from irloop.errors import ExecutionError as ExecutionError
    from irloop.errors import InferenceError as InferenceError
    from irloop.errors import InternalError as InternalError
    from irloop.errors import IrloopError as IrloopError
    from irloop.errors import LimitError as LimitError
    from irloop.errors import PassError as PassError
    from irloop.errors import ReadError as ReadError
    from irloop.errors import UnsupportedError as UnsupportedError
    from irloop.errors import UsageError as UsageError
    from irloop.errors import VerifyError as VerifyError
    from irloop.errors import WriteError as WriteError
    from irloop.execution.limits import Limits as Limits
    from irloop.execution.profile import RunProfile as RunProfile
    from irloop.execution.session import Session as Session
    from irloop.execution.stepping import Iteration as Iteration
    from irloop.execution.trace import TextTracer as TextTracer
    from irloop.execution.trace import Tracer
    from irloop.graph.model import Graph as Graph
    from irloop.graph.model import Model as Model
    from irloop.graph.model import Node as Node
    from irloop.graph.model import Value as Value
    from irloop.graph.types import Shape as Shape
    from irloop.passes.base import Pass
    from irloop.passes.library import PassInfo as PassInfo
    from irloop.passes.manager import Observer
    from irloop.passes.profile import PassRecord as PassRecord
    from irloop.passes.profile import Profile as Profile
    from irloop.validation.fixing import Fixed as Fixed
    from irloop.validation.repair_plan import Repair as Repair
    from irloop.validation.rule import Rule

    Path = str | os.PathLike[str]
    #: A model, or what `read_model` reads one from.
    Source = Any
    Array = np.ndarray[Any, np.dtype[Any]]

#: The module of each public class, which is imported when the class is first used.
_CLASSES = {
    "Attribute": "irloop.dialects.attributes",
    "BranchBuilder": "irloop.building.builder",
    "Builder": "irloop.building.builder",
    "Comparison": "irloop.comparison.compare",
    "Conformance": "irloop.conformance.table",
    "Coverage": "irloop.conversion.coverage",
    "Diagnostic": "irloop.diagnostics",
    "Environment": "irloop.engines.doctor",
    "ExecutionError": "irloop.errors",
    "Fixed": "irloop.validation.fixing",
    "Graph": "irloop.graph.model",
    "GraphBuilder": "irloop.building.builder",
    "InferenceError": "irloop.errors",
    "InternalError": "irloop.errors",
    "IrloopError": "irloop.errors",
    "LimitError": "irloop.errors",
    "Iteration": "irloop.execution.stepping",
    "Limits": "irloop.execution.limits",
    "Location": "irloop.diagnostics",
    "LoopBuilder": "irloop.building.builder",
    "Model": "irloop.graph.model",
    "ModelDiff": "irloop.comparison.diff",
    "Node": "irloop.graph.model",
    "Operand": "irloop.dialects.attributes",
    "PassError": "irloop.errors",
    "PassInfo": "irloop.passes.library",
    "PassRecord": "irloop.passes.profile",
    "Profile": "irloop.passes.profile",
    "ReadError": "irloop.errors",
    "Reduced": "irloop.comparison.reduction.reduce",
    "Repair": "irloop.validation.repair_plan",
    "Report": "irloop.diagnostics",
    "RunProfile": "irloop.execution.profile",
    "Session": "irloop.execution.session",
    "Severity": "irloop.diagnostics",
    "Shape": "irloop.graph.types",
    "TextTracer": "irloop.execution.trace",
    "UnsupportedError": "irloop.errors",
    "UsageError": "irloop.errors",
    "Value": "irloop.graph.model",
    "VerifyError": "irloop.errors",
    "WriteError": "irloop.errors",
}

__all__ = [
    "Attribute",
    "BranchBuilder",
    "Builder",
    "Comparison",
    "Conformance",
    "Coverage",
    "Diagnostic",
    "Environment",
    "ExecutionError",
    "Fixed",
    "Graph",
    "GraphBuilder",
    "InferenceError",
    "InternalError",
    "IrloopError",
    "Iteration",
    "LimitError",
    "Limits",
    "Location",
    "LoopBuilder",
    "Model",
    "ModelDiff",
    "Node",
    "Operand",
    "PassError",
    "PassInfo",
    "PassRecord",
    "Profile",
    "ReadError",
    "Reduced",
    "Repair",
    "Report",
    "RunProfile",
    "Session",
    "Severity",
    "Shape",
    "TextTracer",
    "UnsupportedError",
    "UsageError",
    "Value",
    "VerifyError",
    "WriteError",
    "__version__",
    "compare",
    "conform",
    "convert",
    "diff",
    "draw",
    "editor_schema",
    "environment",
    "explain",
    "extract",
    "fix",
    "infer",
    "iterations",
    "operations",
    "random_inputs",
    "read_arrays",
    "read_model",
    "reduce",
    "rules",
    "run",
    "save_model",
    "save_report",
    "transform",
    "transformations",
    "validate",
    "view",
    "write_arrays",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("irloop")
    if name in _CLASSES:
        found = getattr(importlib.import_module(_CLASSES[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'irloop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@guarded("reading a model")
def read_model(
    path: Source, bin: Any = None, *, functions: bool = False, without_weights: bool = False
) -> Model:
    """Read an OpenVINO IR (.xml, with its .bin) or an ONNX model (.onnx), from a file or memory.

    Weights are not read into memory: each constant is a window into its file, or into the bytes
    that are given.

    Args:
        path: a path, whose suffix determines the format, or the first bytes of the file if the
            suffix is unknown. In its place all functions that take a model accept a `Model`; bytes
            or a binary stream of an .onnx or of the text of an .xml; ``(xml, weights)``; an
            `onnx.ModelProto`, `onnx_ir.Model`, a function of onnxscript, and an `openvino.Model`.
        bin: the weights of an IR, as a path, bytes, an array or a tensor of OpenVINO; by default
            the .bin of the same name in the same folder.
        functions: true to replace each ONNX operation that has no conversion of its own by the
            function with which the standard defines it.
        without_weights: true to read no constants of an IR, whose .bin need not exist: their types
            and shapes are known, and reading their elements raises a ReadError.

    Raises:
        UsageError: when a file cannot be opened, `path` is no model, or `bin` is given for an ONNX
            model.
        ReadError: when the file is not the model it claims to be.
    """
    from irloop.formats import model_files
    from irloop.graph.model import Model

    if isinstance(path, Model):
        return path
    if not functions:
        return model_files.read(path, bin, without_weights=without_weights)
    from irloop.conversion.pipelines import only_by_function

    return model_files.read(path, bin, expand=only_by_function)


@guarded("writing a model")
def save_model(
    model: Model,
    path: Path,
    *,
    ir_version: int | None = None,
    external_data: bool | None = None,
    weights: Literal["copy", "share"] = "copy",
) -> tuple[str, ...]:
    """Write a model in its own format: an IR as .xml and .bin, ONNX as .onnx.

    Files are written under other names and then renamed, so a failure leaves the old files
    unchanged.

    Args:
        model: the result of `read_model` or `convert`.
        path: the .xml or .onnx to write; its suffix must match the dialect of the model.
        ir_version: the version of the file: 10 or 11 for an IR; for ONNX 3 to the newest that the
            installed onnx package knows. By default that of the model.
        external_data: write ONNX weights to a separate file; by default only if a protobuf would be
            too large.
        weights: "share" lets an ONNX model refer to the file that its weights come from, if that is
            in the folder of `path`, instead of copying them.

    Returns:
        The files written, the model first.

    Raises:
        UsageError: when the suffix does not match, or an option belongs to the other format.
        WriteError: when the model is not valid or a file cannot be written; no partial file is
            left.
    """
    from irloop.formats import model_files
    from irloop.graph.convert_options import WriteOptions

    options = WriteOptions(ir_version=ir_version, external_data=external_data, weights=weights)
    return model_files.write(model, path, options)


@guarded("validating a model")
def validate(
    path: Source,
    bin: Any = None,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    engines: Iterable[str] = (),
    max_same_findings: int | None = None,
    no_ignore: bool = False,
) -> Report:
    """Check a model file without running it, and report everything that is wrong with it.

    Args:
        path: an IR (.xml), an ONNX model (.onnx), or a model in memory, as for `read_model`; lines
            in the report of an IR in memory are those of its .xml.
        bin: the weights of an IR; by default the .bin of the same name in the same folder.
        select: codes or groups ("IRL203", "IRL2") to report; empty means all.
        ignore: codes or groups not to report.
        engines: names of engines, such as "onnxruntime" or "openvino-2021.4"; also warn about
            patterns that these engines get wrong.
        max_same_findings: list at most this many findings of one code, and one that counts the
            others; None lists all.
        no_ignore: disregard comments and metadata in the model that suppress findings; otherwise
            these findings are in `suppressed` of the report. Use it for the models of strangers.

    Raises:
        UsageError: for a code or an engine that does not exist, or a file that cannot be opened. A
            file that is not the model it claims to be is a finding.
    """
    from irloop.validation import engine

    return engine.validate(
        path,
        weights=bin,
        select=several("select", select),
        ignore=several("ignore", ignore),
        engines=several("engines", engines),
        max_same_findings=max_same_findings,
        no_ignore=no_ignore,
    )


@guarded("fixing a model")
def fix(
    path: Path,
    weights: Path | None = None,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    unsafe: bool = False,
) -> Fixed:
    """Repair the findings whose rules offer a fix; return the result without writing a file.

    Everything else in the file stays as it is: comments, white space, the order of attributes. A
    fix may append constants to the .bin: the attribute `added` of the result holds their bytes.

    Args:
        path: an IR (.xml) of version 10 or 11, or an .onnx, whose opset imports can be fixed.
        weights: its weights; by default the .bin of the same name beside it.
        select: codes or groups ("IRL623", "IRL6") to fix; empty means all.
        ignore: codes or groups not to fix.
        unsafe: also make fixes that may change results; their `effect` describes how.

    Raises:
        UsageError: for a code that does not exist.
        ReadError: when the file is neither XML nor an ONNX model.
        UnsupportedError: when an .xml is not in UTF-8.
    """
    from irloop.validation import fixing

    return fixing.fixed(path, weights=weights, select=select, ignore=ignore, unsafe=unsafe)


@guarded("converting a model")
def convert(
    model: Source,
    to: Literal["onnx", "openvino"] | None = None,
    *,
    opset: int | None = None,
    loops: Literal["keep", "scan", "loop", "unroll", "sequence"] | None = None,
    target: str | None = None,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = None,
    types: Mapping[str, str] | None = None,
    lengths: Mapping[str, int] | None = None,
    compress_to_fp16: bool = False,
    standard: bool = False,
    contrib: bool = False,
    stateless: bool = False,
    quantization: Literal["exact", "qdq"] = "exact",
    mean: float | Sequence[float] | Mapping[str, float | Sequence[float]] | None = None,
    scale: float | Sequence[float] | Mapping[str, float | Sequence[float]] | None = None,
    reverse_channels: bool | Sequence[str] = False,
    layout: Mapping[str, str] | str | None = None,
) -> tuple[Model, list[Diagnostic]]:
    """Convert a model to the other format, and return notes that the user should know.

    Inputs and outputs keep their order and names. Weights stay on disk.

    Args:
        model: a model, or what `read_model` reads one from.
        to: the target format; by default the other format. A model that already has it is returned
            unchanged, or as a copy with the changes that the other arguments demand.
        opset: the version of the target opset (ai.onnx or OpenVINO). The default is 17 for ONNX and
            8 for OpenVINO; where the model needs a newer opset, that one is written, and a note
            names it. A model that has the target format already is rewritten in this opset.
        loops: the preferred form of loops: a Scan (in IR a TensorIterator), a Loop, the unrolled
            operations of the body, or a recurrent sequence; "keep" selects the closest form. A note
            for each loop describes its new form and the reason. None means the closest form,
            without notes.
        target: a measured version of an engine, such as "openvino-2021.4", "openvino-2024.6" or
            "onnxruntime-1.18": use only features of that version, and leave out what avoids faults
            that it does not have. The result has the format that the engine runs.
        shapes: other shapes for inputs, by name; None is an unknown dimension. If the model already
            has the target format, they apply only if another argument changes it.
        types: element types for inputs whose type is dynamic, by name, as "f32".
        lengths: the number of tensors in each input that is a sequence or an optional, by name (to
            OpenVINO only). The new model has a separate input for each of these tensors.
        compress_to_fp16: store large f32 and f64 constants as f16; a note tells how many, and the
            largest rounding error.
        standard: decompose ONNX Runtime's own operations (domain com.microsoft) into operations of
            the standard (to ONNX only).
        contrib: use ONNX Runtime's own operations (domain com.microsoft) if they are faster there:
            MatMulNBits for products with 4-bit weights, MultiHeadAttention for attention of several
            heads (to ONNX only). Other runtimes do not read such a model.
        stateless: turn the variables of an IR (ReadValue, Assign) into inputs and outputs, by the
            pass `stateful_to_stateless`; the application passes each output to its input in the
            next inference (to ONNX only).
        quantization: "exact" writes FakeQuantize as QuantizeLinear and DequantizeLinear only if the
            numbers stay the same. "qdq" also does so if 0 is not one of the numbers, by the pass
            `round_zero_points`, for each channel, and from `opset` 21 with 65536 levels; a note for
            each FakeQuantize tells how far its numbers move, half a step at most (to ONNX only).
        mean: subtract this number from every input, or these, one for each channel; or a mapping
            from names of inputs to such values. Preprocessing is in the order layout,
            reverse_channels, mean, scale; channels have the order that the model has.
        scale: divide by this, in the same way.
        reverse_channels: reverse the 3 channels of every input, or of the inputs with these names.
        layout: the axes of inputs in the model, as "nchw", and the order in which the new model
            takes them, as "nchw->nhwc"; for every input, or by name.

    Raises:
        ReadError: when the file is not the model it claims to be.
        UsageError: for options that contradict each other.
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation that the target format cannot express, and why.
    """
    from irloop.conversion.convert_model import convert_model
    from irloop.errors import InferenceError, UnsupportedError
    from irloop.graph.convert_options import ConvertOptions

    options = ConvertOptions(
        opset=opset,
        loops=loops,
        target=target,
        shapes=shapes,
        types=types,
        lengths=lengths,
        compress_to_fp16=compress_to_fp16,
        standard=standard,
        contrib=contrib,
        stateless=stateless,
        quantization=quantization,
        mean=mean,
        scale=scale,
        reverse_channels=reverse_channels,
        layout=layout,
    )
    source = read_model(model, functions=to != "onnx")
    try:
        return convert_model(source, to, options)
    except (InferenceError, UnsupportedError) as error:
        from irloop.comparison.file_errors import error_of_file

        raise error_of_file(error, source, unchanged=source is not model) from error


@guarded("extracting a part of a model")
def extract(
    model: Source,
    *,
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    body: str | None = None,
) -> Model:
    """Make a model of a part of a model, in the same format.

    The part is what `outputs` depend on, back to `inputs`, with its constants. Inputs of the whole
    model that it needs in addition follow after `inputs`.

    Args:
        model: a model, or what `read_model` reads one from; it is not changed.
        inputs: names of tensors or operations whose values become inputs, in this order.
        outputs: names of tensors or operations whose values become outputs; by default the outputs
            of the whole model.
        body: the path of the body of a loop or branch, as ``"Loop_7/body"``: take the part from it.
            Alone it gives the whole body, with its wires as inputs and outputs.

    Raises:
        UsageError: for a name or a body that does not exist, or an input on which no output
            depends.
    """
    from irloop.building.part import part_of
    from irloop.graph.clone import clone_model

    source = read_model(model)
    # The values that become inputs need types.
    source = clone_model(source) if source is model else source
    infer(source)
    return part_of(source, several("inputs", inputs), several("outputs", outputs), body)


@guarded("running passes")
def transform(
    model: Source,
    passes: Iterable[str | Pass],
    *,
    disable: Iterable[str] = (),
    verify: bool = False,
    observers: Sequence[Observer] = (),
) -> tuple[Model, Profile]:
    """Run passes on a copy of a model; returns the result and what each pass did.

    If the passes leave operations in forms that the engine of the model's format refuses or
    computes wrongly, irloop rewrites these operations at the end, and the profile lists the
    repairs.

    Args:
        model: a model, or what `read_model` reads one from.
        passes: in the order in which they run: ``"dead_code"``, ``"unroll=8"``,
            ``"unroll:trips=8:nodes=1000"``, a class in a file (``"my_passes.py:MyPass=8"``, which
            runs that file), or objects of `irloop.passes`.
        disable: names of passes that must not run, even if other passes would run them.
        verify: check the graph after each pass that changed it.
        observers: called before and after each pass.

    Raises:
        ReadError: when the file is not the model it claims to be.
        UsageError: for a pass or an option that does not exist, or a pass for another dialect.
        InferenceError: when operations lack inputs or bodies, or when a pass leaves types that
            contradict each other; the message then names the pass.
        VerifyError: when a pass breaks the graph.
        PassError: when a pass raises any other exception, or never ends; the message names the
            pass, and the node if it is known.
    """
    from irloop.conversion.transform_model import transform_model
    from irloop.errors import InferenceError
    from irloop.graph.clone import clone_model

    source = read_model(model)
    result = clone_model(source) if source is model else source
    try:
        profile = transform_model(
            result,
            several("passes", passes),
            disable=several("disable", disable),
            verify=verify,
            observers=observers,
        )
    except InferenceError as error:
        from irloop.comparison.file_errors import error_of_file

        raise error_of_file(error, source, unchanged=source is not model) from error
    return result, profile


@guarded("listing passes")
def transformations() -> tuple[PassInfo, ...]:
    """Every pass that `transform` accepts by name, including those of other packages.

    Raises:
        UsageError: naming a package whose pass cannot be loaded.
    """
    from irloop.passes import library

    return tuple(library.describe(cls) for _, cls in sorted(library.all_passes().items()))


@guarded("drawing a model")
def draw(
    model: Source,
    format: Literal["svg", "dot"] = "svg",
    *,
    shapes: bool = True,
    types: bool = True,
    info: bool = False,
    depth: int | None = None,
    limit: int = 1000,
    marks: Mapping[str, str] | None = None,
    title: str | None = None,
) -> str:
    """Draw a model, as SVG text for browsers or as DOT text for Graphviz.

    Bodies are drawn inside the operations that own them, with their inputs and outputs; back edges
    are dashed. Equal models give equal texts.

    Args:
        model: a model, or what `read_model` reads one from.
        format: "svg" or "dot".
        shapes: show shapes.
        types: show element types.
        info: show runtime information.
        depth: draw bodies down to this depth only.
        limit: draw at most this many operations; bodies are omitted first, and the picture notes
            it.
        marks: nodes to highlight, by their path: "new" or "gone".
        title: a heading; by default the name of the model.

    Raises:
        ReadError: when the file is not the model it claims to be.
        UsageError: for another format.
    """
    from irloop.drawing.scene import Style
    from irloop.errors import UsageError

    if format not in ("svg", "dot"):
        raise UsageError(f"pictures are not drawn as {format!r}", expected="svg or dot")
    source = read_model(model)
    if source is not model:
        infer(source)
    style = Style(shapes, types, info, depth, limit, marks or {})
    heading = source.graph.name if title is None else title
    if format == "dot":
        from irloop.drawing.dot import dot

        return dot(source.graph, style, heading)
    from irloop.drawing.svg import svg

    return svg(source.graph, style, heading)


@guarded("making a page")
def view(
    model: Source,
    path: Path | None = None,
    inputs: Any = None,
    *,
    against: Source | None = None,
    whole_weights: bool = False,
) -> str:
    """Make an interactive page of a model: one HTML file that loads nothing from the network.

    Bodies open in place; port maps are drawn as wires, back edges in colour. A click on an
    operation shows its attributes, types, weights (range, histogram, NaNs) and its line in the
    file.

    Args:
        model: a model, or what `read_model` reads one from. A `Model` is shown with the types that
            it has; `infer` completes them.
        path: the .html to write; if None, the text is only returned.
        inputs: arrays by name or by position, as for `run`: the page then shows the values of each
            operation in each iteration (summaries of large values). For a long loop it shows only
            the first and the last iterations.
        against: a second model, which the page shows beside the first: corresponding operations are
            selected together, and what differs is marked.
        whole_weights: keep constants of any size in the page, from which they can be saved, up to
            128 MB in total.

    Returns:
        The text of the page.

    Raises:
        ReadError: when the file is not the model it claims to be.
        UsageError: for inputs that do not match the model, or inputs together with `against`.
        UnsupportedError: for inputs of a model that the executor cannot run.
        WriteError: when the page cannot be written.
    """
    from irloop.errors import UsageError
    from irloop.pages.page import save_page
    from irloop.pages.side_by_side import against as both
    from irloop.pages.view import view as page_of

    source = read_model(model)
    if source is not model:
        infer(source)
    if against is None:
        text = page_of(source, inputs, whole_weights=whole_weights)
    else:
        if inputs is not None or whole_weights:
            what = "weights as a whole" if inputs is None else "values of a run"
            raise UsageError(f"{what} are shown of one model", fix="leave out `against`")
        other = read_model(against)
        if other is not against:
            infer(other)
        text = both(source, other)
    if path is not None:
        save_page(text, path)
    return text


@guarded("making a report")
def save_report(
    result: Comparison | ModelDiff | Report, path: Path, models: Sequence[Source] = ()
) -> None:
    """Write the result of `compare`, `diff` or `validate` as an interactive page.

    The page is one HTML file that loads nothing from the network. It has the verdict, tables that
    can be sorted, and pictures of the models in which the differences or findings are marked. For a
    comparison both models run once more, and the page shows every intermediate tensor with its
    ranges and error, and the error of each state over the iterations.

    Args:
        result: what `compare`, `diff` or `validate` returned.
        path: the .html to write.
        models: the models, or their paths, in the order of the call: two for `compare` (by default
            those that it ran) and `diff`. For `validate` at most five are drawn: models with
            findings come first, and models that cannot be read are left out.

    Raises:
        UsageError: for a result of any other function.
        WriteError: when the page cannot be written.
    """
    from irloop.comparison.compare import Comparison as Compared
    from irloop.comparison.diff import ModelDiff as Differences
    from irloop.diagnostics import Report as Findings
    from irloop.errors import IrloopError, UsageError
    from irloop.pages.page import save_page
    from irloop.pages.reports import drawn_models, report_page

    if not isinstance(result, Compared | Differences | Findings):
        raise UsageError(
            f"{type(result).__name__} is not a result with a report",
            expected="the result of compare, diff or validate",
        )
    sources = []
    every = several("models", models)
    for model in drawn_models(result, every):
        try:
            sources.append(read_model(model))
        except IrloopError:
            if not isinstance(result, Findings):
                raise
            # The result has findings that tell why this model cannot be read.
            continue
        if sources[-1] is not model:
            infer(sources[-1])
    save_page(report_page(result, sources, len(every)), path)


@guarded("running a model")
def run(
    model: Source,
    inputs: Mapping[str, Any] | Sequence[Any],
    *,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = None,
    types: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    trace: Tracer | None = None,
    profile: RunProfile | None = None,
) -> dict[str, Array]:
    """Run a model with the built-in executor, each dialect by its own specification.

    A `Session` runs the same model again and keeps its state.

    Args:
        model: a model, or what `read_model` reads one from.
        inputs: arrays by input or tensor name, or a sequence by position. Arrays have the element
            type that the model declares; lists and numbers become arrays of it.
        shapes: shapes of inputs, by name; None is an unknown dimension.
        types: element types for inputs whose type is dynamic, by name, as "f32".
        limits: bounds on iterations, memory and time.
        trace: called after every node, in every iteration; `TextTracer` writes lines.
        profile: collects the time of every node.

    Returns:
        The outputs by name, in the order of the model. A sequence is a list, an absent optional
        None.

    Raises:
        ReadError: when the file is not the model it claims to be.
        UsageError: for an input that is missing, unknown, or of another type or shape.
        UnsupportedError: naming every operation that cannot be run.
        ExecutionError: naming the node and the iteration that failed; a LimitError when a limit is
            reached.
    """
    from irloop.errors import ExecutionError, LimitError, UnsupportedError
    from irloop.execution import session

    source = _with_input_types(model, shapes, types)
    try:
        return session.run(source, inputs, limits=limits, trace=trace, profile=profile)
    except LimitError:
        raise
    except (ExecutionError, UnsupportedError) as error:
        from irloop.comparison.file_errors import error_of_file

        unchanged = source is not model and not shapes and not types
        raise error_of_file(error, source, unchanged=unchanged) from error


@guarded("running a model")
def iterations(
    model: Source,
    inputs: Mapping[str, Any] | Sequence[Any],
    loop: str | None = None,
    *,
    limits: Limits | None = None,
) -> Generator[Iteration, None, None]:
    """Run a model and step through its loops: an iterator over iterations, with values.

    The model runs while the caller requests further iterations, and stops when the iterator is
    closed or deleted. Values of earlier iterations are not kept.

    Args:
        model: a model, or what `read_model` reads one from.
        inputs: as in `run`.
        loop: the path of a loop, as ``"Loop_7"`` or ``"Loop_7/body/Loop_2"``. None means all loops;
            the iterations of an inner loop come before the outer iteration in which they ran.
        limits: bounds on iterations, memory and time; the time that the caller spends on an
            iteration counts, too.

    Returns:
        For each iteration the values of the body's parameters, nodes and results.

    Raises:
        UsageError: for a loop that does not exist. The iterator raises what `run` raises.
    """
    from irloop.execution import stepping

    return stepping.iterations(read_model(model), inputs, loop, limits)


@guarded("comparing two models")
def compare(
    first: Source,
    second: Source,
    *,
    inputs: Any = None,
    engines: str | Sequence[str] = "auto",
    engine_a: str | None = None,
    engine_b: str | None = None,
    seeds: int = 2,
    first_seed: int = 0,
    trips: Sequence[int] = (5, 2, 1, 0),
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = None,
    types: Mapping[str, str] | None = None,
    lengths: Mapping[str, int] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seconds: float = 60.0,
    max_memory: int | None = 8 * 2**30,
    max_iterations: int | None = None,
    converted: bool = False,
) -> Comparison:
    """Run two models with the same inputs and report the differences.

    Args:
        first: a model, or what `read_model` reads one from; its element types and shapes
            determine the generated inputs.
        second: the other model, in any format.
        inputs: arrays by name or by position, or a list of such sets; if None, they are generated.
        engines: "auto": irloop's own executor (numpy), and each installed engine that was made for
            the format of a model (onnxruntime for ONNX, openvino for IR); or names of engines, in a
            list or separated by commas. The names onnx-reference and module:function (a function of
            your own) are allowed, too. All engines but numpy run in separate processes.
        engine_a: the engine of the first model only; numpy if just `engine_b` is given.
        engine_b: the engine of the second model only.
        seeds: the number of generated sets of inputs.
        first_seed: the seed of the first set.
        trips: the values of inputs that are trip counts.
        dims: sizes of unknown dimensions, by name; the key "?" gives a size to those without a
            name.
        shapes: shapes of inputs, by name, for each model that has such an input; None is an unknown
            dimension.
        types: element types, such as "f32", for inputs whose type is dynamic, by name, for each
            model that has such an input.
        lengths: the number of tensors in each sequence or optional input of `first`, by name;
            `first` then has one input for each tensor, as after `convert`.
        rtol: the relative tolerance: values x and y count as equal if |x - y| is at most
            atol + rtol * |x|; the default depends on the element type.
        atol: the absolute tolerance.
        seconds: the time limit of one run of one model.
        max_memory: the memory limit of an engine's process in bytes; None means no limit. Linux
            only.
        max_iterations: how often each loop may run in irloop's own executor (default: 200,000);
            engines have no such limit.
        converted: the second model was made from the first. Faults of the engine of `first` are
            notes then, and `Comparison.converts` tells whether `second` may replace it.

    Raises:
        UsageError: when an engine is missing or cannot run models of this format, or when the
            inputs do not match the model.
        ReadError: when a file is not the model it claims to be.
    """
    from irloop.comparison import compare as comparing
    from irloop.comparison.measure import Tolerance
    from irloop.errors import UsageError

    if not isinstance(seeds, int) or seeds < 1:
        raise UsageError(f"seeds is {seeds!r}", expected="how many sets of inputs to make, from 1")
    if lengths:
        from irloop.conversion.framework.sequence_borders import set_input_lengths
        from irloop.graph.clone import clone_model

        first = clone_model(read_model(first))
        set_input_lengths(first, lengths)
    return comparing.compare(
        _path_or_model(first),
        _path_or_model(second),
        inputs=inputs,
        engines=engines,
        engine_a=engine_a,
        engine_b=engine_b,
        seeds=range(first_seed, first_seed + seeds),
        trips=several("trips", trips),
        sizes=dims,
        shapes=shapes,
        types=types,
        tolerance=Tolerance(rtol, atol),
        seconds=seconds,
        max_memory=max_memory,
        max_iterations=max_iterations,
        converted=converted,
    )


@guarded("running the conformance suite")
def conform(
    engine: str,
    *,
    features: Sequence[str] = (),
    cases: Sequence[str] = (),
    programs: int = 0,
    seed: int = 0,
    seconds: float = 30.0,
    max_memory: int | None = 8 * 2**30,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Conformance:
    """Run the conformance suite for loops on an engine, and count the results by feature.

    Each case runs in a separate process, so that a crash of the engine is a result, too.

    Args:
        engine: "onnxruntime", "openvino", "onnx.reference", "irloop", or "module:function": a
            function that gets the path of a model and returns a callable. The callable gets a list
            of arrays, the inputs by position, and returns the outputs.
        features: if not empty, run only cases of features whose name contains one of these strings.
        cases: if not empty, run only the cases with these names.
        programs: the number of generated programs to run in addition, in each format the engine
            reads.
        seed: the seed of the first program.
        seconds: the time limit of one inference.
        max_memory: the memory limit of a case's process in bytes; None means no limit. Linux only.
        jobs: the number of cases that run at a time.
        progress: called with the number of finished cases and the number of all cases.

    Raises:
        UsageError: when there is no such engine or case, or the engine is not installed.
    """
    from irloop.conformance import conform as conformance

    return conformance.conform(
        engine,
        features=several("features", features),
        names=several("cases", cases),
        programs=programs,
        seed=seed,
        seconds=seconds,
        max_memory=max_memory,
        jobs=jobs,
        progress=progress,
    )


@guarded("looking for differences")
def diff(first: Source, second: Source, *, metadata: bool = False) -> ModelDiff:
    """Report what changed in `second`: operations, attributes, connections, port maps, weights.

    The models are not run. Nodes are matched by what they compute, so renaming them is not a
    difference; renaming inputs and outputs is. With `metadata`, the metadata of the model and the
    runtime information of its operations are compared, too.

    Raises:
        ReadError: when a file is not the model it claims to be.
        UsageError: when the two have different formats.
    """
    from irloop.comparison import diff as differing

    return differing.diff(read_model(first), read_model(second), metadata=metadata)


@guarded("reducing two models")
def reduce(
    first: Source,
    second: Source,
    *,
    inputs: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    seconds: float = 60.0,
) -> Reduced:
    """Shrink two models as far as possible while their results still differ.

    Args:
        first: a model, or what `read_model` reads one from.
        second: the other model, in any format.
        inputs: arrays for which the results differ, by name or by position; if None, such arrays
            are searched for.
        rtol: the relative tolerance: results are equal if |x - y| <= atol + rtol * |x|; the default
            depends on the element type.
        atol: the absolute tolerance.
        seconds: the time limit for each run of a model.

    Raises:
        UsageError: when the models do not differ with any inputs.
        UnsupportedError: when the built-in executor cannot run one of them.
    """
    from irloop.comparison.measure import Tolerance
    from irloop.comparison.reduction import reduce as reducing

    tolerance = Tolerance(rtol, atol)
    models = _path_or_model(first), _path_or_model(second)
    return reducing.reduce(*models, inputs=inputs, tolerance=tolerance, seconds=seconds)


@guarded("making inputs")
def random_inputs(
    model: Source,
    *,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = None,
    types: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Generate inputs with which a model can run, by name; equal seeds give equal inputs.

    The inputs have the declared types and shapes, indices are inside their axes, trip counts are
    small and conditions are true. Unknown dimensions get sizes with which the built-in executor
    runs the model; if it cannot run it at all, the sizes are 2.

    Args:
        model: a model, or what `read_model` reads one from.
        seed: the seed of the random numbers.
        dims: sizes of unknown dimensions, by name ("?": those without a name).
        shapes: shapes of inputs, by name; None is an unknown dimension.
        types: element types for inputs whose type is dynamic, by name, as "f32".

    Raises:
        ReadError: when the file is not the model it claims to be.
        UsageError: for a name that no input or dimension has, or a type or shape that contradicts
            the model.
    """
    from irloop.comparison import settling
    from irloop.comparison.sizes import require_dimensions
    from irloop.execution import session

    source = _with_input_types(model, shapes, types)
    require_dimensions(dims, [source])
    found = settling.settled(source, seed=seed, dims=dims)
    trial = found.trials(source, seeds=[seed])[0]
    return dict(zip(session.input_names(source.graph), trial.arrays, strict=True))


@guarded("reading arrays")
def read_arrays(path: Path) -> dict[str, Any]:
    """Read the arrays of a .npz by name, or the array of a .npy under the name "in0".

    Types that NumPy's format does not have are marked by a suffix: ``x__bf16`` (bit patterns as
    uint16), ``x__seq_len`` with ``x__seq_0`` ... (a sequence), ``x__none`` (an absent optional).

    Raises:
        UsageError: when the file cannot be opened, has another format, or contains pickled objects.
    """
    from irloop.formats import npz

    return npz.read(path)


@guarded("writing arrays")
def write_arrays(path: Path, values: Mapping[str, Any]) -> None:
    """Write values in the format of `read_arrays`; the file is written completely or not at all.

    Raises:
        WriteError: when the file cannot be written.
    """
    from irloop.formats import npz

    npz.write(path, values)


@guarded("inferring types")
def infer(model: Model) -> list[Diagnostic]:
    """Infer the types of all values in `model`, bodies included, as far as possible.

    Returns:
        One finding for each operation whose inputs contradict its specification; its outputs
        keep the types that the file declares.
    """
    from irloop.graph.inference import Inference

    inference = Inference(tolerant=True)
    inference.run(model.graph)
    return [item for error in inference.errors for item in error.diagnostics]


@guarded("explaining a text")
def explain(text: str, *, reproduce: Path | None = None) -> str:
    """Explain a code, or a pasted message of OpenVINO, ONNX Runtime or onnx.checker.

    Args:
        text: the code of a rule, a fault or an error, such as IRL203, OVN101 or CNV001, or a
            message (possibly inside a whole log).
        reproduce: a folder, which is made if needed. If `text` is the code of a fault of an engine,
            the smallest model with the fault is written there, and a script that needs only the
            engine and NumPy and prints the expected and the returned outputs.

    Returns:
        The page of the rule, the meaning of the error code, or for each known message the cause,
        the rules that find it, and what to do next.

    Raises:
        UsageError: when the code does not exist or, with `reproduce`, is no fault, or when no
            message is known.
        WriteError: when the folder cannot be made or written.
    """
    from irloop.messages import explain as explaining

    if reproduce is None:
        return explaining.explain(text)
    from irloop.conformance import reproduction

    script = reproduction.reproduce(text, reproduce)
    return f"{explaining.explain(text)}\nReproduce:\n    python {script}\n"


@guarded("listing rules")
def rules() -> tuple[type[Rule], ...]:
    """All validation rules, as classes with `code`, `severity` and `title`.

    The docstring of such a class is the page that documents the rule.
    """
    from irloop.validation import engine

    return tuple(engine.rule_classes().values())


@guarded("listing operations")
def operations() -> tuple[Coverage, ...]:
    """List every version of every operation of both dialects, with what irloop can do with it.

    For example, the fields `infer` and `run` of an entry tell whether irloop infers the types of
    the operation, and whether it can run the operation.
    """
    from irloop.conversion import coverage

    return coverage.operations()


@guarded("looking at the environment")
def environment() -> Environment:
    """Versions of irloop, Python, packages and engines, and the known faults of those engines.

    No engine is imported. `str()` gives the text of `irloop doctor`.
    """
    from irloop.engines import doctor

    return doctor.environment()


@guarded("making a schema")
def editor_schema(version: int = 11) -> str:
    """The XML schema of IR files of version 10 or 11, for editors.

    Raises:
        UsageError: for another version.
    """
    from irloop.validation import editor_schema as module

    return module.editor_schema(version)


def _with_input_types(
    model: Source,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None,
    types: Mapping[str, str] | None,
) -> Model:
    """Set shapes and element types of inputs; a model given in memory is copied first."""
    from irloop.graph.clone import clone_model
    from irloop.graph.input_types import set_input_shapes, set_input_types

    source = read_model(model)
    if not shapes and not types:
        return source
    told = clone_model(source) if source is model else source
    set_input_types(told, types or {})
    set_input_shapes(told, shapes or {})
    infer(told)
    return told


def _path_or_model(source: Source) -> Path | Model:
    """Return a path as it is, because engines run the file itself, and anything else as a model."""
    import os

    return source if isinstance(source, str | os.PathLike) else read_model(source)


#: Maximum number of operations and constants of a picture in a notebook, bodies included.
_DRAWN = 60


def _notebook_picture(graph: Graph, title: str) -> str:
    """A small graph as SVG; "" for a larger one."""
    from itertools import islice

    from irloop.drawing.scene import Style
    from irloop.drawing.svg import svg
    from irloop.graph.walk import all_nodes

    if len([*islice(all_nodes(graph), _DRAWN + 1)]) > _DRAWN:
        return ""
    return svg(graph, Style(limit=_DRAWN), title)


def _to_onnx(model: Model) -> Any:
    from irloop.formats.onnx.writer import to_proto_model

    return to_proto_model(model)


def _to_openvino(model: Model) -> Any:
    from dataclasses import replace

    from irloop.errors import UsageError, WriteError
    from irloop.formats.objects import xml_and_weights

    try:
        from irloop.engines.openvino_runner import model_of
    except ImportError as error:
        raise UsageError("OpenVINO is not installed", fix="pip install openvino") from error
    try:
        # OpenVINO changes the types of inputs and outputs of version 10.
        return model_of(*xml_and_weights(replace(model, version=11)))
    except RuntimeError as error:
        raise WriteError(f"OpenVINO does not read the model: {error}") from error


diagnostics.DRAWERS.append(_notebook_picture)
diagnostics.MAKERS.update(onnx=_to_onnx, openvino=_to_openvino)
