"""Runs the rules over a model (`validate`), and explains codes (`explain`).

Rules are found by their file names (``rules/irl203_unknown_port.py``); adding a file adds the rule.
They run in the order of their codes, except that the rules a rule depends on run before it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from irloop.diagnostics import ENOUGH, Cap, Diagnostic, Report, Severity
from irloop.dialects.openvino import FAMILIES
from irloop.errors import InternalError, ReadError, UsageError, did_you_mean
from irloop.files import ParsedOnce
from irloop.formats.objects import opened
from irloop.formats.openvino.net_index import LOOPS
from irloop.formats.openvino.xml import parse
from irloop.graph.collector import collector_paused
from irloop.modules import Modules
from irloop.opening import dialect_of, open_regular, weights_beside
from irloop.progress import counted
from irloop.validation import rules as rule_package
from irloop.validation.context import Context
from irloop.validation.error_places import Errors
from irloop.validation.rule import RULES, Rule
from irloop.validation.suppression import Suppressed, of_document, of_outline

if TYPE_CHECKING:
    from irloop.validation.onnx_context import OnnxContext

__all__ = ["explain", "rule_classes", "validate"]

#: Who suppresses a finding by a comment or metadata in the model.
_MODEL = "the model"

_FILES = Modules(rule_package.__name__, else_imports=False)


@cache
def _modules() -> dict[str, str]:
    """The module of each rule, keyed by its code, in the order of codes."""
    codes = {name: name.partition("_")[0].upper() for name in _FILES.names}
    return {code: name for name, code in codes.items() if re.fullmatch(r"(IRL|ONX)\d+", code)}


@cache
def rule_classes(group: str = "", without: tuple[str, ...] = ()) -> dict[str, type[Rule]]:
    """Rules keyed by their code, in the order of codes.

    `group` is a prefix of the codes; codes that begin with one of the prefixes in `without` are
    skipped.
    """
    codes = [code for code in _modules() if code.startswith(group) and not code.startswith(without)]
    for code in codes:
        name = _modules()[code]
        if _FILES.load(name) is None:
            _stand_in(code, _FILES.broken[name])
    return {code: RULES[code] for code in codes}


def _codes(group: str) -> Iterable[str]:
    """The codes of all rules, or those of all faults if `group` starts with ORT or OVN."""
    if not group.startswith(("ORT", "OVN")):
        return _modules()
    from irloop.faults.catalogue import faults

    return faults()


def _stand_in(code: str, reason: str) -> None:
    """Register a rule in place of one whose module cannot be imported; it reports this."""
    RULES.pop(code, None)
    finding = Diagnostic(
        InternalError.code,
        Severity.ERROR,
        f"rule {code} {reason}",
        fix=f"install irloop again, or leave the rule out: --ignore {code}",
    )

    class StandIn(Rule, code=code, title="a rule that cannot be imported", legacy=True):
        __doc__ = "A rule that cannot be imported."

        def check(self, context: Any) -> Iterator[Diagnostic]:
            yield finding


def explain(code: str) -> str:
    """The documentation of a rule: what it does, why, a bad and a good example, the fix.

    Raises:
        UsageError: when the code does not exist.
    """
    from inspect import cleandoc

    wanted = code.strip().upper()
    if wanted.startswith(("ORT", "OVN")):
        from irloop.faults import catalogue

        return catalogue.explain(wanted)
    if wanted not in _modules():
        raise UsageError(
            f"no rule has the code {code!r}",
            expected="a code such as IRL203",
            fix=did_you_mean(wanted, _modules(), nearness=0.8),
        )
    rule = rule_classes(wanted)[wanted]
    head = f"{rule.code}: {rule.title} ({rule.severity.value})"
    return f"{head}\n\n{cleandoc(rule.__doc__ or '')}\n"


def validate(
    source: Any,
    *,
    weights: Any = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    engines: Iterable[str] = (),
    max_same_findings: int | None = None,
    no_ignore: bool = False,
) -> Report:
    """Validate one model and report everything that is wrong with it.

    Args:
        source: an IR (.xml) of version 10 or 11, or an ONNX model (.onnx), or one in memory.
        weights: the .bin of the IR; by default the file of the same name beside it.
        select: codes or groups ("IRL203", "IRL2") to report; empty means all.
        ignore: codes or groups not to report.
        engines: also warn about patterns that these engines get wrong, such as "onnxruntime" or
            "openvino-2021.4".
        max_same_findings: list at most this many findings of one code, and count the others; None
            lists all.
        no_ignore: disregard comments and metadata in the model that suppress findings.

    Raises:
        UsageError: for a code or an engine that does not exist. A file that cannot be read is a
            finding.
    """
    path, weights = opened(source, weights)
    file = os.fspath(path)
    selection = _Selection(select, ignore)
    targets = tuple(engines)
    if targets:
        from irloop.faults.catalogue import faults_of

        for target in targets:
            faults_of(target)
    if max_same_findings is not None:
        selection.enough = max(ENOUGH, max_same_findings + 1)
    report = Report()
    listed, left_out = Cap(max_same_findings), Cap(max_same_findings)
    with collector_paused():
        if _is_onnx(path):
            findings = _onnx_findings(path, selection, targets)
        else:
            findings = _ir_findings(path, weights, selection, targets)
        for finding in findings:
            if not selection.wants(finding.code):
                continue
            by_model = not no_ignore and selection.suppressed and selection.suppressed(finding)
            if (left_out if by_model else listed).wants(finding):
                kept = report.suppressed if by_model else report.diagnostics
                kept.append(finding.in_file(file))
    report.extend(item.in_file(file) for item in listed.rest())
    report.suppressed.extend(item.in_file(file) for item in left_out.rest())
    report.suppressed[:] = [replace(item, suppressed_by=_MODEL) for item in report.suppressed]
    return report


class _Selection:
    """Decides by their codes, such as IRL203, which rules and findings the caller wants."""

    def __init__(self, select: Iterable[str], ignore: Iterable[str]) -> None:
        #: Suppressions in the model itself; set once the model has been read.
        self.suppressed: Suppressed | None = None
        #: The codes of the rules that found something.
        self.reported: set[str] = set()
        #: A rule stops after this many errors; None means that it finds all.
        self.enough: int | None = None
        self.select = self._checked(select)
        self.ignore = self._checked(ignore)

    @staticmethod
    def _checked(groups: Iterable[str]) -> tuple[str, ...]:
        checked = tuple(group.strip().upper() for group in groups)
        for group in checked:
            if not any(code.startswith(group) for code in _codes(group)):
                raise UsageError(
                    f"no rule has a code that begins with {group!r}",
                    expected="codes or groups such as IRL203, IRL2",
                    found=group,
                    fix=did_you_mean(group, [*_codes(group)], nearness=0.8),
                )
        return checked

    def wants_finding(self, item: Diagnostic) -> bool:
        """Return whether this finding should be reported."""
        return self.wants(item.code)

    def wants(self, code: str) -> bool:
        """Return whether findings with this code should be reported."""
        if any(code.startswith(group) for group in self.ignore):
            return False
        return not self.select or any(code.startswith(group) for group in self.select)

    def wanted(self, group: str, without: tuple[str, ...]) -> tuple[str, ...]:
        """The codes of the rules of `group` that should run.

        Codes that begin with one of the prefixes in `without` are skipped.
        """
        codes = tuple(rule_classes(group, without))
        if not self.ignore and not self.select:
            return codes
        return tuple(code for code in codes if self.wants(code))


def _is_onnx(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an ONNX model, judged by its suffix.

    If the suffix is unknown, the first byte decides, which is the same in all ONNX models.
    """
    if isinstance(path, ParsedOnce) and path.dialect is not None:
        return path.dialect == "onnx"
    file = os.fspath(path)
    dialect = dialect_of(file)
    if dialect is not None:
        return dialect == "onnx"
    try:
        with open_regular(file) as stream:
            return stream.read(1) == b"\x08"
    except (OSError, ValueError):
        return False


