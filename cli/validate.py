"""``irloop validate``: find errors in models without running them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from irloop.diagnostics import Cap, Diagnostic, Location, Severity, one_line
from irloop.errors import InternalError, UsageError
from irloop.opening import open_regular, weights_beside

from . import report_text
from .completion import codes, files, named_reports, releases
from .console import Console, common_options, console_of, uses_colour
from .exclusion import Exclusion
from .exits import Exit
from .files import require_folder, write_whole
from .names import from_stdin
from .options import format_option
from .parallel import outcomes, processes_for
from .search import changed_models, find_models
from .settings import FAIL_ON, Settings, exclusion_of, find_settings, read_settings
from .validation_job import Job

if TYPE_CHECKING:
    from irloop import Model

    from .baseline import Baseline

__all__ = ["Found", "command"]

STYLES = (
    "text",
    "json",
    "sarif",
    "junit",
    "github",
    "gitlab",
    "azure",
    "rdjson",
    "summary",
)

EPILOG = """\
\b
Examples:
  irloop validate model.xml
  irloop validate model.xml --bin other.bin
  irloop validate models/ 'more/**/*.onnx' --fail-on warning
  irloop validate model.xml --select IRL5 --ignore IRL513
  irloop validate models/ --format sarif > irloop.sarif
  irloop validate models/ --baseline known.json --write-baseline
  irloop validate models/ --baseline known.json
  irloop validate models/ --report findings.html
  irloop validate . --extend-exclude tests/fixtures
  irloop validate model.xml --diff
  irloop validate models/ --fix
  irloop validate models/ --format github --output sarif=irloop.sarif --output junit=irloop.xml

\b
A model file can suppress findings: in an IR by the comment
<!-- irloop: ignore IRL513 --> on the line of an element or before it,
<!-- irloop: ignore-file IRL9 --> anywhere; in ONNX the entry irloop.ignore of
metadata_props of the model or a node.

\b
Settings of a project (irloop.toml, or the table tool.irloop of pyproject.toml):
  select = ["IRL"]
  ignore = ["IRL513"]
  fail-on = "warning"
  baseline = "known.json"
  severity = {IRL9 = "info"}
  max-same-findings = 100
  extend-exclude = ["tests/fixtures"]
