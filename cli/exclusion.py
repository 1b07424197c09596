"""Leaves out files and folders of a search: by patterns, and those that Git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from irloop.opening import read_regular

__all__ = ["DEFAULTS", "Exclusion", "Patterns"]

#: Folders that hold the files of tools and of other projects.
DEFAULTS = (
    *(".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox"),
    *(".pytest_cache", ".pyenv", ".ruff_cache", ".svn", ".tox", ".venv", "__pypackages__"),
    *("node_modules", "site-packages", "venv"),
)

#: The most bytes of a .gitignore; larger ones are not read.
_MOST = 1 << 20


class Patterns:
    """Patterns in the language of .gitignore, relative to a folder; the last match decides."""

    def __init__(self, folder: str, lines: Iterable[str]) -> None:
        self.folder = os.path.abspath(folder)
        self._rules = [rule for line in lines if (rule := _rule(line)) is not None]

    def leaves_out(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether the patterns leave out an absolute path; None if none of them matches."""
        if not self._rules or not path.startswith(os.path.join(self.folder, "")):
            return None
        parts = path[len(os.path.join(self.folder, "")) :].split(os.sep)
        for keeps, only_folders, wanted in reversed(self._rules):
            if (is_folder or not only_folders) and _matches(wanted, parts):
                return not keeps
        return None


Rule = tuple[bool, bool, tuple[str, ...]]


def _rule(line: str) -> Rule | None:
    """Whether a line of a .gitignore keeps paths, whether it is about folders only, its names."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    keeps = text.startswith("!")
    text = text[1:] if keeps else text
    only_folders = text.endswith("/")
    names = text.rstrip("/").split("/")
    anchored = len(names) > 1
    names = [_name(name) for name in names if name]
    if not names:
        return None
    return keeps, only_folders, tuple(names if anchored else ["**", *names])


def _name(text: str) -> str:
    """Write a name of a .gitignore, in which a backslash quotes a character, for fnmatch."""
    quoted, pattern = False, ""
    for char in text:
        if quoted:
            pattern += f"[{char}]" if char in "*?[" else char
        elif char != "\\":
            pattern += char
        quoted = char == "\\" and not quoted
    return pattern.replace("[^", "[!")


def _matches(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether names match a path; ``**`` stands for any number of folders.

    The time is at most proportional to the product of both lengths.
    """
    reached = {0}
    for at, name in enumerate(wanted):
        if name == "**":
            last = at == len(wanted) - 1
            first = min(reached, default=len(parts)) + last
            reached = set(range(first, len(parts) + 1))
        else:
            reached = {n + 1 for n in reached if n < len(parts) and fnmatchcase(parts[n], name)}
        if not reached:
            return False
    return len(parts) in reached


class Exclusion:
    """Decides which files and folders a search leaves out.

    `left_out` counts what Git ignores: whoever sent the folder chose it.
    """

    def __init__(self, patterns: Sequence[Patterns] = (), *, respects_git: bool = True) -> None:
        self.patterns = patterns
        self.respects_git = respects_git
        self._ignored: dict[str, Patterns] = {}
        self._roots: dict[str, str | None] = {}
        self.left_out = 0

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Return whether to leave out a file or folder that was found."""
        absolute = os.path.abspath(path)
        if any(item.leaves_out(absolute, is_folder=is_folder) for item in self.patterns):
            return True
        if not self.respects_git or not self._git_ignores(absolute, is_folder=is_folder):
            return False
        self.left_out += 1
        return True

    def leaves_out_below(self, start: str, path: str) -> bool:
        """Return whether to leave out a file, or a folder between it and the folder `start`."""
        place, folders = os.path.dirname(path), []
        while place not in (start, "", os.path.dirname(place)):
            folders.append(place)
            place = os.path.dirname(place)
        if any(self.leaves_out(item, is_folder=True) for item in reversed(folders)):
            return True
        return self.leaves_out(path, is_folder=False)

    def _git_ignores(self, path: str, *, is_folder: bool) -> bool:
        folder = os.path.dirname(path)
        root = self._root_of(folder)
        while root is not None:
            found = self._of(folder).leaves_out(path, is_folder=is_folder)
            if found is not None:
                return found
            if folder == root:
                info = self._ignored.get("") or self._read(root, ".git/info/exclude")
                self._ignored[""] = info
                return bool(info.leaves_out(path, is_folder=is_folder))
            folder = os.path.dirname(folder)
        return False

    def _root_of(self, folder: str) -> str | None:
        """The root of the repository that a folder belongs to; None if it belongs to none."""
        if folder not in self._roots:
            above = os.path.dirname(folder)
            if os.path.lexists(os.path.join(folder, ".git")):
                self._roots[folder] = folder
            else:
                self._roots[folder] = None if above == folder else self._root_of(above)
        return self._roots[folder]

    def _of(self, folder: str) -> Patterns:
        if folder not in self._ignored:
            self._ignored[folder] = self._read(folder, ".gitignore")
        return self._ignored[folder]

    @staticmethod
    def _read(folder: str, name: str) -> Patterns:
        path = os.path.join(folder, name)
        lines: list[str] = []
        # Git does not follow links here, either.
        if os.path.isfile(path) and not os.path.islink(path):
            try:
                lines = read_regular(path, _MOST).decode("utf-8", "surrogateescape").splitlines()
            except OSError:
                lines = []
        return Patterns(folder, lines)