def _onnx_findings(
    path: str | os.PathLike[str], selection: _Selection, engines: tuple[str, ...]
) -> Iterator[Diagnostic]:
    from irloop.validation.onnx_context import OnnxContext

    try:
        context = OnnxContext(path)
    except ReadError as error:
        for unread in error.diagnostics:
            yield replace(unread, code="ONX101") if unread.code == ReadError.code else unread
        return
    selection.suppressed = of_outline(context.outline)
    found = chain(_run(context, "ONX", selection), _faults(context, selection, engines))
    for item in map(context.placed, found):
        yield replace(item, shows_weights=True) if context.shows_weights else item
    context.close()


def _faults(
    context: OnnxContext, selection: _Selection, engines: tuple[str, ...]
) -> Iterator[Diagnostic]:
    if not engines:
        return
    from irloop.validation.faults import fault_findings

    for graph in context.inferred_graphs[:1]:
        yield from fault_findings(graph, engines, selection.reported)


def _ir_findings(
    path: str | os.PathLike[str],
    weights: str | os.PathLike[str] | None,
    selection: _Selection,
    engines: tuple[str, ...],
) -> Iterator[Diagnostic]:
    file = os.fspath(path)
    try:
        document = parse(path)
    except ReadError as error:
        if error.message == "the root element is <layer>":
            yield from _fragment_findings(file, error, selection)
        else:
            yield from error.diagnostics
        return
    bin_file = weights_beside(file) if weights is None else weights
    selection.suppressed = of_document(document)
    context = Context(document, bin_file, path if isinstance(path, ParsedOnce) else None)
    asked = any(engine.startswith("openvino-2021") for engine in engines)
    context.concerns_2021 = asked or "IRL901" in selection.select
    # The sender of the model chooses what a link leads to, in the folder of the model.
    is_link = weights is None and os.path.islink(bin_file)
    try:
        for item in _run(context, "IRL", selection):
            yield replace(item, shows_weights=True) if is_link else item
        if document.is_legacy and not context.errors:
            from irloop.formats.openvino.legacy.notes import notes_of

            yield from filter(selection.wants_finding, notes_of(document))
        if engines and not document.is_legacy:
            from irloop.validation.faults import fault_findings_of_ir

            yield from fault_findings_of_ir(document, bin_file, engines, selection.reported)
    except ReadError as error:  # libxml2 refuses what expat accepts
        yield from error.diagnostics
    finally:
        context.close()


