"""``irloop convert``: convert a model to the other format, or rewrite it in its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from irloop.diagnostics import Diagnostic, Severity
from irloop.errors import InternalError, IrloopError, ReadError, UsageError, VerifyError, WriteError
from irloop.files import ParsedOnce, move_together, scratch
from irloop.graph.collector import collector_paused
from irloop.graph.convert_options import ConvertOptions, WriteOptions, ir_version_of
from irloop.opening import SUFFIXES, dialect_of, weights_beside

from . import report_json, report_text
from .check import comparison_text, exit_of
from .console import STDOUT, Console, common_options, console_of, say
from .exits import Exit
from .files import require_folder, require_free, weight_files
from .names import ModelPath
from .options import conversion_options, format_option, run_options, taken, weights_option

if TYPE_CHECKING:
    from irloop import Comparison, Model

__all__ = ["command"]

#: The code of notes on patterns that an engine gets wrong.
HAZARD = "CNV109"

#: The code of notes that tell how a zero point is rounded.
ROUNDING = "CNV115"

#: An absolute tolerance beyond all numbers that differ by rounding.
FAR = 1e30

#: The code of notes that tell what a loop was converted to.
LOOP_CHOICE = "CNV107"

#: The options that put operations before inputs.
PREPROCESSING = ("mean", "scale", "reverse_channels", "layout")

EPILOG = """\
\b
Examples:
  irloop convert model.xml
  irloop convert model.xml -o model.onnx --check
  irloop convert model.onnx -o model.xml --ir-version 11
  irloop convert model.onnx -o model.xml --target openvino-2021.4
  irloop convert big.xml -o big.onnx --weights share
  irloop convert model.onnx -o model.xml --shape x=1,3,224,224
  irloop convert old.xml -o new.xml --ir-version 11
  irloop convert model.onnx -o model.onnxtxt
  irloop convert net.onnx -o net.xml --mean 123.7,116.3,103.5 --scale 58.4,57.1,57.4
  irloop convert net.onnx -o net.xml --layout 'nchw->nhwc' --reverse-channels all
  irloop convert new.onnx -o old.onnx --opset 13 --ir-version 8
  irloop convert optimized.onnx -o plain.onnx --standard
  irloop convert int4.xml -o int4.onnx --contrib --check
  irloop convert int8.xml -o int8.onnx --quantization qdq --check
  irloop convert detector.onnx -o detector.xml --check --inputs boxes.npz
  irloop convert decoder.xml -o decoder.onnx --stateless --check
  irloop convert new.xml -o old.xml --target openvino-2021.4 --shape x=1,3,224,224
  irloop convert model.xml -o small.xml --ir-version 11 --compress-to-fp16
