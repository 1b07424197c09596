"""Writes the links of the README for the package index, where the repository's files are not.

Everything else about the package is in pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
ADDRESS = PROJECT["urls"]["Repository"]
README = (HERE / "README.md").read_text("utf-8")

setup(
    long_description=re.sub(r"\]\((?!https?:|#)", f"]({ADDRESS}/blob/main/", README),
    long_description_content_type="text/markdown",
)
