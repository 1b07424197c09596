"""The pages of the pass library, from the classes of the passes."""

from __future__ import annotations

from docs.generate.markdown import fenced, table
from irloop.passes.common import LIBRARY
from irloop.passes.library import PassInfo, describe
from irloop.passes.options import Option

__all__ = ["library"]


def library() -> str:
    """A table of the library, and a section for each pass."""
    passes = [describe(cls) for cls in LIBRARY.values()]
    rows = [(f"[`{item.name}`](#{item.name})", item.summary) for item in passes]
    return "\n\n".join((table(("pass", "what it does"), rows), *map(_section, passes)))


def _section(item: PassInfo) -> str:
    where = "both dialects" if len(item.dialects) > 1 else item.dialects[0]
    enabled = "" if item.enabled else " It runs only when it is requested by name."
    parts = [f"## `{item.name}` {{ #{item.name} }}", item.summary, f"Works on {where}.{enabled}"]
    for title, drawing in (("Given", item.given), ("Result", item.result)):
        if drawing:
            parts += [f"{title}:", fenced(drawing)]
    if item.notes:
        parts.append(item.notes)
    if item.options:
        rows = [_option(option) for option in item.options]
        parts.append(table(("option", "type", "default", "what it does"), rows))
    return "\n\n".join(parts)


def _option(option: Option) -> tuple[str, str, str, str]:
    return f"`{option.name}`", option.type, f"`{option.default}`", option.doc