def _fragment_findings(file: str, error: ReadError, selection: _Selection) -> Iterator[Diagnostic]:
    """Yield the findings of a file that contains only one layer.

    Examples in specifications are such files. If the file is of another kind, yield the findings of
    `error`, which the reader has raised.
    """
    from irloop.validation import fragment

    try:
        document = fragment.document_of(file)
    except ReadError as found:
        yield from found.diagnostics
        return
    if document is None:
        yield from error.diagnostics
        return
    selection.suppressed = of_document(document)
    context = Context(document, "")
    try:
        yield from filter(fragment.concerns, _run(context, "IRL", selection))
    finally:
        context.close()


def _run(context: Context | OnnxContext, group: str, selection: _Selection) -> Iterator[Diagnostic]:
    """Run the rules in order; drop findings that depend on an error found earlier."""
    without = _pointless(context) if group == "IRL" else ()
    errors = Errors()
    context.errors = errors
    subject: Any = context  # each group of rules takes its own kind of context
    rules = _in_order(selection.wanted(group, without), group, without)
    for rule in counted("rules", rules, len(rules)):
        count = 0
        for raw in _findings(rule, subject):
            if errors.silence(rule, raw.location):
                continue
            is_error = raw.severity is Severity.ERROR
            finding = subject.weighed(raw) if is_error and group == "IRL" else raw
            selection.reported.add(rule.code)
            if finding.severity is Severity.ERROR:
                errors.add(rule.code, finding.location)
                count += 1
            yield finding
            if count == selection.enough:
                break


def _findings(rule: type[Rule], context: Any) -> Iterator[Diagnostic]:
    """Yield what a rule finds, and what reading a file of versions 2 to 7 finds with its code."""
    is_legacy = rule.code.startswith("IRL") and context.is_legacy
    seen = set()
    for diagnostic in rule().check(context) if rule.legacy or not is_legacy else ():
        seen.add(diagnostic.location.element)
        yield diagnostic
    if not is_legacy or (rule.code == "IRL301" and seen):
        return
    for diagnostic in context.legacy_problems.get(rule.code, ()):
        if diagnostic.location.element not in seen:
            yield diagnostic


def _pointless(context: Any) -> tuple[str, ...]:
    """Return code prefixes of rules that need not be imported for this model.

    These are the rules about operations that the model does not contain.
    """
    types = {name for index in context.nets for name in index.by_type}
    return tuple(group for group, needed in _ABOUT.items() if needed.isdisjoint(types))


#: Prefixes of rules about a few operations only, with the types of these operations in lower case.
_ABOUT = {
    "IRL5": LOOPS | {"if"},
    "IRL6": LOOPS,
    "IRL7": frozenset({"if"}),
    "IRL8": frozenset(FAMILIES["recurrent"].lower().split()),
}


@cache
def _in_order(wanted: tuple[str, ...], group: str, without: tuple[str, ...]) -> list[type[Rule]]:
    """Return the rules with the codes `wanted` and their dependencies, dependencies first.

    Only rules whose codes begin with `group` are considered. Rules whose codes begin with one of
    the prefixes in `without` are left out, even as dependencies.
    """
    classes = rule_classes(group, without)
    ordered: dict[str, type[Rule]] = {}
    open_codes: set[str] = set()

    def visit(code: str) -> None:
        if code in ordered or code in open_codes:
            return
        open_codes.add(code)
        requires = classes[code].requires
        for other in classes if requires else ():
            if other.startswith(requires):
                visit(other)
        ordered[code] = classes[code]

    for code in wanted:
        visit(code)
    return list(ordered.values())
