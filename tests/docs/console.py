"""Pages as scripts: the files and commands that they show, and the expected output.

A block with a title is a file. In a ``console`` block a line that begins with ``$`` is a command,
continued after a backslash, and the lines below it are what it prints; ``...`` alone matches
omitted lines, ``…`` within a line matches text that differs from run to run.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Command", "File", "run", "steps"]

_BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<content>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class File:
    """A file that a page shows."""

    name: str
    content: str


@dataclass(frozen=True)
class Command:
    """A command that a page shows, and the output below it."""

    line: str
    output: str

    def difference(self, found: str) -> str:
        """The first difference between the page and the real output; empty if there is none."""
        pattern = r"\n".join(_line_pattern(line) for line in self.output.splitlines())
        pattern = pattern.replace(r"\n<any>\n", r"\n(?:.*\n)*?").replace(r"<any>\n", r"(?:.*\n)*?")
        pattern = pattern.replace(r"\n<any>", r"(?:\n.*)*").replace("<any>", r"(?:.*\n?)*")
        if re.fullmatch(pattern, found.rstrip("\n")):
            return ""
        return f"$ {self.line}\nthe page says:\n{self.output}\nthe command printed:\n{found}"


def _line_pattern(line: str) -> str:
    return "<any>" if line.strip() == "..." else ".*".join(map(re.escape, line.split("…")))


def steps(page: str) -> Iterator[File | Command]:
    """The files and commands of a page, in order."""
    for block in _BLOCK.finditer(page):
        if block["title"]:
            yield File(block["title"], block["content"])
        elif block["language"] == "console":
            yield from _commands(block["content"])


def _commands(content: str) -> Iterator[Command]:
    joined = content.replace("\\\n", "")
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield Command(re.sub(r"\s+", " ", line), output.rstrip("\n"))


def run(
    command: Command, folder: Path, environment: Mapping[str, str], status: int
) -> tuple[str, int]:
    """The output of the command, errors included, and its status; `status` is the previous one."""
    done = subprocess.run(
        ["bash", "-c", f"(exit {status}); {command.line}"],
        check=False,
        cwd=folder,
        env=dict(environment),
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    return done.stdout, done.returncode
