"""The settings of a project for ``irloop validate``: irloop.toml or a table of pyproject.toml."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from irloop.allowance import allowance_for
from irloop.diagnostics import Diagnostic, Severity
from irloop.errors import LimitError, UsageError
from irloop.opening import read_regular, what_else

from .exclusion import DEFAULTS, Exclusion, Patterns

__all__ = ["Settings", "exclusion_of", "find_settings", "read_settings"]

FAIL_ON = ("error", "warning")
#: The largest settings file that is read.
MOST = 1 << 24
#: The time that parsing may take: a key with many dots takes a time that grows with their square.
SECONDS = 5.0
#: Maximum number of findings of one code in one file that are listed by default.
MAX_SAME = 100
KEYS = (
    *("select", "ignore", "fail-on", "severity", "baseline", "engines", "max-same-findings"),
    *("exclude", "extend-exclude", "respect-gitignore"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in one settings file; a setting that the file lacks has its default value."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str = "error"
    severity: Mapping[str, Severity] = field(default_factory=dict)
    baseline: str | None = None
    engines: tuple[str, ...] = ()
    #: The most findings of one code in one file that are listed; 0 lists all.
    max_same: int = MAX_SAME
    #: What a search for models leaves out.
    exclusion: Exclusion = field(default_factory=lambda: exclusion_of(None, ()))
    #: The name of the file; empty for the default settings.
    file: str = ""

    def parted(self, findings: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """Divide `findings` into those that are reported, and those that the settings suppress."""
        listed: list[Diagnostic] = []
        suppressed: list[Diagnostic] = []
        for finding in findings:
            if self._wants(finding.code):
                listed.append(finding)
            else:
                suppressed.append(replace(finding, suppressed_by=self.file))
        return listed, suppressed

    def _wants(self, code: str) -> bool:
        """Return whether findings with this code are reported."""
        if code.startswith(self.ignore):
            return False
        return not self.select or code.startswith(self.select)

    def judged(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Replace the severities of `findings` by those that the project's settings specify.

        A severity for a code takes precedence over a severity for a group.
        """
        if not self.severity:
            return list(findings)
        groups = sorted(self.severity, key=len, reverse=True)
        return [self._judged(item, groups) for item in findings]

    def _judged(self, finding: Diagnostic, groups: list[str]) -> Diagnostic:
        for group in groups:
            if finding.code.startswith(group):
                return replace(finding, severity=self.severity[group])
        return finding


def find_settings() -> Settings:
    """Read the settings from the nearest folder that has any, or return the defaults.

    The search goes from the current folder up to the root of its repository; without a repository,
    only the current folder is searched. A file of another user is not read.

    Raises:
        UsageError: when a file cannot be read, or contains an unknown setting.
    """
    for folder in _folders(os.getcwd()):
        own = os.path.join(folder, "irloop.toml")
        # A pipe or a device of this name is not skipped: reading it raises an error that names it.
        if (os.path.isfile(own) or what_else(own)) and _is_trusted(own):
            return read_settings(own)
        project = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(project) and _is_trusted(project) and _may_have_table(_bytes_of(project)):
            table = _table_of(project)
            if table is not None:
                return _settings(table, project)
    return Settings()


def _may_have_table(data: bytes) -> bool:
    """Search a pyproject.toml for signs of a table of irloop; return False if it has none.

    This is quicker than parsing TOML, and most projects have no such table.
    """
    text = data.translate(None, b" \t\"'")
    inline = text.startswith((b"tool=", b"tool.irloop")) or b"\ntool=" in text
    return b"tool.irloop" in text or (b"irloop" in text and (inline or b"\n[tool]" in text))


def read_settings(path: str) -> Settings:
    """Return the settings in one file.

    A pyproject.toml without a table for irloop gives the default settings.

    Raises:
        UsageError: when the file cannot be read, or contains an unknown setting.
    """
    return _settings(_table_of(path) or {}, path)


def _folders(start: str) -> list[str]:
    """The folders from `start` up to the root of its repository, or only `start`."""
    folders = [start]
    while not os.path.lexists(os.path.join(folders[-1], ".git")):
        above = os.path.dirname(folders[-1])
        if above == folders[-1]:
            return [start]
        folders.append(above)
    return folders


def _is_trusted(path: str) -> bool:
    """Return whether a file belongs to this user or to the administrator of the machine.

    Anybody can put a file into a folder such as /tmp, above the folders of others.
    """
    if not hasattr(os, "geteuid"):
        return True
    return os.stat(path).st_uid in (0, os.geteuid())