"""


@click.command("convert", epilog=EPILOG, short_help="Convert OpenVINO IR to ONNX and back.")
@click.argument("source", metavar="INPUT", type=ModelPath())
@click.argument("place", required=False, metavar="[OUTPUT]", type=click.Path(dir_okay=False))
@click.option(
    "-o",
    "--output",
    metavar="OUTPUT",
    type=click.Path(dir_okay=False),
    help="The .onnx, .onnxtxt or .xml to write; a .bin is written beside an .xml. -: ONNX to "
    "stdout.  [default: INPUT with the suffix of the other format, if there is no such file]",
)
@weights_option("weights_file")
@click.option("--check", is_flag=True, help="Run both models and compare before writing.")
@run_options
@conversion_options
@click.option("--no-validate", is_flag=True, help="Do not validate INPUT first.")
@format_option(help="The format of findings on stdout.")
@common_options
@click.pass_context
def command(
    ctx: click.Context, /, source: str, place: str | None, output: str | None, **options: Any
) -> None:
    """Convert INPUT to the format given by the suffix of OUTPUT.

    .xml to .onnx and .onnx to .xml convert; .xml to .xml and .onnx to .onnx rewrite the model.
    INPUT is validated first, all operations that cannot be converted are reported at once, and
    OUTPUT is written completely or not at all. Inputs and outputs keep their order and names.

    With --check both models run in the built-in executor, and each in the engine of its format, if
    that is installed. The exit status is 1 if their results differ or an engine does not run the
    result, and 2 if nothing could be compared; in both cases nothing is written. If only INPUT does
    not run in its engine, OUTPUT is written, and the first line of the check says so.
    """
    output = _output_of(source, place, output, console_of(ctx))
    piped = output == "-"
    if piped:
        # Nothing but the model may go to stdout.
        console_of(ctx).style = "text"
        _require_pipeable(options)
        output = os.path.join(ctx.with_resource(scratch()), "stdout.onnx")
        console_of(ctx).copies[output] = STDOUT
    job = _Job(
        *(source, output, console_of(ctx)),
        *(taken(ConvertOptions, options), taken(WriteOptions, options)),
        piped=piped,
        **options,
    )
    try:
        files = job.run()
    except _Refusal as refusal:
        job.report(refusal.findings, ())
        ctx.exit(refusal.status)
    job.report(job.notes, files)
    if piped:
        click.echo(Path(output).read_bytes(), nl=False)


def _output_of(source: str, place: str | None, named: str | None, console: Console) -> str:
    """The file to write: the one that is named or, for INPUT alone, its name in the other format.

    Raises:
        UsageError: when two files are named, or the default one exists.
    """
    if place is not None and named is not None:
        raise UsageError("the output is named twice", found=f"{place} and -o {named}")
    if place is not None or named is not None:
        return place or named or ""
    from irloop import read_model

    if source in console.copies:
        raise UsageError(
            f"{console.copies[source]} is no file of this machine", fix="name the output with -o"
        )
    stem = os.path.splitext(source)[0]
    dialect = dialect_of(source)
    if dialect is None:
        read_model(source)  # explains a file of another format
        raise UsageError(f"{source}: the suffix names no format", fix="name the output with -o")
    suffix = ".xml" if dialect == "onnx" else ".onnx"
    default = stem + suffix
    for file in (default, os.fspath(weights_beside(default)) if suffix == ".xml" else default):
        if os.path.lexists(file):
            raise UsageError(f"{file} exists", fix=f"-o {default} writes over it")
    return default


def _require_pipeable(options: dict[str, Any]) -> None:
    """Refuse options that conflict with `-o -`, which writes one ONNX file to stdout.

    Raises:
        UsageError: naming the option, for example `--external-data` or `--format json`.
    """
    if options["external_data"]:
        raise UsageError("--external-data cannot be combined with -o -: it is one ONNX file")
    if options["weights"] == "share":
        raise UsageError("--weights share cannot be combined with -o -: the model has no folder")
    if options["style"] == "json":
        raise UsageError("--format json cannot be combined with -o -: both are written to stdout")


def _after_check(note: Diagnostic, comparison: Comparison) -> Diagnostic:
    """Say in a note on a fault that it did not happen, if the engine ran the result rightly."""
    if note.code != HAZARD:
        return note
    engine = note.message.partition(" ")[0]
    runs = [run for run in comparison.runs if (run.model, run.engine) == ("second", engine)]
    run = next((run for run in runs if 0 < run.ran == run.agreed and not run.excused), None)
    if run is None:
        return note
    return replace(
        note,
        severity=Severity.INFO,
        message=note.message.replace(" fails on ", " can fail on ", 1),
        cause=f"{note.cause}. It did not happen: {run.engine} {run.version} ran the result in "
        f"{run.ran} trials, with the right values",
    )


def _moved_outputs(moved: Comparison) -> Iterator[Diagnostic]:
    """Tell how far the rounding of zero points moves each output; the check is without it."""
    said = "--check compares with the model whose zero points are rounded"
    if not moved.converts:
        reasons = "; ".join(moved.problems) or moved.headline
        text = f"{said}; how far the rounding moves the outputs is not known: {reasons}"
        yield Diagnostic(ROUNDING, Severity.WARNING, text)
        return
    for output in moved.outputs:
        apart = 0.0 if output.difference is None else output.difference.absolute
        text = f"{said}; the rounding moves the output {output.name!r} by up to {apart:.3g}"
        yield Diagnostic(ROUNDING, Severity.INFO, text)


class _Refusal(Exception):  # noqa: N818  it is the answer, not a failure
    """Raised if the input is invalid or cannot be converted.

    Also raised if the comparison of the result with the input does not show that they are equal.
    """

    def __init__(self, findings: Iterable[Diagnostic] = (), status: Exit = Exit.FINDINGS) -> None:
        super().__init__()
        self.findings = list(findings)
        self.status = status


@dataclass
class _Job:
    """One conversion, from checking the options to writing the files."""

    source: str
    output: str
    console: Console
    options: ConvertOptions
    writing: WriteOptions
    #: The model goes to stdout, and everything else to stderr.
    piped: bool
    weights_file: str | None
    check: bool
    inputs: tuple[str, ...]
    engines: str
    max_iterations: int | None
    max_memory: int
    no_validate: bool
    style: str

    def __post_init__(self) -> None:
        #: The source, parsed only once for validating, reading and checking.
        self.file = ParsedOnce(self.source)
        self.to_dialect = dialect_of(self.output)
        self.notes: list[Diagnostic] = []
        self.comparison: Comparison | None = None

    def run(self) -> tuple[str, ...]:
        """Convert and return the files written.

        Raises:
            UsageError: when the options contradict each other.
            _Refusal: with the findings that stopped the conversion.
        """
        self._require_sensible()
        try:
            # Pause the collector, because this process reads only one model, and nothing of it is
            # garbage until the process ends. The collector works again while the models run.
            with collector_paused():
                if not self.no_validate:
                    self._validate()
                model = self._read()
                converted = self._converted(model)
                if not self.check:
                    # Within the pause, because a pause that follows another one first searches what
                    # that one has left, which takes as long as writing a large model.
                    self.console.progress(f"writing {self.output}")
                    return self._write(converted, self.output)
            return self._save_equal(converted)
        except (InternalError, UsageError, VerifyError):
            raise
        except IrloopError as error:
            if isinstance(error, WriteError) and isinstance(error.__cause__, (OSError, ReadError)):
                raise
            raise _Refusal(item.in_file(self.source) for item in error.diagnostics) from error
        finally:
            self.console.done()
            self.file.close()

    def report(self, findings: Sequence[Diagnostic], files: Sequence[str]) -> None:
        """Write findings and the verdict to stdout, and the names of the written files to stderr.

        In a text report, notes on the forms that were chosen for loops go to stderr, too. If the
        model itself is written to stdout, everything goes to stderr.
        """
        if self.style == "json":
            verdict = None if self.comparison is None else self.comparison.to_dict()
            click.echo(
                report_json.report(
                    "convert", findings, files=[self.source], written=list(files), check=verdict
                )
            )
        else:
            chosen = [item for item in findings if item.code == LOOP_CHOICE]
            for item in chosen:
                self.console.note(item.message)
            others = [item for item in findings if item not in chosen]
            if others:
                click.echo(report_text.render(others), err=self.piped)
            if self.comparison is not None:
                say(comparison_text(self.comparison), err=self.piped)
        for file in () if self.piped else files:
            self.console.note(f"wrote {file}")
        if not files:
            self.console.note("nothing was written")

    def _require_sensible(self) -> None:
        if self.to_dialect is None:
            raise UsageError(f"{self.output}: the suffix must be {' or '.join(sorted(SUFFIXES))}")
        require_folder(self.output)
        self.writing.require_fitting(self.to_dialect, spelled=True)
        self.options.require_fitting(self.to_dialect, spelled=True)
        require_free(self.output, [self.source, *filter(None, [self.weights_file])])

    def _validate(self) -> None:
        from irloop import validate

        self.console.progress(f"validating {self.source}")
        report = validate(self.file, self.weights_file)
        if report.has_errors:
            raise _Refusal(item for item in report.sorted() if item.severity is Severity.ERROR)

    def _read(self) -> Model:
        from irloop import read_model

        self.console.progress(f"reading {self.source}")
        functions = self.to_dialect == "openvino"
        model = read_model(self.file, self.weights_file, functions=functions)
        if not self.check:
            self.file.close()
        require_free(self.output, weight_files(model))
        return model

    def _converted(self, model: Model) -> Model:
        from irloop import convert

        self.console.progress(f"converting {self.source}")
        converted, notes = convert(model, self.to_dialect, **vars(self.options))
        for note in notes:
            if note.code == "CNV106":
                self.console.note(note.message)
            else:
                self.notes.append(note.in_file(self.source))
        return converted

    def _save_equal(self, model: Model) -> tuple[str, ...]:
        """Write `model` to the output if it computes the same as the source.

        Returns the written paths. If the results differ, an error is raised and nothing is written.
        """
        if self.writing.weights == "share":
            # Only a file in the folder of the weights can refer to them, so the comparison runs the
            # model in memory.
            self._require_equal(model)
            return self._write(model, self.output)
        return self._write_proved(model)

    def _write_proved(self, model: Model) -> tuple[str, ...]:
        """Write the converted model to a temporary folder, and compare it with the source.

        The files are moved to the place of the output only if both models compute the same results.
        """
        folder, name = os.path.split(self.output)
        with scratch(folder or ".") as place:
            files = self._write(model, os.path.join(place, name))
            self._require_equal(files[0])
            moves = [(file, os.path.join(folder, os.path.basename(file))) for file in files]
            # The model is moved last, so that its weights exist as soon as it does.
            move_together(moves)
        return tuple(final for _, final in moves)

    def _require_equal(self, result: Model | str) -> None:
        from irloop import compare, read_arrays, read_model

        self.console.progress(f"running {self.source} and the result")
        # Compare with the file, not with the model that was read, so that the comparison notices if
        # conversion changed it. The engine runs the file itself.
        first: Model | ParsedOnce = self.file
        options, passes = self.options, self.options.source_passes()
        if passes or options.preprocesses:
            first = self._prepared(passes)
            # The result takes inputs in the layout that it has itself.
            options = replace(options, shapes=None) if options.preprocesses else options
        elif self.weights_file is not None:
            first = read_model(self.file, self.weights_file)
        trials: dict[str, Any] = {
            "inputs": [read_arrays(file) for file in self.inputs] or None,
            "shapes": options.shapes,
            "types": options.types,
            "lengths": options.lengths,
            "max_memory": self.max_memory,
            "max_iterations": self.max_iterations,
        }
        if any(note.code == ROUNDING for note in self.notes):
            original = self._prepared(passes[:-1])
            # Everything is near enough, so no cause of a difference is searched for.
            moved = compare(original, first, engines="numpy", atol=FAR, **trials)
            self.notes += [item.in_file(self.source) for item in _moved_outputs(moved)]
        self.comparison = compare(first, result, engines=self.engines, converted=True, **trials)
        self.notes = [_after_check(item, self.comparison) for item in self.notes]
        if not self.comparison.converts:
            # The warnings of the conversion may explain it.
            raise _Refusal(self.notes, exit_of(self.comparison))

    def _prepared(self, passes: list[str]) -> Model:
        """The source in its own format after `passes`, with the inputs that the result has."""
        from irloop import convert, read_model, transform

        model = read_model(self.file, self.weights_file)
        if passes:
            model = transform(model, passes)[0]
        if self.options.preprocesses:
            names = ("shapes", "types", *PREPROCESSING)
            steps = {name: getattr(self.options, name) for name in names}
            own: Literal["onnx", "openvino"] = "onnx" if model.dialect == "onnx" else "openvino"
            model = convert(model, own, **steps)[0]
        return model

    def _write(self, model: Model, path: str) -> tuple[str, ...]:
        from irloop import save_model

        options = dict(vars(self.writing))
        if self.to_dialect == "openvino":
            options["ir_version"] = self.writing.ir_version or ir_version_of(model)
        elif self.piped:
            options["external_data"] = False
        with collector_paused():
            return save_model(model, path, **options)
