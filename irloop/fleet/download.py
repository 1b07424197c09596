"""Fetches one model of a network or a store, with its weights, for a command on it."""

from __future__ import annotations

import fsspec  # noqa: F401 (an ImportError tells that the extra is not installed)

from irloop.errors import IrloopError, UsageError
from irloop.fleet.fetching import add_data, fetch
from irloop.fleet.places import without_secrets
from irloop.fleet.sources import entries

__all__ = ["download", "without_secrets"]

#: The most bytes of one file.
MOST = 1 << 34


def download(address: str, folder: str) -> str:
    """Copy a model, and the files that it names, into an empty folder; return its path there.

    Raises:
        UsageError: when there is not one model at the address, or it cannot be fetched.
    """
    shown = without_secrets(address)
    listed = list(entries([address]))
    if len(listed) != 1:
        raise UsageError(
            f"{shown}: {len(listed)} models, but one is needed",
            fix="give the address of a model; 'irloop sweep' reads folders and archives",
        )
    (model,) = fetch(listed, folder, MOST)
    if not model.verdict and model.may_have_data:
        add_data(model, _names(model.path), MOST)
    if model.verdict:
        raise UsageError(f"{shown}: {model.detail}")
    return model.path


def _names(path: str) -> list[str]:
    """The files of weights that an ONNX model names; none if it cannot be read."""
    from irloop.formats.onnx.data_files import data_files

    try:
        return list(data_files(path))
    except IrloopError:
        return []  # The command reports what is wrong with the model.
