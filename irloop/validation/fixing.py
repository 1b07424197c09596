"""Fixes findings of rules in a model and keeps the rest of the file unchanged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from irloop.diagnostics import Diagnostic
from irloop.errors import ReadError
from irloop.files import scratch
from irloop.formats.detect import detect
from irloop.formats.openvino.document import Document
from irloop.formats.openvino.edits import Edit, edited, overlap
from irloop.formats.openvino.xml import parse
from irloop.opening import Path, is_onnx_text, open_regular, weights_beside
from irloop.validation.context import Context
from irloop.validation.engine import rule_classes, validate
from irloop.validation.repair_plan import Repair

__all__ = ["Fixed", "fixed"]

#: Maximum number of rounds of validating and fixing; a fix may uncover another finding.
ROUNDS = 32


@dataclass(frozen=True, slots=True)
class Fixed:
    """The result of fixing a file.

    `before` and `after` are the bytes of the file before and after the fixes. `repairs` are the
    repairs that were made, and `left` are the repairs that are made only with `unsafe`. `added` are
    the bytes that have to be appended to the .bin.
    """

    before: bytes
    after: bytes
    repairs: tuple[Repair, ...]
    left: tuple[Repair, ...]
    format: str = "openvino"
    added: bytes = b""

    def lines(self) -> tuple[list[str], list[str]]:
        """The lines of the file before and after the repairs.

        For an ONNX model these are the lines of its opset imports.
        """
        if self.format == "openvino":
            before, after = (data.decode("utf-8", "replace") for data in (self.before, self.after))
            return before.splitlines(keepends=True), after.splitlines(keepends=True)
        from irloop.formats.onnx.opset_imports import imported_by

        return imported_by(self.before), imported_by(self.after)


def fixed(
    path: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    unsafe: bool = False,
) -> Fixed:
    """Fix a model, and return its bytes before and after; no file is written.

    Args:
        path: the .xml or .onnx. In an .onnx, only the opset imports are fixed; in
            an .onnxtxt, nothing.
        weights: the .bin; by default the file of the same name next to it.
        select: codes or groups to fix; empty means all.
        ignore: codes or groups not to fix.
        unsafe: also make fixes that may change results.

    Raises:
        UsageError: for a code that does not exist.
        ReadError: when the file is neither XML nor an ONNX model.
        UnsupportedError: when the file is not encoded in UTF-8.
    """
    if detect(path) == "onnx":
        return _fixed_onnx(os.fspath(path), select, ignore, unsafe=unsafe)
    bin_file: Path = weights or weights_beside(path)
    document = parse(path)
    before = data = document.data
    done: list[Repair] = []
    left: list[Repair] = []
    with scratch() as folder:
        for _ in range(ROUNDS):
            # The fixed content is not written yet, so validate it in a temporary file of the same
            # name.
            file = os.path.join(folder, os.path.basename(os.fspath(path)))
            with open(file, "wb") as stream:
                stream.write(data)
            found = validate(file, weights=bin_file, select=select, ignore=ignore).diagnostics
            wanted = _repairs(document, bin_file, found)
            left = [] if unsafe else [repair for repair in wanted if not repair.safe]
            made = _compatible([repair for repair in wanted if unsafe or repair.safe])
            if not made:
                break
            data = edited(document, _text_edits(made))
            done += made
            document = parse(data, file=os.fspath(path))
            bin_file = _appended(bin_file, made, folder)
    added = b"".join(repair.weights for repair in done)
    return Fixed(before, data, tuple(done), tuple(left), added=added)


def _appended(bin_file: Path, made: Iterable[Repair], folder: str) -> Path:
    """Append the bytes of repairs to a copy of the weights file in `folder`.

    Return the path of the copy; if the repairs append nothing, return `bin_file`.
    """
    added = b"".join(repair.weights for repair in made)
    if not added:
        return bin_file
    copy = os.path.join(folder, "weights.bin")
    with open(copy, "ab") as stream:
        if bin_file != copy and os.path.exists(bin_file):
            with open_regular(bin_file) as old:
                shutil.copyfileobj(old, stream)
        stream.write(added)
    return copy


def _repairs(document: Document, bin_file: Path, found: Iterable[Diagnostic]) -> list[Repair]:
    """Return the repairs that the rules offer for the findings.

    They are ordered by the first finding of each rule. A finding for which its rule has no repair
    is skipped.
    """
    places = {(item.code, item.location.element): item.location for item in found}
    context = Context(document, bin_file)
    repairs: list[Repair] = []
    try:
        for code in dict.fromkeys(code for code, _ in places):
            rule = rule_classes("IRL").get(code)
            found_by = () if rule is None else rule().repairs(context)
            repairs += [item for item in found_by if (code, item.place.element) in places]
    except ReadError:
        # A problem that prevents reading the file is a finding without a repair.
        return repairs
    finally:
        context.close(keep_document=True)
    return repairs


def _fixed_onnx(path: str, select: Iterable[str], ignore: Iterable[str], *, unsafe: bool) -> Fixed:
    from irloop.formats.onnx.opset_imports import ImportOpset
    from irloop.validation.onnx_context import OnnxContext

    with open_regular(path) as stream:
        before = stream.read()
    found = validate(path, select=select, ignore=ignore).diagnostics
    places = {(item.code, item.location.element) for item in found}
    context = OnnxContext(path)
    try:
        codes = {code for code, _ in places}
        rules = [rule() for code, rule in rule_classes("ONX").items() if code in codes]
        wanted = [item for rule in rules for item in rule.repairs(context)]
    finally:
        context.close()
    wanted = [item for item in wanted if (item.code, item.place.element) in places]
    if is_onnx_text(path):
        wanted = []  # The fixes change bytes of a protobuf.
    made = [item for item in wanted if unsafe or item.safe]
    after = before
    for repair in made:
        for edit in repair.edits:
            assert isinstance(edit, ImportOpset)
            after = edit.applied(after)
    left = () if unsafe else tuple(item for item in wanted if not item.safe)
    return Fixed(before, after, tuple(made), left, "onnx")


def _text_edits(repairs: Iterable[Repair]) -> list[Edit]:
    """Return the text edits of the repairs; edits of other kinds are left out."""
    edits = [edit for repair in repairs for edit in repair.edits]
    return [edit for edit in edits if isinstance(edit, Edit)]


def _compatible(repairs: Iterable[Repair]) -> list[Repair]:
    """Repairs whose edits do not overlap; the others are left for the next round.

    At most one repair of a round appends to the .bin, because it changes the offset at which the
    next repair has to append.
    """
    kept: list[Repair] = []
    for repair in repairs:
        if repair.weights and any(other.weights for other in kept):
            continue
        others = _text_edits(kept)
        if not any(overlap(edit, other) for edit in _text_edits([repair]) for other in others):
            kept.append(repair)
    return kept
