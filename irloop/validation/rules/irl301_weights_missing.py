"""IRL301: weights file is missing or no weights."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_data
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class WeightsMissing(
    Rule, code="IRL301", severity=Severity.ERROR, title="weights file is missing or no weights"
):
    """The .bin is missing, or the file given as weights is something else.

    What it does:
        Looks for the file when the model has constants with data, and at its first bytes: a Git
        LFS pointer, a web page or an XML file is no weights file. It is not read otherwise.
    Why is this bad:
        OpenVINO 2026.4 refuses a model whose .bin is missing; the text of an LFS pointer it takes
        for weights when it is long enough, and computes nonsense.
    Bad example:
        model.xml with Const layers, and no model.bin beside it
    Good example:
        model.xml and model.bin in the same folder
    Fix:
        Copy the .bin beside the .xml, or name it; for an LFS pointer run `git lfs pull`.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """At most one finding, at the first constant with data."""
        first = next((item for item in context.constants if item.size), None)
        if first is None:
            return
        weights = context.weights
        if weights.instead:
            yield self.found(
                at_data(first.layer),
                f"the weights file {weights.path} is {weights.instead}, not a file",
                expected=f"a file that holds the data of {len(context.constants)} constants",
                found=weights.instead,
                fix="put the .bin beside the .xml, or name it",
            )
        elif weights.size is None:
            yield self.found(
                at_data(first.layer),
                f"the weights file {weights.path} does not exist",
                expected=f"a file that holds the data of {len(context.constants)} constants",
                found="no file",
                cause="the .xml was copied or downloaded without its .bin",
                fix="put the .bin beside the .xml, or name it",
            )
        elif weights.disguise is not None:
            pointer = "LFS" in weights.disguise
            yield self.found(
                at_data(first.layer),
                f"the weights file {weights.path} is {weights.disguise}, not weights",
                expected="binary weights",
                found=f"{weights.disguise} of {weights.size} bytes",
                cause="the repository was cloned without Git LFS"
                if pointer
                else "the wrong file was given or downloaded",
                fix="run git lfs pull" if pointer else "give the .bin that belongs to this .xml",
            )
