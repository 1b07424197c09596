"""Reads the sizes that users give as limits."""

from __future__ import annotations

import re

import click

__all__ = ["size"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def size(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """The number of bytes in a text such as 500M or 2G."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,15})([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size such as 500M or 2G")
    return int(match[1]) * _UNITS[match[2].upper()]
