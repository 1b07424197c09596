"""Writes the files that OSS-Fuzz wants, with the address of the repository from pyproject.toml.

python fuzz/oss-fuzz/hand_in.py oss-fuzz/projects/irloop
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ("Dockerfile", "build.sh", "project.yaml")


def main(folder: Path) -> None:
    """Write the files to a folder."""
    text = (HERE.parents[1] / "pyproject.toml").read_text("utf-8")
    address = tomllib.loads(text)["project"]["urls"]["Repository"]
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        content = (HERE / name).read_text("utf-8").replace("@REPOSITORY@", address)
        (folder / name).write_text(content, "utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
