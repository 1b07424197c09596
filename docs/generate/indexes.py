"""Writes the tables by which a module is imported when one of its operations is looked up.

    python docs/generate/indexes.py [--check]

Run it after adding, renaming or moving an operation or a conversion rule. Everything in the tables
is derived from the classes and rules. With `--check` nothing is written, and the exit status is 1
if a table is out of date.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import irloop
from irloop.conversion.framework.rules import EXPORTS, IMPORTS, Rule, Rules
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO
from irloop.graph.op import Op, Registry

_HEAD = '''"""{title}.

Written by `docs/generate/indexes.py`.
"""

from __future__ import annotations

__all__ = ["{name}"]

{name}: dict[str, str] = {{
'''

_DIALECTS = {"openvino": OPENVINO, "onnx": ONNX}
_DIRECTIONS = {"exports": EXPORTS, "imports": IMPORTS}

Groups = dict[str, set[str]]


def texts() -> dict[str, str]:
    """The text of each table, by its path in the package. No rule may be registered before."""
    found = {}
    for dialect, registry in _DIALECTS.items():
        title = f"The types of the operations that each module of the {dialect} dialect defines"
        groups = _families(registry, f"irloop.dialects.{dialect}.")
        found[f"dialects/{dialect}/families.py"] = _text(title, "FAMILIES", groups)
    for direction, groups in _modules_of_rules().items():
        dialect, target = ("OpenVINO", "ONNX") if direction == "exports" else ("ONNX", "OpenVINO")
        title = f"The {dialect} operations that each module converts to {target}"
        name = f"{direction}_by_module"
        found[f"conversion/framework/{name}.py"] = _text(title, name.upper(), groups)
    return found


def _families(registry: Registry, package: str) -> Groups:
    return _grouped(
        (cls.__module__.removeprefix(package), cls.type)
        for cls in registry.all()
        if cls.__module__.startswith(package)
    )


def _modules_of_rules() -> dict[str, Groups]:
    """The names of classes by the module whose import registers their rules."""
    seen: list[tuple[Rules, str, str]] = []
    add = Rules.add

    def recording(self: Rules, cls: type[Op], rule: Rule, reason: str = "") -> None:
        seen.append((self, _importing().removeprefix("irloop.conversion."), cls.__name__))
        add(self, cls, rule, reason)

    Rules.add = recording  # type: ignore[method-assign]  # only while the modules are imported
    EXPORTS.all()
    IMPORTS.all()
    Rules.add = add  # type: ignore[method-assign]
    return {
        direction: _grouped((module, name) for table, module, name in seen if table is rules)
        for direction, rules in _DIRECTIONS.items()
    }


def _importing() -> str:
    """The name of the module that is being imported."""
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>":
        assert frame.f_back is not None, "rules are registered while a module is imported"
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def _grouped(pairs: Iterable[tuple[str, str]]) -> Groups:
    groups: Groups = {}
    for module, name in pairs:
        groups.setdefault(module, set()).add(name)
    return groups


def _text(title: str, name: str, groups: Mapping[str, set[str]]) -> str:
    lines = [_HEAD.format(title=title, name=name)]
    for module, names in sorted(groups.items()):
        joined = " ".join(sorted(names))
        line = f'    "{module}": "{joined}",\n'
        if len(line) > 101:
            wrapped = textwrap.fill(joined, 90, initial_indent=" " * 8, subsequent_indent=" " * 8)
            line = f'    "{module}": """\n{wrapped}\n    """,\n'
        lines.append(line)
    return "".join([*lines, "}\n"])


def main() -> int:
    """Write the tables into the package that Python imports as irloop, or compare them with it."""
    folder = Path(irloop.__file__).parent
    checks = sys.argv[1:] == ["--check"]
    old = 0
    for path, text in texts().items():
        if (folder / path).exists() and (folder / path).read_text("utf-8") == text:
            continue
        old += 1
        print(f"{path} {'is out of date' if checks else 'written'}")
        if not checks:
            (folder / path).write_text(text, encoding="utf-8")
    return 1 if checks and old else 0


if __name__ == "__main__":
    sys.exit(main())
