"""Opsets and IR versions: which are supported, and which IR version an opset needs."""

from __future__ import annotations

from functools import cache
from typing import Any

import onnx

from irloop.errors import ReadError
from irloop.formats.onnx.types import require_text

__all__ = [
    "check_readable",
    "domain_of",
    "implied_opset",
    "import_missing",
    "ir_version_for",
    "opsets_of",
    "schema_of",
]


def domain_of(domain: str) -> str:
    """Return the name that the graph uses for an ONNX domain.

    This is "" for "ai.onnx", and any other name unchanged. In a file, both "" and "ai.onnx" denote
    the standard domain of ONNX.
    """
    return "" if domain == "ai.onnx" else domain


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    """The opset of each domain that a model imports.

    If a domain is imported in several versions, ONNX Runtime uses the last and OpenVINO the newest;
    irloop reads the model only if both agree.

    Raises:
        ReadError: for versions of one domain that engines interpret differently, or an opset that
            the installed onnx does not support.
    """
    opsets: dict[str, int] = {}
    newest: dict[str, int] = {}
    for entry in model.opset_import:
        require_text([entry.domain], "the name of a domain")
        domain = domain_of(entry.domain)
        opsets[domain] = int(entry.version)
        newest[domain] = max(opsets[domain], newest.get(domain, 0))
    for domain, version in opsets.items():
        if version != newest[domain]:
            raise ReadError(
                f"the model imports two versions of the domain {domain or 'ai.onnx'!r}",
                expected="one version, or the newest one last",
                found=f"{newest[domain]} and then {version}",
                fix="remove the opset_import that the model was not made for",
            )
    if not model.opset_import and model.ir_version < 3:
        # Before IR version 3 there were no opsets; everything is opset 1.
        opsets[""] = 1
    known = onnx.defs.onnx_opset_version()
    if not 1 <= opsets.get("", 1) <= known:
        raise ReadError(
            f"opset {opsets['']} is not known",
            expected=f"an opset from 1 to {known}",
            found=str(opsets[""]),
            cause="the file is newer than the installed onnx package, or damaged",
            fix="install a newer onnx package",
        )
    return opsets


@cache
def implied_opset(domain: str) -> int | None:
    """The opset version that a domain has when a model uses but does not import it.

    None if the domain must be imported. ONNX Runtime lets a model omit the import of its own domain
    and of ai.onnx.ml, and uses the newest version it supports.
    """
    if domain == "com.microsoft":
        return 1
    if domain != "ai.onnx.ml":
        return None
    # Asking the schemas of all operations would take longer than reading a small model.
    return max(int(entry[3]) for entry in onnx.helper.VERSION_TABLE)


def import_missing(type: str, domain: str) -> dict[str, Any]:
    """Return the message of ONX108: the model does not import the domain of an operation.

    The result maps the fields `message`, `expected` and `fix` of a diagnostic to their texts.
    """
    name = repr(domain or "ai.onnx")
    return {
        "message": f"{type!r} is of the domain {name}, which the model does not import",
        "expected": f"an opset_import of {name}",
        "fix": "import the opset for which the model was made",
    }


def check_readable(model: onnx.ModelProto) -> None:
    """Refuse IR versions that the installed onnx does not support.

    Raises:
        ReadError: when the file has such a version.
    """
    if not 1 <= model.ir_version <= onnx.IR_VERSION:
        raise ReadError(
            f"ONNX IR version {model.ir_version} is not known",
            expected=f"an IR version from 1 to {int(onnx.IR_VERSION)}",
            found=str(model.ir_version),
            cause="the file is not an ONNX model, is damaged, or is newer than the installed onnx "
            "package",
            fix="install a newer onnx package, or export the model again",
        )


@cache
def schema_of(type: str, opset: int, domain: str) -> onnx.defs.OpSchema | None:
    """The schema of an operation in an opset, or None if ONNX has none."""
    try:
        return onnx.defs.get_schema(type, opset, domain)
    except (onnx.defs.SchemaError, TypeError):
        # TypeError: a name that is not UTF-8 text.
        return None


def ir_version_for(opsets: dict[str, int]) -> int:
    """The smallest IR version that allows these opsets.

    More runtimes can load a model with a smaller version.
    """
    needed = 3
    for entry in onnx.helper.VERSION_TABLE:
        ir_version, opset = int(entry[1]), int(entry[2])
        if opset <= opsets.get("", 1):
            needed = max(needed, ir_version)
    return min(needed, int(onnx.IR_VERSION))
