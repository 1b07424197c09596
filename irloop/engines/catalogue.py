"""Lists the known engines, whether they are installed, and which formats they read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec

from irloop.errors import UsageError
from irloop.formats.detect import OLD_IR

__all__ = ["ENGINES", "Engine", "engine_of", "require"]

_ONNX = frozenset({"onnx"})
_BOTH = frozenset({"onnx", "openvino"})
_OLD = frozenset({OLD_IR})


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that can run models.

    `package` is the package that it needs, and `dialects` are the dialects that it reads. `own` are
    the dialects that it was made for: OpenVINO imports ONNX, too, but errors there may come from
    its importer. `usual` marks engines that run by default in a check. `variable` is the variable
    of the environment with the folder of an engine that is no package.
    """

    name: str
    package: str | None
    dialects: frozenset[str]
    own: frozenset[str]
    usual: bool = False
    variable: str = ""

    @property
    def installed(self) -> bool:
        """Return whether its package can be imported; this does not import the package."""
        if self.variable:
            return bool(os.environ.get(self.variable))
        return self.package is None or find_spec(self.package) is not None

    @property
    def version(self) -> str:
        """The version of the engine's package; empty if it is unknown."""
        if self.variable:
            return ""
        try:
            return metadata.version(self.package or "irloop")
        except metadata.PackageNotFoundError:
            # onnxruntime-gpu, for example, provides the package under another name.
            return ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()


#: Every engine, keyed by name.
ENGINES = {
    item.name: item
    for item in (
        Engine("numpy", None, _BOTH | _OLD, _BOTH | _OLD, usual=True),
        Engine("onnxruntime", "onnxruntime", _ONNX, _ONNX, usual=True),
        Engine("openvino", "openvino", _BOTH, frozenset({"openvino"}), usual=True),
        Engine("openvino-2020", None, _OLD, _OLD, True, "IRLOOP_OPENVINO_2020"),
        Engine("onnx-reference", "onnx", _ONNX, _ONNX),
    )
}

#: Other names of engines.
_ALIASES = {"irloop": "numpy", "onnx.reference": "onnx-reference"}


def engine_of(name: str) -> Engine:
    """Find an engine by its name.

    The name is one of `ENGINES`, ``irloop``, ``onnx.reference``, or ``module:function`` for an
    engine that the user provides.

    Raises:
        UsageError: when there is no such engine.
    """
    known = ENGINES.get(_ALIASES.get(name, name))
    if known is not None:
        return known
    module, colon, function = name.partition(":")
    parts = [*module.split("."), function]
    if colon and all(part.isidentifier() for part in parts):
        return Engine(name, module.split(".")[0], _BOTH | _OLD, _BOTH | _OLD)
    raise UsageError(
        f"no engine {name!r}",
        expected=", ".join([*ENGINES, "module:function"]),
        found=name,
    )


def require(engine: Engine, dialect: str) -> None:
    """Check that an engine can run models of a dialect.

    Raises:
        UsageError: when it is not installed, or does not read that format.
    """
    if not engine.installed:
        fix = f"pip install {engine.package}" if engine.name in ENGINES else "look at sys.path"
        if engine.variable:
            fix = f"set {engine.variable} to the folder with its libraries and plugins.xml"
        raise UsageError(f"the engine {engine.name!r} is not installed", fix=fix)
    if dialect not in engine.dialects:
        raise UsageError(
            f"{engine.name} does not run such a model",
            expected=f"a model of {' or '.join(sorted(engine.dialects))}",
            found=f"a model of {dialect}",
            fix="convert the model first, or use another engine",
        )
