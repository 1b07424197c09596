"""Converts a model with all options of the public API: format, loops, runtime, weights.

`pipelines` translates between the formats. The other options change the source model before the
translation, or the result after it. Modules that only some options need are imported on demand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.conversion import pipelines
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.errors import UnsupportedError, UsageError
from irloop.faults.catalogue import DIALECTS, broken_faults, find_faults
from irloop.graph.clone import clone_graph
from irloop.graph.convert_options import ConvertOptions
from irloop.graph.inference import Inference
from irloop.graph.input_types import set_input_shapes, set_input_types, shapes_of
from irloop.graph.model import Model
from irloop.graph.walk import all_nodes, node_path
from irloop.graph.wellformed import require_wellformed
from irloop.passes.manager import Manager

if TYPE_CHECKING:
    from irloop.conversion.loops.loop_choice import SourceLoop
    from irloop.conversion.targets import ExportOptions, ImportOptions, Target

__all__ = ["convert_model", "fault_notes"]


def convert_model(
    source: Model, to: str | None, options: ConvertOptions
) -> tuple[Model, list[Diagnostic]]:
    """Convert a model; see `irloop.convert` for the arguments, the result and the errors.

    `source` is not changed: options that change inputs, variables or loops work on a copy.
    """
    job = _Conversion(source, to, options)
    job.copy_source()
    job.set_inputs()
    job.preprocess()
    job.prepare()
    job.translate()
    job.rewrite()
    return job.model, job.notes


class _Conversion:
    """One conversion. `model` is the source, or a copy of it, and after `translate` the result."""

    def __init__(self, source: Model, to: str | None, options: ConvertOptions) -> None:
        #: The runtime that must be able to read the result.
        self.target = _target(options.target)
        other = "openvino" if source.dialect == "onnx" else "onnx"
        self.to = to or (other if self.target is None else self.target.dialect)
        if self.to not in ("onnx", "openvino"):
            raise UsageError(f"no format is called {self.to!r}", expected="onnx or openvino")
        self.translates = source.dialect != self.to
        opsets = pipelines.OPENVINO_OPSETS
        options.require_consistent(self.to, opsets, translates=self.translates)
        self.model = source
        self.options = options
        self.shapes = shapes_of(options.shapes or {})
        # What the reader had to say about a file of versions 2 to 7.
        self.notes: list[Diagnostic] = [*source.notes]
        self.loops: list[SourceLoop] = []

    @property
    def upgrades(self) -> bool:
        """Return whether IR of versions 2 to 7 becomes IR of today."""
        return not self.translates and any(note.code == "CNV113" for note in self.model.notes)

    @property
    def changes_inputs(self) -> bool:
        """Return whether inputs get other types or shapes."""
        return bool(self.options.types or self.shapes or self.options.lengths)

    @property
    def fixes_shapes(self) -> bool:
        """Return whether the target needs the shapes before the translation."""
        return self.translates and self.target is not None and not self.target.dynamic_shapes

    def copy_source(self) -> None:
        """Copy the source if it is going to be changed, and check it."""
        options, source = self.options, self.model
        changes_source = (
            bool(options.source_passes()) or options.loops is not None or options.preprocesses
        )
        rewrites = options.rewrites(self.translates) or self.upgrades
        in_place = not self.translates and rewrites
        if self.changes_inputs or changes_source or in_place or self.fixes_shapes:
            self.model = replace(
                source, graph=clone_graph(source.graph), opsets=dict(source.opsets)
            )
        if not self.translates or changes_source:
            # Passes change the model before the translation checks it, so check it here.
            require_wellformed(source.graph)

    def set_inputs(self) -> None:
        """Set the types of inputs, and the shapes that the translation does not set."""
        set_input_types(self.model, self.options.types or {})
        if not self.translates:
            set_input_shapes(self.model, self.shapes)
            if self.changes_inputs:
                Inference().run(self.model.graph)

    def preprocess(self) -> None:
        """Put what the options demand before the inputs, whose shapes are those of the source."""
        if self.options.preprocesses:
            from irloop.conversion.preprocessing import preprocess

            preprocess(self.model, self.options)
            self.shapes = {}

    def prepare(self) -> None:
        """Rewrite the source before it is translated."""
        if self.options.stateless:
            _without_variables(self.model)
        if self.options.quantization == "qdq":
            self.notes += _round_zero_points(self.model, self.options.quantised_levels)
        if self.options.standard and not self.translates:
            from irloop.conversion.standard import to_standard

            to_standard(self.model)
        if self.options.loops is not None:
            from irloop.conversion.loops import loop_choice

            self.loops = loop_choice.loops_of(self.model)
            if self.translates:
                loop_choice.rewrite(self.model, self.options.loops, is_written=False)
        if self.target is not None and self.fixes_shapes:
            from irloop.conversion.declared import assume_declared_shapes

            set_input_shapes(self.model, self.shapes)
            self.notes += assume_declared_shapes(self.model, self.target.name)

    def translate(self) -> None:
        """Translate the model to the other format, if it has that one."""
        if self.upgrades:
            pipelines.upgrade(self.model, None if self.target is None else self.target.name)
        if not self.translates:
            return
        options = self.options
        if self.to == "onnx":
            prefer = "scan" if options.loops == "scan" else "loop"
            limits: ExportOptions = {} if self.target is None else self.target.export_options
            self.model, notes = pipelines.to_onnx(
                self.model,
                opset=options.opset,
                prefer=prefer,
                shapes=self.shapes,
                quantization=options.quantization,
                **limits,
            )
        else:
            known: ImportOptions = (
                {"opset": options.opset} if self.target is None else self.target.import_options
            )
            self.model, notes = pipelines.to_openvino(
                self.model, shapes=self.shapes, lengths=options.lengths, **known
            )
        self.notes += notes

    def rewrite(self) -> None:
        """Rewrite the result in the form that the options demand."""
        options, model = self.options, self.model
        if options.loops is not None:
            from irloop.conversion.loops import loop_choice

            loop_choice.rewrite(model, options.loops)
            self.notes += loop_choice.describe(self.loops, model, options.loops)
        changes_opset = options.changes_opset(self.translates)
        if changes_opset:
            _to_opset(model, options.opset)
        if options.contrib:
            from irloop.conversion.standard import to_contrib

            to_contrib(model)
        if self.target is not None or options.compress_to_fp16:
            from irloop.conversion import targets

            if self.target is not None:
                targets.adapt(model, self.target)
            if options.compress_to_fp16:
                self.notes.append(targets.compress(model))
        if self.translates or self.upgrades or self.target is not None or changes_opset:
            self.notes += fault_notes(model, options.target)


def _target(name: str | None) -> Target | None:
    if name is None:
        return None
    from irloop.conversion import targets

    return targets.find_target(name)


def _to_opset(model: Model, opset: int | None) -> None:
    """Rewrite a model in another opset of its own format."""
    assert opset is not None
    if model.dialect == "onnx":
        from irloop.conversion.opset_change import to_opset

        to_opset(model, opset)
    else:
        from irloop.conversion import targets

        targets.adapt(model, targets.of_opset(opset))


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


def _round_zero_points(model: Model, levels: int) -> list[Diagnostic]:
    """Round the zero points of FakeQuantize with up to `levels` levels; return a note for each."""
    from irloop.passes.common.round_zero_points import RoundZeroPoints

    rounds = RoundZeroPoints(levels)
    Manager([rounds], name="quantization").run_passes(model)
    return [
        Diagnostic(
            "CNV115",
            Severity.INFO,
            f"FakeQuantize {place.path!r}: its zero point is rounded, which moves its numbers by "
            f"up to {rounding.shift:.3g}, {rounding.steps:.3g} of a step",
            location=place,
        )
        for place, rounding in rounds.changed
    ]


def fault_notes(model: Model, runtime: str | None) -> list[Diagnostic]:
    """Create a note for each fault that conversion could not avoid.

    `runtime` is the named target, such as "openvino-2021.4". Types must be inferred already.
    """
    engine = runtime or DIALECTS[model.dialect]
    notes = [
        Diagnostic(
            "CNV109",
            Severity.WARNING,
            f"{match.fault.engine} fails on this pattern ({match.fault.code}): {match.found}",
            Location(line=match.node.location.line, path=node_path(match.node)),
            cause=f"{match.fault.title}: {match.fault.effect.value}",
            fix=match.fault.fix,
        )
        for match in find_faults(model.graph, engine, of_conversion=True)
    ]
    return [*notes, *broken_faults(engine)]
