"""Reports the installed packages and the known faults of the installed engines."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from irloop.diagnostics import first_few
from irloop.engines.catalogue import ENGINES
from irloop.errors import UsageError
from irloop.faults.catalogue import ENGINES as MEASURED
from irloop.faults.catalogue import faults_of
from irloop.faults.measured import releases

__all__ = ["EngineState", "Environment", "environment"]

#: The packages that irloop needs; the report shows their versions.
PACKAGES = ("numpy", "onnx", "lxml", "click", "protobuf")


@dataclass(frozen=True, slots=True)
class EngineState:
    """An engine: its version ("" if it is not installed) and the faults of that version.

    `measured` is False if the faults of this version were not measured; `hazards` are then those
    of the newest measured version. `releases` are the measured ones, oldest first, as in "2024.6".
    """

    name: str
    version: str
    installed: bool
    measured: bool
    hazards: tuple[tuple[str, str], ...] = ()
    releases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """Versions of irloop, Python and packages ("" if missing), and the engines."""

    irloop: str
    python: str
    platform: str
    packages: dict[str, str]
    engines: tuple[EngineState, ...]

    def __str__(self) -> str:
        lines = [f"irloop {self.irloop}, Python {self.python}, {self.platform}"]
        found = [f"{name} {version or 'missing'}" for name, version in self.packages.items()]
        lines.append(f"packages: {', '.join(found)}")
        for engine in self.engines:
            lines.append(f"engine {engine.name}: {_state(engine)}")
            hazards = [f"  {code}  {title}" for code, title in engine.hazards]
            lines += first_few(hazards, "irloop doctor --format json")
        if any(engine.hazards for engine in self.engines):
            lines.append(
                "irloop explain CODE describes a fault; irloop validate --engine NAME "
                "finds faults in a model"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, for JSON."""
        return {
            "irloop": self.irloop,
            "python": self.python,
            "platform": self.platform,
            "packages": {name: version or None for name, version in self.packages.items()},
            "engines": [
                {
                    "name": item.name,
                    "version": item.version or None,
                    "installed": item.installed,
                    "measured": item.measured,
                    "hazards": [{"code": code, "title": title} for code, title in item.hazards],
                }
                for item in self.engines
            ],
        }


def _state(engine: EngineState) -> str:
    if not engine.installed:
        return "not installed"
    words = engine.version or "installed"
    if not engine.hazards:
        return words
    count = f"{len(engine.hazards)} known faults"
    if engine.measured:
        return f"{words}, {count}"
    return f"{words}, not measured; {MEASURED[engine.name]} has {count}"


def environment() -> Environment:
    """Collect the versions of the installed packages; no engine is imported."""
    return Environment(
        _version("irloop"),
        platform.python_version(),
        f"{platform.system()} {platform.machine()}".strip() or sys.platform,
        {name: _version(name) for name in PACKAGES},
        tuple(_engine(name) for name in ENGINES),
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _engine(name: str) -> EngineState:
    engine = ENGINES[name]
    known = (
        tuple(".".join(item.version.split(".")[:2]) for item in releases(name))
        if name in MEASURED
        else ()
    )
    if not engine.installed:
        return EngineState(name, "", installed=False, measured=False, releases=known)
    version = engine.version
    if name not in MEASURED:
        return EngineState(name, version, installed=True, measured=False)
    try:
        # A build number may follow: 2026.4.1-123.
        faults = faults_of(f"{name}-{version.split('-')[0].split('+')[0]}")
        measured = True
    except UsageError:
        faults, measured = faults_of(name), False
    listed = tuple((item.code, f"{item.title} ({item.effect.value})") for item in faults)
    return EngineState(name, version, True, measured, listed, known)


def _releases(name: str) -> tuple[str, ...]:
    if name not in MEASURED:
        return ()
    return tuple(".".join(item.version.split(".")[:2]) for item in releases(name))
