"""The reference implementation of the onnx package, as one more engine to compare with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from onnx.reference import ReferenceEvaluator

__all__ = ["reference_evaluator"]


def reference_evaluator(path: str | os.PathLike[str]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function from the inputs of a model, by position, to its outputs.

    It raises whatever the reference implementation raises: run it in a process of its own.
    """
    evaluator: Any = ReferenceEvaluator(os.fspath(path))

    def run(values: Sequence[Any]) -> list[Any]:
        names = evaluator.input_names
        return list(evaluator.run(None, dict(zip(names, values, strict=False))))

    return run
