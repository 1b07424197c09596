"""What messages of OpenVINO, ONNX Runtime and onnx.checker mean: one entry a kind of message.

An entry knows its message by a pattern; what the pattern names goes into the texts. `codes` are
the rules that find the cause in the model. The entries stand in `messages_reader`,
`messages_openvino` and `messages_onnx`. All patterns were taken from real messages of OpenVINO
2026.4 and 2021.4, ONNX Runtime 1.31 and onnx 1.23, which the tests hold verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from irloop.errors import UsageError
from irloop.validation.engine import rule_classes

__all__ = ["Explanation", "Message", "all_messages", "explain_message", "explanations"]


class Message(NamedTuple):
    """One kind of message; `general` ones count only where nothing more precise matches."""

    engine: str
    pattern: str
    cause: str
    codes: tuple[str, ...]
    advice: str
    general: bool = False


class Explanation(NamedTuple):
    """What a message means: who says so, the cause, the rules that find it, what to do next."""

    engine: str
    cause: str
    codes: tuple[str, ...]
    advice: str


def explanations(text: str) -> list[Explanation]:
    """What is known of the messages in a pasted text; empty when none is known."""
    line = " ".join(text.split())
    found = list(_matches(line))
    precise = [item for message, item in found if not message.general]
    # Many kinds of messages end in words that fit several engines: each cause is told once.
    unique = {item.cause: item for item in precise or [item for _, item in found]}
    return list(unique.values())


def all_messages() -> tuple[Message, ...]:
    """Every entry, OpenVINO's first."""
    from irloop.validation import messages_onnx, messages_openvino, messages_reader

    return (*messages_reader.MESSAGES, *messages_openvino.MESSAGES, *messages_onnx.MESSAGES)


def _matches(line: str) -> Iterator[tuple[Message, Explanation]]:
    for message in all_messages():
        match = re.search(message.pattern, line)
        if match is None:
            continue
        names = {name: text or "?" for name, text in match.groupdict().items()}
        cause, advice = message.cause.format(**names), message.advice.format(**names)
        yield message, Explanation(message.engine, cause, message.codes, advice)


def explain_message(text: str) -> str:
    """What the messages in a pasted text mean, as text for people.

    Raises:
        UsageError: when none of them is known.
    """
    found = explanations(text)
    if not found:
        raise UsageError(
            "no message in this text is known",
            expected="a code (IRL203), or a message of OpenVINO, ONNX Runtime or onnx.checker",
            fix="run 'irloop validate MODEL' on the model that it is about",
        )
    return "\n\n".join(map(_told, found)) + "\n"


def _told(item: Explanation) -> str:
    lines = [f"{item.engine}: {item.cause}"]
    if item.codes:
        lines.append("  found by:")
        lines += [f"    {code}  {_title(code)}".rstrip() for code in item.codes]
    return "\n".join([*lines, f"  next:     {item.advice}"])


def _title(code: str) -> str:
    classes = rule_classes(code)
    return classes[code].title if code in classes else f"rules that begin with {code}"
