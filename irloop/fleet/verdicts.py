"""The steps of a sweep, and their possible verdicts.

The steps are validate, convert, check and conform. A verdict is the result of a step for one model,
such as "valid", "refused" or "timeout".
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from irloop.comparison.outcome import DIFFERENT, EQUAL, EQUAL_WHERE_RUN, INCONCLUSIVE

__all__ = [
    "FINDINGS",
    "IGNORED",
    "STEPS",
    "TARGETS",
    "UNKNOWN",
    "VERDICTS",
    "done_key",
    "settings_of",
    "versions_of",
]

#: The steps, in the order in which they run.
STEPS = ("validate", "convert", "check", "conform")

#: The values of ``--to``, with the dialect and the version of IR.
TARGETS: dict[str, tuple[str, int | None]] = {
    "onnx": ("onnx", None),
    "ir-v10": ("openvino", 10),
    "ir-v11": ("openvino", 11),
}

#: Verdicts that are findings: they make the exit status 1.
FINDINGS = frozenset(
    {
        *("invalid", "refused", DIFFERENT, EQUAL_WHERE_RUN, "unreadable", "failed", "quarantined"),
        *("timeout", "out-of-memory", "too-many-steps", "lfs-pointer", "too-big"),
    }
)

#: Verdicts that leave the quality of the model unknown: they make the exit status 2.
UNKNOWN = frozenset({INCONCLUSIVE, "unavailable", "internal-error"})

#: The verdict of files that are not models.
IGNORED = "no-model"

#: All verdicts.
VERDICTS = FINDINGS | UNKNOWN | {"valid", "converted", "kept", EQUAL, IGNORED}


def settings_of(step: str, to: str) -> str:
    """The sweep options that influence the result of a step, as text; empty if there are none."""
    return f"to={to}" if step in ("convert", "check") else ""


def versions_of(step: str, versions: dict[str, str]) -> str:
    """Format the versions of irloop and of the packages that `step` uses as one string.

    `step` is "validate", "convert", "check" or "conform". A package without an entry in `versions`
    is reported as "missing".
    """
    packages = {
        "validate": (),
        "convert": ("onnx",),
        "check": ("onnx", "onnxruntime", "openvino"),
        "conform": ("onnxruntime", "openvino"),
    }[step]
    names: Sequence[str] = ("irloop", *packages)
    return "; ".join(f"{name} {versions.get(name) or 'missing'}" for name in names)


def done_key(*parts: Any) -> int:
    """Return a 64-bit hash of the string forms of `parts`, for use as a key.

    For example, the parts for a finished step of a sweep are the path of the model, the mark of its
    files (which changes when the files change), the step, its settings and the package versions. A
    second key of the same step has the digest of the model in place of path and mark.
    """
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
