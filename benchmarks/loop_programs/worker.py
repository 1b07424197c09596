"""Judges programs in a separate process: one JSON line per job, per stage and per result."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.loop_programs import (
    ir_programs,
    neutral_programs,
    onnx_programs,
    resizing_programs,
    size_programs,
)
from benchmarks.loop_programs.judge import Case, judge_ir, judge_onnx

__all__ = ["judge", "main"]


def judge(family: str, seed: int, case: Case) -> dict[str, Any]:
    """The verdicts of one program."""
    random = Random(f"judge {seed}")  # noqa: S311
    if family == "onnx":
        judge_onnx(case, onnx_programs.draw(seed), random)
    elif family == "sizes":
        judge_onnx(case, size_programs.draw(seed), random)
    elif family == "neutral":
        judge_onnx(case, neutral_programs.draw(seed), random)
    elif family == "resizing":
        judge_onnx(case, resizing_programs.draw(seed), random)
    else:
        judge_ir(case, ir_programs.draw(seed), random)
    return {"features": case.features, "stages": case.stages}


def main() -> None:
    """Answer on the original stdout, because engines may write to stdout."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")

    def tell(stage: str) -> None:
        answers.write(json.dumps({"stage": stage}) + "\n")

    for line in sys.stdin:
        job = json.loads(line)
        with tempfile.TemporaryDirectory() as folder:
            case = Case(Path(job["keep"] or folder), tell, frozenset(job["skipped"]))
            result = judge(job["family"], job["seed"], case)
        answers.write(json.dumps({"result": result}) + "\n")


if __name__ == "__main__":
    main()
