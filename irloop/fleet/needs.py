"""Checks that the packages of the optional extra ``fleet`` are installed, which sweeps need."""

from __future__ import annotations

from importlib.util import find_spec

from irloop.errors import UsageError

__all__ = ["require_packages"]

#: The packages of the extra `fleet` that irloop imports.
PACKAGES = ("dask", "distributed", "fsspec", "pyarrow")


def require_packages(*packages: str) -> None:
    """Check that these packages of the extra `fleet` are installed; by default, all of them.

    Raises:
        UsageError: naming those that are missing and the command that installs them.
    """
    missing = [name for name in packages or PACKAGES if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"irloop sweep needs packages that are not installed: {', '.join(missing)}",
            fix="install them with the extra 'fleet': pip install '.[fleet]' in the checkout",
        )
