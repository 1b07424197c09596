"""``python -m cli`` from a checkout; once installed, use ``irloop`` or ``python -m irloop``."""

from __future__ import annotations

from .main import main

if __name__ == "__main__":
    main(prog_name="irloop")
