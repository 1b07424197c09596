"""``python -m cli`` from a checkout; installed, it is ``irloop`` or ``python -m irloop``."""

from __future__ import annotations

from .main import main

if __name__ == "__main__":
    main(prog_name="irloop")
