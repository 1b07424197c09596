"""Writes ONNX models of other libraries with random weights: see `benchmarks.wild`.

python -m benchmarks.wild.export FOLDER [--only TEXT]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = ("classical", "language", "searches", "senses")


def main() -> None:
    """Run every recipe whose file is missing; print one line for each that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="part of a name such as vision/vit-script")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    import torch

    recipes: dict[str, Any] = {}
    for module in MODULES:
        recipes |= import_module(f"benchmarks.wild.{module}").RECIPES
    made = failed = 0
    for name, recipe in recipes.items():
        path = options.folder / f"{name}.onnx"
        note = path.with_suffix(".failed")
        chosen = not options.only or any(text in name for text in options.only)
        if not chosen or path.exists() or note.exists():
            continue
        torch.manual_seed(0)
        path.parent.mkdir(parents=True, exist_ok=True)
        # The exporters print their own reports.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                recipe(path)
                reason = ""
            except Exception as error:
                reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        if reason:
            failed += 1
            note.write_text(reason)
            path.unlink(missing_ok=True)
            print(f"{name}: not exported: {reason[-200:]}", flush=True)
        else:
            made += 1
    print(f"{made} models written, {failed} not exported")


if __name__ == "__main__":
    main()
