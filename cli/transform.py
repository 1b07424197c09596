"""``irloop transform``: run passes on a model, and observe them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from irloop.errors import IrloopError, UsageError
from irloop.files import scratch
from irloop.opening import dialect_of

from . import report_json
from .check import comparison_text, exit_of
from .completion import files, pass_names
from .console import Console, common_options, console_of, say
from .files import require_folder, require_free, weight_files, write_whole
from .names import ModelPath
from .options import format_option, run_options, weights_option

if TYPE_CHECKING:
    from irloop import Comparison, Model, PassRecord, Profile

__all__ = ["command"]

EPILOG = """\
\b
A pass and its options:
  --pass unroll                       without options
  --pass unroll=8                     with its first option
  --pass unroll:trips=8:nodes=500     with options by name ('irloop passes unroll' lists them)
  --pass my_passes.py:MyPass=8        a class in a file of your own, which is run for it

\b
Examples:
  irloop transform model.xml -o small.xml --pass constant_folding --pass dead_code
  irloop transform model.onnx -o flat.onnx --pass unroll=8 --check --profile
  irloop transform model.xml --pass hoist_invariants --draw after=hoist_invariants
  irloop transform model.onnx -o new.onnx --pass unroll --dump steps --dump-format ir
"""


#: The name of every pass in `--draw`.
ALL = "all"


class _Moment(NamedTuple):
    """The moment before or after the pass `name`; `when` is "before" or "after"."""

    when: str
    name: str


def _moments(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> list[_Moment]:
    moments = []
    for text in texts:
        when, equals, name = (f"after={ALL}" if text == ALL else text).partition("=")
        if when not in ("before", "after") or not equals or not name:
            raise click.BadParameter(f"{text!r} is neither before=PASS nor after=PASS nor all")
        moments.append(_Moment(when, name.replace("-", "_")))
    return moments


@click.command("transform", epilog=EPILOG, short_help="Run passes on a model.")
@click.argument("source", metavar="INPUT", type=ModelPath())
@click.option(
    "-o",
    "--output",
    metavar="OUTPUT",
    type=click.Path(dir_okay=False),
    help="The model to write, in the format of INPUT. -: ONNX to stdout.",
)
@click.option(
    "--pass",
    "passes",
    metavar="NAME|FILE.py:CLASS[=VALUE][:OPTION=VALUE...]",
    multiple=True,
    required=True,
    shell_complete=pass_names,
    help="The pass to run; repeatable, in the order given.",
)
@click.option(
    "--disable",
    metavar="NAME",
    multiple=True,
    shell_complete=pass_names,
    help="A pass that must not run, even as part of another pass.",
)
@weights_option()
@click.option(
    "--check",
    is_flag=True,
    help="Verify the graph after each pass; then run INPUT and the result and compare them.",
)
@run_options
@click.option("--profile", is_flag=True, help="Show time, matches and changes of each pass.")
@click.option(
    "--profile-csv",
    metavar="FILE",
    shell_complete=files,
    help="Write the same figures as CSV.",
)
@click.option(
    "--draw",
    "moments",
    metavar="before=NAME|after=NAME|all",
    multiple=True,
    callback=_moments,
    help="Draw the model before or after a pass, all: after every pass; removed and added "
    "operations are coloured.",
)
@click.option(
    "--draw-to",
    metavar="FOLDER",
    default=".",
    show_default=True,
    type=click.Path(file_okay=False),
    help="The folder of the pictures.",
)
@click.option("--draw-format", type=click.Choice(["svg", "dot"]), default="svg", show_default=True)
@click.option(
    "--draw-limit",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Draw at most this many operations; bodies are left out first.",
)
@click.option("--draw-info", is_flag=True, help="Show runtime information in pictures.")
@click.option(
    "--dump",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Write the model into FOLDER after each pass that changed it.",
)
@click.option(
    "--dump-format",
    type=click.Choice(["ir", "onnx"]),
    help="The format of these models.  [default: that of INPUT]",
)
@format_option()
@common_options
@click.pass_context
def command(ctx: click.Context, /, source: str, **options: Any) -> None:
    """Run passes on INPUT in the order given; 'irloop passes' lists them.

    The exit status is 1 if --check finds that the results differ or that an engine does not run the
    result, and 2 if nothing could be compared; in both cases OUTPUT is not written. If only INPUT
    does not run in its engine, OUTPUT is written, and the first line of the check says so. The
    report names the first pass that changed the results.
    """
    piped = options["output"] == "-"
    if piped:
        # Nothing but the model may go to stdout.
        console_of(ctx).style = "text"
        _require_pipeable(source, options)
        options["output"] = os.path.join(ctx.with_resource(scratch()), "stdout.onnx")
    _require_sensible(source, options)
    from irloop import read_arrays, read_model, transform

    console = console_of(ctx)
    console.progress(f"reading {source}")
    original = read_model(source, options["weights"])
    if options["output"] is not None:
        require_free(options["output"], weight_files(original))
    watcher = _Watcher(original, console, options)
    result, profile = transform(
        original,
        options["passes"],
        disable=options["disable"],
        verify=options["check"],
        observers=[watcher],
    )
    watcher.require_all_drawn()
    comparison = guilty = None
    if options["check"]:
        console.progress(f"running {source} and the result")
        # Without --weights, engines run the source file itself instead of a copy of the model.
        first = original if options["weights"] else source
        how = {
            "inputs": [read_arrays(file) for file in options["inputs"]] or None,
            **{name: options[name] for name in ("engines", "max_iterations", "max_memory")},
            "converted": True,
        }
        comparison, guilty = _compared(first, result, watcher.steps, how)
    console.done()
    proved = comparison is None or comparison.converts
    written = list(watcher.files)
    if options["output"] is not None and proved:
        files = _saved(result, options["output"])
        written += () if piped else files
    if options["profile_csv"] is not None:
        write_whole(options["profile_csv"], profile.csv().rstrip("\n"))
        written.append(options["profile_csv"])
    if options["style"] == "json":
        report = _report(profile, comparison, guilty)
        click.echo(report_json.report("transform", (), files=[source], written=written, **report))
    else:
        for line in _lines(profile, comparison, guilty, full=options["profile"]):
            say(line, err=piped)
    for file in written:
        console.note(f"wrote {file}")
    if piped and proved:
        click.echo(Path(options["output"]).read_bytes(), nl=False)
    if comparison is not None and not proved:
        ctx.exit(exit_of(comparison))


def _require_pipeable(source: str, options: dict[str, Any]) -> None:
    """Refuse options that conflict with `-o -`, which writes the model to stdout.

    Raises:
        UsageError: for an IR, which consists of two files, and for `--format json`, which also goes
            to stdout.
    """
    if dialect_of(source) != "onnx":
        raise UsageError(
            "an IR cannot be written to the standard output: it consists of two files",
            fix="name a file, or convert the IR to ONNX before",
        )
    if options["style"] == "json":
        raise UsageError("--format json cannot be combined with -o -: both are written to stdout")


def _require_sensible(source: str, options: dict[str, Any]) -> None:
    output = options["output"]
    wanted = ("output", "check", "profile", "profile_csv", "moments", "dump")
    if not any(options[name] for name in wanted):
        raise UsageError(
            "no output is requested",
            fix="give an output (-o), --check, --profile, --draw or --dump",
        )
    if options["profile_csv"] is not None:
        require_folder(options["profile_csv"])
    if output is None:
        return
    if dialect_of(source) != dialect_of(output):
        suffix = os.path.splitext(source)[1].lower()
        raise UsageError(
            f"{output}: a transformation keeps the format {suffix}",
            fix="convert the result with 'irloop convert'",
        )
    require_free(output, [source, *filter(None, [options["weights"]])])


def _saved(model: Model, path: str) -> tuple[str, ...]:
    from irloop import save_model

    return save_model(model, path)


_FORMATS = {"openvino": "ir", "onnx": "onnx"}
_DUMPS: dict[str, tuple[str, Literal["openvino", "onnx"]]] = {
    "ir": (".xml", "openvino"),
    "onnx": (".onnx", "onnx"),
}


class _Watcher:
    """Draws, dumps and stores the model before and after passes."""

    def __init__(self, original: Model, console: Console, options: dict[str, Any]) -> None:
        self.files: list[str] = []
        #: The model after each pass that changed it, for --check.
        self.steps: list[tuple[str, Model]] = []
        self._console = console
        self._options = options
        self._original = original
        self._wanted: list[_Moment] = options["moments"]
        self._drawn: set[_Moment] = set()
        self._before: list[Model] = []
        self._number = 0

    def before(self, name: str, model: Model) -> None:
        """Copy the model before a pass runs, if the user requested a picture of this pass.

        `name` is the name of the pass.
        """
        self._console.progress(f"running {name}", is_part=True)
        self._before.append(_copy(model) if self._draws(name) else self._original)

    def after(self, record: PassRecord, model: Model) -> None:
        """Draw the model before and after the pass; keep a copy and dump it if the pass changed it.

        Each is done only if the options request it.
        """
        before = self._before.pop()
        self._number += 1
        if self._draws(record.name):
            self._draw(record.name, before, model)
        if not record.modified:
            return
        if self._options["check"]:
            self.steps.append((record.name, _copy(model)))
        if self._options["dump"] is not None:
            self._dump(record.name, model)

    def require_all_drawn(self) -> None:
        """Raise UsageError if the user requested a picture for a pass that did not run."""
        for moment in self._wanted:
            if moment not in self._drawn:
                raise UsageError(f"--draw {moment.when}={moment.name}: no such pass ran")

    def _draws(self, name: str) -> bool:
        return any(moment.name in (name, ALL) for moment in self._wanted)

    def _draw(self, name: str, before: Model, after: Model) -> None:
        old, new = _paths(before), _paths(after)
        gone, came = old.items() - new.items(), new.items() - old.items()
        for when, model, marks in (
            ("before", before, {path: "gone" for path, _ in gone}),
            ("after", after, {path: "new" for path, _ in came}),
        ):
            wanted = {_Moment(when, name), _Moment(when, ALL)}.intersection(self._wanted)
            if wanted:
                self._drawn |= wanted
                self._picture(_Moment(when, name), model, marks)

    def _picture(self, moment: _Moment, model: Model, marks: dict[str, str]) -> None:
        from irloop import draw

        style: Literal["svg", "dot"] = self._options["draw_format"]
        path = self._path(self._options["draw_to"], f"{moment.name}_{moment.when}.{style}")
        text = draw(
            model,
            style,
            info=self._options["draw_info"],
            limit=self._options["draw_limit"],
            marks=marks,
            title=f"{moment.when} {moment.name}",
        )
        write_whole(path, text.rstrip("\n"))
        self.files.append(path)

    def _dump(self, name: str, model: Model) -> None:
        from irloop import convert

        style = self._options["dump_format"] or _FORMATS[model.dialect]
        suffix, wanted = _DUMPS[style]
        path = self._path(self._options["dump"], f"{name}{suffix}")
        shown = _copy(model)
        try:
            if shown.dialect != wanted:
                shown, _ = convert(shown, wanted)
            self.files += _saved(shown, path)
        except IrloopError as error:
            # Go on, so that the later steps are written.
            self._console.note(f"{path} was not written: {error.message}")

    def _path(self, folder: str, name: str) -> str:
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, f"{self._number:03}_{name}")


def _copy(model: Model) -> Model:
    from irloop.graph.clone import clone_model

    return clone_model(model)


def _paths(model: Model) -> dict[str, str]:
    """The operation of each node, keyed by the node's path."""
    from irloop.graph.walk import all_nodes, node_path

    return {node_path(node): node.op.label for node in all_nodes(model.graph)}


