"""The numbers: pure NumPy functions, arrays in and arrays out, no graph types.

A family is imported when it is first used (``kernels.elementwise.add``), so that reading and
validating a model never loads NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irloop.kernels import elementwise as elementwise


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(name) from error
