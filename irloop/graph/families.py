"""Imports the module that describes an operation when the operation is first looked up.

A small model needs few families of operations, and importing all of them takes longer than reading,
validating and converting such a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module

__all__ = ["Families"]


class Families:
    """Imports the modules of a package that define a given name.

    `table` maps the name of each module, below the package, to the names that it defines, separated
    by spaces. Several modules may define the same name: one for old opsets, another for new opsets.
    """

    def __init__(
        self, package: str, table: Mapping[str, str], *, ignore_case: bool = False
    ) -> None:
        self.package = package
        self._table = table
        self._ignore_case = ignore_case
        self._looked_up: set[str] = set()

    @cached_property
    def _modules(self) -> dict[str, list[str]]:
        modules: dict[str, list[str]] = {}
        for module, names in self._table.items():
            for name in names.split():
                modules.setdefault(self._key(name), []).append(module)
        return modules

    def _key(self, name: str) -> str:
        return name.lower() if self._ignore_case else name

    def types_of(self, class_name: str) -> Iterator[str]:
        """Yield the names in the table that equal `class_name`, whole or with final digits removed.

        These digits may be a version, or a part of the name.
        """
        stem = class_name.rstrip("0123456789")
        for end in range(len(class_name), len(stem) - 1, -1):
            if self._key(class_name[:end]) in self._modules:
                yield class_name[:end]

    def load(self, name: str | None) -> None:
        """Import the modules that define `name`, if there are any; for None, every module."""
        if name is None:
            self.load_all()
            return
        if name in self._looked_up:
            return
        modules = self._modules.get(self._key(name), ())
        for module in modules:
            import_module(f"{self.package}.{module}")
        if modules:
            self._looked_up.add(name)

    def load_all(self) -> None:
        """Import every module of the package, also those for which `table` has no names."""
        for name in _modules_below(self.package):
            import_module(name)


def _modules_below(package: str) -> Iterator[str]:
    import pkgutil  # takes as long as importing several families

    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        yield module.name
        if module.ispkg:
            yield from _modules_below(module.name)
