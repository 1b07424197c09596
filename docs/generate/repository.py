"""What pages tell about the repository, whose address is in pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["pre_commit"]

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def pre_commit() -> str:
    """The entry of `.pre-commit-config.yaml`."""
    urls = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["urls"]
    return f"""```yaml
- repo: {urls["Repository"]}
  rev: main # better a tag or a commit
  hooks:
    - id: irloop-validate
```"""