def _bytes_of(path: str) -> bytes:
    try:
        return read_regular(path, MOST)
    except OSError as error:
        raise UsageError(f"cannot open {path}: {error.strerror}") from error


def _table_of(path: str) -> dict[str, Any] | None:
    import tomllib

    data = _bytes_of(path)
    try:
        with allowance_for([path], seconds=SECONDS).held():
            content = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits raises a ValueError that is not a TOMLDecodeError.
        raise UsageError(f"{path} is not TOML: {error}") from error
    except LimitError as error:
        raise UsageError(f"{path} takes too much time or memory to read") from error
    if os.path.basename(path) != "pyproject.toml":
        return content
    tools = content.get("tool", {})
    table = tools.get("irloop") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{path}: tool.irloop is not a table")
    return table


def _settings(table: dict[str, Any], path: str) -> Settings:
    for key in table:
        if key not in KEYS:
            raise UsageError(f"{path}: no setting is called {key!r}", expected=", ".join(KEYS))
    fail_on = table.get("fail-on", "error")
    if fail_on not in FAIL_ON:
        raise UsageError(
            f"{path}: wrong fail-on", expected=" or ".join(FAIL_ON), found=repr(fail_on)
        )
    baseline = table.get("baseline")
    if baseline is not None and (not isinstance(baseline, str) or "\0" in baseline):
        raise UsageError(f"{path}: baseline is not a path", found=repr(baseline))
    max_same = table.get("max-same-findings", MAX_SAME)
    if type(max_same) is not int or max_same < 0:
        raise UsageError(
            f"{path}: max-same-findings is not a number of findings", found=repr(max_same)
        )
    return Settings(
        select=_codes(table, "select", path),
        ignore=_codes(table, "ignore", path),
        fail_on=fail_on,
        severity=_severities(table.get("severity", {}), path),
        engines=_texts(table, "engines", path),
        baseline=baseline and os.path.join(os.path.dirname(path), baseline),
        max_same=max_same,
        exclusion=_exclusion(table, path),
        file=os.path.relpath(path),
    )


def exclusion_of(
    exclude: Sequence[str] | None,
    extend: Sequence[str],
    folder: str = ".",
    *,
    respects_git: bool = True,
) -> Exclusion:
    """What a search leaves out: `exclude`, by default `DEFAULTS`, and `extend`.

    Patterns are relative to `folder`.
    """
    patterns = [Patterns(folder, [*(DEFAULTS if exclude is None else exclude), *extend])]
    return Exclusion(patterns, respects_git=respects_git)


def _exclusion(table: dict[str, Any], path: str) -> Exclusion:
    respects = table.get("respect-gitignore", True)
    if not isinstance(respects, bool):
        raise UsageError(
            f"{path}: respect-gitignore is neither true nor false", found=repr(respects)
        )
    return exclusion_of(
        _texts(table, "exclude", path) if "exclude" in table else None,
        _texts(table, "extend-exclude", path),
        os.path.dirname(path),
        respects_git=respects,
    )


def _codes(table: dict[str, Any], key: str, path: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in _texts(table, key, path))


def _texts(table: dict[str, Any], key: str, path: str) -> tuple[str, ...]:
    texts = table.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        others = {"engines": "names", "exclude": "patterns", "extend-exclude": "patterns"}
        what = others.get(key, "codes")
        raise UsageError(f"{path}: {key} is not a list of {what}", found=repr(texts))
    return tuple(texts)


def _severities(table: Any, path: str) -> dict[str, Severity]:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: severity is not a table", expected='such as {IRL513 = "error"}')
    words = {item.value: item for item in Severity}
    for code, word in table.items():
        if not isinstance(word, str) or word not in words:
            raise UsageError(
                f"{path}: wrong severity of {code}", expected=", ".join(words), found=repr(word)
            )
    found = {code.strip().upper(): words[word] for code, word in table.items()}
    _require_rules(found, path)
    return found


def _require_rules(groups: Iterable[str], path: str) -> None:
    wanted = set(groups)
    if not wanted:
        return
    from irloop import rules

    known = [rule.code for rule in rules()]
    for group in sorted(wanted):
        if not any(code.startswith(group) for code in known):
            raise UsageError(
                f"{path}: no rule has a code that begins with {group!r}",
                expected="codes or groups such as IRL203, IRL2",
            )
