"""The limits of a named runtime (IR version, opset, types, shapes), and how to meet them.

A target is a runtime such as "openvino-2021.4", which users name by ``--target``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypedDict

from irloop.conversion.lowering import LowerThroughOnnx
from irloop.conversion.opset_change import to_opset
from irloop.conversion.recurrent.sequences_to_gates import SequencesToGates
from irloop.conversion.tensors.constant_reshapes import ConstantReshapes
from irloop.conversion.tensors.empty_parts import DropEmptyParts
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.openvino.control_flow import If
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.opsets import LAST_OF_2021
from irloop.dialects.openvino.roi import ROIAlign
from irloop.dialects.unpacked import STAND_INS
from irloop.errors import UnsupportedError, UsageError
from irloop.faults.catalogue import DIALECTS, faults_of
from irloop.faults.measured import FIRST, Release, releases
from irloop.faults.repairing import repairs_of_target
from irloop.formats.onnx.versions import ir_version_for
from irloop.graph.builder import element_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.input_types import shape_option
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant, Parameter, Result, UnknownOp
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import all_graphs, node_path
from irloop.passes.base import Pass
from irloop.passes.common import (
    BodyBarriers,
    CanonicalPorts,
    CompressToFp16,
    ConvertLikeToConvert,
    DeadCode,
    DowngradeOpset,
    FoldShapes,
    InlineConstantIf,
    KeepReducedDims,
    PlainArithmetic,
    SelectBranches,
    TensorIteratorToLoop,
    UnpackConstants,
    WidenNarrowIntegers,
)
from irloop.passes.manager import Manager

__all__ = [
    "OLDEST",
    "Target",
    "adapt",
    "compress",
    "find_target",
    "of_opset",
    "require_readable",
]


@dataclass(frozen=True, slots=True)
class Target:
    """A runtime for which models are converted, and what it can read.

    `dialect` is "onnx" for releases of ONNX Runtime. `opset` is the newest opset of its format.
    `ir_version` is the only IR version that it reads, or None if it reads versions 10 and 11.
    `types` are the element types to avoid: it has no name for them, or reads their bytes
    differently. `is_release` is false for an opset that no release is named for.
    """

    name: str
    opset: int
    ir_version: int | None
    dynamic_shapes: bool
    types: frozenset[ElementType] = frozenset()
    is_release: bool = True
    dialect: str = "openvino"

    @property
    def export_options(self) -> ExportOptions:
        """The options for a conversion to an ONNX model that the runtime can read."""
        return {"newest": self.opset, "runtime": self.name}

    @property
    def import_options(self) -> ImportOptions:
        """The options for a conversion from ONNX to an IR that the runtime can read."""
        return {
            "opset": self.opset,
            "runtime": self.name,
        }


#: i4 and u4 are in this set, because OpenVINO 2021.4 can name them, but reads the halves of a byte
#: in the other order.
_NOT_IN_2021 = frozenset(STAND_INS) - {ElementType.BF16, ElementType.U1} | {ElementType.STRING}

OLDEST = "openvino-2021.4"

_IN_2021 = Target(
    OLDEST,
    opset=LAST_OF_2021,
    ir_version=10,
    dynamic_shapes=False,
    types=_NOT_IN_2021,
)

_BASICS = (Constant, Parameter, Result)


def find_target(name: str) -> Target:
    """The target with this name: an engine and a version whose releases were measured.

    openvino-2026 means every release of that year: what the first of them can read, with the faults
    of all.

    Raises:
        UsageError: when there is none.
    """
    if name == OLDEST:
        return _IN_2021
    engine, _, version = name.partition("-")
    known = {
        kind: [item for item in releases(kind) if item.number >= FIRST[kind]]
        for kind in reversed(DIALECTS.values())
    }
    chosen = [item for item in known.get(engine, ()) if item.is_called(version)]
    if not chosen:
        numbers = [(kind, item.number) for kind, items in known.items() for item in items]
        names = [f"{kind}-{year}.{number}" for kind, (year, number, *_) in numbers]
        expected = ", ".join(dict.fromkeys([OLDEST, *names]))
        raise UsageError(f"no target is called {name!r}", expected=f"one of {expected}")
    return Target(
        name,
        opset=min(item.opset for item in chosen),
        ir_version=None,
        dynamic_shapes=True,
        types=_lacked(chosen, known[engine][-1]),
        dialect=next(dialect for dialect, runs in DIALECTS.items() if runs == engine),
    )


def _lacked(chosen: Iterable[Release], newest: Release) -> frozenset[ElementType]:
    """The element types that a release does not know, but the newest one does."""
    names = {name for item in chosen for name in item.lacks} - newest.lacks
    return frozenset(map(ElementType, names))


def of_opset(opset: int) -> Target:
    """A target that reads every operation of an IR up to `opset`."""
    return Target(
        f"opset{opset}", opset=opset, ir_version=None, dynamic_shapes=True, is_release=False
    )


class ExportOptions(TypedDict, total=False):
    """The options of `pipelines.to_onnx` that depend on the target."""

    newest: int
    runtime: str


class ImportOptions(TypedDict, total=False):
    """The options of `pipelines.to_openvino` that depend on the target."""

    opset: int | None
    runtime: str


def adapt(model: Model, target: Target) -> None:
    """Rewrite a model as far as possible so that `target`, which runs its format, can read it.

    Raises:
        InferenceError: when the model contradicts itself.
        UnsupportedError: naming every operation and dynamic shape that the target does not have.
    """
    if model.dialect == "onnx":
        if model.opsets.get("", 0) > target.opset:
            to_opset(model, target.opset)
        model.version = min(model.version, ir_version_for({"": target.opset}))
        Manager(repairs_of_target(target.name)).run_passes(model)
        return
    if target.ir_version is not None:
        model.version = target.ir_version
    manager = Manager(list(_passes(target)))
    manager.config.set_callback(_may_stay, TensorIteratorToLoop)
    manager.run_passes(model)
    if target.name == OLDEST:
        _separate_names(model)
    Inference().run(model.graph)
    require_readable(model, target)


def _may_stay(node: Node) -> bool:
    """Return whether the oldest runtime has no fault for which a node must become a Loop."""
    return not any(
        True
        for fault in faults_of(OLDEST)
        if TensorIteratorToLoop.name in fault.passes
        for _ in fault().find(node)
    )


def _separate_names(model: Model) -> None:
    """Rename layers of model outputs that have the name of a model input or another output.

    OpenVINO 2021.4 identifies an output by the name of its layer, and would confuse the two. If the
    value of an output is a model input, or is already the value of another output, a Convert is
    inserted so that the output has its own layer.
    """
    rewriter = Rewriter(model.graph)
    taken = {node.name for node in model.graph.parameters}
    shown: set[Value] = set()
    for result in model.graph.results:
        value = result.inputs[0]
        if value is None:
            continue
        if isinstance(value.producer.op, Parameter) or value in shown:
            op, name = Convert(element_of(value)), value.producer.name
            copy = rewriter.insert(op, (value,), before=None, name=name, types=(value.type,))
            rewriter.set_input(result, 0, copy.output)
            value = copy.output
        shown.add(value)
        named = [item for item in value.producer.outputs if item in shown]
        while len(named) == 1 and value.producer.name in taken:
            value.producer.name += "/out"
        taken.add(value.producer.name)


def compress(model: Model) -> Diagnostic:
    """Store large constants of a model as f16; return a note that describes the effect."""
    item = CompressToFp16()
    Manager([item]).run_passes(model)
    return Diagnostic("CNV106", Severity.INFO, item.report.summary())


def _passes(target: Target) -> Iterator[Pass]:
    """The passes that adapt a model to a target, in order."""
    if target.opset < If.since:
        yield InlineConstantIf()
        yield SelectBranches()
    if not target.dynamic_shapes:
        yield FoldShapes()
    if target.name == OLDEST:
        # This target refuses nested TensorIterators and unread slices. It slices partial ranges
        # from the end of the axis, and cannot read loops with unneeded connections. It loses the
        # rank of a reduction to a scalar, has no ConvertLike, aligns operands for broadcasting in
        # its own way, and computes differences of unsigned integers wrongly. The weights of its
        # sequences must be constant.
        yield SequencesToGates(computed_weights=False)
        yield TensorIteratorToLoop()
        yield CanonicalPorts()
        yield DeadCode()
        yield KeepReducedDims()
        yield ConvertLikeToConvert()
        yield PlainArithmetic()
    yield BodyBarriers()
    if target.types:
        yield UnpackConstants(tuple(sorted(str(item) for item in target.types & set(STAND_INS))))
    yield DowngradeOpset(target.opset)
    yield LowerThroughOnnx(target.opset)
    if target.name == OLDEST:
        yield ConstantReshapes()
        yield DropEmptyParts()
    if target.is_release:
        yield from repairs_of_target(target.name)
    if target.name == OLDEST:
        yield WidenNarrowIntegers()


def require_readable(model: Model, target: Target) -> None:
    """Refuse an OpenVINO model that `target` cannot read.

    Raises:
        UnsupportedError: naming every operation and dynamic shape that the target does not have.
    """
    findings = list(_unreadable(model, target))
    if findings:
        raise UnsupportedError(
            f"{target.name} cannot read the model (findings: {len(findings)})", diagnostics=findings
        )


def _unreadable(model: Model, target: Target) -> Iterator[Diagnostic]:
    # Once the inputs have static shapes, most other values have them, too.
    inputs = set(model.graph.parameters)
    has_dynamic_input = not all(map(_is_static, inputs))
    for graph in all_graphs(model.graph):
        for node in (*graph.parameters, *graph.nodes):
            if not isinstance(node.op, (*_BASICS, UnknownOp)) and node.op.since > target.opset:
                yield _finding(
                    node,
                    f"{target.name} does not know {node.op.label}",
                    expected=f"operations of opset1 to opset{target.opset}",
                    found=f"opset{node.op.since}",
                )
            elif not target.dynamic_shapes and not _is_static(node):
                if has_dynamic_input and node not in inputs:
                    continue
                yield _finding(
                    node,
                    f"{target.name} reads static shapes only",
                    expected="known dimensions",
                    found=", ".join(str(value.type) for value in node.outputs),
                    fix=f"give the input a static shape: {shape_option(node.output)}"
                    if has_dynamic_input
                    else "",
                )
            elif target.name == OLDEST and _is_empty(node):
                yield _finding(
                    node,
                    f"{target.name} does not accept tensors without elements",
                    expected="dimensions of 1 or more",
                    found=", ".join(str(value.type) for value in node.outputs),
                )
            elif target.name == OLDEST and isinstance(node.op, ROIAlign) and node.op.mode == "max":
                yield _finding(
                    node,
                    f"{target.name} computes the maximum of ROIAlign differently from the "
                    "specification",
                    expected="mode avg",
                    found="mode max",
                )
            types = [value.type for value in node.outputs]
            tensors = [type for type in types if isinstance(type, TensorType)]
            unknown = [type.element for type in tensors if type.element in target.types]
            if unknown:
                yield _finding(
                    node,
                    f"{target.name} does not know element type {unknown[0]}",
                    expected="f16, f32, f64, bf16, boolean or an integer of 8 to 64 bits",
                    found=", ".join(str(value.type) for value in node.outputs),
                )


def _is_empty(node: Node) -> bool:
    """Return whether `node` is a node with an output that has no elements.

    Outputs that nothing uses do not count. A Constant counts only if it is an output of the model,
    because elsewhere it may be an empty shape, such as the target of a Reshape to a scalar.
    """
    shapes = [shape_of(value) for value in node.outputs if value.is_used]
    if isinstance(node.op, Constant) and not any(value.is_output for value in node.outputs):
        return False
    return any(shape.count() == 0 for shape in shapes)


def _is_static(node: Node) -> bool:
    return all(
        isinstance(value.type, TensorType) and value.type.shape.is_static for value in node.outputs
    )


def _finding(node: Node, message: str, *, expected: str, found: str, fix: str = "") -> Diagnostic:
    path = node_path(node)
    place = Location(line=node.location.line, path=path, layer_id=node.location.layer_id)
    return Diagnostic(
        "CNV004", Severity.ERROR, f"{path!r}: {message}", place, expected, found, fix=fix
    )