"""


@click.command(
    "validate", epilog=EPILOG, short_help="Find problems in models without running them."
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, shell_complete=files)
@click.option(
    "--bin",
    "weights",
    metavar="FILE",
    shell_complete=files,
    help="The weights of the given IRs.  [default: the .bin of the same name]",
)
@click.option(
    "--select",
    metavar="CODES",
    multiple=True,
    shell_complete=codes,
    help="Report only these codes or groups, as in IRL203,IRL5.",
)
@click.option(
    "--ignore",
    metavar="CODES",
    multiple=True,
    shell_complete=codes,
    help="Do not report these codes or groups.",
)
@click.option(
    "--engine",
    "engines",
    metavar="NAME[-VERSION]",
    multiple=True,
    shell_complete=releases,
    help="Also warn about patterns that this engine gets wrong: "
    "onnxruntime, openvino, openvino-2021.4.",
)
@click.option(
    "--no-ignore",
    is_flag=True,
    help="Disregard what the models and the settings of their folder say should be ignored: "
    "comments, metadata, irloop.toml, pyproject.toml and .gitignore.",
)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="The lowest severity that makes the exit status 1.  [default: error]",
)
@click.option(
    "--baseline",
    metavar="FILE",
    shell_complete=files,
    help="A file of known findings, which are left out of the report and the exit status.",
)
@click.option(
    "--write-baseline",
    is_flag=True,
    help="Write all findings to the baseline; they do not affect the exit status.",
)
@click.option(
    "--max-same-findings",
    "max_same",
    type=click.IntRange(min=0),
    metavar="N",
    help="List at most N findings of one code in one file, and count the others; 0 lists all.  "
    "[default: 100]",
)
@click.option(
    "--fix",
    "fixes",
    is_flag=True,
    help="Apply fixes that do not change results, then report the remaining findings.",
)
@click.option(
    "--diff", "shows_diff", is_flag=True, help="Show what --fix would change; write nothing."
)
@click.option(
    "--unsafe-fixes",
    "unsafe",
    is_flag=True,
    help="With --fix or --diff: also make fixes that may change results or need an assumption.",
)
@click.option(
    "--config",
    metavar="FILE",
    shell_complete=files,
    help="The settings file.  [default: the nearest irloop.toml or pyproject.toml with settings]",
)
@format_option(STYLES, help="The format of findings on stdout.")
@click.option(
    "--output",
    "--report",
    "reports",
    metavar="FORMAT=FILE",
    multiple=True,
    shell_complete=named_reports((*STYLES, "html")),
    help="Also write the findings to a file, in any format of --format or in html: a page with "
    "pictures of the models. FILE.html means html=FILE.html.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="The number of processes.  [default: depends on the size of the files]",
)
@click.option(
    "--isolate/--no-isolate",
    default=None,
    help="Validate in separate processes: a crash affects only one model.  [default: for several "
    "models]",
)
@click.option(
    "--follow-links",
    is_flag=True,
    help="Follow links that lead out of the folders that are searched, or to other files.",
)
@click.option(
    "--exclude",
    metavar="PATTERN",
    multiple=True,
    help="Leave out what matches, as a line of a .gitignore, instead of the folders of tools and "
    "other projects (.venv, node_modules, ...).",
)
@click.option(
    "--extend-exclude",
    metavar="PATTERN",
    multiple=True,
    help="Leave out what matches as well.",
)
@click.option(
    "--respect-gitignore/--no-respect-gitignore",
    "respects_git",
    default=None,
    help="Leave out what Git ignores.  [default: yes]",
)
@click.option(
    "--changed",
    is_flag=True,
    help="PATHs are changed files: a .bin selects its .xml, other files are ignored.",
)
@common_options
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> None:
    """Check models without running them.

    PATH is a model (.xml, .onnx, .onnxtxt), a folder that is searched for models, a pattern such as
    'models/**/*.xml', or - for a model on the standard input. A search leaves out what Git ignores,
    and the folders of tools and other projects. All findings are reported, not only
    the first. The exit status is 2 if nothing matches. An option overrides the setting with the
    same name.
    """
    console = console_of(ctx)
    project, settings = _settings(options)
    weights: str | None = options["weights"]
    reports = [_report(text) for text in options["reports"]]
    search = changed_models if options["changed"] else find_models
    named = tuple(from_stdin(ctx) if path == "-" else path for path in paths)
    follow: bool = options["follow_links"]
    models, leaving = search(named, settings.exclusion, follow=follow)
    if settings.exclusion.left_out:
        console.note(
            f"left out because Git ignores them: {settings.exclusion.left_out} files or folders; "
            "--no-respect-gitignore includes them"
        )
    for link in leaving:
        place = "out of the folder that is searched, or to a file that is no model"
        message = f"{link}: this link leads {place}; --follow-links reads it all the same"
        click.echo(one_line(f"irloop: error: {message}"), err=True)
    if weights is not None and not os.path.isfile(weights):
        raise UsageError(f"{weights}: no such file")
    require_folder(*(file for _, file in reports))
    _require_no_model([file for _, file in reports], models)
    baseline = _baseline(settings, writing=options["write_baseline"])
    unreadable = {model: why for model in models if (why := _why_closed(model)) is not None}
    readable = [model for model in models if model not in unreadable]
    if options["unsafe"] and not (options["fixes"] or options["shows_diff"]):
        raise UsageError("--unsafe-fixes has no effect alone", fix="add --fix or --diff")
    if options["fixes"] or options["shows_diff"]:
        from .fixing import fix_models

        changes = fix_models(
            readable,
            weights,
            settings,
            console,
            unsafe=options["unsafe"],
            write=not options["shows_diff"],
        )
        if options["shows_diff"]:
            click.echo(changes, nl=False)
            ctx.exit(Exit.FINDINGS if changes else Exit.FINE)
    findings: list[Diagnostic] = []
    suppressed: list[Diagnostic] = []
    processes = processes_for(readable, options["jobs"])
    if processes > 1:
        console.detail(f"{len(readable)} models in {processes} processes")
    work = [
        Job(
            model,
            # Links that are followed may lead out of the folder of the model, too.
            os.fspath(weights_beside(model)) if follow and weights is None else weights,
            *_looked_for(project, options),
            settings.engines,
            console.max_memory,
            console.max_seconds,
            # A baseline needs all findings to tell the known ones from the new ones.
            (settings.max_same or None) if baseline is None else None,
            options["no_ignore"],
        )
        for model in readable
    ]
    isolate = len(work) > 1 if options["isolate"] is None else options["isolate"]
    with closing(outcomes(work, processes, isolate=isolate)) as done:
        for number, model in enumerate(readable, start=1):
            console.progress(f"{number} of {len(readable)}: {model}")
            console.counted("", number - 1, len(readable))
            outcome = next(done)
            console.detail(f"validated {model}")
            listed, left_out = project.parted(outcome.findings)
            findings += map(console.shown, settings.judged(listed))
            suppressed += map(console.shown, (*outcome.suppressed, *left_out))
    console.done()
    if baseline is not None and options["write_baseline"]:
        baseline.write(findings, readable)
        total = sum(baseline.known.values())
        count = f"{total} known finding{'' if total == 1 else 's'}"
        console.note(f"wrote {baseline.path}: {count}, {len(findings)} of them in these models")
    if baseline is not None:
        findings, known = _new(baseline, findings, readable, console)
        suppressed += known
        cap = Cap(settings.max_same or None)
        findings = [*filter(cap.wants, findings), *cap.rest()]
    if options["style"] == "text":
        for item in unreadable.values():
            click.echo(one_line(f"irloop: error: {item.message}"), err=True)
    else:
        findings += unreadable.values()
    files = [console.named(model) for model in readable]
    reported = Found(findings, suppressed, files, Severity(settings.fail_on))
    for style, file in reports:
        if style == "html":
            console.progress(f"writing {file}")
            _write_page(reported, file, readable, weights)
            console.done()
        else:
            write_whole(file, reported.rendered(style))
    if options["style"] == "github":
        _append_step_summary(reported)
    colour = uses_colour()
    shown = reported.rendered(options["style"], colour=colour)
    if options["style"] == "text":
        click.echo(shown, color=colour)
    else:
        write_whole("-", shown)
    if unreadable or leaving or any(item.code == InternalError.code for item in findings):
        ctx.exit(Exit.NOT_CHECKED)
    if any(item.severity.rank <= reported.worst.rank for item in findings):
        ctx.exit(Exit.FINDINGS)


#: The groups of the rules, and of the faults of engines.
_RULES = ("IRL", "ONX")
_FAULTS = ("ORT", "OVN")


def _settings(options: dict[str, Any]) -> tuple[Settings, Settings]:
    """Read the settings of the project.

    Returns them without the codes that options override, and as changed by the options.
    """
    path: str | None = options["config"]
    if path is not None:
        settings = read_settings(path)
    else:
        settings = Settings() if options["no_ignore"] else find_settings()
    project = replace(
        settings,
        select=() if options["select"] else settings.select,
        ignore=() if options["ignore"] else settings.ignore,
    )
    return project, Settings(
        select=_codes(options["select"]) or settings.select,
        ignore=_codes(options["ignore"]) or settings.ignore,
        fail_on=options["fail_on"] or settings.fail_on,
        severity=settings.severity,
        engines=tuple(options["engines"]) or settings.engines,
        baseline=options["baseline"] or settings.baseline,
        max_same=settings.max_same if options["max_same"] is None else options["max_same"],
        exclusion=_exclusion(settings, options),
    )


def _exclusion(settings: Settings, options: dict[str, Any]) -> Exclusion:
    """What the search leaves out: as the settings say, unless an option says otherwise.

    With --no-ignore the checked folder has no say, so the .gitignore files in it have none either.
    """
    wish = options["respects_git"]
    respects = settings.exclusion.respects_git if wish is None else wish
    own = exclusion_of(options["exclude"], options["extend_exclude"])
    patterns = own.patterns if options["exclude"] else (*settings.exclusion.patterns, *own.patterns)
    return Exclusion(patterns, respects_git=respects and not options["no_ignore"])


def _looked_for(
    project: Settings, options: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The codes that a job selects, and those that it ignores.

    What the project's settings leave out is looked for all the same, so that it can be counted.
    """
    asked = _codes(options["select"])
    engines = options["engines"] or project.engines
    if not asked and (project.select or project.ignore):
        # The codes of the settings are among these, so that each must exist. IRL901 is looked for
        # only where it is named.
        named = (*project.select, *(code for code in project.ignore if code != "IRL901"))
        asked = (*_RULES, *(_FAULTS if engines else ()), *named)
    return asked, _codes(options["ignore"])