def _compared(
    original: Model | str, result: Model, steps: list[tuple[str, Model]], how: dict[str, Any]
) -> tuple[Comparison, str | None]:
    """Compare two models and, if they differ, find the first pass that changed the results.

    `steps` holds the name of each pass and the model after it. The second result is the name of the
    pass; it is None if the models do not differ, or if no model in `steps` differs.
    """
    from irloop import compare

    comparison = compare(original, result, **how)
    if not comparison.differs:
        return comparison, None
    for name, model in steps:
        if compare(original, model, **how).differs:
            return comparison, name
    return comparison, None


def _report(
    profile: Profile, comparison: Comparison | None, guilty: str | None
) -> dict[str, object]:
    passes = [
        {
            "name": record.name,
            "manager": record.manager,
            "milliseconds": round(record.seconds * 1e3, 3),
            "matches": dict(record.matches),
            "nodes_before": record.nodes[0],
            "nodes_after": record.nodes[1],
            "changed": record.modified,
        }
        for record in profile
    ]
    check = None if comparison is None else comparison.to_dict()
    return {"passes": passes, "check": check, "first_wrong_pass": guilty}


def _lines(
    profile: Profile, comparison: Comparison | None, guilty: str | None, *, full: bool
) -> Iterator[str]:
    if full:
        yield str(profile)
    else:
        changed = [record.name for record in profile if record.modified]
        yield f"changed by {', '.join(changed)}" if changed else "no pass changed the model"
    if comparison is not None:
        yield comparison_text(comparison)
    if guilty is not None:
        yield f"the first pass that changes what is computed: {guilty}"
