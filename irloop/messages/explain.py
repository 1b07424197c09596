"""Explains messages of OpenVINO, ONNX Runtime and onnx.checker that a user pastes.

The patterns were taken from real messages of OpenVINO 2026.4 and 2021.4, ONNX Runtime 1.31 and onnx
1.23, and from those that users quote most often in public issues; the tests contain them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from irloop.errors import MEANINGS, UsageError
from irloop.messages import (
    fed_messages,
    onnx_messages,
    openvino_messages,
    reader_messages,
    run_messages,
)
from irloop.messages.message import Message
from irloop.validation import engine

__all__ = ["Explanation", "all_messages", "explain", "explain_message", "explanations"]


class Explanation(NamedTuple):
    """The explanation of one message: engine, cause, rules that find it, next step."""

    engine: str
    cause: str
    codes: tuple[str, ...]
    advice: str


def explain(text: str) -> str:
    """Explain the code of a rule, of a fault or of an error, or the messages in a pasted text.

    Raises:
        UsageError: for a code that does not exist, or when no message is known.
    """
    wanted = text.strip().upper()
    if wanted in MEANINGS:
        return f"{wanted}\n\n{MEANINGS[wanted]}\n"
    if re.fullmatch(r"[A-Z]{3,4}\d{1,4}", wanted):
        return engine.explain(wanted)
    return explain_message(text)


def explanations(text: str) -> list[Explanation]:
    """Return an explanation of each known message in a pasted text; empty if there is none."""
    line = " ".join(text.split())
    found = list(_matches(line))
    precise = [item for message, item in found if not message.general]
    # Many messages match the patterns of several engines, but each cause is reported only once.
    unique = {item.cause: item for item in precise or [item for _, item in found]}
    return list(unique.values())


def all_messages() -> tuple[Message, ...]:
    """Every entry of the catalogue, OpenVINO's first."""
    return (
        *reader_messages.MESSAGES,
        *openvino_messages.MESSAGES,
        *onnx_messages.MESSAGES,
        *fed_messages.MESSAGES,
        *run_messages.MESSAGES,
    )


def _matches(line: str) -> Iterator[tuple[Message, Explanation]]:
    for message in all_messages():
        match = re.search(message.pattern, line)
        if match is None:
            continue
        names = {name: "?" if text is None else text for name, text in match.groupdict().items()}
        cause, advice = message.cause.format(**names), message.advice.format(**names)
        yield message, Explanation(message.engine, cause, message.codes, advice)


def explain_message(text: str) -> str:
    """Return explanations of all known engine messages in `text`, ready to print.

    `text` is a log or an error message that a user pasted, for example of OpenVINO or ONNX Runtime.

    Raises:
        UsageError: when the text contains no known message.
    """
    known = explanations(text)
    if not known:
        raise UsageError(
            "no message in this text is known",
            expected="a code (IRL203), or a message of OpenVINO, ONNX Runtime or onnx.checker",
            fix="run 'irloop validate MODEL' on the model that it is about",
        )
    return "\n\n".join(map(_as_text, known)) + "\n"


def _as_text(explanation: Explanation) -> str:
    lines = [f"{explanation.engine}: {explanation.cause}"]
    if explanation.codes:
        lines.append("  found by:")
        lines += [f"    {code}  {_title(code)}".rstrip() for code in explanation.codes]
    return "\n".join([*lines, f"  next:     {explanation.advice}"])


def _title(code: str) -> str:
    classes = engine.rule_classes(code)
    return classes[code].title if code in classes else f"rules that begin with {code}"
