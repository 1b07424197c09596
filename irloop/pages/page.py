"""Assembles a page: one template, one style, one script, and the data.

The data is the only part that depends on a model. It is embedded once, as JSON that is compressed
and written in base64, and the script puts it into the page as text, never as markup. The
Content-Security-Policy of the page allows only the script and the style that are in the page, and
no network.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from typing import Any

from irloop.diagnostics import one_line
from irloop.errors import WriteError
from irloop.files import reason_of, write_report

__all__ = ["page", "save_page"]

#: The modules of the page's script, in order; they share one scope.
SCRIPTS = (
    "dom.js",
    "data.js",
    "layers.js",
    "layout.js",
    "scene.js",
    "draw.js",
    "camera.js",
    "picture.js",
    "details.js",
    "export.js",
    "values.js",
    "search.js",
    "table.js",
    "plot.js",
    "report.js",
    "main.js",
)


def page(data: Mapping[str, Any]) -> str:
    """The text of a page; the comment in `main.js` describes `data`."""
    script = "\n".join(
        ['"use strict";', "(() => {", *(_asset(name) for name in SCRIPTS), "main();", "})();", ""]
    )
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src 'unsafe-inline'; "
        f"img-src data:; base-uri 'none'; form-action 'none'"
    )
    content = json.dumps(_visible(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    parts = {
        "policy": policy,
        "style": _asset("page.css"),
        "data": base64.b64encode(gzip.compress(content.encode("ascii"), mtime=0)).decode("ascii"),
        "script": script,
    }
    pieces = _asset("page.html").split("@@")
    # Every second piece is the name of a part. The names are not replaced one after the other,
    # because the texts of parts may contain such names, too.
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def save_page(text: str, path: str | os.PathLike[str]) -> None:
    """Write the text of a page to a file.

    Raises:
        WriteError: when the file cannot be written; an existing file is left unchanged.
    """
    try:
        write_report(path, text.encode("utf-8"))
    except OSError as error:
        place = os.fspath(path)
        raise WriteError(f"cannot write {place}: {reason_of(error, path)}") from error


def _asset(name: str) -> str:
    return resources.files("irloop.pages").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _visible(content: Any) -> Any:
    """A copy of the data with invisible characters and direction marks written as escapes."""
    if isinstance(content, str):
        return one_line(content)
    if isinstance(content, Mapping):
        return {one_line(str(key)): _visible(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_visible(part) for part in content]
    return content
