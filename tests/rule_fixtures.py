"""The fixtures of rules: models with comments that name their faults.

``<!-- expect: IRL203 -->`` is on the offending line or on the line before it; several codes are
separated by commas. ``<!-- bin-size: 16 -->`` makes a .bin of zeros, ``<!-- bin: 05 00 -->`` a .bin
of these bytes and ``<!-- bin-text: ... -->`` a .bin of this text; without such a comment there is
no .bin. If a file cannot contain a comment because it is not XML, its name starts with the code.
ONNX models are in ONNX's own text form, with ``# expect: ONX301`` in the first line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import onnx.parser

__all__ = ["RULES", "Fixture", "fixtures"]

RULES = Path(__file__).resolve().parent / "fixtures" / "rules"

_EXPECT = re.compile(r"<!--\s*expect:\s*([A-Z0-9, ]+?)\s*-->")
_SIZE = re.compile(r"<!--\s*bin-size:\s*(\d+)\s*-->")
_BYTES = re.compile(r"<!--\s*bin:\s*([0-9a-fA-F ]*?)\s*-->")
_TEXT = re.compile(r"<!--\s*bin-text:\s*(.*?)\s*-->")
_COMMENT = re.compile(rb"[ \t]*<!--\s*(?:expect|bin|bin-size|bin-text):.*?-->")


@dataclass(frozen=True)
class Fixture:
    """A fixture: its code (the name of the folder), its file, and the expected findings by line."""

    code: str
    path: Path

    @property
    def is_bad(self) -> bool:
        return self.path.name.startswith("bad")

    @property
    def name(self) -> str:
        return f"{self.code.lower()}/{self.path.name}"

    def expected(self) -> list[tuple[int, str]]:
        """The line of the comment and the code of each expected finding."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            for match in _EXPECT.finditer(line):
                found += [(number, code.strip()) for code in match.group(1).split(",")]
        return found

    def weights(self, folder: Path) -> Path:
        """The .bin, written to `folder`; if there is none, a path that does not exist."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        target = folder / "model.bin"
        for pattern in (_SIZE, _BYTES, _TEXT):
            match = pattern.search(text)
            if match is None:
                continue
            if pattern is _SIZE:
                target.write_bytes(bytes(int(match.group(1))))
            elif pattern is _BYTES:
                target.write_bytes(bytes.fromhex(match.group(1)))
            else:
                target.write_text(match.group(1), encoding="utf-8")
        return target

    def model(self, folder: Path) -> Path:
        """The model without the comments about findings, written to `folder` beside its .bin."""
        if self.path.suffix == ".txt":
            text = re.sub(r"^#.*$", "", self.path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            target = folder / "model.onnx"
            target.write_bytes(onnx.parser.parse_model(text).SerializeToString())
            return target
        self.weights(folder)
        target = folder / "model.xml"
        target.write_bytes(_COMMENT.sub(b"", self.path.read_bytes()))
        return target


def fixtures(suffix: str = ".xml") -> list[Fixture]:
    """Every fixture of every rule, by code and name."""
    return [
        Fixture(folder.name.upper(), path)
        for folder in sorted(RULES.iterdir())
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if path.suffix == suffix
    ]
