"""The page of known engine messages, from the catalogue of `irloop explain "MESSAGE"`."""

from __future__ import annotations

import re
from itertools import groupby

import irloop
from docs.generate.markdown import table, ticked
from irloop.messages.explain import all_messages
from irloop.messages.message import Message

__all__ = ["known"]


def known() -> str:
    """The causes of all known messages, one table per engine."""
    parts = []
    by_engine = sorted(all_messages(), key=lambda message: message.engine)
    for engine, messages in groupby(by_engine, key=lambda message: message.engine):
        rows = [(ticked(_cause(item)), ", ".join(map(_link, item.codes))) for item in messages]
        parts += [f"### {engine}", table(("cause", "found by"), rows)]
    return "\n\n".join(parts)


def _cause(message: Message) -> str:
    """The cause, with an ellipsis for the parts that the message itself contains."""
    names = re.compile(message.pattern).groupindex
    return message.cause.format(**dict.fromkeys(names, "…"))


def _link(code: str) -> str:
    rules = {rule.code for rule in irloop.rules()}
    page = code.lower() if code in rules else "other"
    return f"[{code}](../rules/{page}.md)"