def _baseline(settings: Settings, *, writing: bool) -> Baseline | None:
    if settings.baseline is None:
        if writing:
            raise UsageError("--write-baseline needs a file", fix="give --baseline FILE")
        return None
    from .baseline import Baseline

    if writing:
        require_folder(settings.baseline)
    read = Baseline.read_or_empty if writing else Baseline.read
    return read(settings.baseline)


def _new(
    baseline: Baseline, findings: list[Diagnostic], files: list[str], console: Console
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Divide findings into the new ones and the known ones."""
    new, known = baseline.parted(findings)
    gone = baseline.gone(findings, files)
    if gone:
        console.note(f"{gone} known findings no longer occur; --write-baseline removes them")
    return new, known


def _report(text: str) -> tuple[str, str]:
    style, _, file = text.partition("=")
    if text.lower().endswith(".html") and style not in (*STYLES, "html"):
        return "html", text
    if style not in (*STYLES, "html") or not file:
        raise UsageError(
            f"--report {text!r} names no format and file",
            expected=f"FORMAT=FILE, FORMAT one of {', '.join(STYLES)}, html",
        )
    return style, file


class Found(NamedTuple):
    """The outcome of a validation, which can be rendered as a report in any of the formats."""

    findings: list[Diagnostic]
    suppressed: list[Diagnostic]
    files: list[str]
    worst: Severity = Severity.ERROR
    command: str = "validate"

    def rendered(self, style: str, *, colour: bool = False) -> str:
        """The report in one of the formats."""
        findings, files, suppressed = self.findings, self.files, self.suppressed
        if style not in ("text", "json"):
            findings = [item.for_public_logs() for item in findings]
            suppressed = [item.for_public_logs() for item in suppressed]
        if style == "json":
            from . import report_json

            left_out = [
                {**report_json.finding(item), "suppressed_by": item.suppressed_by}
                for item in suppressed
            ]
            return report_json.report(self.command, findings, files=files, suppressed=left_out)
        if style == "sarif":
            from . import report_sarif

            return report_sarif.render(findings, suppressed)
        if style == "junit":
            from . import report_junit

            command = f"irloop {self.command}"
            return report_junit.render(findings, files, self.worst, command, suppressed=suppressed)
        if style == "gitlab":
            from . import report_gitlab

            return report_gitlab.render(findings, suppressed)
        if style == "rdjson":
            from . import report_rdjson

            return report_rdjson.render(findings, suppressed)
        if style == "summary":
            from . import report_summary

            return report_summary.render(findings, len(files), suppressed)
        summary = report_text.summary(findings, len(files), suppressed)
        if not findings:
            return summary
        if style == "azure":
            from . import report_azure

            return f"{report_azure.render(findings)}\n{summary}"
        if style == "github":
            from . import report_github

            return f"{report_github.render(findings)}\n{summary}"
        return f"{report_text.render(findings, colour=colour)}\n\n{summary}"


def _write_page(result: Found, file: str, paths: list[str], weights: str | None) -> None:
    from irloop import Report, read_model, save_report
    from irloop.errors import IrloopError

    models: list[Model | str] = []
    for path in paths:
        try:
            models.append(path if weights is None else read_model(path, weights))
        except IrloopError:
            # The report has findings that tell why this model cannot be read.
            continue
    save_report(Report(result.findings, result.suppressed), file, models)


def _append_step_summary(result: Found) -> None:
    """Append the report to the summary page of a GitHub run.

    Outside a GitHub step there is no such page, and nothing is written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(result.rendered("summary") + "\n")
    except OSError as error:
        click.echo(f"irloop: the step summary cannot be written: {error.strerror}", err=True)


def _why_closed(model: str) -> Diagnostic | None:
    """Return why a file cannot be opened; None if it can."""
    try:
        open_regular(model).close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return UsageError(f"cannot open {model}: {reason}", location=Location(model)).diagnostics[0]
    return None


def _require_no_model(reports: Sequence[str], models: Sequence[str]) -> None:
    read = {os.path.realpath(file) for file in models}
    read |= {os.path.realpath(weights_beside(file)) for file in models}
    for file in reports:
        if os.path.realpath(file) in read:
            raise UsageError(f"the report {file} would be written over a model")


def _codes(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(code.strip().upper() for text in texts for code in text.split(",") if code.strip())
