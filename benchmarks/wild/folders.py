"""The models in a folder with one folder for each family: see `benchmarks.wild`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["models_in"]


def models_in(folder: Path, only: Sequence[str] | None) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each model, the ONNX models and IRs sorted by path.

    If `only` has texts, models whose names contain none of them are left out.
    """
    for path in sorted([*folder.glob("*/*.onnx"), *folder.glob("*/*.xml")]):
        name = str(path.relative_to(folder).with_suffix(""))
        if not only or any(text in name for text in only):
            yield name, path
