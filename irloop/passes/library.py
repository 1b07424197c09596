"""Finds passes by name: irloop's own passes, those of installed packages, and classes in files."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from textwrap import dedent
from typing import NamedTuple, TypeGuard

from irloop.errors import UsageError, did_you_mean
from irloop.passes.base import Pass
from irloop.passes.common import LIBRARY
from irloop.passes.options import Option, build, options_of, parse_request

__all__ = ["GROUP", "PassInfo", "all_passes", "describe", "find_pass", "made_passes", "make_pass"]

#: Packages name their pass classes in this entry point group.
GROUP = "irloop.passes"


class PassInfo(NamedTuple):
    """The description of a pass for users.

    `given` and `result` are the drawings in the docstring of the pass.
    """

    name: str
    summary: str
    dialects: tuple[str, ...]
    enabled: bool
    options: tuple[Option, ...]
    given: str
    result: str
    notes: str
    origin: str


def all_passes() -> dict[str, type[Pass]]:
    """All passes, keyed by their names, irloop's own first.

    Raises:
        UsageError: naming a package whose pass cannot be loaded, is not a pass, or has a name that
            is taken.
    """
    passes = dict(LIBRARY)
    for point in sorted(entry_points(group=GROUP), key=lambda item: item.name):
        cls = _loaded(point)
        if cls.name in passes:
            raise UsageError(
                f"two passes are called {cls.name}",
                expected="a name that no other pass has",
                found=f"{point.value} in {_package(point)}",
            )
        passes[cls.name] = cls
    return passes


def _loaded(point: EntryPoint) -> type[Pass]:
    try:
        cls = point.load()
    except Exception as error:
        # Errors while a foreign module is imported must not look like errors of irloop.
        raise UsageError(
            f"the pass {point.name} of {_package(point)} cannot be loaded",
            cause=f"{type(error).__name__}: {error}",
            fix=f"update or uninstall {_package(point)}",
        ) from error
    if not _is_pass(cls):
        raise UsageError(
            f"the entry point {point.name} of {_package(point)} does not name a pass",
            expected="a subclass of irloop.passes.Pass with a name",
            found=point.value,
        )
    return cls


def _package(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else point.dist.name


def find_pass(name: str) -> type[Pass]:
    """Find the pass with this name; a hyphen in the name counts as an underscore.

    ``FILE.py:CLASS`` names a class in a file; the file is executed.

    Raises:
        UsageError: when no pass has the name (the message lists all names), or when the file
            cannot be run or has no such pass.
    """
    if ".py:" in name:
        return _of_file(name)
    wanted = name.replace("-", "_")
    # Search the installed packages only if needed, because that takes longer than most passes.
    known = LIBRARY if wanted in LIBRARY else all_passes()
    if wanted not in known:
        raise UsageError(
            f"no pass is called {name!r}",
            expected=", ".join(sorted(known)),
            fix=did_you_mean(wanted, known),
        )
    return known[wanted]


def _of_file(text: str) -> type[Pass]:
    """Run a Python file and return the pass class that ``FILE.py:CLASS`` names.

    Raises:
        UsageError: when there is no such file or pass, or the file fails.
    """
    path, _, name = text.rpartition(":")
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such file", expected="FILE.py:CLASS")
    stem = os.path.basename(path).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(f"irloop_pass_{stem}", path)
    assert spec is not None
    assert spec.loader is not None, "a .py file always has a loader"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up the module of their class by its name.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(
            f"{path} cannot be run", cause=f"{type(error).__name__}: {error}"
        ) from error
    cls = getattr(module, name, None)
    if not _is_pass(cls):
        names = sorted(key for key, value in vars(module).items() if _is_pass(value))
        raise UsageError(
            f"{path} has no pass {name}",
            expected="a subclass of irloop.passes.Pass that has a name",
            found=", ".join(names) or "no pass",
        )
    return cls


def _is_pass(item: object) -> TypeGuard[type[Pass]]:
    return inspect.isclass(item) and issubclass(item, Pass) and bool(item.name)


def make_pass(text: str) -> Pass:
    """Make the pass that ``NAME``, ``NAME=VALUE`` or ``NAME:OPTION=VALUE:OPTION=VALUE`` describes.

    NAME may be ``FILE.py:CLASS``.

    Raises:
        UsageError: for a pass or an option that does not exist, or a value of another type.
    """
    request = parse_request(text)
    return build(find_pass(request.name), request)


def made_passes(wanted: Iterable[object]) -> list[Pass]:
    """The passes that a caller requests, in the order of `wanted`.

    Each item is a pass, or a text from which `make_pass` makes one.

    Raises:
        UsageError: when a text does not name a pass with valid options, or when an item is neither
            a text nor a pass, such as a class.
    """
    made: list[Pass] = []
    for request in wanted:
        if not isinstance(request, str | Pass):
            called = f"{request.__name__}()" if inspect.isclass(request) else ""
            raise UsageError(
                f"{request!r} is not a pass",
                expected="the name of a pass, or an object of a class of irloop.passes",
                fix=f"write {called}" if called else "",
            )
        made.append(make_pass(request) if isinstance(request, str) else request)
    return made


def describe(cls: type[Pass]) -> PassInfo:
    """Describe a pass by its docstring, class attributes and options."""
    summary, *rest = (inspect.getdoc(cls) or cls.name).split("\n\n")
    text = "\n\n".join(rest)
    before, text = _drawing("Given", text)
    result, text = _drawing("Result", text)
    return PassInfo(
        cls.name,
        " ".join(summary.split()),
        tuple(sorted(cls.dialects)),
        cls.enabled_by_default,
        options_of(cls),
        before,
        result,
        text.strip(),
        cls.__module__.partition(".")[0],
    )


def _drawing(title: str, text: str) -> tuple[str, str]:
    """Cut a drawing out of a docstring: the indented block below the line ``title::``.

    Returns the drawing without indentation, and the rest of the text. The drawing is empty if there
    is none.
    """
    match = re.search(rf"^{title}\b[^\n]*::\n\n((?:(?: {{4}}.*)?\n?)*)", text, re.MULTILINE)
    if match is None:
        return "", text
    return dedent(match[1]).strip("\n"), text[: match.start()] + text[match.end() :]
