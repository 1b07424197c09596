"""Writes IRs from text for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

IrFile = Callable[..., Path]


@pytest.fixture
def ir_file(tmp_path: Path) -> IrFile:
    """Writes a net of these layers and edges, and its .bin, and returns the .xml.

    Edges are ``"0.0 > 1.0"``: layer 0, port 0 to layer 1, port 0.
    """

    def make(
        layers: str,
        edges: str = "",
        *,
        weights: bytes | None = None,
        version: int | str = 10,
        rest: str = "",
    ) -> Path:
        lines = []
        for edge in filter(None, (line.strip() for line in edges.split(";"))):
            source, target = (end.strip().split(".") for end in edge.split(">"))
            lines.append(
                f'<edge from-layer="{source[0]}" from-port="{source[1]}" '
                f'to-layer="{target[0]}" to-port="{target[1]}"/>'
            )
        path = tmp_path / "model.xml"
        path.write_text(
            f'<net name="n" version="{version}">\n<layers>\n{layers}\n</layers>\n'
            f"<edges>{''.join(lines)}</edges>\n{rest}</net>\n",
            encoding="utf-8",
        )
        if weights is not None:
            path.with_suffix(".bin").write_bytes(weights)
        return path

    return make
