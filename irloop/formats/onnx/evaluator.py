"""The reference implementation of the onnx package, as an additional engine for comparisons."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from onnx.reference import ReferenceEvaluator

__all__ = ["reference_evaluator"]


def reference_evaluator(path: str | os.PathLike[str]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that runs the model on inputs given by position.

    The reference implementation may raise any exception, so run it in a separate process.
    """
    evaluator: Any = ReferenceEvaluator(os.fspath(path))

    def run(values: Sequence[Any]) -> list[Any]:
        names = evaluator.input_names
        return list(evaluator.run(None, dict(zip(names, values, strict=False))))

    return run
