"""The content of the API reference: the public names, whose docstrings mkdocstrings reads."""

from __future__ import annotations

import inspect
from types import ModuleType

import irloop
import irloop.passes

__all__ = ["classes", "errors", "functions", "passes"]


def functions() -> str:
    """The functions of irloop."""
    return _shown(irloop, [name for name in irloop.__all__ if inspect.isfunction(_of(name))])


def classes() -> str:
    """The classes of irloop that are not exceptions."""
    return _shown(irloop, [name for name in _classes() if not _is_error(_of(name))])


def errors() -> str:
    """The exceptions of irloop, the root first."""
    names = [name for name in _classes() if _is_error(_of(name)) and name != "IrloopError"]
    return _shown(irloop, ["IrloopError", *names])


def passes() -> str:
    """The public names of irloop.passes."""
    return _shown(irloop.passes, irloop.passes.__all__)


def _of(name: str) -> object:
    return getattr(irloop, name)


def _classes() -> list[str]:
    return [name for name in irloop.__all__ if inspect.isclass(_of(name))]


def _is_error(item: object) -> bool:
    return inspect.isclass(item) and issubclass(item, Exception)


def _shown(module: ModuleType, names: list[str]) -> str:
    return "\n\n".join(f"::: {module.__name__}.{name}" for name in names)
