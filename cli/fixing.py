"""``irloop validate --fix`` and ``--diff``: write or show fixes.

Fixes that are marked as safe are not written if they change the results of a run.
"""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irloop.diagnostics import one_line
from irloop.errors import IrloopError, WriteError
from irloop.files import reason_of, replacing, scratch
from irloop.opening import PathBelow, open_regular, weights_beside

if TYPE_CHECKING:
    from irloop import Fixed

    from .console import Console
    from .settings import Settings

__all__ = ["fix_models"]


def fix_models(
    models: Sequence[str],
    weights: str | None,
    settings: Settings,
    console: Console,
    *,
    unsafe: bool,
    write: bool,
) -> str:
    """Fix models one by one, and write the files or return the changes as a unified diff.

    With `write` the fixed files are written, and the result is an empty string. `unsafe` also
    applies fixes that may change results. `weights` is the .bin file; if it is None, the .bin file
    next to the model is used. A model that cannot be fixed is reported on the console and skipped.

    Raises:
        WriteError: when a file cannot be written; the file then stays as it was.
    """
    from irloop import fix

    diffs = []
    for number, model in enumerate(models, start=1):
        console.progress(f"fixing {number} of {len(models)}: {model}")
        console.counted("", number - 1, len(models))
        select, ignore = settings.select, settings.ignore
        try:
            safe = fixed = fix(model, weights, select=select, ignore=ignore)
            if unsafe:
                fixed = fix(model, weights, select=select, ignore=ignore, unsafe=True)
        except IrloopError as error:
            console.note(f"{model}: not fixed: {error.message}")
            continue
        if not fixed.repairs:
            _tell_left(model, fixed, console)
            continue
        proof = _proof(model, weights, safe) if safe.repairs else ""
        if proof.startswith("changed"):
            # A fix that is marked as safe but changes results must not be written.
            console.note(f"{model}: not fixed: the fixes change results ({proof})")
            continue
        bin_file = weights or weights_beside(model)
        if not write:
            old, new = fixed.lines()
            text = [line.rstrip("\r\n") for line in difflib.unified_diff(old, new, model, model)]
            # Most files are indented by tabs; other characters that a terminal might interpret are
            # escaped.
            shown = ("\t".join(map(one_line, line.split("\t"))) for line in text)
            diffs.append("".join(f"{line}\n" for line in shown))
            if fixed.added:
                console.note(f"{len(fixed.added)} bytes would be appended to {bin_file}")
            continue
        _write(model, bin_file, fixed)
        for repair in fixed.repairs:
            console.note(f"{repair.in_file(model)}")
        if proof:
            console.note(f"{model}: {proof}")
        _tell_left(model, fixed, console)
    console.done()
    if not write and not diffs:
        console.note("no file would be changed")
    return "".join(diffs)


def _tell_left(model: str, fixed: Fixed, console: Console) -> None:
    if fixed.left:
        count = f"{len(fixed.left)} fixes were" if len(fixed.left) > 1 else "1 fix was"
        console.note(
            f"{model}: {count} left out because results would change or an assumption is "
            "needed; --unsafe-fixes makes such fixes, too"
        )


def _proof(model: str, weights: str | None, fixed: Fixed) -> str:
    """Describe whether the safe fixes change the results of running the model."""
    from irloop import compare, read_model

    is_ir = fixed.format == "openvino"
    bin_file = (weights or weights_beside(model)) if is_ir else None
    if any(repair.code == "ONX102" for repair in fixed.repairs):
        return "no engine could load it before, so there are no results that could have changed"
    try:
        before = read_model(model, bin_file)
    except IrloopError:
        return "it could not be read before, so there are no results that could have changed"
    with scratch() as folder:
        file = os.path.join(folder, os.path.basename(model))
        Path(file).write_bytes(fixed.after)
        try:
            report = compare(before, read_model(file, bin_file), engines="numpy", seeds=1)
        except IrloopError as error:
            return f"not proved: {error.message}"
    if report.differs:
        return f"changed: {str(report).splitlines()[0]}"
    if not report.equal:
        why = next(iter((*report.problems, *report.not_exercised)), "nothing could be compared")
        return f"not proved: {why}"
    return f"proved: the same results in {len(report.trials)} trials"


def _write(path: str, bin_file: str | PathBelow, fixed: Fixed) -> None:
    """Write the fixed model in place of the model file at `path`.

    If the fixes added weights, the weights file is replaced in the same step, by one with the new
    bytes at its end.
    """
    try:
        if not fixed.added:
            with replacing(path) as (file,):
                file.write(fixed.after)
            return
        with replacing(path, bin_file) as (file, weights):
            file.write(fixed.after)
            if os.path.exists(bin_file):
                with open_regular(bin_file) as old:
                    shutil.copyfileobj(old, weights)
            weights.write(fixed.added)
    except OSError as error:
        raise WriteError(f"cannot write {path}: {reason_of(error, path)}") from error
