"""``python -m irloop``: the same as the ``irloop`` command."""

from __future__ import annotations

from importlib import import_module

if __name__ == "__main__":
    import_module("irloop_cli.main").main(prog_name="irloop")
