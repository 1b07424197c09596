"""Finds the modules of a folder by their file names: rules, faults and passes, one in each file.

Adding a file adds what it defines. A module that cannot be imported is known by its name, and does
not keep the others from working.
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from threading import RLock
from types import ModuleType

__all__ = ["Modules"]


class Modules:
    """The modules of a package, each of which is imported when it is needed.

    `package` is imported already. If nothing `else_imports` its modules, they are loaded from their
    known files: at every start of the command, searching for a hundred modules would take longer
    than loading them.
    """

    def __init__(self, package: str, *, else_imports: bool = True) -> None:
        self.package = package
        #: The modules that cannot be imported, with the reason.
        self.broken: dict[str, str] = {}
        self._folder = next(iter(sys.modules[package].__path__))
        self._else_imports = else_imports
        #: Held while modules are loaded: another thread must not see one that is not complete.
        self._loading = RLock()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the modules in alphabetical order, without those of the package itself."""
        files = sorted(os.listdir(self._folder))
        return tuple(file[:-3] for file in files if file.endswith(".py") and file[0] != "_")

    def load(self, name: str) -> ModuleType | None:
        """Import a module; None if it cannot be imported (see `broken`)."""
        if name in self.broken:
            return None
        try:
            return self._imported(name)
        except Exception as error:
            self.broken[name] = f"cannot be imported: {type(error).__name__}: {error}"
            return None

    def _imported(self, name: str) -> ModuleType:
        full_name = f"{self.package}.{name}"
        if self._else_imports:
            return import_module(full_name)
        with self._loading:
            if full_name in sys.modules:
                return sys.modules[full_name]
            path = os.path.join(self._folder, f"{name}.py")
            loader = SourceFileLoader(full_name, path)
            module = ModuleType(full_name)
            module.__file__, module.__package__ = path, self.package
            module.__spec__ = ModuleSpec(full_name, loader, origin=path)
            sys.modules[full_name] = module
            try:
                loader.exec_module(module)
            except BaseException:
                del sys.modules[full_name]
                raise
            return module
