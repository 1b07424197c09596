"""Fixes findings of rules in an IR and keeps the rest of the text unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from irloop.diagnostics import Diagnostic
from irloop.errors import ReadError, UsageError
from irloop.files import scratch
from irloop.formats.detect import detect
from irloop.formats.openvino.edits import edited, overlap
from irloop.formats.openvino.xml import Document, parse
from irloop.validation.context import Context
from irloop.validation.engine import rule_classes, validate
from irloop.validation.repair_plan import Repair

__all__ = ["Fixed", "fixed"]

#: The most rounds of validating and fixing, because a fix may uncover another finding.
ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Fixed:
    """The bytes of a file before and after, the repairs made, and repairs that need `unsafe`."""

    before: bytes
    after: bytes
    repairs: tuple[Repair, ...]
    left: tuple[Repair, ...]


def fixed(
    path: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    unsafe: bool = False,
) -> Fixed:
    """Fix the findings of an IR that can be fixed; nothing is written.

    Args:
        path: the .xml.
        weights: the .bin; by default the file of the same name next to it.
        select: codes or groups to fix; empty means all.
        ignore: codes or groups not to fix.
        unsafe: also make fixes that may change results.

    Raises:
        UsageError: for a code that does not exist, or a model of another format.
        ReadError: when the file is not XML at all.
        UnsupportedError: when it is not encoded in UTF-8.
    """
    if detect(path) != "openvino":
        raise UsageError("only an IR can be fixed", expected="an .xml", found=os.fspath(path))
    bin_file = os.fspath(weights) if weights else os.path.splitext(os.fspath(path))[0] + ".bin"
    document = parse(path)
    before = data = document.data
    done: list[Repair] = []
    left: list[Repair] = []
    with scratch() as folder:
        for _ in range(ROUNDS):
            # The file is validated as it would be written.
            file = os.path.join(folder, os.path.basename(os.fspath(path)))
            with open(file, "wb") as stream:
                stream.write(data)
            found = validate(file, weights=bin_file, select=select, ignore=ignore).diagnostics
            wanted = _repairs(document, bin_file, found)
            left = [] if unsafe else [repair for repair in wanted if not repair.safe]
            made = _compatible([repair for repair in wanted if unsafe or repair.safe])
            if not made:
                break
            data = edited(document, [edit for repair in made for edit in repair.edits])
            done += made
            document = parse(data, file=os.fspath(path))
    return Fixed(before, data, tuple(done), tuple(left))


def _repairs(document: Document, bin_file: str, found: Iterable[Diagnostic]) -> list[Repair]:
    """The repairs of findings, in their order."""
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


def _compatible(repairs: Iterable[Repair]) -> list[Repair]:
    """Repairs whose edits do not overlap; the others come in the next round."""
    kept: list[Repair] = []
    for repair in repairs:
        others = [edit for item in kept for edit in item.edits]
        if not any(overlap(edit, other) for edit in repair.edits for other in others):
            kept.append(repair)
    return kept
