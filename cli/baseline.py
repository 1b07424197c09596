"""Baselines: files of known findings, which are left out so that only new ones are reported."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irloop.diagnostics import Diagnostic
from irloop.errors import UsageError
from irloop.opening import read_regular

from .files import write_whole

__all__ = ["Baseline"]

SCHEMA = "irloop-baseline/1"

#: The largest size of a baseline in bytes: enough for a million findings.
MOST = 1 << 28

#: Code, file relative to the folder of the baseline, path through bodies, message. Lines and
#: element positions are not included, because they change when something else is edited.
Key = tuple[str, str, str, str]
FIELDS = ("code", "file", "path", "message")


@dataclass(slots=True)
class Baseline:
    """The known findings in a baseline file, with the number of times that each occurs."""

    path: str
    known: Counter[Key]

    @classmethod
    def read(cls, path: str) -> Baseline:
        """The baseline in a file.

        Raises:
            UsageError: when the file cannot be opened or is not a baseline.
        """
        import json

        try:
            text = read_regular(path, MOST).decode("utf-8")
        except OSError as error:
            raise UsageError(
                f"cannot open {path}: {error.strerror}", fix="--write-baseline makes the file"
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not a baseline: {error}") from error
        try:
            return cls(path, _counted(json.loads(text)))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise UsageError(f"{path} is not a baseline", expected=SCHEMA) from error

    @classmethod
    def read_or_empty(cls, path: str) -> Baseline:
        """The baseline in a file, or an empty one if there is no such file."""
        return cls.read(path) if os.path.exists(path) else cls(path, Counter())

    def parted(self, findings: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """Divide findings into those that are not in the baseline, and those that are.

        If the baseline contains a finding twice, its first two occurrences are not new, but the
        third one is.
        """
        left = self.known.copy()
        new, known = [], []
        for finding in findings:
            key = self._key(finding)
            if left[key] > 0:
                left[key] -= 1
                known.append(replace(finding, suppressed_by=self.path))
            else:
                new.append(finding)
        return new, known

    def gone(self, findings: Iterable[Diagnostic], files: Sequence[str]) -> int:
        """Count the findings in the baseline that no longer occur in `files`."""
        looked_at = {self._place(file) for file in files}
        left = self.known - Counter(self._key(item) for item in findings)
        return sum(number for key, number in left.items() if key[1] in looked_at)

    def write(self, findings: Iterable[Diagnostic], files: Sequence[str]) -> None:
        """Write the findings of `files`; known findings of other existing files are kept.

        Raises:
            WriteError: when the file cannot be written; the old file is unchanged.
        """
        looked_at = {self._place(file) for file in files}
        folder = os.path.dirname(os.path.abspath(self.path))
        kept = Counter(
            {
                key: number
                for key, number in self.known.items()
                if key[1] not in looked_at and os.path.exists(os.path.join(folder, key[1]))
            }
        )
        kept.update(self._key(item) for item in findings)
        self.known = kept
        self._save()

    def _save(self) -> None:
        from . import report_json

        rows = [
            {**dict(zip(FIELDS, key, strict=True)), "count": number}
            for key, number in sorted(self.known.items())
        ]
        write_whole(self.path, report_json.dump({"schema": SCHEMA, "findings": rows}))

    def _key(self, finding: Diagnostic) -> Key:
        place = finding.location
        name = place.path or ("" if place.layer_id is None else f"layer {place.layer_id}")
        return (finding.code, self._place(place.file or ""), name, finding.message)

    def _place(self, file: str) -> str:
        folder = os.path.dirname(os.path.abspath(self.path))
        try:
            relative = os.path.relpath(os.path.abspath(file), folder)
        except ValueError:  # on another drive
            relative = os.path.abspath(file)
        # A name that is not valid Unicode must survive in a Unicode file.
        return os.fsencode(relative.replace(os.sep, "/")).decode("utf-8", "backslashreplace")


def _counted(content: Any) -> Counter[Key]:
    if content["schema"] != SCHEMA:
        raise ValueError(content["schema"])
    known: Counter[Key] = Counter()
    for row in content["findings"]:
        code, file, path, message = (str(row[name]) for name in FIELDS)
        known[code, file, path, message] += int(row["count"])
    return known
