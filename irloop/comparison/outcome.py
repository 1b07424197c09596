"""The words of a verdict: what a check says of two models, and what each word means.

Everything that shows a verdict takes its words from here: reports, JSON, pages and sweeps. The page
concepts/verdicts of the documentation explains them.
"""

from __future__ import annotations

import re

from irloop.engines.answer import Failure
from irloop.graph.record import Record

__all__ = [
    "ADD_ENGINES",
    "DIFFERENT",
    "EQUAL",
    "EQUAL_WHERE_RUN",
    "INCONCLUSIVE",
    "OUTCOMES",
    "Outcome",
    "Unrun",
]

EQUAL = "equal"
EQUAL_WHERE_RUN = "equal-where-run"
DIFFERENT = "different"
INCONCLUSIVE = "inconclusive"

#: How to add the engines that are not installed.
ADD_ENGINES = "pip install 'irloop[engines]'"

#: The most characters of an engine's message in the first line of a report.
LONGEST_REASON = 240

#: The places in OpenVINO's source that its messages begin with.
_PLACES = re.compile(r"(?:^RuntimeError: )?\s*Exception from [^\s:]+:\d+:\s*")


class Outcome(Record):
    """A verdict: its words, its colour on pages, the exit status of a check, and what it means.

    `level` is "good", "bad" or "unsure".
    """

    words: str
    level: str
    status: int
    meaning: str


#: Every verdict, by its value of `Comparison.outcome`, of "outcome" in JSON, and in tables of
#: sweeps.
OUTCOMES = {
    EQUAL: Outcome(
        "equal",
        "good",
        0,
        "All outputs agree, and every installed engine of both formats ran its model.",
    ),
    EQUAL_WHERE_RUN: Outcome(
        "equal where run",
        "bad",
        1,
        "All outputs that were computed agree, but an engine did not run a model, or not with all "
        "inputs. The first line names the engine, the model and the reason.",
    ),
    DIFFERENT: Outcome(
        "not equal",
        "bad",
        1,
        "An output differs, or the models have other numbers of inputs or outputs.",
    ),
    INCONCLUSIVE: Outcome(
        "inconclusive",
        "unsure",
        2,
        "Nothing is known: no run finished, every output was empty or NaN, or none of the engines "
        "that take part ran a model.",
    ),
}

_PHRASES = {
    Failure.REFUSED: "cannot load",
    Failure.CRASHED: "crashed on",
    Failure.HUNG: "did not finish",
    Failure.OUTGREW: "takes too much memory for",
}


class Unrun(Record):
    """A model that an engine did not run, in any trial or in one.

    `model` is "first" or "second", `engine` its name and version, and `file` the name of the model.
    `trial` is empty if the engine ran no trial, and else the trial that it did not run.
    """

    model: str
    engine: str
    file: str
    failure: Failure
    reason: str
    trial: str = ""

    def __str__(self) -> str:
        place = f" ({self.trial})" if self.trial else ""
        reason = " ".join(_PLACES.sub(" ", self.reason).split())
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]}..."
        phrase = _PHRASES.get(self.failure, "cannot run")
        text = f"{self.engine} {phrase} {self.file}{place}"
        return f"{text}: {reason}" if reason else text
