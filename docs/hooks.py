"""Hooks that mkdocs calls while it builds the site: generated pages, blocks, navigation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

# mkdocs loads this file by its path, so the project is not on the module path yet.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.generate import site

#: References that a browser fetches from another host when it shows a page; ordinary links are
#: fine.
_FETCHED = re.compile(r"<(?:script|img|iframe|source)[^>]+src=\S*//[^>]*>|<link[^>]+=\S*//[^>]*>")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace ``NAME: generated`` in the navigation by generated entries."""
    config.nav = _filled(config.nav)
    return config


def _filled(entries: Any) -> Any:
    if isinstance(entries, list):
        return [_filled(entry) for entry in entries]
    if isinstance(entries, dict):
        return {
            name: site.navigation(name) if inner == "generated" else _filled(inner)
            for name, inner in entries.items()
        }
    return entries


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, content in site.pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert generated blocks and pictures into a page."""
    return site.filled(markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Refuse pages that fetch something from another host."""
    if found := _FETCHED.search(output):
        raise PluginError(f"a page fetches from elsewhere: {found.group()}")
    return output
