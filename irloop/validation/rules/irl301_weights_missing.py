"""IRL301: weights file is missing, or it holds no weights."""

from __future__ import annotations

import os
from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class WeightsMissing(
    Rule,
    code="IRL301",
    severity=Severity.ERROR,
    title="weights file is missing or holds no weights",
    legacy=True,
):
    """The .bin is missing, or the file given as weights is something else.

    What it does:
        If the model has constants with data, checks that the file exists, and by its first bytes
        that it is not a Git LFS pointer, a web page or an XML file. The rest of the file is not
        read. A .bin that is a link out of the folder of the .xml is refused unless it is named.
    Why is this bad:
        OpenVINO 2026.4 refuses a model whose .bin is missing. It takes the text of an LFS pointer
        for weights if it is long enough, and computes nonsense.
    Bad example:
        model.xml with Const layers, and no model.bin in the same folder
    Good example:
        model.xml and model.bin in the same folder
    Fix:
        Copy the .bin into the folder of the .xml, or pass its path; for an LFS pointer run `git lfs
        pull`.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding at the first constant if the .bin is missing or holds no weights.

        There is at most one finding; a model without constants gives none.
        """
        if not context.constants:
            return
        layer, weights = context.constants[0].layer, context.weights
        if weights.size is None and weights.error is not None:
            yield self.from_problem(problems.no_weights(layer, weights.path, weights.error))
        elif weights.size is not None and weights.disguise is not None:
            path = os.fspath(weights.path)
            yield self.from_problem(
                problems.disguised_weights(layer, path, weights.disguise, weights.size)
            )
