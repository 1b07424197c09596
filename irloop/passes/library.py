"""Finding passes by name: those of irloop and those that other packages bring along."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import EntryPoint, entry_points
from textwrap import dedent
from typing import NamedTuple

from irloop.errors import UsageError
from irloop.passes.base import Pass
from irloop.passes.common import LIBRARY
from irloop.passes.options import Option, build, options_of, parse_request

__all__ = ["GROUP", "PassInfo", "all_passes", "describe", "find_pass", "make_pass"]

#: Packages name their pass classes in this entry point group.
GROUP = "irloop.passes"


class PassInfo(NamedTuple):
    """A pass as people see it; `given` and `result` are the drawings of its docstring."""

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
    """Every pass by its name, irloop's own first.

    Raises:
        UsageError: naming a package whose pass cannot be loaded, is none, or has a taken name.
    """
    found = dict(LIBRARY)
    for point in sorted(entry_points(group=GROUP), key=lambda item: item.name):
        cls = _loaded(point)
        if cls.name in found:
            raise UsageError(
                f"two passes are called {cls.name}",
                expected="a name that no other pass has",
                found=f"{point.value} in {_package(point)}",
            )
        found[cls.name] = cls
    return found


def _loaded(point: EntryPoint) -> type[Pass]:
    try:
        cls = point.load()
    except Exception as error:
        # Whatever a foreign module does as it is imported, it must not look like ours.
        raise UsageError(
            f"the pass {point.name} of {_package(point)} cannot be loaded",
            cause=f"{type(error).__name__}: {error}",
            fix=f"update or uninstall {_package(point)}",
        ) from error
    if not (inspect.isclass(cls) and issubclass(cls, Pass) and cls.name):
        raise UsageError(
            f"the entry point {point.name} of {_package(point)} names no pass",
            expected="a subclass of irloop.passes.Pass with a name",
            found=point.value,
        )
    return cls


def _package(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else point.dist.name


def find_pass(name: str) -> type[Pass]:
    """The pass of this name; a hyphen may stand for an underscore.

    Raises:
        UsageError: when there is none, listing all.
    """
    wanted = name.replace("-", "_")
    # Looking through what is installed takes longer than most passes.
    known = LIBRARY if wanted in LIBRARY else all_passes()
    if wanted not in known:
        raise UsageError(f"no pass is called {name!r}", expected=", ".join(sorted(known)))
    return known[wanted]


def make_pass(text: str) -> Pass:
    """The pass that ``NAME``, ``NAME=VALUE`` or ``NAME:OPTION=VALUE:OPTION=VALUE`` asks for.

    Raises:
        UsageError: for a pass or an option that does not exist, or a value of another type.
    """
    request = parse_request(text)
    return build(find_pass(request.name), request)


def describe(cls: type[Pass]) -> PassInfo:
    """A pass as its docstring, class attributes and options tell it."""
    summary, *rest = (inspect.getdoc(cls) or cls.name).split("\n\n")
    text = "\n\n".join(rest)
    given, text = _drawing("Given", text)
    result, text = _drawing("Result", text)
    return PassInfo(
        cls.name,
        " ".join(summary.split()),
        tuple(sorted(cls.dialects)),
        cls.enabled_by_default,
        options_of(cls),
        given,
        result,
        text.strip(),
        cls.__module__.partition(".")[0],
    )


def _drawing(title: str, text: str) -> tuple[str, str]:
    """The indented block below ``title::`` and the text without it."""
    found = re.search(rf"^{title}\b[^\n]*::\n\n((?:(?: {{4}}.*)?\n?)*)", text, re.MULTILINE)
    if found is None:
        return "", text
    return dedent(found[1]).strip("\n"), text[: found.start()] + text[found.end() :]
